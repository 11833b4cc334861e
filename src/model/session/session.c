/* session.c - a session over a model: opens, forks, rewinds and closes it; the hidden states of its last pass.
 * Passes are in session_eval.c and session_encode.c, sampling in sample.c, captures and edits in session_observe.c. */
#include "model/session/session.h"
#include <stdlib.h>
#include <string.h>

struct gf_session *gf_session_open(const struct gf_model *m, int32_t context, int32_t kv_type, struct gf_error *err) {
    if (!m->sealed) return gf_fail(err, GF_ERR_STATE, "the model is not sealed: tensors may be missing"), NULL;
    const struct gf_config *c = &m->cfg;
    if (context == 0) context = c->context_length;
    if (context < 1 || (c->position == GF_POS_LEARNED && context > c->context_length))
        return gf_fail(err, GF_ERR_ARGUMENT, "context %d: this model has learned positions for %d", context,
                       c->context_length),
               NULL;
    if (kv_type < 0 || kv_type >= GF_N_KV_TYPES)
        return gf_fail(err, GF_ERR_ARGUMENT, "kv cache type %d does not exist", kv_type), NULL;
    struct gf_session *s = calloc(1, sizeof *s);
    if (!s) return gf_fail(err, GF_ERR_MEMORY, "no memory for a session"), NULL;
    s->model = m;
    s->context = context;
    gf_kv_open(&s->kv, c, c->kind == GF_ENCODER ? 1 : c->n_layers, kv_type);
    gf_kv_open(&s->cross, c, c->n_layers, kv_type);
    gf_rng_seed(&s->rng, 0);
    return s;
}

void gf_session_close(struct gf_session *s) {
    if (!s) return;
    gf_kv_close(&s->kv);
    gf_kv_close(&s->cross);
    gf_observe_close(s->observe);
    gf_session_trace(s, 0, NULL);
    gf_arena_close(&s->scratch);
    gf_free(s->hidden);
    gf_free(s->encoded);
    gf_free(s->logits);
    gf_free(s->pooled);
    free(s->sampling);
    free(s->cross_mask);
    free(s->ids);
    free(s);
}

int32_t gf_session_length(const struct gf_session *s) { return s->kv.length; }
int32_t gf_session_context(const struct gf_session *s) { return s->context; }
uint64_t gf_session_kv_bytes(const struct gf_session *s) { return gf_kv_bytes(&s->kv) + gf_kv_bytes(&s->cross); }
uint64_t gf_session_scratch_bytes(const struct gf_session *s) {
    const struct gf_config *c = &s->model->cfg;
    const uint64_t rows = (uint64_t)s->hidden_room + (uint64_t)s->encoded_room;
    return s->scratch.size + gf_kv_table_bytes(&s->kv) + gf_kv_table_bytes(&s->cross) +
           sizeof(float) * (rows * (uint64_t)c->d_model + (uint64_t)s->logits_room * (uint64_t)gf_head_rows(c));
}

int32_t gf_session_rewind(struct gf_session *s, int32_t n, struct gf_error *err) {
    if (n < 0 || n > s->kv.length)
        return gf_fail(err, GF_ERR_ARGUMENT, "cannot keep %d of %d positions", n, s->kv.length);
    s->kv.length = n;
    s->planned = 0;
    s->hidden_rows = s->logits_rows = 0;
    return GF_OK;
}

struct gf_session *gf_session_fork(const struct gf_session *s, struct gf_error *err) {
    struct gf_session *copy = calloc(1, sizeof *copy);
    if (!copy) goto no_memory;
    copy->model = s->model;
    copy->context = s->context;
    copy->rng = s->rng;
    if (gf_kv_copy(&copy->kv, &s->kv) || gf_kv_copy(&copy->cross, &s->cross)) goto no_memory;
    if (s->cross_mask) {
        copy->cross_mask = malloc((size_t)s->cross.length);
        if (!copy->cross_mask) goto no_memory;
        memcpy(copy->cross_mask, s->cross_mask, (size_t)s->cross.length);
    }
    if (gf_reserve_ids(copy, s->kv.length)) goto no_memory;
    if (s->kv.length) memcpy(copy->ids, s->ids, (size_t)s->kv.length * sizeof *copy->ids);
    if (s->hidden_rows) { /* the last row, so that the copy can be sampled from at once */
        const int32_t d = s->model->cfg.d_model;
        if (gf_reserve_rows(&copy->hidden, &copy->hidden_room, 1, d)) goto no_memory;
        memcpy(copy->hidden, s->hidden + ((int64_t)s->hidden_rows - 1) * d, (size_t)d * sizeof *copy->hidden);
        copy->hidden_rows = 1;
    }
    return copy;
no_memory:
    gf_session_close(copy);
    gf_fail(err, GF_ERR_MEMORY, "no memory for a copy of a session of %d positions", s->kv.length);
    return NULL;
}

int32_t gf_session_plan(struct gf_session *s, int32_t length, struct gf_error *err) {
    if (length < 0 || length > s->context)
        return gf_fail(err, GF_ERR_CONTEXT, "%d tokens do not fit the context of %d", length, s->context);
    s->planned = length;
    return GF_OK;
}

const float *gf_session_hidden(const struct gf_session *s, int32_t stack, int32_t *n) {
    *n = stack == GF_STACK_ENCODER ? s->encoded_rows : s->hidden_rows;
    return *n ? (stack == GF_STACK_ENCODER ? s->encoded : s->hidden) : NULL;
}

const float *gf_session_pooled(const struct gf_session *s) {
    return s->encoded_rows && s->model->cfg.pooler ? s->pooled : NULL;
}
