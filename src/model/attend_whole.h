/* attend_whole.h - attention over whole sequences without a cache, for training. Backward computes the patterns again
 * instead of keeping them. */
#ifndef GF_ATTEND_WHOLE_H
#define GF_ATTEND_WHOLE_H
#include "model/pass.h"

/* All heads of one segment: n queries and n_keys keys and values; rows are ldq, ldk and ldz floats apart. */
struct gf_whole {
    const struct gf_pass *p;
    const uint8_t *mask;
    int32_t causal, window, alibi, n, n_keys;
    const float *relative; /* as in gf_pass; NULL: none */
    const float *q, *k, *v;
    float *z;
    int32_t ldq, ldk, ldz;
};

/* The number of floats in gf_training.work for sequences of up to `most` positions. */
uint64_t gf_attend_whole_work(int32_t most);
/* a->z [n, n_heads d_head] = softmax(scores) v. */
void gf_attend_whole(const struct gf_whole *a);
/* Set dq and add to dk and dv, which have the layout of q, k and v, and to drelative, which has that of a->relative:
 *   dv = pattern^T dz,  dpattern = dz v^T,  dscores = pattern (dpattern - sum(dz z))
 *   with a soft cap s = cap tanh(r / cap) of the scores: dr = ds (1 - (s / cap)^2) */
void gf_attend_whole_backward(const struct gf_whole *a, const float *dz, float *dq, float *dk, float *dv,
                              float *drelative);
#endif
