/* attend.c - scores and mixtures over one block of 64 cached keys and values.
 *
 * Keys are turned so that a lane is a key: a score is a chain over d_head with no horizontal sum.
 * Values are rows: a mixture is a chain over keys. Up to 4 queries share what is loaded.
 *
 * q8 sums are exact integers. Keys meet a query quantised like them (one scale for the head, max|q|
 * / 127); values meet 14-bit weights, p times the value's scale over the largest such of the block,
 * four keys to an int32 lane. */
#include "base/half.h"
#include "kernels/shared.h"
#include "kernels/simd.h"

#define Q_CHUNK 256 /* columns of a query quantised, or scaled, at a time */

static int64_t key_groups(int32_t d_head) { return ((int64_t)d_head + 3) / 4; }

uint64_t gf_kv_key_bytes(int32_t type, int32_t d_head) {
    uint64_t d = (uint64_t)d_head;
    if (type == GF_KV_Q8) return ((d + 3) / 4 * 4 + 4) * GF_KV_BLOCK;
    return d * GF_KV_BLOCK * (type == GF_KV_F32 ? 4 : 2);
}

uint64_t gf_kv_value_bytes(int32_t type, int32_t d_head) {
    uint64_t d = (uint64_t)d_head;
    if (type == GF_KV_Q8) return (d + 4) * GF_KV_BLOCK;
    return d * GF_KV_BLOCK * (type == GF_KV_F32 ? 4 : 2);
}

static float *key_scales(void *kblock, int32_t d_head) {
    return (float *)((char *)kblock + key_groups(d_head) * 4 * GF_KV_BLOCK);
}
static float *value_scales(void *vblock, int32_t d_head) {
    return (float *)((char *)vblock + (int64_t)d_head * GF_KV_BLOCK);
}

/* ---- in and out ---------------------------------------------------------------------------- */

/* Four floats, or zeros for those at and past n. */
GF_INLINE v128 load_to(const float *x, int32_t i, int32_t n) {
    return i + 4 <= n ? v_load(x + i) : v_load_first(x + i, n - i);
}

/* scale = max|x| / 127 over n values, and its inverse, 0 for a scale that has none. Not finite:
 * scale NaN, inverse 0. */
static float int8_scale(const float *x, int32_t n, float *inverse) {
    v128 top = i4_splat(0);
    for (int32_t i = 0; i < n; i += 4) top = i4_max(top, f4_abs(load_to(x, i, n)));
    int32_t bits = i4_top(top);
    float amax;
    memcpy(&amax, &bits, 4);
    float scale = amax / 127.0f;
    *inverse = 0;
    if (bits >= 0x7f800000) return amax - amax;
    if (scale < 0x1p-126f) return 0;
    *inverse = 1.0f / scale;
    return scale;
}

/* Columns i .. i+3 of x as int8 in int32 lanes; without an inverse all are 0. */
GF_INLINE v128 int8_columns(const float *x, int32_t i, int32_t n, float inverse) {
    if (inverse == 0) return i4_splat(0);
    return i4_nearest(f4_mul(load_to(x, i, n), f4_splat(inverse)));
}

void gf_kv_put(int32_t type, void *kblock, void *vblock, int32_t slot, const float *k,
               const float *v, int32_t d_head) {
    int32_t d = d_head;
    int32_t lane[4];
    float inverse;
    switch (type) {
    case GF_KV_F32:
        for (int32_t i = 0; k && i < d; i++) ((float *)kblock)[i * GF_KV_BLOCK + slot] = k[i];
        if (v) memcpy((float *)vblock + (int64_t)slot * d, v, (size_t)d * 4);
        break;
    case GF_KV_F16:
        for (int32_t i = 0; k && i < d; i += 4) {
            uint16_t *to = (uint16_t *)kblock + (int64_t)i * GF_KV_BLOCK + slot;
            v_store(lane, i4_f16_from_f4(load_to(k, i, d)));
            for (int j = 0; j < 4 && i + j < d; j++) to[j * GF_KV_BLOCK] = (uint16_t)lane[j];
        }
        for (int32_t i = 0; v && i < d; i += 4) {
            uint16_t *to = (uint16_t *)vblock + (int64_t)slot * d + i;
            v_store(lane, i4_f16_from_f4(load_to(v, i, d)));
            for (int j = 0; j < 4 && i + j < d; j++) to[j] = (uint16_t)lane[j];
        }
        break;
    default:
        if (k) {
            uint32_t flip = (uint32_t)gf_dot_flip() * 0x01010101u;
            key_scales(kblock, d)[slot] = int8_scale(k, d, &inverse);
            for (int32_t i = 0; i < d; i += 4) {
                v128 q = h8_narrow(int8_columns(k, i, d, inverse), i4_splat(0));
                uint32_t four = (uint32_t)i4_first(b16_narrow(q, q)) ^ flip;
                memcpy((char *)kblock + ((int64_t)i / 4 * GF_KV_BLOCK + slot) * 4, &four, 4);
            }
        }
        if (v) {
            char *to = (char *)vblock + (int64_t)(slot / 4) * 4 * d + slot % 4;
            value_scales(vblock, d)[slot] = int8_scale(v, d, &inverse);
            for (int32_t i = 0; i < d; i += 4, to += 16) {
                v_store(lane, int8_columns(v, i, d, inverse));
                for (int j = 0; j < 4 && i + j < d; j++) to[4 * j] = (char)lane[j];
            }
        }
    }
}

void gf_kv_get(int32_t type, const void *kblock, const void *vblock, int32_t slot, float *k,
               float *v, int32_t d_head) {
    int64_t d = d_head;
    switch (type) {
    case GF_KV_F32:
        for (int64_t i = 0; k && i < d; i++) k[i] = ((const float *)kblock)[i * GF_KV_BLOCK + slot];
        if (v) memcpy(v, (const float *)vblock + slot * d, (size_t)d * 4);
        break;
    case GF_KV_F16:
        for (int64_t i = 0; k && i < d; i++)
            k[i] = gf_f16_to_f32(((const uint16_t *)kblock)[i * GF_KV_BLOCK + slot]);
        for (int64_t i = 0; v && i < d; i++)
            v[i] = gf_f16_to_f32(((const uint16_t *)vblock)[slot * d + i]);
        break;
    default:
        for (int64_t i = 0; k && i < d; i++) {
            int8_t q = ((const int8_t *)kblock)[(i / 4 * GF_KV_BLOCK + slot) * 4 + i % 4];
            k[i] = (float)(int8_t)(q ^ gf_dot_flip()) * key_scales((void *)kblock, d_head)[slot];
        }
        for (int64_t i = 0; v && i < d; i++)
            v[i] = (float)((const int8_t *)vblock)[(slot / 4 * d + i) * 4 + slot % 4] *
                   value_scales((void *)vblock, d_head)[slot];
    }
}

/* ---- scores, float keys -------------------------------------------------------------------- */

/* m queries times 8/m vectors of keys: 8 chains over d_head */
GF_INLINE void scores_float(float *s, int32_t lds, const float *q, int32_t ldq, int m,
                            enum form form, const char *keys, int32_t d_head, float scale) {
    int vectors = 8 / m, size = form == F32 ? 4 : 2;
    v128 k = f4_splat(scale);
    GF_ROLLED
    for (int at = 0; at < GF_KV_BLOCK; at += 4 * vectors) {
        const char *p = keys + at * size;
        const float *qt[4];
        v128 a[8];
        GF_UNROLL
        for (int i = 0; i < 8; i++) a[i] = f4_splat(0);
        GF_UNROLL
        for (int t = 0; t < m; t++) qt[t] = q + (int64_t)t * ldq;
        GF_ROLLED
        for (int32_t d = 0; d < d_head; d++, p += GF_KV_BLOCK * size) {
            v128 u[8];
            GF_UNROLL
            for (int i = 0; i < vectors; i += 2) load_form_8(u + i, p + 4 * i * size, form);
            GF_UNROLL
            for (int t = 0; t < m; t++) {
                v128 x = v_splat32(qt[t] + d);
                GF_UNROLL
                for (int i = 0; i < vectors; i++)
                    a[t * vectors + i] = f4_add(a[t * vectors + i], f4_mul(u[i], x));
            }
        }
        GF_UNROLL
        for (int i = 0; i < 8; i += 2) order_from_8(a + i, form);
        GF_UNROLL
        for (int t = 0; t < m; t++) {
            GF_UNROLL
            for (int i = 0; i < vectors; i++)
                v_store(s + (int64_t)t * lds + at + 4 * i, f4_mul(a[t * vectors + i], k));
        }
    }
}

/* ---- scores, q8 keys ----------------------------------------------------------------------- */

/* Columns c .. c + n of a query, quantised, padded to a multiple of 16, as i4_dot (int16) or
 * i4_rdot (int8, perhaps split) wants them. Returns their sum. */
static int32_t query_columns(int16_t *wide, int8_t *narrow, int8_t *minus, const float *q,
                             int32_t c, int32_t n, int32_t d_head, float inverse) {
    v128 sum = i4_splat(0), none = i4_splat(0);
    for (int32_t i = 0; i < n; i += 16) {
        v128 x[4];
        GF_UNROLL
        for (int j = 0; j < 4; j++) {
            int32_t at = c + i + 4 * j;
            x[j] = at < d_head ? int8_columns(q, at, d_head, inverse) : none;
            sum = i4_add(sum, x[j]);
        }
        v128 a = h8_narrow(x[0], x[1]), b = h8_narrow(x[2], x[3]);
        if (gf_dot_kind() == GF_DOT_I16) {
            v_store(wide + i, a), v_store(wide + i + 8, b);
        } else if (gf_dot_kind() != GF_DOT_SPLIT) {
            v_store(narrow + i, b16_narrow(a, b));
        } else {
            v128 y[4];
            GF_UNROLL
            for (int j = 0; j < 4; j++) {
                v128 plus = i4_max(x[j], none);
                y[j] = i4_sub(plus, x[j]), x[j] = plus;
            }
            v_store(narrow + i, b16_narrow(h8_narrow(x[0], x[1]), h8_narrow(x[2], x[3])));
            v_store(minus + i, b16_narrow(h8_narrow(y[0], y[1]), h8_narrow(y[2], y[3])));
        }
    }
    return i4_sum(sum);
}

/* a [64] += keys [groups][64][4] times one query's columns */
static void dot_keys(int32_t *a, const char *keys, const int16_t *wide, const int8_t *narrow,
                     const int8_t *minus, int32_t groups) {
    (void)narrow, (void)minus;
    if (gf_dot_kind() == GF_DOT_I16) {
        GF_ROLLED
        for (int at = 0; at < GF_KV_BLOCK; at += 16, a += 16) {
            const char *p = keys + 4 * at;
            v128 s[8];
            GF_UNROLL
            for (int i = 0; i < 8; i++) s[i] = i4_splat(0);
            GF_ROLLED
            for (int32_t g = 0; g < groups; g++, p += 4 * GF_KV_BLOCK) {
                v128 x = v_splat64(wide + 4 * g);
                GF_UNROLL
                for (int i = 0; i < 8; i++) s[i] = i4_add(s[i], i4_dot(h8_load8(p + 8 * i), x));
            }
            GF_UNROLL
            for (int i = 0; i < 4; i++)
                v_store(a + 4 * i, i4_add(v_load(a + 4 * i), i4_pairs(s[2 * i], s[2 * i + 1])));
        }
        return;
    }
#if GF_RELAXED
    if (gf_dot_kind() == GF_DOT_SPLIT) {
        GF_ROLLED
        for (int at = 0; at < GF_KV_BLOCK; at += 16, a += 16) {
            const char *p = keys + 4 * at;
            v128 s[8];
            GF_UNROLL
            for (int i = 0; i < 8; i++) s[i] = i4_splat(0);
            GF_ROLLED
            for (int32_t g = 0; g < groups; g++, p += 4 * GF_KV_BLOCK) {
                v128 x = v_splat32(narrow + 4 * g), z = v_splat32(minus + 4 * g);
                GF_UNROLL
                for (int i = 0; i < 4; i++) {
                    v128 k = v_load(p + 16 * i);
                    s[i] = i4_rdot(k, x, s[i]), s[4 + i] = i4_rdot(k, z, s[4 + i]);
                }
            }
            GF_UNROLL
            for (int i = 0; i < 4; i++)
                v_store(a + 4 * i, i4_add(v_load(a + 4 * i), i4_sub(s[i], s[4 + i])));
        }
        return;
    }
    GF_ROLLED
    for (int at = 0; at < GF_KV_BLOCK; at += 32, a += 32) {
        const char *p = keys + 4 * at;
        v128 s[8];
        GF_UNROLL
        for (int i = 0; i < 8; i++) s[i] = v_load(a + 4 * i);
        GF_ROLLED
        for (int32_t g = 0; g < groups; g++, p += 4 * GF_KV_BLOCK) {
            v128 x = v_splat32(narrow + 4 * g);
            GF_UNROLL
            for (int i = 0; i < 8; i++) s[i] = i4_rdot(x, v_load(p + 16 * i), s[i]);
        }
        GF_UNROLL
        for (int i = 0; i < 8; i++) v_store(a + 4 * i, s[i]);
    }
#endif
}

static void scores_q8(float *s, const float *q, const char *keys, int32_t d_head, float scale) {
    int16_t wide[Q_CHUNK];
    int8_t narrow[Q_CHUNK], minus[Q_CHUNK];
    int32_t a[GF_KV_BLOCK], start = 0;
    float inverse, sq = int8_scale(q, d_head, &inverse);
    const float *ks = (const float *)(keys + key_groups(d_head) * 4 * GF_KV_BLOCK);
    memset(a, 0, sizeof a);
    for (int32_t c = 0; c < d_head; c += Q_CHUNK) {
        int32_t n = d_head - c < Q_CHUNK ? d_head - c : Q_CHUNK;
        start -= gf_dot_flip() * query_columns(wide, narrow, minus, q, c, n, d_head, inverse);
        dot_keys(a, keys + (int64_t)c * GF_KV_BLOCK, wide, narrow, minus, (n + 3) / 4);
    }
    v128 k = f4_splat(sq * scale), from = i4_splat(start);
    for (int i = 0; i < GF_KV_BLOCK; i += 4)
        v_store(s + i, f4_mul(f4_from_i4(i4_add(v_load(a + i), from)), f4_mul(v_load(ks + i), k)));
}

GF_INLINE void scores_form(float *s, int32_t lds, const float *q, int32_t ldq, int m,
                           enum form form, const char *keys, int32_t d_head, float scale) {
    if (m == 4)
        scores_float(s, lds, q, ldq, 4, form, keys, d_head, scale);
    else if (m == 2)
        scores_float(s, lds, q, ldq, 2, form, keys, d_head, scale);
    else
        scores_float(s, lds, q, ldq, 1, form, keys, d_head, scale);
}

void gf_attn_scores(float *s, int32_t lds, const float *q, int32_t ldq, int32_t m, int32_t type,
                    const void *kblock, int32_t d_head, float scale) {
    if (type == GF_KV_Q8) {
        for (int32_t t = 0; t < m; t++)
            scores_q8(s + (int64_t)t * lds, q + (int64_t)t * ldq, kblock, d_head, scale);
        return;
    }
    while (m > 0) {
        float scaled[4 * Q_CHUNK];
        int k = m >= 4 ? 4 : m >= 2 ? 2 : 1;
        if (type == GF_KV_F32)
            scores_form(s, lds, q, ldq, k, F32, kblock, d_head, scale);
        else if (d_head <= Q_CHUNK && gf_scale_up(scaled, q, ldq, k, d_head))
            scores_form(s, lds, scaled, d_head, k, F16_LOW, kblock, d_head, scale);
        else
            scores_form(s, lds, q, ldq, k, F16, kblock, d_head, scale);
        s += (int64_t)k * lds, q += (int64_t)k * ldq, m -= k;
    }
}

/* ---- mixtures, float values ---------------------------------------------------------------- */

/* m queries times `vectors` vectors of columns, m * vectors <= 8; weights [m][64] ready to use. One
 * query steps over zeros, several have none. */
GF_INLINE void mix_columns(float *z, int32_t ldz, const float *weights, int m, int vectors,
                           enum form form, const char *v, int32_t count, int32_t d_head) {
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
        if (vectors > 1) order_to_8(a + i, form);
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
            for (int i = 0; i < vectors; i++)
                a[t * vectors + i] = f4_add(a[t * vectors + i], f4_mul(u[i], x));
        }
    }
    GF_UNROLL
    for (int i = 0; i < m * vectors; i += 2)
        if (vectors > 1) order_from_8(a + i, form);
    GF_UNROLL
    for (int t = 0; t < m; t++) {
        GF_UNROLL
        for (int i = 0; i < vectors; i++) v_store(z + (int64_t)t * ldz + 4 * i, a[t * vectors + i]);
    }
}

GF_INLINE void mix_m(float *z, int32_t ldz, const float *w, int m, enum form form, const char *v,
                     int32_t count, int32_t d_head) {
    int size = form == F32 ? 4 : 2, wide = 8 / m;
    int32_t d = 0;
    for (; d + 4 * wide <= d_head; d += 4 * wide)
        mix_columns(z + d, ldz, w, m, wide, form, v + (int64_t)d * size, count, d_head);
    for (; wide > 1 && d + 2 * wide <= d_head; d += 2 * wide)
        mix_columns(z + d, ldz, w, m, wide / 2, form, v + (int64_t)d * size, count, d_head);
    for (; d + 4 <= d_head; d += 4)
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

GF_INLINE void mix_form(float *z, int32_t ldz, const float *w, int m, enum form form, const char *v,
                        int32_t count, int32_t d_head) {
    if (m == 4)
        mix_m(z, ldz, w, 4, form, v, count, d_head);
    else if (m == 2)
        mix_m(z, ldz, w, 2, form, v, count, d_head);
    else
        mix_m(z, ldz, w, 1, form, v, count, d_head);
}

static int has_zero(const float *p, int32_t ldp, int m, int32_t count) {
    v128 zero = i4_splat(0);
    for (int t = 0; t < m; t++, p += ldp)
        for (int32_t j = 0; j < count; j += 4) {
            v128 none = f4_eq(load_to(p, j, count), f4_splat(0));
            zero = v_or(zero, count - j < 4 ? v_and(none, v_first(count - j)) : none);
        }
    return v_any(zero);
}

static void mix_float(float *z, int32_t ldz, const float *p, int32_t ldp, int m, int32_t type,
                      const void *v, int32_t count, int32_t d_head) {
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
        else
            mix_form(z, ldz, w, m, F16, v, count, d_head);
    }
}

/* ---- mixtures, q8 values ------------------------------------------------------------------- */

/* Weights of up to 4 queries in whole units; high * 128 + low, both 0..127, while none is negative.
 */
struct units {
    float unit[4];
    int16_t w[4][GF_KV_BLOCK];
    int8_t high[4][GF_KV_BLOCK], low[4][GF_KV_BLOCK];
    int negative;
};

/* Query t's weights: p times the values' scales, in units of the largest / 16383; 0 from count on
 * and where p is 0, whatever the scale there. */
static void mix_weights(struct units *u, int t, const float *p, const float *scales,
                        int32_t count) {
    float product[GF_KV_BLOCK];
    v128 top = i4_splat(0), signs = top;
    for (int32_t j = 0; j < GF_KV_BLOCK; j += 4) {
        v128 x = i4_splat(0);
        if (j < count) {
            v128 q = load_to(p, j, count);
            x = v_andnot(f4_mul(q, load_to(scales, j, count)), f4_eq(q, f4_splat(0)));
            if (count - j < 4) x = v_and(x, v_first(count - j));
        }
        top = i4_max(top, f4_abs(x)), signs = v_or(signs, x);
        v_store(product + j, x);
    }
    int32_t bits = i4_top(top);
    float most;
    memcpy(&most, &bits, 4);
    float unit = most / 16383.0f, inverse = unit < 0x1p-126f ? 0 : 1.0f / unit;
    if (bits >= 0x7f800000) unit = most - most; /* NaN, which times 0 stays */
    u->unit[t] = inverse == 0 && bits < 0x7f800000 ? 0 : unit;
    u->negative |= v_any(i4_shr(signs, 31));
    if (bits >= 0x7f800000) inverse = 0;
    v128 k = f4_splat(inverse), seven = i4_splat(127);
    for (int32_t j = 0; j < GF_KV_BLOCK; j += 16) {
        v128 x[4], h[4];
        GF_UNROLL
        for (int i = 0; i < 4; i++) {
            v128 y = v_load(product + j + 4 * i);
            x[i] = inverse == 0 ? i4_splat(0) : i4_nearest(f4_mul(y, k));
            h[i] = i4_shr(x[i], 7);
        }
        v_store(u->w[t] + j, h8_narrow(x[0], x[1]));
        v_store(u->w[t] + j + 8, h8_narrow(x[2], x[3]));
        v_store(u->high[t] + j, b16_narrow(h8_narrow(h[0], h[1]), h8_narrow(h[2], h[3])));
        GF_UNROLL
        for (int i = 0; i < 4; i++) x[i] = v_and(x[i], seven);
        v_store(u->low[t] + j, b16_narrow(h8_narrow(x[0], x[1]), h8_narrow(x[2], x[3])));
    }
}

/* z += unit * s for 4 columns */
GF_INLINE void add_units(float *z, v128 s, const float *unit) {
    v_store(z, f4_add(v_load(z), f4_mul(f4_from_i4(s), v_splat32(unit))));
}

/* m queries times `vectors` vectors of 4 columns, m * vectors = 4, over `quads` times 4 keys */
GF_INLINE void mix_wide(float *z, int32_t ldz, const struct units *u, int m, int vectors,
                        const char *v, int32_t quads, int32_t d_head) {
    v128 s[8]; /* [m][2 vectors]: of 2 columns each, in halves */
    GF_UNROLL
    for (int i = 0; i < 8; i++) s[i] = i4_splat(0);
    GF_ROLLED
    for (int32_t j = 0; j < quads; j++, v += 4 * (int64_t)d_head) {
        v128 x[8];
        GF_UNROLL
        for (int i = 0; i < 2 * vectors; i++) x[i] = h8_load8(v + 8 * i);
        GF_UNROLL
        for (int t = 0; t < m; t++) {
            v128 k = v_splat64(u->w[t] + 4 * j);
            GF_UNROLL
            for (int i = 0; i < 2 * vectors; i++)
                s[2 * t * vectors + i] = i4_add(s[2 * t * vectors + i], i4_dot(x[i], k));
        }
    }
    GF_UNROLL
    for (int t = 0; t < m; t++) {
        GF_UNROLL
        for (int i = 0; i < vectors; i++) {
            int at = 2 * (t * vectors + i);
            add_units(z + (int64_t)t * ldz + 4 * i, i4_pairs(s[at], s[at + 1]), u->unit + t);
        }
    }
}

#if GF_RELAXED
GF_INLINE void mix_narrow(float *z, int32_t ldz, const struct units *u, int m, int vectors,
                          const char *v, int32_t quads, int32_t d_head) {
    v128 s[8]; /* [m][vectors][high, low] */
    GF_UNROLL
    for (int i = 0; i < 8; i++) s[i] = i4_splat(0);
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
                int at = 2 * (t * vectors + i);
                s[at] = i4_rdot(x[i], k, s[at]), s[at + 1] = i4_rdot(x[i], l, s[at + 1]);
            }
        }
    }
    GF_UNROLL
    for (int t = 0; t < m; t++) {
        GF_UNROLL
        for (int i = 0; i < vectors; i++) {
            int at = 2 * (t * vectors + i);
            add_units(z + (int64_t)t * ldz + 4 * i, i4_add(i4_shl(s[at], 7), s[at + 1]),
                      u->unit + t);
        }
    }
}
#endif

GF_INLINE void mix_q8_m(float *z, int32_t ldz, const struct units *u, int m, const char *v,
                        int32_t quads, int32_t d_head) {
    int wide = 4 / m;
    int32_t d = 0;
#if GF_RELAXED
    if (!u->negative && gf_dot_kind() != GF_DOT_I16) {
        for (; d + 4 * wide <= d_head; d += 4 * wide)
            mix_narrow(z + d, ldz, u, m, wide, v + 4 * d, quads, d_head);
        for (; d + 4 <= d_head; d += 4) mix_narrow(z + d, ldz, u, m, 1, v + 4 * d, quads, d_head);
    }
#endif
    for (; d + 4 * wide <= d_head; d += 4 * wide)
        mix_wide(z + d, ldz, u, m, wide, v + 4 * d, quads, d_head);
    for (; d + 4 <= d_head; d += 4) mix_wide(z + d, ldz, u, m, 1, v + 4 * d, quads, d_head);
    for (; d < d_head; d++)
        for (int t = 0; t < m; t++) {
            int32_t sum = 0;
            for (int32_t j = 0; j < 4 * quads; j++)
                sum +=
                    u->w[t][j] * ((const int8_t *)v)[((int64_t)(j / 4) * d_head + d) * 4 + j % 4];
            z[(int64_t)t * ldz + d] += (float)sum * u->unit[t];
        }
}

static void mix_q8(float *z, int32_t ldz, const float *p, int32_t ldp, int m, const char *v,
                   int32_t count, int32_t d_head) {
    const float *scales = (const float *)(v + (int64_t)d_head * GF_KV_BLOCK);
    struct units u;
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

void gf_attn_mix(float *z, int32_t ldz, const float *p, int32_t ldp, int32_t m, int32_t type,
                 const void *vblock, int32_t count, int32_t d_head) {
    while (m > 0) {
        int k = m >= 4 ? 4 : m >= 2 ? 2 : 1;
        if (type == GF_KV_Q8)
            mix_q8(z, ldz, p, ldp, k, vblock, count, d_head);
        else {
            while (k > 1 && has_zero(p, ldp, k, count)) k /= 2;
            mix_float(z, ldz, p, ldp, k, type, vblock, count, d_head);
        }
        z += (int64_t)k * ldz, p += (int64_t)k * ldp, m -= k;
    }
}
