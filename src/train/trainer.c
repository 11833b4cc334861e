/* trainer.c - see trainer.h. */
#include "train/trainer.h"
#include "base/arena.h"      /* gf_calloc */
#include "kernels/kernels.h" /* gf_add */
#include <math.h>
#include <stdlib.h>
#include <string.h>

void gf_trainer_defaults(struct gf_trainer_options *o) {
    memset(o, 0, sizeof *o);
#define DEFAULT(type, name, member, initial, ...) o->member = (type)initial;
    GF_TRAINER_OPTIONS(DEFAULT)
}

/* What a step changes. */
static struct gf_params *trained(struct gf_trainer *t) { return t->lora.n_parts ? &t->lora.factors : &t->weights; }

/* Lanes that have activations of their own. */
static int graphs_of(const struct gf_trainer *t) { return t->lora.n_parts ? 1 : GF_LANES; }

/* The gradients of a lane and, where it has activations of its own, these. Returns 0, or -1 if memory is missing. */
static int open_lane(struct gf_trainer *t, int index, gf_gemm_fn gemm) {
    struct gf_lane *lane = &t->lanes[index];
    const int32_t rows = t->options.micro_tokens, n_parts = t->lora.n_parts;
    if (n_parts) {
        lane->adapters = gf_calloc((uint64_t)n_parts, sizeof *lane->adapters);
        if (!lane->adapters || gf_params_like(&lane->grads, &t->lora.factors)) return -1;
        gf_lora_adapters(&t->lora, &lane->grads, lane->adapters);
    } else if (gf_params_open(&lane->grads, &t->cfg)) {
        return -1;
    }
    if (index >= graphs_of(t)) return 0;
    struct gf_graph *g = &lane->graph;
    if (gf_graph_open(g, &t->cfg, rows, rows, rows, gemm)) return -1;
    if (!n_parts) return 0;
    g->low = gf_calloc((uint64_t)rows * (uint64_t)t->lora.rank, sizeof *g->low);
    g->by_panels = gf_gemm_by_panels, g->n_adapters = n_parts, g->pool = t->pool;
    return g->low && !gf_weights_open(&t->no_gradients, &t->cfg) ? 0 : -1;
}

int32_t gf_trainer_open(struct gf_trainer *t, const struct gf_config *cfg, const struct gf_trainer_options *options,
                        struct gf_data *data, gf_gemm_fn gemm, struct gf_pool *pool, struct gf_error *err) {
    memset(t, 0, sizeof *t);
    const int32_t status = gf_graph_check(cfg, 1, err);
    if (status != GF_OK) return status;
    if (data && data->pairs != (cfg->kind == GF_ENCODER_DECODER))
        return gf_fail(err, GF_ERR_CONFIG, "pairs train an encoder_decoder, stories a decoder");
    if (options->lora && options->average > 0)
        return gf_fail(err, GF_ERR_ARGUMENT, "an adapter has no running average");
    const int32_t batch = options->batch_tokens, rows = options->micro_tokens < batch ? options->micro_tokens : batch;
    if (rows < cfg->context_length)
        return gf_fail(err, GF_ERR_ARGUMENT, "passes of %d rows do not hold a context of %d", rows,
                       cfg->context_length);
    if (batch % rows)
        return gf_fail(err, GF_ERR_ARGUMENT, "batch_tokens %d is not a multiple of micro_tokens %d", batch, rows);
    t->cfg = *cfg;
    t->options = *options;
    t->options.micro_tokens = rows;
    t->options.lora = NULL; /* the caller's */
    t->data = data;
    t->pool = pool;
    t->n_micro = batch / rows;
    t->micro = gf_calloc((uint64_t)t->n_micro, sizeof *t->micro);
    int bad = !t->micro || (!options->lora && gf_params_open(&t->weights, cfg));
    if (!bad && options->lora) {
        const int32_t opened = gf_lora_open(&t->lora, options->lora, cfg, options->seed, err);
        if (opened != GF_OK) return gf_trainer_close(t), opened;
    }
    bad = bad || gf_optim_open(&t->optim, trained(t), gemm) ||
          (options->average > 0 && gf_params_open(&t->averaged, cfg));
    for (int32_t i = 0; !bad && i < t->n_micro; i++) bad = gf_batch_open(&t->micro[i], rows, rows);
    for (int i = 0; !bad && i < GF_LANES; i++) bad = open_lane(t, i, gemm);
    if (bad) {
        gf_trainer_close(t);
        return gf_fail(err, GF_ERR_MEMORY, "no memory to train a model of %lld parameters",
                       (long long)gf_count_parameters(cfg));
    }
    if (!options->lora) gf_params_init(&t->weights, cfg, options->seed, options->init_std, options->init_scaled);
    if (t->averaged.data) memcpy(t->averaged.data, t->weights.data, (size_t)t->weights.n * sizeof(float));
    return GF_OK;
}

int32_t gf_trainer_teach(struct gf_trainer *t, const struct gf_config *cfg, const struct gf_params *weights,
                         float share, struct gf_error *err) {
    const int32_t status = gf_graph_check(cfg, 1, err);
    if (status != GF_OK) return status;
    if (cfg->kind != t->cfg.kind || cfg->vocab_size != t->cfg.vocab_size || cfg->context_length < t->cfg.context_length)
        return gf_fail(err, GF_ERR_CONFIG,
                       "a teacher of %d tokens and a context of %d does not fit a model of %d and %d", cfg->vocab_size,
                       cfg->context_length, t->cfg.vocab_size, t->cfg.context_length);
    const int32_t rows = t->options.micro_tokens, k = t->lanes[0].graph.n_teachers;
    if (k == GF_TEACHERS) return gf_fail(err, GF_ERR_ARGUMENT, "more than %d teachers", GF_TEACHERS);
    for (int i = 0; i < graphs_of(t); i++) {
        struct gf_lane *lane = &t->lanes[i];
        if (gf_graph_open(&lane->teacher_graphs[k], cfg, rows, rows, rows, lane->graph.gemm))
            return gf_fail(err, GF_ERR_MEMORY, "no memory for the teacher's activations");
        lane->teachers[k] = (struct gf_teacher){&lane->teacher_graphs[k], &weights->w, share};
    }
    for (int i = 0; i < graphs_of(t); i++) {
        t->lanes[i].graph.teachers = t->lanes[i].teachers;
        t->lanes[i].graph.n_teachers = k + 1;
    }
    return GF_OK;
}

void gf_trainer_close(struct gf_trainer *t) {
    for (int i = 0; i < GF_LANES; i++) {
        free(t->lanes[i].graph.low);
        free(t->lanes[i].adapters);
        gf_graph_close(&t->lanes[i].graph);
        for (int k = 0; k < GF_TEACHERS; k++) gf_graph_close(&t->lanes[i].teacher_graphs[k]);
        gf_params_close(&t->lanes[i].grads);
    }
    for (int32_t i = 0; t->micro && i < t->n_micro; i++) gf_batch_close(&t->micro[i]);
    free(t->micro);
    gf_optim_close(&t->optim);
    gf_lora_close(&t->lora);
    gf_weights_close(&t->no_gradients);
    gf_params_close(&t->weights);
    gf_params_close(&t->averaged);
    memset(t, 0, sizeof *t);
}

int32_t gf_trainer_adapt(struct gf_trainer *t, struct gf_error *err) { return gf_lora_take(&t->lora, err); }

/* Run the passes of one lane; leaves the sum of their losses and gradients in it. */
static void run_lane(void *ctx, int32_t index) {
    struct gf_trainer *t = ctx;
    struct gf_lane *lane = &t->lanes[index];
    const int adapts = t->lora.n_parts > 0;
    struct gf_graph *graph = adapts ? &t->lanes[0].graph : &lane->graph;
    graph->adapters = lane->adapters;
    lane->loss = 0;
    lane->right = 0;
    memset(lane->grads.data, 0, (size_t)lane->grads.n * sizeof(float));
    for (int32_t i = index; i < t->n_micro; i += GF_LANES) {
        /* Only a seed: it may overflow, modulo 2^64 */
        const uint64_t pass = (uint64_t)t->step * (uint64_t)t->n_micro + (uint64_t)i;
        if (!t->micro[i].b.n) continue;
        lane->loss +=
            gf_graph_run(graph, adapts ? &t->lora.model->w : &t->weights.w, adapts ? &t->no_gradients : &lane->grads.w,
                         &t->micro[i].b, t->scale, t->options.dropout, t->options.seed + pass * 0x9e3779b97f4a7c15u);
        lane->right += graph->right;
    }
}

int32_t gf_trainer_step(struct gf_trainer *t, double *loss, double *norm, struct gf_error *err) {
    for (int32_t i = 0; i < t->n_micro; i++)
        if (gf_data_fill(t->data, &t->micro[i])) return gf_fail(err, GF_ERR_MEMORY, "no memory for a batch");
    return gf_trainer_learn(t, loss, norm, err);
}

int32_t gf_trainer_learn(struct gf_trainer *t, double *loss, double *norm, struct gf_error *err) {
    int64_t n_targets = 0;
    for (int32_t i = 0; i < t->n_micro; i++) n_targets += t->micro[i].n_targets;
    t->scale = 1 / (float)n_targets;
    gf_pool_run(t->lora.n_parts ? NULL : t->pool, run_lane, t, GF_LANES);
    struct gf_params *g = &t->lanes[0].grads;
    *loss = t->lanes[0].loss;
    t->right = t->lanes[0].right;
    for (int i = 1; i < GF_LANES; i++) {
        gf_add(g->data, g->data, t->lanes[i].grads.data, (int64_t)g->n);
        *loss += t->lanes[i].loss;
        t->right += t->lanes[i].right;
    }
    *loss /= (double)n_targets;
    const int64_t step = t->step + 1;
    *norm = *loss;
    if (isfinite(*loss))
        *norm = gf_optim_step(&t->optim, trained(t), g, &t->options.optim, step, gf_trainer_rate(&t->options, step),
                              t->pool);
    if (!isfinite(*norm))
        return gf_fail(err, GF_ERR_NOT_FINITE, "step %lld: the loss is no longer a number", (long long)step);
    t->step = step;
    t->tokens += n_targets;
    if (t->averaged.data) { /* decay (1 + t) / (10 + t) at first, so that the initial weights fade quickly */
        const double early = ((double)t->step + 1) / ((double)t->step + 10);
        const float keep = (float)fmin((double)t->options.average, early);
        for (uint64_t i = 0; i < t->weights.n; i++)
            t->averaged.data[i] += (1 - keep) * (t->weights.data[i] - t->averaged.data[i]);
    }
    return GF_OK;
}

struct gf_params *gf_trainer_best(struct gf_trainer *t) { return t->averaged.data ? &t->averaged : &t->weights; }

void gf_trainer_score(struct gf_trainer *t, const struct gf_batch_buffer *batch, struct gf_score *score) {
    struct gf_graph *g = &t->lanes[0].graph;
    const struct gf_weights *w = t->lora.n_parts ? &t->lora.model->w : &gf_trainer_best(t)->w;
    g->adapters = t->lanes[0].adapters;
    score->loss += gf_graph_run(g, w, NULL, &batch->b, 1, 0, 0);
    score->n_targets += batch->n_targets;
    score->right += g->right;
    score->bytes += batch->bytes;
}

int32_t gf_trainer_validate(struct gf_trainer *t, struct gf_data *data, struct gf_score *score, struct gf_error *err) {
    *score = (struct gf_score){0, 0, 0, 0};
    for (int32_t i = 0, w = 0; i < data->n_texts;) {
        if (gf_data_in_order(data, &t->micro[0], &i, &w)) return gf_fail(err, GF_ERR_MEMORY, "no memory for a batch");
        gf_trainer_score(t, &t->micro[0], score);
    }
    return GF_OK;
}

/* ---- the state as bytes ------------------------------------------------------------------------------------------ */

/* The start of a checkpoint. Options that may change when a run is continued, such as the number of steps, are not part
 * of it; they come from the recipe. */
struct header {
    char magic[8];
    struct gf_config cfg;
    uint64_t n, seed;
    int64_t step, tokens, epoch, next, window;
    int32_t averaged, lanes;
    char data[64]; /* SHA-256 of the corpus; with an adapter: of the matrices that it is added to */
};

static struct header header_of(const struct gf_trainer *t) {
    struct header h;
    memset(&h, 0, sizeof h); /* padding too, so that equal states are equal bytes */
    memcpy(h.magic, "gftrain2", 8);
    h.cfg = t->cfg;
    h.n = t->optim.first.n;
    h.seed = t->options.seed;
    h.step = t->step;
    h.tokens = t->tokens;
    h.epoch = t->data->epoch;
    h.next = t->data->next;
    h.window = t->data->window;
    h.averaged = t->averaged.data != NULL;
    h.lanes = GF_LANES;
    memcpy(h.data, t->lora.n_parts ? t->lora.sha256 : t->data->sha256, sizeof h.data);
    return h;
}

void gf_trainer_save(const struct gf_trainer *t, struct gf_sink *to) {
    const struct header h = header_of(t);
    const float *parts[] = {t->lora.n_parts ? t->lora.factors.data : t->weights.data, t->optim.first.data,
                            t->optim.second.data, t->averaged.data};
    gf_put(to, &h, sizeof h);
    for (int i = 0; i < 4; i++)
        if (parts[i]) gf_put(to, parts[i], (size_t)h.n * sizeof(float));
}

/* Weights and first moments are finite. A second moment may have overflowed (without clipping), but
 * is never negative or NaN. */
static int are_valid(const uint8_t *bytes, uint64_t n, int second) {
    for (uint64_t i = 0; i < n; i++, bytes += sizeof(float)) {
        float x;
        memcpy(&x, bytes, sizeof x);
        if (second ? !(x >= 0) : !isfinite(x)) return 0;
    }
    return 1;
}

int32_t gf_trainer_load(struct gf_trainer *t, const void *bytes, size_t n, struct gf_error *err) {
    struct header h, mine = header_of(t);
    if (n < sizeof h || memcmp(bytes, mine.magic, 8))
        return gf_fail(err, GF_ERR_TRUNCATED, "these bytes are not a checkpoint");
    memcpy(&h, bytes, sizeof h);
    if (!h.averaged != !mine.averaged)
        return gf_fail(err, GF_ERR_CONFIG, "the checkpoint was made %s average = ", h.averaged ? "with" : "without");
    if (memcmp(&h.cfg, &mine.cfg, sizeof h.cfg) || h.n != mine.n || h.seed != mine.seed || h.lanes != mine.lanes)
        return gf_fail(err, GF_ERR_CONFIG, "the checkpoint belongs to another configuration or another seed");
    const size_t part = (size_t)h.n * sizeof(float);
    const size_t whole = sizeof h + (h.averaged ? 4 : 3) * part;
    if (n != whole)
        return gf_fail(err, GF_ERR_TRUNCATED, "the checkpoint has %lld bytes, expected %lld", (long long)n,
                       (long long)whole);
    if (h.step < 0 || h.step > GF_STEPS_MOST || h.tokens < 0 || h.tokens > GF_TOKENS_MOST)
        return gf_fail(err, GF_ERR_CONFIG,
                       "the checkpoint counts %lld steps and %lld tokens, expected 0 to %lld and %lld",
                       (long long)h.step, (long long)h.tokens, (long long)GF_STEPS_MOST, (long long)GF_TOKENS_MOST);
    float *parts[] = {trained(t)->data, t->optim.first.data, t->optim.second.data, t->averaged.data};
    const uint8_t *floats = (const uint8_t *)bytes + sizeof h, *from = floats;
    for (int i = 0; i < 4; i++, from += part)
        if (parts[i] && !are_valid(from, h.n, i == 2))
            return gf_fail(err, GF_ERR_NOT_FINITE, "the checkpoint holds numbers that are not finite");
    if (memcmp(h.data, mine.data, sizeof h.data) ||
        (t->data->n_texts && gf_data_seek(t->data, h.epoch, h.next, h.window)))
        return gf_fail(err, GF_ERR_CONFIG, "the checkpoint belongs to other data");
    from = floats;
    for (int i = 0; i < 4; i++, from += part)
        if (parts[i]) memcpy(parts[i], from, part);
    t->step = h.step;
    t->tokens = h.tokens;
    return GF_OK;
}
