/* shared.h - internal to kernels/: activations quantised or scaled for products with weights, keys and values. */
#ifndef GF_KERNELS_SHARED_H
#define GF_KERNELS_SHARED_H
#include "kernels/int8_kind.h"
#include "kernels/kernels.h"

/* For F16_LOW (simd.h): to [m][n] = x [m][n], rows ldx apart, times 2^112. Returns 1 if all results are finite, else
 * 0. */
int gf_scale_up(float *to, const float *x, int32_t ldx, int32_t m, int32_t n);

/* Activations x [n, cols], quantised to int8 in blocks of 32 columns: groups of `lanes` tokens (1 if n == 1, else 2 for
 * GF_DOT_I16 and GF_DOT_ABS, and for n == 2 with weights of 8 bits without factors, else 4; missing tokens are zero),
 * columns in fours: q [groups][cols/4][lanes], a unit of unit_bytes, 4 int8 or, for GF_DOT_I16 and GF_DOT_ABS, two
 * parts (acts.c); for GF_DOT_UNPACKED q [groups][cols/4][2][lanes][2] int16. One number per token and block of 32
 * columns each, [groups][cols/32][lanes]: scale; sum = scale * sum(q); start, where the integer sum begins.
 * For weights with factors, except with GF_DOT_UNPACKED, the two halves of a block lie together: q
 * [groups][cols/32][4][lanes][2] units, and start [groups][cols/32][2][lanes][2], one for the first and one for the
 * second 8 columns of a half. */
struct gf_acts {
    enum gf_dot dot;
    int32_t lanes, groups, cols, unit_bytes;
    char *q;
    float *scale, *sum;
    int32_t *start;
};
/* Arrays for the product of n tokens with W, laid out in scratch (gf_matmul_scratch). */
struct gf_acts gf_acts_for(const struct gf_mat *w, int32_t n, void *scratch);
/* Fill group g from x [n, cols]; dtype is that of the weights. */
void gf_acts_fill(struct gf_acts *a, int32_t g, const float *x, int32_t n, int32_t dtype);
/* out [groups * lanes][16] = panel p of W times `groups` groups from g on (one if lanes is 1). */
void gf_int8_panel(float *out, const struct gf_mat *w, int32_t p, const struct gf_acts *a, int32_t g, int32_t groups);
#endif
