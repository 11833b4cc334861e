/* lora.h - low-rank adapters (LoRA, Hu et al. 2021): of some matrices W0 [out, in], which stay, the model runs
 * W = W0 + scale B A, and only A [rank, in] and B [out, rank] are trained. Forward and backward know W alone. */
#ifndef GF_LORA_H
#define GF_LORA_H
#include "train/gemm.h"
#include "train/params.h"

/* What is trained. A module is a matrix of a checkpoint: one or more weights with the same columns, stacked by rows. */
struct gf_lora_plan {
    int32_t rank;
    float scale;            /* alpha / rank */
    const int32_t *modules; /* [n_modules][2] the first weight in the roster, and how many */
    int32_t n_modules;
};

struct gf_lora_part { /* a weight of a module */
    struct gf_tensor t;
    uint64_t weight, base; /* where its first float is in the model's weights and in gf_lora.base */
    uint64_t a, b;         /* where its module's A and its own rows of B are in the factors */
    int32_t first;         /* whether it is its module's first: the gradient of A is not yet begun */
};

struct gf_lora {
    int32_t rank;
    float scale;
    struct gf_params factors, slopes; /* A, then B of each module; and their gradients */
    struct gf_lora_part *parts;
    int32_t n_parts; /* 0: there is no adapter */
    float *base;     /* [n_base] W0 of all parts */
    uint64_t n_base;
    char sha256[65]; /* the hash of base, in hexadecimal */
    gf_gemm_fn gemm;
};

/* weights: of the model, whose values may be filled in later. A begins as in PEFT (kaiming_uniform with a = sqrt(5):
 * uniform in +-1/sqrt(in)), B with 0. Returns a status; close it in any case. */
int32_t gf_lora_open(struct gf_lora *l, const struct gf_lora_plan *plan, const struct gf_params *weights, uint64_t seed,
                     gf_gemm_fn gemm, struct gf_error *err);
void gf_lora_close(struct gf_lora *l);
/* Take the weights as W0. */
void gf_lora_take(struct gf_lora *l, const struct gf_params *weights);
/* Write W of all parts to the weights. */
void gf_lora_merge(const struct gf_lora *l, struct gf_params *weights);
/* Set the slopes to the gradients of the factors, from those of the weights. */
void gf_lora_back(struct gf_lora *l, const struct gf_params *grads);
#endif
