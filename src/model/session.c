/* session.c - runs a model on one sequence of tokens with its key/value cache: prefill and decode (eval), encode,
 * rewind, fork, logits. Sampling is in sample.c, captures and edits in session_observe.c. */
#include "model/session.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/pool.h"
#include "kernels/kernels.h" /* gf_matmul, gf_matmul_scratch */
#include "model/attention.h" /* gf_cross_keys_values */
#include "model/block.h"
#include "model/config.h" /* gf_ffn_gated, gf_widest_ffn */
#include "model/embed.h"
#include "model/head.h"
#include "model/norm.h"
#include "model/position.h" /* gf_position_reach */
#include <stdlib.h>
#include <string.h>

struct gf_session *gf_session_open(const struct gf_model *m, int32_t context, int32_t kv_type, struct gf_error *err) {
    if (!m->sealed) {
        gf_fail(err, GF_ERR_STATE, "the model is not sealed: tensors may be missing");
        return NULL;
    }
    const struct gf_config *c = &m->cfg;
    if (context == 0) context = c->context_length;
    if (context < 1 || (c->position == GF_POS_LEARNED && context > c->context_length)) {
        gf_fail(err, GF_ERR_ARGUMENT, "context %d: this model has learned positions for %d", context,
                c->context_length);
        return NULL;
    }
    if (kv_type < 0 || kv_type >= GF_N_KV_TYPES) {
        gf_fail(err, GF_ERR_ARGUMENT, "kv cache type %d does not exist", kv_type);
        return NULL;
    }
    struct gf_session *s = calloc(1, sizeof *s);
    if (!s) {
        gf_fail(err, GF_ERR_MEMORY, "no memory for a session");
        return NULL;
    }
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
    gf_give(s->hidden);
    gf_give(s->encoded);
    gf_give(s->logits);
    gf_give(s->pooled);
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
           sizeof(float) * (rows * (uint64_t)c->d_model + (uint64_t)s->logits_room * (uint64_t)c->vocab_size);
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
    copy->ids = malloc(((size_t)s->kv.length + 1) * sizeof *copy->ids);
    if (!copy->ids) goto no_memory;
    copy->ids_room = s->kv.length + 1;
    if (s->kv.length) memcpy(copy->ids, s->ids, (size_t)s->kv.length * sizeof *copy->ids);
    if (s->hidden_rows) { /* the last row, so that the copy can be sampled from at once */
        const size_t d = (size_t)s->model->cfg.d_model;
        copy->hidden = gf_take(d * sizeof *copy->hidden);
        if (!copy->hidden) goto no_memory;
        memcpy(copy->hidden, s->hidden + ((size_t)s->hidden_rows - 1) * d, d * sizeof *copy->hidden);
        copy->hidden_rows = copy->hidden_room = 1;
    }
    return copy;
no_memory:
    gf_session_close(copy);
    gf_fail(err, GF_ERR_MEMORY, "no memory for a copy of a session of %d positions", s->kv.length);
    return NULL;
}

/* ---- scratch ----------------------------------------------------------------------------------------------------- */

/* Bytes of all buffers of a pass of `rows` rows over `keys` keys; with `carve` they are also allocated from the arena.
 * One list serves both, so that size and use agree. */
static uint64_t plan_scratch(struct gf_session *s, int32_t rows, int32_t keys, int carve) {
    const struct gf_config *c = &s->model->cfg;
    const int32_t d = c->d_model, wq = c->n_heads * c->d_head, wqkv = wq + 2 * c->n_kv_heads * c->d_head,
                  gated = gf_ffn_gated(c), d_ff = gf_widest_ffn(c), wide = gated ? 2 * d_ff : d_ff,
                  experts = c->n_experts, used = c->n_experts_used;
    int32_t widest = d > wq ? d : wq;
    if (d_ff > widest) widest = d_ff;
    if (gf_embed_width(c) > widest) widest = gf_embed_width(c);
    uint64_t total = 0;
#define BUF(field, width)                                                                                              \
    do {                                                                                                               \
        uint64_t bytes = gf_mul_u64(gf_mul_u64((uint64_t)rows, (uint64_t)(width)), sizeof(float));                     \
        total = gf_add_u64(total, gf_arena_share(bytes));                                                              \
        if (carve) field = gf_arena_take(&s->scratch, bytes);                                                          \
    } while (0)
    struct gf_bufs *b = &s->bufs;
    BUF(b->resid_pre, d);
    BUF(b->norm1, d);
    BUF(b->mean1, 1);
    BUF(b->rstd1, 1);
    BUF(b->qkv, wqkv);
    BUF(b->z, wq);
    BUF(b->attn_out, d);
    BUF(b->ffn_pre, wide);
    if (gated)
        BUF(b->ffn_post, d_ff);
    else
        b->ffn_post = b->ffn_pre;
    BUF(b->routed, experts);
    BUF(b->chosen, used);
    BUF(b->shares, used);
    BUF(b->expert_in, experts ? d : 0);
    BUF(b->expert_out, experts ? d : 0);
    if (c->parallel_residual)
        BUF(b->ffn_out, d);
    else
        b->ffn_out = b->attn_out;
    BUF(s->embedded.rows,
        gf_embed_projected(c) ? gf_embed_width(c) : 0); /* also of the hidden states before the head */
    const int added = c->position == GF_POS_SINUSOIDAL || c->position == GF_POS_LEARNED || c->n_token_types;
    BUF(s->embedded.pos, added ? d : 0);
#undef BUF
    uint64_t bytes = gf_mul_u64((uint64_t)c->n_kv_heads * 4 * sizeof(float), (uint64_t)keys);
    total = gf_add_u64(total, gf_arena_share(bytes));
    if (carve) s->scores = gf_arena_take(&s->scratch, bytes);
    bytes = gf_matmul_scratch(rows, widest);
    total = gf_add_u64(total, gf_arena_share(bytes));
    if (carve) s->matmul_scratch = gf_arena_take(&s->scratch, bytes);
    /* all layers, and all sublayers, share one set: see gf_bufs */
    b->resid_mid = b->resid_cross = b->resid_post = b->resid_pre;
    b->sum1 = b->sum_cross = b->sum2 = b->resid_pre;
    b->norm_cross = b->norm2 = b->norm1;
    b->mean_cross = b->mean2 = b->mean1;
    b->rstd_cross = b->rstd2 = b->rstd1;
    b->cross_q = b->qkv;
    b->cross_z = b->z;
    b->cross_out = b->attn_added = b->attn_out;
    b->ffn_added = b->ffn_out;
    b->mean1_post = b->mean2_post = b->mean1;
    b->rstd1_post = b->rstd2_post = b->rstd1;
    s->embedded.sum = b->resid_pre;
    s->embedded.mean = b->mean1;
    s->embedded.rstd = b->rstd1;
    return total;
}

/* Grow the scratch to passes of `rows` rows over `keys` keys. 0, or -1 without memory: nothing has changed then. */
static int ensure_scratch(struct gf_session *s, int32_t rows, int32_t keys) {
    if (rows <= s->scratch_rows && keys <= s->scores_ld) return 0;
    /* a quarter in reserve, so that a cache that grows block by block does not move the scratch
     * each time */
    int64_t ld = keys;
    if (keys > s->scores_ld && s->scores_ld) ld = (int64_t)keys + keys / 4;
    ld = (ld + GF_KV_BLOCK - 1) / GF_KV_BLOCK * GF_KV_BLOCK;
    if (ld < s->scores_ld) ld = s->scores_ld;
    if (rows < s->scratch_rows) rows = s->scratch_rows;
    if (ld > INT32_MAX) return -1;
    const uint64_t size = plan_scratch(s, rows, (int32_t)ld, 0);
    struct gf_arena old = s->scratch;
    if (size == GF_TOO_MUCH || gf_arena_open(&s->scratch, size)) {
        s->scratch = old;
        return -1;
    }
    gf_arena_close(&old);
    plan_scratch(s, rows, (int32_t)ld, 1);
    s->scratch_rows = rows;
    s->scores_ld = (int32_t)ld;
    return 0;
}

/* Grow *rows, [*room, width], to `need` rows; the old ones are copied. 0, or -1 without memory. */
static int ensure_rows(float **rows, int32_t *room, int32_t need, int32_t width) {
    if (need <= *room) return 0;
    float *more = gf_take((uint64_t)need * (uint64_t)width * sizeof *more);
    if (!more) return -1;
    if (*room) memcpy(more, *rows, (size_t)*room * (size_t)width * sizeof *more);
    gf_give(*rows);
    *rows = more;
    *room = need;
    return 0;
}

static int ensure_ids(struct gf_session *s, int32_t n) {
    if (n <= s->ids_room) return 0;
    int32_t room = n > INT32_MAX - 256 ? n : n + 256;
    int32_t *ids = realloc(s->ids, (size_t)room * sizeof *ids);
    if (!ids) return -1;
    s->ids = ids;
    s->ids_room = room;
    return 0;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

static int32_t check_ids(const struct gf_model *m, const int32_t *ids, int32_t n, struct gf_error *err) {
    for (int32_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= m->cfg.vocab_size)
            return gf_fail(err, GF_ERR_TOKEN, "token %d is id %d, the vocabulary has %d", i, ids[i], m->cfg.vocab_size);
    return GF_OK;
}

/* hidden [n, d_model] = the whole stack, embedding to final norm, for the n rows of the segments, on s's scratch. */
static void run_stack(struct gf_session *s, int32_t stack, const struct gf_seg *segs, int32_t n_segs, int32_t n,
                      const int32_t *ids, float *hidden) {
    const struct gf_model *m = s->model;
    const struct gf_config *c = &m->cfg;
    const int own_encoder = stack == GF_STACK_ENCODER && c->kind == GF_ENCODER_DECODER;
    struct gf_pass p = {.cfg = c,
                        .stack = stack,
                        .causal = stack == GF_STACK_DECODER && c->causal,
                        .n = n,
                        .segs = segs,
                        .n_segs = n_segs,
                        .observe = s->observe,
                        .trace = s->trace,
                        .pool = m->pool,
                        .matmul_scratch = s->matmul_scratch,
                        .scores = s->scores,
                        .scores_ld = s->scores_ld,
                        .relative = c->use_position ? m->relative[stack] : NULL};
    struct gf_bufs *b = &s->bufs;
    gf_embed_forward(&p, &m->w, &s->embedded, b->resid_pre, ids);
    gf_mark(s->trace, stack, -1, GF_OP_EMBED);
    const struct gf_block *blocks = own_encoder ? m->w.encoder_blocks : m->w.blocks;
    const int32_t n_layers = own_encoder ? c->n_encoder_layers : c->n_layers;
    for (int32_t l = 0; l < n_layers; l++) gf_block_forward(&p, l, &blocks[l], b);
    const struct gf_norm *last = own_encoder ? &m->w.encoder_final_norm : &m->w.final_norm;
    if (c->final_norm)
        gf_norm_forward(&p, last, -1, GF_P_LN_FINAL_SCALE, GF_P_LN_FINAL, hidden, b->resid_pre, b->mean1, b->rstd1, n);
    else
        memcpy(hidden, b->resid_pre, (size_t)n * (size_t)c->d_model * sizeof *hidden);
    if (c->final_norm) gf_mark(s->trace, stack, -1, GF_OP_FINAL_NORM);
    if (c->kind == GF_ENCODER) gf_encoder_outputs(&p, &m->w, s->pooled, s->hidden, hidden, b->mean1, b->rstd1);
}

/* logits [n, vocab_size] of the hidden states [n, d_model], n up to GF_CHUNK, on s's scratch. */
static void head_forward(struct gf_session *s, float *logits, const float *hidden, int32_t n) {
    const struct gf_model *m = s->model;
    const struct gf_pass p = {
        .cfg = &m->cfg, .n = n, .pool = m->pool, .matmul_scratch = s->matmul_scratch, .trace = s->trace};
    gf_head_forward(&p, &m->w, logits, s->embedded.rows, hidden, n);
}

/* GF_OK if n more tokens can be evaluated, otherwise the error. */
static int32_t refuse_eval(const struct gf_session *s, const int32_t *ids, int32_t n, struct gf_error *err) {
    if (s->model->cfg.kind == GF_ENCODER) return gf_fail(err, GF_ERR_STATE, "an encoder has no next token: use encode");
    if (n < 1) return gf_fail(err, GF_ERR_ARGUMENT, "at least one token is needed");
    if (n > s->context - s->kv.length)
        return gf_fail(err, GF_ERR_CONTEXT, "%d tokens after %d do not fit the context of %d", n, s->kv.length,
                       s->context);
    if (s->model->cfg.kind == GF_ENCODER_DECODER && s->cross.length == 0)
        return gf_fail(err, GF_ERR_STATE, "an encoder_decoder needs a source before it decodes");
    return check_ids(s->model, ids, n, err);
}

/* Reserve the memory for n more positions of s, with scratch for passes of `rows` rows. 0, or -1 without memory. */
static int make_room(struct gf_session *s, int32_t n, int32_t rows) {
    int32_t keys = s->kv.length + n;
    if (gf_kv_reserve(&s->kv, keys) || ensure_ids(s, keys)) return -1;
    if (s->cross.length > keys) keys = s->cross.length;
    return ensure_scratch(s, rows, keys) || ensure_rows(&s->hidden, &s->hidden_room, n, s->model->cfg.d_model);
}

/* After a pass: add its n tokens to the sequence. */
static void advance(struct gf_session *s, const int32_t *ids, int32_t n) {
    memcpy(s->ids + s->kv.length, ids, (size_t)n * sizeof *ids);
    s->kv.length += n;
    if (s->kv.length >= s->planned) s->planned = 0;
    s->hidden_rows = n;
    s->logits_rows = 0;
}

/* The pass over n rows from position pos0 on, in chunks of `step`. hidden: [n, d_model], or with keep = 0 one chunk,
 * which each chunk overwrites. */
static void run_chunks(struct gf_session *s, const int32_t *ids, int32_t pos0, int32_t n, int32_t step, int keep) {
    const int32_t d = s->model->cfg.d_model;
    for (int32_t i = 0; i < n; i += step) {
        struct gf_seg seg = {.kv = &s->kv,
                             .pos0 = pos0 + i,
                             .n = n - i < step ? n - i : step,
                             .cross = &s->cross,
                             .cross_mask = s->cross_mask};
        if (s->observe) s->observe->row0 = i;
        run_stack(s, GF_STACK_DECODER, &seg, 1, seg.n, ids + i, s->hidden + (keep ? (int64_t)i * d : 0));
    }
}

/* Where the rotary frequencies depend on the length: prepare for a sequence that reaches n more positions. If that
 * needs other frequencies, all positions held are computed again with these. 0, or -1 without memory. */
static int settle(struct gf_session *s, int32_t n) {
    const struct gf_config *c = &s->model->cfg;
    const int32_t held = s->kv.length, step = c->causal && held > GF_CHUNK ? GF_CHUNK : held;
    const int32_t length = held + n > s->planned ? held + n : s->planned;
    const int32_t reach = gf_position_reach(c, length);
    if (reach == s->kv.reach) return 0;
    if (held && (ensure_scratch(s, step, held) || ensure_rows(&s->hidden, &s->hidden_room, step, c->d_model) ||
                 (s->observe && gf_observe_begin(s->observe, GF_STACK_DECODER, held, 0, held, s->cross.length))))
        return -1;
    gf_kv_set_reach(&s->kv, reach);
    if (held) run_chunks(s, s->ids, 0, held, step, 0);
    return 0;
}

int32_t gf_session_plan(struct gf_session *s, int32_t length, struct gf_error *err) {
    if (length < 0 || length > s->context)
        return gf_fail(err, GF_ERR_CONTEXT, "%d tokens do not fit the context of %d", length, s->context);
    s->planned = length;
    return GF_OK;
}

int32_t gf_session_eval(struct gf_session *s, const int32_t *ids, int32_t n, struct gf_error *err) {
    const struct gf_config *c = &s->model->cfg;
    const int32_t pos0 = s->kv.length;
    int32_t status = refuse_eval(s, ids, n, err);
    if (status != GF_OK) return status;
    /* without the causal mask every row sees every other, so the rows cannot be divided into chunks */
    const int32_t step = c->causal && n > GF_CHUNK ? GF_CHUNK : n;
    if (s->trace) gf_trace_open(s->trace);
    if (make_room(s, n, step) || settle(s, n) ||
        (s->observe && gf_observe_begin(s->observe, GF_STACK_DECODER, n, pos0, pos0 + n, s->cross.length)))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for %d more positions", n);
    gf_pool_begin_pass(s->model->pool, n == 1);
    run_chunks(s, ids, pos0, n, step, 1);
    gf_pool_end_pass(s->model->pool);
    advance(s, ids, n);
    return GF_OK;
}

uint64_t gf_session_block_bytes(const struct gf_session *s) { return s->kv.table_at; }

int32_t gf_session_save(const struct gf_session *s, int32_t block, uint8_t *out, uint64_t n_bytes,
                        struct gf_error *err) {
    if (block < 0 || (int64_t)block * GF_KV_BLOCK >= s->kv.length)
        return gf_fail(err, GF_ERR_ARGUMENT, "block %d does not exist, the session holds %d positions", block,
                       s->kv.length);
    if (n_bytes != s->kv.table_at)
        return gf_fail(err, GF_ERR_ARGUMENT, "a block of the cache has %llu bytes, not %llu",
                       (unsigned long long)s->kv.table_at, (unsigned long long)n_bytes);
    if (s->kv.reach != gf_position_reach(&s->model->cfg, s->kv.length))
        return gf_fail(err, GF_ERR_STATE,
                       "the keys are rotated for a sequence longer than the %d positions held: evaluate a token first",
                       s->kv.length);
    gf_kv_save(&s->kv, block, out);
    return GF_OK;
}

int32_t gf_session_restore(struct gf_session *s, const int32_t *ids, int32_t n, const uint8_t *saved, uint64_t n_bytes,
                           struct gf_error *err) {
    int32_t status = refuse_eval(s, ids, n, err);
    if (status != GF_OK) return status;
    if (n > GF_KV_BLOCK || s->kv.length % GF_KV_BLOCK)
        return gf_fail(err, GF_ERR_ARGUMENT,
                       "%d positions cannot be restored after %d, expected 1 to %d after whole blocks", n, s->kv.length,
                       GF_KV_BLOCK);
    if (n_bytes != s->kv.table_at)
        return gf_fail(err, GF_ERR_ARGUMENT, "a block of the cache has %llu bytes, not %llu",
                       (unsigned long long)s->kv.table_at, (unsigned long long)n_bytes);
    if (!gf_kv_is_sound(&s->kv, saved))
        return gf_fail(err, GF_ERR_NOT_FINITE, "the saved keys and values hold NaN, infinity or a number out of range");
    if (gf_kv_reserve(&s->kv, s->kv.length + n) || ensure_ids(s, s->kv.length + n))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for %d more positions", n);
    const int32_t length = s->kv.length + n > s->planned ? s->kv.length + n : s->planned;
    const int32_t reach = gf_position_reach(&s->model->cfg, length);
    if (reach != s->kv.reach) gf_kv_set_reach(&s->kv, reach);
    gf_kv_restore(&s->kv, s->kv.length / GF_KV_BLOCK, saved);
    advance(s, ids, n);
    s->hidden_rows = 0;
    return GF_OK;
}

int32_t gf_sessions_eval(struct gf_session *const *sessions, const int32_t *ids, int32_t n, struct gf_error *err) {
    if (n < 1 || n > GF_CHUNK)
        return gf_fail(err, GF_ERR_ARGUMENT, "1 to %d sessions can be evaluated together", GF_CHUNK);
    struct gf_session *first = sessions[0];
    const struct gf_model *m = first->model;
    const int32_t d = m->cfg.d_model, v = m->cfg.vocab_size;
    struct gf_seg segs[GF_CHUNK];
    int32_t keys = 1;
    for (int32_t i = 0; i < n; i++) {
        struct gf_session *s = sessions[i];
        if (s->model != m) return gf_fail(err, GF_ERR_ARGUMENT, "session %d belongs to another model", i);
        if (gf_observing(s->observe) || s->trace)
            return gf_fail(err, GF_ERR_STATE, "session %d captures, edits or is timed: evaluate it alone", i);
        for (int32_t k = 0; k < i; k++)
            if (sessions[k] == s) return gf_fail(err, GF_ERR_ARGUMENT, "session %d is given twice", i);
        int32_t status = refuse_eval(s, ids + i, 1, err);
        if (status != GF_OK) return status;
        if (s->kv.length + 1 > keys) keys = s->kv.length + 1;
        if (s->cross.length > keys) keys = s->cross.length;
        segs[i] = (struct gf_seg){
            .kv = &s->kv, .pos0 = s->kv.length, .n = 1, .cross = &s->cross, .cross_mask = s->cross_mask};
    }
    int short_of_memory = ensure_scratch(first, n, keys);
    for (int32_t i = 0; i < n && !short_of_memory; i++)
        short_of_memory = make_room(sessions[i], 1, 1) || settle(sessions[i], 1) ||
                          ensure_rows(&sessions[i]->logits, &sessions[i]->logits_room, 1, v);
    float *hidden = short_of_memory ? NULL : gf_take((uint64_t)n * (uint64_t)d * sizeof *hidden);
    float *logits = hidden ? gf_take((uint64_t)n * (uint64_t)v * sizeof *logits) : NULL;
    if (!logits) {
        gf_give(hidden);
        return gf_fail(err, GF_ERR_MEMORY, "no memory for a position in %d sessions", n);
    }
    gf_pool_begin_pass(m->pool, 0);
    run_stack(first, GF_STACK_DECODER, segs, n, n, ids, hidden);
    head_forward(first, logits, hidden, n);
    for (int32_t i = 0; i < n; i++) {
        struct gf_session *s = sessions[i];
        advance(s, ids + i, 1);
        memcpy(s->hidden, hidden + (int64_t)i * d, (size_t)d * sizeof *hidden);
        memcpy(s->logits, logits + (int64_t)i * v, (size_t)v * sizeof *logits);
        s->logits_row0 = 0;
        s->logits_rows = 1;
    }
    gf_give(hidden);
    gf_give(logits);
    return GF_OK;
}

const float *gf_session_logits(struct gf_session *s, int32_t row0, int32_t n, struct gf_error *err) {
    const struct gf_model *m = s->model;
    const int32_t v = m->cfg.vocab_size, d = m->cfg.d_model;
    if (row0 < 0 || n < 1 || row0 > s->hidden_rows - n) {
        gf_fail(err, GF_ERR_ARGUMENT, "rows %d..%lld: the last eval left %d", row0, (long long)row0 + n - 1,
                s->hidden_rows);
        return NULL;
    }
    if (row0 == s->logits_row0 && n == s->logits_rows) return s->logits;
    if (ensure_rows(&s->logits, &s->logits_room, n, v) || ensure_scratch(s, n < GF_CHUNK ? n : GF_CHUNK, GF_KV_BLOCK)) {
        gf_fail(err, GF_ERR_MEMORY, "no memory for %d rows of %d logits", n, v);
        return NULL;
    }
    if (s->trace) s->trace->last = gf_now_ms();
    for (int32_t i = 0; i < n; i += GF_CHUNK) {
        const int32_t rows = n - i < GF_CHUNK ? n - i : GF_CHUNK;
        head_forward(s, s->logits + (int64_t)i * v, s->hidden + (int64_t)(row0 + i) * d, rows);
    }
    gf_mark(s->trace, m->cfg.kind == GF_ENCODER ? GF_STACK_ENCODER : GF_STACK_DECODER, -1, GF_OP_HEAD);
    s->logits_row0 = row0;
    s->logits_rows = n;
    return s->logits;
}

const float *gf_session_hidden(const struct gf_session *s, int32_t stack, int32_t *n) {
    *n = stack == GF_STACK_ENCODER ? s->encoded_rows : s->hidden_rows;
    return *n ? (stack == GF_STACK_ENCODER ? s->encoded : s->hidden) : NULL;
}

const float *gf_session_pooled(const struct gf_session *s) {
    return s->encoded_rows && s->model->cfg.pooler ? s->pooled : NULL;
}

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
    float *kv = gf_take((uint64_t)n * 2 * (uint64_t)(c->n_kv_heads * c->d_head) * sizeof *kv);
    if (!kv || gf_kv_reserve(&s->cross, n) || (s->observe && gf_observe_begin_cross(s->observe, n))) {
        gf_give(kv);
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
    for (int32_t l = 0; l < c->n_layers; l++)
        gf_cross_keys_values(&p, &m->w.blocks[l].cross, l, &s->cross, s->encoded, kv, n);
    gf_give(kv);
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
    int32_t status = check_ids(s->model, ids, n, err);
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
    const int32_t status = refuse_encode(s, ids, types, mask, n, err);
    if (status != GF_OK) return status;
    struct gf_kv work; /* one layer's keys and values at a time, always exact: an encoder keeps no cache */
    gf_kv_open(&work, c, 1, GF_KV_F32);
    if (gf_kv_reserve(&work, n) || ensure_scratch(s, n, n) ||
        ensure_rows(&s->encoded, &s->encoded_room, n, c->d_model) ||
        (c->pooler && ensure_rows(&s->pooled, &s->pooled_room, 1, c->d_model)) ||
        (c->mlm_head && ensure_rows(&s->hidden, &s->hidden_room, n, c->d_model)) ||
        (s->observe && gf_observe_begin(s->observe, GF_STACK_ENCODER, n, 0, n, 0))) {
        gf_kv_close(&work);
        return gf_fail(err, GF_ERR_MEMORY, "no memory for %d source positions", n);
    }
    struct gf_seg seg = {.kv = &work, .n = n, .mask = mask, .types = types};
    if (s->trace) gf_trace_open(s->trace);
    gf_pool_begin_pass(s->model->pool, 0);
    run_stack(s, GF_STACK_ENCODER, &seg, 1, n, ids, s->encoded);
    gf_kv_close(&work);
    s->encoded_rows = n;
    s->hidden_rows = c->mlm_head ? n : 0;
    s->logits_rows = 0;
    if (c->kind == GF_ENCODER_DECODER && encode_cross(s, mask, n))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for the source's keys and values");
    return GF_OK;
}
