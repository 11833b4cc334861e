/* block.c - the repeating unit: self-attention, in decoders of an encoder_decoder cross-attention, and the feed-forward
 * layer or a mixture of experts in its place. Each is a sublayer with one or two norms and a residual connection.
 *
 *   pre:       x = x + sublayer(norm(x))             Radford 2019, Xiong 2020
 *   post:      x = norm(x + sublayer(x))             Vaswani 2017
 *   sandwich:  x = x + norm'(sublayer(norm(x)))      Ding et al. 2021; Gemma 2
 *   output:    x = x + norm(sublayer(x))             Liu et al. 2022; OLMo 2
 *   pre with residual_normed:  y = norm(x), x = y + sublayer(y)      an option of BLOOM
 *   parallel:  x = x + attn(norm1(x)) + ffn(norm2(x)), or norm1 for both      GPT-J, GPT-NeoX
 *
 * Blocks with ffn none have attention alone (Elhage et al. 2021), those with norm none x = x + sublayer(x). */
#include "model/layers/block.h"
#include "kernels/kernels.h" /* gf_add, gf_scale */
#include "model/layers/attention.h"
#include "model/config.h" /* gf_has_sublayer, gf_last_sublayer, gf_layer_sparse, gf_layer_norm1, ... */
#include "model/layers/dropout.h"
#include "model/layers/experts.h"
#include "model/layers/ffn.h"
#include "model/layers/norm.h"
#include <string.h>

/* What is tapped and timed around a sublayer. */
struct sublayer_taps {
    int32_t norm, norm_out, out, after; /* points; after: where another sublayer follows */
    int32_t norm_op, norm_out_op, residual_op;
};
static const struct sublayer_taps sublayers[] = {
    [GF_SELF_ATTENTION] = {GF_P_LN1, GF_P_LN1_POST, GF_P_ATTN_OUT, GF_P_RESID_MID, GF_OP_NORM1, GF_OP_NORM1_POST,
                           GF_OP_RESID_ATTN},
    [GF_CROSS_ATTENTION] = {.norm = GF_P_LN_CROSS,
                            .out = GF_P_CROSS_OUT,
                            .after = GF_P_RESID_MID_CROSS,
                            .norm_op = GF_OP_NORM_CROSS,
                            .residual_op = GF_OP_RESID_CROSS},
    [GF_FEED_FORWARD] = {GF_P_LN2, GF_P_LN2_POST, GF_P_MLP_OUT, GF_P_RESID_POST, GF_OP_NORM2, GF_OP_NORM2_POST,
                         GF_OP_RESID_FFN},
};

/* The residual stream that a sublayer reads. */
static float *stream_before(const struct gf_pass *p, int32_t kind, const struct gf_bufs *b) {
    while (!p->cfg->parallel_residual && --kind >= 0)
        if (gf_has_sublayer(p->cfg, p->stack, kind)) return b->sub[kind].after;
    return b->resid_pre;
}

/* Whether a sublayer reads a norm of the stream. */
static int reads_norm(const struct gf_pass *p, enum gf_sublayer kind) {
    return gf_norm_before(p->cfg) && (kind != GF_SELF_ATTENTION || gf_layer_norm1(p->cfg, p->layer));
}

/* What a sublayer computes from: the stream, or its norm. */
static float *read_by(const struct gf_pass *p, enum gf_sublayer kind, const struct gf_bufs *b) {
    return reads_norm(p, kind) ? b->sub[kind].normed : stream_before(p, kind, b);
}

/* What the output of a sublayer is added to. */
static float *residual_of(const struct gf_pass *p, enum gf_sublayer kind, const struct gf_bufs *b) {
    return p->cfg->residual_normed ? read_by(p, kind, b) : stream_before(p, kind, b);
}

/* The point of the stream after a sublayer. */
static int32_t point_after(const struct gf_pass *p, enum gf_sublayer kind) {
    return (int32_t)kind == gf_last_sublayer(p->cfg, p->stack) ? GF_P_RESID_POST : sublayers[kind].after;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static void normalise_stream(const struct gf_pass *p, enum gf_sublayer kind, const struct gf_block *w,
                             const struct gf_bufs *b, float *to, const float *from) {
    gf_norm_forward(p, &w->norm[kind], sublayers[kind].norm, to, from, b->sub[kind].mean, b->sub[kind].rstd);
    gf_mark(p, sublayers[kind].norm_op);
}

static void tap_stream(const struct gf_pass *p, int32_t point, float *x) {
    gf_tap(p, point, x, p->cfg->d_model, p->cfg->d_model);
}

/* The norm of what a sublayer computes; where it is the only one it has the weights and points of the first. */
static void normalise_output(const struct gf_pass *p, enum gf_sublayer kind, const struct gf_block *w,
                             const struct gf_sublayer_bufs *s) {
    const struct sublayer_taps *taps = &sublayers[kind];
    const int only = p->cfg->norm_placement == GF_OUTPUT_NORM;
    gf_norm_forward(p, only ? &w->norm[kind] : &w->norm_out[kind], only ? taps->norm : taps->norm_out, s->added, s->out,
                    s->mean_out, s->rstd_out);
    gf_mark(p, only ? taps->norm_op : taps->norm_out_op);
}

/* added = what the sublayer computes from x, after the norm of its output, residual_scale and dropout. */
static void compute(const struct gf_pass *p, enum gf_sublayer kind, const struct gf_block *w, const struct gf_bufs *b,
                    const float *x) {
    const struct gf_config *c = p->cfg;
    const struct gf_sublayer_bufs *s = &b->sub[kind];
    if (kind == GF_SELF_ATTENTION)
        gf_attention_forward(p, &w->attn, b);
    else if (kind == GF_CROSS_ATTENTION)
        gf_cross_attention_forward(p, &w->cross, b, x);
    else if (gf_layer_sparse(c, p->layer))
        gf_experts_forward(p, &w->experts, b, x);
    else
        gf_ffn_forward(p, &w->ffn, b, x);
    if (gf_norm_of_output(c)) normalise_output(p, kind, w, s);
    if (c->residual_scale != 1) gf_scale(s->added, s->added, c->residual_scale, (int64_t)p->n * c->d_model);
    tap_stream(p, sublayers[kind].out, s->added);
    if (GF_TRAINS(p)) gf_dropout(p, kind, s->added, s->added);
}

/* to = the stream before the sublayer + added, or added alone where the residual connection is switched off. */
static void add_residual(const struct gf_pass *p, enum gf_sublayer kind, const struct gf_bufs *b, float *to) {
    const int64_t all = (int64_t)p->n * p->cfg->d_model;
    const float *added = b->sub[kind].added;
    if (p->cfg->use_residual)
        gf_add(to, residual_of(p, kind, b), added, all);
    else if (to != added)
        memcpy(to, added, (size_t)all * sizeof *to);
    gf_mark(p, sublayers[kind].residual_op);
}

/* read_by, computed. */
static float *input_of(const struct gf_pass *p, enum gf_sublayer kind, const struct gf_block *w,
                       const struct gf_bufs *b) {
    float *x = read_by(p, kind, b);
    if (reads_norm(p, kind)) normalise_stream(p, kind, w, b, x, stream_before(p, kind, b));
    return x;
}

/* The queries of self-attention are computed already. */
static void sublayer_forward(const struct gf_pass *p, enum gf_sublayer kind, const struct gf_block *w,
                             const struct gf_bufs *b) {
    const struct gf_sublayer_bufs *s = &b->sub[kind];
    const int post = p->cfg->norm_placement == GF_POST_NORM;
    compute(p, kind, w, b, kind == GF_SELF_ATTENTION ? NULL : input_of(p, kind, w, b));
    add_residual(p, kind, b, post ? s->sum : s->after);
    if (post) normalise_stream(p, kind, w, b, s->after, s->sum);
    tap_stream(p, point_after(p, kind), s->after);
}

/* Both sublayers read resid_pre, through the same norm, which gave x, or each through its own. */
static void parallel_forward(const struct gf_pass *p, const struct gf_block *w, const struct gf_bufs *b,
                             const float *x) {
    const struct gf_sublayer_bufs *a = &b->sub[GF_SELF_ATTENTION], *f = &b->sub[GF_FEED_FORWARD];
    compute(p, GF_SELF_ATTENTION, w, b, x);
    if (!p->cfg->shared_norm) x = input_of(p, GF_FEED_FORWARD, w, b);
    compute(p, GF_FEED_FORWARD, w, b, x);
    gf_add(f->added, a->added, f->added, (int64_t)p->n * p->cfg->d_model);
    add_residual(p, GF_FEED_FORWARD, b, f->after);
    tap_stream(p, GF_P_RESID_POST, f->after);
}

/* Overwrite the first `drop` rows of x by the n rows behind them. */
static void move_rows(float *x, int32_t width, int32_t drop, int32_t n) {
    memmove(x, x + (int64_t)drop * width, (size_t)n * (size_t)width * sizeof *x);
}

/* The first p->drop rows leave the pass. x: the input of attention. */
static void drop_rows(struct gf_pass *p, const struct gf_bufs *b, float *x) {
    p->n -= p->drop, p->segs->n -= p->drop, p->segs->pos0 += p->drop;
    move_rows(b->qkv, gf_qkv_width(p->cfg), p->drop, p->n);
    move_rows(b->resid_pre, p->cfg->d_model, p->drop, p->n);
    if (x != b->resid_pre) move_rows(x, p->cfg->d_model, p->drop, p->n);
    if (p->observe) p->observe->row0 += p->drop;
}

void gf_block_forward(struct gf_pass *p, const struct gf_block *w, const struct gf_bufs *b) {
    tap_stream(p, GF_P_RESID_PRE, b->resid_pre);
    float *x = input_of(p, GF_SELF_ATTENTION, w, b);
    gf_attention_project(p, &w->attn, b, x);
    if (p->drop) drop_rows(p, b, x);
    if (p->n == 0) return;
    if (p->cfg->parallel_residual) {
        parallel_forward(p, w, b, x);
        return;
    }
    for (int32_t kind = 0; kind < GF_N_SUBLAYERS; kind++)
        if (gf_has_sublayer(p->cfg, p->stack, kind)) sublayer_forward(p, kind, w, b);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* The gradient of a sublayer's norm, whose input was x, from dy to dx. */
static void normalise_stream_backward(const struct gf_pass *p, enum gf_sublayer kind, const struct gf_block *w,
                                      struct gf_block *dw, const struct gf_bufs *b, float *dx, int add, const float *dy,
                                      const float *x) {
    gf_norm_backward(p, &w->norm[kind], &dw->norm[kind], sublayers[kind].norm, dx, add, dy, x, b->sub[kind].mean,
                     b->sub[kind].rstd);
}

/* g->in = the gradient of the sublayer's input x. g->resid, the gradient of what it added, stays. */
static void compute_backward(const struct gf_pass *p, enum gf_sublayer kind, const struct gf_block *w,
                             struct gf_block *dw, const struct gf_bufs *b, struct gf_back *g, const float *x) {
    const struct gf_config *c = p->cfg;
    const struct gf_sublayer_bufs *s = &b->sub[kind];
    float *dout = g->resid;
    if (gf_edited(p, sublayers[kind].out)) /* the gradient of the stream stays as it is */
        dout = memcpy(g->out, g->resid, (size_t)p->n * (size_t)c->d_model * sizeof *dout);
    tap_stream(p, sublayers[kind].out, dout);
    if (p->training->dropout != 0) {
        gf_dropout(p, kind, g->out, g->resid);
        dout = g->out;
    }
    if (c->residual_scale != 1) {
        gf_scale(g->out, dout, c->residual_scale, (int64_t)p->n * c->d_model);
        dout = g->out;
    }
    if (gf_norm_of_output(c)) {
        const int only = c->norm_placement == GF_OUTPUT_NORM;
        gf_norm_backward(p, only ? &w->norm[kind] : &w->norm_out[kind], only ? &dw->norm[kind] : &dw->norm_out[kind],
                         only ? sublayers[kind].norm : sublayers[kind].norm_out, g->out, 0, dout, s->out, s->mean_out,
                         s->rstd_out);
        dout = g->out;
    }
    if (kind == GF_SELF_ATTENTION)
        gf_attention_backward(p, &w->attn, &dw->attn, b, g, dout, x);
    else if (kind == GF_CROSS_ATTENTION)
        gf_cross_attention_backward(p, &w->cross, &dw->cross, b, g, dout, x);
    else if (gf_layer_sparse(c, p->layer))
        gf_experts_backward(p, &w->experts, &dw->experts, b, g, dout, x);
    else
        gf_ffn_backward(p, &w->ffn, &dw->ffn, b, g, dout, x);
}

/* g->resid: the gradient of the stream after the sublayer becomes that of the stream before it. */
static void sublayer_backward(const struct gf_pass *p, enum gf_sublayer kind, const struct gf_block *w,
                              struct gf_block *dw, const struct gf_bufs *b, struct gf_back *g) {
    const struct gf_config *c = p->cfg;
    const struct gf_sublayer_bufs *s = &b->sub[kind];
    const int64_t all = (int64_t)p->n * c->d_model;
    tap_stream(p, point_after(p, kind), g->resid);
    if (c->norm_placement == GF_POST_NORM) normalise_stream_backward(p, kind, w, dw, b, g->resid, 0, g->resid, s->sum);
    compute_backward(p, kind, w, dw, b, g, read_by(p, kind, b));
    if (c->residual_normed && c->use_residual) gf_add(g->in, g->in, g->resid, all);
    if (!c->use_residual || c->residual_normed) memset(g->resid, 0, (size_t)all * sizeof *g->resid);
    if (reads_norm(p, kind))
        normalise_stream_backward(p, kind, w, dw, b, g->resid, 1, g->in, stream_before(p, kind, b));
    else
        gf_add(g->resid, g->resid, g->in, all);
}

static void parallel_backward(const struct gf_pass *p, const struct gf_block *w, struct gf_block *dw,
                              const struct gf_bufs *b, struct gf_back *g) {
    const float *x = b->resid_pre;
    const int64_t all = (int64_t)p->n * p->cfg->d_model;
    const int shared = p->cfg->shared_norm;
    tap_stream(p, GF_P_RESID_POST, g->resid);
    compute_backward(p, GF_FEED_FORWARD, w, dw, b, g, read_by(p, shared ? GF_SELF_ATTENTION : GF_FEED_FORWARD, b));
    if (shared)
        memcpy(g->first, g->in, (size_t)all * sizeof *g->in);
    else
        normalise_stream_backward(p, GF_FEED_FORWARD, w, dw, b, g->first, 0, g->in, x);
    compute_backward(p, GF_SELF_ATTENTION, w, dw, b, g, read_by(p, GF_SELF_ATTENTION, b));
    if (!p->cfg->use_residual) memset(g->resid, 0, (size_t)all * sizeof *g->resid);
    float *to = shared ? g->in : g->resid;
    gf_add(to, to, g->first, all);
    normalise_stream_backward(p, GF_SELF_ATTENTION, w, dw, b, g->resid, 1, g->in, x);
}

void gf_block_backward(const struct gf_pass *p, const struct gf_block *w, struct gf_block *dw, const struct gf_bufs *b,
                       struct gf_back *g) {
    if (p->cfg->parallel_residual) parallel_backward(p, w, dw, b, g);
    for (int32_t kind = GF_N_SUBLAYERS - 1; !p->cfg->parallel_residual && kind >= 0; kind--)
        if (gf_has_sublayer(p->cfg, p->stack, kind)) sublayer_backward(p, kind, w, dw, b, g);
    tap_stream(p, GF_P_RESID_PRE, g->resid);
}
