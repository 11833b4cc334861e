/* int8_sums.h - the sums of blocks of quantised products that one, two and four tokens share: see matmul_int8.c. */
#ifndef GF_INT8_SUMS_H
#define GF_INT8_SUMS_H
#include "kernels/shared.h"
#include "kernels/simd.h"

/* Where the product of a panel reads: weights w with scales ws; activations x with scales xs, sums and starts (struct
 * gf_acts). Advanced block by block. */
struct operands {
    const char *w, *x;
    const float *ws, *xs, *sum;
    const int32_t *start;
};

/* Add the integer sum s of a block: f += float(s) * (scale_w * scale_x), and if there is a minimum f += minimum_w *
 * sum_x */
GF_INLINE v128 add_block(v128 f, v128 s, int minimum, const float *ws, const float *xs, const float *sum) {
    f = f4_add(f, f4_mul(f4_from_i4(s), f4_mul(v_load(ws), v_splat32(xs))));
    if (minimum) f = f4_add(f, f4_mul(v_load(ws + GF_PANEL), v_splat32(sum)));
    return f;
}

/* s += 256 times the products of 4 rows x 4 columns (see matmul_int8.c); odd, pairs: 4 columns of x */
GF_INLINE v128 add_pairs(v128 s, v128 w, v128 odd, v128 pairs) {
    return i32x4_add(s, i32x4_add(i32x4_dot(w, odd), i32x4_dot(v_and(w, I32X4(0x00ff00ff)), pairs)));
}

#if GF_RELAXED
/* s += the products of 4 rows x 4 columns; size, sign: of 4 columns of x */
GF_INLINE v128 add_abs(v128 s, v128 w, v128 size, v128 sign) {
    return i32x4_add(s, i32x4_dot(i16x8_rdot(v_xor(w, sign), size), I32X4(0x00010001)));
}
#endif

/* t += the products of a vector of weights with factors, 2 rows x 2 halves x 4 columns, and x, twice the same 4 columns
 * of both halves. */
GF_INLINE v128 add_halves(v128 t, const char *w, const char *x, enum gf_dot dot) {
#if GF_RELAXED
    if (dot == GF_DOT_ABS) return i16x8_add(t, i16x8_rdot(v_xor(v_load(w), v_splat64(x + 8)), v_splat64(x)));
    if (dot != GF_DOT_I16) return i32x4_rdot(v_splat64(x), v_load(w), t);
#endif
    (void)dot;
    return add_pairs(t, v_load(w), v_splat64(x), v_splat64(x + 8));
}

/* s += 4 rows of 8 columns of both halves of a block times their factors k (4 rows x 2 halves, int16). t, u: the sums
 * of 2 rows each; for GF_DOT_I16 256 times too large, for GF_DOT_ABS in two int16, and for both without start */
GF_INLINE v128 add_factored(v128 s, v128 t, v128 u, v128 start, v128 k, enum gf_dot dot) {
    if (dot == GF_DOT_I16) t = i32x4_add(i32x4_shr(t, 8), start), u = i32x4_add(i32x4_shr(u, 8), start);
    v128 one = I32X4(0x00010001);
    if (dot == GF_DOT_ABS) t = i32x4_add(i32x4_dot(t, one), start), u = i32x4_add(i32x4_dot(u, one), start);
    return i32x4_add(s, i32x4_dot(i16x8_narrow(t, u), k));
}
#endif
