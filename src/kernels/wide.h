/* wide.h - what training does most besides products, on as many lanes as the machine has.
 *
 * The kernels of kernels.h give the same bits in every build and so stay at four lanes; a gradient
 * need not. Same contracts otherwise; exp within 3 ulp. */
#ifndef GF_WIDE_H
#define GF_WIDE_H
#include <stdint.h>

void gf_softmax_wide(float *y, const float *x, int32_t n);
void gf_silu_mul_wide(float *y, const float *gate, const float *up, int32_t n);
/* y = silu(g) u: dg = dy u s (1 + g (1 - s)), du = dy g s, with s the sigmoid of g. */
void gf_silu_mul_back_wide(float *dg, float *du, const float *dy, const float *g, const float *u, int32_t n);
#endif
