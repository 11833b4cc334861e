/* trainer.h - the training loop's parts: one step, validation, and the state as bytes. */
#ifndef GF_TRAINER_H
#define GF_TRAINER_H
#include "base/pool.h"
#include "train/text/data.h"
#include "train/graph.h"
#include "train/lora.h"
#include "train/optim.h"
#include "train/sink.h"

/* Limits of the counts in recipes and checkpoints. Tokens: the largest number up to which JavaScript counts exactly. */
#define GF_STEPS_MOST  INT64_C(1000000000000000)
#define GF_TOKENS_MOST (INT64_C(1) << 53)

/* X(id, word): how the learning rate falls after the warm-up: as a half wave, along a line, not at all, or along a line
 * in the last fifth of the other steps (warm-up, stable, decay: Hu 2024; a fifth: Haegele 2024). */
#define GF_SCHEDULES(X)                                                                                                \
    X(GF_COSINE, "cosine")                                                                                             \
    X(GF_LINEAR, "linear")                                                                                             \
    X(GF_CONSTANT, "constant")                                                                                         \
    X(GF_WSD, "wsd")
enum gf_schedule { GF_SCHEDULES(GF_ENUMERATOR) GF_N_SCHEDULES };
extern const char *const gf_schedule_words[GF_N_SCHEDULES];

/* X(C type, name, member of struct gf_trainer_options, default of a recipe, default of train() in JavaScript, least,
 * most): scripts/train_fields.js makes web/lib/train/train_fields.js from this table and GF_RUN_OPTIONS. Flags are 0 or
 * 1. eps 0: a weight without a gradient is divided by 0. */
#define GF_TRAINER_OPTIONS(X)                                                                                          \
    X(int64_t, steps, steps, 1000, 500, 0, GF_STEPS_MOST)                                                              \
    X(int32_t, batch_tokens, batch_tokens, 4096, 1024, 1, 1 << 30)                                                     \
    X(int32_t, micro_tokens, micro_tokens, 2048, 1 << 20, 1, 1 << 30)                                                  \
    X(float, warmup, warmup, 0.02, 0.02, 0, 1)                                                                         \
    X(int32_t, schedule, schedule, GF_COSINE, GF_COSINE, 0, GF_N_SCHEDULES - 1)                                        \
    X(float, final_rate, final_rate, 0.02, 0.02, 0, 1)                                                                 \
    X(float, dropout, dropout, 0, 0, 0, 0.99)                                                                          \
    X(float, average, average, 0, 0, 0, 1)                                                                             \
    X(uint64_t, seed, seed, 1, 1, 0, 9007199254740991)                                                                 \
    X(float, init_std, init_std, 0.02, 0.02, 0, 1e3)                                                                   \
    X(int32_t, init_scaled, init_scaled, 1, 1, 0, 1)                                                                   \
    X(float, lr, optim.lr, 0.003, 0.003, 0, 1e3)                                                                       \
    X(float, beta1, optim.beta1, 0.9, 0.9, 0, 0.99999)                                                                 \
    X(float, beta2, optim.beta2, 0.95, 0.95, 0, 0.99999)                                                               \
    X(float, eps, optim.eps, 1e-8, 1e-8, 1e-30, 1)                                                                     \
    X(float, weight_decay, optim.weight_decay, 0.1, 0.1, 0, 1e3)                                                       \
    X(float, clip, optim.clip, 1, 1, 0, 1e9)                                                                           \
    X(int32_t, muon, optim.muon, 1, 1, 0, 1)                                                                           \
    X(float, muon_lr, optim.muon_lr, 0.02, 0.02, 0, 1e3)                                                               \
    X(float, momentum, optim.momentum, 0.95, 0.95, 0, 1)

struct gf_trainer_options {
    int64_t steps;
    int32_t batch_tokens; /* tokens of a step, at most: only whole windows are used */
    int32_t micro_tokens; /* tokens of one pass, at most; batch_tokens is a multiple */
    float warmup;         /* share of the steps during which the learning rate rises from 0 */
    int32_t schedule;     /* enum gf_schedule */
    float final_rate;     /* learning rate at the end of the run, as a share of the highest; not of GF_CONSTANT */
    float dropout;
    float average; /* decay of the running average of the weights; 0: none */
    uint64_t seed;
    float init_std;
    int32_t init_scaled;
    struct gf_optim_options optim;
    const struct gf_lora_plan *lora; /* read by gf_trainer_open; NULL: every weight is trained */
};

/* The passes of a step are divided among this many lanes. Each has its own activations and gradient, and the gradients
 * are added in a fixed order, so that the result does not depend on the number of threads. With an adapter the lanes
 * run one after the other, in the same activations, and threads share each product: a large vocabulary's logits take
 * much memory. */
enum { GF_LANES = 2 };

struct gf_lane {
    struct gf_graph graph, teacher_graphs[GF_TEACHERS]; /* with an adapter those of the first lane serve all */
    struct gf_teacher teachers[GF_TEACHERS];
    struct gf_params grads;      /* with an adapter those of its factors */
    struct gf_adapter *adapters; /* with an adapter: [lora.n_parts], else NULL */
    double loss;
    int64_t right;
};

struct gf_trainer {
    struct gf_config cfg;
    struct gf_trainer_options options;
    struct gf_data *data;
    struct gf_pool *pool;
    struct gf_params weights, averaged; /* averaged: only with options.average */
    struct gf_lora lora;                /* only with options.lora; weights are then empty */
    struct gf_weights no_gradients;     /* of the weights that stay; all NULL */
    struct gf_optim optim;
    struct gf_lane lanes[GF_LANES];
    struct gf_batch_buffer *micro; /* [n_micro] */
    int32_t n_micro;
    int64_t step;   /* steps done */
    int64_t tokens; /* predicted tokens so far */
    int64_t right;  /* targets of the newest step that had the largest logit */
    float scale;    /* 1 / predicted tokens of the current step */
};

void gf_trainer_defaults(struct gf_trainer_options *o);
/* data: without texts where the caller fills the batches in t->micro itself. */
int32_t gf_trainer_open(struct gf_trainer *t, const struct gf_config *cfg, const struct gf_trainer_options *options,
                        struct gf_data *data, gf_gemm_fn gemm, struct gf_pool *pool, struct gf_error *err);
void gf_trainer_close(struct gf_trainer *t);
/* With options.lora: the caller has filled lora.model, to which the adapter is added, and perhaps lora.factors. */
int32_t gf_trainer_adapt(struct gf_trainer *t, struct gf_error *err);
/* Add a teacher: a share of every target becomes the prediction of that decoder, which has the same vocabulary and at
 * least the same context. The shares of at most GF_TEACHERS teachers add up. Its weights are the caller's and outlive
 * the trainer. The state that gf_trainer_save writes does not contain it. */
int32_t gf_trainer_teach(struct gf_trainer *t, const struct gf_config *cfg, const struct gf_params *weights,
                         float share, struct gf_error *err);
/* The learning rate in step `step` (from 1), as a share of the highest. */
float gf_trainer_rate(const struct gf_trainer_options *o, int64_t step);
/* Do one step. *loss: nats a token before it; *norm: the norm of its gradient. If they are not finite it returns
 * GF_ERR_NOT_FINITE, and no weight has changed. */
int32_t gf_trainer_step(struct gf_trainer *t, double *loss, double *norm, struct gf_error *err);
/* The same with the batches that the caller has filled. */
int32_t gf_trainer_learn(struct gf_trainer *t, double *loss, double *norm, struct gf_error *err);
struct gf_score { /* what a model predicts of a corpus */
    double loss;  /* sum of -ln p */
    int64_t n_targets, right, bytes;
};
/* Add the score of a batch. */
void gf_trainer_score(struct gf_trainer *t, const struct gf_batch_buffer *batch, struct gf_score *score);
/* The score of all of `data`, each text by itself after a separator. */
int32_t gf_trainer_validate(struct gf_trainer *t, struct gf_data *data, struct gf_score *score, struct gf_error *err);
/* The weights to validate, sample and export: the running average if there is one; not with an adapter. */
struct gf_params *gf_trainer_best(struct gf_trainer *t);
/* Write and read the state: everything that the next step depends on; of a run with an adapter without the weights that
 * stay, which are there before it is read. gf_trainer_load refuses, with nothing changed, a
 * state of another configuration or other data, with counts beyond the limits above, or with values that training
 * cannot produce (NaN, infinite weights, negative second moments). */
void gf_trainer_save(const struct gf_trainer *t, struct gf_sink *to);
int32_t gf_trainer_load(struct gf_trainer *t, const void *bytes, size_t n, struct gf_error *err);
#endif
