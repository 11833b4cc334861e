/* ffn.h - the position-wise feed-forward layer. */
#ifndef GF_FFN_H
#define GF_FFN_H
#include "model/pass.h"

/* out [n, d_model] = ffn(x [n, d_model]); pre and post as in gf_bufs. */
void gf_ffn_forward(const struct gf_pass *p, const struct gf_ffn *w, int32_t layer, float *out, const float *x,
                    float *pre, float *post);
/* Given dout and what forward read and left: dw += ..., dx = ...; dpre, dpost: room for gradients
 * of pre and post. */
void gf_ffn_backward(const struct gf_pass *p, const struct gf_ffn *w, struct gf_ffn *dw, float *dx, const float *dout,
                     const float *x, const float *pre, const float *post, float *dpre, float *dpost);
#endif
