/* blas.h - whose matrix products: OpenBLAS's where the build found it (GF_OPENBLAS), else our own. */
#ifndef GF_BLAS_H
#define GF_BLAS_H
#include "kernels/gemm.h"

gf_gemm_fn gf_blas_gemm(void);
const char *gf_blas_name(void);
#endif
