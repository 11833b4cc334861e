/* mutate.h - bytes that were right, made wrong; the same seed makes the same. */
#ifndef GF_MUTATE_H
#define GF_MUTATE_H
#include "base/rng.h"
#include <stddef.h>

/* A whole number below n (n > 0). */
uint64_t any(struct gf_rng *r, uint64_t n);
/* Change n bytes in place, a few times, with pieces of `other` ([n_other], may be empty); there is
 * room for `room` bytes. Returns how many there are now. */
size_t mutate(struct gf_rng *r, uint8_t *bytes, size_t n, size_t room, const uint8_t *other, size_t n_other);
#endif
