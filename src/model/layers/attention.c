/* attention.c - multi-head attention: self and cross, causal and not, grouped queries, sliding window.
 *
 *   q, k, v = x Wq, x Wk, x Wv;  scores = q k^T / sqrt(d_head), masked;  pattern = softmax(scores)
 *   z = pattern v;  out = z Wo
 *
 * Sources: Vaswani 2017 section 3.2; grouped queries, Ainslie et al. 2023; sliding window, Jiang et al. 2023 (query i
 * sees keys i - window + 1 .. i; without the causal mask, as in ModernBERT, up to i + window - 1); q and k norms, Henry
 * et al. 2020; clip_qkv, MPT and OLMo; soft caps of scores, Gemma 2; relative position bias, relative.c. Rotation
 * happens after projection and before the cache; window, rotation and frequencies may differ from layer to layer. */
#include "model/layers/attention.h"
#include "kernels/kernels.h" /* gf_rope */
#include "model/layers/attend.h"
#include "model/config.h" /* gf_q_width, gf_layer_window, gf_layer_rotates, gf_layer_is_local */
#include "model/layers/linear.h"
#include "model/layers/norm.h" /* gf_head_norm_forward */
#include <string.h>

static const struct gf_attend_points points_of[] = {
    [GF_SELF_ATTENTION] = {GF_OP_ATTEND, GF_OP_ATTN_OUT, GF_P_SCORES_RAW, GF_P_SCORES_SCALED, GF_P_SCORES, GF_P_PATTERN,
                           GF_P_Z, GF_P_RESULT},
    [GF_CROSS_ATTENTION] = {GF_OP_CROSS_ATTEND, GF_OP_CROSS_OUT, GF_P_CROSS_SCORES_RAW, GF_P_CROSS_SCORES_SCALED,
                            GF_P_CROSS_SCORES, GF_P_CROSS_PATTERN, GF_P_CROSS_Z, GF_P_CROSS_RESULT}};

/* The attention of one segment of the pass; row: its first row. */
static struct gf_attend attention_of(const struct gf_pass *p, const struct gf_seg *g, int32_t row,
                                     const struct gf_bufs *b, enum gf_sublayer kind) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = gf_q_width(c), wkv = gf_kv_width(c), ld = gf_qkv_width(c);
    struct gf_attend a = {.p = p, .points = &points_of[kind], .row0 = row, .n = g->n, .ldz = wq};
    if (kind == GF_CROSS_ATTENTION) {
        a.mask = g->cross_mask;
        a.kv = g->cross;
        a.n_keys = GF_TRAINS(p) ? g->n_source : g->cross->length;
        a.q = b->cross_q + (int64_t)row * wq, a.ldq = wq;
        a.z = b->cross_z + (int64_t)row * wq;
        if (GF_TRAINS(p)) a.k = b->cross_kv + (int64_t)g->source0 * 2 * wkv, a.v = a.k + wkv, a.ldk = 2 * wkv;
        return a;
    }
    a.mask = g->mask;
    a.causal = p->causal;
    a.window = gf_layer_window(c, p->layer);
    a.alibi = c->position == GF_POS_ALIBI && c->use_position;
    a.relative = p->relative;
    a.kv = g->kv;
    a.pos0 = g->pos0, a.n_keys = g->pos0 + g->n;
    a.q = b->qkv + (int64_t)row * ld, a.k = a.q + wq, a.v = a.k + wkv, a.ldq = a.ldk = ld;
    a.z = b->z + (int64_t)row * wq;
    return a;
}

static void limit(float *x, float most, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = x[i] > most ? most : x[i] < -most ? -most : x[i];
}

/* The norms of q and k in b->qkv, in place. */
static void normalise_qk(const struct gf_pass *p, const struct gf_attn *w, const struct gf_bufs *b) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = gf_q_width(c), wkv = gf_kv_width(c), ld = gf_qkv_width(c), n = p->n;
    for (int64_t i = 0; b->qk_raw && i < n; i++)
        memcpy(b->qk_raw + i * (wq + wkv), b->qkv + i * ld, (size_t)(wq + wkv) * sizeof *b->qkv);
    gf_head_norm_forward(c, &w->q_norm, b->qkv, ld, n, c->n_heads);
    gf_head_norm_forward(c, &w->k_norm, b->qkv + wq, ld, n, c->n_kv_heads);
    for (int64_t i = 0; c->clip_qkv > 0 && i < n; i++) limit(b->qkv + i * ld, c->clip_qkv, wq + wkv);
}

/* b->qkv = x W^T, rows q | k | v, limited by clip_qkv; with norms of q and k these are limited after their norm. */
static void project(const struct gf_pass *p, const struct gf_attn *w, const struct gf_bufs *b, const float *x) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = gf_q_width(c), wkv = gf_kv_width(c), ld = gf_qkv_width(c), n = p->n;
    float *q = b->qkv, *k = q + wq, *v = k + wkv;
    gf_linear_forward(p, &w->in, q, x, n);
    const int32_t first = c->qk_norm ? wq + wkv : 0; /* of each row: v, or all */
    for (int64_t i = 0; c->clip_qkv > 0 && i < n; i++) limit(q + i * ld + first, c->clip_qkv, ld - first);
    gf_mark(p, GF_OP_QKV);
    gf_tap(p, GF_P_Q, q, ld, wq);
    gf_tap(p, GF_P_K, k, ld, wkv);
    gf_tap(p, GF_P_V, v, ld, wkv);
}

/* Rotate the first rotary_dim components of the first heads of n rows by rows of a table. */
static void rotate_heads(const struct gf_config *c, float *x, int32_t ld, const float *table, int32_t n,
                         int32_t heads) {
    const int32_t d = gf_rotary_dim(c), together = d == c->d_head ? heads : 1;
    for (int32_t h = 0; h < heads; h += together) gf_rope(x + h * c->d_head, ld, table, n, together, d, c->rope_pairs);
}

/* Rotate rows of q | k: the first rotary_kv_heads of k, and the q that read them. */
static void rotate_rows(const struct gf_config *c, float *qk, int32_t ld, const float *table, int32_t n) {
    const int32_t groups = gf_rotary_kv_heads(c);
    rotate_heads(c, qk, ld, table, n, groups * (c->n_heads / c->n_kv_heads));
    rotate_heads(c, qk + gf_q_width(c), ld, table, n, groups);
}

/* The training table's plane for the layer. */
static const float *training_table(const struct gf_pass *p) {
    const struct gf_config *c = p->cfg;
    return p->training->table + (gf_layer_is_local(c, p->layer) ? (int64_t)c->context_length * gf_rotary_dim(c) : 0);
}

/* Rotate the q and k of one segment, which lie side by side, by the angles of their positions. */
static void rotate_segment(const struct gf_pass *p, const struct gf_seg *g, float *qk, int32_t ld) {
    const struct gf_config *c = p->cfg;
    if (GF_TRAINS(p)) {
        rotate_rows(c, qk, ld, training_table(p), g->n);
        return;
    }
    const int local = gf_layer_is_local(c, p->layer);
    for (int32_t r = 0, run; r < g->n; r += run) { /* the cache keeps the table in blocks of positions */
        const int32_t pos = g->pos0 + r;
        run = GF_KV_BLOCK - pos % GF_KV_BLOCK;
        if (run > g->n - r) run = g->n - r;
        rotate_rows(c, qk + (int64_t)r * ld, ld, gf_kv_table(g->kv, pos, local), run);
    }
}

/* RoPE on the q and k of all segments, in place. */
static void rotate(const struct gf_pass *p, float *qkv) {
    const int64_t ld = gf_qkv_width(p->cfg);
    for (int32_t i = 0; gf_layer_rotates(p->cfg, p->layer) && i < p->n_segs; qkv += p->segs[i++].n * ld)
        rotate_segment(p, &p->segs[i], qkv, (int32_t)ld);
}

/* The norms of q and k and their rotation, in place. */
static void prepare_qk(const struct gf_pass *p, const struct gf_attn *w, const struct gf_bufs *b) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = gf_q_width(c), ld = gf_qkv_width(c);
    if (c->qk_norm && !c->qk_norm_rotated) normalise_qk(p, w, b);
    rotate(p, b->qkv);
    if (c->qk_norm_rotated) normalise_qk(p, w, b);
    gf_mark(p, GF_OP_ROPE);
    if (!gf_layer_rotates(c, p->layer)) return;
    gf_tap(p, GF_P_ROT_Q, b->qkv, ld, wq);
    gf_tap(p, GF_P_ROT_K, b->qkv + wq, ld, gf_kv_width(c));
}

/* Append the keys and values of all segments to their caches. */
static void append_to_caches(const struct gf_pass *p, const struct gf_bufs *b) {
    const int64_t ld = gf_qkv_width(p->cfg);
    const float *k = b->qkv + gf_q_width(p->cfg), *v = k + gf_kv_width(p->cfg);
    for (int32_t i = 0; i < p->n_segs; k += p->segs[i].n * ld, v += p->segs[i++].n * ld)
        gf_kv_write(p->segs[i].kv, p->layer, p->segs[i].pos0, p->segs[i].n, k, v, (int32_t)ld);
}

/* z = attention of q over the keys and values. */
static void attend(const struct gf_pass *p, const struct gf_bufs *b, enum gf_sublayer kind) {
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_attend a = attention_of(p, &p->segs[i], row, b, kind);
        if (GF_TRAINS(p))
            gf_attend_whole(&a);
        else
            gf_attend_cached(&a);
    }
}

/* Each head's contribution to the output, result[h] = z_h Wo[:, h]. Computed only where it is captured or edited. An
 * edit is added to the output as its difference. gf_observe_begin reserved the scratch. */
static void per_head_results(const struct gf_pass *p, const struct gf_attn *w, int32_t point, float *out,
                             const float *z) {
    if (GF_TRAINS(p) || !gf_tapped(p, point)) return;
    const struct gf_config *c = p->cfg;
    struct gf_observe *o = p->observe;
    const int32_t width = gf_q_width(c), d = c->d_model;
    const int64_t all = (int64_t)c->n_heads * d;
    float *one_head = o->scratch, *results = one_head + width, *before = results + all;
    const int edited = o->edited[gf_place(c, p->stack, p->layer, point)];
    for (int32_t i = 0; i < p->n; i++) {
        for (int32_t h = 0; h < c->n_heads; h++) {
            memset(one_head, 0, (size_t)width * sizeof *one_head);
            memcpy(one_head + h * c->d_head, z + (int64_t)i * width + h * c->d_head,
                   (size_t)c->d_head * sizeof *one_head);
            gf_matmul(results + (int64_t)h * d, one_head, &w->o.w, NULL, 1, p->matmul_scratch, p->pool);
        }
        memcpy(before, results, (size_t)all * sizeof *before);
        gf_tap_rows(o, p->stack, p->layer, point, i, results, c->n_heads * d, 1, c->n_heads * d);
        float *y = out + (int64_t)i * d;
        for (int64_t j = 0; edited && j < all; j++) y[j % d] += results[j] - before[j];
    }
}

/* out = z Wo^T */
static void project_out(const struct gf_pass *p, const struct gf_attn *w, const struct gf_attend_points *points,
                        float *z, float *out) {
    const int32_t wq = gf_q_width(p->cfg);
    gf_tap(p, points->z, z, wq, wq);
    gf_mark(p, points->attend_op);
    gf_linear_forward(p, &w->o, out, z, p->n);
    gf_mark(p, points->out_op);
    per_head_results(p, w, points->result, out, z);
}

void gf_attention_project(const struct gf_pass *p, const struct gf_attn *w, const struct gf_bufs *b, const float *x) {
    project(p, w, b, x);
    prepare_qk(p, w, b);
    if (!GF_TRAINS(p)) append_to_caches(p, b);
}

void gf_attention_forward(const struct gf_pass *p, const struct gf_attn *w, const struct gf_bufs *b) {
    attend(p, b, GF_SELF_ATTENTION);
    project_out(p, w, &points_of[GF_SELF_ATTENTION], b->z, b->sub[GF_SELF_ATTENTION].out);
}

void gf_cross_attention_forward(const struct gf_pass *p, const struct gf_attn *w, const struct gf_bufs *b,
                                const float *x) {
    const int32_t wq = gf_q_width(p->cfg);
    gf_linear_forward(p, &w->in, b->cross_q, x, p->n);
    gf_mark(p, GF_OP_CROSS_Q);
    gf_tap(p, GF_P_CROSS_Q, b->cross_q, wq, wq);
    if (GF_TRAINS(p)) gf_linear_forward(p, &w->kv, b->cross_kv, p->training->encoded, p->training->n_encoded);
    attend(p, b, GF_CROSS_ATTENTION);
    project_out(p, w, &points_of[GF_CROSS_ATTENTION], b->cross_z, b->sub[GF_CROSS_ATTENTION].out);
}

void gf_cross_keys_values(const struct gf_pass *p, const struct gf_attn *w, struct gf_kv *cross, const float *encoded,
                          float *kv) {
    const int32_t wkv = gf_kv_width(p->cfg);
    gf_linear_forward(p, &w->kv, kv, encoded, p->n);
    gf_tap(p, GF_P_CROSS_K, kv, 2 * wkv, wkv);
    gf_tap(p, GF_P_CROSS_V, kv + wkv, 2 * wkv, wkv);
    gf_kv_write(cross, p->layer, 0, p->n, kv, kv + wkv, 2 * wkv);
    gf_mark(p, GF_OP_CROSS_KV);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* The inverse of a rotation is the rotation by the opposite angle: the same kernel with the signs of the sines
 * changed. */
static void rotate_backward(const struct gf_pass *p, float *dx, int32_t ld, int32_t n) {
    const struct gf_config *c = p->cfg;
    const int32_t d = gf_rotary_dim(c), half = d / 2;
    for (int32_t i = 0; i < n; i++) {
        const float *row = training_table(p) + (int64_t)i * d;
        float *back = p->training->work; /* free here: [rotary_dim] */
        for (int32_t j = 0; j < half; j++) back[j] = row[j], back[half + j] = -row[half + j];
        rotate_rows(c, dx + (int64_t)i * ld, ld, back, 1);
    }
}

/* The heads' results are summed: each has the gradient of the sum. */
static void results_backward(const struct gf_pass *p, int32_t point, const float *dout) {
    if (!gf_tapped(p, point)) return;
    const int32_t d = p->cfg->d_model, heads = p->cfg->n_heads;
    float *row = p->observe->scratch;
    for (int32_t i = 0; i < p->n; i++) {
        for (int32_t h = 0; h < heads; h++)
            memcpy(row + (int64_t)h * d, dout + (int64_t)i * d, (size_t)d * sizeof *row);
        gf_tap_rows(p->observe, p->stack, p->layer, point, i, row, heads * d, 1, heads * d);
    }
}

static void normalise_qk_backward(const struct gf_pass *p, const struct gf_attn *w, struct gf_attn *dw,
                                  const struct gf_bufs *b, float *dqkv) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = gf_q_width(c), ld = gf_qkv_width(c), raw = wq + gf_kv_width(c);
    gf_head_norm_backward(c, &w->q_norm, &dw->q_norm, dqkv, ld, b->qk_raw, raw, p->n, c->n_heads);
    gf_head_norm_backward(c, &w->k_norm, &dw->k_norm, dqkv + wq, ld, b->qk_raw + wq, raw, p->n, c->n_kv_heads);
}

static void prepare_qk_backward(const struct gf_pass *p, const struct gf_attn *w, struct gf_attn *dw,
                                const struct gf_bufs *b, float *dqkv) {
    const struct gf_config *c = p->cfg;
    const int32_t ld = gf_qkv_width(c);
    const int rotary = gf_layer_rotates(c, p->layer);
    if (rotary) {
        gf_tap(p, GF_P_ROT_Q, dqkv, ld, gf_q_width(c));
        gf_tap(p, GF_P_ROT_K, dqkv + gf_q_width(c), ld, gf_kv_width(c));
    }
    if (c->qk_norm_rotated) normalise_qk_backward(p, w, dw, b, dqkv);
    int32_t row = 0;
    for (int32_t i = 0; rotary && i < p->n_segs; row += p->segs[i++].n)
        rotate_backward(p, dqkv + (int64_t)row * ld, ld, p->segs[i].n);
    if (c->qk_norm && !c->qk_norm_rotated) normalise_qk_backward(p, w, dw, b, dqkv);
}

void gf_attention_backward(const struct gf_pass *p, const struct gf_attn *w, struct gf_attn *dw,
                           const struct gf_bufs *b, struct gf_back *g, const float *dout, const float *x) {
    const struct gf_config *c = p->cfg;
    const int32_t wq = gf_q_width(c), wkv = gf_kv_width(c), ld = gf_qkv_width(c), n = p->n;
    results_backward(p, GF_P_RESULT, dout);
    gf_linear_backward(p, &w->o, &dw->o, g->z, 0, dout, b->z, n);
    gf_tap(p, GF_P_Z, g->z, wq, wq);
    memset(g->qkv, 0, (size_t)n * (size_t)ld * sizeof *g->qkv);
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_attend a = attention_of(p, &p->segs[i], row, b, GF_SELF_ATTENTION);
        float *dq = g->qkv + (int64_t)row * ld;
        gf_attend_whole_backward(&a, g->z + (int64_t)row * wq, dq, dq + wq, dq + wq + wkv, g->relative);
    }
    prepare_qk_backward(p, w, dw, b, g->qkv);
    gf_tap(p, GF_P_Q, g->qkv, ld, wq);
    gf_tap(p, GF_P_K, g->qkv + wq, ld, wkv);
    gf_tap(p, GF_P_V, g->qkv + wq + wkv, ld, wkv);
    gf_linear_backward(p, &w->in, &dw->in, g->in, 0, g->qkv, x, n);
}

void gf_cross_attention_backward(const struct gf_pass *p, const struct gf_attn *w, struct gf_attn *dw,
                                 const struct gf_bufs *b, struct gf_back *g, const float *dout, const float *x) {
    const struct gf_training *t = p->training;
    const int32_t wq = gf_q_width(p->cfg), wkv = gf_kv_width(p->cfg);
    float *dq = g->qkv;
    results_backward(p, GF_P_CROSS_RESULT, dout);
    gf_linear_backward(p, &w->o, &dw->o, g->z, 0, dout, b->cross_z, p->n);
    gf_tap(p, GF_P_CROSS_Z, g->z, wq, wq);
    memset(g->cross_kv, 0, (size_t)t->n_encoded * 2 * (size_t)wkv * sizeof *g->cross_kv);
    int32_t row = 0;
    for (int32_t i = 0; i < p->n_segs; row += p->segs[i++].n) {
        const struct gf_attend a = attention_of(p, &p->segs[i], row, b, GF_CROSS_ATTENTION);
        float *dk = g->cross_kv + (int64_t)p->segs[i].source0 * 2 * wkv;
        gf_attend_whole_backward(&a, g->z + (int64_t)row * wq, dq + (int64_t)row * wq, dk, dk + wkv, NULL);
    }
    gf_tap(p, GF_P_CROSS_Q, dq, wq, wq);
    for (int32_t part = 0; p->observe && part < 2; part++) /* rows of the source: gf_tap has those of the pass */
        gf_tap_rows(p->observe, p->stack, p->layer, part ? GF_P_CROSS_V : GF_P_CROSS_K, 0, g->cross_kv + part * wkv,
                    2 * wkv, t->n_encoded, wkv);
    gf_linear_backward(p, &w->in, &dw->in, g->in, 0, dq, x, p->n);
    gf_linear_backward(p, &w->kv, &dw->kv, g->encoded, 1, g->cross_kv, t->encoded, t->n_encoded);
}
