/* int8_by_1.h - a panel of quantised weights times one token. */
#ifndef GF_INT8_BY_1_H
#define GF_INT8_BY_1_H
#include "kernels/int8_sums.h"

/* s [4] = 16 rows of a block of 8 bits times x, plus start. The rolled loops update each accumulator once per
 * iteration. */
GF_INLINE void bytes_by_1(v128 s[4], struct operands *in, enum gf_dot dot) {
    const char *w = in->w, *x = in->x;
    v128 start = v_splat32(in->start);
    GF_UNROLL
    for (int j = 0; j < 4; j++) s[j] = dot == GF_DOT_I16 ? i32x4_splat(0) : start;
    if (dot == GF_DOT_I16) {
        GF_ROLLED
        for (const char *end = x + 2 * GF_QBLOCK; x < end; x += 8, w += 64) {
            v128 odd = v_splat32(x), pairs = v_splat32(x + 4);
            GF_UNROLL
            for (int j = 0; j < 4; j++) s[j] = add_pairs(s[j], v_load(w + 16 * j), odd, pairs);
        }
        GF_UNROLL
        for (int j = 0; j < 4; j++) s[j] = i32x4_add(i32x4_shr(s[j], 8), start);
    }
#if GF_RELAXED
    else if (dot == GF_DOT_ABS) {
        GF_ROLLED
        for (const char *end = x + 2 * GF_QBLOCK; x < end; x += 8, w += 64) {
            v128 size = v_splat32(x), sign = v_splat32(x + 4);
            GF_UNROLL
            for (int j = 0; j < 4; j++) s[j] = add_abs(s[j], v_load(w + 16 * j), size, sign);
        }
    } else {
        v128 t[4] = {i32x4_splat(0), i32x4_splat(0), i32x4_splat(0), i32x4_splat(0)};
        GF_ROLLED
        for (const char *end = x + GF_QBLOCK; x < end; x += 8, w += 128) {
            v128 k = v_splat32(x), l = v_splat32(x + 4);
            GF_UNROLL
            for (int j = 0; j < 4; j++) s[j] = i32x4_rdot(k, v_load(w + 16 * j), s[j]);
            GF_UNROLL
            for (int j = 0; j < 4; j++) t[j] = i32x4_rdot(l, v_load(w + 64 + 16 * j), t[j]);
        }
        GF_UNROLL
        for (int j = 0; j < 4; j++) s[j] = i32x4_add(s[j], t[j]);
    }
#endif
    in->w = w, in->x = x;
}

#if GF_RELAXED
/* 4 rows x 8 columns of 4 bits times x, in lanes of 16 bits, to which s is added unless these are the first columns. */
GF_INLINE v128 add_nibbles_i7(v128 s, v128 w, const char *x, int adds) {
    const v128 low = I32X4(0x0f0f0f0f), k = v_splat32(x), l = v_splat32(x + 4);
    const v128 sum = i16x8_rdot(k, v_and(w, low));
    return i16x8_add(adds ? i16x8_add(s, sum) : sum, i16x8_rdot(l, v_and(i16x8_shr_u(w, 4), low)));
}
#endif

/* s [4] = 16 rows of a block of 4 bits times x, plus start */
GF_INLINE void nibbles_by_1(v128 s[4], struct operands *in, enum gf_dot dot) {
    const char *w = in->w, *x = in->x;
    v128 low = I32X4(0x0f0f0f0f), start = v_splat32(in->start), t[4];
    int sums_start = dot == GF_DOT_UNSIGNED || dot == GF_DOT_SIGNED;
    GF_UNROLL
    for (int j = 0; j < 4; j++) s[j] = sums_start ? start : i32x4_splat(0), t[j] = i32x4_splat(0);
#if GF_RELAXED
    if (dot == GF_DOT_I7) {
        const char *end = x + GF_QBLOCK;
        GF_UNROLL
        for (int j = 0; j < 4; j++) s[j] = add_nibbles_i7(i32x4_splat(0), v_load(w + 16 * j), x, 0);
        GF_ROLLED
        for (x += 8, w += 64; x < end; x += 8, w += 64) {
            GF_UNROLL
            for (int j = 0; j < 4; j++) s[j] = add_nibbles_i7(s[j], v_load(w + 16 * j), x, 1);
        }
        GF_UNROLL
        for (int j = 0; j < 4; j++) s[j] = i32x4_dot(s[j], I32X4(0x00010001)), t[j] = start;
    } else {
        /* unsigned: high nibbles in place count 16-fold and need no shift */
        int in_place = dot == GF_DOT_UNSIGNED;
        v128 high = in_place ? I32X4(0xf0f0f0f0u) : low;
        GF_ROLLED
        for (const char *end = x + GF_QBLOCK; x < end; x += 8, w += 64) {
            v128 k = v_splat32(x), l = v_splat32(x + 4);
            GF_UNROLL
            for (int j = 0; j < 4; j++) {
                v128 q = v_load(w + 16 * j);
                s[j] = i32x4_rdot(k, v_and(q, low), s[j]);
                t[j] = i32x4_rdot(l, v_and(in_place ? q : i16x8_shr_u(q, 4), high), t[j]);
            }
        }
        GF_UNROLL
        for (int j = 0; j < 4 && in_place; j++) t[j] = i32x4_shr(t[j], 4);
    }
#else
    GF_ROLLED
    for (const char *end = x + 2 * GF_QBLOCK; x < end; x += 16, w += 64) {
        v128 odd = v_splat32(x), pairs = v_splat32(x + 4), odd_4 = v_splat32(x + 8), pairs_4 = v_splat32(x + 12);
        GF_UNROLL
        for (int j = 0; j < 4; j++) {
            v128 q = v_load(w + 16 * j);
            s[j] = add_pairs(s[j], v_and(q, low), odd, pairs);
            t[j] = add_pairs(t[j], v_and(i16x8_shr_u(q, 4), low), odd_4, pairs_4);
        }
    }
    GF_UNROLL
    for (int j = 0; j < 4; j++) s[j] = i32x4_shr(i32x4_add(s[j], t[j]), 8), t[j] = start;
#endif
    GF_UNROLL
    for (int j = 0; j < 4; j++) s[j] = i32x4_add(s[j], t[j]);
    in->w = w, in->x = x;
}

/* s [4] = 16 rows of a block times x, of a type with factors: the sums of 16 columns times their factors, added. */
GF_INLINE void factored_by_1(v128 s[4], struct operands *in, enum gf_dot dot) {
    const int unit_bytes = gf_dot_in_parts(dot) ? 16 : 8;
    const char *w = in->w, *factors = w + GF_PANEL * GF_QBLOCK;
    GF_UNROLL
    for (int i = 0; i < 4; i += 2, factors += 16) { /* 8 rows */
        const char *x = in->x;
        v128 k = i16x8_load8(factors), l = i16x8_load8(factors + 8);
        s[i] = s[i + 1] = i32x4_splat(0);
        GF_UNROLL
        for (int p = 0; p < 2; p++) { /* 8 columns of both halves */
            v128 start = v_splat64(in->start + 2 * p), t[4];
            GF_UNROLL
            for (int j = 0; j < 4; j++) t[j] = gf_dot_in_parts(dot) ? i32x4_splat(0) : start;
            GF_UNROLL
            for (int j = 0; j < 8; j++) t[j % 4] = add_halves(t[j % 4], w + 16 * j, x + j / 4 * unit_bytes, dot);
            w += 128, x += 2 * unit_bytes;
            s[i] = add_factored(s[i], t[0], t[1], start, k, dot);
            s[i + 1] = add_factored(s[i + 1], t[2], t[3], start, l, dot);
        }
    }
    in->w = w + GF_FACTORS, in->x += 4 * unit_bytes, in->start += 3;
}

/* out [16] = 16 rows times 1 token */
GF_INLINE void panel_by_1(float *out, struct operands in, int32_t blocks, int dtype, enum gf_dot dot) {
    v128 f[4] = {f4_splat(0), f4_splat(0), f4_splat(0), f4_splat(0)};
    int per = gf_scale_blocks(dtype);
    GF_ROLLED
    for (; blocks > 0; blocks -= per) {
        GF_ROLLED
        for (int i = 0; i < per; i++) {
            v128 s[4];
            if (gf_dtypes[dtype].has_factors)
                factored_by_1(s, &in, dot);
            else if (gf_dtypes[dtype].bits == 8)
                bytes_by_1(s, &in, dot);
            else
                nibbles_by_1(s, &in, dot);
            if (!gf_dtypes[dtype].has_factors) in.ws = (const float *)in.w, in.w += 4 * gf_panel_scales(dtype);
            GF_UNROLL
            for (int j = 0; j < 4; j++)
                f[j] = add_block(f[j], s[j], gf_dtypes[dtype].has_minimum, in.ws + 4 * j, in.xs, in.sum);
            in.xs++, in.sum++, in.start++;
        }
        if (gf_dtypes[dtype].has_factors) in.ws += GF_PANEL;
    }
    GF_UNROLL
    for (int j = 0; j < 4; j++) v_store(out + 4 * j, f[j]);
}
#endif
