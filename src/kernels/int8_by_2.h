/* int8_by_2.h - a panel of quantised weights of 8 bits times two tokens at a time. */
#ifndef GF_INT8_BY_2_H
#define GF_INT8_BY_2_H
#include "kernels/int8_sums.h"

/* s += the products of 4 rows x 4 columns; a, b: the parts of 4 columns of x, b only for kinds in parts */
GF_INLINE v128 add_products(v128 s, v128 w, v128 a, v128 b, enum gf_dot dot) {
#if GF_RELAXED
    return dot == GF_DOT_ABS ? add_abs(s, w, a, b) : i32x4_rdot(a, w, s);
#else
    (void)dot;
    return add_pairs(s, w, a, b);
#endif
}

/* s [2 tokens][4] = 16 rows of a block times 2 tokens, plus starts; w, x and start advance */
GF_INLINE void block_by_2(v128 s[8], struct operands *in, enum gf_dot dot) {
    const int parts = gf_dot_in_parts(dot), unit_bytes = parts ? 8 : 4;
    const char *w = in->w, *x = in->x;
    GF_UNROLL
    for (int j = 0; j < 8; j++) s[j] = i32x4_splat(0);
    GF_ROLLED
    for (const char *end = x + GF_QBLOCK / 2 * unit_bytes; x < end; x += 2 * unit_bytes, w += 64) { /* 4 columns */
        v128 a = v_splat32(x), b = parts ? v_splat32(x + 4) : a, c = v_splat32(x + unit_bytes);
        v128 d = parts ? v_splat32(x + 12) : c;
        GF_UNROLL
        for (int j = 0; j < 4; j++) {
            v128 u = v_load(w + 16 * j);
            s[j] = add_products(s[j], u, a, b, dot), s[4 + j] = add_products(s[4 + j], u, c, d, dot);
        }
    }
    GF_UNROLL
    for (int j = 0; j < 8; j++) s[j] = i32x4_add(GF_RELAXED ? s[j] : i32x4_shr(s[j], 8), v_splat32(in->start + j / 4));
    in->w = w, in->x = x, in->start += 2;
}

/* sums [groups * 2][16] = a panel times groups of 2 tokens, the first of them at `first` */
GF_INLINE void panel_by_2(float *sums, const struct operands *first, const struct gf_acts *a, int32_t groups,
                          int32_t dtype, enum gf_dot dot) {
    const int minimum = gf_dtypes[dtype].has_minimum;
    struct operands in = *first;
    GF_ROLLED
    for (; groups > 0; groups--, sums += 2 * GF_PANEL) {
        v128 f[8]; /* [2 tokens][4] */
        in.w = first->w;
        GF_UNROLL
        for (int j = 0; j < 8; j++) f[j] = f4_splat(0);
        GF_ROLLED
        for (int32_t b = a->cols / GF_QBLOCK; b > 0; b--) {
            v128 s[8];
            block_by_2(s, &in, dot);
            const float *scales = (const float *)in.w;
            GF_UNROLL
            for (int j = 0; j < 8; j++)
                f[j] = add_block(f[j], s[j], 0, scales + j % 4 * 4, in.xs + j / 4, in.sum + j / 4);
            if (minimum) {
                GF_UNROLL
                for (int j = 0; j < 8; j++)
                    f[j] = f4_add(f[j], f4_mul(v_load(scales + GF_PANEL + j % 4 * 4), v_splat32(in.sum + j / 4)));
            }
            in.xs += 2, in.sum += 2, in.w += 4 * gf_panel_scales(dtype);
        }
        GF_UNROLL
        for (int j = 0; j < 8; j++) v_store(sums + 4 * j, f[j]);
    }
}
#endif
