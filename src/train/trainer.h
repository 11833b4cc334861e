/* trainer.h - training itself: batches, gradients, steps, averages, and the whole state as bytes. */
#ifndef GF_TRAINER_H
#define GF_TRAINER_H
#include "base/pool.h"
#include "train/text/data.h"
#include "train/graph.h"
#include "train/optim.h"

/* Limits of what a recipe may ask for and a checkpoint may say. Tokens: counts that JavaScript
 * takes exactly. */
#define GF_STEPS_MOST  INT64_C(1000000000000000)
#define GF_TOKENS_MOST (INT64_C(1) << 53)

struct gf_trainer_options {
    int64_t steps;
    int32_t batch_tokens; /* rows of a step, at most: sequences are not broken */
    int32_t micro_tokens; /* rows in one pass, at most: batch_tokens is a multiple */
    float warmup;         /* share of the steps in which the rate rises from 0 */
    float final_rate;     /* share of the rate at the end of the cosine */
    float dropout;
    float average; /* decay of the running average of the weights; 0: none */
    uint64_t seed;
    float init_std;
    int32_t init_scaled;
    struct gf_optim_options optim;
};

/* The passes of a step go to this many lanes in turn, each with activations and a gradient of its
 * own, added up in one order: a step's result does not depend on threads. */
enum { GF_LANES = 2 };

struct gf_lane {
    struct gf_graph graph, taught[GF_TEACHERS];
    struct gf_teacher teachers[GF_TEACHERS];
    struct gf_params grads;
    double loss;
};

struct gf_trainer {
    struct gf_config cfg;
    struct gf_trainer_options options;
    struct gf_data *data;
    struct gf_pool *pool;
    struct gf_params weights, averaged; /* averaged: only with options.average */
    struct gf_optim optim;
    struct gf_lane lanes[GF_LANES];
    struct gf_batch_room *micro; /* [n_micro] */
    int32_t n_micro;
    int64_t step; /* done */
    int64_t tokens;
    float scale; /* of the step under way */
};

void gf_trainer_defaults(struct gf_trainer_options *o);
int32_t gf_trainer_open(struct gf_trainer *t, const struct gf_config *cfg, const struct gf_trainer_options *options,
                        struct gf_data *data, gf_gemm_fn gemm, struct gf_pool *pool, struct gf_error *err);
void gf_trainer_close(struct gf_trainer *t);
/* Add a teacher: a share of every target becomes the prediction of that decoder, which has the same vocabulary and at
 * least the same context; the shares of at most GF_TEACHERS teachers add up. Its weights
 * are the caller's and outlive the trainer. The state that gf_trainer_save writes does not contain
 * it. */
int32_t gf_trainer_teach(struct gf_trainer *t, const struct gf_config *cfg, const struct gf_params *weights,
                         float share, struct gf_error *err);
/* Share of the learning rates in step `step` (from 1). */
float gf_trainer_rate(const struct gf_trainer_options *o, int64_t step);
/* One step. *loss: nats a token before it, *norm: of its gradient. */
int32_t gf_trainer_step(struct gf_trainer *t, double *loss, double *norm, struct gf_error *err);
/* Mean nats a token and bits per byte over all of `data`: every text alone, from the separator. */
int32_t gf_trainer_validate(struct gf_trainer *t, struct gf_data *data, double *nats, double *bits,
                            struct gf_error *err);
/* What validates, samples and ships: the average where there is one. */
struct gf_params *gf_trainer_best(struct gf_trainer *t);
/* Everything that the next step depends on. A state of another configuration or of other data, with
 * counts beyond the limits above or with floats that no training leaves behind is refused, and
 * nothing has changed. */
void gf_trainer_save(const struct gf_trainer *t, struct gf_sink *to);
int32_t gf_trainer_load(struct gf_trainer *t, const void *bytes, size_t n, struct gf_error *err);
#endif
