/* block.c - the repeating unit: self-attention, in decoders of an encoder_decoder cross-attention, and the feed-forward
 * layer. Each is a sublayer with a norm and a residual connection.
 *
 *   pre-norm:   x = x + sublayer(norm(x))     Radford 2019, Xiong 2020
 *   post-norm:  x = norm(x + sublayer(x))     Vaswani 2017 */
#include "model/block.h"
#include "kernels/kernels.h" /* gf_add */
#include "model/attention.h"
#include "model/dropout.h"
#include "model/ffn.h"
#include "model/norm.h"
#include <string.h>

enum kind { SELF_ATTENTION, CROSS_ATTENTION, FEED_FORWARD }; /* also the sublayer's number for gf_dropout */

/* One sublayer: its norm, its rows in gf_bufs, and what is tapped and timed around it. */
struct sublayer {
    const struct gf_norm *norm;
    float *before, *after; /* the residual stream that comes in and goes out */
    float *normed;         /* pre-norm: norm(before) */
    float *out;            /* what attention or the feed-forward layer computes */
    float *sum;            /* post-norm: before + out, which is normalised */
    float *mean, *rstd;    /* statistics of the norm */
    int32_t scale_point, norm_point, after_point, norm_op, residual_op;
};

static int pre_norm(const struct gf_pass *p) { return p->cfg->norm_placement == GF_PRE_NORM; }
static int has_cross(const struct gf_pass *p) {
    return p->cfg->kind == GF_ENCODER_DECODER && p->stack == GF_STACK_DECODER;
}

static struct sublayer describe_sublayer(const struct gf_pass *p, enum kind kind, const struct gf_block *w,
                                         const struct gf_bufs *b) {
    struct sublayer s = {.norm = &w->norm1,
                         .before = b->resid_pre,
                         .after = b->resid_mid,
                         .normed = b->norm1,
                         .out = b->attn_out,
                         .sum = b->sum1,
                         .mean = b->mean1,
                         .rstd = b->rstd1,
                         .scale_point = GF_P_LN1_SCALE,
                         .norm_point = GF_P_LN1,
                         .after_point = GF_P_RESID_MID,
                         .norm_op = GF_OP_NORM1,
                         .residual_op = GF_OP_RESID_ATTN};
    if (kind == CROSS_ATTENTION)
        s = (struct sublayer){.norm = &w->norm_cross,
                              .before = b->resid_mid,
                              .after = b->resid_cross,
                              .normed = b->norm_cross,
                              .out = b->cross_out,
                              .sum = b->sum_cross,
                              .mean = b->mean_cross,
                              .rstd = b->rstd_cross,
                              .scale_point = GF_P_LN_CROSS_SCALE,
                              .norm_point = GF_P_LN_CROSS,
                              .after_point = GF_P_RESID_MID_CROSS,
                              .norm_op = GF_OP_NORM_CROSS,
                              .residual_op = GF_OP_RESID_CROSS};
    if (kind == FEED_FORWARD)
        s = (struct sublayer){.norm = &w->norm2,
                              .before = has_cross(p) ? b->resid_cross : b->resid_mid,
                              .after = b->resid_post,
                              .normed = b->norm2,
                              .out = b->ffn_out,
                              .sum = b->sum2,
                              .mean = b->mean2,
                              .rstd = b->rstd2,
                              .scale_point = GF_P_LN2_SCALE,
                              .norm_point = GF_P_LN2,
                              .after_point = GF_P_RESID_POST,
                              .norm_op = GF_OP_NORM2,
                              .residual_op = GF_OP_RESID_FFN};
    return s;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static void normalise_rows(const struct gf_pass *p, int32_t layer, const struct sublayer *s, float *to,
                           const float *from) {
    gf_norm_forward(p, s->norm, layer, s->scale_point, s->norm_point, to, from, s->mean, s->rstd, p->n);
    gf_mark(p->trace, p->stack, layer, s->norm_op);
}

/* to = before + out, or out alone where the residual connection is switched off. */
static void add_residual(const struct gf_pass *p, int32_t layer, enum kind kind, const struct sublayer *s, float *to) {
    const int64_t all = (int64_t)p->n * p->cfg->d_model;
    if (GF_TRAINS(p)) gf_dropout(p, layer, kind, s->out, s->out);
    if (p->cfg->use_residual)
        gf_add(to, s->before, s->out, all);
    else if (to != s->out)
        memcpy(to, s->out, (size_t)all * sizeof *to);
    gf_mark(p->trace, p->stack, layer, s->residual_op);
}

static void tap_residual(const struct gf_pass *p, int32_t layer, int32_t point, float *x) {
    gf_tap(p->observe, p->stack, layer, point, x, p->cfg->d_model, p->n, p->cfg->d_model);
}

static void sublayer_forward(const struct gf_pass *p, int32_t layer, enum kind kind, const struct gf_block *w,
                             const struct gf_bufs *b) {
    const struct sublayer s = describe_sublayer(p, kind, w, b);
    const float *x = s.before;
    if (pre_norm(p)) {
        normalise_rows(p, layer, &s, s.normed, s.before);
        x = s.normed;
    }
    switch (kind) {
    case SELF_ATTENTION: gf_attention_forward(p, layer, &w->attn, b, x); break;
    case CROSS_ATTENTION: gf_cross_attention_forward(p, layer, &w->cross, b, x); break;
    case FEED_FORWARD: gf_ffn_forward(p, layer, &w->ffn, b, x); break;
    }
    add_residual(p, layer, kind, &s, pre_norm(p) ? s.after : s.sum);
    if (!pre_norm(p)) normalise_rows(p, layer, &s, s.after, s.sum);
    tap_residual(p, layer, s.after_point, s.after);
}

void gf_block_forward(const struct gf_pass *p, int32_t layer, const struct gf_block *w, const struct gf_bufs *b) {
    tap_residual(p, layer, GF_P_RESID_PRE, b->resid_pre);
    sublayer_forward(p, layer, SELF_ATTENTION, w, b);
    if (has_cross(p)) sublayer_forward(p, layer, CROSS_ATTENTION, w, b);
    sublayer_forward(p, layer, FEED_FORWARD, w, b);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* g->resid: the gradient of s.after becomes that of s.before. dnorm: the gradient of the sublayer's norm. */
static void sublayer_backward(const struct gf_pass *p, int32_t layer, enum kind kind, const struct gf_block *w,
                              struct gf_block *dw, struct gf_norm *dnorm, const struct gf_bufs *b, struct gf_back *g) {
    const struct sublayer s = describe_sublayer(p, kind, w, b);
    const int64_t all = (int64_t)p->n * p->cfg->d_model;
    const float *x = pre_norm(p) ? s.normed : s.before, *dout = g->resid;
    if (!pre_norm(p)) gf_norm_backward(p, s.norm, dnorm, layer, g->resid, 0, g->resid, s.sum, s.mean, s.rstd, p->n);
    if (p->training->dropout != 0) {
        gf_dropout(p, layer, kind, g->out, g->resid);
        dout = g->out;
    }
    switch (kind) { /* g->in = the gradient of x */
    case SELF_ATTENTION: gf_attention_backward(p, &w->attn, &dw->attn, b, g, dout, x); break;
    case CROSS_ATTENTION: gf_cross_attention_backward(p, &w->cross, &dw->cross, b, g, dout, x); break;
    case FEED_FORWARD: gf_ffn_backward(p, &w->ffn, &dw->ffn, b, g, dout, x); break;
    }
    if (!p->cfg->use_residual) memset(g->resid, 0, (size_t)all * sizeof *g->resid);
    if (pre_norm(p))
        gf_norm_backward(p, s.norm, dnorm, layer, g->resid, 1, g->in, s.before, s.mean, s.rstd, p->n);
    else
        gf_add(g->resid, g->resid, g->in, all);
}

void gf_block_backward(const struct gf_pass *p, int32_t layer, const struct gf_block *w, struct gf_block *dw,
                       const struct gf_bufs *b, struct gf_back *g) {
    sublayer_backward(p, layer, FEED_FORWARD, w, dw, &dw->norm2, b, g);
    if (has_cross(p)) sublayer_backward(p, layer, CROSS_ATTENTION, w, dw, &dw->norm_cross, b, g);
    sublayer_backward(p, layer, SELF_ATTENTION, w, dw, &dw->norm1, b, g);
}
