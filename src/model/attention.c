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
#include "kernels/kernels.h" /* gf_rope */
#include "model/attend_cached.h"
#include "model/attend_whole.h"
#include "model/linear.h"
#include "model/norm.h" /* gf_head_norm_forward */
#include <string.h>

static struct gf_whole whole_self(const struct gf_pass *p, const struct gf_seg *g, int32_t row, const float *qkv,
                                  float *z) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, ld = wq + 2 * wkv;
    const float *at = qkv + (int64_t)row * ld;
    return (struct gf_whole){.p = p,
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

static struct gf_whole whole_cross(const struct gf_pass *p, const struct gf_seg *g, int32_t row, const float *q,
                                   const float *kv, float *z) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head;
    const float *keys = kv + (int64_t)g->source0 * 2 * wkv;
    return (struct gf_whole){.p = p,
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
 * when edited, the output moves by as much as their sum. */
static void per_head_results(const struct gf_pass *p, const struct gf_attn *w, int32_t layer, int32_t point, float *out,
                             const float *z) {
    struct gf_observe *o = p->observe;
    if (GF_TRAINS(p) || !gf_watched(o, p->stack, layer, point)) return;
    const struct gf_config *c = p->cfg;
    const int32_t width = c->n_heads * c->d_head, d = c->d_model;
    const int64_t all = (int64_t)c->n_heads * d;
    float *one = gf_observe_scratch(o, gf_results_floats(c)); /* reserved by gf_observe_begin */
    if (!one) return;
    float *results = one + width, *before = results + all;
    const int edited = o->edited[gf_place(c, p->stack, layer, point)];
    for (int32_t i = 0; i < p->n; i++) {
        for (int32_t h = 0; h < c->n_heads; h++) {
            memset(one, 0, (size_t)width * sizeof *one);
            memcpy(one + h * c->d_head, z + (int64_t)i * width + h * c->d_head, (size_t)c->d_head * sizeof *one);
            gf_matmul(results + (int64_t)h * d, d, one, width, &w->o.w, NULL, 1, p->matmul_scratch, p->pool);
        }
        memcpy(before, results, (size_t)all * sizeof *before);
        o->row0 += i;
        gf_tap_rows(o, p->stack, layer, point, results, c->n_heads * d, 1, c->n_heads * d);
        o->row0 -= i;
        float *y = out + (int64_t)i * d;
        for (int64_t j = 0; edited && j < all; j++) y[j % d] += results[j] - before[j];
    }
}

void gf_attention_forward(const struct gf_pass *p, const struct gf_attn *w, int32_t layer, float *out, const float *x,
                          float *qkv, float *z, float *qk_raw) {
    const struct gf_config *c = p->cfg;
    struct gf_observe *o = p->observe;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, ld = wq + 2 * wkv, n = p->n;
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
    const int rotated = c->position == GF_POS_ROPE && c->use_position;
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *g = &p->segs[i];
        float *at = qkv + (int64_t)row * ld;
        if (rotated && GF_TRAINS(p)) {
            gf_rope(at, ld, p->training->table, g->n, c->n_heads + c->n_kv_heads, c->d_head, c->rope_pairs);
            continue;
        }
        for (int32_t r = 0, run; rotated && r < g->n; r += run) { /* the table comes in blocks */
            const int32_t pos = g->pos0 + r;
            run = GF_KV_BLOCK - pos % GF_KV_BLOCK;
            if (run > g->n - r) run = g->n - r;
            gf_rope(at + (int64_t)r * ld, ld, gf_kv_table(g->kv, pos), run, c->n_heads + c->n_kv_heads, c->d_head,
                    c->rope_pairs); /* k follows q */
        }
    }
    gf_mark(p->trace, p->stack, layer, GF_OP_ROPE);
    if (rotated) {
        gf_tap(o, p->stack, layer, GF_P_ROT_Q, qkv, ld, n, wq);
        gf_tap(o, p->stack, layer, GF_P_ROT_K, k, ld, n, wkv);
    }
    row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *g = &p->segs[i];
        if (GF_TRAINS(p)) {
            const struct gf_whole a = whole_self(p, g, row, qkv, z);
            gf_attend_whole(&a);
            continue;
        }
        const int64_t at = (int64_t)row * ld;
        gf_kv_write(g->kv, layer, g->pos0, g->n, k + at, v + at, ld);
        const struct gf_attend a = {.p = p,
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
        gf_attend_cached(&a);
    }
    gf_tap(o, p->stack, layer, GF_P_Z, z, wq, n, wq);
    gf_mark(p->trace, p->stack, layer, GF_OP_ATTEND);
    gf_linear_forward(p, &w->o, out, z, n);
    gf_mark(p->trace, p->stack, layer, GF_OP_ATTN_OUT);
    per_head_results(p, w, layer, GF_P_RESULT, out, z);
    gf_tap(o, p->stack, layer, GF_P_ATTN_OUT, out, c->d_model, n, c->d_model);
}

void gf_cross_attention_forward(const struct gf_pass *p, const struct gf_attn *w, int32_t layer, float *out,
                                const float *x, float *q, float *z, float *kv) {
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
            const struct gf_whole a = whole_cross(p, g, row, q, kv, z);
            gf_attend_whole(&a);
            continue;
        }
        const struct gf_attend a = {.p = p,
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
        gf_attend_cached(&a);
    }
    gf_tap(o, p->stack, layer, GF_P_CROSS_Z, z, wq, n, wq);
    gf_mark(p->trace, p->stack, layer, GF_OP_CROSS_ATTEND);
    gf_linear_forward(p, &w->o, out, z, n);
    gf_mark(p->trace, p->stack, layer, GF_OP_CROSS_OUT);
    per_head_results(p, w, layer, GF_P_CROSS_RESULT, out, z);
    gf_tap(o, p->stack, layer, GF_P_CROSS_OUT, out, c->d_model, n, c->d_model);
}

void gf_cross_keys_values(const struct gf_pass *p, const struct gf_attn *w, int32_t layer, struct gf_kv *cross,
                          const float *memory, float *kv, int32_t n) {
    const int32_t wkv = p->cfg->n_kv_heads * p->cfg->d_head;
    gf_linear_forward(p, &w->kv, kv, memory, n);
    gf_tap(p->observe, GF_STACK_DECODER, layer, GF_P_CROSS_K, kv, 2 * wkv, n, wkv);
    gf_tap(p->observe, GF_STACK_DECODER, layer, GF_P_CROSS_V, kv + wkv, 2 * wkv, n, wkv);
    gf_kv_write(cross, layer, 0, n, kv, kv + wkv, 2 * wkv);
    gf_mark(p->trace, GF_STACK_DECODER, layer, GF_OP_CROSS_KV);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* The inverse of a rotation is the rotation by the opposite angle: the same kernel with the signs of the sines changed. */
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

void gf_attention_backward(const struct gf_pass *p, const struct gf_attn *w, struct gf_attn *dw, float *dx,
                           const float *dout, const float *x, const float *qkv, const float *z, const float *qk_raw,
                           float *dqkv, float *dz) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, ld = wq + 2 * wkv, n = p->n;
    gf_linear_backward(p, &w->o, &dw->o, dz, 0, dout, z, n);
    memset(dqkv, 0, (size_t)n * (size_t)ld * sizeof *dqkv);
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *g = &p->segs[i];
        const struct gf_whole a = whole_self(p, g, row, qkv, (float *)z);
        float *at = dqkv + (int64_t)row * ld;
        gf_attend_whole_backward(&a, dz + (int64_t)row * wq, at, at + wq, at + wq + wkv);
        if (c->position == GF_POS_ROPE && c->use_position) rope_backward(p, at, ld, g->n);
    }
    if (c->qk_norm) {
        gf_head_norm_backward(c, w->q_norm, dw->q_norm, dqkv, ld, qk_raw, wq + wkv, n, c->n_heads);
        gf_head_norm_backward(c, w->k_norm, dw->k_norm, dqkv + wq, ld, qk_raw + wq, wq + wkv, n, c->n_kv_heads);
    }
    gf_linear_backward(p, &w->in, &dw->in, dx, 0, dqkv, x, n);
}

void gf_cross_attention_backward(const struct gf_pass *p, const struct gf_attn *w, struct gf_attn *dw, float *dx,
                                 float *dmemory, const float *dout, const float *x, const float *q, const float *kv,
                                 const float *z, float *dq, float *dkv, float *dz) {
    const struct gf_config *c = p->cfg;
    const struct gf_training *t = p->training;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, n = p->n;
    gf_linear_backward(p, &w->o, &dw->o, dz, 0, dout, z, n);
    memset(dkv, 0, (size_t)t->n_memory * 2 * (size_t)wkv * sizeof *dkv);
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *g = &p->segs[i];
        const struct gf_whole a = whole_cross(p, g, row, q, kv, (float *)z);
        float *at = dkv + (int64_t)g->source0 * 2 * wkv;
        gf_attend_whole_backward(&a, dz + (int64_t)row * wq, dq + (int64_t)row * wq, at, at + wkv);
    }
    gf_linear_backward(p, &w->in, &dw->in, dx, 0, dq, x, n);
    gf_linear_backward(p, &w->kv, &dw->kv, dmemory, 1, dkv, t->memory, t->n_memory);
}
