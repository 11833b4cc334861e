/* shared.h - what the kernels share among themselves: how int8 products are formed, activations
 * made ready for products. */
#ifndef GF_KERNELS_SHARED_H
#define GF_KERNELS_SHARED_H
#include "kernels/kernels.h"

/* For F16_LOW (simd.h): to [m][n] = x [m][n], rows ldx apart, times 2^112. 0 if some of it is not
 * finite then. */
int gf_scale_up(float *to, const float *x, int32_t ldx, int32_t m, int32_t n);

/* int8 weights times int8 activations give exact integers, so how a machine forms them is free.
 * Four ways, one result: */
enum gf_dot {
    GF_DOT_I16,      /* extended to int16, i4_dot: SIMD128, native, where i4_rdot is broken */
    GF_DOT_UNSIGNED, /* i4_rdot, b unsigned: w stored ^ 0x80 reads as w + 128; the sum starts at -128 sum(x) */
    GF_DOT_SIGNED,   /* i4_rdot, b signed: as they are */
    GF_DOT_SPLIT,    /* i4_rdot, b only safe in 0..127: x split by sign, two products */
};

/* Which one this process uses. A property of the machine, found once by gf_kernels_init; before
 * that GF_DOT_I16. */
enum gf_dot gf_dot_kind(void);
/* What stored q8 bytes of weights and keys are XORed with: 0x80 for GF_DOT_UNSIGNED, else 0. */
int32_t gf_dot_flip(void);

/* x, quantised: groups of `lanes` tokens (1 if n == 1, else 4; missing tokens are zero), columns in
 * fours: q [groups][cols/4][lanes][4], int8 or, for GF_DOT_I16, int16. For GF_DOT_SPLIT q holds
 * max(x, 0) and minus, of the same shape, max(-x, 0). One number per token and block of 32 columns
 * each, [groups][cols/32][lanes]: scale; start, where the integer sum begins; sum = scale * sum(q) */
struct gf_acts {
    int32_t lanes, groups, cols;
    char *q, *minus;
    float *scale, *sum;
    int32_t *start;
};
/* Lay the arrays out in scratch (gf_matmul_scratch). */
void gf_acts_bind(struct gf_acts *a, int32_t n, int32_t cols, void *scratch);
/* Fill group g from x [n, cols]; dtype is that of the weights. */
void gf_acts_fill(struct gf_acts *a, int32_t g, const float *x, int32_t ldx, int32_t n, int32_t dtype);
/* out [groups * lanes][16] = panel p of W times `groups` groups from g on (one if lanes is 1). */
void gf_int8_panel(float *out, const struct gf_mat *w, int32_t p, const struct gf_acts *a, int32_t g, int32_t groups);
#endif
