/* block.h - a transformer block: forward and backward. */
#ifndef GF_BLOCK_H
#define GF_BLOCK_H
#include "model/layers/pass.h"

/* Compute the residual stream after block p->layer, b->resid_post, from b->resid_pre. Behind keys and values the first
 * p->drop rows leave the pass: the others are then rows 0, 1, .. of the buffers, and p and its segment begin there. */
void gf_block_forward(struct gf_pass *p, const struct gf_block *w, const struct gf_bufs *b);
/* Backward of the forward pass that filled b: g->resid, the gradient of the stream after the block, becomes that of
 * resid_pre. Adds to dw and, with cross-attention, to g->encoded. */
void gf_block_backward(const struct gf_pass *p, const struct gf_block *w, struct gf_block *dw, const struct gf_bufs *b,
                       struct gf_back *g);
#endif
