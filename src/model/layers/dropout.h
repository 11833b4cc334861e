/* dropout.h - dropout (Srivastava et al. 2014). The choice of elements depends only on seed, layer and `which`, so that
 * backward makes the same choice without storing it. */
#ifndef GF_DROPOUT_H
#define GF_DROPOUT_H
#include "model/layers/pass.h"

/* y [n, d_model] = x, with a share p->training->dropout of its elements set to 0 and the others divided by 1 - share. y
 * may be x. which: the sublayer, or 0 of the embedding. Called with the gradient of y it gives that of x. */
void gf_dropout(const struct gf_pass *p, int32_t which, float *y, const float *x);
#endif
