/* matmul_int8.c - quantised weights times quantised activations.
 *
 *   y[t][r] = sum over blocks b of  float(sum_k w[r][k] x[t][k]) * (scale_w[r][b] * scale_x[t][b])
 *
 * The inner sum is an exact integer: 32 products of at most 128 * 127 stay below 2^19; for types with factors, sums of
 * 16 products of at most 32 * 127 are multiplied by integers up to 128, and two of them stay below 2^24. Sums of 8 such
 * products fit int16, so that one i32x4_dot multiplies those of both halves of a block by their factors and adds them.
 * The sum is formed for 16 rows x 1 token (int8_by_1.h), or for 8 rows x 4 tokens (int8_by_4.h), in vectors whose
 * 32-bit lane holds 4 columns of a row:
 *
 *   i32x4_rdot  one instruction multiplies the 4 columns and adds them to the lane.
 *   i32x4_dot   (GF_DOT_I16) multiplies pairs of int16. Read as int16, the weights of an even and the next odd column
 *               are v = 256 o + e with e in 0..255, so that
 *                 256 (o x_o + e x_e)  =  v x_o  +  e (256 x_e - x_o),
 *               two products of 16 bits, one of them with v masked to its low byte, and no sign extension. All four
 *               factors fit int16, and a block's sum, 256 times too large, stays below 2^28.
 *   i16x8_rdot  (GF_DOT_ABS) multiplies 2 columns in each lane of 16 bits, where one factor is 0..127: x w is |x| times
 *               w with the sign of x. A weight with all bits inverted is -w - 1, so the sum also gets |x| for every
 *               negative x. Two products stay within 2 * 127 * 128 < 2^15; i32x4_dot with ones adds the two lanes of a
 *               row. For 6 bits, four such sums fit a lane.
 *   i16x8_rdot  (GF_DOT_I7, weights of 4 bits) multiplies 2 columns in each lane of 16 bits. Such a lane has 16 columns
 *               of a block, whose sum stays below 16 * 15 * 127 < 2^15; i32x4_dot with ones adds the two lanes of a
 *               row.
 *
 * e is unsigned, so even columns are stored as w + 128 for GF_DOT_I16; all columns are for GF_DOT_UNSIGNED. A sum then
 * starts at -128 times the sum of the activations of those columns (acts.c). */
#include "kernels/int8_by_1.h"
#include "kernels/int8_by_4.h"

/* The product with many tokens, and with one token and 8 bits: calls the specialisation for the type. With many tokens
 * 4-bit types share that of q8_0, which asks once a block whether there is a minimum: more specialisations would make
 * the function so large that V8 keeps fewer values in registers, and the binary larger. */
GF_INLINE void panel(float *out, struct operands at, const struct gf_acts *a, int32_t groups, int32_t dtype,
                     enum gf_dot dot) {
    int32_t blocks = a->cols / GF_QBLOCK, bits = gf_dtypes[dtype].bits, minimum = gf_dtypes[dtype].has_minimum;
    if (a->lanes != 1) {
        panel_by_4(out, at, a, groups, bits, minimum, GF_Q8_0, dot);
    } else if (minimum) {
        panel_by_1(out, at, blocks, GF_Q5_1, dot);
    } else {
        panel_by_1(out, at, blocks, GF_Q8_0, dot);
    }
}

/* The product with one token of a type of 4 bits. */
GF_INLINE void nibbles(float *out, struct operands at, int32_t blocks, int32_t dtype, enum gf_dot dot) {
    if (gf_dtypes[dtype].has_minimum)
        panel_by_1(out, at, blocks, GF_Q4_1, dot);
    else
        panel_by_1(out, at, blocks, GF_Q4_0, dot);
}

/* The product of a type with factors: functions of their own, because V8 keeps fewer values in registers where a
 * function is large. */
GF_INLINE void factored(float *out, const struct operands *at, const struct gf_acts *a, int32_t groups,
                        enum gf_dot dot) {
    if (a->lanes == 1)
        panel_by_1(out, *at, a->cols / GF_QBLOCK, GF_Q6_K, dot);
    else
        panel_by_4(out, *at, a, groups, 8, 0, GF_Q6_K, dot);
}
#define FACTORED(name, dot)                                                                                            \
    static __attribute__((noinline)) void name(float *out, const struct operands *at, const struct gf_acts *a,         \
                                               int32_t groups) {                                                       \
        factored(out, at, a, groups, dot);                                                                             \
    }
#if GF_RELAXED
FACTORED(factored_abs, GF_DOT_ABS)
FACTORED(factored_rdot, GF_DOT_SIGNED)
#else
FACTORED(factored_i16, GF_DOT_I16)
#endif

void gf_int8_panel(float *out, const struct gf_mat *w, int32_t p, const struct gf_acts *a, int32_t g, int32_t groups) {
    int32_t blocks = a->cols / GF_QBLOCK, lanes = a->lanes, dtype = w->dtype;
    int64_t s = (int64_t)g * blocks * lanes;
    int64_t panel_bytes = (int64_t)blocks * gf_panel_bytes(dtype);
    int64_t panel_scales = (int64_t)(blocks / gf_scale_blocks(dtype)) * gf_scale_step(dtype);
    int64_t bytes = (w->rows + GF_PANEL - 1) / GF_PANEL * panel_bytes;
    struct operands at = {.w = (const char *)w->data + p * panel_bytes,
                          .ahead = (const char *)w->data + (bytes > AHEAD ? bytes - AHEAD : 0),
                          .x = a->q + (int64_t)g * a->cols / 4 * lanes * a->unit,
                          .ws = w->scale + p * panel_scales,
                          .xs = a->scale + s,
                          .sum = a->sum + s,
                          .start = a->start + s * (gf_dtypes[dtype].has_factors ? 4 : 1)};
    int small = lanes == 1 && gf_dtypes[dtype].bits == 4, factors = gf_dtypes[dtype].has_factors;
#if GF_RELAXED
    /* Signed and unsigned differ in code only for one token and 4 bits. */
    const enum gf_dot dot = gf_dot_of(gf_dtypes[dtype].bits);
    if (small && dot == GF_DOT_UNSIGNED)
        nibbles(out, at, blocks, dtype, GF_DOT_UNSIGNED);
    else if (small && dot == GF_DOT_SIGNED)
        nibbles(out, at, blocks, dtype, GF_DOT_SIGNED);
    else if (small)
        nibbles(out, at, blocks, dtype, GF_DOT_I7);
    else if (factors && dot == GF_DOT_ABS)
        factored_abs(out, &at, a, groups);
    else if (factors)
        factored_rdot(out, &at, a, groups);
    else if (dot == GF_DOT_I7)
        panel(out, at, a, groups, dtype, GF_DOT_I7);
    else if (dot != GF_DOT_ABS)
        panel(out, at, a, groups, dtype, GF_DOT_SIGNED);
    else
        panel(out, at, a, groups, dtype, GF_DOT_ABS);
#else
    if (small)
        nibbles(out, at, blocks, dtype, GF_DOT_I16);
    else if (factors)
        factored_i16(out, &at, a, groups);
    else
        panel(out, at, a, groups, dtype, GF_DOT_I16);
#endif
}
