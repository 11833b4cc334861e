/* attention.h - scaled dot-product attention over cached keys and values. */
#ifndef GF_ATTENTION_H
#define GF_ATTENTION_H
#include "model/pass.h"

/* out [n, d_model] = self-attention of the rows x [n, d_model], whose keys and values join their
 * segments' caches. */
void gf_attention_forward(const struct gf_pass *p, const struct gf_attn *w, int32_t layer,
                          float *out, const float *x, float *qkv, float *z);
/* out = attention of the rows x to the encoder's output, whose keys and values each segment's
 * `cross` holds. */
void gf_cross_attention_forward(const struct gf_pass *p, const struct gf_attn *w, int32_t layer,
                                float *out, const float *x, float *q, float *z);
/* Keys and values of a decoder layer's cross-attention for the encoder's output memory [n, d_model]
 * into cross. kv: [n, 2 n_kv_heads d_head] workspace. */
void gf_cross_keys_values(const struct gf_pass *p, const struct gf_attn *w, int32_t layer,
                          struct gf_kv *cross, const float *memory, float *kv, int32_t n);
#endif
