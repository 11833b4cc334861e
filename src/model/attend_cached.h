/* attend_cached.h - attention over cached keys and values, with taps; for inference. */
#ifndef GF_ATTEND_CACHED_H
#define GF_ATTEND_CACHED_H
#include "model/pass.h"

/* The attention of one segment's rows in one layer. */
struct gf_attend {
    const struct gf_pass *p;
    int32_t layer;
    int32_t raw, scaled, scores, pattern; /* points to tap */
    const struct gf_kv *kv;
    const uint8_t *mask; /* [n_keys], 0: no row sees this key; NULL: no mask */
    int32_t causal, window, alibi;
    const float *relative; /* as in gf_pass; NULL: none */
    int32_t row0, n;       /* rows of the pass */
    int32_t pos0;          /* position of row0 */
    int32_t n_keys;        /* keys in the cache */
    const float *q;        /* [n, ldq] */
    float *z;              /* [n, ldz] */
    int32_t ldq, ldz;
};

/* a->z = softmax(scores) v for the rows of a, each head separately. */
void gf_attend_cached(const struct gf_attend *a);
#endif
