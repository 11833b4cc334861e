/* session_stack.c - one pass of a session: through a stack, and from hidden states to logits */
#include "model/session/session.h"
#include "model/layers/block.h"
#include "model/layers/head.h"
#include "model/layers/norm.h"
#include <string.h>

int32_t gf_check_ids(const struct gf_model *m, int32_t stack, const int32_t *ids, int32_t n, struct gf_error *err) {
    const int32_t most = m->stack_cfg[stack].vocab_size;
    for (int32_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= most)
            return gf_fail(err, GF_ERR_TOKEN, "token %d is id %d, the vocabulary has %d", i, ids[i], most);
    return GF_OK;
}

int32_t gf_session_start(struct gf_session *s, int32_t layer, const float *stream, int32_t drop, struct gf_error *err) {
    if (layer < 0 || layer > s->model->cfg.n_layers)
        return gf_fail(err, GF_ERR_ARGUMENT, "layer %d: the model has %d", layer, s->model->cfg.n_layers);
    if (drop < 0) return gf_fail(err, GF_ERR_ARGUMENT, "%d rows cannot be dropped", drop);
    s->start = (struct gf_start){layer, stream, drop};
    return GF_OK;
}

int32_t gf_session_stop(struct gf_session *s, int32_t layer, struct gf_error *err) {
    const int32_t n_layers = s->model->cfg.n_layers;
    if (layer < 0 || layer > n_layers)
        return gf_fail(err, GF_ERR_ARGUMENT, "layer %d: the model has %d", layer, n_layers);
    s->stop = layer;
    s->stops = layer < n_layers;
    return GF_OK;
}

struct gf_start gf_take_start(struct gf_session *s) {
    const struct gf_start start = s->start;
    s->start = (struct gf_start){0, NULL, 0};
    return start;
}

static struct gf_pass pass_of(const struct gf_session *s, const struct gf_chunk *chunk) {
    const struct gf_model *m = s->model;
    const int32_t stack = chunk->stack;
    return (struct gf_pass){.cfg = &m->stack_cfg[stack],
                            .stack = stack,
                            .layer = -1,
                            .causal = stack == gf_main_stack(&m->cfg) && m->cfg.causal,
                            .n = chunk->n,
                            .segs = chunk->segs,
                            .n_segs = chunk->n_segs,
                            .observe = s->observe,
                            .trace = s->trace,
                            .pool = m->pool,
                            .matmul_scratch = s->matmul_scratch,
                            .scores = s->scores,
                            .scores_ld = s->scores_ld,
                            .relative = m->cfg.use_position ? m->relative[stack] : NULL};
}

/* hidden = the stream after the blocks, normalised. Then what the model has behind it: a pooler, the layers between the
 * states and the head. A decoder with such layers keeps their output in place of the states. */
static void end_stream(struct gf_session *s, const struct gf_pass *p, const struct gf_norm *norm, float *hidden) {
    const struct gf_model *m = s->model;
    const struct gf_config *c = &m->cfg;
    float *mean = s->embedded.mean, *rstd = s->embedded.rstd; /* workspace */
    if (c->final_norm) {
        gf_norm_forward(p, norm, GF_P_LN_FINAL, hidden, s->bufs.resid_pre, mean, rstd);
        gf_mark(p, GF_OP_FINAL_NORM);
    } else {
        memcpy(hidden, s->bufs.resid_pre, (size_t)p->n * (size_t)c->d_model * sizeof *hidden);
    }
    if (c->pooler) gf_pooler_forward(p, &m->w, s->pooled, hidden);
    if (p->stack != gf_main_stack(c) || !gf_has_head(c)) return;
    /* the transform of a decoder's mlm_head belongs to the rows whose logits are wanted */
    if (c->kind != GF_ENCODER && (c->mlm_head || !gf_head_transformed(c))) return;
    float *rows = c->kind == GF_ENCODER ? s->hidden : hidden;
    const struct gf_transformed t = {s->bufs.resid_pre, rows, rows, mean, rstd};
    gf_before_head_forward(p, &m->w, &t, rows, s->pooled, hidden);
}

void gf_run_stack(struct gf_session *s, const struct gf_chunk *chunk, struct gf_start start, float *hidden) {
    const struct gf_model *m = s->model;
    const struct gf_config *c = &m->cfg;
    const int own_encoder = chunk->stack == GF_STACK_ENCODER && c->kind == GF_ENCODER_DECODER;
    const struct gf_block *blocks = own_encoder ? m->w.encoder_blocks : m->w.blocks;
    const int32_t n_layers = own_encoder ? c->n_encoder_layers : c->n_layers;
    const int32_t end = own_encoder || !s->stops ? n_layers : s->stop;
    float *stream = s->bufs.resid_pre;
    struct gf_pass p = pass_of(s, chunk);
    const int32_t left = start.drop - chunk->first, drop = left < 0 ? 0 : left < chunk->n ? left : chunk->n;
    const int32_t skipped = start.layer == n_layers ? drop : 0; /* no block runs, which would drop the rows */
    const int32_t first = chunk->first + skipped;
    p.n -= skipped;
    if (s->observe) {
        s->observe->row0 = first;
        s->observe->ids = chunk->ids;
        s->observe->ids_row0 = chunk->first;
        s->observe->pool = m->pool;
    }
    if (start.stream) {
        memcpy(stream, start.stream + (int64_t)first * c->d_model, (size_t)p.n * (size_t)c->d_model * sizeof *stream);
    } else {
        gf_embed_forward(&p, &m->w, &s->embedded, stream, chunk->ids);
        gf_mark(&p, GF_OP_EMBED);
    }
    for (p.layer = start.layer; p.layer < end; p.layer++) {
        p.drop = p.layer + 1 < n_layers ? 0 : drop;
        gf_block_forward(&p, &blocks[p.layer], &s->bufs);
    }
    p.layer = -1;
    if (p.n > 0 && end == n_layers)
        end_stream(s, &p, own_encoder ? &m->w.encoder_final_norm : &m->w.final_norm, hidden);
}

void gf_run_head(struct gf_session *s, float *logits, const float *hidden, int32_t n) {
    const struct gf_model *m = s->model;
    const struct gf_pass p = {
        .cfg = &m->cfg, .layer = -1, .n = n, .pool = m->pool, .matmul_scratch = s->matmul_scratch, .trace = s->trace};
    if (m->cfg.mlm_head && m->cfg.kind == GF_DECODER) {
        float *rows = s->embedded.rows;
        const struct gf_transformed t = {rows, rows, rows, s->embedded.mean, s->embedded.rstd};
        gf_before_head_forward(&p, &m->w, &t, rows, NULL, hidden);
        hidden = rows;
    }
    gf_head_forward(&p, &m->w, logits, s->embedded.rows, hidden, n);
}
