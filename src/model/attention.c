/* attention.c - multi-head attention: self and cross, causal and not, grouped queries, sliding
 * window.
 *
 *   q, k, v = x Wq, x Wk, x Wv;  scores = q k^T / sqrt(d_head), masked;  pattern = softmax(scores)
 *   z = pattern v;  out = z Wo
 *
 * Sources: Vaswani 2017 section 3.2; grouped queries, Ainslie et al. 2023; sliding window, Jiang et
 * al. 2023 (query i sees keys i - window + 1 .. i); q and k norms, Qwen3. Rotation happens after
 * projection and before the cache. */
#include "model/attention.h"
#include "base/pool.h"
#include "kernels/kernels.h" /* gf_rope, gf_attn_scores, gf_softmax, gf_attn_mix */
#include "kernels/wide.h"    /* gf_softmax_wide */
#include "model/linear.h"
#include "model/norm.h" /* gf_head_norm_forward */
#include <math.h>
#include <string.h>

enum { TOGETHER = 4 }; /* queries that share one reading of a block of keys */

/* The rows of one segment attending in one layer. */
struct attend {
    const struct gf_pass *p;
    int32_t layer;
    int32_t raw, scaled, scores, pattern; /* points to tap */
    const struct gf_kv *kv;
    const uint8_t *mask;
    int32_t causal, window;
    int32_t row0, n; /* rows of the pass   */
    int32_t pos0;    /* position of row0   */
    int32_t n_keys;  /* keys there are     */
    const float *q;  /* [n, ldq]           */
    float *z;        /* [n, ldz]           */
    int32_t ldq, ldz;
};

/* First and last key (exclusive) that a row sees. */
static int32_t keys_from(const struct attend *a, int32_t row) {
    const int32_t pos = a->pos0 + row;
    return a->window && pos >= a->window ? pos - a->window + 1 : 0;
}
static int32_t keys_to(const struct attend *a, int32_t row) {
    return a->causal ? a->pos0 + row + 1 : a->n_keys;
}

static void hide(const struct attend *a, float *s, int32_t row, int32_t from, int32_t to) {
    const int32_t first = keys_from(a, row), end = keys_to(a, row);
    for (int32_t j = from; j < first; j++) s[j] = -INFINITY;
    for (int32_t j = end; j < to; j++) s[j] = -INFINITY;
    if (!a->mask) return;
    for (int32_t j = first; j < end; j++)
        if (!a->mask[j]) s[j] = -INFINITY;
}

/* m queries of one kv head, rows row_of[i] and heads head_of[i]; q and z rows dq and dz apart. */
static void attend_together(const struct attend *a, int32_t kv_head, int32_t m,
                            const int32_t *row_of, const int32_t *head_of, const float *q,
                            int32_t dq, float *z, int32_t dz) {
    const struct gf_pass *p = a->p;
    const struct gf_config *c = p->cfg;
    struct gf_observe *o = p->observe;
    const int32_t ld = p->scores_ld, d = c->d_head;
    const float scale = c->scale_scores ? (float)(1 / sqrt((double)d)) : 1;
    float *s = p->scores + (int64_t)kv_head * TOGETHER * ld;
    const int32_t b0 = keys_from(a, row_of[0]) / GF_KV_BLOCK,
                  b1 = (keys_to(a, row_of[m - 1]) + GF_KV_BLOCK - 1) / GF_KV_BLOCK,
                  from = b0 * GF_KV_BLOCK, to = b1 * GF_KV_BLOCK;
    const int staged =
        gf_watched(o, p->stack, a->layer, a->raw) || gf_watched(o, p->stack, a->layer, a->scaled);
    for (int32_t b = b0; b < b1; b++)
        gf_attn_scores(s + b * GF_KV_BLOCK, ld, q, dq, m, a->kv->type,
                       gf_kv_keys(a->kv, a->layer, kv_head, b), d, staged ? 1 : scale);
    for (int32_t i = 0; i < m; i++) {
        float *row = s + (int64_t)i * ld;
        const int32_t r = a->row0 + row_of[i], seen = keys_to(a, row_of[i]);
        if (o)
            for (int32_t j = 0; j < from; j++) row[j] = -INFINITY; /* left of the window's blocks */
        if (staged) {
            hide(a, row, row_of[i], from, to);
            gf_tap_keys(o, p->stack, a->layer, a->raw, head_of[i], r, row, seen);
            gf_scale(row + from, row + from, scale, to - from);
            gf_tap_keys(o, p->stack, a->layer, a->scaled, head_of[i], r, row, seen);
        }
        hide(a, row, row_of[i], from, to);
        if (o) gf_tap_keys(o, p->stack, a->layer, a->scores, head_of[i], r, row, seen);
        gf_softmax(row + from, row + from, to - from);
        if (o) {
            for (int32_t j = 0; j < from; j++) row[j] = 0;
            gf_tap_keys(o, p->stack, a->layer, a->pattern, head_of[i], r, row, seen);
        }
        memset(z + (int64_t)i * dz, 0, (size_t)d * sizeof *z);
    }
    const int32_t end = keys_to(a, row_of[m - 1]);
    for (int32_t b = b0; b < b1; b++) {
        int32_t count = end - b * GF_KV_BLOCK;
        if (count > GF_KV_BLOCK) count = GF_KV_BLOCK;
        gf_attn_mix(z, dz, s + b * GF_KV_BLOCK, ld, m, a->kv->type,
                    gf_kv_values(a->kv, a->layer, kv_head, b), count, d);
    }
}

static void attend_kv_head(void *ctx, int32_t kv_head) {
    const struct attend *a = ctx;
    const struct gf_config *c = a->p->cfg;
    const int32_t group = c->n_heads / c->n_kv_heads, d = c->d_head, head0 = kv_head * group;
    int32_t row_of[TOGETHER], head_of[TOGETHER];
    if (group == 1) { /* neighbours in the sequence share the keys */
        for (int32_t row = 0; row < a->n; row += TOGETHER) {
            int32_t m = 0;
            for (; m < TOGETHER && row + m < a->n; m++) row_of[m] = row + m, head_of[m] = head0;
            attend_together(a, kv_head, m, row_of, head_of,
                            a->q + (int64_t)row * a->ldq + (int64_t)head0 * d, a->ldq,
                            a->z + (int64_t)row * a->ldz + (int64_t)head0 * d, a->ldz);
        }
        return;
    }
    for (int32_t row = 0; row < a->n; row++) /* the group's heads share them */
        for (int32_t h = 0; h < group; h += TOGETHER) {
            int32_t m = 0;
            for (; m < TOGETHER && h + m < group; m++) row_of[m] = row, head_of[m] = head0 + h + m;
            const int64_t at = (int64_t)(head0 + h) * d;
            attend_together(a, kv_head, m, row_of, head_of, a->q + (int64_t)row * a->ldq + at, d,
                            a->z + (int64_t)row * a->ldz + at, d);
        }
}

/* ---- whole sequences, for training: no cache ----------------------------------------------------
 */

enum { QUERIES = 64 }; /* queries whose scores are formed at a time */

/* The heads of one segment: its queries against n_keys keys, rows ld apart. */
struct whole {
    const struct gf_pass *p;
    const uint8_t *mask;
    int32_t causal, window, n, n_keys;
    const float *q, *k, *v;
    float *z;
    int32_t ldq, ldk, ldz;
};

uint64_t gf_attention_work(int32_t most) { return 2 * (uint64_t)QUERIES * (uint64_t)most; }

/* First and last key (exclusive) of query i. */
static int32_t whole_from(const struct whole *a, int32_t i) {
    return a->window && i >= a->window ? i - a->window + 1 : 0;
}
static int32_t whole_to(const struct whole *a, int32_t i) { return a->causal ? i + 1 : a->n_keys; }

/* pattern [m, to - from] of queries i0 .. i0 + m - 1 of one head, whose q and k start there. */
static void whole_pattern(const struct whole *a, float *pattern, const float *q, const float *k,
                          int32_t i0, int32_t m, int32_t from, int32_t to) {
    const struct gf_config *c = a->p->cfg;
    const int32_t d = c->d_head, width = to - from;
    const float scale = c->scale_scores ? (float)(1 / sqrt((double)d)) : 1;
    a->p->training->gemm(0, 1, m, width, d, scale, q, a->ldq, k, a->ldk, 0, pattern, width);
    for (int32_t i = 0; i < m; i++) {
        float *row = pattern + (int64_t)i * width;
        const int32_t first = whole_from(a, i0 + i) - from, end = whole_to(a, i0 + i) - from;
        for (int32_t j = first; a->mask && j < end; j++)
            if (!a->mask[from + j]) row[j] = -INFINITY;
        gf_softmax_wide(row + first, row + first, end - first);
        memset(row, 0, (size_t)first * sizeof *row);
        memset(row + end, 0, (size_t)(width - end) * sizeof *row);
    }
}

static void whole_forward(const struct whole *a) {
    const struct gf_config *c = a->p->cfg;
    const gf_gemm_fn gemm = a->p->training->gemm;
    const int32_t d = c->d_head, group = c->n_heads / c->n_kv_heads;
    float *pattern = a->p->training->work;
    for (int32_t h = 0; h < c->n_heads; h++)
        for (int32_t i = 0; i < a->n; i += QUERIES) {
            const int32_t m = a->n - i < QUERIES ? a->n - i : QUERIES, from = whole_from(a, i),
                          to = whole_to(a, i + m - 1), width = to - from;
            const int64_t key = (int64_t)from * a->ldk + h / group * d;
            whole_pattern(a, pattern, a->q + (int64_t)i * a->ldq + h * d, a->k + key, i, m, from,
                          to);
            gemm(0, 0, m, d, width, 1, pattern, width, a->v + key, a->ldk, 0,
                 a->z + (int64_t)i * a->ldz + h * d, a->ldz);
        }
}

/* dq, dk, dv laid out as q, k, v; dk and dv are added to, dq is set.
 *   dv = pattern^T dz,  dpattern = dz v^T,  dscores = pattern (dpattern - sum(dz z)) */
static void whole_backward(const struct whole *a, const float *dz, float *dq, float *dk,
                           float *dv) {
    const struct gf_config *c = a->p->cfg;
    const gf_gemm_fn gemm = a->p->training->gemm;
    const int32_t d = c->d_head, group = c->n_heads / c->n_kv_heads;
    const float scale = c->scale_scores ? (float)(1 / sqrt((double)d)) : 1;
    for (int32_t h = 0; h < c->n_heads; h++)
        for (int32_t i = 0; i < a->n; i += QUERIES) {
            const int32_t m = a->n - i < QUERIES ? a->n - i : QUERIES, from = whole_from(a, i),
                          to = whole_to(a, i + m - 1), width = to - from;
            const int64_t key = (int64_t)from * a->ldk + h / group * d,
                          query = (int64_t)i * a->ldq + h * d, out = (int64_t)i * a->ldz + h * d;
            float *pattern = a->p->training->work, *ds = pattern + (int64_t)m * width;
            whole_pattern(a, pattern, a->q + query, a->k + key, i, m, from, to);
            gemm(1, 0, width, d, m, 1, pattern, width, dz + out, a->ldz, 1, dv + key, a->ldk);
            gemm(0, 1, m, width, d, 1, dz + out, a->ldz, a->v + key, a->ldk, 0, ds, width);
            for (int32_t r = 0; r < m; r++) {
                const float *zr = a->z + out + (int64_t)r * a->ldz,
                            *dzr = dz + out + (int64_t)r * a->ldz;
                const int64_t row = (int64_t)r * width;
                float sum = 0;
                for (int32_t j = 0; j < d; j++) sum += dzr[j] * zr[j];
                for (int32_t j = 0; j < width; j++)
                    ds[row + j] = pattern[row + j] * (ds[row + j] - sum);
            }
            gemm(0, 0, m, d, width, scale, ds, width, a->k + key, a->ldk, 0, dq + query, a->ldq);
            gemm(1, 0, width, d, m, scale, ds, width, a->q + query, a->ldq, 1, dk + key, a->ldk);
        }
}

static struct whole whole_self(const struct gf_pass *p, const struct gf_seg *g, int32_t row,
                               const float *qkv, float *z) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, ld = wq + 2 * wkv;
    const float *at = qkv + (int64_t)row * ld;
    return (struct whole){.p = p,
                          .mask = g->mask,
                          .causal = p->causal,
                          .window = c->sliding_window,
                          .n = g->n,
                          .n_keys = g->n,
                          .q = at,
                          .k = at + wq,
                          .v = at + wq + wkv,
                          .z = z + (int64_t)row * wq,
                          .ldq = ld,
                          .ldk = ld,
                          .ldz = wq};
}

static struct whole whole_cross(const struct gf_pass *p, const struct gf_seg *g, int32_t row,
                                const float *q, const float *kv, float *z) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head;
    const float *keys = kv + (int64_t)g->source0 * 2 * wkv;
    return (struct whole){.p = p,
                          .mask = g->cross_mask,
                          .n = g->n,
                          .n_keys = g->n_source,
                          .q = q + (int64_t)row * wq,
                          .k = keys,
                          .v = keys + wkv,
                          .z = z + (int64_t)row * wq,
                          .ldq = wq,
                          .ldk = 2 * wkv,
                          .ldz = wq};
}

/* Per-head contributions to the output: result[h] = z_h Wo[:, h]. Only computed when looked at;
 * when edited, the output is their sum. */
static void per_head_results(const struct gf_pass *p, const struct gf_attn *w, int32_t layer,
                             int32_t point, float *out, const float *z) {
    struct gf_observe *o = p->observe;
    if (GF_TRAINS(p) || !gf_watched(o, p->stack, layer, point)) return;
    const struct gf_config *c = p->cfg;
    const int32_t width = c->n_heads * c->d_head, d = c->d_model;
    float *one = gf_observe_scratch(o, (uint64_t)width + (uint64_t)c->n_heads * (uint64_t)d);
    if (!one) return;
    float *results = one + width;
    const int edited = o->edited[gf_place(c, p->stack, layer, point)];
    for (int32_t i = 0; i < p->n; i++) {
        for (int32_t h = 0; h < c->n_heads; h++) {
            memset(one, 0, (size_t)width * sizeof *one);
            memcpy(one + h * c->d_head, z + (int64_t)i * width + h * c->d_head,
                   (size_t)c->d_head * sizeof *one);
            gf_matmul(results + (int64_t)h * d, d, one, width, &w->o.w, NULL, 1, p->matmul_scratch,
                      p->pool);
        }
        o->row0 += i;
        gf_tap_rows(o, p->stack, layer, point, results, c->n_heads * d, 1, c->n_heads * d);
        o->row0 -= i;
        if (!edited) continue;
        float *y = out + (int64_t)i * d;
        for (int32_t j = 0; j < d; j++) y[j] = w->o.b ? w->o.b[j] : 0;
        for (int32_t h = 0; h < c->n_heads; h++) gf_add(y, y, results + (int64_t)h * d, d);
    }
}

void gf_attention_forward(const struct gf_pass *p, const struct gf_attn *w, int32_t layer,
                          float *out, const float *x, float *qkv, float *z, float *qk_raw) {
    const struct gf_config *c = p->cfg;
    struct gf_observe *o = p->observe;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, ld = wq + 2 * wkv,
                  n = p->n;
    float *k = qkv + wq, *v = k + wkv;
    gf_linear_forward(p, &w->in, qkv, x, n);
    gf_mark(p->trace, p->stack, layer, GF_OP_QKV);
    gf_tap(o, p->stack, layer, GF_P_Q, qkv, ld, n, wq);
    gf_tap(o, p->stack, layer, GF_P_K, k, ld, n, wkv);
    gf_tap(o, p->stack, layer, GF_P_V, v, ld, n, wkv);
    if (c->qk_norm) {
        for (int64_t i = 0; qk_raw && i < n; i++)
            memcpy(qk_raw + i * (wq + wkv), qkv + i * ld, (size_t)(wq + wkv) * sizeof *qkv);
        gf_head_norm_forward(c, w->q_norm, qkv, ld, n, c->n_heads);
        gf_head_norm_forward(c, w->k_norm, k, ld, n, c->n_kv_heads);
    }
    const int turns = c->position == GF_POS_ROPE && c->use_position;
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *g = &p->segs[i];
        float *at = qkv + (int64_t)row * ld;
        if (turns && GF_TRAINS(p)) {
            gf_rope(at, ld, p->training->table, g->n, c->n_heads + c->n_kv_heads, c->d_head,
                    c->rope_pairs);
            continue;
        }
        for (int32_t r = 0, run; turns && r < g->n; r += run) { /* the table comes in blocks */
            const int32_t pos = g->pos0 + r;
            run = GF_KV_BLOCK - pos % GF_KV_BLOCK;
            if (run > g->n - r) run = g->n - r;
            gf_rope(at + (int64_t)r * ld, ld, gf_kv_table(g->kv, pos), run,
                    c->n_heads + c->n_kv_heads, c->d_head, c->rope_pairs); /* k follows q */
        }
    }
    gf_mark(p->trace, p->stack, layer, GF_OP_ROPE);
    if (turns) {
        gf_tap(o, p->stack, layer, GF_P_ROT_Q, qkv, ld, n, wq);
        gf_tap(o, p->stack, layer, GF_P_ROT_K, k, ld, n, wkv);
    }
    row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *g = &p->segs[i];
        if (GF_TRAINS(p)) {
            const struct whole a = whole_self(p, g, row, qkv, z);
            whole_forward(&a);
            continue;
        }
        const int64_t at = (int64_t)row * ld;
        gf_kv_write(g->kv, layer, g->pos0, g->n, k + at, v + at, ld);
        struct attend a = {.p = p,
                           .layer = layer,
                           .raw = GF_P_SCORES_RAW,
                           .scaled = GF_P_SCORES_SCALED,
                           .scores = GF_P_SCORES,
                           .pattern = GF_P_PATTERN,
                           .kv = g->kv,
                           .mask = g->mask,
                           .causal = p->causal,
                           .window = c->sliding_window,
                           .row0 = row,
                           .n = g->n,
                           .pos0 = g->pos0,
                           .n_keys = g->pos0 + g->n,
                           .q = qkv + at,
                           .ldq = ld,
                           .z = z + (int64_t)row * wq,
                           .ldz = wq};
        gf_pool_run(p->pool, attend_kv_head, &a, c->n_kv_heads);
    }
    gf_tap(o, p->stack, layer, GF_P_Z, z, wq, n, wq);
    gf_mark(p->trace, p->stack, layer, GF_OP_ATTEND);
    gf_linear_forward(p, &w->o, out, z, n);
    gf_mark(p->trace, p->stack, layer, GF_OP_ATTN_OUT);
    per_head_results(p, w, layer, GF_P_RESULT, out, z);
    gf_tap(o, p->stack, layer, GF_P_ATTN_OUT, out, c->d_model, n, c->d_model);
}

void gf_cross_attention_forward(const struct gf_pass *p, const struct gf_attn *w, int32_t layer,
                                float *out, const float *x, float *q, float *z, float *kv) {
    const struct gf_config *c = p->cfg;
    struct gf_observe *o = p->observe;
    const int32_t wq = c->n_heads * c->d_head, n = p->n;
    gf_linear_forward(p, &w->in, q, x, n);
    gf_mark(p->trace, p->stack, layer, GF_OP_CROSS_Q);
    gf_tap(o, p->stack, layer, GF_P_CROSS_Q, q, wq, n, wq);
    if (GF_TRAINS(p)) gf_linear_forward(p, &w->kv, kv, p->training->memory, p->training->n_memory);
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *g = &p->segs[i];
        if (GF_TRAINS(p)) {
            const struct whole a = whole_cross(p, g, row, q, kv, z);
            whole_forward(&a);
            continue;
        }
        struct attend a = {.p = p,
                           .layer = layer,
                           .raw = GF_P_CROSS_SCORES_RAW,
                           .scaled = GF_P_CROSS_SCORES_SCALED,
                           .scores = GF_P_CROSS_SCORES,
                           .pattern = GF_P_CROSS_PATTERN,
                           .kv = g->cross,
                           .mask = g->cross_mask,
                           .causal = 0,
                           .window = 0,
                           .row0 = row,
                           .n = g->n,
                           .pos0 = 0,
                           .n_keys = g->cross->length,
                           .q = q + (int64_t)row * wq,
                           .ldq = wq,
                           .z = z + (int64_t)row * wq,
                           .ldz = wq};
        gf_pool_run(p->pool, attend_kv_head, &a, c->n_kv_heads);
    }
    gf_tap(o, p->stack, layer, GF_P_CROSS_Z, z, wq, n, wq);
    gf_mark(p->trace, p->stack, layer, GF_OP_CROSS_ATTEND);
    gf_linear_forward(p, &w->o, out, z, n);
    gf_mark(p->trace, p->stack, layer, GF_OP_CROSS_OUT);
    per_head_results(p, w, layer, GF_P_CROSS_RESULT, out, z);
    gf_tap(o, p->stack, layer, GF_P_CROSS_OUT, out, c->d_model, n, c->d_model);
}

void gf_cross_keys_values(const struct gf_pass *p, const struct gf_attn *w, int32_t layer,
                          struct gf_kv *cross, const float *memory, float *kv, int32_t n) {
    const int32_t wkv = p->cfg->n_kv_heads * p->cfg->d_head;
    gf_linear_forward(p, &w->kv, kv, memory, n);
    gf_tap(p->observe, GF_STACK_DECODER, layer, GF_P_CROSS_K, kv, 2 * wkv, n, wkv);
    gf_tap(p->observe, GF_STACK_DECODER, layer, GF_P_CROSS_V, kv + wkv, 2 * wkv, n, wkv);
    gf_kv_write(cross, layer, 0, n, kv, kv + wkv, 2 * wkv);
    gf_mark(p->trace, GF_STACK_DECODER, layer, GF_OP_CROSS_KV);
}

/* ---- backward -----------------------------------------------------------------------------------
 */

/* Turning back is turning by the opposite angle: the same kernel with the sines' signs changed. */
static void rope_backward(const struct gf_pass *p, float *dx, int32_t ld, int32_t n) {
    const struct gf_config *c = p->cfg;
    const int32_t d = c->d_head, half = d / 2;
    for (int32_t i = 0; i < n; i++) {
        const float *row = p->training->table + (int64_t)i * d;
        float *back = p->training->work; /* free here: [d_head] */
        for (int32_t j = 0; j < half; j++) back[j] = row[j], back[half + j] = -row[half + j];
        gf_rope(dx + (int64_t)i * ld, ld, back, 1, c->n_heads + c->n_kv_heads, d, c->rope_pairs);
    }
}

void gf_attention_backward(const struct gf_pass *p, const struct gf_attn *w, struct gf_attn *dw,
                           float *dx, const float *dout, const float *x, const float *qkv,
                           const float *z, const float *qk_raw, float *dqkv, float *dz) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, ld = wq + 2 * wkv,
                  n = p->n;
    gf_linear_backward(p, &w->o, &dw->o, dz, 0, dout, z, n);
    memset(dqkv, 0, (size_t)n * (size_t)ld * sizeof *dqkv);
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *g = &p->segs[i];
        const struct whole a = whole_self(p, g, row, qkv, (float *)z);
        float *at = dqkv + (int64_t)row * ld;
        whole_backward(&a, dz + (int64_t)row * wq, at, at + wq, at + wq + wkv);
        if (c->position == GF_POS_ROPE && c->use_position) rope_backward(p, at, ld, g->n);
    }
    if (c->qk_norm) {
        gf_head_norm_backward(c, w->q_norm, dw->q_norm, dqkv, ld, qk_raw, wq + wkv, n, c->n_heads);
        gf_head_norm_backward(c, w->k_norm, dw->k_norm, dqkv + wq, ld, qk_raw + wq, wq + wkv, n,
                              c->n_kv_heads);
    }
    gf_linear_backward(p, &w->in, &dw->in, dx, 0, dqkv, x, n);
}

void gf_cross_attention_backward(const struct gf_pass *p, const struct gf_attn *w,
                                 struct gf_attn *dw, float *dx, float *dmemory, const float *dout,
                                 const float *x, const float *q, const float *kv, const float *z,
                                 float *dq, float *dkv, float *dz) {
    const struct gf_config *c = p->cfg;
    const struct gf_training *t = p->training;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, n = p->n;
    gf_linear_backward(p, &w->o, &dw->o, dz, 0, dout, z, n);
    memset(dkv, 0, (size_t)t->n_memory * 2 * (size_t)wkv * sizeof *dkv);
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *g = &p->segs[i];
        const struct whole a = whole_cross(p, g, row, q, kv, (float *)z);
        float *at = dkv + (int64_t)g->source0 * 2 * wkv;
        whole_backward(&a, dz + (int64_t)row * wq, dq + (int64_t)row * wq, at, at + wkv);
    }
    gf_linear_backward(p, &w->in, &dw->in, dx, 0, dq, x, n);
    gf_linear_backward(p, &w->kv, &dw->kv, dmemory, 1, dkv, t->memory, t->n_memory);
}
