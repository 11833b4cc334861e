/* session_encode.c - runs the encoder on a source, or on several in one pass; in an encoder_decoder also the keys and
 * values of cross-attention */
#include "base/pool.h"
#include "model/layers/attention.h"       /* gf_cross_keys_values */
#include "model/config.h"                 /* gf_kv_width */
#include "model/layers/position_tables.h" /* gf_rope_frequency_set */
#include "model/session/session.h"
#include <stdlib.h>
#include <string.h>

/* What the keys and values of a source need besides the cache. */
struct cross_room {
    uint8_t *mask; /* [n] a copy, or NULL */
    float *kv;     /* [n, 2 gf_kv_width] of one layer */
};

/* Reserve the memory for the keys and values of n source positions. 0, or -1 without memory. */
static int reserve_cross(struct gf_session *s, struct cross_room *r, const uint8_t *mask, int32_t n) {
    if (mask) {
        r->mask = malloc((size_t)n);
        if (!r->mask) return -1;
        memcpy(r->mask, mask, (size_t)n);
    }
    r->kv = gf_alloc((uint64_t)n * 2 * (uint64_t)gf_kv_width(&s->model->cfg) * sizeof *r->kv);
    return !r->kv || gf_kv_reserve(&s->cross, n) || (s->observe && gf_observe_begin_cross(s->observe, n)) ? -1 : 0;
}

/* Fill s->cross with the keys and values of every decoder layer for the n encoded rows, and start the decoder's
 * sequence anew. Takes r->mask. Where the type of the cache cannot hold a value there is no source afterwards. */
static int32_t encode_cross(struct gf_session *s, struct cross_room *r, int32_t n, struct gf_error *err) {
    const struct gf_model *m = s->model;
    struct gf_pass p = {.cfg = &m->cfg,
                        .stack = GF_STACK_DECODER,
                        .n = n,
                        .observe = s->observe,
                        .trace = s->trace,
                        .pool = m->pool,
                        .matmul_scratch = s->matmul_scratch};
    s->cross.not_held = INT32_MAX;
    for (; p.layer < m->cfg.n_layers; p.layer++)
        gf_cross_keys_values(&p, &m->w.blocks[p.layer].cross, &s->cross, s->encoded, r->kv);
    free(s->cross_mask);
    s->cross_mask = r->mask;
    r->mask = NULL;
    s->kv.length = 0;
    s->hidden_rows = s->logits_rows = 0;
    const int32_t status = gf_kv_check(&s->cross, n, err);
    s->cross.length = status == GF_OK ? n : 0;
    return status;
}

/* GF_OK if n tokens can be encoded, otherwise the error. */
static int32_t refuse_encode(const struct gf_session *s, const int32_t *ids, const int32_t *types, const uint8_t *mask,
                             int32_t n, struct gf_error *err) {
    const struct gf_config *c = &s->model->cfg;
    if (n < 1) return gf_fail(err, GF_ERR_ARGUMENT, "at least one source token is needed");
    if (n > s->context)
        return gf_fail(err, GF_ERR_CONTEXT, "%d source tokens do not fit the context of %d", n, s->context);
    int32_t status = gf_check_ids(s->model, GF_STACK_ENCODER, ids, n, err);
    if (status != GF_OK) return status;
    for (int32_t i = 0; types && i < n; i++)
        if (types[i] < 0 || types[i] >= c->n_token_types)
            return gf_fail(err, GF_ERR_ARGUMENT, "token %d has type %d, the model has %d token types", i, types[i],
                           c->n_token_types);
    int shown = !mask;
    for (int32_t i = 0; i < n && !shown; i++) shown = mask[i] != 0;
    return shown ? GF_OK : gf_fail(err, GF_ERR_ARGUMENT, "the mask hides every source position");
}

/* The pass over the n rows of all sources. 0, or -1 without memory. */
static int encode(struct gf_session *s, const int32_t *ids, struct gf_seg *segs, int32_t n_sources, int32_t n,
                  struct gf_start start) {
    const struct gf_config *c = &s->model->cfg;
    int32_t most = 0;
    for (int32_t i = 0; i < n_sources; i++) {
        if (gf_kv_reserve(segs[i].kv, segs[i].n)) return -1;
        if (segs[i].n > most) most = segs[i].n;
    }
    if (gf_reserve_scratch(s, n, most) || gf_reserve_rows(&s->encoded, &s->encoded_room, n, c->d_model) ||
        (c->pooler && gf_reserve_rows(&s->pooled, &s->pooled_room, n_sources, c->d_model)) ||
        (gf_has_head(c) && gf_reserve_rows(&s->hidden, &s->hidden_room, n, gf_head_width(c))) ||
        (s->observe && gf_observe_begin(s->observe, GF_STACK_ENCODER, n, 0, n, 0)))
        return -1;
    if (s->trace) gf_trace_open(s->trace);
    gf_pool_begin_pass(s->model->pool, 0);
    const struct gf_chunk chunk = {GF_STACK_ENCODER, 0, n, ids, segs, n_sources};
    gf_run_stack(s, &chunk, start, s->encoded);
    s->encoded_rows = n;
    s->hidden_rows = c->kind == GF_ENCODER && gf_has_head(c) ? gf_label_pooled(c) ? n_sources : n : 0;
    s->logits_rows = 0;
    return 0;
}

int32_t gf_encode_batch(struct gf_session *s, const int32_t *ids, const int32_t *types, const uint8_t *mask,
                        const int32_t *lengths, int32_t n_sources, struct gf_error *err) {
    const struct gf_config *c = &s->model->cfg;
    struct gf_start start = c->kind == GF_ENCODER ? gf_take_start(s) : (struct gf_start){0, NULL, 0};
    struct gf_seg segs[GF_CHUNK];
    struct gf_kv work[GF_CHUNK]; /* one layer's keys and values at a time, always exact: an encoder keeps no cache */
    start.drop = 0;
    if (c->kind == GF_DECODER) return gf_fail(err, GF_ERR_STATE, "a decoder has no encoder: use eval");
    if (n_sources < 1 || n_sources > GF_CHUNK)
        return gf_fail(err, GF_ERR_ARGUMENT, "1 to %d sources can be encoded together", GF_CHUNK);
    if (n_sources > 1 && (c->kind != GF_ENCODER || gf_observing(s->observe)))
        return gf_fail(err, GF_ERR_STATE, "only an encoder without captures and edits encodes several sources");
    int32_t n = 0;
    for (int32_t i = 0; i < n_sources; n += lengths[i++]) {
        segs[i] = (struct gf_seg){
            .kv = &work[i], .n = lengths[i], .mask = mask ? mask + n : NULL, .types = types ? types + n : NULL};
        const int32_t refused = refuse_encode(s, ids + n, segs[i].types, segs[i].mask, lengths[i], err);
        if (refused != GF_OK) return refused;
        if (lengths[i] > INT32_MAX - n) return gf_fail(err, GF_ERR_MEMORY, "too many source tokens");
        gf_kv_open(&work[i], &s->model->stack_cfg[GF_STACK_ENCODER], 1, GF_KV_F32);
        gf_kv_use_frequencies(&work[i], gf_rope_frequency_set(c, lengths[i]));
    }
    const int two = c->kind == GF_ENCODER_DECODER;
    struct cross_room room = {NULL, NULL};
    int32_t status = GF_OK;
    if ((two && reserve_cross(s, &room, mask, n)) || encode(s, ids, segs, n_sources, n, start))
        status = gf_fail(err, GF_ERR_MEMORY, "no memory for %d source positions", n);
    else if (two)
        status = encode_cross(s, &room, n, err);
    for (int32_t i = 0; i < n_sources; i++) gf_kv_close(&work[i]);
    free(room.mask);
    gf_free(room.kv);
    return status;
}

int32_t gf_session_encode(struct gf_session *s, const int32_t *ids, const int32_t *types, const uint8_t *mask,
                          int32_t n, struct gf_error *err) {
    return gf_encode_batch(s, ids, types, mask, &n, 1, err);
}
