/* gemm.h - general products of row-major f32 matrices, as gf_gemm_fn (model/layers/pass.h). */
#ifndef GF_GEMM_H
#define GF_GEMM_H
#include "model/layers/pass.h"

/* The implementation of this project (train/blas.h has that of OpenBLAS): f32 sums over k in one fixed order that
 * depends on k alone. Allocates nothing. */
void gf_gemm(int ta, int tb, int32_t m, int32_t n, int32_t k, float alpha, const float *a, int32_t lda, const float *b,
             int32_t ldb, float beta, float *c, int32_t ldc);
/* The same with a matrix of panels, as gf_panels_fn (pass.h): the bits of gf_gemm with its values. */
void gf_gemm_by_panels(int tb, int32_t m, int32_t first, int32_t n, const float *a, int32_t lda, const struct gf_mat *w,
                       float beta, float *c, int32_t ldc);
#endif
