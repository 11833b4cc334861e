/* experts.h - a mixture of experts in the place of the feed-forward layer. */
#ifndef GF_EXPERTS_H
#define GF_EXPERTS_H
#include "model/layers/pass.h"

/* The output in b->sub = the weighted sum of the chosen experts of x [n, d_model]; leaves in b what backward reads. */
void gf_experts_forward(const struct gf_pass *p, const struct gf_experts *w, const struct gf_bufs *b, const float *x);
/* Training: as gf_ffn_backward. The choice itself has no gradient. */
void gf_experts_backward(const struct gf_pass *p, const struct gf_experts *w, struct gf_experts *dw,
                         const struct gf_bufs *b, struct gf_back *g, const float *dout, const float *x);
#endif
