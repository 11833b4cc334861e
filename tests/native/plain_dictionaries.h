/* plain_dictionaries.h - a small model, dictionaries with random weights, and what they compute by plain loops in
 * double. */
#ifndef GF_PLAIN_DICTIONARIES_H
#define GF_PLAIN_DICTIONARIES_H
#include "check.h"
#include "glassformer.h"
#include "base/rng.h"

enum { D = 32, SIZE = 48, VOCAB = 11, TOKENS = 70, LAYERS = 3 };
static int32_t ids[TOKENS];
static struct gf_error err;

static struct gf_config small_config(void) {
    struct gf_config c;
    gf_config_default(&c);
    c.vocab_size = VOCAB, c.d_model = D, c.n_layers = LAYERS, c.n_heads = 2, c.n_kv_heads = 2, c.d_head = 16;
    c.d_ff = 40, c.context_length = 80;
    return c;
}

static inline void fill(struct gf_model *m) { CHECK_INT(gf_model_randomize(m, 7, 0.3f, &err), GF_OK); }

static struct gf_model *model(void) {
    const struct gf_config c = small_config();
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    CHECK(m != NULL);
    fill(m);
    for (int32_t i = 0; i < TOKENS; i++) ids[i] = (i * 7 + i / 5) % VOCAB;
    return m;
}

/* A dictionary, and the same in arrays. */
struct dictionary {
    struct gf_features_spec spec;
    struct gf_features *f;
    float w[SIZE][D], vectors[4][SIZE], table[VOCAB][D];
};

static void open_dictionary(struct dictionary *y, struct gf_features_spec spec) {
    struct gf_rng rng;
    gf_rng_seed(&rng, 3);
    y->spec = spec;
    y->f = gf_features_open(&spec, &err);
    CHECK(y->f != NULL);
    for (int32_t i = 0; i < SIZE; i++) {
        for (int32_t c = 0; c < D; c++) y->w[i][c] = (float)gf_rng_normal(&rng);
        gf_features_put(y->f, i, y->w[i]);
        for (int32_t v = 0; v < 4; v++) y->vectors[v][i] = (float)gf_rng_normal(&rng);
        y->vectors[2][i] = spec.k ? 1 : y->vectors[2][i];
        if (spec.k) y->vectors[3][i] = y->vectors[0][i];
    }
    for (int32_t t = 0; t < VOCAB; t++)
        for (int32_t c = 0; c < D; c++) y->table[t][c] = (float)gf_rng_normal(&rng);
    memcpy(gf_features_vectors(y->f), y->vectors, sizeof y->vectors);
    CHECK_INT(gf_features_table(y->f) != NULL, spec.vocab_size > 0);
    if (spec.vocab_size) memcpy(gf_features_table(y->f), y->table, sizeof y->table);
}

static inline void widen(double *to, const float *x) {
    for (int32_t c = 0; c < D; c++) to[c] = (double)x[c];
}

/* z [SIZE] of one row in double; returns what a unit is in x. */
static double encode_plainly(const struct dictionary *y, const double *x, int32_t id, int32_t position, double *z) {
    double row[D], mean = 0, squares = 0, unit = 1;
    for (int32_t c = 0; c < D; c++) row[c] = x[c] - (y->spec.vocab_size ? (double)y->table[id][c] : 0);
    for (int32_t c = 0; y->spec.norm == 2 && c < D; c++) mean += row[c] / D;
    for (int32_t c = 0; c < D; c++) squares += (row[c] - mean) * (row[c] - mean);
    if (y->spec.norm == 1) unit = sqrt(squares) / sqrt(D);
    if (y->spec.norm == 2) unit = sqrt(squares / (D - 1));
    for (int32_t c = 0; c < D; c++) row[c] = (row[c] - mean) / (unit + (y->spec.norm == 2 ? 1e-5 : 0));
    double p[SIZE];
    for (int32_t i = 0; i < SIZE; i++) {
        p[i] = 0;
        for (int32_t c = 0; c < D; c++) p[i] += (double)y->w[i][c] * row[c];
    }
    for (int32_t i = 0; i < SIZE; i++) {
        int32_t larger = 0;
        for (int32_t j = 0; j < SIZE; j++) larger += p[j] + (double)y->vectors[0][j] > p[i] + (double)y->vectors[0][i];
        z[i] = (double)y->vectors[2][i] * p[i] + (double)y->vectors[3][i];
        const int on = y->spec.k ? larger < y->spec.k : p[i] + (double)y->vectors[0][i] > (double)y->vectors[1][i];
        if (!on || z[i] < 0 || position < y->spec.from) z[i] = 0;
    }
    return unit;
}

static const struct gf_features_spec specs[] = {
    {D, SIZE, GF_F32, 0, 0, 0, 0}, {D, SIZE, GF_F32, 5, 1, 0, VOCAB},    {D, SIZE, GF_F32, 0, 2, 1, 0},
    {D, SIZE, GF_F32, 7, 0, 2, 0}, {D, SIZE, GF_F32, SIZE, 0, 0, VOCAB}, {D, SIZE, GF_F32, 0, 0, 2, VOCAB},
};
#define EACH_SPEC(i) for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
#endif
