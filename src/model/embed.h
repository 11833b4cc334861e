/* embed.h - token ids become vectors. */
#ifndef GF_EMBED_H
#define GF_EMBED_H
#include "model/pass.h"

/* x [n, d_model] = embedding rows of ids, scaled, plus positions (learned or sinusoidal), for all
 * segments in turn. pos: [n, d_model] workspace. ids must lie in the vocabulary. */
void gf_embed_forward(const struct gf_pass *p, const struct gf_weights *w, float *x, float *pos, const int32_t *ids);
/* Given dx: dw's embedding rows of ids and learned positions are added to. */
void gf_embed_backward(const struct gf_pass *p, struct gf_weights *dw, const float *dx, const int32_t *ids);
#endif
