/* params.h - one float for every weight of a model, in one array in roster order. Used for weights, gradients, the
 * optimiser's moments and the running average. */
#ifndef GF_PARAMS_H
#define GF_PARAMS_H
#include "model/roster.h"

struct gf_param { /* a roster entry that has values of its own */
    struct gf_tensor t;
    int32_t index;   /* in the roster */
    uint64_t offset; /* where its first float is; its rows follow each other without gaps */
};

struct gf_params {
    struct gf_weights w; /* matrices are plain row-major f32 and point into data */
    float *data;         /* [n], gaps for alignment are 0 */
    uint64_t n;
    struct gf_param *list;
    int32_t n_list;
};

/* All values 0. Returns 0, or -1 if memory is missing. */
int gf_params_open(struct gf_params *p, const struct gf_config *cfg);
/* The same of some entries alone: wanted [roster entries], and those that share a matrix or vector with one of them.
 * What the others have in w is NULL. */
int gf_params_open_some(struct gf_params *p, const struct gf_config *cfg, const uint8_t *wanted);
/* The same list with values of its own, all 0, and no struct of weights. Returns 0, or -1 if memory is missing. */
int gf_params_like(struct gf_params *p, const struct gf_params *like);
void gf_params_close(struct gf_params *p);
/* A name from its pattern, whose %d (if it occurs) is the layer. */
void gf_name_in_layer(char name[64], const char *pattern, int32_t layer);
/* The entry with this roster name; NULL if this architecture has none. */
const struct gf_param *gf_params_find(const struct gf_params *p, const char *pattern, int32_t layer);
/* Initialise: matrices and tables normal(0, std), gains 1, biases 0. scaled: the matrices whose result is added to the
 * residual stream (o and down) are divided by sqrt(2 n_layers) (Radford et al. 2019). */
void gf_params_init(struct gf_params *p, const struct gf_config *cfg, uint64_t seed, float std, int scaled);
#endif
