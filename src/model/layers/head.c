/* head.c - logits from hidden states, and the pooled state of an encoder.
 *
 *   logits = cap tanh( scale (W h + b) / cap )      without a cap: scale (W h + b)
 *   mlm_head:    h is first replaced by norm( activation(W h + b) )
 *   classifier:  h is that of each position, or one of a whole sequence, before which there may be such layers
 *   pooled = tanh( W h_0 + b )
 *
 * Sources: Press & Wolf 2017 (tied embeddings); Gemma 2 (soft cap); Devlin et al. 2019 (mlm_head, pooler, classifiers);
 * Warner et al. 2024 (ModernBERT: the mean, a norm before the classifier). */
#include "model/layers/head.h"
#include "kernels/kernels.h" /* gf_scale, gf_tanh */
#include "model/config.h"
#include "model/layers/ffn.h" /* gf_activate */
#include "model/layers/linear.h"
#include "model/layers/norm.h"
#include <string.h>

/* The head; a tied one is the embedding's matrix. */
static struct gf_linear head_of(const struct gf_config *c, const struct gf_weights *w) {
    return (struct gf_linear){c->tie_word_embeddings ? w->embed : w->head.w, w->head.b};
}

void gf_head_forward(const struct gf_pass *p, const struct gf_weights *w, float *logits, float *projected,
                     const float *hidden, int32_t n) {
    const struct gf_config *c = p->cfg;
    const struct gf_linear head = head_of(c, w);
    const int64_t all = (int64_t)n * gf_head_rows(c);
    if (gf_embed_projected(c) && !gf_embed_narrow(c)) {
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
    for (int32_t i = 0; i < p->n_segs; hidden += (int64_t)p->segs[i++].n * d, pooled += d) {
        gf_linear_forward(p, &w->pooler, pooled, hidden, 1);
        gf_tanh(pooled, pooled, d);
        if (p->observe) gf_tap_rows(p->observe, p->stack, -1, GF_P_POOLED, 0, pooled, d, 1, d);
    }
    gf_mark(p, GF_OP_POOLER);
}

/* The activation of the layer before the head; -1: tanh, which no feed-forward layer has. */
static int32_t transform_activation(const struct gf_config *c) {
    if (c->mlm_head) return gf_head_activation(c);
    switch (c->label_transform) {
    case GF_LABEL_RELU: return GF_RELU;
    case GF_LABEL_GELU_ERF: return GF_GELU_ERF;
    case GF_LABEL_GELU_TANH: return GF_GELU_TANH;
    case GF_LABEL_SILU: return GF_SILU;
    default: return -1;
    }
}

/* Whether a norm follows that layer. */
static int transform_normed(const struct gf_config *c) { return c->mlm_head || c->label_norm; }

static void transform_forward(const struct gf_pass *p, const struct gf_weights *w, const struct gf_transformed *t,
                              const float *in) {
    const struct gf_config *c = p->cfg;
    const int32_t activation = transform_activation(c);
    const int64_t all = (int64_t)p->n * gf_head_width(c);
    gf_linear_forward(p, &w->head_transform, t->pre, in, p->n);
    if (activation < 0)
        gf_tanh(t->active, t->pre, all);
    else
        gf_activate(activation, t->active, t->pre, all);
    if (transform_normed(c)) gf_norm_forward(p, &w->head_norm, GF_P_LN_HEAD, t->out, t->active, t->mean, t->rstd);
    gf_mark(p, GF_OP_HEAD_TRANSFORM);
}

/* Given dout, which is overwritten: din = the gradient of what the layer read. */
static void transform_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw, float *din,
                               float *dout, const struct gf_transformed *t, const float *in) {
    const struct gf_config *c = p->cfg;
    const int32_t activation = transform_activation(c);
    const int64_t all = (int64_t)p->n * gf_head_width(c);
    if (transform_normed(c))
        gf_norm_backward(p, &w->head_norm, &dw->head_norm, GF_P_LN_HEAD, dout, 0, dout, t->active, t->mean, t->rstd);
    if (activation < 0)
        for (int64_t i = 0; i < all; i++) dout[i] *= 1 - t->active[i] * t->active[i];
    else
        gf_activate_backward(activation, dout, dout, t->pre, all);
    gf_linear_backward(p, &w->head_transform, &dw->head_transform, din, 0, dout, in, p->n);
}

/* Whether a mask lets the mean have row i of a sequence. */
static int in_mean(const struct gf_seg *seg, int32_t i) { return !seg->mask || seg->mask[i]; }

static int32_t rows_of_mean(const struct gf_seg *seg) {
    int32_t count = 0;
    for (int32_t i = 0; i < seg->n; i++) count += in_mean(seg, i);
    return count;
}

/* rows [n_segs, d_model] = the state of each sequence that a classifier reads. */
static void pool_rows(const struct gf_pass *p, float *rows, const float *pooled, const float *hidden) {
    const int32_t d = p->cfg->d_model;
    for (int32_t s = 0; s < p->n_segs; hidden += (int64_t)p->segs[s++].n * d, rows += d) {
        if (p->cfg->label_pooling != GF_LABELS_OF_MEAN) {
            const float *state = p->cfg->label_pooling == GF_LABELS_OF_POOLER ? pooled + (int64_t)s * d : hidden;
            memcpy(rows, state, (size_t)d * sizeof *rows);
            continue;
        }
        memset(rows, 0, (size_t)d * sizeof *rows);
        for (int32_t i = 0; i < p->segs[s].n; i++)
            for (int32_t j = 0; j < d && in_mean(&p->segs[s], i); j++) rows[j] += hidden[(int64_t)i * d + j];
        gf_scale(rows, rows, 1 / (float)rows_of_mean(&p->segs[s]), d);
    }
}

/* dhidden = the gradient of the states, given drows, that of what pool_rows made of them. */
static void pool_rows_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw,
                               float *dhidden, float *drows, const float *pooled, const float *hidden) {
    const int32_t d = p->cfg->d_model;
    memset(dhidden, 0, (size_t)p->n * (size_t)d * sizeof *dhidden);
    for (int32_t s = 0; s < p->n_segs; s++, drows += d, pooled += d) {
        const struct gf_seg *seg = &p->segs[s];
        if (p->cfg->label_pooling == GF_LABELS_OF_POOLER) {
            if (p->observe) gf_tap_rows(p->observe, p->stack, -1, GF_P_POOLED, 0, drows, d, 1, d);
            for (int32_t j = 0; j < d; j++) drows[j] *= 1 - pooled[j] * pooled[j];
            gf_linear_backward(p, &w->pooler, &dw->pooler, dhidden, 0, drows, hidden, 1);
        } else if (p->cfg->label_pooling == GF_LABELS_OF_MEAN) {
            for (int32_t i = 0; i < seg->n; i++)
                if (in_mean(seg, i)) gf_scale(dhidden + (int64_t)i * d, drows, 1 / (float)rows_of_mean(seg), d);
        } else {
            memcpy(dhidden, drows, (size_t)d * sizeof *drows);
        }
        dhidden += (int64_t)seg->n * d;
        hidden += (int64_t)seg->n * d;
    }
}

void gf_before_head_forward(const struct gf_pass *p, const struct gf_weights *w, const struct gf_transformed *t,
                            float *rows, const float *pooled, const float *hidden) {
    struct gf_pass q = *p;
    const int32_t d = p->cfg->d_model;
    if (gf_label_pooled(p->cfg)) {
        q.n = p->n_segs;
        pool_rows(p, rows, pooled, hidden);
        hidden = rows;
    }
    if (gf_head_transformed(p->cfg))
        transform_forward(&q, w, t, hidden);
    else if (hidden != rows)
        memcpy(rows, hidden, (size_t)p->n * (size_t)d * sizeof *rows);
    if (gf_label_pooled(p->cfg)) gf_tap(&q, GF_P_LABEL_INPUT, t->out, d, d);
}

void gf_before_head_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw, float *dhidden,
                             float *drows, float *dout, const struct gf_transformed *t, const float *rows,
                             const float *pooled, const float *hidden) {
    struct gf_pass q = *p;
    const int32_t d = p->cfg->d_model;
    if (!gf_label_pooled(p->cfg)) {
        transform_backward(p, w, dw, dhidden, dout, t, hidden);
        return;
    }
    q.n = p->n_segs;
    gf_tap(&q, GF_P_LABEL_INPUT, dout, d, d);
    if (gf_head_transformed(p->cfg))
        transform_backward(&q, w, dw, drows, dout, t, rows);
    else
        drows = dout;
    pool_rows_backward(p, w, dw, dhidden, drows, pooled, hidden);
}

void gf_head_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw, float *dhidden,
                      float *dlogits, const float *capped, const float *projected, float *dprojected,
                      const float *hidden, int32_t n) {
    const struct gf_config *c = p->cfg;
    const struct gf_linear head = head_of(c, w);
    struct gf_linear dhead = head_of(c, dw);
    const int64_t all = (int64_t)n * gf_head_rows(c);
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
