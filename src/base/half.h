/* half.h - converts the two 16-bit floating-point types, one value at a time.
 *
 *   f16   1 sign, 5 exponent, 10 mantissa bits (IEEE 754 binary16)
 *   bf16  the upper half of a float
 *
 * Conversion to float is exact. Conversion from float rounds to nearest, ties to even; f16 overflows to infinity from
 * 65520 on; NaN remains NaN. */
#ifndef GF_HALF_H
#define GF_HALF_H
#include <stdint.h>

float gf_f16_to_f32(uint16_t h);
uint16_t gf_f32_to_f16(float x);
float gf_bf16_to_f32(uint16_t h);
uint16_t gf_f32_to_bf16(float x);
#endif
