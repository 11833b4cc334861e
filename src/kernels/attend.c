/* attend.c - the key/value cache's blocks of 64 positions: their sizes, storing keys and values, and the scores of
 * queries against the keys.
 *
 * Keys are kept transposed, a lane for each key, so that a score is a sum over d_head within one lane.
 * Up to 4 queries share what is loaded.
 *
 * q8 sums are exact integers: keys meet a query quantised like them (one scale for the head, max|q|
 * / 127). Mixtures of the values: attend_values.c. */
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

/* ---- storing ----------------------------------------------------------------------------------------------------- */

/* Returns scale = max|x| / 127 over n values. *inverse = 1 / scale, or 0 where the scale is too small for it. If a
 * value is not finite: scale NaN, inverse 0. */
static float int8_scale(const float *x, int32_t n, float *inverse) {
    v128 top = i32x4_splat(0);
    for (int32_t i = 0; i < n; i += 4) top = i32x4_max(top, f4_abs(v_load_to(x, i, n)));
    int32_t bits = i32x4_max_lane(top);
    float amax;
    memcpy(&amax, &bits, 4);
    float scale = amax / 127.0f;
    *inverse = 0;
    if (bits >= 0x7f800000) return amax - amax;
    if (scale < 0x1p-126f) return 0;
    *inverse = 1.0f / scale;
    return scale;
}

/* Columns i .. i+3 of x as int8 in int32 lanes; all 0 if inverse is 0. */
GF_INLINE v128 int8_columns(const float *x, int32_t i, int32_t n, float inverse) {
    if (inverse == 0) return i32x4_splat(0);
    return i32x4_nearest(f4_mul(v_load_to(x, i, n), f4_splat(inverse)));
}

void gf_kv_flip(int32_t type, void *kblock, int32_t d_head) {
    if (type != GF_KV_Q8) return;
    const uint8_t flip[2] = {gf_dot_flip(0), gf_dot_flip(1)};
    uint8_t *keys = kblock;
    for (int64_t i = 0; i < key_groups(d_head) * 4 * GF_KV_BLOCK; i++) keys[i] ^= flip[i % 2];
}

int gf_kv_put(int32_t type, void *kblock, void *vblock, int32_t slot, const float *k, const float *v, int32_t d_head) {
    int32_t d = d_head;
    int32_t lane[4];
    float inverse;
    v128 held = i32x4_splat(-1); /* f16: lanes whose values were all less than what rounds to infinity */
    switch (type) {
    case GF_KV_F32:
        for (int32_t i = 0; k && i < d; i++) ((float *)kblock)[i * GF_KV_BLOCK + slot] = k[i];
        if (v) memcpy((float *)vblock + (int64_t)slot * d, v, (size_t)d * 4);
        break;
    case GF_KV_F16:
        for (int32_t i = 0; k && i < d; i += 4) {
            uint16_t *to = (uint16_t *)kblock + (int64_t)i * GF_KV_BLOCK + slot;
            v128 x = v_load_to(k, i, d);
            held = v_and(held, f4_lt(f4_abs(x), f4_splat(65520)));
            v_store(lane, i32x4_f16_from_f4(x));
            for (int j = 0; j < 4 && i + j < d; j++) to[j * GF_KV_BLOCK] = (uint16_t)lane[j];
        }
        for (int32_t i = 0; v && i < d; i += 4) {
            uint16_t *to = (uint16_t *)vblock + (int64_t)slot * d + i;
            v128 x = v_load_to(v, i, d);
            held = v_and(held, f4_lt(f4_abs(x), f4_splat(65520)));
            v_store(lane, i32x4_f16_from_f4(x));
            for (int j = 0; j < 4 && i + j < d; j++) to[j] = (uint16_t)lane[j];
        }
        break;
    default:
        if (k) {
            const uint32_t flip = (gf_dot_flip(0) | (uint32_t)gf_dot_flip(1) << 8) * 0x00010001u;
            key_scales(kblock, d)[slot] = int8_scale(k, d, &inverse);
            for (int32_t i = 0; i < d; i += 4) {
                v128 q = i16x8_narrow(int8_columns(k, i, d, inverse), i32x4_splat(0));
                uint32_t four = (uint32_t)i32x4_first(i8x16_narrow(q, q)) ^ flip;
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
    return v_any(v_xor(held, i32x4_splat(-1)));
}

/* ---- scores, float keys ------------------------------------------------------------------------------------------ */

/* s [m][64] = scale * q k^T for the first n keys, or more, of one block of keys [d_head][64]. A lane is a key and a sum
 * adds components 0, 1, 2, ... of d_head in order, so there is no horizontal sum. m queries times 8 / m vectors of 4
 * keys are 8 accumulators, independent chains that hide the latency of the addition; a component costs 8 / m loads, m
 * broadcasts and 8 products. */
GF_INLINE void scores_float(float *s, int32_t lds, const float *q, int32_t ldq, int m, enum form form, const char *keys,
                            int32_t n, int32_t d_head, float scale) {
    int vectors = 8 / m, size = form == F32 ? 4 : 2;
    v128 k = f4_splat(scale);
    GF_ROLLED
    for (int key = 0; key < n && key < GF_KV_BLOCK; key += 4 * vectors) {
        const char *p = keys + key * size;
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
                for (int i = 0; i < vectors; i++) a[t * vectors + i] = f4_add(a[t * vectors + i], f4_mul(u[i], x));
            }
        }
        GF_UNROLL
        for (int i = 0; i < 8; i += 2) merge_8(a + i, form);
        GF_UNROLL
        for (int t = 0; t < m; t++) {
            GF_UNROLL
            for (int i = 0; i < vectors; i++)
                v_store(s + (int64_t)t * lds + key + 4 * i, f4_mul(a[t * vectors + i], k));
        }
    }
}

/* ---- scores, q8 keys --------------------------------------------------------------------------------------------- */

/* Columns i .. i + 15 of x as integers; those from n on are 0. */
GF_INLINE void load_16(v128 to[4], const float *x, int32_t i, int32_t n, float inverse) {
    GF_UNROLL
    for (int j = 0; j < 4; j++) to[j] = i + 4 * j < n ? int8_columns(x, i + 4 * j, n, inverse) : i32x4_splat(0);
}

/* Three ways to store n columns x of a query, padded to a multiple of 16, as units of 4 columns (matmul_int8.c). Each
 * returns the amount by which keys that are stored as w + 128, or inverted as -w - 1, increase a sum. */
#if GF_RELAXED
/* A unit is 4 int8. */
static int32_t query_bytes(char *units, const float *x, int32_t n, float inverse) {
    v128 q[4], sum = i32x4_splat(0);
    for (int32_t i = 0; i < n; i += 16, units += 16) {
        load_16(q, x, i, n, inverse);
        sum = i32x4_add(sum, i32x4_add(i32x4_add(q[0], q[1]), i32x4_add(q[2], q[3])));
        v_store(units, i8x16_narrow(i16x8_narrow(q[0], q[1]), i16x8_narrow(q[2], q[3])));
    }
    return gf_dot_kind() == GF_DOT_UNSIGNED ? 128 * i32x4_sum(sum) : 0;
}

/* A unit is |x|, then 0 or -1, the sign of x, each 4 int8. */
static int32_t query_abs(char *units, const float *x, int32_t n, float inverse) {
    v128 q[4], negative = i32x4_splat(0); /* the sum of the magnitudes of negative columns */
    for (int32_t i = 0; i < n; i += 16) {
        load_16(q, x, i, n, inverse);
        GF_UNROLL
        for (int j = 0; j < 4; j += 2, units += 16) {
            v128 a = i32x4_shr(q[j], 31), b = i32x4_shr(q[j + 1], 31);
            negative = i32x4_sub(i32x4_sub(negative, v_and(q[j], a)), v_and(q[j + 1], b));
            v128 size = i16x8_narrow(i32x4_sub(v_xor(q[j], a), a), i32x4_sub(v_xor(q[j + 1], b), b));
            v128 bytes = i8x16_narrow(size, i16x8_narrow(a, b));
            v_store(units, V_SHUFFLE32(bytes, bytes, 0, 2, 1, 3));
        }
    }
    return -i32x4_sum(negative);
}

static int32_t query_columns(char *units, const float *x, int32_t n, float inverse) {
    return (gf_dot_kind() == GF_DOT_ABS ? query_abs : query_bytes)(units, x, n, inverse);
}
#else
/* A unit is 4 int16: x1, x3, 256 x0 - x1, 256 x2 - x3. */
static int32_t query_columns(char *units, const float *x, int32_t n, float inverse) {
    v128 q[4], evens = i32x4_splat(0); /* the sum of even columns */
    for (int32_t i = 0; i < n; i += 16) {
        load_16(q, x, i, n, inverse);
        GF_UNROLL
        for (int j = 0; j < 4; j += 2, units += 16) {
            v128 even = v_evens(q[j], q[j + 1]), odd = v_odds(q[j], q[j + 1]);
            v128 pairs = i16x8_narrow(odd, i32x4_sub(i32x4_shl(even, 8), odd));
            v_store(units, V_SHUFFLE32(pairs, pairs, 0, 2, 1, 3));
            evens = i32x4_add(evens, even);
        }
    }
    return 128 * i32x4_sum(evens);
}
#endif

/* a [64] += keys [groups][64][4 components] times one query's components, as exact integers; a lane is a key */
static void dot_keys(int32_t *a, const char *keys, const char *units, int32_t groups) {
    const enum gf_dot kind = gf_dot_kind();
    if (kind == GF_DOT_I16 || kind == GF_DOT_ABS) {
        GF_ROLLED
        for (int key = 0; key < GF_KV_BLOCK; key += 16, a += 16) {
            const char *p = keys + 4 * key, *x = units;
            v128 s[4];
            GF_UNROLL
            for (int i = 0; i < 4; i++) s[i] = i32x4_splat(0);
            GF_ROLLED
            for (int32_t g = 0; g < groups; g++, p += 4 * GF_KV_BLOCK, x += 8) {
                v128 u = v_splat32(x), v = v_splat32(x + 4);
                GF_UNROLL
                for (int i = 0; i < 4; i++) {
                    v128 k = v_load(p + 16 * i);
#if GF_RELAXED
                    s[i] = i32x4_add(s[i], i32x4_dot(i16x8_rdot(v_xor(k, v), u), I32X4(0x00010001)));
#else
                    s[i] = i32x4_add(s[i], i32x4_add(i32x4_dot(k, u), i32x4_dot(v_and(k, I32X4(0x00ff00ff)), v)));
#endif
                }
            }
            GF_UNROLL
            for (int i = 0; i < 4; i++)
                v_store(a + 4 * i, i32x4_add(v_load(a + 4 * i), i32x4_shr(s[i], GF_RELAXED ? 0 : 8)));
        }
        return;
    }
#if GF_RELAXED
    GF_ROLLED
    for (int key = 0; key < GF_KV_BLOCK; key += 32, a += 32) {
        const char *p = keys + 4 * key;
        v128 s[8];
        GF_UNROLL
        for (int i = 0; i < 8; i++) s[i] = v_load(a + 4 * i);
        GF_ROLLED
        for (int32_t g = 0; g < groups; g++, p += 4 * GF_KV_BLOCK) {
            v128 x = v_splat32(units + 4 * g);
            GF_UNROLL
            for (int i = 0; i < 8; i++) s[i] = i32x4_rdot(x, v_load(p + 16 * i), s[i]);
        }
        GF_UNROLL
        for (int i = 0; i < 8; i++) v_store(a + 4 * i, s[i]);
    }
#endif
}

/* One query against n_blocks blocks. s holds the integer sums until the last of them is complete. */
static void scores_q8(float *s, const float *q, const void *const *blocks, int32_t n_blocks, int32_t d_head,
                      float scale) {
    char units[2 * Q_CHUNK];
    int32_t start = 0, *sums = (int32_t *)(void *)s;
    float inverse, sq = int8_scale(q, d_head, &inverse);
    memset(s, 0, (size_t)n_blocks * GF_KV_BLOCK * sizeof *s);
    for (int32_t c = 0; c < d_head; c += Q_CHUNK) {
        int32_t n = d_head - c < Q_CHUNK ? d_head - c : Q_CHUNK;
        start -= query_columns(units, q + c, n, inverse);
        for (int32_t b = 0; b < n_blocks; b++)
            dot_keys(sums + b * GF_KV_BLOCK, (const char *)blocks[b] + (int64_t)c * GF_KV_BLOCK, units, (n + 3) / 4);
    }
    /* the scale is applied last, as it is where the unscaled scores are captured */
    v128 k = f4_splat(sq), last = f4_splat(scale), from = i32x4_splat(start);
    for (int32_t b = 0; b < n_blocks; b++, s += GF_KV_BLOCK) {
        const float *ks = (const float *)((const char *)blocks[b] + key_groups(d_head) * 4 * GF_KV_BLOCK);
        for (int i = 0; i < GF_KV_BLOCK; i += 4) {
            v128 dot = f4_from_i4(i32x4_add(v_load(s + i), from));
            v_store(s + i, f4_mul(f4_mul(dot, f4_mul(v_load(ks + i), k)), last));
        }
    }
}

GF_INLINE void scores_form(float *s, int32_t lds, const float *q, int32_t ldq, int m, enum form form,
                           const void *const *blocks, int32_t n_keys, int32_t d_head, float scale) {
    for (; n_keys > 0; blocks++, n_keys -= GF_KV_BLOCK, s += GF_KV_BLOCK) {
        if (m == 4)
            scores_float(s, lds, q, ldq, 4, form, *blocks, n_keys, d_head, scale);
        else if (m == 2)
            scores_float(s, lds, q, ldq, 2, form, *blocks, n_keys, d_head, scale);
        else
            scores_float(s, lds, q, ldq, 1, form, *blocks, n_keys, d_head, scale);
    }
}

void gf_attn_scores(float *s, int32_t lds, const float *q, int32_t ldq, int32_t m, int32_t type,
                    const void *const *blocks, int32_t n_keys, int32_t d_head, float scale) {
    if (type == GF_KV_Q8) {
        const int32_t n_blocks = (n_keys + GF_KV_BLOCK - 1) / GF_KV_BLOCK;
        for (int32_t t = 0; t < m; t++)
            scores_q8(s + (int64_t)t * lds, q + (int64_t)t * ldq, blocks, n_blocks, d_head, scale);
        return;
    }
    while (m > 0) {
        float scaled[4 * Q_CHUNK];
        int k = m >= 4 ? 4 : m >= 2 ? 2 : 1;
        if (type == GF_KV_F32)
            scores_form(s, lds, q, ldq, k, F32, blocks, n_keys, d_head, scale);
        else if (d_head <= Q_CHUNK && gf_scale_up(scaled, q, ldq, k, d_head))
            scores_form(s, lds, scaled, d_head, k, F16_LOW, blocks, n_keys, d_head, scale);
        else /* rare: one by one */
            k = 1, scores_form(s, lds, q, ldq, 1, F16, blocks, n_keys, d_head, scale);
        s += (int64_t)k * lds, q += (int64_t)k * ldq, m -= k;
    }
}
