/* graph.c - see graph.h. Each layer has its own buffers (pass.h), because backward reads them. */
#include "train/graph.h"
#include "base/arena.h" /* gf_calloc */
#include "base/bytes.h"
#include "model/layers/attend.h" /* gf_attend_whole_work */
#include "model/layers/block.h"
#include "model/config.h" /* gf_q_width, gf_ffn_gated, gf_layer_sparse, gf_widest_ffn, gf_norm_before */
#include "model/layers/dropout.h"
#include "model/layers/embed.h"
#include "model/layers/norm.h"
#include "model/layers/position_tables.h"
#include "model/layers/relative.h"
#include "train/loss.h"
#include <stdlib.h>
#include <string.h>

/* Logits in memory at a time: of so many rows at most, and, but for a few rows, so many. */
enum { LOSS_ROWS = 256, LOSS_ROWS_LEAST = 16, LOGITS_MOST = 1 << 24 };
static int32_t loss_rows(const struct gf_config *c) {
    const int32_t rows = LOGITS_MOST / gf_head_rows(c);
    return rows > LOSS_ROWS ? LOSS_ROWS : rows < LOSS_ROWS_LEAST ? LOSS_ROWS_LEAST : rows;
}

/* Take rows * width floats from the arena. */
static void take(struct gf_graph *g, float **to, int64_t rows, int64_t width) {
    *to = gf_arena_take(&g->arena, gf_mul_u64(gf_mul_u64((uint64_t)rows, (uint64_t)width), sizeof(float)));
}

/* The buffers of a layer with experts: a row for each token and each expert that works on it. */
static void plan_experts(struct gf_graph *g, struct gf_bufs *b, int32_t n) {
    const struct gf_config *c = &g->cfg;
    const int32_t shared = gf_shared_experts(c);
    const int64_t rows = (int64_t)n * (c->n_experts_used + shared),
                  width = (int64_t)c->n_experts_used * c->d_expert + c->d_shared_expert;
    take(g, &b->ffn_pre, n, gf_ffn_gated(c) ? 2 * width : width);
    take(g, &b->ffn_post, n, width);
    take(g, &b->expert_in, rows, c->d_model);
    take(g, &b->expert_out, rows, c->d_model);
    take(g, &b->routed, n, c->n_experts + shared);
    take(g, &b->chosen, rows, 1);
    take(g, &b->expert_weights, rows, 1);
}

/* The rows of a sublayer. */
static void plan_sublayer(struct gf_graph *g, struct gf_sublayer_bufs *s, int32_t n) {
    const struct gf_config *c = &g->cfg;
    const int32_t d = c->d_model;
    if (gf_norm_before(c)) take(g, &s->normed, n, d);
    take(g, &s->mean, n, 1);
    take(g, &s->rstd, n, 1);
    take(g, &s->out, n, d);
    s->added = s->out, s->mean_out = s->mean, s->rstd_out = s->rstd;
    if (gf_norm_of_output(c)) {
        take(g, &s->added, n, d);
        take(g, &s->mean_out, n, 1);
        take(g, &s->rstd_out, n, 1);
    }
    if (c->norm_placement == GF_POST_NORM) take(g, &s->sum, n, d);
    take(g, &s->after, n, d);
}

/* One layer's buffers for n rows. resid_pre is the output of the layer before. Returns the layer's output. */
static float *plan_layer(struct gf_graph *g, struct gf_bufs *b, int32_t stack, int32_t layer, float *resid_pre,
                         int32_t n, int32_t n_source) {
    const struct gf_config *c = &g->cfg;
    const int32_t wq = gf_q_width(c), wkv = gf_kv_width(c);
    b->resid_pre = resid_pre;
    for (int32_t kind = 0; kind < GF_N_SUBLAYERS; kind++) {
        if (!gf_has_sublayer(c, stack, kind)) continue;
        plan_sublayer(g, &b->sub[kind], n);
        b->resid_post = b->sub[kind].after;
    }
    take(g, &b->qkv, n, gf_qkv_width(c));
    take(g, &b->z, n, wq);
    if (c->qk_norm) take(g, &b->qk_raw, n, wq + wkv);
    if (n_source) {
        take(g, &b->cross_q, n, wq);
        take(g, &b->cross_kv, n_source, 2 * wkv);
        take(g, &b->cross_z, n, wq);
    }
    if (gf_layer_sparse(c, layer)) {
        plan_experts(g, b, n);
    } else {
        take(g, &b->ffn_pre, n, (gf_ffn_gated(c) ? 2 : 1) * (int64_t)gf_dense_ffn(c));
        take(g, &b->ffn_post, n, gf_dense_ffn(c));
    }
    return b->resid_post;
}

static void plan_back(struct gf_graph *g, struct gf_back *b, int32_t n, int32_t n_source) {
    const struct gf_config *c = &g->cfg;
    const int32_t d = c->d_model;
    take(g, &b->resid, n, d);
    take(g, &b->out, n, d);
    take(g, &b->in, n, d);
    take(g, &b->first, c->parallel_residual ? n : 0, d);
    take(g, &b->qkv, n, gf_qkv_width(c));
    take(g, &b->z, n, gf_q_width(c));
    take(g, &b->ffn_pre, n, (gf_ffn_gated(c) ? 2 : 1) * (int64_t)gf_widest_ffn(c));
    take(g, &b->ffn_post, n, gf_widest_ffn(c));
    take(g, &b->expert_in, c->n_experts ? n : 0, d);
    take(g, &b->expert_out, c->n_experts ? n : 0, d);
    take(g, &b->routed, n, c->n_experts + gf_shared_experts(c));
    take(g, &b->expert_weights, n, c->n_experts_used + gf_shared_experts(c));
    if (n_source) take(g, &b->cross_kv, n_source, 2 * gf_kv_width(c));
    take(g, &b->relative, c->n_heads, gf_relative_width(c));
}

/* The buffers of a stack for n rows, in cross-attention to n_source. */
static void plan_stack(struct gf_graph *g, struct gf_stack_graph *s, int32_t stack, int32_t n, int32_t n_source) {
    const struct gf_config *c = &g->cfg;
    const int32_t d = c->d_model, projected = gf_embed_projected(c) ? n : 0, normed = c->embed_norm ? n : 0;
    take(g, &s->relative, c->n_heads, gf_relative_width(c));
    take(g, &s->embedded.rows, projected, gf_embed_width(c));
    take(g, &s->embedded.pos, n, d);
    take(g, &s->embedded.sum, normed, d);
    take(g, &s->embedded.mean, normed, 1);
    take(g, &s->embedded.rstd, normed, 1);
    take(g, &s->hidden, n, d);
    take(g, &s->dhidden, n, d);
    take(g, &s->mean, n, 1);
    take(g, &s->rstd, n, 1);
    take(g, &s->input, n, d);
    float *x = s->input;
    for (int32_t l = 0; l < s->n_layers; l++) x = plan_layer(g, &s->layers[l], stack, l, x, n, n_source);
    s->last = x;
    plan_back(g, &s->back, n, n_source);
}

/* The rows between the states and the head. */
static void plan_head(struct gf_graph *g) {
    const struct gf_config *c = &g->cfg;
    const int64_t d = c->d_model;
    const int pooled = gf_label_pooled(c);
    const int32_t n = pooled ? g->max_seqs : g->max_rows;
    struct gf_transformed *t = &g->transformed;
    take(g, &g->pooled, pooled && c->pooler ? n : 0, d);
    take(g, &g->label_rows, pooled ? n : 0, d);
    t->out = g->label_rows;
    if (!gf_head_transformed(c)) return;
    take(g, &t->pre, n, d);
    take(g, &t->active, n, d);
    t->out = t->active;
    if (!c->mlm_head && !c->label_norm) return;
    take(g, &t->out, n, d);
    take(g, &t->mean, n, 1);
    take(g, &t->rstd, n, 1);
}

/* All buffers. */
static void plan(struct gf_graph *g) {
    const struct gf_config *c = &g->cfg;
    const int64_t n = g->max_rows;
    const int projected = gf_embed_projected(c);
    take(g, &g->table, c->context_length, gf_position_width(c));
    take(g, &g->drows, projected ? n : 0, gf_embed_width(c));
    take(g, &g->projected, projected ? loss_rows(c) : 0, gf_embed_width(c));
    take(g, &g->dprojected, projected ? loss_rows(c) : 0, gf_embed_width(c));
    take(g, &g->capped, c->logit_softcap > 0 ? loss_rows(c) : 0, gf_head_rows(c));
    take(g, &g->work, (int64_t)gf_attend_whole_work(c->context_length) + c->d_head, 1);
    take(g, &g->logits, loss_rows(c), gf_head_rows(c));
    plan_head(g);
    plan_stack(g, &g->decoder, gf_main_stack(c), g->max_rows, g->max_source);
    if (g->max_source) plan_stack(g, &g->encoder, GF_STACK_ENCODER, g->max_source, 0);
}

/* The feature of a configuration whose gradient is not implemented, or NULL. */
static const char *lacks(const struct gf_config *cfg) {
    if (!gf_has_head(cfg)) return "an encoder without mlm_head";
    if (gf_embed_narrow(cfg)) return "an encoder with d_embed";
    if (cfg->clip_qkv > 0) return "clip_qkv";
    if (cfg->rope_scaling == GF_ROPE_SCALING_DYNAMIC) return "rope_scaling dynamic";
    if (cfg->rope_scaling == GF_ROPE_SCALING_LONGROPE) return "rope_scaling longrope";
    return NULL;
}

int32_t gf_graph_check(const struct gf_config *cfg, int loss, struct gf_error *err) {
    const int32_t status = gf_config_check(cfg, err);
    if (status != GF_OK) return status;
    if (lacks(cfg))
        return gf_fail(err, GF_ERR_UNSUPPORTED, "the gradient of %s is not implemented: it cannot be trained",
                       lacks(cfg));
    return loss && cfg->n_labels ? gf_fail(err, GF_ERR_UNSUPPORTED, "a classifier has no loss of tokens") : GF_OK;
}

/* Returns 0, or -1 if memory is missing. */
static int open_stack(struct gf_stack_graph *s, const struct gf_config *cfg, int32_t stack, int32_t n_layers,
                      int32_t max_seqs) {
    s->cfg = gf_stack_config(cfg, stack);
    s->n_layers = n_layers;
    s->layers = gf_calloc((uint64_t)n_layers + 1, sizeof *s->layers);
    s->segs = gf_calloc((uint64_t)max_seqs + 1, sizeof *s->segs);
    return s->layers && s->segs ? 0 : -1;
}

int gf_graph_open(struct gf_graph *g, const struct gf_config *cfg, int32_t max_rows, int32_t max_source,
                  int32_t max_seqs, gf_gemm_fn gemm) {
    gf_kernels_init();
    memset(g, 0, sizeof *g);
    g->cfg = *cfg;
    const int32_t longest = max_rows > max_source ? max_rows : max_source;
    if (longest < cfg->context_length) g->cfg.context_length = longest; /* no sequence reaches farther */
    cfg = &g->cfg;
    g->max_rows = max_rows;
    g->max_seqs = max_seqs;
    g->max_source = cfg->kind == GF_ENCODER_DECODER ? max_source : 0;
    g->gemm = gemm;
    if (open_stack(&g->decoder, cfg, GF_STACK_DECODER, cfg->n_layers, max_seqs) ||
        open_stack(&g->encoder, cfg, GF_STACK_ENCODER, cfg->n_encoder_layers, max_seqs))
        goto no_memory;
    plan(g);
    if (gf_arena_open(&g->arena, g->arena.used)) goto no_memory;
    plan(g);
    if (g->table) gf_position_table(cfg, g->table, 0, cfg->context_length, 0);
    return 0;
no_memory:
    gf_graph_close(g);
    return -1;
}

void gf_graph_close(struct gf_graph *g) {
    gf_arena_close(&g->arena);
    free(g->decoder.layers);
    free(g->encoder.layers);
    free(g->decoder.segs);
    free(g->encoder.segs);
    memset(g, 0, sizeof *g);
}

/* ---- forward and backward of a stack ----------------------------------------------------------------------------- */

/* Whether a pass runs the encoder of an encoder_decoder, which has weights of its own. */
static int is_source(const struct gf_pass *p) {
    return p->stack == GF_STACK_ENCODER && p->cfg->kind == GF_ENCODER_DECODER;
}

/* From the ids to s->hidden. */
static void forward_stack(struct gf_stack_graph *s, struct gf_pass *p, const struct gf_weights *w, const int32_t *ids) {
    const struct gf_config *c = p->cfg;
    const int source = is_source(p);
    const struct gf_block *blocks = source ? w->encoder_blocks : w->blocks;
    if (c->relative_buckets && c->use_position) {
        gf_relative_spread(c, p->stack == GF_STACK_ENCODER, s->relative, source ? w->encoder_relative : w->relative);
        p->relative = s->relative;
    }
    gf_embed_forward(p, w, &s->embedded, s->input, ids);
    gf_dropout(p, 0, s->input, s->input);
    for (p->layer = 0; p->layer < s->n_layers; p->layer++) gf_block_forward(p, &blocks[p->layer], &s->layers[p->layer]);
    p->layer = -1;
    if (c->final_norm)
        gf_norm_forward(p, source ? &w->encoder_final_norm : &w->final_norm, GF_P_LN_FINAL, s->hidden, s->last, s->mean,
                        s->rstd);
    else
        memcpy(s->hidden, s->last, (size_t)p->n * (size_t)c->d_model * sizeof *s->hidden);
}

/* From dhidden, the gradient of s->hidden, to dw. */
static void backward_stack(struct gf_stack_graph *s, struct gf_pass *p, const struct gf_weights *w,
                           struct gf_weights *dw, const float *dhidden, float *drows, const int32_t *ids) {
    const struct gf_config *c = p->cfg;
    const int source = is_source(p);
    const struct gf_block *blocks = source ? w->encoder_blocks : w->blocks;
    struct gf_block *dblocks = source ? dw->encoder_blocks : dw->blocks;
    struct gf_back *back = &s->back;
    if (c->final_norm)
        gf_norm_backward(p, source ? &w->encoder_final_norm : &w->final_norm,
                         source ? &dw->encoder_final_norm : &dw->final_norm, GF_P_LN_FINAL, back->resid, 0, dhidden,
                         s->last, s->mean, s->rstd);
    else
        memcpy(back->resid, dhidden, (size_t)p->n * (size_t)c->d_model * sizeof *dhidden);
    if (p->relative) memset(back->relative, 0, (size_t)c->n_heads * (size_t)gf_relative_width(c) * sizeof(float));
    for (p->layer = s->n_layers - 1; p->layer >= 0; p->layer--)
        gf_block_backward(p, &blocks[p->layer], &dblocks[p->layer], &s->layers[p->layer], back);
    float *drelative = source ? dw->encoder_relative : dw->relative;
    if (p->relative && drelative) gf_relative_fold(c, p->stack == GF_STACK_ENCODER, drelative, back->relative);
    gf_dropout(p, 0, back->resid, back->resid);
    gf_embed_backward(p, w, dw, &s->embedded, drows, back->resid, ids);
}

/* ---- one batch --------------------------------------------------------------------------------------------------- */

struct run { /* the pass of each stack */
    struct gf_training t;
    struct gf_pass decoder, encoder; /* the passes over the stacks of struct gf_graph */
};

/* Whether there is anything between the states and the head. */
static int between(const struct gf_config *c) { return gf_head_transformed(c) || gf_label_pooled(c); }

/* From the ids to g->decoder.hidden, and to what the head reads. */
static void forward(struct gf_graph *g, struct run *r, const struct gf_weights *w, const struct gf_batch *batch,
                    float dropout, uint64_t seed) {
    const struct gf_config *c = &g->cfg;
    const int two = c->kind == GF_ENCODER_DECODER;
    r->t = (struct gf_training){.gemm = g->gemm,
                                .by_panels = g->by_panels,
                                .adapters = g->adapters,
                                .n_adapters = g->n_adapters,
                                .low = g->low,
                                .table = g->table,
                                .dropout = dropout,
                                .seed = seed,
                                .work = g->work,
                                .encoded = g->encoder.hidden,
                                .n_encoded = batch->n_source};
    for (int32_t i = 0, source0 = 0; i < batch->n_seqs; i++) {
        const int32_t from = two ? batch->source_lengths[i] : 0;
        g->decoder.segs[i] = (struct gf_seg){.n = batch->lengths[i], .source0 = source0, .n_source = from};
        g->encoder.segs[i] = (struct gf_seg){.n = from};
        source0 += from;
    }
    r->decoder = (struct gf_pass){.cfg = &g->decoder.cfg,
                                  .stack = gf_main_stack(c),
                                  .layer = -1,
                                  .causal = c->causal,
                                  .n = batch->n,
                                  .segs = g->decoder.segs,
                                  .n_segs = batch->n_seqs,
                                  .observe = g->changes,
                                  .pool = g->pool,
                                  .training = &r->t};
    if (two) {
        r->encoder = r->decoder;
        r->encoder.cfg = &g->encoder.cfg;
        r->encoder.stack = GF_STACK_ENCODER;
        r->encoder.causal = 0;
        r->encoder.n = batch->n_source;
        r->encoder.segs = g->encoder.segs;
        r->encoder.observe = NULL;
        forward_stack(&g->encoder, &r->encoder, w, batch->source_ids);
    }
    forward_stack(&g->decoder, &r->decoder, w, batch->ids);
    if (c->pooler && gf_label_pooled(c)) gf_pooler_forward(&r->decoder, w, g->pooled, g->decoder.hidden);
    if (between(c))
        gf_before_head_forward(&r->decoder, w, &g->transformed, g->label_rows, g->pooled, g->decoder.hidden);
}

/* The rows that the head reads. */
static float *head_rows(const struct gf_graph *g) { return between(&g->cfg) ? g->transformed.out : g->decoder.hidden; }

/* The terms of the metric in the n rows from `first` on; their logits become its gradient. */
static double differentiate(float *logits, const struct gf_metric *m, int32_t first, int32_t n, int32_t width) {
    double value = 0;
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < m->n; i++) {
            const int32_t row = m->rows[i] - first;
            if (row < 0 || row >= n) continue;
            float *x = logits + (int64_t)row * width + m->tokens[i];
            if (pass)
                *x += m->weights[i];
            else
                value += (double)m->weights[i] * (double)*x;
        }
        if (!pass) memset(logits, 0, (size_t)n * (size_t)width * sizeof *logits);
    }
    return value;
}

/* The rows that a metric reads: *from ... *to - 1. */
static void rows_of_metric(const struct gf_metric *m, int32_t *from, int32_t *to) {
    *from = *to = m->rows[0];
    for (int32_t i = 0; i < m->n; i++) {
        if (m->rows[i] < *from) *from = m->rows[i];
        if (m->rows[i] >= *to) *to = m->rows[i] + 1;
    }
}

/* The loss, from the logits of loss_rows rows at a time, or the metric, from those of its rows; with dw also the
 * gradients of hidden and of the head. */
static double head(struct gf_graph *g, const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw,
                   const struct gf_batch *batch, float scale, const struct run *teacher_runs, int32_t n_teachers) {
    const struct gf_config *c = &g->cfg;
    const int32_t *teacher_targets = batch->teacher_targets ? batch->teacher_targets : batch->targets;
    const int32_t width = gf_head_rows(c), rows = gf_label_pooled(c) ? batch->n_seqs : batch->n, most = loss_rows(c);
    int32_t from = 0, to = rows;
    if (g->metric) rows_of_metric(g->metric, &from, &to);
    double loss = 0;
    g->right = 0;
    if (g->metric && dw) memset(g->decoder.dhidden, 0, (size_t)batch->n * (size_t)c->d_model * sizeof(float));
    for (int32_t i = from; i < to; i += most) {
        const int32_t n = to - i < most ? to - i : most;
        const int64_t offset = (int64_t)i * c->d_model;
        gf_head_forward(p, w, g->logits, g->projected, head_rows(g) + offset, n);
        if (g->capped && dw) memcpy(g->capped, g->logits, (size_t)n * (size_t)width * sizeof *g->logits);
        loss += g->metric ? differentiate(g->logits, g->metric, i, n, width)
                          : gf_cross_entropy(g->logits, batch->targets + i, n, width, scale, dw != NULL, &g->right);
        for (int32_t k = 0; k < n_teachers; k++) {
            const struct gf_teacher *teacher = &g->teachers[k];
            struct gf_graph *other = teacher->graph;
            gf_head_forward(&teacher_runs[k].decoder, teacher->w, other->logits, other->projected,
                            head_rows(other) + (int64_t)i * other->cfg.d_model, n);
            gf_distil(g->logits, other->logits, teacher_targets + i, n, width, scale * teacher->share);
        }
        if (dw)
            gf_head_backward(p, w, dw, g->decoder.dhidden + offset, g->logits, g->capped, g->projected, g->dprojected,
                             head_rows(g) + offset, n);
    }
    return loss;
}

double gf_graph_run(struct gf_graph *g, const struct gf_weights *w, struct gf_weights *dw, const struct gf_batch *batch,
                    float scale, float dropout, uint64_t seed) {
    const struct gf_config *c = &g->cfg;
    struct gf_stack_graph *d = &g->decoder, *e = &g->encoder;
    struct run r, teacher_runs[GF_TEACHERS];
    forward(g, &r, w, batch, dropout, seed);
    const int32_t n_teachers = dw ? g->n_teachers : 0;
    for (int32_t k = 0; k < n_teachers; k++)
        forward(g->teachers[k].graph, &teacher_runs[k], g->teachers[k].w, batch, 0, 0);
    const double loss = head(g, &r.decoder, w, dw, batch, scale, teacher_runs, n_teachers);
    if (!dw) return loss;

    r.decoder.observe = r.encoder.observe = g->observe;
    float *dhidden = d->dhidden;
    if (between(c)) {
        dhidden = d->back.out;
        gf_before_head_backward(&r.decoder, w, dw, dhidden, d->back.in, d->dhidden, &g->transformed, g->label_rows,
                                g->pooled, d->hidden);
    }
    if (c->kind == GF_ENCODER_DECODER) {
        d->back.encoded = e->dhidden;
        memset(e->dhidden, 0, (size_t)batch->n_source * (size_t)c->d_model * sizeof *e->dhidden);
    }
    backward_stack(d, &r.decoder, w, dw, dhidden, g->drows, batch->ids);
    if (c->kind == GF_ENCODER_DECODER) backward_stack(e, &r.encoder, w, dw, e->dhidden, g->drows, batch->source_ids);
    return loss;
}
