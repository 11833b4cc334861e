/* depth.h - the depth laboratory: how much gradient reaches each layer of a fresh model. */
#ifndef GF_DEPTH_H
#define GF_DEPTH_H
#include "glassformer.h"

struct gf_depth {   /* of one layer, averaged over its rows or weights (root mean square) */
    double weights; /* gradient of the mean loss with respect to the block's matrices */
    double stream;  /* size of the residual stream behind the block, forward */
};

enum { GF_DEPTH_TOKENS = 1 << 24 }; /* at most */
/* Forward and backward of a decoder with weights normal(0, 0.02), on n (2 .. GF_DEPTH_TOKENS)
 * random tokens in sequences as long as the context allows. out: [n_layers]; first layer first. */
int32_t gf_depth_measure(const struct gf_config *cfg, uint64_t seed, int32_t n, struct gf_depth *out,
                         struct gf_error *err);
#endif
