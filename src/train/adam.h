/* adam.h - one step of Adam with decoupled weight decay (Kingma & Ba 2015, Loshchilov & Hutter 2019). */
#ifndef GF_ADAM_H
#define GF_ADAM_H
#include <stdint.h>

struct gf_adam {
    float beta1, beta2, eps;
    float fix1, fix2; /* 1 / (1 - beta^step): corrects the moments, which begin at 0 */
};

/* w -= lr (m' / (sqrt(v') + eps) + decay w) with the moments m and v of the gradient g, all of n values. */
void gf_adam(float *w, const float *g, float *m, float *v, uint64_t n, const struct gf_adam *a, float lr, float decay);
#endif
