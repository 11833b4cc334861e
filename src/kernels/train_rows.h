/* train_rows.h - softmax and SiLU for training, on vectors of 16 values.
 *
 * The kernels of kernels.h use 4 lanes in every build, so that all builds give the same bits. Gradients need not be
 * equal between builds, therefore these functions use vectors as wide as the machine has. Otherwise the contracts are
 * those of kernels.h; exp is within 3 ulp. */
#ifndef GF_TRAIN_ROWS_H
#define GF_TRAIN_ROWS_H
#include <stdint.h>

void gf_softmax_wide(float *y, const float *x, int32_t n);
void gf_silu_mul_wide(float *y, const float *gate, const float *up, int32_t n);
/* y = silu(g) u: dg = dy u s (1 + g (1 - s)), du = dy g s, with s the sigmoid of g. */
void gf_silu_mul_back_wide(float *dg, float *du, const float *dy, const float *g, const float *u, int32_t n);
#endif
