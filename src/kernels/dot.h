/* dot.h - how this machine forms products of int8 numbers.
 *
 * int8 weights times int8 activations give exact integers, so every way of forming them gives the same result. Which
 * way
 * is fast and exact is a property of the machine: gf_kernels_init (probe.c) finds it once. */
#ifndef GF_DOT_H
#define GF_DOT_H
#include <stdint.h>

enum gf_dot {
    GF_DOT_I16,      /* i4_dot on pairs of columns; even columns are stored as w + 128: SIMD128, native, and
                        processors where i4_rdot saturates or is not exact (x86 without AVX-VNNI) */
    GF_DOT_UNSIGNED, /* i4_rdot, b unsigned; all columns are stored as w + 128 */
    GF_DOT_SIGNED,   /* i4_rdot, b signed; stored as they are */
};

/* The way in use: GF_DOT_I16 until gf_dot_use is called. Weights and keys stored before a change must be stored
 * again. */
enum gf_dot gf_dot_kind(void);
/* Builds without i4_rdot stay at GF_DOT_I16. */
void gf_dot_use(enum gf_dot kind);
/* What the stored q8 byte of a column of weights or keys is XORed with: 0x80 where it is stored as w + 128, else 0. */
uint8_t gf_dot_flip(int32_t column);
#endif
