/* optim.h - the optimiser: Muon for the matrices of the blocks, AdamW for all other weights. */
#ifndef GF_OPTIM_H
#define GF_OPTIM_H
#include "base/pool.h"
#include "train/gemm.h"
#include "train/params.h"

struct gf_optim_options {
    float lr, beta1, beta2, eps; /* AdamW (Loshchilov & Hutter 2019) */
    float weight_decay;          /* decoupled; matrices only */
    float clip;                  /* largest norm of the whole gradient; 0: no limit */
    int32_t muon;                /* matrices of attention and feed-forward layers by Muon */
    float muon_lr, momentum;     /* (Jordan et al. 2024) */
};

enum { GF_OPTIM_LANES = 2 }; /* threads that a step uses at most */

struct gf_optim {
    struct gf_params first, second; /* moments; Muon keeps its momentum in `first` */
    float *work[GF_OPTIM_LANES];    /* workspace of Muon's Newton-Schulz iteration */
    gf_gemm_fn gemm;
};

/* For these parameters. Returns 0, or -1 if memory is missing. */
int gf_optim_open(struct gf_optim *o, const struct gf_params *trained, gf_gemm_fn gemm);
void gf_optim_close(struct gf_optim *o);
/* Do step `step` (from 1), with both learning rates multiplied by `rate`. Clipping scales g. The result does not depend
 * on the pool, which may be NULL. Returns the gradient's norm before clipping; if it is not finite, no weight has
 * changed. */
double gf_optim_step(struct gf_optim *o, struct gf_params *w, struct gf_params *g,
                     const struct gf_optim_options *options, int64_t step, float rate, struct gf_pool *pool);
#endif
