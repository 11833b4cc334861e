/* block.h - the repeating unit. */
#ifndef GF_BLOCK_H
#define GF_BLOCK_H
#include "model/pass.h"

/* Rows b->resid_pre go in, rows b->resid_post come out. */
void gf_block_forward(const struct gf_pass *p, int32_t layer, const struct gf_block *w, const struct gf_bufs *b);
/* Backward through what forward left in b: g->resid, the gradient of resid_post, becomes that of
 * resid_pre; dw and, with cross-attention, g->memory are added to. */
void gf_block_backward(const struct gf_pass *p, int32_t layer, const struct gf_block *w, struct gf_block *dw,
                       const struct gf_bufs *b, struct gf_back *g);
#endif
