/* ffn.h - the position-wise feed-forward layer. */
#ifndef GF_FFN_H
#define GF_FFN_H
#include "model/layers/pass.h"

/* y = activation(x), n values; y may be x. activation: one without a gate. */
void gf_activate(int32_t activation, float *y, const float *x, int64_t n);
/* dx = dy times the derivatives at x, n values; dx may be dy. */
void gf_activate_backward(int32_t activation, float *dx, const float *dy, const float *x, int64_t n);
/* The output in b->sub = ffn(x [n, d_model]); leaves in b what backward reads. */
void gf_ffn_forward(const struct gf_pass *p, const struct gf_ffn *w, const struct gf_bufs *b, const float *x);
/* post [n, width] = the activation of pre [n, width], gated [n, 2 width]: gate | up, for n rows. */
void gf_ffn_activate(const struct gf_pass *p, float *post, const float *pre, int32_t n, int32_t width);
/* Given dpost: dpre. */
void gf_ffn_activate_backward(const struct gf_pass *p, float *dpre, const float *dpost, const float *pre, int32_t n,
                              int32_t width);
/* Training. Given dout, the gradient of the output, and what forward read (x) and left (b): dw += ..., g->in = the
 * gradient of x. g->ffn_pre and g->ffn_post are workspace. */
void gf_ffn_backward(const struct gf_pass *p, const struct gf_ffn *w, struct gf_ffn *dw, const struct gf_bufs *b,
                     struct gf_back *g, const float *dout, const float *x);
#endif
