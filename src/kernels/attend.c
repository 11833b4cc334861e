/* attend.c - scores and mixtures over one block of 64 cached keys and values.
 *
 * Keys are turned so that a lane is a key: a score is a chain over d_head with no horizontal sum.
 * Values are rows: a mixture is a chain over keys. Up to 4 queries share what is loaded.
 *
 * q8 keys meet a query quantised like them (one scale for the head, max|q| / 127), so that the sum
 * over d_head is an exact integer. q8 values are multiplied by p times their scale. */
#include "base/half.h"
#include "kernels/int8.h"
#include "kernels/simd.h"

#define Q_CHUNK 256 /* columns of a query quantised at a time */

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
            char *to = (char *)vblock + (int64_t)slot * d;
            value_scales(vblock, d)[slot] = int8_scale(v, d, &inverse);
            for (int32_t i = 0; i < d; i += 4) {
                v128 q = h8_narrow(int8_columns(v, i, d, inverse), i4_splat(0));
                int32_t four = i4_first(b16_narrow(q, q));
                memcpy(to + i, &four, i + 4 <= d ? 4 : (size_t)(d - i));
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
            v[i] = (float)((const int8_t *)vblock)[slot * d + i] *
                   value_scales((void *)vblock, d_head)[slot];
    }
}

/* ---- scores, float keys -------------------------------------------------------------------- */

/* m queries times 8/m vectors of keys: 8 chains over d_head */
GF_INLINE void scores_float(float *s, int32_t lds, const float *q, int32_t ldq, int m, int half,
                            const char *keys, int32_t d_head, float scale) {
    int vectors = 8 / m, size = half ? 2 : 4;
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
            for (int i = 0; i < vectors; i++)
                u[i] = half ? f4_load_f16(p + 4 * i * size) : v_load(p + 4 * i * size);
            GF_UNROLL
            for (int t = 0; t < m; t++) {
                v128 x = v_splat32(qt[t] + d);
                GF_UNROLL
                for (int i = 0; i < vectors; i++)
                    a[t * vectors + i] = f4_add(a[t * vectors + i], f4_mul(u[i], x));
            }
        }
        GF_UNROLL
        for (int t = 0; t < m; t++) {
            GF_UNROLL
            for (int i = 0; i < vectors; i++)
                v_store(s + (int64_t)t * lds + at + 4 * i, f4_mul(a[t * vectors + i], k));
        }
    }
}

/* ---- scores, q8 keys ----------------------------------------------------------------------- */

/* Columns c .. c + n of a query, quantised, padded to a multiple of 4, as i4_dot (int16) or i4_rdot
 * (int8, perhaps split) wants them. Returns their sum. */
static int32_t query_columns(int16_t *wide, int8_t *narrow, int8_t *minus, const float *q,
                             int32_t c, int32_t n, int32_t d_head, float inverse) {
    v128 sum = i4_splat(0);
    for (int32_t i = 0; i < n; i += 4) {
        v128 x = int8_columns(q, c + i, d_head, inverse);
        sum = i4_add(sum, x);
        if (gf_dot_kind() == GF_DOT_I16) {
            int32_t two[4];
            v_store(two, h8_narrow(x, x));
            memcpy(wide + i, two, 8);
            continue;
        }
        v128 plus = gf_dot_kind() == GF_DOT_SPLIT ? i4_max(x, i4_splat(0)) : x;
        v128 h = h8_narrow(plus, i4_sub(plus, x));
        int32_t two[4]; /* plus in bytes 0..3, minus in 4..7 */
        v_store(two, b16_narrow(h, h));
        memcpy(narrow + i, two, 4), memcpy(minus + i, two + 1, 4);
    }
    return i4_sum(sum);
}

/* a [64] += keys [groups][64][4] times one query's columns */
static void dot_keys(int32_t *a, const char *keys, const int16_t *wide, const int8_t *narrow,
                     const int8_t *minus, int32_t groups) {
    (void)wide, (void)narrow, (void)minus;
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
#else
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

void gf_attn_scores(float *s, int32_t lds, const float *q, int32_t ldq, int32_t m, int32_t type,
                    const void *kblock, int32_t d_head, float scale) {
    if (type == GF_KV_Q8) {
        for (int32_t t = 0; t < m; t++)
            scores_q8(s + (int64_t)t * lds, q + (int64_t)t * ldq, kblock, d_head, scale);
        return;
    }
    int half = type == GF_KV_F16;
    for (int32_t left = m; left > 0;) {
        int32_t k = left >= 4 ? 4 : left >= 2 ? 2 : 1;
        if (k == 4) {
            if (half)
                scores_float(s, lds, q, ldq, 4, 1, kblock, d_head, scale);
            else
                scores_float(s, lds, q, ldq, 4, 0, kblock, d_head, scale);
        } else if (k == 2) {
            if (half)
                scores_float(s, lds, q, ldq, 2, 1, kblock, d_head, scale);
            else
                scores_float(s, lds, q, ldq, 2, 0, kblock, d_head, scale);
        } else {
            if (half)
                scores_float(s, lds, q, ldq, 1, 1, kblock, d_head, scale);
            else
                scores_float(s, lds, q, ldq, 1, 0, kblock, d_head, scale);
        }
        s += (int64_t)k * lds, q += (int64_t)k * ldq, left -= k;
    }
}

/* ---- mixtures ------------------------------------------------------------------------------ */

GF_INLINE v128 load_value(const char *p, int32_t type) {
    return type == GF_KV_F32 ? v_load(p) : type == GF_KV_F16 ? f4_load_f16(p) : f4_load_i8(p);
}

/* m queries times `vectors` vectors of columns, m * vectors <= 8; weights [m][64] ready to use. One
 * query steps over zeros, several have none. */
GF_INLINE void mix_columns(float *z, int32_t ldz, const float *weights, int m, int vectors,
                           int32_t type, const char *v, int32_t count, int32_t d_head) {
    int64_t row = (int64_t)d_head * (type == GF_KV_F32 ? 4 : type == GF_KV_F16 ? 2 : 1);
    int size = type == GF_KV_F32 ? 4 : type == GF_KV_F16 ? 2 : 1;
    v128 a[8];
    GF_UNROLL
    for (int t = 0; t < m; t++) {
        GF_UNROLL
        for (int i = 0; i < vectors; i++) a[t * vectors + i] = v_load(z + (int64_t)t * ldz + 4 * i);
    }
    GF_ROLLED
    for (const float *w = weights, *end = w + count; w < end; w++, v += row) {
        if (m == 1 && *w == 0) continue;
        v128 u[8];
        GF_UNROLL
        for (int i = 0; i < vectors; i++) u[i] = load_value(v + 4 * i * size, type);
        GF_UNROLL
        for (int t = 0; t < m; t++) {
            v128 x = v_splat32(w + t * GF_KV_BLOCK);
            GF_UNROLL
            for (int i = 0; i < vectors; i++)
                a[t * vectors + i] = f4_add(a[t * vectors + i], f4_mul(u[i], x));
        }
    }
    GF_UNROLL
    for (int t = 0; t < m; t++) {
        GF_UNROLL
        for (int i = 0; i < vectors; i++) v_store(z + (int64_t)t * ldz + 4 * i, a[t * vectors + i]);
    }
}

GF_INLINE void mix(float *z, int32_t ldz, const float *w, int m, int32_t type, const char *v,
                   int32_t count, int32_t d_head) {
    int size = type == GF_KV_F32 ? 4 : type == GF_KV_F16 ? 2 : 1, wide = m == 1 ? 8 : 8 / m;
    int32_t d = 0;
    for (; d + 4 * wide <= d_head; d += 4 * wide)
        mix_columns(z + d, ldz, w, m, wide, type, v + (int64_t)d * size, count, d_head);
    for (; d + 4 <= d_head; d += 4)
        mix_columns(z + d, ldz, w, m, 1, type, v + (int64_t)d * size, count, d_head);
    for (; d < d_head; d++)
        for (int t = 0; t < m; t++) {
            float *to = z + (int64_t)t * ldz + d;
            for (int32_t j = 0; j < count; j++) {
                const char *p = v + ((int64_t)j * d_head + d) * size;
                float x;
                if (w[t * GF_KV_BLOCK + j] == 0) continue;
                if (type == GF_KV_F32)
                    memcpy(&x, p, 4);
                else if (type == GF_KV_F16)
                    x = gf_f16_to_f32(*(const uint16_t *)p);
                else
                    x = (float)*(const int8_t *)p;
                *to += w[t * GF_KV_BLOCK + j] * x;
            }
        }
}

/* The weights of m queries [m][64]: p, or for q8 p times the value's scale. Returns 1 if none is 0.
 */
static int mix_weights(float *w, const float *p, int32_t ldp, int m, int32_t type, const char *v,
                       int32_t count, int32_t d_head) {
    const float *scale = (const float *)(v + (int64_t)d_head * GF_KV_BLOCK);
    v128 zero = i4_splat(0);
    for (int t = 0; t < m; t++, p += ldp, w += GF_KV_BLOCK)
        for (int32_t j = 0; j < count; j += 4) {
            v128 x = load_to(p, j, count), none = f4_eq(x, f4_splat(0));
            if (type == GF_KV_Q8) /* p = 0 stays 0 even where an unwritten scale is NaN */
                x = v_andnot(f4_mul(x, load_to(scale, j, count)), none);
            none = f4_eq(x, f4_splat(0));
            zero = v_or(zero, count - j < 4 ? v_and(none, v_first(count - j)) : none);
            v_store(w + j, x);
        }
    return !v_any(zero);
}

void gf_attn_mix(float *z, int32_t ldz, const float *p, int32_t ldp, int32_t m, int32_t type,
                 const void *vblock, int32_t count, int32_t d_head) {
    float w[4 * GF_KV_BLOCK];
    while (m > 0) {
        int k = m >= 4 ? 4 : m >= 2 ? 2 : 1;
        while (!mix_weights(w, p, ldp, k, type, vblock, count, d_head) && k > 1) k /= 2;
        if (k == 4) {
            if (type == GF_KV_F32)
                mix(z, ldz, w, 4, GF_KV_F32, vblock, count, d_head);
            else if (type == GF_KV_F16)
                mix(z, ldz, w, 4, GF_KV_F16, vblock, count, d_head);
            else
                mix(z, ldz, w, 4, GF_KV_Q8, vblock, count, d_head);
        } else if (k == 2) {
            if (type == GF_KV_F32)
                mix(z, ldz, w, 2, GF_KV_F32, vblock, count, d_head);
            else if (type == GF_KV_F16)
                mix(z, ldz, w, 2, GF_KV_F16, vblock, count, d_head);
            else
                mix(z, ldz, w, 2, GF_KV_Q8, vblock, count, d_head);
        } else {
            if (type == GF_KV_F32)
                mix(z, ldz, w, 1, GF_KV_F32, vblock, count, d_head);
            else if (type == GF_KV_F16)
                mix(z, ldz, w, 1, GF_KV_F16, vblock, count, d_head);
            else
                mix(z, ldz, w, 1, GF_KV_Q8, vblock, count, d_head);
        }
        z += (int64_t)k * ldz, p += (int64_t)k * ldp, m -= k;
    }
}
