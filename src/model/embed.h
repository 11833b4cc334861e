/* embed.h - the embedding: token ids to rows of the residual stream. */
#ifndef GF_EMBED_H
#define GF_EMBED_H
#include "model/pass.h"

/* x [n, d_model] = embedding rows of ids, scaled, plus positions (learned or sinusoidal), for all segments in order.
 * pos: [n, d_model] workspace. The caller has checked that the ids are in the vocabulary. */
void gf_embed_forward(const struct gf_pass *p, const struct gf_weights *w, float *x, float *pos, const int32_t *ids);
/* Given dx, adds to the gradients in dw of the ids' embedding rows and of learned positions. */
void gf_embed_backward(const struct gf_pass *p, struct gf_weights *dw, const float *dx, const int32_t *ids);
#endif
