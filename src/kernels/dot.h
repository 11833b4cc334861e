/* dot.h - how this machine forms products of int8 numbers.
 *
 * int8 weights times int8 activations give exact integers, so every way of forming them gives the same result. Which
 * way
 * is fast and exact is a property of the machine: gf_kernels_init (probe.c) finds it once. */
#ifndef GF_DOT_H
#define GF_DOT_H
#include <stdint.h>

enum gf_dot {
    GF_DOT_I16,      /* extended to int16, i4_dot: SIMD128, native, and where i4_rdot is not exact */
    GF_DOT_UNSIGNED, /* i4_rdot, b unsigned: w stored ^ 0x80 reads as w + 128; the sum starts at -128 sum(x) */
    GF_DOT_SIGNED,   /* i4_rdot, b signed: stored as they are */
    GF_DOT_SPLIT,    /* i4_rdot, b exact in 0..127 only: x is split by sign into two products */
};

/* The way in use: GF_DOT_I16 until gf_dot_use is called. Weights and keys stored before a change must be stored
 * again. */
enum gf_dot gf_dot_kind(void);
/* Builds without i4_rdot stay at GF_DOT_I16. */
void gf_dot_use(enum gf_dot kind);
/* What stored q8 bytes of weights and keys are XORed with: 0x80 for GF_DOT_UNSIGNED, else 0. */
int32_t gf_dot_flip(void);
#endif
