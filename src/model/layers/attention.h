/* attention.h - multi-head attention, self and cross, forward and backward. */
#ifndef GF_ATTENTION_H
#define GF_ATTENTION_H
#include "model/layers/pass.h"

/* b->qkv = queries, keys and values of the rows x [n, d_model] for self-attention; keys and values are appended to the
 * caches of their segments. */
void gf_attention_project(const struct gf_pass *p, const struct gf_attn *w, const struct gf_bufs *b, const float *x);
/* The output in b->sub = self-attention of the queries in b->qkv. In training, b then holds what the backward function
 * reads. */
void gf_attention_forward(const struct gf_pass *p, const struct gf_attn *w, const struct gf_bufs *b);
/* The output = attention of the rows x [n, d_model] to the encoder's output, whose keys and values are in each
 * segment's `cross`; in training they are computed here, into b->cross_kv. */
void gf_cross_attention_forward(const struct gf_pass *p, const struct gf_attn *w, const struct gf_bufs *b,
                                const float *x);
/* Keys and values of a decoder layer's cross-attention for the encoder's output `encoded`, the rows of the pass,
 * into cross. kv: [n, 2 gf_kv_width] workspace. */
void gf_cross_keys_values(const struct gf_pass *p, const struct gf_attn *w, struct gf_kv *cross, const float *encoded,
                          float *kv);

/* Training. Given dout, the gradient of the output, and what forward read (x) and left (b): dw += ..., g->in = the
 * gradient of x. g->qkv and g->z are workspace. */
void gf_attention_backward(const struct gf_pass *p, const struct gf_attn *w, struct gf_attn *dw,
                           const struct gf_bufs *b, struct gf_back *g, const float *dout, const float *x);
/* The same for cross-attention; g->encoded += the gradient of the encoder's output. g->cross_kv is workspace too. */
void gf_cross_attention_backward(const struct gf_pass *p, const struct gf_attn *w, struct gf_attn *dw,
                                 const struct gf_bufs *b, struct gf_back *g, const float *dout, const float *x);
#endif
