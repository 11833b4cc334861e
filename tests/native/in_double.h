/* in_double.h - the sources of the model and of its gradients with double instead of float, and the reference kernels
 * instead of the fast ones. So the formulas of these files are checked to five digits, without rounding errors. The
 * program links none of these sources a second time. */
#ifndef GF_IN_DOUBLE_H
#define GF_IN_DOUBLE_H
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* Other names for the kernels in double, because those in float are linked too. */
#define gf_matmul_ref            gf64_matmul_ref
#define gf_layernorm_ref         gf64_layernorm
#define gf_layernorm             gf64_layernorm
#define gf_rmsnorm_ref           gf64_rmsnorm
#define gf_rmsnorm               gf64_rmsnorm
#define gf_add_ref               gf64_add
#define gf_add                   gf64_add
#define gf_scale_ref             gf64_scale
#define gf_scale                 gf64_scale
#define gf_axpy_ref              gf64_axpy
#define gf_axpy                  gf64_axpy
#define gf_relu_ref              gf64_relu
#define gf_relu                  gf64_relu
#define gf_gelu_erf_ref          gf64_gelu_erf
#define gf_gelu_erf              gf64_gelu_erf
#define gf_gelu_tanh_ref         gf64_gelu_tanh
#define gf_gelu_tanh             gf64_gelu_tanh
#define gf_silu_mul_ref          gf64_silu_mul
#define gf_silu_mul              gf64_silu_mul
#define gf_exp_ref               gf64_exp
#define gf_exp                   gf64_exp
#define gf_tanh_ref              gf64_tanh
#define gf_tanh                  gf64_tanh
#define gf_erf_ref               gf64_erf
#define gf_erf                   gf64_erf
#define gf_softmax_ref           gf64_softmax
#define gf_softmax               gf64_softmax
#define gf_logsumexp_ref         gf64_logsumexp
#define gf_logsumexp(x, n, pool) gf64_logsumexp(x, n)
#define gf_argmax_ref            gf64_argmax_ref
#define gf_softmax_wide          gf64_softmax_wide
#define gf_silu_mul_wide         gf64_silu_mul_wide
#define gf_silu_mul_back_wide    gf64_silu_mul_back_wide
#define gf_rope_ref              gf64_rope
#define gf_rope                  gf64_rope
#define gf_attn_scores_ref       gf64_attn_scores_ref
#define gf_attn_mix_ref          gf64_attn_mix_ref

#define float double
#define fabsf fabs
#define sqrtf sqrt
#define GF_IN_DOUBLE
#include "../../src/model/config.c"
#include "../../src/train/gemm.c"
#include "../../src/kernels/ref.c"
#include "../../src/kernels/train_rows.c"
#include "../../src/model/layers/attend_cached.c"
#include "../../src/model/layers/attend_whole.c"
#include "../../src/model/layers/attention.c"
#include "../../src/model/layers/block.c"
#include "../../src/model/layers/dropout.c"
#include "../../src/model/layers/embed.c"
#include "../../src/model/layers/experts.c"
#include "../../src/model/layers/ffn.c"
#include "../../src/model/layers/frozen.c"
#include "../../src/model/layers/head.c"
#include "../../src/model/layers/linear.c"
#include "../../src/model/layers/norm.c"
#include "../../src/model/layers/position_tables.c"
#include "../../src/model/layers/relative.c"
#include "../../src/model/roster.c"
#include "../../src/train/graph.c"
#include "../../src/train/loss.c"
#include "../../src/train/params.c"
#endif
