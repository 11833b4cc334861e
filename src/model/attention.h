/* attention.h - scaled dot-product attention over cached keys and values. */
#ifndef GF_ATTENTION_H
#define GF_ATTENTION_H
#include "model/pass.h"

/* out [n, d_model] = self-attention of the rows x [n, d_model], whose keys and values join their
 * segments' caches. qk_raw: room to keep q and k from before their norms for backward, or NULL. */
void gf_attention_forward(const struct gf_pass *p, const struct gf_attn *w, int32_t layer, float *out, const float *x,
                          float *qkv, float *z, float *qk_raw);
/* out = attention of the rows x to the encoder's output, whose keys and values each segment's
 * `cross` holds; in training they are computed here, into kv (else NULL). */
void gf_cross_attention_forward(const struct gf_pass *p, const struct gf_attn *w, int32_t layer, float *out,
                                const float *x, float *q, float *z, float *kv);
/* Keys and values of a decoder layer's cross-attention for the encoder's output memory [n, d_model]
 * into cross. kv: [n, 2 n_kv_heads d_head] workspace. */
void gf_cross_keys_values(const struct gf_pass *p, const struct gf_attn *w, int32_t layer, struct gf_kv *cross,
                          const float *memory, float *kv, int32_t n);

/* Training. Given dout and what forward read and left: dw += ..., dx = ...; dqkv, dz: room for the
 * gradients of qkv and z. */
void gf_attention_backward(const struct gf_pass *p, const struct gf_attn *w, struct gf_attn *dw, float *dx,
                           const float *dout, const float *x, const float *qkv, const float *z, const float *qk_raw,
                           float *dqkv, float *dz);
/* The same; dmemory += the gradient of the encoder's output; dq, dkv, dz: room. */
void gf_cross_attention_backward(const struct gf_pass *p, const struct gf_attn *w, struct gf_attn *dw, float *dx,
                                 float *dmemory, const float *dout, const float *x, const float *q, const float *kv,
                                 const float *z, float *dq, float *dkv, float *dz);
#endif
