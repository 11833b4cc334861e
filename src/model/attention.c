/* attention.c - multi-head attention: self and cross, causal and not, grouped queries, sliding window.
 *
 *   q, k, v = x Wq, x Wk, x Wv;  scores = q k^T / sqrt(d_head), masked;  pattern = softmax(scores)
 *   z = pattern v;  out = z Wo
 *
 * Sources: Vaswani 2017 section 3.2; grouped queries, Ainslie et al. 2023; sliding window, Jiang et al. 2023 (query i
 * sees keys i - window + 1 .. i); q and k norms, Henry et al. 2020; clip_qkv, MPT and OLMo; soft caps of scores, Gemma
 * 2; relative position bias, relative.c. Rotation happens after projection and before the cache; window, rotation and
 * frequencies may differ from layer to layer. */
#include "model/attention.h"
#include "kernels/kernels.h" /* gf_rope */
#include "model/attend_cached.h"
#include "model/attend_whole.h"
#include "model/config.h" /* gf_layer_window, gf_layer_rotates, gf_layer_is_local */
#include "model/linear.h"
#include "model/norm.h" /* gf_head_norm_forward */
#include <string.h>

/* One segment's self-attention for gf_attend_whole, in training; row: its first row of the pass. */
static struct gf_whole whole_self(const struct gf_pass *p, int32_t layer, const struct gf_seg *g, int32_t row,
                                  const float *qkv, float *z) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, ld = wq + 2 * wkv;
    const float *at = qkv + (int64_t)row * ld;
    return (struct gf_whole){.p = p,
                             .mask = g->mask,
                             .causal = p->causal,
                             .window = gf_layer_window(c, layer),
                             .alibi = c->position == GF_POS_ALIBI && c->use_position,
                             .relative = p->relative,
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

/* The same for cross-attention. */
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

/* The operations and points of one kind of attention. */
struct attn_points {
    int32_t attend_op, out_op;
    int32_t raw, scaled, scores, pattern, z, result;
};
static const struct attn_points self_points = {
    .attend_op = GF_OP_ATTEND,
    .out_op = GF_OP_ATTN_OUT,
    .raw = GF_P_SCORES_RAW,
    .scaled = GF_P_SCORES_SCALED,
    .scores = GF_P_SCORES,
    .pattern = GF_P_PATTERN,
    .z = GF_P_Z,
    .result = GF_P_RESULT,
};
static const struct attn_points cross_points = {.attend_op = GF_OP_CROSS_ATTEND,
                                                .out_op = GF_OP_CROSS_OUT,
                                                .raw = GF_P_CROSS_SCORES_RAW,
                                                .scaled = GF_P_CROSS_SCORES_SCALED,
                                                .scores = GF_P_CROSS_SCORES,
                                                .pattern = GF_P_CROSS_PATTERN,
                                                .z = GF_P_CROSS_Z,
                                                .result = GF_P_CROSS_RESULT};

static void limit(float *x, float most, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = x[i] > most ? most : x[i] < -most ? -most : x[i];
}

/* b->qkv = x W^T, rows q | k | v, limited by clip_qkv, then the norms of q and k. */
static void project(const struct gf_pass *p, int32_t layer, const struct gf_attn *w, const struct gf_bufs *b,
                    const float *x) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, ld = wq + 2 * wkv, n = p->n;
    float *q = b->qkv, *k = q + wq, *v = k + wkv;
    gf_linear_forward(p, &w->in, q, x, n);
    if (c->clip_qkv > 0) limit(q, c->clip_qkv, (int64_t)n * ld);
    gf_mark(p->trace, p->stack, layer, GF_OP_QKV);
    gf_tap(p->observe, p->stack, layer, GF_P_Q, q, ld, n, wq);
    gf_tap(p->observe, p->stack, layer, GF_P_K, k, ld, n, wkv);
    gf_tap(p->observe, p->stack, layer, GF_P_V, v, ld, n, wkv);
    if (!c->qk_norm) return;
    for (int64_t i = 0; b->qk_raw && i < n; i++)
        memcpy(b->qk_raw + i * (wq + wkv), q + i * ld, (size_t)(wq + wkv) * sizeof *q);
    gf_head_norm_forward(c, &w->q_norm, q, ld, n, c->n_heads);
    gf_head_norm_forward(c, &w->k_norm, k, ld, n, c->n_kv_heads);
}

/* Rotate the first rotary_dim components of each head of n rows by rows of a table. */
static void rotate_rows(const struct gf_config *c, float *qk, int32_t ld, const float *table, int32_t n) {
    const int32_t heads = c->n_heads + c->n_kv_heads;
    if (gf_rotary_dim(c) == c->d_head) {
        gf_rope(qk, ld, table, n, heads, c->d_head, c->rope_pairs);
        return;
    }
    for (int32_t h = 0; h < heads; h++) gf_rope(qk + h * c->d_head, ld, table, n, 1, gf_rotary_dim(c), c->rope_pairs);
}

/* The training table's plane for a layer. */
static const float *training_table(const struct gf_pass *p, int32_t layer) {
    const struct gf_config *c = p->cfg;
    return p->training->table + (gf_layer_is_local(c, layer) ? (int64_t)c->context_length * gf_rotary_dim(c) : 0);
}

/* Rotate the q and k of one segment, which lie side by side, by the angles of their positions. */
static void rotate_segment(const struct gf_pass *p, int32_t layer, const struct gf_seg *g, float *qk, int32_t ld) {
    const struct gf_config *c = p->cfg;
    if (GF_TRAINS(p)) {
        rotate_rows(c, qk, ld, training_table(p, layer), g->n);
        return;
    }
    const int local = gf_layer_is_local(c, layer);
    for (int32_t r = 0, run; r < g->n; r += run) { /* the cache keeps the table in blocks of positions */
        const int32_t pos = g->pos0 + r;
        run = GF_KV_BLOCK - pos % GF_KV_BLOCK;
        if (run > g->n - r) run = g->n - r;
        rotate_rows(c, qk + (int64_t)r * ld, ld, gf_kv_table(g->kv, pos, local), run);
    }
}

/* RoPE on the q and k of all segments, in place. */
static void rotate(const struct gf_pass *p, int32_t layer, float *qkv) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, ld = wq + 2 * wkv;
    const int rotary = gf_layer_rotates(c, layer);
    float *at = qkv;
    for (int32_t i = 0; rotary && i < p->n_segs; at += (int64_t)p->segs[i++].n * ld)
        rotate_segment(p, layer, &p->segs[i], at, ld);
    gf_mark(p->trace, p->stack, layer, GF_OP_ROPE);
    if (!rotary) return;
    gf_tap(p->observe, p->stack, layer, GF_P_ROT_Q, qkv, ld, p->n, wq);
    gf_tap(p->observe, p->stack, layer, GF_P_ROT_K, qkv + wq, ld, p->n, wkv);
}

/* z = attention of one segment's rows over the cache a.kv; row: its first row of the pass. a: the fields that differ
 * between self and cross. */
static void attend_segment(const struct gf_pass *p, int32_t layer, const struct attn_points *points, struct gf_attend a,
                           int32_t row, const float *q, int32_t ldq, float *z) {
    const int32_t wq = p->cfg->n_heads * p->cfg->d_head;
    a.p = p;
    a.layer = layer;
    a.raw = points->raw;
    a.scaled = points->scaled;
    a.scores = points->scores;
    a.pattern = points->pattern;
    a.row0 = row;
    a.q = q + (int64_t)row * ldq;
    a.ldq = ldq;
    a.z = z + (int64_t)row * wq;
    a.ldz = wq;
    gf_attend_cached(&a);
}

/* b->z = attention of b->qkv. In inference the keys and values are first appended to their segments' caches. */
static void attend(const struct gf_pass *p, int32_t layer, const struct gf_bufs *b) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, ld = wq + 2 * wkv;
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *g = &p->segs[i];
        if (GF_TRAINS(p)) {
            const struct gf_whole a = whole_self(p, layer, g, row, b->qkv, b->z);
            gf_attend_whole(&a);
            continue;
        }
        const float *k = b->qkv + (int64_t)row * ld + wq;
        gf_kv_write(g->kv, layer, g->pos0, g->n, k, k + wkv, ld);
        const struct gf_attend a = {.kv = g->kv,
                                    .mask = g->mask,
                                    .causal = p->causal,
                                    .window = gf_layer_window(c, layer),
                                    .alibi = c->position == GF_POS_ALIBI && c->use_position,
                                    .relative = p->relative,
                                    .n = g->n,
                                    .pos0 = g->pos0,
                                    .n_keys = g->pos0 + g->n};
        attend_segment(p, layer, &self_points, a, row, b->qkv, ld, b->z);
    }
}

/* b->cross_z = attention of b->cross_q over the encoder's keys and values. */
static void attend_cross(const struct gf_pass *p, int32_t layer, const struct gf_bufs *b) {
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *g = &p->segs[i];
        if (GF_TRAINS(p)) {
            const struct gf_whole a = whole_cross(p, g, row, b->cross_q, b->cross_kv, b->cross_z);
            gf_attend_whole(&a);
            continue;
        }
        const struct gf_attend a = {.kv = g->cross, .mask = g->cross_mask, .n = g->n, .n_keys = g->cross->length};
        attend_segment(p, layer, &cross_points, a, row, b->cross_q, p->cfg->n_heads * p->cfg->d_head, b->cross_z);
    }
}

/* Each head's contribution to the output, result[h] = z_h Wo[:, h]. Computed only where it is captured or edited. An
 * edit is added to the output as its difference. gf_observe_begin reserved the scratch. */
static void per_head_results(const struct gf_pass *p, const struct gf_attn *w, int32_t layer, int32_t point, float *out,
                             const float *z) {
    struct gf_observe *o = p->observe;
    if (GF_TRAINS(p) || !gf_tapped(o, p->stack, layer, point)) return;
    const struct gf_config *c = p->cfg;
    const int32_t width = c->n_heads * c->d_head, d = c->d_model;
    const int64_t all = (int64_t)c->n_heads * d;
    float *one_head = o->scratch, *results = one_head + width, *before = results + all;
    const int edited = o->edited[gf_place(c, p->stack, layer, point)];
    for (int32_t i = 0; i < p->n; i++) {
        for (int32_t h = 0; h < c->n_heads; h++) {
            memset(one_head, 0, (size_t)width * sizeof *one_head);
            memcpy(one_head + h * c->d_head, z + (int64_t)i * width + h * c->d_head,
                   (size_t)c->d_head * sizeof *one_head);
            gf_matmul(results + (int64_t)h * d, d, one_head, width, &w->o.w, NULL, 1, p->matmul_scratch, p->pool);
        }
        memcpy(before, results, (size_t)all * sizeof *before);
        gf_tap_rows(o, p->stack, layer, point, i, results, c->n_heads * d, 1, c->n_heads * d);
        float *y = out + (int64_t)i * d;
        for (int64_t j = 0; edited && j < all; j++) y[j % d] += results[j] - before[j];
    }
}

/* out = z Wo^T */
static void project_out(const struct gf_pass *p, int32_t layer, const struct gf_attn *w,
                        const struct attn_points *points, float *z, float *out) {
    const int32_t n = p->n, wq = p->cfg->n_heads * p->cfg->d_head;
    gf_tap(p->observe, p->stack, layer, points->z, z, wq, n, wq);
    gf_mark(p->trace, p->stack, layer, points->attend_op);
    gf_linear_forward(p, &w->o, out, z, n);
    gf_mark(p->trace, p->stack, layer, points->out_op);
    per_head_results(p, w, layer, points->result, out, z);
}

void gf_attention_forward(const struct gf_pass *p, int32_t layer, const struct gf_attn *w, const struct gf_bufs *b,
                          const float *x) {
    project(p, layer, w, b, x);
    rotate(p, layer, b->qkv);
    attend(p, layer, b);
    project_out(p, layer, w, &self_points, b->z, b->attn_out);
}

void gf_cross_attention_forward(const struct gf_pass *p, int32_t layer, const struct gf_attn *w,
                                const struct gf_bufs *b, const float *x) {
    const int32_t wq = p->cfg->n_heads * p->cfg->d_head, n = p->n;
    gf_linear_forward(p, &w->in, b->cross_q, x, n);
    gf_mark(p->trace, p->stack, layer, GF_OP_CROSS_Q);
    gf_tap(p->observe, p->stack, layer, GF_P_CROSS_Q, b->cross_q, wq, n, wq);
    if (GF_TRAINS(p)) gf_linear_forward(p, &w->kv, b->cross_kv, p->training->memory, p->training->n_memory);
    attend_cross(p, layer, b);
    project_out(p, layer, w, &cross_points, b->cross_z, b->cross_out);
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

/* The inverse of a rotation is the rotation by the opposite angle: the same kernel with the signs of the sines
 * changed. */
static void rotate_backward(const struct gf_pass *p, int32_t layer, float *dx, int32_t ld, int32_t n) {
    const struct gf_config *c = p->cfg;
    const int32_t d = gf_rotary_dim(c), half = d / 2;
    for (int32_t i = 0; i < n; i++) {
        const float *row = training_table(p, layer) + (int64_t)i * d;
        float *back = p->training->work; /* free here: [rotary_dim] */
        for (int32_t j = 0; j < half; j++) back[j] = row[j], back[half + j] = -row[half + j];
        rotate_rows(c, dx + (int64_t)i * ld, ld, back, 1);
    }
}

void gf_attention_backward(const struct gf_pass *p, int32_t layer, const struct gf_attn *w, struct gf_attn *dw,
                           const struct gf_bufs *b, struct gf_back *g, const float *dout, const float *x) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, ld = wq + 2 * wkv, n = p->n;
    gf_linear_backward(p, &w->o, &dw->o, g->z, 0, dout, b->z, n);
    memset(g->qkv, 0, (size_t)n * (size_t)ld * sizeof *g->qkv);
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *seg = &p->segs[i];
        const struct gf_whole a = whole_self(p, layer, seg, row, b->qkv, b->z);
        float *dq = g->qkv + (int64_t)row * ld;
        gf_attend_whole_backward(&a, g->z + (int64_t)row * wq, dq, dq + wq, dq + wq + wkv, g->relative);
        if (gf_layer_rotates(c, layer)) rotate_backward(p, layer, dq, ld, seg->n);
    }
    if (c->qk_norm) {
        gf_head_norm_backward(c, &w->q_norm, &dw->q_norm, g->qkv, ld, b->qk_raw, wq + wkv, n, c->n_heads);
        gf_head_norm_backward(c, &w->k_norm, &dw->k_norm, g->qkv + wq, ld, b->qk_raw + wq, wq + wkv, n, c->n_kv_heads);
    }
    gf_linear_backward(p, &w->in, &dw->in, g->in, 0, g->qkv, x, n);
}

void gf_cross_attention_backward(const struct gf_pass *p, const struct gf_attn *w, struct gf_attn *dw,
                                 const struct gf_bufs *b, struct gf_back *g, const float *dout, const float *x) {
    const struct gf_config *c = p->cfg;
    const struct gf_training *t = p->training;
    const int32_t wq = c->n_heads * c->d_head, wkv = c->n_kv_heads * c->d_head, n = p->n;
    float *dq = g->qkv;
    gf_linear_backward(p, &w->o, &dw->o, g->z, 0, dout, b->cross_z, n);
    memset(g->cross_kv, 0, (size_t)t->n_memory * 2 * (size_t)wkv * sizeof *g->cross_kv);
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_seg *seg = &p->segs[i];
        const struct gf_whole a = whole_cross(p, seg, row, b->cross_q, b->cross_kv, b->cross_z);
        float *dk = g->cross_kv + (int64_t)seg->source0 * 2 * wkv;
        gf_attend_whole_backward(&a, g->z + (int64_t)row * wq, dq + (int64_t)row * wq, dk, dk + wkv, NULL);
    }
    gf_linear_backward(p, &w->in, &dw->in, g->in, 0, dq, x, n);
    gf_linear_backward(p, &w->kv, &dw->kv, g->memory, 1, g->cross_kv, t->memory, t->n_memory);
}
