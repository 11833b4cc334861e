/* attend.h - the attention of one segment's rows, each head separately: over cached keys and values, with taps, for
 * inference (attend_cached.c); over whole sequences for training (attend_whole.c). */
#ifndef GF_ATTEND_H
#define GF_ATTEND_H
#include "model/layers/pass.h"

/* The operations and points of one kind of attention. */
struct gf_attend_points {
    int32_t attend_op, out_op;
    int32_t raw, scaled, scores, pattern, z, result;
};

struct gf_attend {
    const struct gf_pass *p;
    const struct gf_attend_points *points;
    const uint8_t *mask; /* [n_keys], 0: no row sees this key; NULL: no mask */
    int32_t causal, window, alibi;
    const float *relative;  /* gf_pass.relative; NULL: none */
    int32_t row0, n;        /* rows of the pass */
    int32_t pos0, n_keys;   /* position of row0; keys */
    const float *q;         /* [n, ldq] */
    float *z;               /* [n, ldz] */
    const struct gf_kv *kv; /* the cache; in training instead: */
    const float *k, *v;     /* [n_keys, ldk] */
    int32_t ldq, ldz, ldk;
};

/* The first key that a row sees, and the one after the last. */
static inline int32_t gf_keys_from(const struct gf_attend *a, int32_t row) {
    const int32_t pos = a->pos0 + row;
    return a->window && pos >= a->window ? pos - a->window + 1 : 0;
}
static inline int32_t gf_keys_to(const struct gf_attend *a, int32_t row) {
    const int32_t pos = a->pos0 + row;
    if (a->causal) return pos + 1;
    return a->window && a->window < a->n_keys - pos ? pos + a->window : a->n_keys;
}

/* Threads share the rows of a kv head where heads are few: tiles of one attention, each with scores of its own. */
#if defined(__wasm__) && !defined(__wasm_atomics__)
enum { GF_ATTEND_TILES = 1 };
#else
enum { GF_ATTEND_TILES = 8 };
#endif
static inline int32_t gf_attend_parts(int32_t kv_heads) {
    return kv_heads < GF_ATTEND_TILES ? (GF_ATTEND_TILES + kv_heads - 1) / kv_heads : 1;
}

/* a->z = softmax(scores) v. */
void gf_attend_cached(const struct gf_attend *a);

/* The number of floats in gf_training.work for sequences of up to `most` positions. */
uint64_t gf_attend_whole_work(int32_t most);
/* a->z = softmax(scores) v. */
void gf_attend_whole(const struct gf_attend *a);
/* Set dq and add to dk and dv, which have the layout of q, k and v, and to drelative, which has that of a->relative.
 * The patterns are computed again instead of being kept.
 *   dv = pattern^T dz,  dpattern = dz v^T,  dscores = pattern (dpattern - sum(dz z))
 *   with a soft cap s = cap tanh(r / cap) of the scores: dr = ds (1 - (s / cap)^2) */
void gf_attend_whole_backward(const struct gf_attend *a, const float *dz, float *dq, float *dk, float *dv,
                              float *drelative);
#endif
