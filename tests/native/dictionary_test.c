/* dictionary_test.c - the training of sparse dictionaries compared with PyTorch, and with itself. */
#include "check.h"
#include "train/dictionary.h"
#include <stdlib.h>

enum { ROWS = 200, IN = 8, OUT = 6, VOCAB = 5, SIZE = 24, K = 3, STEPS = 30, N_SUMS = 9 };

/* What the dictionary of a case reaches: the sum of the table, fraction of variance unexplained and l0 of the first and
 * of the last step, sums over the weights times cos(index). By tests/golden/train/make_dictionary.py, torch 2.15.0. */
static const struct {
    const char *name;
    int32_t table, target;
    double sums[N_SUMS];
} cases[] = {
    {"no table", 0, 0, {0.0, 0.687620245, 3.0, 0.321677609, 3.0, 2.804217522, -0.410089595, 4.459444965, 0.556656424}},
    {"a table",
     1,
     0,
     {1.242540631, 0.512340707, 3.0, 0.239333606, 3.0, 3.118918284, 0.056647738, 3.184459321, -0.02605474}},
    {"a transcoder",
     0,
     1,
     {0.0, 2.56433829, 3.0, 1.071319133, 2.95, -1.097399939, 0.231350077, 4.309632326, -0.174076325}},
    {"a transcoder with tables",
     1,
     1,
     {1.242540631, 2.792930691, 3.0, 1.039792965, 2.95, -0.945674781, 0.063789984, 4.01525574, -0.243993548}},
};

/* The bits of all weights of all cases, the same in every build. */
#define EVERY_BUILD 0xfba57db0u

/* Numbers from -1 to 1 by a linear congruential generator. */
static void fill(float *to, int32_t n, uint32_t state) {
    for (int32_t i = 0; i < n; i++) {
        state = (state * 1103515245u + 12345u) & 0x7fffffff;
        to[i] = (float)((double)(state >> 8) / 4194304 - 1);
    }
}

static struct gf_dictionary_options options(int32_t table, int32_t target) {
    return (struct gf_dictionary_options){.rows = ROWS,
                                          .d_in = IN,
                                          .d_out = target ? OUT : 0,
                                          .vocab_size = table ? VOCAB : 0,
                                          .size = SIZE,
                                          .k = K,
                                          .batch = 40,
                                          .steps = STEPS,
                                          .lr = 0.01f,
                                          .decay = 0.3f,
                                          .seed = 7};
}

/* Open and prepare the dictionary of a case; with a table the last token has no row. */
static void prepare(struct gf_dictionary *d, const struct gf_dictionary_options *o) {
    struct gf_error err = {0};
    CHECK_INT(gf_dictionary_open(d, o, &err), GF_OK);
    fill(d->x, ROWS * IN, 1);
    for (int32_t i = 0; i < ROWS; i++)
        for (int32_t c = 0; c < IN; c++) d->x[i * IN + c] += (float)(0.5 * sin(i % VOCAB + c));
    if (d->y) fill(d->y, ROWS * OUT, 2);
    for (int32_t i = 0; d->tokens && i < ROWS; i++) d->tokens[i] = i % VOCAB == VOCAB - 1 ? 3 : i % VOCAB;
    CHECK_INT(gf_dictionary_prepare(d, &err), GF_OK);
}

static double weighed(const float *w, int32_t n) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)w[i] * cos(i);
    return sum;
}

static uint32_t hash_of(uint32_t hash, const float *w, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, w + i, sizeof bits);
        hash = (hash ^ bits) * 16777619u;
    }
    return hash;
}

static uint32_t hash_weights(uint32_t hash, const struct gf_dictionary *d) {
    hash = hash_of(hash_of(hash, d->enc.w, SIZE * IN), d->b_enc.w, SIZE);
    return hash_of(hash_of(hash, d->dec.w, SIZE * d->d_out), d->b_dec.w, d->d_out);
}

static void steps_are_those_of_pytorch(void) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct gf_dictionary_options o = options(cases[i].table, cases[i].target);
        struct gf_dictionary d;
        struct gf_dictionary_score score;
        struct gf_error err = {0};
        prepare(&d, &o);
        double got[N_SUMS] = {0};
        for (int32_t t = 0; d.tokens && t < VOCAB * IN; t++) got[0] += (double)d.table_in[t];
        for (int32_t step = 1; step <= STEPS; step++) {
            CHECK_INT(gf_dictionary_step(&d, &score, &err), GF_OK);
            if (step == 1) got[1] = score.fvu, got[2] = score.l0;
        }
        got[3] = score.fvu, got[4] = score.l0;
        got[5] = weighed(d.enc.w, SIZE * IN), got[6] = weighed(d.b_enc.w, SIZE);
        got[7] = weighed(d.dec.w, SIZE * d.d_out), got[8] = weighed(d.b_dec.w, d.d_out);
        for (int s = 0; s < N_SUMS; s++) CHECK_NEAR(got[s], cases[i].sums[s], 2e-4);
        CHECK_INT(gf_dictionary_step(&d, &score, &err), GF_ERR_STATE);
        hash = hash_weights(hash, &d);
        gf_dictionary_close(&d);
    }
    if (hash != EVERY_BUILD) printf("  EVERY_BUILD is 0x%xu here\n", hash);
    CHECK(hash == EVERY_BUILD);
}

static void a_pool_changes_no_bit(void) {
    uint32_t hashes[2];
    for (int32_t threads = 1; threads <= 2; threads++) {
        struct gf_dictionary_options o = options(1, 0);
        o.batch = 190; /* two tiles of rows */
        struct gf_dictionary d;
        struct gf_dictionary_score score;
        struct gf_error err = {0};
        prepare(&d, &o);
        d.pool = gf_pool_open(threads);
        for (int32_t step = 0; step < STEPS; step++) gf_dictionary_step(&d, &score, &err);
        hashes[threads - 1] = hash_weights(2166136261u, &d);
        gf_pool_close(d.pool);
        gf_dictionary_close(&d);
    }
    CHECK_INT(hashes[1], hashes[0]);
}

static void encoding_gives_the_largest_features_in_order(void) {
    const struct gf_dictionary_options o = options(0, 0);
    struct gf_dictionary d;
    struct gf_dictionary_score score;
    struct gf_error err = {0};
    int32_t index[ROWS * K];
    float z[ROWS * K];
    prepare(&d, &o);
    for (int32_t step = 0; step < STEPS; step++) gf_dictionary_step(&d, &score, &err);
    CHECK_INT(gf_dictionary_encode(&d, 0, ROWS, index, z, &score, &err), GF_OK);
    double error = 0, active = 0;
    for (int32_t r = 0; r < ROWS; r++) {
        double left[IN];
        for (int32_t c = 0; c < IN; c++) left[c] = (double)d.x[r * IN + c] - (double)d.b_dec.w[c];
        for (int32_t i = 0; i < SIZE; i++) {
            int32_t larger = 0, is_chosen = 0;
            double pre[SIZE];
            for (int32_t f = 0; f < SIZE; f++) {
                pre[f] = (double)d.b_enc.w[f];
                for (int32_t c = 0; c < IN; c++) pre[f] += (double)d.enc.w[f * IN + c] * (double)d.x[r * IN + c];
            }
            for (int32_t f = 0; f < SIZE; f++) larger += pre[f] > pre[i];
            for (int32_t j = 0; j < K; j++) is_chosen |= index[r * K + j] == i;
            CHECK_INT(is_chosen, larger < K && pre[i] > 0);
            for (int32_t c = 0; is_chosen && c < IN; c++) left[c] -= pre[i] * (double)d.dec.w[i * IN + c];
            active += is_chosen;
        }
        for (int32_t j = 1; j < K; j++) CHECK(index[r * K + j] > index[r * K + j - 1] || index[r * K + j] == -1);
        for (int32_t c = 0; c < IN; c++) error += left[c] * left[c];
    }
    CHECK_NEAR(score.fvu, error / ROWS / d.variance, 1e-5);
    CHECK_NEAR(score.l0, active / ROWS, 1e-9);
    CHECK_INT(gf_dictionary_encode(&d, 1, ROWS, index, z, &score, &err), GF_ERR_ARGUMENT);
    gf_dictionary_close(&d);
}

static void a_feature_that_no_row_activates_is_dead(void) {
    struct gf_dictionary_options o = options(0, 0);
    o.k = 1, o.steps = 5; /* one epoch: five steps of 40 rows */
    struct gf_dictionary d;
    struct gf_dictionary_score score;
    struct gf_error err = {0};
    prepare(&d, &o);
    for (int32_t i = 0; i < 4; i++) d.b_enc.w[i] = -1e6f;
    for (int32_t step = 0; step < 5; step++) {
        CHECK_INT(gf_dictionary_step(&d, &score, &err), GF_OK);
        if (step < 4) CHECK_INT(score.dead, 0);
    }
    int32_t never = 0;
    for (int32_t i = 0; i < SIZE; i++) never += d.fired[i] == 0;
    CHECK_INT(score.dead, never);
    CHECK(never >= 4);
    gf_dictionary_close(&d);
}

static void wrong_rows_and_options_are_refused(void) {
    struct gf_dictionary_options o = options(1, 0);
    struct gf_dictionary d;
    struct gf_error err = {0};
    o.k = SIZE + 1;
    CHECK_INT(gf_dictionary_open(&d, &o, &err), GF_ERR_ARGUMENT);
    o = options(1, 0);
    CHECK_INT(gf_dictionary_open(&d, &o, &err), GF_OK);
    d.tokens[3] = VOCAB;
    CHECK_INT(gf_dictionary_prepare(&d, &err), GF_ERR_TOKEN);
    d.tokens[3] = 0;
    d.x[5] = NAN;
    CHECK_INT(gf_dictionary_prepare(&d, &err), GF_ERR_NOT_FINITE);
    gf_dictionary_close(&d);
}

int main(void) {
    RUN(steps_are_those_of_pytorch);
    RUN(a_pool_changes_no_bit);
    RUN(encoding_gives_the_largest_features_in_order);
    RUN(a_feature_that_no_row_activates_is_dead);
    RUN(wrong_rows_and_options_are_refused);
    return check_end();
}
