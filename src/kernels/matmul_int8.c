/* matmul_int8.c - quantised weights times quantised activations.
 *
 *   y[t][r] = sum over blocks b of  float(sum_k w[r][k] x[t][k]) * (scale_w[r][b] * scale_x[t][b])
 *
 * The inner sum is an exact integer: 32 products of at most 128 * 127 stay below 2^19; for types with factors, sums of
 * 16 products of at most 32 * 127 are multiplied by integers up to 128, and two of them stay below 2^24. Sums of 8 such
 * products fit int16, so that one i32x4_dot multiplies those of both halves of a block by their factors and adds them. The
 * sum is formed for 16 rows x 1 token, or for 8 rows x 4 tokens, in vectors whose 32-bit lane holds 4 columns of a row:
 *
 *   i32x4_rdot   one instruction multiplies the 4 columns and adds them to the lane.
 *   i32x4_dot    (GF_DOT_I16) multiplies pairs of int16. Read as int16, the weights of an even and the next odd column are
 *             v = 256 o + e with e in 0..255, so that
 *               256 (o x_o + e x_e)  =  v x_o  +  e (256 x_e - x_o),
 *             two products of 16 bits, one of them with v masked to its low byte, and no sign extension. All four
 *             factors fit int16, and a block's sum, 256 times too large, stays below 2^28.
 *   i16x8_rdot   (GF_DOT_ABS) multiplies 2 columns in each lane of 16 bits, where one factor is 0..127: x w is |x| times
 *             w with the sign of x. A weight with all bits inverted is -w - 1, so the sum also gets |x| for every
 *             negative x. Two products stay within 2 * 127 * 128 < 2^15; i32x4_dot with ones adds the two lanes of a row.
 *             For 6 bits, four such sums fit a lane.
 *   i16x8_rdot   (GF_DOT_I7, weights of 4 bits) multiplies 2 columns in each lane of 16 bits. Such a lane has 16 columns
 *             of a block, whose sum stays below 16 * 15 * 127 < 2^15; i32x4_dot with ones adds the two lanes of a row.
 *
 * e is unsigned, so even columns are stored as w + 128 for GF_DOT_I16; all columns are for GF_DOT_UNSIGNED. A sum then
 * starts at -128 times the sum of the activations of those columns (acts.c). */
#include "kernels/shared.h"
#include "kernels/simd.h"

/* GF_DOT_I16, GF_DOT_ABS: 4 activations are stored in two parts of 4 bytes. */
GF_INLINE int in_parts(enum gf_dot dot) { return dot == GF_DOT_I16 || dot == GF_DOT_ABS; }

/* ---- products, one token ----------------------------------------------------------------------------------------- */

/* Where the product of a panel reads: weights w with scales ws; activations x with scales xs, sums and starts (struct
 * gf_acts). Advanced block by block. Where w < ahead, the matrix has a byte at w + AHEAD. */
struct operands {
    const char *w, *x, *ahead;
    const float *ws, *xs, *sum;
    const int32_t *start;
};

/* With one token the relaxed dot waits for the weights, which come from a far cache level or from memory. Processors
 * prefetch within a page of 4 KB, so the first access to each page is slow: reading one byte two pages ahead starts it
 * early (25.2 instead of 22.6 GB/s from L3). It is a plain load, because WebAssembly has no prefetch, and the processor
 * may have to wait for it. Kinds in parts are limited by their arithmetic and gain nothing. 4-bit weights take so long
 * for each byte that the processor prefetches early enough; the reads would cost them a fifth of their speed. */
#define AHEAD 8192
GF_INLINE void touch(const char *p) { (void)*(const volatile char *)p; }

/* Add the integer sum s of a block: f += float(s) * (scale_w * scale_x), and if there is a minimum f += minimum_w *
 * sum_x */
GF_INLINE v128 add_block(v128 f, v128 s, int minimum, const float *ws, const float *xs, const float *sum) {
    f = f4_add(f, f4_mul(f4_from_i4(s), f4_mul(v_load(ws), v_splat32(xs))));
    if (minimum) f = f4_add(f, f4_mul(v_load(ws + GF_PANEL), v_splat32(sum)));
    return f;
}

/* s += 256 times the products of 4 rows x 4 columns (the first comment of this file); odd, pairs: 4 columns of x */
GF_INLINE v128 add_pairs(v128 s, v128 w, v128 odd, v128 pairs) {
    return i32x4_add(s, i32x4_add(i32x4_dot(w, odd), i32x4_dot(v_and(w, I32X4(0x00ff00ff)), pairs)));
}

#if GF_RELAXED
/* s += the products of 4 rows x 4 columns; size, sign: of 4 columns of x */
GF_INLINE v128 add_abs(v128 s, v128 w, v128 size, v128 sign) {
    return i32x4_add(s, i32x4_dot(i16x8_rdot(v_xor(w, sign), size), I32X4(0x00010001)));
}
#endif

/* s [4] = 16 rows of a block of 8 bits times x, plus start. The rolled loops update each accumulator once per
 * iteration. */
GF_INLINE void bytes_by_1(v128 s[4], struct operands *at, enum gf_dot dot) {
    const char *w = at->w, *x = at->x;
    v128 start = v_splat32(at->start);
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
    at->w = w, at->x = x;
}

/* s [4] = 16 rows of a block of 4 bits times x, plus start */
GF_INLINE void nibbles_by_1(v128 s[4], struct operands *at, enum gf_dot dot) {
    const char *w = at->w, *x = at->x;
    v128 low = I32X4(0x0f0f0f0f), start = v_splat32(at->start), t[4];
    int sums_start = dot == GF_DOT_UNSIGNED || dot == GF_DOT_SIGNED;
    GF_UNROLL
    for (int j = 0; j < 4; j++) s[j] = sums_start ? start : i32x4_splat(0), t[j] = i32x4_splat(0);
#if GF_RELAXED
    if (dot == GF_DOT_I7) {
        GF_ROLLED
        for (const char *end = x + GF_QBLOCK; x < end; x += 8, w += 64) {
            v128 k = v_splat32(x), l = v_splat32(x + 4);
            GF_UNROLL
            for (int j = 0; j < 4; j++) {
                v128 q = v_load(w + 16 * j);
                s[j] = i16x8_add(s[j], i16x8_rdot(k, v_and(q, low)));
                t[j] = i16x8_add(t[j], i16x8_rdot(l, v_and(i16x8_shr_u(q, 4), low)));
            }
        }
        v128 one = I32X4(0x00010001);
        GF_UNROLL
        for (int j = 0; j < 4; j++) s[j] = i32x4_dot(i16x8_add(s[j], t[j]), one), t[j] = start;
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
    at->w = w, at->x = x;
}

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

/* s [4] = 16 rows of a block times x, of a type with factors: the sums of 16 columns times their factors, added. */
GF_INLINE void factored_by_1(v128 s[4], struct operands *at, enum gf_dot dot) {
    const int unit = in_parts(dot) ? 16 : 8;
    const char *w = at->w, *factors = w + GF_PANEL * GF_QBLOCK;
    GF_UNROLL
    for (int i = 0; i < 4; i += 2, factors += 16) { /* 8 rows */
        const char *x = at->x;
        v128 k = i16x8_load8(factors), l = i16x8_load8(factors + 8);
        s[i] = s[i + 1] = i32x4_splat(0);
        GF_UNROLL
        for (int p = 0; p < 2; p++) { /* 8 columns of both halves */
            v128 start = v_splat64(at->start + 2 * p), t[4];
            GF_UNROLL
            for (int j = 0; j < 4; j++) t[j] = in_parts(dot) ? i32x4_splat(0) : start;
            if (dot == GF_DOT_I16) {
                GF_UNROLL
                for (int j = 0; j < 8; j++) t[j % 4] = add_halves(t[j % 4], w + 16 * j, x + j / 4 * unit, dot);
                w += 128, x += 2 * unit;
            } else {
                GF_ROLLED
                for (const char *end = x + 2 * unit; x < end; x += unit, w += 64) {
                    GF_UNROLL
                    for (int j = 0; j < 4; j++) t[j] = add_halves(t[j], w + 16 * j, x, dot);
                }
            }
            s[i] = add_factored(s[i], t[0], t[1], start, k, dot);
            s[i + 1] = add_factored(s[i + 1], t[2], t[3], start, l, dot);
        }
    }
    at->w = w + GF_FACTORS, at->x += 4 * unit, at->start += 3;
}

/* out [16] = 16 rows times 1 token */
GF_INLINE void panel_by_1(float *out, struct operands at, int32_t blocks, int dtype, enum gf_dot dot) {
    v128 f[4] = {f4_splat(0), f4_splat(0), f4_splat(0), f4_splat(0)};
    int per = gf_scale_blocks(dtype), reads_ahead = !in_parts(dot) && gf_dtypes[dtype].bits == 8;
    GF_ROLLED
    for (; blocks > 0; blocks -= per) {
        GF_ROLLED
        for (int i = 0; i < per; i++) {
            v128 s[4];
            if (reads_ahead) touch(at.w + (at.w < at.ahead ? AHEAD : 0));
            if (gf_dtypes[dtype].has_factors)
                factored_by_1(s, &at, dot);
            else if (gf_dtypes[dtype].bits == 8)
                bytes_by_1(s, &at, dot);
            else
                nibbles_by_1(s, &at, dot);
            GF_UNROLL
            for (int j = 0; j < 4; j++)
                f[j] = add_block(f[j], s[j], gf_dtypes[dtype].has_minimum, at.ws + 4 * j, at.xs, at.sum);
            at.xs++, at.sum++, at.start++;
        }
        at.ws += gf_panel_scales(dtype);
    }
    GF_UNROLL
    for (int j = 0; j < 4; j++) v_store(out + 4 * j, f[j]);
}

/* ---- products, four tokens at a time ----------------------------------------------------------------------------- */

/* 4-bit weights are first unpacked to bytes, [cols/4][16 rows][4], the layout of 8-bit weights. One unpacking serves
 * up to 64 tokens. */
#define CHUNK 8 /* blocks unpacked at a time: 4 KB on the stack */

static void unpack(char *to, const char *w, int32_t blocks) {
    v128 low = I32X4(0x0f0f0f0f);
    for (int32_t i = 0; i < blocks * 4; i++, to += 128) /* 8 columns */
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

/* sums [4][16], 8 rows from `row` on, += `blocks` blocks */
GF_INLINE void part_by_4(float *sums, struct operands at, int row, int32_t blocks, int minimum, int dtype,
                         enum gf_dot dot) {
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
            at.xs += 4, at.sum += 4;
        }
        at.ws += GF_PANEL + minimum * GF_PANEL;
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
    int32_t per = gf_scale_blocks(dtype), starts = gf_dtypes[dtype].has_factors ? 16 : 4;
    memset(sums, 0, sizeof *sums * 4 * GF_PANEL * (size_t)groups);
    for (int32_t b = 0; b < blocks; b += chunk) {
        int32_t n = blocks - b < chunk ? blocks - b : chunk;
        struct operands at = first;
        at.w += (int64_t)b * GF_PANEL * GF_QBLOCK / 2, at.ws += (int64_t)(b / per) * GF_PANEL * (1 + minimum);
        at.x += (int64_t)b * x_bytes, at.xs += 4 * b, at.sum += 4 * b, at.start += starts * b;
        if (bits != 8) unpack(unpacked, at.w, n), at.w = unpacked;
        for (int32_t g = 0; g < groups; g++) {
            for (int32_t row = 0; row < GF_PANEL; row += 8)
                part_by_4(sums + g * 4 * GF_PANEL, at, row, n, minimum, dtype, dot);
            at.x += (int64_t)blocks * x_bytes, at.xs += 4 * blocks, at.sum += 4 * blocks, at.start += starts * blocks;
        }
    }
}

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
    int64_t panel_scales = (int64_t)(blocks / gf_scale_blocks(dtype)) * gf_panel_scales(dtype);
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
