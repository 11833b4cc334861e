/* ref.h - the definition of each kernel of kernels.h, with its contract. */
#ifndef GF_REF_H
#define GF_REF_H
#include "kernels/kernels.h"

void gf_matmul_ref(float *y, const float *x, const struct gf_mat *w, const float *b, int32_t n, void *scratch,
                   struct gf_pool *pool);
void gf_layernorm_ref(float *y, const float *x, const float *gain, const float *bias, float *mean, float *rstd,
                      int32_t n, int32_t d, float eps);
void gf_rmsnorm_ref(float *y, const float *x, const float *gain, float *rstd, int32_t n, int32_t d, float eps);
void gf_add_ref(float *y, const float *a, const float *b, int64_t n);
void gf_scale_ref(float *y, const float *x, float s, int64_t n);
void gf_axpy_ref(float *y, const float *x, float s, int64_t n);
void gf_relu_ref(float *y, const float *x, int64_t n);
void gf_gelu_erf_ref(float *y, const float *x, int64_t n);
void gf_gelu_tanh_ref(float *y, const float *x, int64_t n);
void gf_silu_mul_ref(float *y, const float *gate, const float *up, int64_t n);
void gf_exp_ref(float *y, const float *x, int64_t n);
void gf_tanh_ref(float *y, const float *x, int64_t n);
void gf_erf_ref(float *y, const float *x, int64_t n);
void gf_softmax_ref(float *y, const float *x, int32_t n);
float gf_logsumexp_ref(const float *x, int32_t n);
int32_t gf_argmax_ref(const float *x, int32_t n);
void gf_rope_ref(float *x, int32_t ldx, const float *table, int32_t n, int32_t n_heads, int32_t d_head, int32_t pairs);
/* The scores of one block of keys. */
void gf_attn_scores_ref(float *s, int32_t lds, const float *q, int32_t ldq, int32_t m, int32_t type, const void *kblock,
                        int32_t d_head, float scale);
void gf_attn_mix_ref(float *z, int32_t ldz, const float *p, int32_t ldp, int32_t m, int32_t type, const void *vblock,
                     int32_t count, int32_t d_head);
#endif
