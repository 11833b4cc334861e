/* depth.h - measures how much gradient reaches each layer of an untrained model. */
#ifndef GF_DEPTH_H
#define GF_DEPTH_H
#include "glassformer.h"

struct gf_depth {   /* one layer's root mean squares over its weights or rows */
    double weights; /* gradient of the mean loss with respect to the block's matrices */
    double stream;  /* the residual stream after the block */
};

enum { GF_DEPTH_TOKENS = 1 << 24 }; /* the largest n */
/* Run forward and backward of a decoder with weights normal(0, 0.02) on n (2 ... GF_DEPTH_TOKENS) random tokens, in
 * sequences as long as the context. out: [n_layers], the first layer first. */
int32_t gf_depth_measure(const struct gf_config *cfg, uint64_t seed, int32_t n, struct gf_depth *out,
                         struct gf_error *err);
#endif
