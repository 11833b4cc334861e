/* mutate.h - makes wrong input of valid input. The same seed makes the same changes. */
#ifndef GF_MUTATE_H
#define GF_MUTATE_H
#include "base/rng.h"
#include <stddef.h>

/* A random integer in 0 ... n - 1, n > 0. */
uint64_t any(struct gf_rng *r, uint64_t n);
/* Change n bytes in place, one to a few times, sometimes with parts of `other` ([n_other], may be empty). `bytes` has
 * space for `capacity` bytes. Returns the new number of bytes. */
size_t mutate(struct gf_rng *r, uint8_t *bytes, size_t n, size_t capacity, const uint8_t *other, size_t n_other);
#endif
