/* optim.h - one step down the gradient: Muon for the matrices inside the blocks, AdamW for the
 * rest. */
#ifndef GF_OPTIM_H
#define GF_OPTIM_H
#include "base/pool.h"
#include "kernels/gemm.h"
#include "train/params.h"

struct gf_optim_options {
    float lr, beta1, beta2, eps; /* AdamW (Loshchilov & Hutter 2019) */
    float weight_decay;          /* decoupled; matrices only */
    float clip;                  /* of the whole gradient's norm; 0: none */
    int muon;                    /* matrices of attention and feed-forward layers by Muon */
    float muon_lr, momentum;     /* (Jordan et al. 2024) */
};

enum { GF_OPTIM_LANES = 2 }; /* threads that a step has work for */

struct gf_optim {
    struct gf_params first, second; /* moments; Muon uses `first` for its momentum */
    float *work[GF_OPTIM_LANES];    /* Newton-Schulz */
    gf_gemm_fn gemm;
};

/* 0, or -1 without memory. */
int gf_optim_open(struct gf_optim *o, const struct gf_config *cfg, gf_gemm_fn gemm);
void gf_optim_close(struct gf_optim *o);
/* Step `step` (from 1), with both learning rates times `rate`. g is scaled by the clipping. The
 * same bits with every pool (may be NULL). Returns the gradient's norm before clipping; where that
 * is no finite number, nothing has changed. */
double gf_optim_step(struct gf_optim *o, struct gf_params *w, struct gf_params *g,
                     const struct gf_optim_options *options, int64_t step, float rate, struct gf_pool *pool);
#endif
