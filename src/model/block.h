/* block.h - a transformer block: forward and backward. */
#ifndef GF_BLOCK_H
#define GF_BLOCK_H
#include "model/pass.h"

/* Compute b->resid_post from b->resid_pre. */
void gf_block_forward(const struct gf_pass *p, int32_t layer, const struct gf_block *w, const struct gf_bufs *b);
/* Backward of the forward pass that filled b: g->resid, the gradient of resid_post, becomes that of resid_pre. Adds to
 * dw and, with cross-attention, to g->memory. */
void gf_block_backward(const struct gf_pass *p, int32_t layer, const struct gf_block *w, struct gf_block *dw,
                       const struct gf_bufs *b, struct gf_back *g);
#endif
