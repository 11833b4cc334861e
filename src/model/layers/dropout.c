/* dropout.c - see dropout.h. */
#include "model/layers/dropout.h"
#include <string.h>

/* splitmix64's finisher (Steele, Lea, Flood 2014) of a counter: four 16-bit draws each. */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void gf_dropout(const struct gf_pass *p, int32_t which, float *y, const float *x) {
    const struct gf_training *t = p->training;
    const int64_t all = (int64_t)p->n * p->cfg->d_model;
    if (t->dropout == 0) {
        if (y != x) memcpy(y, x, (size_t)all * sizeof *y);
        return;
    }
    const uint64_t place = ((uint64_t)p->stack << 40) + ((uint64_t)(p->layer + 1) << 8) + (uint64_t)which,
                   key = mix(t->seed ^ mix(place + 1));
    const uint32_t below = (uint32_t)(t->dropout * 65536.0f);
    const float keep = 1 / (1 - (float)below / 65536.0f);
    for (int64_t i = 0; i < all; i += 4) {
        const uint64_t draws = mix(key + (uint64_t)i * 0x9e3779b97f4a7c15u);
        for (int64_t j = i; j < i + 4 && j < all; j++)
            y[j] = (uint32_t)(draws >> (16 * (j - i)) & 0xffff) < below ? 0 : x[j] * keep;
    }
}
