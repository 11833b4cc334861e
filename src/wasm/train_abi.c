/* train_abi.c - the functions that the training binary exports for one training run.
 *
 * train_exports.txt lists the exported names. Their callers, trainer.js and differentiator.js of web/lib/train,
 * allocate memory for arguments with gf_abi_alloc and free the result of gf_train_file with gf_abi_free. The life of a
 * run: gf_train_new, gf_train_set and gf_train_vocabulary, gf_train_open, then any of the others, gf_train_close.
 * JavaScript drops the whole instance instead of closing what it has opened; the tests close it. */
#include "glassformer.h"
#include "train/depth.h"
#include "train/files/export.h"
#include "train/files/tokenizer_json.h"
#include "train/gradients.h"
#include "train/recipe.h"
#include <stdlib.h>
#include <string.h>

struct gf_run {
    struct gf_recipe recipe;
    struct gf_bpe bpe;
    struct gf_data data, valid;
    struct gf_trainer trainer;
    struct gf_pool *pool;   /* the caller's */
    int32_t tried, is_open; /* gf_train_open has been called; it has succeeded */
};

/* The values of roster entry i; NULL for one without values of its own (a tied head). */
static float *value_of(const struct gf_params *p, int32_t i) {
    for (int32_t k = 0; k < p->n_list; k++)
        if (p->list[k].index == i) return p->data + p->list[k].offset;
    return NULL;
}

struct gf_run *gf_train_new(void) {
    struct gf_run *r = calloc(1, sizeof *r);
    if (r) gf_recipe_defaults(&r->recipe);
    return r;
}

void gf_train_close(struct gf_run *r) {
    gf_trainer_close(&r->trainer);
    gf_data_close(&r->data);
    gf_data_close(&r->valid);
    gf_bpe_close(&r->bpe);
    free(r);
}

/* Set a field of the configuration or an option of the trainer by its name. */
int32_t gf_train_set(struct gf_run *r, const char *key, double x, struct gf_error *err) {
    return gf_recipe_set(&r->recipe, key, x, err);
}

/* Share out the steps of a run that is not open yet. pool: of gf_pool_open; it outlives the run. */
void gf_train_set_pool(struct gf_run *r, struct gf_pool *pool) { r->pool = pool; }

/* Use the vocabulary of a tokenizer.json that gf_bpe_write has written; without this call gf_train_open learns one from
 * the text. */
int32_t gf_train_vocabulary(struct gf_run *r, const char *json, uint32_t n, struct gf_error *err) {
    if (r->bpe.vocab_size || r->tried) return gf_fail(err, GF_ERR_STATE, "the run has a vocabulary already");
    return gf_bpe_read(&r->bpe, json, n, err);
}

/* Stories, or pairs for an encoder_decoder. text: n bytes from gf_abi_alloc, followed by a 0; d owns it, and it is
 * freed on failure. */
static int32_t open_data(struct gf_run *r, struct gf_data *d, char *text, uint32_t n, uint64_t seed,
                         struct gf_error *err) {
    return gf_data_open(d, text, n, r->recipe.pairs, &r->bpe, r->recipe.cfg.context_length, seed, err);
}

/* Open the corpus, the validation corpus (valid, may be NULL) and the trainer. text and valid: owned by the run, as in
 * open_data, also on failure. text NULL: each step learns from the sequences of gf_train_give. After a failure the run
 * can only be closed. */
int32_t gf_train_open(struct gf_run *r, char *text, uint32_t n, char *valid, uint32_t n_valid, struct gf_error *err) {
    struct gf_config *c = &r->recipe.cfg;
    const struct gf_trainer_options *o = &r->recipe.options;
    int32_t status = r->is_open ? gf_fail(err, GF_ERR_STATE, "the run is open already")
                     : r->tried ? gf_fail(err, GF_ERR_STATE, "gf_train_open has failed: the run can only be closed")
                                : GF_OK;
    r->tried = 1;
    if (status == GF_OK) status = gf_recipe_complete(&r->recipe, err);
    if (status == GF_OK && text && !r->bpe.vocab_size) status = gf_bpe_train(&r->bpe, text, n, c->vocab_size, err);
    if (status != GF_OK) {
        free(text);
        free(valid);
        return status;
    }
    r->data.pairs = r->recipe.pairs = c->kind == GF_ENCODER_DECODER;
    if (text) {
        c->vocab_size = r->bpe.vocab_size; /* a short text has fewer pairs than were asked for */
        status = open_data(r, &r->data, text, n, o->seed, err);
    }
    if (status == GF_OK && valid)
        status = open_data(r, &r->valid, valid, n_valid, 0, err);
    else
        free(valid);
    if (status == GF_OK) status = gf_trainer_open(&r->trainer, c, o, &r->data, gf_gemm, r->pool, err);
    r->is_open = status == GF_OK;
    return status;
}

/* Open a run that trains an adapter for a model, on the sequences of gf_train_give. modules and dtypes: as in
 * gf_lora_plan. The caller then fills the weights of gf_train_model (gf_tensor_restore) and, to continue from an
 * adapter, the factors, and calls gf_train_adapt. */
int32_t gf_train_open_lora(struct gf_run *r, int32_t rank, float scale, const int32_t *modules, int32_t n_modules,
                           const uint8_t *dtypes, struct gf_error *err) {
    const struct gf_lora_plan plan = {rank, scale, modules, n_modules, dtypes};
    r->recipe.options.lora = &plan;
    const int32_t status = gf_train_open(r, NULL, 0, NULL, 0, err);
    r->recipe.options.lora = NULL;
    return status;
}

/* The values of roster entry i; NULL for one without values of its own. */
float *gf_train_weight(const struct gf_run *r, int32_t i) { return value_of(&r->trainer.weights, i); }
/* The values of factor i of an adapter: of each module A [rank, in], then B [out, rank]. */
float *gf_train_factor(const struct gf_run *r, int32_t i) {
    const struct gf_params *f = &r->trainer.lora.factors;
    return i < f->n_list ? f->data + f->list[i].offset : NULL;
}
struct gf_model *gf_train_model(const struct gf_run *r) {
    return r->trainer.lora.model;
}
int32_t gf_train_adapt(struct gf_run *r, struct gf_error *err) { return gf_trainer_adapt(&r->trainer, err); }

static int32_t refuse_closed(struct gf_error *err) { return gf_fail(err, GF_ERR_STATE, "the run is not open"); }

/* Learn also from a teacher, as gf_trainer_teach says. teacher: a run that has its configuration and is not opened; it
 * outlives r, and the caller then fills its weights. */
int32_t gf_train_teach(struct gf_run *r, struct gf_run *teacher, float share, struct gf_error *err) {
    struct gf_config *c = &teacher->recipe.cfg;
    int32_t status = r->is_open ? gf_recipe_complete(&teacher->recipe, err) : refuse_closed(err);
    if (status == GF_OK && gf_params_open(&teacher->trainer.weights, c))
        status = gf_fail(err, GF_ERR_MEMORY, "no memory for the weights of a teacher");
    return status == GF_OK ? gf_trainer_teach(&r->trainer, c, &teacher->trainer.weights, share, err) : status;
}

int32_t gf_train_vocab_size(const struct gf_run *r) { return r->bpe.vocab_size; }

/* Fill the batch of the next step, or of gf_train_score. packed: for each of n_seqs sequences n, n_source, n ids, n
 * targets (-1: none), the ids of the source. */
int32_t gf_train_give(struct gf_run *r, const int32_t *packed, int32_t n_seqs, struct gf_error *err) {
    if (!r->is_open) return refuse_closed(err);
    struct gf_trainer *t = &r->trainer;
    for (int32_t i = 0; i < t->n_micro; i++) gf_batch_clear(&t->micro[i]);
    for (int32_t i = 0, k = 0; i < n_seqs; i++) {
        const int32_t n = packed[0], n_source = packed[1], *ids = packed + 2;
        while (k < t->n_micro && !gf_batch_append(&t->micro[k], ids, ids + n, n, ids + 2 * n, n_source)) k++;
        if (k == t->n_micro)
            return gf_fail(err, GF_ERR_ARGUMENT, "sequence %d of %d does not fit into the batch", i + 1, n_seqs);
        packed = ids + 2 * n + n_source;
    }
    return GF_OK;
}

/* Add to out the score of the batch: sum of -ln p, targets, those that had the largest logit. */
int32_t gf_train_score(struct gf_run *r, double out[3], struct gf_error *err) {
    if (!r->is_open) return refuse_closed(err);
    struct gf_score score = {0, 0, 0, 0};
    for (int32_t i = 0; i < r->trainer.n_micro; i++)
        if (r->trainer.micro[i].b.n) gf_trainer_score(&r->trainer, &r->trainer.micro[i], &score);
    out[0] += score.loss;
    out[1] += (double)score.n_targets;
    out[2] += (double)score.right;
    return GF_OK;
}

/* Do one step. out: its number, nats a token before it, the norm of its gradient, the learning rate as a share of the
 * highest, predicted tokens so far, predicted tokens of this step, those of them that had the largest logit. */
int32_t gf_train_step(struct gf_run *r, double out[7], struct gf_error *err) {
    if (!r->is_open) return refuse_closed(err);
    struct gf_trainer *t = &r->trainer;
    const int64_t before = t->tokens;
    const int32_t status =
        r->data.n_texts ? gf_trainer_step(t, &out[1], &out[2], err) : gf_trainer_learn(t, &out[1], &out[2], err);
    out[0] = (double)t->step;
    out[3] = (double)gf_trainer_rate(&t->options, t->step);
    out[4] = (double)t->tokens;
    out[5] = (double)(t->tokens - before);
    out[6] = (double)t->right;
    return status;
}

/* The number of steps done. */
double gf_train_steps(const struct gf_run *r) { return (double)r->trainer.step; }

/* out: the score of the validation corpus, as of gf_train_score, and its bytes. */
int32_t gf_train_validate(struct gf_run *r, double out[4], struct gf_error *err) {
    if (!r->is_open) return refuse_closed(err);
    if (!r->valid.n_texts) return gf_fail(err, GF_ERR_STATE, "there is no validation text");
    struct gf_score score;
    const int32_t status = gf_trainer_validate(&r->trainer, &r->valid, &score, err);
    out[0] = score.loss;
    out[1] = (double)score.n_targets;
    out[2] = (double)score.right;
    out[3] = (double)score.bytes;
    return status;
}

/* Continue from the state that a file of kind GF_FILE_STATE contains. */
int32_t gf_train_load(struct gf_run *r, const void *bytes, uint32_t n, struct gf_error *err) {
    if (!r->is_open) return refuse_closed(err);
    return gf_trainer_load(&r->trainer, bytes, n, err);
}

/* Make a file of the run's present state. kind: enum gf_file_kind, of which trainer.js has a list. Returns its *n
 * bytes, which the caller frees with gf_abi_free; NULL on failure. */
void *gf_train_file(struct gf_run *r, int32_t kind, uint32_t *n, struct gf_error *err) {
    struct gf_memory m;
    struct gf_sink to = gf_memory_sink(&m);
    int32_t status = r->is_open ? GF_OK : refuse_closed(err);
    if (status == GF_OK) status = gf_export_file((enum gf_file_kind)kind, &r->trainer, &r->bpe, &to, err);
    if (status == GF_OK && to.bad)
        status = gf_fail(err, GF_ERR_MEMORY, "no memory for a file of more than %lld bytes", (long long)m.n);
    *n = (uint32_t)m.n;
    if (status == GF_OK) return m.bytes;
    gf_memory_close(&m);
    return NULL;
}

/* Call gf_depth_measure with the run's configuration. The run need not be open. out: [n_layers]. */
int32_t gf_train_depth(const struct gf_run *r, double seed, int32_t n, struct gf_depth *out, struct gf_error *err) {
    if (!(seed >= 0 && seed <= 0x1p53)) return gf_fail(err, GF_ERR_ARGUMENT, "the seed must be from 0 to 2^53");
    struct gf_config cfg = r->recipe.cfg;
    const int32_t status = gf_config_complete(&cfg, r->recipe.given, err);
    return status == GF_OK ? gf_depth_measure(&cfg, (uint64_t)seed, n, out, err) : status;
}

/* Gradients of a model with the run's configuration, which need not be open: gradients.h. dtypes: of its weights, which
 * the caller fills (gf_gradients_model, gf_tensor_restore). gf_gradients_free frees the result. NULL on failure. */
struct gf_gradients *gf_gradients_new(const struct gf_run *r, const uint8_t *dtypes, struct gf_error *err) {
    struct gf_gradients *g = malloc(sizeof *g);
    struct gf_config cfg = r->recipe.cfg;
    if (!g) gf_fail(err, GF_ERR_MEMORY, "no memory for gradients");
    if (g && gf_config_complete(&cfg, r->recipe.given, err) == GF_OK &&
        gf_gradients_open(g, &cfg, dtypes, err) == GF_OK) {
        g->pool = r->pool;
        return g;
    }
    free(g);
    return NULL;
}

void gf_gradients_free(struct gf_gradients *g) {
    gf_gradients_close(g);
    free(g);
}

/* Whether later runs keep the gradient at a point. */
int32_t gf_gradients_want(struct gf_gradients *g, int32_t stack, int32_t layer, int32_t point, int32_t on,
                          struct gf_error *err) {
    const int32_t place = gf_observe_place(&g->cfg, stack, layer, point, err);
    if (place < 0) return place;
    if (point == GF_P_ROUTER || point == GF_P_SHARED_GATE || point == GF_P_EXPERT_WEIGHTS ||
        point == GF_P_EXPERT_CHOICE)
        return gf_fail(err, GF_ERR_UNSUPPORTED, "the gradient at the router of experts is not implemented");
    g->observe->captured[place].wanted = on;
    return GF_OK;
}

struct gf_model *gf_gradients_model(const struct gf_gradients *g) {
    return g->model;
}

/* Whether later runs keep the gradient of roster entry i. */
void gf_gradients_want_weight(struct gf_gradients *g, int32_t i, int32_t on) { g->wanted[i] = on != 0; }

/* The gradient of roster entry i in the last run; NULL for one that was not wanted, or that has no values of its own (a
 * tied head). Valid until the next run. */
float *gf_gradients_weight(const struct gf_gradients *g, int32_t i) { return value_of(&g->grads, i); }

/* The gradient at a point in the last run; dims as of gf_session_captured. */
const float *gf_gradients_at(const struct gf_gradients *g, int32_t stack, int32_t layer, int32_t point,
                             int32_t dims[3]) {
    const struct gf_captured *c = &g->observe->captured[gf_place(&g->cfg, stack, layer, point)];
    memcpy(dims, c->dims, sizeof c->dims);
    return c->data;
}

/* Change a point in later runs: as gf_session_edit. */
int32_t gf_gradients_change(struct gf_gradients *g, int32_t stack, int32_t layer, int32_t point, int32_t head,
                            int32_t position, int32_t index, int32_t op, float scale, const float *values,
                            int32_t n_values, struct gf_error *err) {
    const struct gf_edit edit = {0, head, position, index, op, scale, NULL, n_values, NULL, 0, NULL};
    return gf_gradients_edit(g, stack, layer, &edit, point, values, err);
}

/* Change a feature in later runs: as gf_session_edit_feature. */
int32_t gf_gradients_change_feature(struct gf_gradients *g, int32_t stack, int32_t layer, int32_t point,
                                    int32_t position, struct gf_features *f, int32_t feature, float scale, float add,
                                    const float *direction, struct gf_error *err) {
    const struct gf_edit edit = {0, -1, position, feature, GF_EDIT_FEATURE, scale, NULL, 0, f, add, NULL};
    return gf_gradients_edit(g, stack, layer, &edit, point, direction, err);
}

/* Forget all changes of points. */
void gf_gradients_restore(struct gf_gradients *g) {
    gf_observe_close(g->changes);
    g->changes = NULL;
}

/* question: terms of the metric, n, n_source, then the n + n_source ids, the rows and the tokens of the terms. weights:
 * of the terms. */
int32_t gf_gradients_ask(struct gf_gradients *g, const int32_t *question, const float *weights, float embedding,
                         double *value, struct gf_error *err) {
    const int32_t terms = question[0], n = question[1], n_source = question[2];
    const int32_t *ids = question + 3, *rows = ids + n + n_source;
    const struct gf_question q = {.ids = ids,
                                  .source = ids + n,
                                  .n = n,
                                  .n_source = n_source,
                                  .metric = {terms, rows, rows + terms, weights},
                                  .embedding = embedding};
    return gf_gradients_run(g, &q, value, err);
}
