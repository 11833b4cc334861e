/* head.h - from hidden states to logits, and back. */
#ifndef GF_HEAD_H
#define GF_HEAD_H
#include "model/layers/pass.h"

/* logits [n, gf_head_rows] = hidden [n, d_model], projected to d_embed where that is another width, times the matrix of
 * the head (or the embedding, where they are tied) plus its bias; then logit_scale and the soft cap. projected: [n,
 * d_embed] workspace of such a model. */
void gf_head_forward(const struct gf_pass *p, const struct gf_weights *w, float *logits, float *projected,
                     const float *hidden, int32_t n);
/* The pooler: pooled [n_segs, d_model] = tanh(W h + b), h the first row of each sequence in hidden. */
void gf_pooler_forward(const struct gf_pass *p, const struct gf_weights *w, float *pooled, const float *hidden);

/* The rows of the linear layer before the head, [n, d_model] or, of a classifier that reads one state of each sequence,
 * [n_segs, d_model]; a session has one set of rows for `active` and `out`. */
struct gf_transformed {
    float *pre, *active; /* W h + b, its activation */
    float *out;          /* the norm of that, or that itself: what gf_head_forward reads */
    float *mean, *rstd;  /* statistics of the norm */
};
/* Computes what the head reads from the states of all rows of the pass: the state of a sequence that a classifier with
 * label_pooling reads (rows [n_segs, d_model]), then the linear layer of an mlm_head or a label_transform, into t->out,
 * which is `rows` where there is no such layer. pooled: the output of gf_pooler_forward, with label_pooling pooler. */
void gf_before_head_forward(const struct gf_pass *p, const struct gf_weights *w, const struct gf_transformed *t,
                            float *rows, const float *pooled, const float *hidden);
/* Given dout, which is overwritten, and what forward read and left: dw += ..., dhidden = the gradient of hidden. There
 * is such a layer or label_pooling. drows: workspace like rows. */
void gf_before_head_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw, float *dhidden,
                             float *drows, float *dout, const struct gf_transformed *t, const float *rows,
                             const float *pooled, const float *hidden);
/* Given dlogits, which is overwritten, and what forward read and left (hidden, projected; capped: the logits, only with
 * a soft cap): dw += ..., dhidden = the gradient of hidden. dprojected: workspace as projected. */
void gf_head_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw, float *dhidden,
                      float *dlogits, const float *capped, const float *projected, float *dprojected,
                      const float *hidden, int32_t n);
#endif
