/* embed.h - the embedding: token ids to rows of the residual stream. */
#ifndef GF_EMBED_H
#define GF_EMBED_H
#include "model/layers/pass.h"

/* The buffers of an embedding of n rows. In training they keep what backward reads. */
struct gf_embedded {
    float *rows; /* [n, d_embed] before their projection; only where d_embed is not d_model */
    float *pos;  /* [n, d_model] workspace for positions and token types */
    float *sum;  /* [n, d_model] the input of embed_norm; x itself where no backward follows */
    float *mean, *rstd;
};

/* x [n, d_model] = embedding rows of ids, scaled and projected, plus positions (learned or sinusoidal), plus token
 * types, then normalised by embed_norm, for all segments in order. The caller has checked that the ids are in the
 * vocabulary, and the types in their table. */
void gf_embed_forward(const struct gf_pass *p, const struct gf_weights *w, const struct gf_embedded *e, float *x,
                      const int32_t *ids);
/* Given dx, which is overwritten, adds to dw the gradients of what forward read. drows: [n, d_embed] workspace where
 * d_embed is not d_model. */
void gf_embed_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw,
                       const struct gf_embedded *e, float *drows, float *dx, const int32_t *ids);
#endif
