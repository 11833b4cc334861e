/* block.c - the repeating unit: attention, for decoders of an encoder_decoder cross-attention, and
 * the feed-forward layer, each with its norm and its way around it.
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

/* to = from + sublayer, or sublayer alone where the residual is switched off. */
static void residual(const struct gf_pass *p, int32_t layer, int32_t which, float *to, const float *from,
                     float *sublayer) {
    const int64_t all = (int64_t)p->n * p->cfg->d_model;
    if (GF_TRAINS(p)) gf_dropout(p, layer, which, sublayer, sublayer);
    if (p->cfg->use_residual)
        gf_add(to, from, sublayer, all);
    else if (to != sublayer)
        memcpy(to, sublayer, (size_t)all * sizeof *to);
}

static void tap_resid(const struct gf_pass *p, int32_t layer, int32_t point, float *x) {
    gf_tap(p->observe, p->stack, layer, point, x, p->cfg->d_model, p->n, p->cfg->d_model);
}

void gf_block_forward(const struct gf_pass *p, int32_t layer, const struct gf_block *w, const struct gf_bufs *b) {
    const int pre = p->cfg->norm_placement == GF_PRE_NORM,
              cross = p->cfg->kind == GF_ENCODER_DECODER && p->stack == GF_STACK_DECODER;
    const int32_t n = p->n;
    float *x = b->resid_pre;

    tap_resid(p, layer, GF_P_RESID_PRE, x);
    if (pre) gf_norm_forward(p, &w->norm1, layer, GF_P_LN1_SCALE, GF_P_LN1, b->norm1, x, b->mean1, b->rstd1, n);
    if (pre) gf_mark(p->trace, p->stack, layer, GF_OP_NORM1);
    gf_attention_forward(p, &w->attn, layer, b->attn_out, pre ? b->norm1 : x, b->qkv, b->z, b->qk_raw);
    residual(p, layer, 0, pre ? b->resid_mid : b->sum1, x, b->attn_out);
    gf_mark(p->trace, p->stack, layer, GF_OP_RESID_ATTN);
    if (!pre)
        gf_norm_forward(p, &w->norm1, layer, GF_P_LN1_SCALE, GF_P_LN1, b->resid_mid, b->sum1, b->mean1, b->rstd1, n);
    if (!pre) gf_mark(p->trace, p->stack, layer, GF_OP_NORM1);
    x = b->resid_mid;
    tap_resid(p, layer, GF_P_RESID_MID, x);

    if (cross) {
        if (pre)
            gf_norm_forward(p, &w->norm_cross, layer, GF_P_LN_CROSS_SCALE, GF_P_LN_CROSS, b->norm_cross, x,
                            b->mean_cross, b->rstd_cross, n);
        if (pre) gf_mark(p->trace, p->stack, layer, GF_OP_NORM_CROSS);
        gf_cross_attention_forward(p, &w->cross, layer, b->cross_out, pre ? b->norm_cross : x, b->cross_q, b->cross_z,
                                   b->cross_kv);
        residual(p, layer, 1, pre ? b->resid_cross : b->sum_cross, x, b->cross_out);
        gf_mark(p->trace, p->stack, layer, GF_OP_RESID_CROSS);
        if (!pre)
            gf_norm_forward(p, &w->norm_cross, layer, GF_P_LN_CROSS_SCALE, GF_P_LN_CROSS, b->resid_cross, b->sum_cross,
                            b->mean_cross, b->rstd_cross, n);
        if (!pre) gf_mark(p->trace, p->stack, layer, GF_OP_NORM_CROSS);
        x = b->resid_cross;
        tap_resid(p, layer, GF_P_RESID_MID_CROSS, x);
    }

    if (pre) gf_norm_forward(p, &w->norm2, layer, GF_P_LN2_SCALE, GF_P_LN2, b->norm2, x, b->mean2, b->rstd2, n);
    if (pre) gf_mark(p->trace, p->stack, layer, GF_OP_NORM2);
    gf_ffn_forward(p, &w->ffn, layer, b->ffn_out, pre ? b->norm2 : x, b->ffn_pre, b->ffn_post);
    residual(p, layer, 2, pre ? b->resid_post : b->sum2, x, b->ffn_out);
    gf_mark(p->trace, p->stack, layer, GF_OP_RESID_FFN);
    if (!pre)
        gf_norm_forward(p, &w->norm2, layer, GF_P_LN2_SCALE, GF_P_LN2, b->resid_post, b->sum2, b->mean2, b->rstd2, n);
    if (!pre) gf_mark(p->trace, p->stack, layer, GF_OP_NORM2);
    tap_resid(p, layer, GF_P_RESID_POST, b->resid_post);
}

/* Backward of a sublayer's way out, up to the gradient of its output, which it returns. In
 * post-norm g->resid then is the gradient of the sum that was normalised. */
static const float *way_out(const struct gf_pass *p, int32_t layer, int32_t which, const struct gf_norm *w,
                            struct gf_norm *dw, const float *sum, const float *mean, const float *rstd,
                            struct gf_back *g) {
    if (p->cfg->norm_placement == GF_POST_NORM)
        gf_norm_backward(p, w, dw, layer, g->resid, 0, g->resid, sum, mean, rstd, p->n);
    if (p->training->dropout == 0) return g->resid;
    gf_dropout(p, layer, which, g->out, g->resid);
    return g->out;
}

/* Backward of its way in: g->in, the gradient of what it read, joins that of the residual stream. */
static void way_in(const struct gf_pass *p, int32_t layer, const struct gf_norm *w, struct gf_norm *dw, const float *x,
                   const float *mean, const float *rstd, struct gf_back *g) {
    const int64_t all = (int64_t)p->n * p->cfg->d_model;
    if (!p->cfg->use_residual) memset(g->resid, 0, (size_t)all * sizeof *g->resid);
    if (p->cfg->norm_placement == GF_PRE_NORM)
        gf_norm_backward(p, w, dw, layer, g->resid, 1, g->in, x, mean, rstd, p->n);
    else
        gf_add(g->resid, g->resid, g->in, all);
}

void gf_block_backward(const struct gf_pass *p, int32_t layer, const struct gf_block *w, struct gf_block *dw,
                       const struct gf_bufs *b, struct gf_back *g) {
    const int pre = p->cfg->norm_placement == GF_PRE_NORM,
              cross = p->cfg->kind == GF_ENCODER_DECODER && p->stack == GF_STACK_DECODER;
    const float *x = cross ? b->resid_cross : b->resid_mid;
    const float *dout = way_out(p, layer, 2, &w->norm2, &dw->norm2, b->sum2, b->mean2, b->rstd2, g);
    gf_ffn_backward(p, &w->ffn, &dw->ffn, g->in, dout, pre ? b->norm2 : x, b->ffn_pre, b->ffn_post, g->ffn_pre,
                    g->ffn_post);
    way_in(p, layer, &w->norm2, &dw->norm2, x, b->mean2, b->rstd2, g);
    if (cross) {
        x = b->resid_mid;
        dout = way_out(p, layer, 1, &w->norm_cross, &dw->norm_cross, b->sum_cross, b->mean_cross, b->rstd_cross, g);
        gf_cross_attention_backward(p, &w->cross, &dw->cross, g->in, g->memory, dout, pre ? b->norm_cross : x,
                                    b->cross_q, b->cross_kv, b->cross_z, g->qkv, g->cross_kv, g->z);
        way_in(p, layer, &w->norm_cross, &dw->norm_cross, x, b->mean_cross, b->rstd_cross, g);
    }
    x = b->resid_pre;
    dout = way_out(p, layer, 0, &w->norm1, &dw->norm1, b->sum1, b->mean1, b->rstd1, g);
    gf_attention_backward(p, &w->attn, &dw->attn, g->in, dout, pre ? b->norm1 : x, b->qkv, b->z, b->qk_raw, g->qkv,
                          g->z);
    way_in(p, layer, &w->norm1, &dw->norm1, x, b->mean1, b->rstd1, g);
}
