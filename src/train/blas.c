/* blas.c - see blas.h. */
#include "train/blas.h"

#if defined(GF_OPENBLAS)
#include <cblas.h>
#include <pthread.h>

static void product(int ta, int tb, int32_t m, int32_t n, int32_t k, float alpha, const float *a, int32_t lda,
                    const float *b, int32_t ldb, float beta, float *c, int32_t ldc) {
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, alpha, a, lda,
                b, ldb, beta, c, ldc);
}

/* One thread a product: the lanes of trainer.h run in parallel instead, and the order of sums must not depend on the
 * number of threads. */
static void one_thread(void) { openblas_set_num_threads(1); }

gf_gemm_fn gf_blas_gemm(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, one_thread);
    return product;
}
const char *gf_blas_name(void) { return openblas_get_config(); }
#else
gf_gemm_fn gf_blas_gemm(void) { return gf_gemm; }
const char *gf_blas_name(void) { return "own matrix products"; }
#endif
