/* lora.h - low-rank adapters (LoRA, Hu et al. 2021): of some matrices W0 [out, in], which stay as they are stored, the
 * model runs W = W0 + scale B A, and only A [rank, in] and B [out, rank] are trained (frozen.h computes with them). */
#ifndef GF_LORA_H
#define GF_LORA_H
#include "model/layers/pass.h" /* gf_adapter, gf_gemm_fn */
#include "model/model.h"
#include "train/params.h"

/* What is trained. A module is a matrix of a checkpoint: one or more weights with the same columns, stacked by rows. */
struct gf_lora_plan {
    int32_t rank;
    float scale;            /* alpha / rank */
    const int32_t *modules; /* [n_modules][2] the first weight in the roster, and how many */
    int32_t n_modules;
    const uint8_t *dtypes; /* [roster entries] of the weights that stay; NULL: f32 */
};

struct gf_lora_part { /* a weight of a module */
    int32_t entry;    /* in the roster */
    uint64_t a, b;    /* where its module's A and its own rows of B are in the factors */
};

struct gf_lora {
    int32_t rank;
    float scale;
    struct gf_model *model;   /* the weights that stay, which the caller fills */
    struct gf_params factors; /* A, then B of each module */
    struct gf_lora_part *parts;
    int32_t n_parts; /* 0: there is no adapter */
    char sha256[65]; /* the hash of W0 of all parts, in hexadecimal */
};

/* A begins as in PEFT (kaiming_uniform with a = sqrt(5): uniform in +-1/sqrt(in)), B with 0. Returns a status; close it
 * in any case. */
int32_t gf_lora_open(struct gf_lora *l, const struct gf_lora_plan *plan, const struct gf_config *cfg, uint64_t seed,
                     struct gf_error *err);
void gf_lora_close(struct gf_lora *l);
/* Hash the weights, which the caller has filled. Returns a status. */
int32_t gf_lora_take(struct gf_lora *l, struct gf_error *err);
/* to [n_parts]: how a pass adds the factors, and where it adds their gradients (of gf_params_like(factors)). */
void gf_lora_adapters(const struct gf_lora *l, const struct gf_params *gradients, struct gf_adapter *to);
/* Open *to with W of all weights in f32. Returns a status. */
int32_t gf_lora_merge(const struct gf_lora *l, struct gf_params *to, gf_gemm_fn gemm, struct gf_error *err);
#endif
