/* head.h - from hidden states to logits, and back. */
#ifndef GF_HEAD_H
#define GF_HEAD_H
#include "model/pass.h"

/* logits [n, vocab_size] = hidden [n, d_model], projected to d_embed where that is another width, times the matrix of
 * the head (or the embedding, where they are tied) plus its bias; then logit_scale and the soft cap. projected: [n,
 * d_embed] workspace of such a model. */
void gf_head_forward(const struct gf_pass *p, const struct gf_weights *w, float *logits, float *projected,
                     const float *hidden, int32_t n);
/* After the pass of an encoder of p->n positions. With a pooler: pooled [d_model] = tanh(W h_0 + b), h_0 the first row
 * of hidden. With an mlm_head: transformed [n, d_model] = norm(activation(W h + b)), from which gf_head_forward makes
 * the logits. mean, rstd: [n] workspace. What the architecture lacks is left alone. */
void gf_encoder_outputs(const struct gf_pass *p, const struct gf_weights *w, float *pooled, float *transformed,
                        const float *hidden, float *mean, float *rstd);
/* Given dlogits, which is overwritten, and what forward read and left (hidden, projected; capped: the logits, only with
 * a soft cap): dw += ..., dhidden = the gradient of hidden. dprojected: workspace as projected. */
void gf_head_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw, float *dhidden,
                      float *dlogits, const float *capped, const float *projected, float *dprojected,
                      const float *hidden, int32_t n);
#endif
