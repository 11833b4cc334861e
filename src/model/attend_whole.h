/* attend_whole.h - attention over whole sequences without a cache, for training: forward, and
 * backward, which forms the patterns once more instead of keeping them. */
#ifndef GF_ATTEND_WHOLE_H
#define GF_ATTEND_WHOLE_H
#include "model/pass.h"

/* The heads of one segment: its queries against n_keys keys, rows ld apart. */
struct gf_whole {
    const struct gf_pass *p;
    const uint8_t *mask;
    int32_t causal, window, n, n_keys;
    const float *q, *k, *v;
    float *z;
    int32_t ldq, ldk, ldz;
};

/* Floats of gf_training.work for sequences of up to `most` positions. */
uint64_t gf_attend_whole_work(int32_t most);
/* a->z [n, heads] of q, k, v. */
void gf_attend_whole(const struct gf_whole *a);
/* dq, dk, dv laid out as q, k, v; dk and dv are added to, dq is set.
 *   dv = pattern^T dz,  dpattern = dz v^T,  dscores = pattern (dpattern - sum(dz z)) */
void gf_attend_whole_backward(const struct gf_whole *a, const float *dz, float *dq, float *dk, float *dv);
#endif
