/* sessions.h - sessions of every golden model: the same tokens in any chunks, compared bit for bit. */
#ifndef GF_SESSIONS_H
#define GF_SESSIONS_H
#include "golden.h"
#include "status.h"
#include <stdlib.h>

static struct golden all[N_GOLDEN];
static struct gf_model *models[N_GOLDEN];

/* The same bits; a failure prints the model's name. */
#define CHECK_SAME(got, want, n, name, ...)                                                                            \
    do {                                                                                                               \
        const float *got_ = (got), *want_ = (want);                                                                    \
        const int64_t n_ = (n);                                                                                        \
        if (check_note(!memcmp(got_, want_, (size_t)n_ * sizeof *got_), __FILE__, __LINE__)) {                         \
            printf("%s, ", name);                                                                                      \
            printf(__VA_ARGS__);                                                                                       \
            printf(": other bits, up to %.3g away\n", max_diff(got_, want_, n_));                                      \
        }                                                                                                              \
    } while (0)

static inline int is_decoder(const struct golden *g) { return g->cfg.kind != GF_ENCODER; }
static inline int is_double(const struct golden *g) { return g->cfg.kind == GF_ENCODER_DECODER; }
static inline int has_blocks(const struct golden *g) { return g->name[0] == 'q' && g->name[2] == '_'; }

#define EACH_MODEL(g, m)                                                                                               \
    for (struct golden *g = all; g < all + N_GOLDEN; g++)                                                              \
        for (struct gf_model *m = models[g - all]; m; m = NULL)
#define EACH_DECODER(g, m)                                                                                             \
    EACH_MODEL(g, m)                                                                                                   \
    if (is_decoder(g))

enum { MOST = 128 };
static int32_t ids[MOST], source[11];
static const uint8_t source_mask[11] = {1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0};

/* Open a session, with a source if the model is an encoder_decoder. */
static inline struct gf_session *open_session(const struct golden *g, const struct gf_model *m, int32_t kv_type) {
    struct gf_session *s = gf_session_open(m, 0, kv_type, &err);
    CHECK(s != NULL);
    if (!s) exit(1);
    if (is_double(g)) CHECK_OK(gf_session_encode(s, source, NULL, source_mask, 11, &err));
    return s;
}

/* Sizes of the chunks: all at once, one by one, odd ones. */
enum { AT_ONCE, ONE_BY_ONE, ODD, N_PLANS };
static inline int32_t piece(int32_t plan, int32_t k, int32_t left) {
    static const int32_t odd[] = {3, 1, 5, 63, 2, 7, 13};
    int32_t n = plan == AT_ONCE ? left : plan == ONE_BY_ONE ? 1 : odd[k % 7];
    return n < left ? n : left;
}

/* Evaluate tokens [from, to) and copy their logits to out. */
static inline void eval(struct gf_session *s, int32_t vocab, const int32_t *tokens, int32_t from, int32_t to,
                        int32_t plan, float *out) {
    for (int32_t at = from, k = 0, n; at < to; at += n, k++) {
        n = piece(plan, k, to - at);
        CHECK_OK(gf_session_eval(s, tokens + at, n, &err));
        const float *y = gf_session_logits(s, 0, n, &err);
        CHECK(y != NULL);
        if (y) memcpy(out + (int64_t)(at - from) * vocab, y, (size_t)n * (size_t)vocab * sizeof *out);
    }
}

static inline float *floats(int64_t n) {
    float *p = calloc((size_t)n + 1, sizeof *p);
    if (!p) exit(1);
    return p;
}

/* The captured values [rows, width] of a point. */
static inline const float *seen(struct gf_session *s, int32_t layer, int32_t point) {
    int32_t dims[3];
    const float *x = gf_session_captured(s, 0, layer, point, dims);
    CHECK(x != NULL);
    if (!x) exit(1);
    return x;
}

static inline void open_models(void) {
    uint64_t seed = 2024;
    for (int i = 0; i < N_GOLDEN; i++) {
        struct golden *g = &all[i];
        golden_open(g, golden_names[i]);
        struct feeding how = {.dtypes = golden_dtypes(g)};
        models[i] = golden_model(g, &g->cfg, &how, &err);
        CHECK(models[i] != NULL);
    }
    for (int i = 0; i < MOST; i++) ids[i] = (int32_t)(test_random(&seed) >> 33) % 41;
    for (int i = 0; i < 11; i++) source[i] = (int32_t)(test_random(&seed) >> 33) % 41;
}

static inline void close_models(void) {
    for (int i = 0; i < N_GOLDEN; i++) {
        gf_model_close(models[i]);
        golden_close(&all[i]);
    }
}
#endif
