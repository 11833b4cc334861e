/* int8_by_4.h - a panel of quantised weights times four tokens at a time. */
#ifndef GF_INT8_BY_4_H
#define GF_INT8_BY_4_H
#include "kernels/int8_sums.h"

/* 4-bit weights are first unpacked to bytes, [cols/4][16 rows][4], the layout of 8-bit weights. One unpacking serves
 * up to 64 tokens. */
#define CHUNK 8 /* blocks unpacked at a time: 4 KB on the stack */

/* skip: bytes of scales behind a block */
static void unpack(char *to, const char *w, int32_t blocks, int32_t skip) {
    v128 low = I32X4(0x0f0f0f0f);
    for (; blocks > 0; blocks--, w += skip)
        for (int i = 0; i < 4; i++, to += 128) /* 8 columns */
            for (int j = 0; j < 4; j++, w += 16) {
                v128 q = v_load(w);
                v_store(to + 16 * j, v_and(q, low)), v_store(to + 64 + 16 * j, v_and(i16x8_shr_u(q, 4), low));
            }
}

/* s [4 tokens][2] = 8 rows of a block times 4 tokens, plus starts; w, x and start advance */
GF_INLINE void block_by_4(v128 s[8], struct operands *at, enum gf_dot dot) {
    const char *w = at->w, *x = at->x;
    int sums_start = dot != GF_DOT_I16 && dot != GF_DOT_I7;
    GF_UNROLL
    for (int j = 0; j < 8; j++) s[j] = sums_start ? v_splat32(at->start + j / 2) : i32x4_splat(0);
    if (dot == GF_DOT_I16) {
        v128 mask = I32X4(0x00ff00ff);
        GF_ROLLED
        for (const char *end = x + 8 * GF_QBLOCK; x < end; x += 32, w += 64) {
            v128 u = v_load(w), v = v_load(w + 16), u_even = v_and(u, mask), v_even = v_and(v, mask);
            GF_UNROLL
            for (int t = 0; t < 4; t++) {
                v128 odd = v_splat32(x + 8 * t), pairs = v_splat32(x + 8 * t + 4);
                s[2 * t] = i32x4_add(s[2 * t], i32x4_add(i32x4_dot(u, odd), i32x4_dot(u_even, pairs)));
                s[2 * t + 1] = i32x4_add(s[2 * t + 1], i32x4_add(i32x4_dot(v, odd), i32x4_dot(v_even, pairs)));
            }
        }
        GF_UNROLL
        for (int j = 0; j < 8; j++) s[j] = i32x4_add(i32x4_shr(s[j], 8), v_splat32(at->start + j / 2));
    }
#if GF_RELAXED
    else if (dot == GF_DOT_ABS) {
        GF_ROLLED
        for (const char *end = x + 8 * GF_QBLOCK; x < end; x += 32, w += 64) {
            v128 u = v_load(w), v = v_load(w + 16);
            GF_UNROLL
            for (int t = 0; t < 4; t++) {
                v128 size = v_splat32(x + 8 * t), sign = v_splat32(x + 8 * t + 4);
                s[2 * t] = add_abs(s[2 * t], u, size, sign), s[2 * t + 1] = add_abs(s[2 * t + 1], v, size, sign);
            }
        }
    } else if (dot == GF_DOT_I7) {
        GF_ROLLED
        for (const char *end = x + 4 * GF_QBLOCK; x < end; x += 16, w += 64) {
            v128 u = v_load(w), v = v_load(w + 16);
            GF_UNROLL
            for (int t = 0; t < 4; t++) {
                v128 k = v_splat32(x + 4 * t);
                s[2 * t] = i16x8_add(s[2 * t], i16x8_rdot(k, u)),
                      s[2 * t + 1] = i16x8_add(s[2 * t + 1], i16x8_rdot(k, v));
            }
        }
        GF_UNROLL
        for (int j = 0; j < 8; j++) s[j] = i32x4_add(i32x4_dot(s[j], I32X4(0x00010001)), v_splat32(at->start + j / 2));
    } else {
        GF_ROLLED
        for (const char *end = x + 4 * GF_QBLOCK; x < end; x += 16, w += 64) {
            v128 u = v_load(w), v = v_load(w + 16);
            GF_UNROLL
            for (int t = 0; t < 4; t++) {
                v128 k = v_splat32(x + 4 * t);
                s[2 * t] = i32x4_rdot(k, u, s[2 * t]), s[2 * t + 1] = i32x4_rdot(k, v, s[2 * t + 1]);
            }
        }
    }
#endif
    at->w = w, at->x = x, at->start += 4;
}

/* s [4 tokens][2] = 8 rows of a block times 4 tokens, of a type with factors. w is at the 8 rows, of which the first is
 * `row`. */
GF_INLINE void factored_by_4(v128 s[8], struct operands *at, int row, enum gf_dot dot) {
    const int unit = in_parts(dot) ? 16 : 8;
    const char *factors = at->w + GF_PANEL * GF_QBLOCK - 30 * row;
    GF_UNROLL
    for (int i = 0; i < 2; i++, factors += 8) { /* 4 rows */
        const char *w = at->w + 32 * i, *x = at->x;
        v128 k = i16x8_load8(factors);
        GF_UNROLL
        for (int t = 0; t < 4; t++) s[2 * t + i] = i32x4_splat(0);
        GF_ROLLED
        for (int p = 0; p < 16; p += 8) { /* 8 columns of both halves */
            v128 t[8];
            GF_UNROLL
            for (int j = 0; j < 8; j++) t[j] = in_parts(dot) ? i32x4_splat(0) : v_splat64(at->start + p + j / 2 * 2);
            GF_ROLLED
            for (const char *end = x + 8 * unit; x < end; x += 4 * unit, w += 64) {
                GF_UNROLL
                for (int j = 0; j < 8; j++) t[j] = add_halves(t[j], w + j % 2 * 16, x + j / 2 * unit, dot);
            }
            GF_UNROLL
            for (int j = 0; j < 8; j += 2) {
                v128 start = v_splat64(at->start + p + j);
                s[j + i] = add_factored(s[j + i], t[j], t[j + 1], start, k, dot);
            }
        }
    }
    at->w += GF_PANEL * GF_QBLOCK + GF_FACTORS, at->x += 16 * unit, at->start += 16;
}

/* sums [4][16], 8 rows from `row` on, += `blocks` blocks. step: floats from their scales to the next ones; skip: bytes
 * behind the weights of a block */
GF_INLINE void part_by_4(float *sums, struct operands at, int row, int32_t blocks, int32_t step, int32_t skip,
                         int minimum, int dtype, enum gf_dot dot) {
    v128 f[8]; /* [4 tokens][2] */
    int per = gf_scale_blocks(dtype);
    at.w += (gf_dtypes[dtype].has_factors ? 32 : 4) * row, at.ws += row, sums += row;
    GF_UNROLL
    for (int j = 0; j < 8; j++) f[j] = v_load(sums + j / 2 * GF_PANEL + j % 2 * 4);
    GF_ROLLED
    for (; blocks > 0; blocks -= per) {
        GF_ROLLED
        for (int i = 0; i < per; i++) {
            v128 s[8];
            if (gf_dtypes[dtype].has_factors)
                factored_by_4(s, &at, row, dot);
            else
                block_by_4(s, &at, dot);
            GF_UNROLL
            for (int j = 0; j < 8; j++) {
                int t = j / 2;
                f[j] = add_block(f[j], s[j], 0, at.ws + j % 2 * 4, at.xs + t, at.sum + t);
            }
            if (minimum) {
                GF_UNROLL
                for (int j = 0; j < 8; j++)
                    f[j] = f4_add(f[j], f4_mul(v_load(at.ws + GF_PANEL + j % 2 * 4), v_splat32(at.sum + j / 2)));
            }
            at.xs += 4, at.sum += 4, at.w += skip;
        }
        at.ws += step;
    }
    GF_UNROLL
    for (int j = 0; j < 8; j++) v_store(sums + j / 2 * GF_PANEL + j % 2 * 4, f[j]);
}

/* sums [groups * 4][16] = a panel times groups of 4 tokens, the first of them at `first`. bits, minimum: of the
 * weights; dtype: GF_Q8_0, or GF_Q6_K for weights with factors. */
GF_INLINE void panel_by_4(float *sums, struct operands first, const struct gf_acts *a, int32_t groups, int32_t bits,
                          int minimum, int dtype, enum gf_dot dot) {
    char unpacked[CHUNK * 512];
    int32_t blocks = a->cols / GF_QBLOCK, chunk = bits == 8 ? blocks : CHUNK, x_bytes = 32 * a->unit;
    int factors = gf_dtypes[dtype].has_factors;
    int32_t per = gf_scale_blocks(dtype), starts = factors ? 16 : 4, weights = GF_PANEL * GF_QBLOCK / 8 * bits;
    int32_t scales = factors ? 0 : 4 * GF_PANEL * (1 + minimum), step = factors ? GF_PANEL : (weights + scales) / 4;
    memset(sums, 0, sizeof *sums * 4 * GF_PANEL * (size_t)groups);
    for (int32_t b = 0; b < blocks; b += chunk) {
        int32_t n = blocks - b < chunk ? blocks - b : chunk;
        struct operands at = first;
        at.w += (int64_t)b * (weights + scales), at.ws += (int64_t)(b / per) * step;
        at.x += (int64_t)b * x_bytes, at.xs += 4 * b, at.sum += 4 * b, at.start += starts * b;
        if (bits != 8) unpack(unpacked, at.w, n, scales), at.w = unpacked;
        for (int32_t g = 0; g < groups; g++) {
            for (int32_t row = 0; row < GF_PANEL; row += 8)
                part_by_4(sums + g * 4 * GF_PANEL, at, row, n, step, bits == 8 ? scales : 0, minimum, dtype, dot);
            at.x += (int64_t)blocks * x_bytes, at.xs += 4 * blocks, at.sum += 4 * blocks, at.start += starts * blocks;
        }
    }
}
#endif
