/* adam.c - see adam.h. */
#include "train/adam.h"
#include <math.h>

void gf_adam(float *restrict w, const float *restrict g, float *restrict m, float *restrict v, uint64_t n,
             const struct gf_adam *a, float lr, float decay) {
    const float beta1 = a->beta1, beta2 = a->beta2, eps = a->eps, fix1 = a->fix1, fix2 = a->fix2;
    for (uint64_t i = 0; i < n; i++) {
        m[i] = beta1 * m[i] + (1 - beta1) * g[i];
        v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        w[i] -= lr * (m[i] * fix1 / (sqrtf(v[i] * fix2) + eps) + decay * w[i]);
    }
}
