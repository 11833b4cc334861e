/* linear.h - the linear layer that every sublayer is made of. */
#ifndef GF_LINEAR_H
#define GF_LINEAR_H
#include "model/pass.h"

/* y [n, rows] = x [n, cols] W^T + b through the pass's scratch and threads. */
void gf_linear_forward(const struct gf_pass *p, const struct gf_linear *l, float *y, const float *x, int32_t n);
/* Given dy: dw += dy^T x (and its bias), and dx = dy W, or dx += with add; dx may be NULL. */
void gf_linear_backward(const struct gf_pass *p, const struct gf_linear *l, struct gf_linear *dl, float *dx, int add,
                        const float *dy, const float *x, int32_t n);
#endif
