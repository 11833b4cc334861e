/* dropout.h - Srivastava et al. 2014, drawn from the place alone so that backward draws it again. */
#ifndef GF_DROPOUT_H
#define GF_DROPOUT_H
#include "model/pass.h"

/* y = x with the training's share of elements set to 0 and the others divided by what is kept. The
 * same pass, layer (-1: the embedding) and place in it (`which`) drop the same elements. x [n,
 * d_model]; y may be x. Given the gradient of y it gives that of x. */
void gf_dropout(const struct gf_pass *p, int32_t layer, int32_t which, float *y, const float *x);
#endif
