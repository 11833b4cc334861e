/* block.c - the repeating unit: self-attention, in decoders of an encoder_decoder cross-attention, and the feed-forward
 * layer or a mixture of experts in its place. Each is a sublayer with one or two norms and a residual connection.
 *
 *   pre:       x = x + sublayer(norm(x))             Radford 2019, Xiong 2020
 *   post:      x = norm(x + sublayer(x))             Vaswani 2017
 *   sandwich:  x = x + norm'(sublayer(norm(x)))      Ding et al. 2021; Gemma 2
 *   output:    x = x + norm(sublayer(x))             Liu et al. 2022; OLMo 2
 *   parallel:  x = x + attn(norm1(x)) + ffn(norm2(x)), or norm1 for both      GPT-J, GPT-NeoX */
#include "model/block.h"
#include "kernels/kernels.h" /* gf_add, gf_scale */
#include "model/attention.h"
#include "model/config.h" /* gf_layer_sparse, gf_norm_before, gf_norm_of_output */
#include "model/dropout.h"
#include "model/experts.h"
#include "model/ffn.h"
#include "model/norm.h"
#include <string.h>

enum kind { SELF_ATTENTION, CROSS_ATTENTION, FEED_FORWARD }; /* also the sublayer's number for gf_dropout */

/* One sublayer: its norms, its rows in gf_bufs, and what is tapped and timed around it. */
struct sublayer {
    const struct gf_norm *norm;
    const struct gf_norm *norm_out; /* of the output: `norm` itself, or the second norm of a sandwich */
    float *before, *after;          /* the residual stream that comes in and goes out */
    float *normed;                  /* norm(before) */
    float *out;                     /* what attention or the feed-forward layer computes */
    float *added;                   /* the same after norm_out and residual_scale: what is added to the stream */
    float *sum;                     /* post-norm: before + out, which is normalised */
    float *mean, *rstd;             /* statistics of the norm */
    float *mean_out, *rstd_out;     /* of norm_out */
    int32_t scale_point, norm_point, scale_out_point, norm_out_point, out_point, after_point;
    int32_t norm_op, norm_out_op, residual_op;
};

static int has_cross(const struct gf_pass *p) {
    return p->cfg->kind == GF_ENCODER_DECODER && p->stack == GF_STACK_DECODER;
}

static struct sublayer self_sublayer(const struct gf_block *w, const struct gf_bufs *b) {
    return (struct sublayer){.norm = &w->norm1,
                             .norm_out = &w->norm1_post,
                             .before = b->resid_pre,
                             .after = b->resid_mid,
                             .normed = b->norm1,
                             .out = b->attn_out,
                             .added = b->attn_added,
                             .sum = b->sum1,
                             .mean = b->mean1,
                             .rstd = b->rstd1,
                             .mean_out = b->mean1_post,
                             .rstd_out = b->rstd1_post,
                             .scale_point = GF_P_LN1_SCALE,
                             .norm_point = GF_P_LN1,
                             .scale_out_point = GF_P_LN1_POST_SCALE,
                             .norm_out_point = GF_P_LN1_POST,
                             .out_point = GF_P_ATTN_OUT,
                             .after_point = GF_P_RESID_MID,
                             .norm_op = GF_OP_NORM1,
                             .norm_out_op = GF_OP_NORM1_POST,
                             .residual_op = GF_OP_RESID_ATTN};
}

static struct sublayer cross_sublayer(const struct gf_block *w, const struct gf_bufs *b) {
    return (struct sublayer){.norm = &w->norm_cross,
                             .before = b->resid_mid,
                             .after = b->resid_cross,
                             .normed = b->norm_cross,
                             .out = b->cross_out,
                             .added = b->cross_out,
                             .sum = b->sum_cross,
                             .mean = b->mean_cross,
                             .rstd = b->rstd_cross,
                             .scale_point = GF_P_LN_CROSS_SCALE,
                             .norm_point = GF_P_LN_CROSS,
                             .out_point = GF_P_CROSS_OUT,
                             .after_point = GF_P_RESID_MID_CROSS,
                             .norm_op = GF_OP_NORM_CROSS,
                             .residual_op = GF_OP_RESID_CROSS};
}

static struct sublayer ffn_sublayer(const struct gf_pass *p, const struct gf_block *w, const struct gf_bufs *b) {
    return (struct sublayer){.norm = &w->norm2,
                             .norm_out = &w->norm2_post,
                             .before = p->cfg->parallel_residual ? b->resid_pre
                                       : has_cross(p)            ? b->resid_cross
                                                                 : b->resid_mid,
                             .after = b->resid_post,
                             .normed = b->norm2,
                             .out = b->ffn_out,
                             .added = b->ffn_added,
                             .sum = b->sum2,
                             .mean = b->mean2,
                             .rstd = b->rstd2,
                             .mean_out = b->mean2_post,
                             .rstd_out = b->rstd2_post,
                             .scale_point = GF_P_LN2_SCALE,
                             .norm_point = GF_P_LN2,
                             .scale_out_point = GF_P_LN2_POST_SCALE,
                             .norm_out_point = GF_P_LN2_POST,
                             .out_point = GF_P_MLP_OUT,
                             .after_point = GF_P_RESID_POST,
                             .norm_op = GF_OP_NORM2,
                             .norm_out_op = GF_OP_NORM2_POST,
                             .residual_op = GF_OP_RESID_FFN};
}

static struct sublayer describe_sublayer(const struct gf_pass *p, enum kind kind, const struct gf_block *w,
                                         const struct gf_bufs *b) {
    struct sublayer s = kind == SELF_ATTENTION    ? self_sublayer(w, b)
                        : kind == CROSS_ATTENTION ? cross_sublayer(w, b)
                                                  : ffn_sublayer(p, w, b);
    if (p->cfg->norm_placement == GF_OUTPUT_NORM) { /* its only norm, with the points of the first */
        s.norm_out = s.norm;
        s.scale_out_point = s.scale_point;
        s.norm_out_point = s.norm_point;
        s.norm_out_op = s.norm_op;
    }
    return s;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static void normalise_rows(const struct gf_pass *p, int32_t layer, const struct sublayer *s, float *to,
                           const float *from) {
    gf_norm_forward(p, s->norm, layer, s->scale_point, s->norm_point, to, from, s->mean, s->rstd, p->n);
    gf_mark(p->trace, p->stack, layer, s->norm_op);
}

static void tap_stream(const struct gf_pass *p, int32_t layer, int32_t point, float *x) {
    gf_tap(p->observe, p->stack, layer, point, x, p->cfg->d_model, p->n, p->cfg->d_model);
}

/* s->added = what the sublayer computes from x, after the norm of its output, residual_scale and dropout. */
static void compute(const struct gf_pass *p, int32_t layer, enum kind kind, const struct sublayer *s,
                    const struct gf_block *w, const struct gf_bufs *b, const float *x) {
    const struct gf_config *c = p->cfg;
    switch (kind) {
    case SELF_ATTENTION: gf_attention_forward(p, layer, &w->attn, b, x); break;
    case CROSS_ATTENTION: gf_cross_attention_forward(p, layer, &w->cross, b, x); break;
    case FEED_FORWARD:
        if (gf_layer_sparse(c, layer))
            gf_experts_forward(p, layer, &w->experts, b, x);
        else
            gf_ffn_forward(p, layer, &w->ffn, b, x);
        break;
    }
    if (gf_norm_of_output(c)) {
        gf_norm_forward(p, s->norm_out, layer, s->scale_out_point, s->norm_out_point, s->added, s->out, s->mean_out,
                        s->rstd_out, p->n);
        gf_mark(p->trace, p->stack, layer, s->norm_out_op);
    }
    if (c->residual_scale != 1) gf_scale(s->added, s->added, c->residual_scale, (int64_t)p->n * c->d_model);
    tap_stream(p, layer, s->out_point, s->added);
    if (GF_TRAINS(p)) gf_dropout(p, layer, kind, s->added, s->added);
}

/* to = before + added, or what is added alone where the residual connection is switched off. */
static void add_residual(const struct gf_pass *p, int32_t layer, const struct sublayer *s, float *to) {
    const int64_t all = (int64_t)p->n * p->cfg->d_model;
    if (p->cfg->use_residual)
        gf_add(to, s->before, s->added, all);
    else if (to != s->added)
        memcpy(to, s->added, (size_t)all * sizeof *to);
    gf_mark(p->trace, p->stack, layer, s->residual_op);
}

static void sublayer_forward(const struct gf_pass *p, int32_t layer, enum kind kind, const struct gf_block *w,
                             const struct gf_bufs *b) {
    const struct sublayer s = describe_sublayer(p, kind, w, b);
    const int post = p->cfg->norm_placement == GF_POST_NORM;
    const float *x = s.before;
    if (gf_norm_before(p->cfg)) {
        normalise_rows(p, layer, &s, s.normed, s.before);
        x = s.normed;
    }
    compute(p, layer, kind, &s, w, b, x);
    add_residual(p, layer, &s, post ? s.sum : s.after);
    if (post) normalise_rows(p, layer, &s, s.after, s.sum);
    tap_stream(p, layer, s.after_point, s.after);
}

/* Both sublayers read resid_pre, through the same norm or each through its own. */
static void parallel_forward(const struct gf_pass *p, int32_t layer, const struct gf_block *w,
                             const struct gf_bufs *b) {
    const struct sublayer a = describe_sublayer(p, SELF_ATTENTION, w, b), f = describe_sublayer(p, FEED_FORWARD, w, b);
    const int shared = p->cfg->shared_norm;
    normalise_rows(p, layer, &a, a.normed, a.before);
    compute(p, layer, SELF_ATTENTION, &a, w, b, a.normed);
    if (!shared) normalise_rows(p, layer, &f, f.normed, f.before);
    compute(p, layer, FEED_FORWARD, &f, w, b, shared ? a.normed : f.normed);
    gf_add(f.added, a.added, f.added, (int64_t)p->n * p->cfg->d_model);
    add_residual(p, layer, &f, f.after);
    tap_stream(p, layer, f.after_point, f.after);
}

void gf_block_forward(const struct gf_pass *p, int32_t layer, const struct gf_block *w, const struct gf_bufs *b) {
    tap_stream(p, layer, GF_P_RESID_PRE, b->resid_pre);
    if (p->cfg->parallel_residual) {
        parallel_forward(p, layer, w, b);
        return;
    }
    sublayer_forward(p, layer, SELF_ATTENTION, w, b);
    if (has_cross(p)) sublayer_forward(p, layer, CROSS_ATTENTION, w, b);
    sublayer_forward(p, layer, FEED_FORWARD, w, b);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* g->in = the gradient of the sublayer's input x. g->resid, the gradient of what it added, stays. */
static void compute_backward(const struct gf_pass *p, int32_t layer, enum kind kind, const struct sublayer *s,
                             const struct gf_block *w, struct gf_block *dw, struct gf_norm *dnorm_out,
                             const struct gf_bufs *b, struct gf_back *g, const float *x) {
    const struct gf_config *c = p->cfg;
    const float *dout = g->resid;
    if (p->training->dropout != 0) {
        gf_dropout(p, layer, kind, g->out, g->resid);
        dout = g->out;
    }
    if (c->residual_scale != 1) {
        gf_scale(g->out, dout, c->residual_scale, (int64_t)p->n * c->d_model);
        dout = g->out;
    }
    if (gf_norm_of_output(c)) {
        gf_norm_backward(p, s->norm_out, dnorm_out, s->norm_out_point, g->out, 0, dout, s->out, s->mean_out,
                         s->rstd_out, p->n);
        dout = g->out;
    }
    switch (kind) {
    case SELF_ATTENTION: gf_attention_backward(p, layer, &w->attn, &dw->attn, b, g, dout, x); break;
    case CROSS_ATTENTION: gf_cross_attention_backward(p, &w->cross, &dw->cross, b, g, dout, x); break;
    case FEED_FORWARD:
        if (gf_layer_sparse(c, layer))
            gf_experts_backward(p, &w->experts, &dw->experts, b, g, dout, x);
        else
            gf_ffn_backward(p, &w->ffn, &dw->ffn, b, g, dout, x);
        break;
    }
}

/* g->resid: the gradient of s.after becomes that of s.before. dnorm: the gradient of the sublayer's norm, dpost that of
 * a sandwich's second one. */
static void sublayer_backward(const struct gf_pass *p, int32_t layer, enum kind kind, const struct gf_block *w,
                              struct gf_block *dw, struct gf_norm *dnorm, struct gf_norm *dpost,
                              const struct gf_bufs *b, struct gf_back *g) {
    const struct sublayer s = describe_sublayer(p, kind, w, b);
    const struct gf_config *c = p->cfg;
    const int64_t all = (int64_t)p->n * c->d_model;
    const int before = gf_norm_before(c);
    if (c->norm_placement == GF_POST_NORM)
        gf_norm_backward(p, s.norm, dnorm, s.norm_point, g->resid, 0, g->resid, s.sum, s.mean, s.rstd, p->n);
    compute_backward(p, layer, kind, &s, w, dw, c->norm_placement == GF_OUTPUT_NORM ? dnorm : dpost, b, g,
                     before ? s.normed : s.before);
    if (!c->use_residual) memset(g->resid, 0, (size_t)all * sizeof *g->resid);
    if (before)
        gf_norm_backward(p, s.norm, dnorm, s.norm_point, g->resid, 1, g->in, s.before, s.mean, s.rstd, p->n);
    else
        gf_add(g->resid, g->resid, g->in, all);
}

static void parallel_backward(const struct gf_pass *p, int32_t layer, const struct gf_block *w, struct gf_block *dw,
                              const struct gf_bufs *b, struct gf_back *g) {
    const struct sublayer a = describe_sublayer(p, SELF_ATTENTION, w, b), f = describe_sublayer(p, FEED_FORWARD, w, b);
    const int64_t all = (int64_t)p->n * p->cfg->d_model;
    const int shared = p->cfg->shared_norm;
    compute_backward(p, layer, FEED_FORWARD, &f, w, dw, NULL, b, g, shared ? a.normed : f.normed);
    if (shared)
        memcpy(g->first, g->in, (size_t)all * sizeof *g->in);
    else
        gf_norm_backward(p, f.norm, &dw->norm2, f.norm_point, g->first, 0, g->in, f.before, f.mean, f.rstd, p->n);
    compute_backward(p, layer, SELF_ATTENTION, &a, w, dw, NULL, b, g, a.normed);
    if (!p->cfg->use_residual) memset(g->resid, 0, (size_t)all * sizeof *g->resid);
    float *to = shared ? g->in : g->resid;
    gf_add(to, to, g->first, all);
    gf_norm_backward(p, a.norm, &dw->norm1, a.norm_point, g->resid, 1, g->in, a.before, a.mean, a.rstd, p->n);
}

void gf_block_backward(const struct gf_pass *p, int32_t layer, const struct gf_block *w, struct gf_block *dw,
                       const struct gf_bufs *b, struct gf_back *g) {
    if (p->cfg->parallel_residual) {
        parallel_backward(p, layer, w, dw, b, g);
        return;
    }
    sublayer_backward(p, layer, FEED_FORWARD, w, dw, &dw->norm2, &dw->norm2_post, b, g);
    if (has_cross(p)) sublayer_backward(p, layer, CROSS_ATTENTION, w, dw, &dw->norm_cross, NULL, b, g);
    sublayer_backward(p, layer, SELF_ATTENTION, w, dw, &dw->norm1, &dw->norm1_post, b, g);
}
