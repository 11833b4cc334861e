/* bytes.h - arithmetic on sizes in 64 bits with overflow detection (size_t has 32 bits in wasm).
 *
 * An overflow gives GF_TOO_MUCH, and so does any sum or product with GF_TOO_MUCH: a whole formula is checked once, at
 * its end. */
#ifndef GF_BYTES_H
#define GF_BYTES_H
#include <stdint.h>

#define GF_TOO_MUCH UINT64_MAX

static inline uint64_t gf_add_u64(uint64_t a, uint64_t b) { return a > GF_TOO_MUCH - b ? GF_TOO_MUCH : a + b; }

static inline uint64_t gf_mul_u64(uint64_t a, uint64_t b) {
    if (a == 0 || b == 0) return 0;
    return a == GF_TOO_MUCH || b == GF_TOO_MUCH || a > GF_TOO_MUCH / b ? GF_TOO_MUCH : a * b;
}

static inline uint64_t gf_round_up(uint64_t n, uint64_t to) {
    uint64_t up = gf_add_u64(n, to - 1);
    return up == GF_TOO_MUCH ? up : up / to * to;
}
#endif
