/* half.h - the two 16-bit floats, scalar.
 *
 *   f16   1 sign, 5 exponent, 10 mantissa bits (IEEE 754 binary16)
 *   bf16  the upper half of a float
 *
 * To float is exact. From float rounds to nearest, ties to even; f16 overflows to infinity from
 * 65520 on; NaN stays NaN. */
#ifndef GF_HALF_H
#define GF_HALF_H
#include <stdint.h>

float gf_f16_to_f32(uint16_t h);
uint16_t gf_f32_to_f16(float x);
float gf_bf16_to_f32(uint16_t h);
uint16_t gf_f32_to_bf16(float x);
#endif
