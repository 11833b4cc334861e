/* frozen.h - products of a training pass with weights that stay: panels of any type (kernels.h), which are dequantised
 * piece by piece, and the low-rank adapters that are added to them (LoRA, Hu et al. 2021):
 *
 *   y = x W^T + scale (x A^T) B^T
 *
 * Threads divide the columns of a result, which does not depend on their number. */
#ifndef GF_FROZEN_H
#define GF_FROZEN_H
#include "model/layers/pass.h"

/* y [n, rows] = x [n, cols] W^T + b, with the adapters of W. */
void gf_frozen_forward(const struct gf_pass *p, const struct gf_linear *w, float *y, const float *x, int32_t n);
/* Given dy: dx = dy W, with `add` dx += dy W, and the gradients of the adapters of W. dx may be NULL. */
void gf_frozen_backward(const struct gf_pass *p, const struct gf_linear *w, float *dx, int add, const float *dy,
                        const float *x, int32_t n);
#endif
