/* head.h - from hidden states to logits, and back. */
#ifndef GF_HEAD_H
#define GF_HEAD_H
#include "model/layers/pass.h"

/* logits [n, vocab_size] = hidden [n, d_model], projected to d_embed where that is another width, times the matrix of
 * the head (or the embedding, where they are tied) plus its bias; then logit_scale and the soft cap. projected: [n,
 * d_embed] workspace of such a model. */
void gf_head_forward(const struct gf_pass *p, const struct gf_weights *w, float *logits, float *projected,
                     const float *hidden, int32_t n);
/* With a pooler: pooled [d_model] = tanh(W h_0 + b), h_0 the first row of hidden. */
void gf_pooler_forward(const struct gf_pass *p, const struct gf_weights *w, float *pooled, const float *hidden);

/* The rows of an mlm_head's transform, [n, d_model]; a session has one set of rows for all. */
struct gf_transformed {
    float *pre, *active; /* W h + b, its activation */
    float *out;          /* the norm of that, from which gf_head_forward makes the logits */
    float *mean, *rstd;  /* [n] statistics of the norm */
};
/* With an mlm_head, for all rows of the pass: t->out = norm(activation(W hidden + b)). */
void gf_transform_forward(const struct gf_pass *p, const struct gf_weights *w, const struct gf_transformed *t,
                          const float *hidden);
/* Given dout, which is overwritten, and what forward read and left: dw += ..., dhidden = the gradient of hidden. */
void gf_transform_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw, float *dhidden,
                           float *dout, const struct gf_transformed *t, const float *hidden);
/* Given dlogits, which is overwritten, and what forward read and left (hidden, projected; capped: the logits, only with
 * a soft cap): dw += ..., dhidden = the gradient of hidden. dprojected: workspace as projected. */
void gf_head_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw, float *dhidden,
                      float *dlogits, const float *capped, const float *projected, float *dprojected,
                      const float *hidden, int32_t n);
#endif
