/* norm.h - LayerNorm and RMSNorm, where a block or the model's end calls them. */
#ifndef GF_NORM_H
#define GF_NORM_H
#include "model/layers/pass.h"

/* y = norm(x), the rows of the pass, of d_model each; y may be x. mean, rstd: [n] (mean is left alone by RMSNorm). Taps
 * `point` and the one before it, its scale. With use_norm (of the final norm use_final_norm) off: y = x. */
void gf_norm_forward(const struct gf_pass *p, const struct gf_norm *w, int32_t point, float *y, const float *x,
                     float *mean, float *rstd);
/* Given dy and what forward read and left (x, mean, rstd): dw += ..., dx = ... or, with add, dx += ... dx may be dy.
 * Where the switch of `point` is off: the identity's. */
void gf_norm_backward(const struct gf_pass *p, const struct gf_norm *w, struct gf_norm *dw, int32_t point, float *dx,
                      int add, const float *dy, const float *x, const float *mean, const float *rstd);
/* The norm of q or of k (qk_norm) over n_heads heads of n rows, ld apart, in place. */
void gf_head_norm_forward(const struct gf_config *cfg, const struct gf_norm *w, float *x, int32_t ld, int32_t n,
                          int32_t n_heads);
/* dx in place of dy, ld apart; x: the rows before the norm, ldx apart. */
void gf_head_norm_backward(const struct gf_config *cfg, const struct gf_norm *w, struct gf_norm *dw, float *dy,
                           int32_t ld, const float *x, int32_t ldx, int32_t n, int32_t n_heads);
#endif
