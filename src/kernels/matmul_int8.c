/* matmul_int8.c - quantised weights times quantised activations.
 *
 *   y[t][r] = sum over blocks b of  float(sum_k w[r][k] x[t][k]) * (scale_w[r][b] * scale_x[t][b])
 *
 * The inner sum is an exact integer: 32 products of at most 128 * 127 stay below 2^19. It is formed for 16 rows x 1
 * token, or for 8 (4) rows x 4 tokens, in 8 int32 accumulators that each take one update per iteration of a rolled
 * loop. A lane is a row; for GF_DOT_I16 it is half a row, and two lanes are added once per block. */
#include "kernels/shared.h"
#include "kernels/simd.h"

/* ---- activations ------------------------------------------------------------------------------------------------- */

static void *take(char **at, uint64_t bytes) {
    void *p = *at;
    *at += (bytes + 63) & ~(uint64_t)63;
    return p;
}

void gf_acts_bind(struct gf_acts *a, int32_t n, int32_t cols, void *scratch) {
    char *at = scratch;
    a->lanes = n == 1 ? 1 : 4, a->groups = (n + a->lanes - 1) / a->lanes, a->cols = cols;
    uint64_t tokens = (uint64_t)a->lanes * (uint64_t)a->groups, blocks = (uint64_t)cols / GF_QBLOCK;
    a->q = take(&at, tokens * (uint64_t)cols * (gf_dot_kind() == GF_DOT_I16 ? 2 : 1));
    a->minus = gf_dot_kind() == GF_DOT_SPLIT ? take(&at, tokens * (uint64_t)cols) : a->q;
    a->scale = take(&at, tokens * blocks * 4);
    a->sum = take(&at, tokens * blocks * 4);
    a->start = take(&at, tokens * blocks * 4);
}

/* 32 floats to integers -127..127 in 8 vectors: x / scale to the nearest, scale = max|x| / 127.
 * A block with an infinity or a NaN gets scale NaN, so that it is not lost. */
static float quantize_block(v128 q[8], const float *x) {
    v128 top = i4_splat(0);
    GF_UNROLL
    for (int i = 0; i < 8; i++) q[i] = v_load(x + 4 * i), top = i4_max(top, f4_abs(q[i]));
    int32_t bits = i4_max_lane(top); /* as integers the magnitudes sort alike, with NaN above all */
    float amax;
    memcpy(&amax, &bits, 4);
    float scale = amax / 127.0f, inverse = scale < 0x1p-126f ? 0 : 1.0f / scale;
    if (bits >= 0x7f800000) scale = amax - amax, inverse = 0;
    if (inverse == 0) {
        GF_UNROLL
        for (int i = 0; i < 8; i++) q[i] = i4_splat(0);
        return bits >= 0x7f800000 ? scale : 0;
    }
    v128 k = f4_splat(inverse);
    GF_UNROLL
    for (int i = 0; i < 8; i++) q[i] = i4_nearest(f4_mul(q[i], k));
    return scale;
}

/* 8 vectors of small integers to columns 4j .. 4j+3 at dst + j * step. */
static void store_columns(char *dst, int32_t step, const v128 q[8]) {
    char t[64];
    int unit = gf_dot_kind() == GF_DOT_I16 ? 8 : 4;
    char *to = step == unit ? dst : t; /* one token: side by side */
    if (unit == 8) {
        GF_UNROLL
        for (int i = 0; i < 4; i++) v_store(to + 16 * i, h8_narrow(q[2 * i], q[2 * i + 1]));
        for (int j = 0; to == t && j < 8; j++) memcpy(dst + j * step, t + 8 * j, 8);
    } else {
        GF_UNROLL
        for (int i = 0; i < 8; i += 4)
            v_store(to + 4 * i, b16_narrow(h8_narrow(q[i], q[i + 1]), h8_narrow(q[i + 2], q[i + 3])));
        for (int j = 0; to == t && j < 8; j++) memcpy(dst + j * step, t + 4 * j, 4);
    }
}

void gf_acts_fill(struct gf_acts *a, int32_t g, const float *x, int32_t ldx, int32_t n, int32_t dtype) {
    int32_t blocks = a->cols / GF_QBLOCK, unit = gf_dot_kind() == GF_DOT_I16 ? 8 : 4;
    int32_t step = unit * a->lanes;
    int32_t start = -(gf_dtypes[dtype].bits == 8 ? gf_dot_flip() : gf_dtypes[dtype].zero);
    int64_t group_bytes = (int64_t)a->cols / 4 * step;
    int split = gf_dot_kind() == GF_DOT_SPLIT && gf_dtypes[dtype].bits == 8; /* nibbles need none */
    for (int32_t t = 0; t < a->lanes; t++) {
        int32_t row = g * a->lanes + t;
        const float *xr = x + (int64_t)row * ldx;
        int64_t at = (int64_t)g * blocks * a->lanes + t;
        for (int32_t b = 0; b < blocks; b++, at += a->lanes) {
            v128 q[8], s;
            float scale = 0;
            GF_UNROLL
            for (int i = 0; i < 8; i++) q[i] = i4_splat(0);
            if (row < n) scale = quantize_block(q, xr + b * GF_QBLOCK);
            s = i4_add(i4_add(i4_add(q[0], q[1]), i4_add(q[2], q[3])), i4_add(i4_add(q[4], q[5]), i4_add(q[6], q[7])));
            int32_t sum = i4_sum(s);
            a->scale[at] = scale, a->start[at] = start * sum, a->sum[at] = scale * (float)sum;
            char *to = a->q + g * group_bytes + (int64_t)b * 8 * step + t * unit;
            if (split) {
                v128 minus[8];
                GF_UNROLL
                for (int i = 0; i < 8; i++) {
                    v128 plus = i4_max(q[i], i4_splat(0));
                    minus[i] = i4_sub(plus, q[i]), q[i] = plus;
                }
                store_columns(a->minus + (to - a->q), step, minus);
            }
            store_columns(to, step, q);
        }
    }
}

/* ---- products, one token ----------------------------------------------------------------------------------------- */

/* What a panel's product reads, moving on block by block. */
struct at {
    const char *w, *x, *minus;
    const float *ws, *xs, *sum;
    const int32_t *start;
};

/* f += float(s) * (scale_w * scale_x), and for q4_1 f += minimum_w * sum_x */
GF_INLINE v128 finish(v128 f, v128 s, int dtype, const float *ws, const float *xs, const float *sum) {
    f = f4_add(f, f4_mul(f4_from_i4(s), f4_mul(v_load(ws), v_splat32(xs))));
    if (gf_dtypes[dtype].has_minimum) f = f4_add(f, f4_mul(v_load(ws + GF_PANEL), v_splat32(sum)));
    return f;
}

/* s [8] = 16 rows of a block times x in two parts, which are to be added (subtracted for split q8);
 * for GF_DOT_I16 halves of rows, which are to be paired. */
GF_INLINE void block_by_1(v128 s[8], struct at *at, int dtype, enum gf_dot dot) {
    const char *w = at->w, *x = at->x, *minus = at->minus;
    v128 low = I4(0x0f0f0f0f);
    GF_UNROLL
    for (int j = 0; j < 8; j++) s[j] = i4_splat(0);
    if (dot == GF_DOT_I16 && gf_dtypes[dtype].bits == 8) {
        GF_ROLLED
        for (const char *end = x + 64; x < end; x += 8, w += 64) {
            v128 k = v_splat64(x);
            GF_UNROLL
            for (int j = 0; j < 8; j++) s[j] = i4_add(s[j], i4_dot(h8_load8(w + 8 * j), k));
        }
    } else if (dot == GF_DOT_I16) {
        GF_ROLLED
        for (const char *end = x + 64; x < end; x += 16, w += 64) {
            v128 k = v_splat64(x), l = v_splat64(x + 8);
            GF_UNROLL
            for (int j = 0; j < 4; j++) {
                v128 q = v_load(w + 16 * j), a = v_and(q, low), b = v_and(h8_shr_u(q, 4), low);
                v128 first = i4_add(i4_dot(h8_low(a), k), i4_dot(h8_low(b), l));
                v128 second = i4_add(i4_dot(h8_high(a), k), i4_dot(h8_high(b), l));
                s[2 * j] = i4_add(s[2 * j], first);
                s[2 * j + 1] = i4_add(s[2 * j + 1], second);
            }
        }
    }
#if GF_RELAXED
    else if (gf_dtypes[dtype].bits == 8 && dot == GF_DOT_SPLIT) {
        GF_ROLLED
        for (const char *end = x + 32; x < end; x += 4, minus += 4, w += 64) {
            v128 k = v_splat32(x), l = v_splat32(minus);
            GF_UNROLL
            for (int j = 0; j < 4; j++) {
                v128 q = v_load(w + 16 * j);
                s[j] = i4_rdot(q, k, s[j]), s[4 + j] = i4_rdot(q, l, s[4 + j]);
            }
        }
    } else if (gf_dtypes[dtype].bits == 8) {
        GF_ROLLED
        for (const char *end = x + 32; x < end; x += 8, w += 128) {
            v128 k = v_splat32(x), l = v_splat32(x + 4);
            GF_UNROLL
            for (int j = 0; j < 4; j++) s[j] = i4_rdot(k, v_load(w + 16 * j), s[j]);
            GF_UNROLL
            for (int j = 4; j < 8; j++) s[j] = i4_rdot(l, v_load(w + 16 * j), s[j]);
        }
    } else if (dot == GF_DOT_UNSIGNED) { /* high nibbles in place count 16-fold: no shift */
        v128 high = I4(0xf0f0f0f0u);
        GF_ROLLED
        for (const char *end = x + 32; x < end; x += 8, w += 64) {
            v128 k = v_splat32(x), l = v_splat32(x + 4);
            GF_UNROLL
            for (int j = 0; j < 4; j++) {
                v128 q = v_load(w + 16 * j);
                s[j] = i4_rdot(k, v_and(q, low), s[j]);
                s[4 + j] = i4_rdot(l, v_and(q, high), s[4 + j]);
            }
        }
        GF_UNROLL
        for (int j = 4; j < 8; j++) s[j] = i4_shr(s[j], 4);
    } else {
        GF_ROLLED
        for (const char *end = x + 32; x < end; x += 8, w += 64) {
            v128 k = v_splat32(x), l = v_splat32(x + 4);
            GF_UNROLL
            for (int j = 0; j < 4; j++) {
                v128 q = v_load(w + 16 * j);
                s[j] = i4_rdot(k, v_and(q, low), s[j]);
                s[4 + j] = i4_rdot(l, v_and(h8_shr_u(q, 4), low), s[4 + j]);
            }
        }
    }
#endif
    at->w = w, at->x = x, at->minus = minus;
}

/* out [16] = 16 rows times 1 token */
GF_INLINE void panel_by_1(float *out, struct at at, int32_t blocks, int dtype, enum gf_dot dot) {
    v128 f[4] = {f4_splat(0), f4_splat(0), f4_splat(0), f4_splat(0)};
    GF_ROLLED
    for (; blocks > 0; blocks--) {
        v128 s[8], start = v_splat32(at.start++);
        block_by_1(s, &at, dtype, dot);
        GF_UNROLL
        for (int j = 0; j < 4; j++) {
            v128 t = dot == GF_DOT_I16                                   ? i4_add_pairs(s[2 * j], s[2 * j + 1])
                     : dot == GF_DOT_SPLIT && gf_dtypes[dtype].bits == 8 ? i4_sub(s[j], s[4 + j])
                                                                         : i4_add(s[j], s[4 + j]);
            f[j] = finish(f[j], i4_add(t, start), dtype, at.ws + 4 * j, at.xs, at.sum);
        }
        at.ws += gf_dtypes[dtype].has_minimum ? 2 * GF_PANEL : GF_PANEL, at.xs++, at.sum++;
    }
    GF_UNROLL
    for (int j = 0; j < 4; j++) v_store(out + 4 * j, f[j]);
}

/* ---- products, four tokens at a time ----------------------------------------------------------------------------- */

/* Weights are first unpacked into what the products read, [cols/4][16 rows][4] bytes, or int16 for
 * GF_DOT_I16: 64 tokens share the work. q8_0 bytes for i4_rdot are that already. */
#define CHUNK 8 /* blocks unpacked at a time: 4 or 8 KB on the stack */

GF_INLINE void store_wide(char *to, v128 bytes) { /* 16 int8 as int16 */
    v_store(to, h8_low(bytes)), v_store(to + 16, h8_high(bytes));
}

static void unpack(char *to, const char *w, int dtype, int32_t blocks) {
    v128 low = I4(0x0f0f0f0f);
    if (gf_dtypes[dtype].bits == 8) {
        for (int32_t i = 0; i < blocks * 512; i += 16, w += 16, to += 32) store_wide(to, v_load(w));
        return;
    }
    int wide = gf_dot_kind() == GF_DOT_I16 ? 2 : 1;
    for (int32_t i = 0; i < blocks * 4; i++, to += 128 * wide) /* 8 columns */
        for (int j = 0; j < 4; j++, w += 16) {
            v128 q = v_load(w), a = v_and(q, low), b = v_and(h8_shr_u(q, 4), low);
            if (wide == 2)
                store_wide(to + 32 * j, a), store_wide(to + 128 + 32 * j, b);
            else
                v_store(to + 16 * j, a), v_store(to + 64 + 16 * j, b);
        }
}

/* sums [4][16], from `row` on 8 rows (4 where a row takes two accumulators), += `blocks` blocks */
GF_INLINE void part_by_4(float *sums, struct at at, int row, int32_t blocks, int dtype, enum gf_dot dot) {
    int vectors = dot == GF_DOT_I16 || dot == GF_DOT_SPLIT ? 1 : 2;
    int32_t w_scales = gf_dtypes[dtype].has_minimum ? 2 * GF_PANEL : GF_PANEL;
    const char *w = at.w + row * (dot == GF_DOT_I16 ? 8 : 4), *x = at.x, *minus = at.minus;
    v128 f[8];
    (void)minus;
    sums += row, at.ws += row;
    GF_UNROLL
    for (int t = 0; t < 4; t++) {
        GF_UNROLL
        for (int v = 0; v < vectors; v++) f[2 * t + v] = v_load(sums + t * GF_PANEL + 4 * v);
    }
    GF_ROLLED
    for (; blocks > 0; blocks--) {
        v128 s[8]; /* [4 tokens][2] */
        GF_UNROLL
        for (int j = 0; j < 8; j++) s[j] = i4_splat(0);
        if (dot == GF_DOT_I16) {
            GF_ROLLED
            for (const char *end = x + 256; x < end; x += 32, w += 128) {
                v128 u = v_load(w), v = v_load(w + 16);
                GF_UNROLL
                for (int t = 0; t < 4; t++) {
                    v128 k = v_splat64(x + 8 * t);
                    s[2 * t] = i4_add(s[2 * t], i4_dot(u, k));
                    s[2 * t + 1] = i4_add(s[2 * t + 1], i4_dot(v, k));
                }
            }
            GF_UNROLL
            for (int t = 0; t < 4; t++) s[2 * t] = i4_add_pairs(s[2 * t], s[2 * t + 1]);
        }
#if GF_RELAXED
        else if (dot == GF_DOT_SPLIT) {
            GF_ROLLED
            for (const char *end = x + 128; x < end; x += 16, minus += 16, w += 64) {
                v128 u = v_load(w);
                GF_UNROLL
                for (int t = 0; t < 4; t++) {
                    s[2 * t] = i4_rdot(u, v_splat32(x + 4 * t), s[2 * t]);
                    s[2 * t + 1] = i4_rdot(u, v_splat32(minus + 4 * t), s[2 * t + 1]);
                }
            }
            GF_UNROLL
            for (int t = 0; t < 4; t++) s[2 * t] = i4_sub(s[2 * t], s[2 * t + 1]);
        } else {
            GF_ROLLED
            for (const char *end = x + 128; x < end; x += 16, w += 64) {
                v128 u = v_load(w), v = v_load(w + 16);
                GF_UNROLL
                for (int t = 0; t < 4; t++) {
                    v128 k = v_splat32(x + 4 * t);
                    s[2 * t] = i4_rdot(k, u, s[2 * t]), s[2 * t + 1] = i4_rdot(k, v, s[2 * t + 1]);
                }
            }
        }
#endif
        GF_UNROLL
        for (int t = 0; t < 4; t++) {
            v128 start = v_splat32(at.start + t);
            GF_UNROLL
            for (int v = 0; v < vectors; v++)
                f[2 * t + v] =
                    finish(f[2 * t + v], i4_add(s[2 * t + v], start), dtype, at.ws + 4 * v, at.xs + t, at.sum + t);
        }
        at.ws += w_scales, at.xs += 4, at.sum += 4, at.start += 4;
    }
    GF_UNROLL
    for (int t = 0; t < 4; t++) {
        GF_UNROLL
        for (int v = 0; v < vectors; v++) v_store(sums + t * GF_PANEL + 4 * v, f[2 * t + v]);
    }
}

/* sums [groups * 4][16] = a panel times groups of 4 tokens, the first of them at `first` */
GF_INLINE void panel_by_4(float *sums, struct at first, const struct gf_acts *a, int32_t groups, int dtype,
                          enum gf_dot dot) {
    char unpacked[CHUNK * 512 * 2];
    int32_t blocks = a->cols / GF_QBLOCK, rows = dot == GF_DOT_I16 || dot == GF_DOT_SPLIT ? 4 : 8;
    int straight = dot != GF_DOT_I16 && gf_dtypes[dtype].bits == 8;
    int32_t chunk = straight ? blocks : CHUNK, x_bytes = dot == GF_DOT_I16 ? 256 : 128;
    int32_t w_bytes = gf_dtypes[dtype].bits == 8 ? 512 : 256, w_scales = gf_dtypes[dtype].has_minimum ? 32 : 16;
    memset(sums, 0, sizeof *sums * 4 * GF_PANEL * (size_t)groups);
    for (int32_t b = 0; b < blocks; b += chunk) {
        int32_t n = blocks - b < chunk ? blocks - b : chunk;
        struct at at = first;
        at.w += (int64_t)b * w_bytes, at.ws += (int64_t)b * w_scales;
        at.x += (int64_t)b * x_bytes, at.minus += (int64_t)b * x_bytes;
        at.xs += 4 * b, at.sum += 4 * b, at.start += 4 * b;
        if (!straight) unpack(unpacked, at.w, dtype, n), at.w = unpacked;
        for (int32_t g = 0; g < groups; g++) {
            for (int32_t row = 0; row < GF_PANEL; row += rows)
                part_by_4(sums + g * 4 * GF_PANEL, at, row, n, dtype, dot);
            at.x += (int64_t)blocks * x_bytes, at.minus += (int64_t)blocks * x_bytes;
            at.xs += 4 * blocks, at.sum += 4 * blocks, at.start += 4 * blocks;
        }
    }
}

/* Names the cases that have code of their own: split and unsigned differ from signed in one place
 * each. */
GF_INLINE void panel(float *out, struct at at, const struct gf_acts *a, int32_t groups, int dtype, enum gf_dot dot) {
    int32_t blocks = a->cols / GF_QBLOCK;
    enum gf_dot bytes = dot == GF_DOT_UNSIGNED ? GF_DOT_SIGNED : dot; /* start says the rest */
    enum gf_dot nibbles = dot == GF_DOT_SPLIT ? GF_DOT_SIGNED : dot;  /* 0..127 for all */
    enum gf_dot unpacked = nibbles == GF_DOT_UNSIGNED ? GF_DOT_SIGNED : nibbles;
    if (a->lanes == 1) {
        if (dtype == GF_Q8_0)
            panel_by_1(out, at, blocks, GF_Q8_0, bytes);
        else if (dtype == GF_Q4_0)
            panel_by_1(out, at, blocks, GF_Q4_0, nibbles);
        else
            panel_by_1(out, at, blocks, GF_Q4_1, nibbles);
    } else if (dtype == GF_Q8_0)
        panel_by_4(out, at, a, groups, GF_Q8_0, bytes);
    else if (dtype == GF_Q4_0)
        panel_by_4(out, at, a, groups, GF_Q4_0, unpacked);
    else
        panel_by_4(out, at, a, groups, GF_Q4_1, unpacked);
}

void gf_int8_panel(float *out, const struct gf_mat *w, int32_t p, const struct gf_acts *a, int32_t g, int32_t groups) {
    int32_t blocks = a->cols / GF_QBLOCK, lanes = a->lanes, dtype = w->dtype;
    enum gf_dot dot = gf_dot_kind();
    int64_t x = (int64_t)g * a->cols * lanes * (dot == GF_DOT_I16 ? 2 : 1);
    int64_t s = (int64_t)g * blocks * lanes;
    int64_t panel_bytes = (int64_t)a->cols * (gf_dtypes[dtype].bits == 8 ? GF_PANEL : GF_PANEL / 2);
    int64_t panel_scales = (int64_t)blocks * (gf_dtypes[dtype].has_minimum ? 2 * GF_PANEL : GF_PANEL);
    struct at at = {.w = (const char *)w->data + p * panel_bytes,
                    .x = a->q + x,
                    .minus = a->minus + x,
                    .ws = w->scale + p * panel_scales,
                    .xs = a->scale + s,
                    .sum = a->sum + s,
                    .start = a->start + s};
    if (dot == GF_DOT_I16) panel(out, at, a, groups, dtype, GF_DOT_I16);
#if GF_RELAXED
    else if (dot == GF_DOT_SPLIT)
        panel(out, at, a, groups, dtype, GF_DOT_SPLIT);
    else if (dot == GF_DOT_SIGNED)
        panel(out, at, a, groups, dtype, GF_DOT_SIGNED);
    else
        panel(out, at, a, groups, dtype, GF_DOT_UNSIGNED);
#endif
}
