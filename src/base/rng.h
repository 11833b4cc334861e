/* rng.h - seeded random numbers, the same bits on every machine.
 *
 * splitmix64 (Steele, Lea, Flood 2014) seeds xoshiro256++ (Blackman, Vigna 2019). Normal numbers come from Marsaglia's
 * polar method with a logarithm in rng.c, because the last bit of libm's differs between machines. */
#ifndef GF_RNG_H
#define GF_RNG_H
#include <stdint.h>

struct gf_rng {
    uint64_t s[4];
};
void gf_rng_seed(struct gf_rng *r, uint64_t seed);
uint64_t gf_rng_u64(struct gf_rng *r);
double gf_rng_uniform(struct gf_rng *r); /* [0, 1), 53 bits */
double gf_rng_normal(struct gf_rng *r);  /* mean 0, standard deviation 1 */
#endif
