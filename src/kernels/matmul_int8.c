/* matmul_int8.c - quantised weights times quantised activations.
 *
 *   y[t][r] = sum over blocks b of  float(sum_k w[r][k] x[t][k]) * (scale_w[r][b] * scale_x[t][b])
 *
 * The inner sum is an exact integer: 32 products of at most 128 * 127 stay below 2^19; for types with factors, sums of
 * 16 products of at most 32 * 127 are multiplied by integers up to 128, and two of them stay below 2^24. Sums of 8 such
 * products fit int16, so that one i32x4_dot multiplies those of both halves of a block by their factors and adds them.
 * The sum is formed for 16 rows x 1 token (int8_by_1.h), 16 rows x 2 tokens (int8_by_2.h) or 8 rows x 4 tokens
 * (int8_by_4.h), in vectors whose 32-bit lane holds 4 columns of a row:
 *
 *   i32x4_rdot  one instruction multiplies the 4 columns and adds them to the lane.
 *   i32x4_dot   (GF_DOT_I16) multiplies pairs of int16. Read as int16, the weights of an even and the next odd column
 *               are v = 256 o + e with e in 0..255, so that
 *                 256 (o x_o + e x_e)  =  v x_o  +  e (256 x_e - x_o),
 *               two products of 16 bits, one of them with v masked to its low byte, and no sign extension. All four
 *               factors fit int16, and a block's sum, 256 times too large, stays below 2^28. With many tokens
 *               (GF_DOT_UNPACKED) the weights are first unpacked to int16, times their factors if they have any.
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
#include "kernels/int8_by_2.h"
#include "kernels/int8_by_4.h"

/* A product of a panel with the tokens at `in`: one token, or groups of two or four. Each is called through the table
 * below, so that it stays a function of its own: V8 keeps fewer values in registers where a function is large. */
typedef void product(float *out, const struct operands *in, const struct gf_acts *a, int32_t groups, int32_t dtype);

/* With one token: of types with and without a minimum. */
#define BY_1(name, plain, with_minimum, dot)                                                                           \
    static void name(float *out, const struct operands *in, const struct gf_acts *a, int32_t groups, int32_t dtype) {  \
        (void)groups;                                                                                                  \
        if (gf_dtypes[dtype].has_minimum)                                                                              \
            panel_by_1(out, *in, a->cols / GF_QBLOCK, with_minimum, dot);                                              \
        else                                                                                                           \
            panel_by_1(out, *in, a->cols / GF_QBLOCK, plain, dot);                                                     \
    }
#define BY_2(name, dot)                                                                                                \
    static void name(float *out, const struct operands *in, const struct gf_acts *a, int32_t groups, int32_t dtype) {  \
        panel_by_2(out, in, a, groups, dtype, dot);                                                                    \
    }
/* With four: asks once a block whether there is a minimum; more specialisations would make the binary larger. */
#define BY_4(name, factored, dot)                                                                                      \
    static void name(float *out, const struct operands *in, const struct gf_acts *a, int32_t groups, int32_t dtype) {  \
        panel_by_4(out, *in, a, groups, dtype, factored, dot);                                                         \
    }
enum { BYTES, NIBBLES, FACTORED };
BY_4(unpacked_by_4, 0, GF_DOT_UNPACKED)
#if GF_RELAXED
BY_1(bytes_abs, GF_Q8_0, GF_Q5_1, GF_DOT_ABS)
BY_1(bytes_rdot, GF_Q8_0, GF_Q5_1, GF_DOT_SIGNED)
BY_1(nibbles_unsigned, GF_Q4_0, GF_Q4_1, GF_DOT_UNSIGNED)
BY_1(nibbles_signed, GF_Q4_0, GF_Q4_1, GF_DOT_SIGNED)
BY_1(nibbles_i7, GF_Q4_0, GF_Q4_1, GF_DOT_I7)
BY_1(factored_abs, GF_Q6_K, GF_Q6_K, GF_DOT_ABS)
BY_1(factored_rdot, GF_Q6_K, GF_Q6_K, GF_DOT_SIGNED)
BY_2(bytes_abs_by_2, GF_DOT_ABS)
BY_2(bytes_rdot_by_2, GF_DOT_SIGNED)
BY_4(nibbles_i7_by_4, 0, GF_DOT_I7)
BY_4(rdot_by_4, 0, GF_DOT_SIGNED)
BY_4(factored_by_4_rdot, 1, GF_DOT_SIGNED)
/* By kind, kind of weights, and tokens at a time: 1, 2, 4. */
static product *const products[][3][3] = {
    [GF_DOT_ABS] = {{bytes_abs, bytes_abs_by_2}, {NULL}, {factored_abs}},
    [GF_DOT_UNSIGNED] = {{bytes_rdot, bytes_rdot_by_2, rdot_by_4},
                         {nibbles_unsigned, NULL, rdot_by_4},
                         {factored_rdot, NULL, factored_by_4_rdot}},
    [GF_DOT_SIGNED] = {{bytes_rdot, bytes_rdot_by_2, rdot_by_4},
                       {nibbles_signed, NULL, rdot_by_4},
                       {factored_rdot, NULL, factored_by_4_rdot}},
    [GF_DOT_I7] = {[NIBBLES] = {nibbles_i7, NULL, nibbles_i7_by_4}},
    [GF_DOT_UNPACKED] = {{NULL, NULL, unpacked_by_4}, {NULL, NULL, unpacked_by_4}, {NULL, NULL, unpacked_by_4}},
};
#else
BY_1(bytes_i16, GF_Q8_0, GF_Q5_1, GF_DOT_I16)
BY_1(nibbles_i16, GF_Q4_0, GF_Q4_1, GF_DOT_I16)
BY_1(factored_i16, GF_Q6_K, GF_Q6_K, GF_DOT_I16)
BY_2(bytes_i16_by_2, GF_DOT_I16)
static product *const products[][3][3] = {
    [GF_DOT_I16] = {{bytes_i16, bytes_i16_by_2}, {nibbles_i16}, {factored_i16}},
    [GF_DOT_UNPACKED] = {{NULL, NULL, unpacked_by_4}, {NULL, NULL, unpacked_by_4}, {NULL, NULL, unpacked_by_4}},
};
#endif

void gf_int8_panel(float *out, const struct gf_mat *w, int32_t p, const struct gf_acts *a, int32_t g, int32_t groups) {
    int32_t blocks = a->cols / GF_QBLOCK, lanes = a->lanes, dtype = w->dtype;
    const struct gf_dtype_row *type = &gf_dtypes[dtype];
    int64_t s = (int64_t)g * blocks * lanes;
    int64_t panel_bytes = (int64_t)blocks * gf_panel_bytes(dtype);
    int64_t panel_scales = (int64_t)(blocks / gf_scale_blocks(dtype)) * gf_scale_step(dtype);
    struct operands in = {.w = (const char *)w->data + p * panel_bytes,
                          .x = a->q + (int64_t)g * a->cols / 4 * lanes * a->unit_bytes,
                          .ws = w->scale + p * panel_scales,
                          .xs = a->scale + s,
                          .sum = a->sum + s,
                          .start = a->start + s * (type->has_factors && a->dot != GF_DOT_UNPACKED ? 4 : 1)};
    const int weights = type->has_factors ? FACTORED : type->bits == 4 ? NIBBLES : BYTES;
    products[a->dot][weights][lanes / 2](out, &in, a, groups, dtype);
}
