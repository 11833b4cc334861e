/* session_encode.c - runs the encoder on a source; in an encoder_decoder also the keys and values of cross-attention */
#include "base/pool.h"
#include "model/attention.h" /* gf_cross_keys_values */
#include "model/config.h"    /* gf_kv_width */
#include "model/session.h"
#include <stdlib.h>
#include <string.h>

/* Fill s->cross with the keys and values of every decoder layer for the n encoded rows, and start the decoder's
 * sequence anew. 0, or -1 without memory. */
static int encode_cross(struct gf_session *s, const uint8_t *mask, int32_t n) {
    const struct gf_model *m = s->model;
    const struct gf_config *c = &m->cfg;
    uint8_t *mask_copy = NULL;
    if (mask) {
        mask_copy = malloc((size_t)n);
        if (!mask_copy) return -1;
        memcpy(mask_copy, mask, (size_t)n);
    }
    float *kv = gf_alloc((uint64_t)n * 2 * (uint64_t)gf_kv_width(c) * sizeof *kv);
    if (!kv || gf_kv_reserve(&s->cross, n) || (s->observe && gf_observe_begin_cross(s->observe, n))) {
        gf_free(kv);
        free(mask_copy);
        return -1;
    }
    struct gf_pass p = {.cfg = c,
                        .stack = GF_STACK_DECODER,
                        .n = n,
                        .observe = s->observe,
                        .trace = s->trace,
                        .pool = m->pool,
                        .matmul_scratch = s->matmul_scratch};
    for (; p.layer < c->n_layers; p.layer++)
        gf_cross_keys_values(&p, &m->w.blocks[p.layer].cross, &s->cross, s->encoded, kv);
    gf_free(kv);
    free(s->cross_mask);
    s->cross_mask = mask_copy;
    s->cross.length = n;
    s->kv.length = 0;
    s->hidden_rows = s->logits_rows = 0;
    return 0;
}

/* GF_OK if n tokens can be encoded, otherwise the error. */
static int32_t refuse_encode(const struct gf_session *s, const int32_t *ids, const int32_t *types, const uint8_t *mask,
                             int32_t n, struct gf_error *err) {
    const struct gf_config *c = &s->model->cfg;
    if (c->kind == GF_DECODER) return gf_fail(err, GF_ERR_STATE, "a decoder has no encoder: use eval");
    if (n < 1) return gf_fail(err, GF_ERR_ARGUMENT, "at least one source token is needed");
    if (n > s->context)
        return gf_fail(err, GF_ERR_CONTEXT, "%d source tokens do not fit the context of %d", n, s->context);
    int32_t status = gf_check_ids(s->model, ids, n, err);
    if (status != GF_OK) return status;
    for (int32_t i = 0; types && i < n; i++)
        if (types[i] < 0 || types[i] >= c->n_token_types)
            return gf_fail(err, GF_ERR_ARGUMENT, "token %d has type %d, the model has %d token types", i, types[i],
                           c->n_token_types);
    int shown = !mask;
    for (int32_t i = 0; i < n && !shown; i++) shown = mask[i] != 0;
    return shown ? GF_OK : gf_fail(err, GF_ERR_ARGUMENT, "the mask hides every source position");
}

int32_t gf_session_encode(struct gf_session *s, const int32_t *ids, const int32_t *types, const uint8_t *mask,
                          int32_t n, struct gf_error *err) {
    const struct gf_config *c = &s->model->cfg;
    struct gf_start start = c->kind == GF_ENCODER ? gf_take_start(s) : (struct gf_start){0, NULL, 0};
    start.drop = 0;
    const int32_t status = refuse_encode(s, ids, types, mask, n, err);
    if (status != GF_OK) return status;
    struct gf_kv work; /* one layer's keys and values at a time, always exact: an encoder keeps no cache */
    gf_kv_open(&work, &s->model->stack_cfg[GF_STACK_ENCODER], 1, GF_KV_F32);
    if (gf_kv_reserve(&work, n) || gf_reserve_scratch(s, n, n) ||
        gf_reserve_rows(&s->encoded, &s->encoded_room, n, c->d_model) ||
        (c->pooler && gf_reserve_rows(&s->pooled, &s->pooled_room, 1, c->d_model)) ||
        (c->mlm_head && gf_reserve_rows(&s->hidden, &s->hidden_room, n, c->d_model)) ||
        (s->observe && gf_observe_begin(s->observe, GF_STACK_ENCODER, n, 0, n, 0))) {
        gf_kv_close(&work);
        return gf_fail(err, GF_ERR_MEMORY, "no memory for %d source positions", n);
    }
    struct gf_seg seg = {.kv = &work, .n = n, .mask = mask, .types = types};
    if (s->trace) gf_trace_open(s->trace);
    gf_pool_begin_pass(s->model->pool, 0);
    gf_run_stack(s, GF_STACK_ENCODER, &seg, 1, n, ids, s->encoded, start, 0);
    gf_kv_close(&work);
    s->encoded_rows = n;
    s->hidden_rows = c->mlm_head ? n : 0;
    s->logits_rows = 0;
    if (c->kind == GF_ENCODER_DECODER && encode_cross(s, mask, n))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for the source's keys and values");
    return GF_OK;
}
