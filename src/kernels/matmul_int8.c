/* matmul_int8.c - quantised weights times quantised activations.
 *
 *   y[t][r] = sum over blocks b of  float(sum_k w[r][k] x[t][k]) * (scale_w[r][b] * scale_x[t][b])
 *
 * The inner sum is an exact integer, formed for 16 rows x 1 token or for 8 (4) rows x 4 tokens with
 * 8 accumulators, each updated once per turn of a rolled loop; each int32 lane is a row
 * (GF_DOT_I16: half a row, joined once per block). */
#include "kernels/shared.h"
#include "kernels/simd.h"

/* ---- which products this machine can do ---------------------------------------------------- */

#if GF_RELAXED
static enum gf_dot dot_kind = GF_DOT_SPLIT;

static int32_t probe(int32_t a, int32_t b) {
    uint32_t four = 0x01010101u;
    v128 x = i4_splat((int32_t)((a & 255) * four)), w = i4_splat((int32_t)((b & 255) * four));
    return i4_first(i4_rdot(x, w, i4_splat(0)));
}
void gf_kernels_init(void) {
    /* volatile: the answer is this machine's, not the compiler's */
    volatile int32_t a[3] = {127, -128, 1}, b[3] = {255, 255, 128};
    int32_t p = probe(a[0], b[0]), q = probe(a[1], b[1]), r = probe(a[2], b[2]);
    if (p == 4 * 127 * 255 && q == 4 * -128 * 255 && r == 4 * 128)
        dot_kind = GF_DOT_UNSIGNED;
    else if (p == 4 * -127 && q == 4 * 128 && r == 4 * -128)
        dot_kind = GF_DOT_SIGNED;
    else
        dot_kind = GF_DOT_SPLIT;
}
enum gf_dot gf_dot_kind(void) { return dot_kind; }
const char *gf_kernels_name(void) {
    return dot_kind == GF_DOT_UNSIGNED ? "relaxed, unsigned dot"
           : dot_kind == GF_DOT_SIGNED ? "relaxed, signed dot"
                                       : "relaxed, split dot";
}
#else
void gf_kernels_init(void) {}
enum gf_dot gf_dot_kind(void) { return GF_DOT_I16; }
const char *gf_kernels_name(void) {
#if defined(__wasm_simd128__)
    return "simd128";
#else
    return "native";
#endif
}
#endif

int32_t gf_dot_flip(void) { return gf_dot_kind() == GF_DOT_UNSIGNED ? 0x80 : 0; }

/* ---- activations --------------------------------------------------------------------------- */

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
    int32_t bits = i4_top(top); /* as integers the magnitudes sort alike, with NaN above all */
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
    if (gf_dot_kind() == GF_DOT_I16) {
        GF_UNROLL
        for (int i = 0; i < 4; i++) v_store(t + 16 * i, h8_narrow(q[2 * i], q[2 * i + 1]));
        for (int j = 0; j < 8; j++) memcpy(dst + j * step, t + 8 * j, 8);
    } else {
        GF_UNROLL
        for (int i = 0; i < 8; i += 4)
            v_store(t + 4 * i,
                    b16_narrow(h8_narrow(q[i], q[i + 1]), h8_narrow(q[i + 2], q[i + 3])));
        for (int j = 0; j < 8; j++) memcpy(dst + j * step, t + 4 * j, 4);
    }
}

void gf_acts_fill(struct gf_acts *a, int32_t g, const float *x, int32_t ldx, int32_t n,
                  int32_t dtype) {
    int32_t blocks = a->cols / GF_QBLOCK, unit = gf_dot_kind() == GF_DOT_I16 ? 8 : 4;
    int32_t step = unit * a->lanes;
    int32_t start = dtype == GF_Q8_0 ? -gf_dot_flip() : dtype == GF_Q4_0 ? -8 : 0;
    int64_t group_bytes = (int64_t)a->cols / 4 * step;
    int split = gf_dot_kind() == GF_DOT_SPLIT && dtype == GF_Q8_0; /* nibbles need none */
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
            s = i4_add(i4_add(i4_add(q[0], q[1]), i4_add(q[2], q[3])),
                       i4_add(i4_add(q[4], q[5]), i4_add(q[6], q[7])));
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

/* ---- products ------------------------------------------------------------------------------ */

/* What a panel's product reads, moving on block by block. */
struct at {
    const char *w, *x, *minus;
    const float *ws, *xs, *sum;
    const int32_t *start;
};

#define LOW_NIBBLES i4_splat(0x0f0f0f0f)
#define HIGH(q)     v_and(h8_shr_u(q, 4), LOW_NIBBLES)
#define LOW(q)      v_and(q, LOW_NIBBLES)

/* f += float(s) * (scale_w * scale_x), and for q4_1 f += minimum_w * sum_x */
GF_INLINE v128 finish(v128 f, v128 s, int dtype, const float *ws, const float *xs,
                      const float *sum) {
    f = f4_add(f, f4_mul(f4_from_i4(s), f4_mul(v_load(ws), v_splat32(xs))));
    if (dtype == GF_Q4_1) f = f4_add(f, f4_mul(v_load(ws + GF_PANEL), v_splat32(sum)));
    return f;
}

/* 16 rows, 1 token */
GF_INLINE void panel_by_1(float *out, struct at a, int32_t blocks, int dtype, enum gf_dot dot) {
    v128 f[4] = {f4_splat(0), f4_splat(0), f4_splat(0), f4_splat(0)};
    int32_t w_scales = dtype == GF_Q4_1 ? 2 * GF_PANEL : GF_PANEL;
    GF_ROLLED
    for (; blocks > 0; blocks--) {
        v128 s[8];
        GF_UNROLL
        for (int j = 0; j < 8; j++) s[j] = i4_splat(0);
        if (dot == GF_DOT_I16) {
            if (dtype == GF_Q8_0) {
                GF_ROLLED
                for (const char *end = a.x + 64; a.x < end; a.x += 8, a.w += 64) {
                    v128 x = v_splat64(a.x);
                    GF_UNROLL
                    for (int j = 0; j < 8; j++)
                        s[j] = i4_add(s[j], i4_dot(h8_load8(a.w + 8 * j), x));
                }
            } else {
                GF_ROLLED
                for (const char *end = a.x + 64; a.x < end; a.x += 16, a.w += 64) {
                    v128 x = v_splat64(a.x), z = v_splat64(a.x + 8);
                    GF_UNROLL
                    for (int j = 0; j < 4; j++) {
                        v128 q = v_load(a.w + 16 * j), low = LOW(q), high = HIGH(q);
                        s[2 * j] = i4_add(s[2 * j], i4_dot(h8_low(low), x));
                        s[2 * j + 1] = i4_add(s[2 * j + 1], i4_dot(h8_high(low), x));
                        s[2 * j] = i4_add(s[2 * j], i4_dot(h8_low(high), z));
                        s[2 * j + 1] = i4_add(s[2 * j + 1], i4_dot(h8_high(high), z));
                    }
                }
            }
            GF_UNROLL
            for (int j = 0; j < 4; j++) s[j] = i4_pairs(s[2 * j], s[2 * j + 1]);
        }
#if GF_RELAXED
        else if (dtype == GF_Q8_0 && dot == GF_DOT_SPLIT) {
            GF_ROLLED
            for (const char *end = a.x + 32; a.x < end; a.x += 4, a.minus += 4, a.w += 64) {
                v128 x = v_splat32(a.x), z = v_splat32(a.minus);
                GF_UNROLL
                for (int j = 0; j < 4; j++) {
                    v128 w = v_load(a.w + 16 * j);
                    s[j] = i4_rdot(w, x, s[j]), s[4 + j] = i4_rdot(w, z, s[4 + j]);
                }
            }
            GF_UNROLL
            for (int j = 0; j < 4; j++) s[j] = i4_sub(s[j], s[4 + j]);
        } else if (dtype == GF_Q8_0) {
            GF_ROLLED
            for (const char *end = a.x + 32; a.x < end; a.x += 8, a.w += 128) {
                v128 x = v_splat32(a.x), z = v_splat32(a.x + 4);
                GF_UNROLL
                for (int j = 0; j < 4; j++) s[j] = i4_rdot(x, v_load(a.w + 16 * j), s[j]);
                GF_UNROLL
                for (int j = 4; j < 8; j++) s[j] = i4_rdot(z, v_load(a.w + 16 * j), s[j]);
            }
            GF_UNROLL
            for (int j = 0; j < 4; j++) s[j] = i4_add(s[j], s[4 + j]);
        } else { /* nibbles are 0..15: right on every machine */
            GF_ROLLED
            for (const char *end = a.x + 32; a.x < end; a.x += 8, a.w += 64) {
                v128 x = v_splat32(a.x), z = v_splat32(a.x + 4);
                GF_UNROLL
                for (int j = 0; j < 4; j++) {
                    v128 q = v_load(a.w + 16 * j);
                    s[j] = i4_rdot(x, LOW(q), s[j]), s[4 + j] = i4_rdot(z, HIGH(q), s[4 + j]);
                }
            }
            GF_UNROLL
            for (int j = 0; j < 4; j++) s[j] = i4_add(s[j], s[4 + j]);
        }
#endif
        v128 start = v_splat32(a.start++);
        GF_UNROLL
        for (int j = 0; j < 4; j++)
            f[j] = finish(f[j], i4_add(s[j], start), dtype, a.ws + 4 * j, a.xs, a.sum);
        a.ws += w_scales, a.xs++, a.sum++;
    }
    GF_UNROLL
    for (int j = 0; j < 4; j++) v_store(out + 4 * j, f[j]);
}

/* 8 rows from `row` on (4 where a row takes two sums), 4 tokens */
GF_INLINE void part_by_4(float *out, struct at a, int32_t row, int32_t blocks, int dtype,
                         enum gf_dot dot) {
    int vectors = dot == GF_DOT_I16 || (dot == GF_DOT_SPLIT && dtype == GF_Q8_0) ? 1 : 2;
    int32_t w_scales = dtype == GF_Q4_1 ? 2 * GF_PANEL : GF_PANEL;
    v128 f[8];
    GF_UNROLL
    for (int j = 0; j < 8; j++) f[j] = f4_splat(0);
    a.w += 4 * row, a.ws += row;
    GF_ROLLED
    for (; blocks > 0; blocks--) {
        v128 s[8]; /* [4 tokens][2] */
        GF_UNROLL
        for (int j = 0; j < 8; j++) s[j] = i4_splat(0);
        if (dot == GF_DOT_I16) {
            if (dtype == GF_Q8_0) {
                GF_ROLLED
                for (const char *end = a.x + 256; a.x < end; a.x += 32, a.w += 64) {
                    v128 w = h8_load8(a.w), v = h8_load8(a.w + 8);
                    GF_UNROLL
                    for (int t = 0; t < 4; t++) {
                        v128 x = v_splat64(a.x + 8 * t);
                        s[2 * t] = i4_add(s[2 * t], i4_dot(w, x));
                        s[2 * t + 1] = i4_add(s[2 * t + 1], i4_dot(v, x));
                    }
                }
            } else {
                GF_ROLLED
                for (const char *end = a.x + 256; a.x < end; a.x += 64, a.w += 64) {
                    v128 q = v_load(a.w), low = LOW(q), high = HIGH(q);
                    v128 w = h8_low(low), v = h8_high(low);
                    GF_UNROLL
                    for (int t = 0; t < 4; t++) {
                        v128 x = v_splat64(a.x + 8 * t);
                        s[2 * t] = i4_add(s[2 * t], i4_dot(w, x));
                        s[2 * t + 1] = i4_add(s[2 * t + 1], i4_dot(v, x));
                    }
                    w = h8_low(high), v = h8_high(high);
                    GF_UNROLL
                    for (int t = 0; t < 4; t++) {
                        v128 x = v_splat64(a.x + 32 + 8 * t);
                        s[2 * t] = i4_add(s[2 * t], i4_dot(w, x));
                        s[2 * t + 1] = i4_add(s[2 * t + 1], i4_dot(v, x));
                    }
                }
            }
            GF_UNROLL
            for (int t = 0; t < 4; t++) s[2 * t] = i4_pairs(s[2 * t], s[2 * t + 1]);
        }
#if GF_RELAXED
        else if (dtype == GF_Q8_0 && dot == GF_DOT_SPLIT) {
            GF_ROLLED
            for (const char *end = a.x + 128; a.x < end; a.x += 16, a.minus += 16, a.w += 64) {
                v128 w = v_load(a.w);
                GF_UNROLL
                for (int t = 0; t < 4; t++) {
                    s[2 * t] = i4_rdot(w, v_splat32(a.x + 4 * t), s[2 * t]);
                    s[2 * t + 1] = i4_rdot(w, v_splat32(a.minus + 4 * t), s[2 * t + 1]);
                }
            }
            GF_UNROLL
            for (int t = 0; t < 4; t++) s[2 * t] = i4_sub(s[2 * t], s[2 * t + 1]);
        } else if (dtype == GF_Q8_0) {
            GF_ROLLED
            for (const char *end = a.x + 128; a.x < end; a.x += 16, a.w += 64) {
                v128 w = v_load(a.w), v = v_load(a.w + 16);
                GF_UNROLL
                for (int t = 0; t < 4; t++) {
                    v128 x = v_splat32(a.x + 4 * t);
                    s[2 * t] = i4_rdot(x, w, s[2 * t]), s[2 * t + 1] = i4_rdot(x, v, s[2 * t + 1]);
                }
            }
        } else {
            GF_ROLLED
            for (const char *end = a.x + 128; a.x < end; a.x += 32, a.w += 64) {
                v128 q = v_load(a.w), p = v_load(a.w + 16), w = LOW(q), v = LOW(p);
                GF_UNROLL
                for (int t = 0; t < 4; t++) {
                    v128 x = v_splat32(a.x + 4 * t);
                    s[2 * t] = i4_rdot(x, w, s[2 * t]), s[2 * t + 1] = i4_rdot(x, v, s[2 * t + 1]);
                }
                w = HIGH(q), v = HIGH(p);
                GF_UNROLL
                for (int t = 0; t < 4; t++) {
                    v128 x = v_splat32(a.x + 16 + 4 * t);
                    s[2 * t] = i4_rdot(x, w, s[2 * t]), s[2 * t + 1] = i4_rdot(x, v, s[2 * t + 1]);
                }
            }
        }
#endif
        GF_UNROLL
        for (int t = 0; t < 4; t++) {
            v128 start = v_splat32(a.start + t);
            GF_UNROLL
            for (int v = 0; v < vectors; v++)
                f[2 * t + v] = finish(f[2 * t + v], i4_add(s[2 * t + v], start), dtype,
                                      a.ws + 4 * v, a.xs + t, a.sum + t);
        }
        a.ws += w_scales, a.xs += 4, a.sum += 4, a.start += 4;
    }
    GF_UNROLL
    for (int t = 0; t < 4; t++) {
        GF_UNROLL
        for (int v = 0; v < vectors; v++) v_store(out + t * GF_PANEL + row + 4 * v, f[2 * t + v]);
    }
}

GF_INLINE void panel(float *out, struct at a, int32_t blocks, int32_t lanes, int dtype,
                     enum gf_dot dot) {
    int rows = dot == GF_DOT_I16 || (dot == GF_DOT_SPLIT && dtype == GF_Q8_0) ? 4 : 8;
    if (lanes == 1)
        panel_by_1(out, a, blocks, dtype, dot);
    else
        for (int row = 0; row < GF_PANEL; row += rows) part_by_4(out, a, row, blocks, dtype, dot);
}

void gf_int8_panel(float *out, const struct gf_mat *w, int32_t p, const struct gf_acts *a,
                   int32_t g) {
    int32_t blocks = a->cols / GF_QBLOCK, lanes = a->lanes;
    int64_t panel_bytes = (int64_t)a->cols * (w->dtype == GF_Q8_0 ? GF_PANEL : GF_PANEL / 2);
    int64_t panel_scales = (int64_t)blocks * (w->dtype == GF_Q4_1 ? 2 * GF_PANEL : GF_PANEL);
    int64_t x = (int64_t)g * a->cols * lanes * (gf_dot_kind() == GF_DOT_I16 ? 2 : 1);
    int64_t s = (int64_t)g * blocks * lanes;
    struct at at = {(const char *)w->data + p * panel_bytes,
                    a->q + x,
                    a->minus + x,
                    w->scale + p * panel_scales,
                    a->scale + s,
                    a->sum + s,
                    a->start + s};
#if GF_RELAXED
    if (w->dtype == GF_Q4_0)
        panel(out, at, blocks, lanes, GF_Q4_0, GF_DOT_SIGNED);
    else if (w->dtype == GF_Q4_1)
        panel(out, at, blocks, lanes, GF_Q4_1, GF_DOT_SIGNED);
    else if (gf_dot_kind() == GF_DOT_SPLIT)
        panel(out, at, blocks, lanes, GF_Q8_0, GF_DOT_SPLIT);
    else
        panel(out, at, blocks, lanes, GF_Q8_0, GF_DOT_SIGNED);
#else
    if (w->dtype == GF_Q4_0)
        panel(out, at, blocks, lanes, GF_Q4_0, GF_DOT_I16);
    else if (w->dtype == GF_Q4_1)
        panel(out, at, blocks, lanes, GF_Q4_1, GF_DOT_I16);
    else
        panel(out, at, blocks, lanes, GF_Q8_0, GF_DOT_I16);
#endif
}
