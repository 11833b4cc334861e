/* head.c - logits from hidden states, and the pooled state of an encoder.
 *
 *   logits = cap tanh( scale (W h + b) / cap )      without a cap: scale (W h + b)
 *   mlm_head:  h is first replaced by norm( activation(W h + b) )
 *   pooled = tanh( W h_0 + b )
 *
 * Sources: Press & Wolf 2017 (tied embeddings); Gemma 2 (soft cap); Devlin et al. 2019 (mlm_head, pooler). */
#include "model/layers/head.h"
#include "kernels/kernels.h" /* gf_scale, gf_tanh */
#include "model/config.h"
#include "model/layers/ffn.h" /* gf_activate */
#include "model/layers/linear.h"
#include "model/layers/norm.h"

/* The head; a tied one is the embedding's matrix. */
static struct gf_linear head_of(const struct gf_config *c, const struct gf_weights *w) {
    return (struct gf_linear){c->tie_word_embeddings ? w->embed : w->head.w, w->head.b};
}

void gf_head_forward(const struct gf_pass *p, const struct gf_weights *w, float *logits, float *projected,
                     const float *hidden, int32_t n) {
    const struct gf_config *c = p->cfg;
    const struct gf_linear head = head_of(c, w);
    const int64_t all = (int64_t)n * c->vocab_size;
    if (gf_embed_projected(c)) {
        gf_linear_forward(p, &w->head_project, projected, hidden, n);
        hidden = projected;
    }
    gf_linear_forward(p, &head, logits, hidden, n);
    const float cap = c->logit_softcap, scale = cap > 0 ? c->logit_scale / cap : c->logit_scale;
    if (scale != 1) gf_scale(logits, logits, scale, all);
    if (cap > 0) {
        gf_tanh(logits, logits, all);
        gf_scale(logits, logits, cap, all);
    }
}

void gf_pooler_forward(const struct gf_pass *p, const struct gf_weights *w, float *pooled, const float *hidden) {
    const int32_t d = p->cfg->d_model;
    gf_linear_forward(p, &w->pooler, pooled, hidden, 1);
    gf_tanh(pooled, pooled, d);
    if (p->observe) gf_tap_rows(p->observe, p->stack, -1, GF_P_POOLED, 0, pooled, d, 1, d);
    gf_mark(p, GF_OP_POOLER);
}

void gf_transform_forward(const struct gf_pass *p, const struct gf_weights *w, const struct gf_transformed *t,
                          const float *hidden) {
    const struct gf_config *c = p->cfg;
    gf_linear_forward(p, &w->head_transform, t->pre, hidden, p->n);
    gf_activate(gf_ffn_activation(c), t->active, t->pre, (int64_t)p->n * c->d_model);
    gf_norm_forward(p, &w->head_norm, GF_P_LN_HEAD, t->out, t->active, t->mean, t->rstd);
    gf_mark(p, GF_OP_HEAD_TRANSFORM);
}

void gf_transform_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw, float *dhidden,
                           float *dout, const struct gf_transformed *t, const float *hidden) {
    const struct gf_config *c = p->cfg;
    gf_norm_backward(p, &w->head_norm, &dw->head_norm, GF_P_LN_HEAD, dout, 0, dout, t->active, t->mean, t->rstd);
    gf_activate_backward(gf_ffn_activation(c), dout, dout, t->pre, (int64_t)p->n * c->d_model);
    gf_linear_backward(p, &w->head_transform, &dw->head_transform, dhidden, 0, dout, hidden, p->n);
}

void gf_head_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw, float *dhidden,
                      float *dlogits, const float *capped, const float *projected, float *dprojected,
                      const float *hidden, int32_t n) {
    const struct gf_config *c = p->cfg;
    const struct gf_linear head = head_of(c, w);
    struct gf_linear dhead = head_of(c, dw);
    const int64_t all = (int64_t)n * c->vocab_size;
    const float cap = c->logit_softcap;
    for (int64_t i = 0; cap > 0 && i < all; i++) dlogits[i] *= 1 - capped[i] / cap * (capped[i] / cap);
    if (c->logit_scale != 1) gf_scale(dlogits, dlogits, c->logit_scale, all);
    if (!gf_embed_projected(c)) {
        gf_linear_backward(p, &head, &dhead, dhidden, 0, dlogits, hidden, n);
        return;
    }
    gf_linear_backward(p, &head, &dhead, dprojected, 0, dlogits, projected, n);
    gf_linear_backward(p, &w->head_project, &dw->head_project, dhidden, 0, dprojected, hidden, n);
}
