/* blas.h - the trainer's matrix product: that of OpenBLAS if the build has found it (GF_OPENBLAS), otherwise
 * gf_gemm. */
#ifndef GF_BLAS_H
#define GF_BLAS_H
#include "train/gemm.h"

gf_gemm_fn gf_blas_gemm(void);
const char *gf_blas_name(void); /* for people */
#endif
