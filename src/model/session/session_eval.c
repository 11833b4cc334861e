/* session_eval.c - prefill and decode: n >= 1 tokens of one session, or one token in each of several; their logits */
#include "model/session/session.h"
#include "base/clock.h"
#include "base/pool.h"
#include "model/layers/position_tables.h" /* gf_rope_frequency_set */
#include <string.h>

int32_t gf_refuse_eval(const struct gf_session *s, const int32_t *ids, int32_t n, struct gf_error *err) {
    if (s->model->cfg.kind == GF_ENCODER) return gf_fail(err, GF_ERR_STATE, "an encoder has no next token: use encode");
    if (n < 1) return gf_fail(err, GF_ERR_ARGUMENT, "at least one token is needed");
    if (n > s->context - s->kv.length)
        return gf_fail(err, GF_ERR_CONTEXT, "%d tokens after %d do not fit the context of %d", n, s->kv.length,
                       s->context);
    if (s->model->cfg.kind == GF_ENCODER_DECODER && s->cross.length == 0)
        return gf_fail(err, GF_ERR_STATE, "an encoder_decoder needs a source before it decodes");
    const int32_t status = gf_kv_check(&s->kv, s->kv.length, err);
    return status != GF_OK ? status : gf_check_ids(s->model, GF_STACK_DECODER, ids, n, err);
}

/* Reserve the memory for n more positions of s, with scratch for passes of `rows` rows. 0, or -1 without memory. */
static int make_room(struct gf_session *s, int32_t n, int32_t rows) {
    int32_t keys = s->kv.length + n;
    s->kv.not_held = INT32_MAX; /* it was behind the length, where new positions are written */
    if (gf_kv_reserve(&s->kv, keys) || gf_reserve_ids(s, keys)) return -1;
    if (s->cross.length > keys) keys = s->cross.length;
    return gf_reserve_scratch(s, rows, keys) || gf_reserve_rows(&s->hidden, &s->hidden_room, n, s->model->cfg.d_model);
}

void gf_session_advance(struct gf_session *s, const int32_t *ids, int32_t n) {
    memcpy(s->ids + s->kv.length, ids, (size_t)n * sizeof *ids);
    s->kv.length += n;
    if (s->kv.length >= s->planned) s->planned = 0;
    s->hidden_rows = n;
    s->logits_rows = 0;
}

/* The pass over n rows from position pos0 on, in chunks of `step`. s->hidden: [n - start.drop, d_model] */
static void run_chunks(struct gf_session *s, const int32_t *ids, int32_t pos0, int32_t n, int32_t step,
                       struct gf_start start) {
    for (int32_t i = 0; i < n; i += step) {
        struct gf_seg seg = {.kv = &s->kv,
                             .pos0 = pos0 + i,
                             .n = n - i < step ? n - i : step,
                             .cross = &s->cross,
                             .cross_mask = s->cross_mask};
        const struct gf_chunk chunk = {GF_STACK_DECODER, i, seg.n, ids + i, &seg, 1};
        const int64_t done = i > start.drop ? i - start.drop : 0; /* rows of hidden */
        gf_run_stack(s, &chunk, start, s->hidden + done * s->model->cfg.d_model);
    }
}

int gf_session_rotate(struct gf_session *s, int32_t length) {
    const struct gf_config *c = &s->model->cfg;
    const int32_t held = s->kv.length, step = c->causal && held > GF_CHUNK ? GF_CHUNK : held;
    const int32_t frequency_set = gf_rope_frequency_set(c, length);
    if (frequency_set == s->kv.frequency_set) return 0;
    if (held && gf_reserve_scratch(s, step, held)) return -1;
    gf_kv_use_frequencies(&s->kv, frequency_set);
    if (!held) return 0;
    struct gf_observe *o = s->observe;
    const int32_t pos0 = o ? o->pos0 : 0;
    if (o) o->pos0 = 0, o->captures_nothing = 1;
    run_chunks(s, s->ids, 0, held, step, (struct gf_start){0, NULL, held});
    if (o) o->pos0 = pos0, o->captures_nothing = 0;
    return 0;
}

/* The length whose rotary frequencies n more positions need. */
static int32_t length_with(const struct gf_session *s, int32_t n) {
    return s->kv.length + n > s->planned ? s->kv.length + n : s->planned;
}

int32_t gf_session_eval(struct gf_session *s, const int32_t *ids, int32_t n, struct gf_error *err) {
    const struct gf_config *c = &s->model->cfg;
    const int32_t pos0 = s->kv.length;
    const struct gf_start start = gf_take_start(s);
    int32_t status = gf_refuse_eval(s, ids, n, err);
    if (status != GF_OK) return status;
    if (start.drop > n) return gf_fail(err, GF_ERR_ARGUMENT, "%d of %d rows cannot be dropped", start.drop, n);
    /* without the causal mask every row sees every other, so the rows cannot be divided into chunks */
    const int32_t step = c->causal && n > GF_CHUNK ? GF_CHUNK : n;
    if (s->trace) gf_trace_open(s->trace);
    if (make_room(s, n, step) ||
        (s->observe && gf_observe_begin(s->observe, GF_STACK_DECODER, n, pos0, pos0 + n, s->cross.length)) ||
        gf_session_rotate(s, length_with(s, n)))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for %d more positions", n);
    gf_pool_begin_pass(s->model->pool, n == 1);
    run_chunks(s, ids, pos0, n, step, start);
    gf_pool_end_pass(s->model->pool);
    s->hidden_rows = s->logits_rows = 0;
    status = gf_kv_check(&s->kv, pos0 + n, err);
    if (status != GF_OK) return status;
    gf_session_advance(s, ids, n);
    s->hidden_rows = s->stops ? 0 : s->hidden_rows - start.drop;
    return GF_OK;
}

int32_t gf_eval_batch(struct gf_session *const *sessions, const int32_t *ids, int32_t n, struct gf_error *err) {
    if (n < 1 || n > GF_CHUNK)
        return gf_fail(err, GF_ERR_ARGUMENT, "1 to %d sessions can be evaluated together", GF_CHUNK);
    struct gf_session *first = sessions[0];
    int started = 0;
    for (int32_t i = 0; i < n; i++) {
        const struct gf_start start = gf_take_start(sessions[i]);
        started |= start.layer || start.stream || start.drop;
    }
    if (started) return gf_fail(err, GF_ERR_STATE, "a session has a start for its next pass: evaluate it alone");
    const struct gf_model *m = first->model;
    const int32_t d = m->cfg.d_model, v = gf_head_rows(&m->cfg);
    struct gf_seg segs[GF_CHUNK];
    int32_t keys = 1;
    for (int32_t i = 0; i < n; i++) {
        struct gf_session *s = sessions[i];
        if (s->model != m) return gf_fail(err, GF_ERR_ARGUMENT, "session %d belongs to another model", i);
        if (gf_observing(s->observe) || s->trace)
            return gf_fail(err, GF_ERR_STATE, "session %d captures, edits or is timed: evaluate it alone", i);
        for (int32_t k = 0; k < i; k++)
            if (sessions[k] == s) return gf_fail(err, GF_ERR_ARGUMENT, "session %d is given twice", i);
        const int32_t refused = gf_refuse_eval(s, ids + i, 1, err);
        if (refused != GF_OK) return refused;
        if (s->kv.length + 1 > keys) keys = s->kv.length + 1;
        if (s->cross.length > keys) keys = s->cross.length;
        segs[i] = (struct gf_seg){
            .kv = &s->kv, .pos0 = s->kv.length, .n = 1, .cross = &s->cross, .cross_mask = s->cross_mask};
    }
    int short_of_memory = gf_reserve_scratch(first, n, keys);
    for (int32_t i = 0; i < n && !short_of_memory; i++)
        short_of_memory = make_room(sessions[i], 1, 1) || gf_session_rotate(sessions[i], length_with(sessions[i], 1)) ||
                          gf_reserve_rows(&sessions[i]->logits, &sessions[i]->logits_room, 1, v);
    float *hidden = short_of_memory ? NULL : gf_alloc((uint64_t)n * (uint64_t)d * sizeof *hidden);
    float *logits = hidden ? gf_alloc((uint64_t)n * (uint64_t)v * sizeof *logits) : NULL;
    if (!logits) {
        gf_free(hidden);
        return gf_fail(err, GF_ERR_MEMORY, "no memory for a position in %d sessions", n);
    }
    gf_pool_begin_pass(m->pool, 0);
    const struct gf_chunk chunk = {GF_STACK_DECODER, 0, n, ids, segs, n};
    gf_run_stack(first, &chunk, (struct gf_start){0, NULL, 0}, hidden);
    gf_run_head(first, logits, hidden, n);
    int32_t status = GF_OK;
    for (int32_t i = 0; i < n && status == GF_OK; i++)
        status = gf_kv_check(&sessions[i]->kv, sessions[i]->kv.length + 1, err);
    for (int32_t i = 0; i < n && status == GF_OK; i++) {
        struct gf_session *s = sessions[i];
        gf_session_advance(s, ids + i, 1);
        memcpy(s->hidden, hidden + (int64_t)i * d, (size_t)d * sizeof *hidden);
        memcpy(s->logits, logits + (int64_t)i * v, (size_t)v * sizeof *logits);
        s->logits_row0 = 0;
        s->logits_rows = 1;
    }
    gf_free(hidden);
    gf_free(logits);
    return status;
}

const float *gf_session_logits(struct gf_session *s, int32_t row0, int32_t n, struct gf_error *err) {
    const struct gf_model *m = s->model;
    const int32_t v = gf_head_rows(&m->cfg), d = gf_head_width(&m->cfg);
    if (row0 < 0 || n < 1 || row0 > s->hidden_rows - n)
        return gf_fail(err, GF_ERR_ARGUMENT, "rows %d..%lld: the last eval left %d", row0, (long long)row0 + n - 1,
                       s->hidden_rows),
               NULL;
    if (row0 == s->logits_row0 && n == s->logits_rows) return s->logits;
    if (gf_reserve_rows(&s->logits, &s->logits_room, n, v) ||
        gf_reserve_scratch(s, n < GF_CHUNK ? n : GF_CHUNK, GF_KV_BLOCK))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for %d rows of %d logits", n, v), NULL;
    if (s->trace) s->trace->last = gf_now_ms();
    for (int32_t i = 0; i < n; i += GF_CHUNK) {
        const int32_t rows = n - i < GF_CHUNK ? n - i : GF_CHUNK;
        gf_run_head(s, s->logits + (int64_t)i * v, s->hidden + (int64_t)(row0 + i) * d, rows);
    }
    if (s->trace) gf_trace_note(s->trace, gf_main_stack(&m->cfg), -1, GF_OP_HEAD);
    s->logits_row0 = row0;
    s->logits_rows = n;
    return s->logits;
}
