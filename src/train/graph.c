/* graph.c - see graph.h. Each layer has its own buffers (pass.h), because backward reads them. */
#include "train/graph.h"
#include "base/bytes.h"
#include "model/attend.h" /* gf_attend_whole_work */
#include "model/block.h"
#include "model/config.h" /* gf_q_width, gf_ffn_gated, gf_layer_sparse, gf_widest_ffn, gf_norm_before */
#include "model/dropout.h"
#include "model/embed.h"
#include "model/norm.h"
#include "model/position.h"
#include "model/relative.h"
#include "train/loss.h"
#include <stdlib.h>
#include <string.h>

enum { LOSS_ROWS = 256 }; /* rows whose logits are in memory at a time */

/* Add rows * width floats to g->bytes; with `carve` also take them from the arena. */
static void take(struct gf_graph *g, float **to, int64_t rows, int64_t width, int carve) {
    const uint64_t bytes = gf_mul_u64(gf_mul_u64((uint64_t)rows, (uint64_t)width), sizeof(float));
    g->bytes = gf_add_u64(g->bytes, gf_arena_share(bytes));
    if (carve) *to = gf_arena_take(&g->arena, bytes);
}

/* The buffers of a layer with experts: a row for each token and each expert that works on it. */
static void plan_experts(struct gf_graph *g, struct gf_bufs *b, int32_t n, int carve) {
    const struct gf_config *c = &g->cfg;
    const int32_t shared = gf_shared_experts(c);
    const int64_t rows = (int64_t)n * (c->n_experts_used + shared),
                  width = (int64_t)c->n_experts_used * c->d_expert + c->d_shared_expert;
    take(g, &b->ffn_pre, n, gf_ffn_gated(c) ? 2 * width : width, carve);
    take(g, &b->ffn_post, n, width, carve);
    take(g, &b->expert_in, rows, c->d_model, carve);
    take(g, &b->expert_out, rows, c->d_model, carve);
    take(g, &b->routed, n, c->n_experts + shared, carve);
    take(g, &b->chosen, rows, 1, carve);
    take(g, &b->expert_weights, rows, 1, carve);
}

/* The rows of a sublayer. */
static void plan_sublayer(struct gf_graph *g, struct gf_sublayer_bufs *s, int32_t n, int carve) {
    const struct gf_config *c = &g->cfg;
    const int32_t d = c->d_model;
    if (gf_norm_before(c)) take(g, &s->normed, n, d, carve);
    take(g, &s->mean, n, 1, carve);
    take(g, &s->rstd, n, 1, carve);
    take(g, &s->out, n, d, carve);
    s->added = s->out, s->mean_out = s->mean, s->rstd_out = s->rstd;
    if (gf_norm_of_output(c)) {
        take(g, &s->added, n, d, carve);
        take(g, &s->mean_out, n, 1, carve);
        take(g, &s->rstd_out, n, 1, carve);
    }
    if (c->norm_placement == GF_POST_NORM) take(g, &s->sum, n, d, carve);
    take(g, &s->after, n, d, carve);
}

/* One layer's buffers for n rows. resid_pre is the output of the layer before. Returns the layer's output. */
static float *plan_layer(struct gf_graph *g, int32_t stack, int32_t layer, float *resid_pre, int32_t n,
                         int32_t n_source, int carve) {
    const struct gf_config *c = &g->cfg;
    const int32_t wq = gf_q_width(c), wkv = gf_kv_width(c);
    struct gf_bufs *b = stack == GF_STACK_ENCODER ? &g->encoder[layer] : &g->decoder[layer];
    b->resid_pre = resid_pre;
    for (int32_t kind = 0; kind < GF_N_SUBLAYERS; kind++) {
        if (!gf_has_sublayer(c, stack, kind)) continue;
        plan_sublayer(g, &b->sub[kind], n, carve);
        b->resid_post = b->sub[kind].after;
    }
    take(g, &b->qkv, n, gf_qkv_width(c), carve);
    take(g, &b->z, n, wq, carve);
    if (c->qk_norm) take(g, &b->qk_raw, n, wq + wkv, carve);
    if (n_source) {
        take(g, &b->cross_q, n, wq, carve);
        take(g, &b->cross_kv, n_source, 2 * wkv, carve);
        take(g, &b->cross_z, n, wq, carve);
    }
    if (gf_layer_sparse(c, layer)) {
        plan_experts(g, b, n, carve);
    } else {
        take(g, &b->ffn_pre, n, gf_ffn_gated(c) ? 2 * c->d_ff : c->d_ff, carve);
        take(g, &b->ffn_post, n, c->d_ff, carve);
    }
    return b->resid_post;
}

static void plan_back(struct gf_graph *g, struct gf_back *b, int32_t n, int32_t n_source, int carve) {
    const struct gf_config *c = &g->cfg;
    const int32_t d = c->d_model;
    take(g, &b->resid, n, d, carve);
    take(g, &b->out, n, d, carve);
    take(g, &b->in, n, d, carve);
    take(g, &b->first, c->parallel_residual ? n : 0, d, carve);
    take(g, &b->qkv, n, gf_qkv_width(c), carve);
    take(g, &b->z, n, gf_q_width(c), carve);
    take(g, &b->ffn_pre, n, (gf_ffn_gated(c) ? 2 : 1) * (int64_t)gf_widest_ffn(c), carve);
    take(g, &b->ffn_post, n, gf_widest_ffn(c), carve);
    take(g, &b->expert_in, c->n_experts ? n : 0, d, carve);
    take(g, &b->expert_out, c->n_experts ? n : 0, d, carve);
    take(g, &b->routed, n, c->n_experts + gf_shared_experts(c), carve);
    take(g, &b->expert_weights, n, c->n_experts_used + gf_shared_experts(c), carve);
    if (n_source) take(g, &b->cross_kv, n_source, 2 * gf_kv_width(c), carve);
    take(g, &b->relative, c->n_heads, gf_relative_width(c), carve);
}

static void plan_embedded(struct gf_graph *g, struct gf_embedded *e, int32_t n, int carve) {
    const struct gf_config *c = &g->cfg;
    take(g, &e->rows, gf_embed_projected(c) ? n : 0, gf_embed_width(c), carve);
    take(g, &e->pos, n, c->d_model, carve);
    take(g, &e->sum, c->embed_norm ? n : 0, c->d_model, carve);
    take(g, &e->mean, c->embed_norm ? n : 0, 1, carve);
    take(g, &e->rstd, c->embed_norm ? n : 0, 1, carve);
}

/* All buffers: without `carve` their size is summed, with it they are taken from the arena. */
static void plan(struct gf_graph *g, int carve) {
    const struct gf_config *c = &g->cfg;
    const int32_t d = c->d_model, n = g->max_rows, m = g->max_source;
    const int projected = gf_embed_projected(c);
    g->bytes = 0;
    take(g, &g->table, c->context_length, gf_position_width(c), carve);
    take(g, &g->relative, c->n_heads, gf_relative_width(c), carve);
    plan_embedded(g, &g->decoder_embedded, n, carve);
    take(g, &g->drows, projected ? n : 0, gf_embed_width(c), carve);
    take(g, &g->projected, projected ? LOSS_ROWS : 0, gf_embed_width(c), carve);
    take(g, &g->dprojected, projected ? LOSS_ROWS : 0, gf_embed_width(c), carve);
    take(g, &g->capped, c->logit_softcap > 0 ? LOSS_ROWS : 0, c->vocab_size, carve);
    take(g, &g->work, (int64_t)gf_attend_whole_work(c->context_length) + c->d_head, 1, carve);
    take(g, &g->logits, LOSS_ROWS, c->vocab_size, carve);
    take(g, &g->hidden, n, d, carve);
    take(g, &g->dhidden, n, d, carve);
    float *rows = NULL;
    take(g, &rows, c->mlm_head ? n : 0, 3 * (int64_t)d + 2, carve);
    if (rows) {
        const int64_t all = (int64_t)n * d;
        g->transformed = (struct gf_transformed){rows, rows + all, rows + 2 * all, rows + 3 * all, rows + 3 * all + n};
    }
    take(g, &g->mean, n, 1, carve);
    take(g, &g->rstd, n, 1, carve);
    take(g, &g->embedded, n, d, carve);
    float *x = g->embedded;
    for (int32_t l = 0; l < c->n_layers; l++) x = plan_layer(g, GF_STACK_DECODER, l, x, n, m, carve);
    plan_back(g, &g->back, n, m, carve);
    if (!m) return;
    take(g, &g->relative_encoder, c->n_heads, gf_relative_width(c), carve);
    take(g, &g->memory, m, d, carve);
    take(g, &g->dmemory, m, d, carve);
    take(g, &g->memory_mean, m, 1, carve);
    take(g, &g->memory_rstd, m, 1, carve);
    plan_embedded(g, &g->encoder_embedded, m, carve);
    take(g, &g->embedded_source, m, d, carve);
    x = g->embedded_source;
    for (int32_t l = 0; l < c->n_encoder_layers; l++) x = plan_layer(g, GF_STACK_ENCODER, l, x, m, 0, carve);
    plan_back(g, &g->back_encoder, m, 0, carve);
}

/* The feature of a configuration whose gradient is not implemented, or NULL. */
static const char *lacks(const struct gf_config *cfg) {
    if (cfg->kind == GF_ENCODER && !cfg->mlm_head) return "an encoder without mlm_head";
    if (cfg->clip_qkv > 0) return "clip_qkv";
    if (cfg->rope_scaling == GF_ROPE_SCALING_DYNAMIC) return "rope_scaling dynamic";
    if (cfg->rope_scaling == GF_ROPE_SCALING_LONGROPE) return "rope_scaling longrope";
    return NULL;
}

int32_t gf_graph_check(const struct gf_config *cfg, struct gf_error *err) {
    const int32_t status = gf_config_check(cfg, err);
    if (status != GF_OK || !lacks(cfg)) return status;
    return gf_fail(err, GF_ERR_UNSUPPORTED, "the gradient of %s is not implemented: it cannot be trained", lacks(cfg));
}

int gf_graph_open(struct gf_graph *g, const struct gf_config *cfg, int32_t max_rows, int32_t max_source,
                  int32_t max_seqs, gf_gemm_fn gemm) {
    gf_kernels_init();
    memset(g, 0, sizeof *g);
    g->cfg = *cfg;
    g->encoder_cfg = gf_stack_config(cfg, GF_STACK_ENCODER);
    g->max_rows = max_rows;
    g->max_source = cfg->kind == GF_ENCODER_DECODER ? max_source : 0;
    g->max_seqs = max_seqs;
    g->gemm = gemm;
    g->decoder = calloc((size_t)cfg->n_layers + 1, sizeof *g->decoder);
    g->encoder = calloc((size_t)cfg->n_encoder_layers + 1, sizeof *g->encoder);
    g->segs = calloc((size_t)max_seqs + 1, sizeof *g->segs);
    g->source_segs = calloc((size_t)max_seqs + 1, sizeof *g->source_segs);
    if (!g->decoder || !g->encoder || !g->segs || !g->source_segs) goto no_memory;
    plan(g, 0);
    if (g->bytes == GF_TOO_MUCH || gf_arena_open(&g->arena, g->bytes)) goto no_memory;
    plan(g, 1);
    if (g->table) gf_position_table(cfg, g->table, 0, cfg->context_length, 0);
    return 0;
no_memory:
    gf_graph_close(g);
    return -1;
}

void gf_graph_close(struct gf_graph *g) {
    gf_arena_close(&g->arena);
    free(g->decoder);
    free(g->encoder);
    free(g->segs);
    free(g->source_segs);
    memset(g, 0, sizeof *g);
}

static const float *forward_stack(struct gf_pass *p, const struct gf_weights *w, float *x, const struct gf_embedded *e,
                                  const int32_t *ids, const struct gf_block *blocks, const struct gf_bufs *bufs,
                                  int32_t n_layers) {
    gf_embed_forward(p, w, e, x, ids);
    gf_dropout(p, 0, x, x);
    for (p->layer = 0; p->layer < n_layers; p->layer++) gf_block_forward(p, &blocks[p->layer], &bufs[p->layer]);
    p->layer = -1;
    return n_layers ? bufs[n_layers - 1].resid_post : x;
}

static void backward_stack(struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw,
                           const struct gf_embedded *e, float *drows, const int32_t *ids, const struct gf_block *blocks,
                           struct gf_block *dblocks, const struct gf_bufs *bufs, int32_t n_layers,
                           struct gf_back *back) {
    const struct gf_config *c = p->cfg;
    const int encoder = p->stack == GF_STACK_ENCODER, own = encoder && c->kind == GF_ENCODER_DECODER;
    if (p->relative) memset(back->relative, 0, (size_t)c->n_heads * (size_t)gf_relative_width(c) * sizeof(float));
    for (p->layer = n_layers - 1; p->layer >= 0; p->layer--)
        gf_block_backward(p, &blocks[p->layer], &dblocks[p->layer], &bufs[p->layer], back);
    if (p->relative) gf_relative_fold(c, encoder, own ? dw->encoder_relative : dw->relative, back->relative);
    gf_dropout(p, 0, back->resid, back->resid);
    gf_embed_backward(p, w, dw, e, drows, back->resid, ids);
}

/* hidden = the final norm of x, or x itself; and its backward. */
static void end_forward(const struct gf_pass *p, const struct gf_norm *w, float *hidden, const float *x, float *mean,
                        float *rstd) {
    if (p->cfg->final_norm)
        gf_norm_forward(p, w, GF_P_LN_FINAL, hidden, x, mean, rstd);
    else
        memcpy(hidden, x, (size_t)p->n * (size_t)p->cfg->d_model * sizeof *hidden);
}
static void end_backward(const struct gf_pass *p, const struct gf_norm *w, struct gf_norm *dw, float *dx,
                         const float *dhidden, const float *x, const float *mean, const float *rstd) {
    if (p->cfg->final_norm)
        gf_norm_backward(p, w, dw, GF_P_LN_FINAL, dx, 0, dhidden, x, mean, rstd);
    else
        memcpy(dx, dhidden, (size_t)p->n * (size_t)p->cfg->d_model * sizeof *dx);
}

/* One batch in a model: the pass of each stack, and its residual stream after the last layer. */
struct run {
    struct gf_training t;
    struct gf_pass decoder, encoder; /* decoder: the stack that makes the logits, also that of kind encoder */
    const float *last, *last_source;
};

/* From the ids to g->hidden. */
static void forward(struct gf_graph *g, struct run *r, const struct gf_weights *w, const struct gf_batch *batch,
                    float dropout, uint64_t seed) {
    const struct gf_config *c = &g->cfg;
    const int two = c->kind == GF_ENCODER_DECODER;
    r->t = (struct gf_training){.gemm = g->gemm,
                                .table = g->table,
                                .dropout = dropout,
                                .seed = seed,
                                .work = g->work,
                                .memory = g->memory,
                                .n_memory = batch->n_source};
    for (int32_t i = 0, at = 0; i < batch->n_seqs; i++) {
        const int32_t from = two ? batch->source_lengths[i] : 0;
        g->segs[i] = (struct gf_seg){.n = batch->lengths[i], .source0 = at, .n_source = from};
        g->source_segs[i] = (struct gf_seg){.n = from};
        at += from;
    }
    struct gf_pass *p = &r->decoder, *e = &r->encoder;
    *p = (struct gf_pass){.cfg = c,
                          .stack = c->kind == GF_ENCODER ? GF_STACK_ENCODER : GF_STACK_DECODER,
                          .layer = -1,
                          .causal = c->causal,
                          .n = batch->n,
                          .segs = g->segs,
                          .n_segs = batch->n_seqs,
                          .observe = g->changes,
                          .training = &r->t};
    if (c->relative_buckets && c->use_position) {
        gf_relative_spread(c, c->kind == GF_ENCODER, g->relative, w->relative);
        p->relative = g->relative;
    }
    if (two) {
        *e = *p;
        e->cfg = &g->encoder_cfg;
        e->observe = NULL;
        if (p->relative) {
            gf_relative_spread(c, 1, g->relative_encoder, w->encoder_relative);
            e->relative = g->relative_encoder;
        }
        e->stack = GF_STACK_ENCODER;
        e->causal = 0;
        e->n = batch->n_source;
        e->segs = g->source_segs;
        r->last_source = forward_stack(e, w, g->embedded_source, &g->encoder_embedded, batch->source_ids,
                                       w->encoder_blocks, g->encoder, c->n_encoder_layers);
        end_forward(e, &w->encoder_final_norm, g->memory, r->last_source, g->memory_mean, g->memory_rstd);
    }
    r->last = forward_stack(p, w, g->embedded, &g->decoder_embedded, batch->ids, w->blocks, g->decoder, c->n_layers);
    end_forward(p, &w->final_norm, g->hidden, r->last, g->mean, g->rstd);
    if (c->mlm_head) gf_transform_forward(p, w, &g->transformed, g->hidden);
}

/* The rows that the head reads. */
static float *head_rows(const struct gf_graph *g) { return g->cfg.mlm_head ? g->transformed.out : g->hidden; }

/* The metric, if its row is one of the n rows from `first` on; their logits become its gradient. */
static double differentiate(float *logits, const struct gf_metric *m, int32_t first, int32_t n, int32_t vocab_size) {
    const int32_t row = m->row - first, here = row >= 0 && row < n;
    float *at = logits + (int64_t)(here ? row : 0) * vocab_size;
    const double value = here ? (double)at[m->token] - (m->minus >= 0 ? (double)at[m->minus] : 0) : 0;
    memset(logits, 0, (size_t)n * (size_t)vocab_size * sizeof *logits);
    if (here) at[m->token] += 1;
    if (here && m->minus >= 0) at[m->minus] -= 1;
    return value;
}

/* The loss, from the logits of LOSS_ROWS rows at a time; with dw also the gradients of hidden and of the head. */
static double head(struct gf_graph *g, const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw,
                   const struct gf_batch *batch, float scale, const struct run *taught, int32_t n_taught,
                   float *row_loss) {
    const struct gf_config *c = &g->cfg;
    const int32_t *taught_targets = batch->taught ? batch->taught : batch->targets;
    double loss = 0;
    g->right = 0;
    for (int32_t i = 0; i < batch->n; i += LOSS_ROWS) {
        const int32_t n = batch->n - i < LOSS_ROWS ? batch->n - i : LOSS_ROWS;
        const int64_t at = (int64_t)i * c->d_model;
        gf_head_forward(p, w, g->logits, g->projected, head_rows(g) + at, n);
        if (g->capped && dw) memcpy(g->capped, g->logits, (size_t)n * (size_t)c->vocab_size * sizeof *g->logits);
        loss += g->metric ? differentiate(g->logits, g->metric, i, n, c->vocab_size)
                          : gf_cross_entropy(g->logits, batch->targets + i, n, c->vocab_size, scale, dw != NULL,
                                             row_loss ? row_loss + i : NULL, &g->right);
        for (int32_t k = 0; k < n_taught; k++) {
            const struct gf_teacher *teacher = &g->teachers[k];
            struct gf_graph *other = teacher->graph;
            gf_head_forward(&taught[k].decoder, teacher->w, other->logits, other->projected,
                            head_rows(other) + (int64_t)i * other->cfg.d_model, n);
            gf_distil(g->logits, other->logits, taught_targets + i, n, c->vocab_size, scale * teacher->share);
        }
        if (dw)
            gf_head_backward(p, w, dw, g->dhidden + at, g->logits, g->capped, g->projected, g->dprojected,
                             head_rows(g) + at, n);
    }
    return loss;
}

double gf_graph_run(struct gf_graph *g, const struct gf_weights *w, struct gf_weights *dw, const struct gf_batch *batch,
                    float scale, float dropout, uint64_t seed, float *row_loss) {
    const struct gf_config *c = &g->cfg;
    struct run r, taught[GF_TEACHERS];
    forward(g, &r, w, batch, dropout, seed);
    const int32_t n_taught = dw ? g->n_teachers : 0;
    for (int32_t k = 0; k < n_taught; k++) forward(g->teachers[k].graph, &taught[k], g->teachers[k].w, batch, 0, 0);
    const double loss = head(g, &r.decoder, w, dw, batch, scale, taught, n_taught, row_loss);
    if (!dw) return loss;

    r.decoder.observe = r.encoder.observe = g->observe;
    float *dhidden = c->mlm_head ? g->back.out : g->dhidden;
    if (c->mlm_head) gf_transform_backward(&r.decoder, w, dw, dhidden, g->dhidden, &g->transformed, g->hidden);
    end_backward(&r.decoder, &w->final_norm, &dw->final_norm, g->back.resid, dhidden, r.last, g->mean, g->rstd);
    if (c->kind != GF_ENCODER_DECODER) {
        backward_stack(&r.decoder, w, dw, &g->decoder_embedded, g->drows, batch->ids, w->blocks, dw->blocks, g->decoder,
                       c->n_layers, &g->back);
        return loss;
    }
    g->back.memory = g->dmemory;
    memset(g->dmemory, 0, (size_t)batch->n_source * (size_t)c->d_model * sizeof *g->dmemory);
    backward_stack(&r.decoder, w, dw, &g->decoder_embedded, g->drows, batch->ids, w->blocks, dw->blocks, g->decoder,
                   c->n_layers, &g->back);
    end_backward(&r.encoder, &w->encoder_final_norm, &dw->encoder_final_norm, g->back_encoder.resid, g->dmemory,
                 r.last_source, g->memory_mean, g->memory_rstd);
    backward_stack(&r.encoder, w, dw, &g->encoder_embedded, g->drows, batch->source_ids, w->encoder_blocks,
                   dw->encoder_blocks, g->encoder, c->n_encoder_layers, &g->back_encoder);
    return loss;
}
