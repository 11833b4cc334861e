/* ffn.c - the position-wise feed-forward layer, all variants.
 *
 *   relu, gelu:  y = down( act( up(x) ) )
 *   swiglu:      y = down( silu( gate(x) ) * up(x) )
 *
 * Sources: Vaswani 2017 eq. 2; Hendrycks & Gimpel 2016 (both GELUs); Shazeer 2020. */
#include "model/ffn.h"
#include "kernels/kernels.h" /* gf_relu, gf_gelu_erf, gf_gelu_tanh, gf_silu_mul */

void gf_ffn_forward(const struct gf_pass *p, const struct gf_ffn *w, int32_t layer, float *out,
                    const float *x, float *pre, float *post) {
    const int32_t n = p->n, d_ff = p->cfg->d_ff, gated = p->cfg->ffn == GF_SWIGLU,
                  ld = gated ? 2 * d_ff : d_ff;
    const int64_t all = (int64_t)n * d_ff;
    gf_linear_forward(p, &w->up, pre, x, n);
    gf_mark(p->trace, p->stack, layer, GF_OP_FFN_UP);
    gf_tap(p->observe, p->stack, layer, GF_P_MLP_PRE, pre, ld, n, d_ff);
    if (gated) gf_tap(p->observe, p->stack, layer, GF_P_MLP_PRE_LINEAR, pre + d_ff, ld, n, d_ff);
    switch (p->cfg->ffn) {
    case GF_RELU: gf_relu(post, pre, all); break;
    case GF_GELU_ERF: gf_gelu_erf(post, pre, all); break;
    case GF_GELU_TANH: gf_gelu_tanh(post, pre, all); break;
    case GF_SWIGLU:
        for (int32_t i = 0; i < n; i++) {
            const float *gate = pre + (int64_t)i * ld;
            gf_silu_mul(post + (int64_t)i * d_ff, gate, gate + d_ff, d_ff);
        }
        break;
    }
    gf_tap(p->observe, p->stack, layer, GF_P_MLP_POST, post, d_ff, n, d_ff);
    gf_mark(p->trace, p->stack, layer, GF_OP_FFN_ACT);
    gf_linear_forward(p, &w->down, out, post, n);
    gf_mark(p->trace, p->stack, layer, GF_OP_FFN_DOWN);
    gf_tap(p->observe, p->stack, layer, GF_P_MLP_OUT, out, p->cfg->d_model, n, p->cfg->d_model);
}
