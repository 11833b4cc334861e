/* rng.c - see rng.h. */
#include "base/rng.h"
#include <math.h>

void gf_rng_seed(struct gf_rng *r, uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        r->s[i] = z ^ (z >> 31);
    }
}

static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

uint64_t gf_rng_u64(struct gf_rng *r) {
    uint64_t *s = r->s, out = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

double gf_rng_uniform(struct gf_rng *r) { return (double)(gf_rng_u64(r) >> 11) * 0x1p-53; }

/* ln x for x > 0: x = m 2^e with m in [sqrt(1/2), sqrt(2)), ln m = 2 artanh((m-1)/(m+1)) as its
 * series; with |t| <= 0.1716 the terms after t^21 are below 2^-57. */
static double ln(double x) {
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752440) {
        m *= 2;
        e--;
    }
    double t = (m - 1) / (m + 1), t2 = t * t, sum = 0;
    for (int k = 21; k >= 1; k -= 2) sum = sum * t2 + 1.0 / k;
    return 2 * t * sum + e * 0.69314718055994530942;
}

double gf_rng_normal(struct gf_rng *r) {
    for (;;) {
        double u = 2 * gf_rng_uniform(r) - 1, v = 2 * gf_rng_uniform(r) - 1, q = u * u + v * v;
        if (q > 0 && q < 1) return u * sqrt(-2 * ln(q) / q);
    }
}
