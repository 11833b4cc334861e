/* block.c - the repeating unit: attention, for decoders of an encoder_decoder cross-attention, and
 * the feed-forward layer, each with its norm and its way around it.
 *
 *   pre-norm:   x = x + sublayer(norm(x))     Radford 2019, Xiong 2020
 *   post-norm:  x = norm(x + sublayer(x))     Vaswani 2017 */
#include "model/block.h"
#include "kernels/kernels.h" /* gf_add, gf_matmul */
#include "model/attention.h"
#include "model/ffn.h"
#include "model/norm.h"
#include <string.h>

void gf_linear_forward(const struct gf_pass *p, const struct gf_linear *l, float *y, const float *x,
                       int32_t n) {
    gf_matmul(y, l->w.rows, x, l->w.cols, &l->w, l->b, n, p->matmul_scratch, p->pool);
}

/* to = from + sublayer, or sublayer alone where the residual is switched off. */
static void residual(const struct gf_pass *p, float *to, const float *from, const float *sublayer) {
    const int64_t all = (int64_t)p->n * p->cfg->d_model;
    if (p->cfg->use_residual)
        gf_add(to, from, sublayer, all);
    else if (to != sublayer)
        memcpy(to, sublayer, (size_t)all * sizeof *to);
}

static void tap_resid(const struct gf_pass *p, int32_t layer, int32_t point, float *x) {
    gf_tap(p->observe, p->stack, layer, point, x, p->cfg->d_model, p->n, p->cfg->d_model);
}

void gf_block_forward(const struct gf_pass *p, int32_t layer, const struct gf_block *w,
                      const struct gf_bufs *b) {
    const int pre = p->cfg->norm_placement == GF_PRE_NORM,
              cross = p->cfg->kind == GF_ENCODER_DECODER && p->stack == GF_STACK_DECODER;
    const int32_t n = p->n;
    float *x = b->resid_pre;

    tap_resid(p, layer, GF_P_RESID_PRE, x);
    if (pre)
        gf_norm_forward(p, &w->norm1, layer, GF_P_LN1_SCALE, GF_P_LN1, b->norm1, x, b->mean1,
                        b->rstd1, n);
    if (pre) gf_mark(p->trace, p->stack, layer, GF_OP_NORM1);
    gf_attention_forward(p, &w->attn, layer, b->attn_out, pre ? b->norm1 : x, b->qkv, b->z);
    residual(p, pre ? b->resid_mid : b->sum1, x, b->attn_out);
    gf_mark(p->trace, p->stack, layer, GF_OP_RESID_ATTN);
    if (!pre)
        gf_norm_forward(p, &w->norm1, layer, GF_P_LN1_SCALE, GF_P_LN1, b->resid_mid, b->sum1,
                        b->mean1, b->rstd1, n);
    if (!pre) gf_mark(p->trace, p->stack, layer, GF_OP_NORM1);
    x = b->resid_mid;
    tap_resid(p, layer, GF_P_RESID_MID, x);

    if (cross) {
        if (pre)
            gf_norm_forward(p, &w->norm_cross, layer, GF_P_LN_CROSS_SCALE, GF_P_LN_CROSS,
                            b->norm_cross, x, b->mean_cross, b->rstd_cross, n);
        if (pre) gf_mark(p->trace, p->stack, layer, GF_OP_NORM_CROSS);
        gf_cross_attention_forward(p, &w->cross, layer, b->cross_out, pre ? b->norm_cross : x,
                                   b->cross_q, b->cross_z);
        residual(p, pre ? b->resid_cross : b->sum_cross, x, b->cross_out);
        gf_mark(p->trace, p->stack, layer, GF_OP_RESID_CROSS);
        if (!pre)
            gf_norm_forward(p, &w->norm_cross, layer, GF_P_LN_CROSS_SCALE, GF_P_LN_CROSS,
                            b->resid_cross, b->sum_cross, b->mean_cross, b->rstd_cross, n);
        if (!pre) gf_mark(p->trace, p->stack, layer, GF_OP_NORM_CROSS);
        x = b->resid_cross;
        tap_resid(p, layer, GF_P_RESID_MID_CROSS, x);
    }

    if (pre)
        gf_norm_forward(p, &w->norm2, layer, GF_P_LN2_SCALE, GF_P_LN2, b->norm2, x, b->mean2,
                        b->rstd2, n);
    if (pre) gf_mark(p->trace, p->stack, layer, GF_OP_NORM2);
    gf_ffn_forward(p, &w->ffn, layer, b->ffn_out, pre ? b->norm2 : x, b->ffn_pre, b->ffn_post);
    residual(p, pre ? b->resid_post : b->sum2, x, b->ffn_out);
    gf_mark(p->trace, p->stack, layer, GF_OP_RESID_FFN);
    if (!pre)
        gf_norm_forward(p, &w->norm2, layer, GF_P_LN2_SCALE, GF_P_LN2, b->resid_post, b->sum2,
                        b->mean2, b->rstd2, n);
    if (!pre) gf_mark(p->trace, p->stack, layer, GF_OP_NORM2);
    tap_resid(p, layer, GF_P_RESID_POST, b->resid_post);
}
