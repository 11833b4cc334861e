/* linear.h - the linear layer. */
#ifndef GF_LINEAR_H
#define GF_LINEAR_H
#include "model/layers/pass.h"

/* y [n, rows] = x [n, cols] W^T + b, with the scratch memory and the threads of the pass. */
void gf_linear_forward(const struct gf_pass *p, const struct gf_linear *w, float *y, const float *x, int32_t n);
/* Given dy: dl->w += dy^T x, dl->b += the column sums of dy (where they are not NULL), and dx = dy W; with `add` dx +=
 * dy W. dx may be NULL. */
void gf_linear_backward(const struct gf_pass *p, const struct gf_linear *w, struct gf_linear *dw, float *dx, int add,
                        const float *dy, const float *x, int32_t n);
#endif
