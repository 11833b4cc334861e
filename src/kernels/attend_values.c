/* attend_values.c - gf_attn_mix: z += pattern v over one block of cached values, after the softmax of attention.
 *
 * A lane is a column of the values, and a sum adds keys 0, 1, 2, ... in that order. Up to 4 queries share each load.
 * For q8 values the weights p times the value's scale are quantised to 14 bits, relative to the largest of the block;
 * an int32 lane adds four keys at a time, and the sums are exact integers. */
#include "base/half.h"
#include "kernels/shared.h"
#include "kernels/simd.h"

/* ---- mixtures, float values -------------------------------------------------------------------------------------- */

/* z [m][4 * vectors columns] += weights [m][64] times rows 0 .. count - 1 of v. m * vectors <= 8 accumulators stay in
 * registers: each vector of v is loaded once and multiplied for m queries, so a key costs `vectors` loads, m broadcasts
 * and m * vectors products. With one query a weight of 0 is skipped; callers with several pass none. */
GF_INLINE void mix_columns(float *z, int32_t ldz, const float *weights, int m, int vectors, enum form form,
                           const char *v, int32_t count, int32_t d_head) {
    int size = form == F32 ? 4 : 2;
    int64_t row = (int64_t)d_head * size;
    v128 a[8];
    GF_UNROLL
    for (int t = 0; t < m; t++) {
        GF_UNROLL
        for (int i = 0; i < vectors; i++) a[t * vectors + i] = v_load(z + (int64_t)t * ldz + 4 * i);
    }
    GF_UNROLL
    for (int i = 0; i < m * vectors; i += 2)
        if (vectors > 1) split_8(a + i, form);
    GF_ROLLED
    for (const float *w = weights, *end = w + count; w < end; w++, v += row) {
        if (m == 1 && *w == 0) continue;
        v128 u[8];
        GF_UNROLL
        for (int i = 0; i < vectors; i += 2) {
            if (vectors == 1)
                u[0] = load_form(v, form);
            else
                load_form_8(u + i, v + 4 * i * size, form);
        }
        GF_UNROLL
        for (int t = 0; t < m; t++) {
            v128 x = v_splat32(w + t * GF_KV_BLOCK);
            GF_UNROLL
            for (int i = 0; i < vectors; i++) a[t * vectors + i] = f4_add(a[t * vectors + i], f4_mul(u[i], x));
        }
    }
    GF_UNROLL
    for (int i = 0; i < m * vectors; i += 2)
        if (vectors > 1) merge_8(a + i, form);
    GF_UNROLL
    for (int t = 0; t < m; t++) {
        GF_UNROLL
        for (int i = 0; i < vectors; i++) v_store(z + (int64_t)t * ldz + 4 * i, a[t * vectors + i]);
    }
}

GF_INLINE void mix_m(float *z, int32_t ldz, const float *w, int m, enum form form, const char *v, int32_t count,
                     int32_t d_head) {
    int size = form == F32 ? 4 : 2, wide = form == F16 ? 1 : 8 / m;
    int32_t d = 0;
    for (; d + 4 * wide <= d_head; d += 4 * wide)
        mix_columns(z + d, ldz, w, m, wide, form, v + (int64_t)d * size, count, d_head);
    for (; wide > 1 && d + 2 * wide <= d_head; d += 2 * wide)
        mix_columns(z + d, ldz, w, m, wide / 2, form, v + (int64_t)d * size, count, d_head);
    for (; wide > 2 && d + 4 <= d_head; d += 4)
        mix_columns(z + d, ldz, w, m, 1, form, v + (int64_t)d * size, count, d_head);
    for (; d < d_head; d++)
        for (int t = 0; t < m; t++) {
            float *to = z + (int64_t)t * ldz + d;
            const float *wt = w + t * GF_KV_BLOCK;
            for (int32_t j = 0; j < count; j++) {
                const char *p = v + ((int64_t)j * d_head + d) * size;
                float x;
                if (wt[j] == 0) continue;
                if (form == F32)
                    memcpy(&x, p, 4);
                else
                    x = gf_f16_to_f32(*(const uint16_t *)p) * (form == F16 ? 1 : 0x1p-112f);
                *to += wt[j] * x;
            }
        }
}

GF_INLINE void mix_form(float *z, int32_t ldz, const float *w, int m, enum form form, const char *v, int32_t count,
                        int32_t d_head) {
    if (m == 4)
        mix_m(z, ldz, w, 4, form, v, count, d_head);
    else if (m == 2)
        mix_m(z, ldz, w, 2, form, v, count, d_head);
    else
        mix_m(z, ldz, w, 1, form, v, count, d_head);
}

/* How many of the keys 0 .. count - 1 come before the group of 4 in which one of m queries first has weight 0. */
static int32_t before_zero(const float *p, int32_t ldp, int m, int32_t count) {
    for (int32_t j = 0; j < count; j += 4) {
        v128 zero = i32x4_splat(0);
        for (int t = 0; t < m; t++) {
            v128 none = f4_eq(v_load_to(p + (int64_t)t * ldp, j, count), f4_splat(0));
            zero = v_or(zero, count - j < 4 ? v_and(none, i32x4_mask_first(count - j)) : none);
        }
        if (v_any(zero)) return j;
    }
    return count;
}

static void mix_float(float *z, int32_t ldz, const float *p, int32_t ldp, int m, int32_t type, const void *v,
                      int32_t count, int32_t d_head) {
    float w[4 * GF_KV_BLOCK];
    for (int t = 0; t < m; t++) {
        size_t n = (size_t)count;
        memcpy(w + t * GF_KV_BLOCK, p + (int64_t)t * ldp, n * 4);
        memset(w + t * GF_KV_BLOCK + n, 0, (GF_KV_BLOCK - n) * 4);
    }
    if (type == GF_KV_F32)
        mix_form(z, ldz, w, m, F32, v, count, d_head);
    else {
        float up[4 * GF_KV_BLOCK];
        if (gf_scale_up(up, w, GF_KV_BLOCK, m, GF_KV_BLOCK))
            mix_form(z, ldz, up, m, F16_LOW, v, count, d_head);
        else /* rare: one by one */
            for (int t = 0; t < m; t++)
                mix_form(z + (int64_t)t * ldz, ldz, w + t * GF_KV_BLOCK, 1, F16, v, count, d_head);
    }
}

/* ---- mixtures, q8 values ----------------------------------------------------------------------------------------- */

/* Weights of up to 4 queries, quantised to integers w: weight = w * step. While none is negative, w = high * 128 + low,
 * both 0..127. */
struct steps {
    float step[4];
    int16_t w[4][GF_KV_BLOCK];
    int8_t high[4][GF_KV_BLOCK], low[4][GF_KV_BLOCK];
    int negative;
};

/* Query t's weights: p times the values' scales, in steps of the largest / 16383; 0 from count on
 * and where p is 0, whatever the scale there. */
static void mix_weights(struct steps *u, int t, const float *p, const float *scales, int32_t count) {
    float product[GF_KV_BLOCK];
    v128 top = i32x4_splat(0), signs = top;
    for (int32_t j = 0; j < GF_KV_BLOCK; j += 4) {
        v128 x = i32x4_splat(0);
        if (j < count) {
            v128 q = v_load_to(p, j, count);
            x = v_andnot(f4_mul(q, v_load_to(scales, j, count)), f4_eq(q, f4_splat(0)));
            if (count - j < 4) x = v_and(x, i32x4_mask_first(count - j));
        }
        top = i32x4_max(top, f4_abs(x)), signs = v_or(signs, x);
        v_store(product + j, x);
    }
    int32_t bits = i32x4_max_lane(top);
    float most;
    memcpy(&most, &bits, 4);
    float step = most / 16383.0f, inverse = step < 0x1p-126f ? 0 : 1.0f / step;
    if (bits >= 0x7f800000) step = most - most; /* NaN, so that the result is NaN although w is 0 */
    u->step[t] = inverse == 0 && bits < 0x7f800000 ? 0 : step;
    u->negative |= v_any(i32x4_shr(signs, 31));
    if (bits >= 0x7f800000) inverse = 0;
    v128 k = f4_splat(inverse), seven = i32x4_splat(127);
    for (int32_t j = 0; j < GF_KV_BLOCK; j += 16) {
        v128 x[4], h[4];
        GF_UNROLL
        for (int i = 0; i < 4; i++) {
            v128 y = v_load(product + j + 4 * i);
            x[i] = inverse == 0 ? i32x4_splat(0) : i32x4_nearest(f4_mul(y, k));
            h[i] = i32x4_shr(x[i], 7);
        }
        v_store(u->w[t] + j, i16x8_narrow(x[0], x[1]));
        v_store(u->w[t] + j + 8, i16x8_narrow(x[2], x[3]));
        v_store(u->high[t] + j, i8x16_narrow(i16x8_narrow(h[0], h[1]), i16x8_narrow(h[2], h[3])));
        GF_UNROLL
        for (int i = 0; i < 4; i++) x[i] = v_and(x[i], seven);
        v_store(u->low[t] + j, i8x16_narrow(i16x8_narrow(x[0], x[1]), i16x8_narrow(x[2], x[3])));
    }
}

/* z += step * s for 4 columns */
GF_INLINE void add_steps(float *z, v128 s, const float *step) {
    v_store(z, f4_add(v_load(z), f4_mul(f4_from_i4(s), v_splat32(step))));
}

/* m queries times `vectors` vectors of 4 columns, m * vectors = 4, over `quads` times 4 keys */
GF_INLINE void mix_wide(float *z, int32_t ldz, const struct steps *u, int m, int vectors, const char *v, int32_t quads,
                        int32_t d_head) {
    v128 s[8]; /* [m][2 vectors]: of 2 columns each, in halves */
    GF_UNROLL
    for (int i = 0; i < 8; i++) s[i] = i32x4_splat(0);
    GF_ROLLED
    for (int32_t j = 0; j < quads; j++, v += 4 * (int64_t)d_head) {
        v128 x[8];
        GF_UNROLL
        for (int i = 0; i < 2 * vectors; i++) x[i] = i16x8_load8(v + 8 * i);
        GF_UNROLL
        for (int t = 0; t < m; t++) {
            v128 k = v_splat64(u->w[t] + 4 * j);
            GF_UNROLL
            for (int i = 0; i < 2 * vectors; i++)
                s[2 * t * vectors + i] = i32x4_add(s[2 * t * vectors + i], i32x4_dot(x[i], k));
        }
    }
    GF_UNROLL
    for (int t = 0; t < m; t++) {
        GF_UNROLL
        for (int i = 0; i < vectors; i++) {
            int pair = 2 * (t * vectors + i);
            add_steps(z + (int64_t)t * ldz + 4 * i, i32x4_add_pairs(s[pair], s[pair + 1]), u->step + t);
        }
    }
}

#if GF_RELAXED
GF_INLINE void mix_narrow(float *z, int32_t ldz, const struct steps *u, int m, int vectors, const char *v,
                          int32_t quads, int32_t d_head) {
    v128 s[8]; /* [m][vectors][high, low] */
    GF_UNROLL
    for (int i = 0; i < 8; i++) s[i] = i32x4_splat(0);
    GF_ROLLED
    for (int32_t j = 0; j < quads; j++, v += 4 * (int64_t)d_head) {
        v128 x[4];
        GF_UNROLL
        for (int i = 0; i < vectors; i++) x[i] = v_load(v + 16 * i);
        GF_UNROLL
        for (int t = 0; t < m; t++) {
            v128 k = v_splat32(u->high[t] + 4 * j), l = v_splat32(u->low[t] + 4 * j);
            GF_UNROLL
            for (int i = 0; i < vectors; i++) {
                int pair = 2 * (t * vectors + i);
                s[pair] = i32x4_rdot(x[i], k, s[pair]), s[pair + 1] = i32x4_rdot(x[i], l, s[pair + 1]);
            }
        }
    }
    GF_UNROLL
    for (int t = 0; t < m; t++) {
        GF_UNROLL
        for (int i = 0; i < vectors; i++) {
            int pair = 2 * (t * vectors + i);
            add_steps(z + (int64_t)t * ldz + 4 * i, i32x4_add(i32x4_shl(s[pair], 7), s[pair + 1]), u->step + t);
        }
    }
}
#endif

GF_INLINE void mix_q8_m(float *z, int32_t ldz, const struct steps *u, int m, const char *v, int32_t quads,
                        int32_t d_head) {
    int wide = 4 / m;
    int32_t d = 0;
#if GF_RELAXED
    if (!u->negative && gf_dot_kind() != GF_DOT_ABS) {
        for (; d + 4 * wide <= d_head; d += 4 * wide) mix_narrow(z + d, ldz, u, m, wide, v + 4 * d, quads, d_head);
        for (; wide > 1 && d + 4 <= d_head; d += 4) mix_narrow(z + d, ldz, u, m, 1, v + 4 * d, quads, d_head);
    }
#endif
    for (; d + 4 * wide <= d_head; d += 4 * wide) mix_wide(z + d, ldz, u, m, wide, v + 4 * d, quads, d_head);
    for (; wide > 1 && d + 4 <= d_head; d += 4) mix_wide(z + d, ldz, u, m, 1, v + 4 * d, quads, d_head);
    for (; d < d_head; d++)
        for (int t = 0; t < m; t++) {
            int32_t sum = 0;
            for (int32_t j = 0; j < 4 * quads; j++)
                sum += u->w[t][j] * ((const int8_t *)v)[((int64_t)(j / 4) * d_head + d) * 4 + j % 4];
            z[(int64_t)t * ldz + d] += (float)sum * u->step[t];
        }
}

static void mix_q8(float *z, int32_t ldz, const float *p, int32_t ldp, int m, const char *v, int32_t count,
                   int32_t d_head) {
    const float *scales = (const float *)(v + (int64_t)d_head * GF_KV_BLOCK);
    struct steps u;
    u.negative = 0;
    for (int t = 0; t < m; t++) mix_weights(&u, t, p + (int64_t)t * ldp, scales, count);
    int32_t quads = (count + 3) / 4;
    if (m == 4)
        mix_q8_m(z, ldz, &u, 4, v, quads, d_head);
    else if (m == 2)
        mix_q8_m(z, ldz, &u, 2, v, quads, d_head);
    else
        mix_q8_m(z, ldz, &u, 1, v, quads, d_head);
}

/* Keys at which a query has weight 0, as those behind it in the block that it is in, are left out of its sums: from the
 * first of them on the queries go one by one. */
static void mix_together(float *z, int32_t ldz, const float *p, int32_t ldp, int m, int32_t type, const char *v,
                         int32_t count, int32_t d_head) {
    const int32_t n = m > 1 ? before_zero(p, ldp, m, count) : count;
    const char *rest = v + (int64_t)n * d_head * (type == GF_KV_F32 ? 4 : 2);
    if (n) mix_float(z, ldz, p, ldp, m, type, v, n, d_head);
    for (int t = 0; n < count && t < m; t++)
        mix_float(z + (int64_t)t * ldz, ldz, p + (int64_t)t * ldp + n, ldp, 1, type, rest, count - n, d_head);
}

void gf_attn_mix(float *z, int32_t ldz, const float *p, int32_t ldp, int32_t m, int32_t type, const void *vblock,
                 int32_t count, int32_t d_head) {
    while (m > 0) {
        int k = m >= 4 ? 4 : m >= 2 ? 2 : 1;
        if (type == GF_KV_Q8)
            mix_q8(z, ldz, p, ldp, k, vblock, count, d_head);
        else
            mix_together(z, ldz, p, ldp, k, type, vblock, count, d_head);
        z += (int64_t)k * ldz, p += (int64_t)k * ldp, m -= k;
    }
}
