/* half.c - f16 and bf16, to float and back. */
#include "base/half.h"
#include <string.h>

static uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

static float float_of(uint32_t u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
}

/* The exponent biases differ by 127 - 15 = 112. So the bits of an f16, shifted to their places in a float, are its
 * value times 2^-112, subnormals included; the product with 2^112 is exact. */
float gf_f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    if ((h & 0x7c00) == 0x7c00) return float_of(sign | 0x70000000u | rest); /* inf, NaN */
    return float_of(sign | bits_of(float_of(rest) * 0x1p112f));
}

uint16_t gf_f32_to_f16(float x) {
    uint32_t u = bits_of(x), sign = u >> 16 & 0x8000;
    u &= 0x7fffffff;
    if (u > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (u >> 13 & 0x3ff)); /* NaN */
    if (u >= 0x47800000) return (uint16_t)(sign | 0x7c00);                    /* 2^16 and more */
    /* Below 2^-14 f16 counts in steps of 2^-24, the last place of 0.5f: let the addition round. */
    if (u < 0x38800000) return (uint16_t)(sign | (bits_of(float_of(u) + 0.5f) - 0x3f000000));
    u += 0xfff + (u >> 13 & 1); /* half a step less one, and one more if odd: ties to even */
    return (uint16_t)(sign | (u - 0x38000000) >> 13);
}

float gf_bf16_to_f32(uint16_t h) { return float_of((uint32_t)h << 16); }

uint16_t gf_f32_to_bf16(float x) {
    uint32_t u = bits_of(x);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 | 0x40); /* NaN stays NaN */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
