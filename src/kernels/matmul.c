/* matmul.c - gf_matmul, y = x W^T + b: the products of float weights, and the division of all products into tiles for
 * threads. Products of quantised weights: matmul_int8.c.
 *
 * A tile is a few panels of W times all tokens; its result does not depend on the thread. A SIMD lane is a row of W,
 * and a float sum adds columns 0, 1, 2, ... in that order, so 1 token and 4 tokens give the same bits. */
#include "kernels/shared.h" /* gf_acts_*, gf_int8_panel */
#include "base/pool.h"
#include "kernels/simd.h"

#define CHUNK  256 /* columns of a panel that are unpacked to float at a time: 16 KB on the stack */
#define TOKENS 64  /* tokens that share one unpacked chunk: 4 KB of sums on the stack */

struct job {
    float *y;
    const float *x, *b;
    int32_t ldy, n, tile_panels, panels;
    const struct gf_mat *w;
    struct gf_acts acts; /* quantised types */
    const float *scaled; /* f16, one token: x times 2^112; NULL if that would overflow */
    float *grouped;      /* float types, more tokens: [cols][4] of each four tokens, [cols][2] and [cols] of the rest */
};

/* Store the sums of panel p, [n][16], for n tokens from `token` on: y = sums + b, without the panel's padding rows. */
static void store_sums(const struct job *j, int32_t p, int32_t token, const float *sums, int32_t n) {
    int32_t row = p * GF_PANEL;
    int32_t rows = j->w->rows - row < GF_PANEL ? j->w->rows - row : GF_PANEL;
    float *y = j->y + (int64_t)token * j->ldy + row;
    const float *b = j->b ? j->b + row : NULL;
    for (int32_t t = 0; t < n; t++, y += j->ldy, sums += GF_PANEL) {
        int32_t r = 0;
        for (; r + 4 <= rows; r += 4) {
            v128 s = v_load(sums + r);
            v_store(y + r, b ? f4_add(s, v_load(b + r)) : s);
        }
        if (r < rows) {
            v128 s = v_load(sums + r);
            v_store_first(y + r, b ? f4_add(s, v_load_first(b + r, rows - r)) : s, rows - r);
        }
    }
}

/* ---- float, one token -------------------------------------------------------------------------------------------- */

/* s += a column of a panel, 16 weights at w, times x */
GF_INLINE void add_column(v128 s[4], const char *w, const float *x, enum form form) {
    v128 k = v_splat32(x);
    GF_UNROLL
    for (int i = 0; i < 4; i += 2) {
        v128 u[2];
        load_form_8(u, w + (form == F32 ? 16 : 8) * i, form);
        s[i] = f4_add(s[i], f4_mul(u[0], k)), s[i + 1] = f4_add(s[i + 1], f4_mul(u[1], k));
    }
}

/* out [16] = a panel times x. One panel at a time, so that memory is read in one direction: with a second panel beside
 * it, weights of 16 bits that no cache holds are read at half the speed where a panel has 640 columns. */
GF_INLINE void panel_by_1(float *out, const char *w, const float *x, int32_t cols, enum form form) {
    int bytes = GF_PANEL * (form == F32 ? 4 : 2);
    v128 s[4] = {f4_splat(0), f4_splat(0), f4_splat(0), f4_splat(0)};
    GF_ROLLED
    for (; cols >= 2; cols -= 2, x += 2, w += 2 * bytes) {
        add_column(s, w, x, form);
        add_column(s, w + bytes, x + 1, form);
    }
    if (cols) add_column(s, w, x, form);
    merge_8(s, form), merge_8(s + 2, form);
    GF_UNROLL
    for (int i = 0; i < 4; i++) v_store(out + 4 * i, s[i]);
}

static void float_by_1(const struct job *j, int32_t p) {
    const struct gf_mat *w = j->w;
    const char *data = (const char *)w->data + (int64_t)p * w->cols * GF_PANEL * (w->dtype == GF_F32 ? 4 : 2);
    float out[GF_PANEL];
    if (w->dtype == GF_F32)
        panel_by_1(out, data, j->x, w->cols, F32);
    else if (w->dtype == GF_BF16)
        panel_by_1(out, data, j->x, w->cols, BF16);
    else if (j->scaled)
        panel_by_1(out, data, j->scaled, w->cols, F16_LOW);
    else
        panel_by_1(out, data, j->x, w->cols, F16);
    store_sums(j, p, 0, out, 1);
}

/* ---- float, many tokens ------------------------------------------------------------------------------------------ */

/* Columns c .. c + k of panel p, of 16 bits, as [k][16] floats at dst. */
static void unpack(float *dst, const struct gf_mat *w, int32_t p, int32_t c, int32_t k) {
    const char *from = (const char *)w->data + ((int64_t)p * w->cols + c) * GF_PANEL * 2;
    for (int32_t i = 0; i < k * GF_PANEL; i += 4)
        v_store(dst + i, w->dtype == GF_F16 ? f4_load_f16(from + 2 * i) : f4_load_bf16(from + 2 * i));
}

/* The 4 tokens from `token` on, or those that are left: x by columns. */
static void group(void *ctx, int32_t index) {
    const struct job *j = ctx;
    const int32_t cols = j->w->cols, token = 4 * index, left = j->n - token;
    const float *a = j->x + (int64_t)token * cols, *b = a + cols, *c = b + cols, *d = c + cols;
    float *to = j->grouped + (int64_t)token * cols;
    int32_t i = 0;
    for (; left >= 4 && i + 4 <= cols; i += 4, to += 16) {
        v128 p = v_load(a + i), q = v_load(b + i), r = v_load(c + i), s = v_load(d + i);
        v128 u = v_zip_low(p, q), v = v_zip_low(r, s), w = v_zip_high(p, q), z = v_zip_high(r, s);
        v_store(to, V_SHUFFLE32(u, v, 0, 1, 4, 5)), v_store(to + 4, V_SHUFFLE32(u, v, 2, 3, 6, 7));
        v_store(to + 8, V_SHUFFLE32(w, z, 0, 1, 4, 5)), v_store(to + 12, V_SHUFFLE32(w, z, 2, 3, 6, 7));
    }
    for (; left >= 4 && i < cols; i++, to += 4) to[0] = a[i], to[1] = b[i], to[2] = c[i], to[3] = d[i];
    for (; left >= 2 && i < cols; i++, to += 2) to[0] = a[i], to[1] = b[i];
    if (left < 4 && left & 1) memcpy(to, left == 3 ? c : a, (size_t)cols * sizeof *to);
}

/* sums [tokens][16] += columns 0 .. k - 1 of w [k][16] times x [k][tokens], for `vectors` vectors of 4 rows from `row`
 * on. tokens * vectors <= 8 accumulators stay in registers over all columns: a column costs `vectors` loads of weights,
 * `tokens` broadcasts of x and tokens * vectors products. 4 tokens x 2 vectors read 6 values for 8 products; 1 token x
 * 4 vectors read 5 for 4. */
GF_INLINE void add_columns(float *sums, const float *w, const float *x, int32_t k, int tokens, int vectors, int row) {
    v128 s[8];
    w += row, sums += row;
    GF_UNROLL
    for (int i = 0; i < tokens * vectors; i++) s[i] = v_load(sums + i / vectors * GF_PANEL + i % vectors * 4);
    GF_ROLLED
    for (const float *end = x + (int64_t)k * tokens; x < end; x += tokens, w += GF_PANEL) {
        v128 u[4];
        GF_UNROLL
        for (int v = 0; v < vectors; v++) u[v] = v_load(w + 4 * v);
        GF_UNROLL
        for (int t = 0; t < tokens; t++) {
            v128 a = v_splat32(x + t);
            GF_UNROLL
            for (int v = 0; v < vectors; v++) s[t * vectors + v] = f4_add(s[t * vectors + v], f4_mul(u[v], a));
        }
    }
    GF_UNROLL
    for (int i = 0; i < tokens * vectors; i++) v_store(sums + i / vectors * GF_PANEL + i % vectors * 4, s[i]);
}

static void float_by_many(const struct job *j, int32_t p) {
    const struct gf_mat *w = j->w;
    float sums[TOKENS * GF_PANEL], unpacked[CHUNK * GF_PANEL];
    for (int32_t t0 = 0; t0 < j->n; t0 += TOKENS) {
        int32_t n = j->n - t0 < TOKENS ? j->n - t0 : TOKENS;
        memset(sums, 0, sizeof *sums * GF_PANEL * (size_t)n);
        for (int32_t c = 0; c < w->cols; c += CHUNK) {
            int32_t k = w->cols - c < CHUNK ? w->cols - c : CHUNK, t = 0;
            const float *panel = unpacked, *x = j->grouped + (int64_t)t0 * w->cols;
            if (w->dtype == GF_F32)
                panel = (const float *)w->data + ((int64_t)p * w->cols + c) * GF_PANEL;
            else
                unpack(unpacked, w, p, c, k);
            for (; t + 4 <= n; t += 4, x += 4 * w->cols) {
                add_columns(sums + t * GF_PANEL, panel, x + 4 * c, k, 4, 2, 0);
                add_columns(sums + t * GF_PANEL, panel, x + 4 * c, k, 4, 2, 8);
            }
            if (t + 2 <= n) {
                add_columns(sums + t * GF_PANEL, panel, x + 2 * c, k, 2, 4, 0);
                t += 2, x += 2 * w->cols;
            }
            if (t < n) add_columns(sums + t * GF_PANEL, panel, x + c, k, 1, 4, 0);
        }
        store_sums(j, p, t0, sums, n);
    }
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

static void tile(void *ctx, int32_t index) {
    const struct job *j = ctx;
    int32_t p = index * j->tile_panels, end = p + j->tile_panels;
    if (end > j->panels) end = j->panels;
    if (gf_dtype_is_quantized(j->w->dtype)) {
        float sums[TOKENS * GF_PANEL];
        int32_t lanes = j->acts.lanes, max_groups = lanes == 1 ? 1 : TOKENS / lanes;
        for (; p < end; p++)
            for (int32_t g = 0; g < j->acts.groups; g += max_groups) {
                int32_t groups = j->acts.groups - g < max_groups ? j->acts.groups - g : max_groups;
                int32_t left = j->n - g * lanes;
                gf_int8_panel(sums, j->w, p, &j->acts, g, groups);
                store_sums(j, p, g * lanes, sums, left < groups * lanes ? left : groups * lanes);
            }
    } else if (j->n == 1)
        for (; p < end; p++) float_by_1(j, p);
    else
        for (; p < end; p++) float_by_many(j, p);
}

static void fill(void *ctx, int32_t group) {
    struct job *j = ctx;
    gf_acts_fill(&j->acts, group, j->x, j->n, j->w->dtype);
}

int gf_scale_up(float *to, const float *x, int32_t ldx, int32_t m, int32_t n) {
    v128 top = i32x4_splat(0), k = f4_splat(0x1p112f);
    for (int32_t t = 0; t < m; t++, x += ldx, to += n) {
        int32_t i = 0;
        for (; i + 4 <= n; i += 4) {
            v128 v = v_load(x + i);
            top = i32x4_max(top, f4_abs(v)), v_store(to + i, f4_mul(v, k));
        }
        if (i < n) {
            v128 v = v_load_first(x + i, n - i);
            top = i32x4_max(top, f4_abs(v)), v_store_first(to + i, f4_mul(v, k), n - i);
        }
    }
    return i32x4_max_lane(top) < 0x47800000; /* 2^16 */
}

uint64_t gf_matmul_scratch(int32_t n, int32_t cols) {
    uint64_t tokens = n <= 1 ? 1 : ((uint64_t)n + 3) / 4 * 4;
    return (tokens * (uint64_t)cols * 4 + 512 + 63) & ~(uint64_t)63;
}

/* y = the product with one part of W; rows: of all parts. */
static void multiply(float *y, int32_t rows, const float *x, const struct gf_mat *w, const float *b, int32_t n,
                     void *scratch, struct gf_pool *pool) {
    struct job j = {.y = y, .x = x, .b = b, .ldy = rows, .n = n, .w = w};
    if (n <= 0 || w->rows <= 0) return;
    j.panels = (w->rows + GF_PANEL - 1) / GF_PANEL;
    if (gf_dtype_is_quantized(w->dtype)) {
        j.acts = gf_acts_for(w, n, scratch);
        gf_pool_run(n > 32 ? pool : NULL, fill, &j, j.acts.groups);
    } else if (n > 1) {
        j.grouped = scratch;
        gf_pool_run(n > 32 ? pool : NULL, group, &j, (n + 3) / 4);
    } else if (w->dtype == GF_F16 && gf_scale_up(scratch, x, 0, 1, w->cols))
        j.scaled = scratch;
    /* Tiles of about 24k products of weight and token, a microsecond or less: long against claiming
     * one, short enough to share out a small matrix. */
    int64_t work = (int64_t)w->cols * GF_PANEL * n, panels = 24576 / (work ? work : 1);
    j.tile_panels = panels < 2 ? 1 : panels > j.panels ? j.panels : (int32_t)panels;
    gf_pool_run(pool, tile, &j, (j.panels + j.tile_panels - 1) / j.tile_panels);
}

void gf_matmul(float *y, const float *x, const struct gf_mat *w, const float *b, int32_t n, void *scratch,
               struct gf_pool *pool) {
    const int32_t rows = gf_mat_rows(w);
    for (int32_t row = 0; w; row += w->rows, w = w->next)
        multiply(y + row, rows, x, w, b ? b + row : NULL, n, scratch, pool);
}
