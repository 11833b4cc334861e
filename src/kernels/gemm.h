/* gemm.h - general products of row-major f32 matrices, used by training; inference uses gf_matmul (kernels.h). */
#ifndef GF_GEMM_H
#define GF_GEMM_H
#include <stdint.h>

/* C = alpha op(A) op(B) + beta C.
 *   op(A) [m, k], op(B) [k, n], C [m, n]; row-major, rows lda, ldb, ldc apart; ta, tb: the stored
 *   matrix is the transpose of op's. beta 0 overwrites whatever C holds. C overlaps neither. */
typedef void (*gf_gemm_fn)(int ta, int tb, int32_t m, int32_t n, int32_t k, float alpha, const float *a, int32_t lda,
                           const float *b, int32_t ldb, float beta, float *c, int32_t ldc);

/* The implementation of this project (train/blas.h has that of OpenBLAS): f32 sums over k in one fixed order that
 * depends on k alone. Allocates nothing. */
void gf_gemm(int ta, int tb, int32_t m, int32_t n, int32_t k, float alpha, const float *a, int32_t lda, const float *b,
             int32_t ldb, float beta, float *c, int32_t ldc);
/* The definition for tests: sums in double. */
void gf_gemm_ref(int ta, int tb, int32_t m, int32_t n, int32_t k, float alpha, const float *a, int32_t lda,
                 const float *b, int32_t ldb, float beta, float *c, int32_t ldc);
#endif
