/* session_calls.c - see session_calls.h. */
#include "session_calls.h"
#include "base/pool.h"
#include "model/session/session.h" /* the ids that a session holds */
#include <string.h>

/* Read every float of a result, so that the sanitizers check it. The sum has no meaning. */
static float touch(const float *x, int64_t n) {
    float sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}
static volatile float touched;

enum { SESSIONS = 4 };
struct open_session {
    struct gf_session *s;
    int edits;   /* edits are set */
    int changed; /* its cache may have been computed with edits */
};

static int32_t *any_ids(struct stream *s, int32_t n, int32_t vocab) {
    int32_t *ids = values((size_t)n, sizeof *ids);
    const int valid = below(s, 8) != 0;
    for (int32_t i = 0; i < n; i++)
        ids[i] = valid ? below(s, vocab < 60000 ? vocab : 60000) : about(s, vocab < 60000 ? vocab : 60000);
    return ids;
}

/* Evaluate random ids. After a failure the session has the same length as before. */
static void eval(struct stream *s, struct gf_session *e, const struct gf_config *c) {
    struct gf_error err = {0};
    const int32_t n = about(s, below(s, 3) ? 5 : 140), count = n > 0 && n < 200 ? n : 0, before = gf_session_length(e);
    int32_t *ids = any_ids(s, count, c->vocab_size);
    maybe_fail_allocations(s);
    const int32_t status = count || n < 1 ? gf_session_eval(e, ids, n, &err) : GF_OK;
    allow_allocations();
    STATUS(status, err);
    PROMISE(gf_session_length(e) == before + (status == GF_OK ? count : 0));
    free(ids);
}

static void encode(struct stream *s, struct gf_session *e, const struct gf_config *c) {
    struct gf_error err = {0};
    const int32_t n = about(s, 40), count = n > 0 && n < 50 ? n : 0;
    int32_t *ids = any_ids(s, count, c->vocab_size);
    uint8_t *mask = values((size_t)count, 1);
    for (int32_t i = 0; i < count; i++) mask[i] = below(s, 4) != 0;
    int32_t *types = values((size_t)count, sizeof *types);
    for (int32_t i = 0; i < count; i++) types[i] = below(s, 16) ? below(s, c->n_token_types + 1) : about(s, 2);
    int32_t lengths[3] = {n, 0, 0}, sources = 1; /* of the n tokens, one or several times divided in two */
    for (; sources < 3 && lengths[0] > 1 && below(s, 2); sources++)
        lengths[sources] = lengths[0] / 2, lengths[0] -= lengths[sources];
    maybe_fail_allocations(s);
    if (count || n < 1)
        STATUS(gf_encode_batch(e, ids, below(s, 2) ? types : NULL, below(s, 2) ? mask : NULL, lengths, sources, &err),
               err);
    allow_allocations();
    free(types);
    free(mask);
    free(ids);
}

/* A number in 0 ... most, often one of the two. */
static float number_in(struct stream *s, float most) {
    const int32_t k = below(s, 1200);
    return k <= 1000 ? most * (float)k / 1000 : k <= 1100 ? 0 : most;
}

/* Read every result that the session has. */
static void read_results(struct stream *s, struct gf_session *e, const struct gf_config *c) {
    struct gf_error err = {0};
    int32_t n, dims[3];
    const int32_t row = about(s, 6), rows = about(s, 6);
    maybe_fail_allocations(s);
    const float *x = gf_session_logits(e, row, rows, &err);
    allow_allocations();
    PROMISE(!x == !!err.text[0]);
    if (x) touched = touch(x, (int64_t)rows * c->vocab_size);
    x = gf_session_hidden(e, below(s, 2), &n);
    if (x) touched = touch(x, (int64_t)n * c->d_model);
    x = gf_session_pooled(e);
    if (x) touched = touch(x, c->d_model);
    const int32_t deep = below(s, 2) ? c->n_layers : c->n_encoder_layers;
    for (int32_t point = 0; point < GF_N_POINTS; point++) {
        x = gf_session_captured(e, below(s, 2), below(s, (deep < 9 ? deep : 9) + 1) - 1, point, dims);
        if (x) touched = touch(x, (int64_t)dims[0] * dims[1] * dims[2]);
    }
    const struct gf_op_time *ops = gf_session_traced(e, &n);
    for (int32_t i = 0; ops && i < n; i++) PROMISE(ops[i].op >= 0 && ops[i].op < GF_N_OPS);
}

static void sample(struct stream *s, struct gf_session *e, const struct gf_config *c) {
    struct gf_error err = {0};
    struct gf_choice choice, top[8];
    /* Each option is off or in its range, near its least value as often as anywhere. */
#define OPTION(type, name, off, initial, least, most, meaning)                                                         \
    p.name = below(s, 2) ? off : (type)((least) + (double)number_in(s, 1) * (below(s, 2) ? 2 : (double)(most)));       \
    p.name = p.name > (type)(most) ? (type)(most) : p.name;
    struct gf_sampling p;
    GF_SAMPLING_FIELDS(OPTION)
    const int32_t ids[3] = {about(s, c->vocab_size % 60000), -1, 0};
    const float bias[3] = {number(s), -INFINITY, number(s)};
    const struct gf_adjustment a = {below(s, 4), ids, bias, NULL};
    gf_session_seed(e, word(s));
    maybe_fail_allocations(s);
    int32_t status = gf_session_sample(e, &p, below(s, 2) ? &a : NULL, &choice, &err);
    STATUS(status, err);
    allow_allocations();
    if (status == GF_OK) PROMISE(choice.id >= 0 && choice.id < c->vocab_size);
    const int32_t n = 1 + below(s, 9), k = about(s, 8);
    float *logits = numbers(s, n), *probs = values((size_t)n, sizeof *probs);
    struct gf_error no_top = {0}, no_probs = {0};
    if (k <= 8) {
        const int32_t found = gf_top(logits, n, k, top, &no_top);
        PROMISE(found < 0 ? no_top.text[0] : found == (k < n ? k : n));
        for (int32_t i = 0; i < found; i++) PROMISE(top[i].id >= 0 && top[i].id < n);
    }
    const int32_t seen[] = {about(s, n), about(s, n)};
    maybe_fail_allocations(s);
    status = gf_distribution(probs, logits, n, &p, NULL, seen, 2, &no_probs);
    STATUS(status, no_probs);
    allow_allocations();
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)probs[i];
    if (status == GF_OK) PROMISE(fabs(sum - 1) < 1e-3);
    free(probs);
    free(logits);
}

/* Set a random capture or edit. Returns whether an edit was set. */
static int capture_or_edit(struct stream *s, struct gf_session *e, const struct gf_config *c) {
    struct gf_error err = {0};
    const int32_t stack = about(s, 2), point = about(s, GF_N_POINTS),
                  layer = about(s, c->n_layers < 9 ? c->n_layers : 9);
    maybe_fail_allocations(s);
    if (below(s, 2)) {
        STATUS(gf_session_capture(e, stack, layer, point, below(s, 4) != 0, &err), err);
        allow_allocations();
        return 0;
    }
    static const int32_t sizes[] = {1, 0, 3, -1};
    const int32_t widths[] = {c->d_model, c->d_head, c->d_ff, 40}, width = widths[below(s, 4)];
    const int valid = below(s, 4) != 0; /* mostly valid arguments */
    const int32_t n = below(s, 2) && width < 5000 ? width : valid ? 1 : sizes[below(s, 4)];
    const int32_t head = valid ? below(s, 3) - 1 : about(s, 4), position = valid ? below(s, 20) - 1 : about(s, 99),
                  index = !valid   ? about(s, 40)
                          : n == 1 ? below(s, 3) - 1
                                   : -1,
                  op = valid ? below(s, 3) : about(s, 3);
    float *x = numbers(s, n > 0 ? n : 0);
    for (int32_t i = 0; valid && i < n; i++)
        if (!isfinite(x[i])) x[i] = 0;
    const float scale = valid ? (float)below(s, 5) / 2 - 1 : number(s);
    const int32_t status = gf_session_edit(e, stack, layer, point, head, position, index, op, scale, x, n, &err);
    STATUS(status, err);
    allow_allocations();
    free(x);
    return status == GF_OK;
}

/* Evaluate a token in all sessions with one call; sometimes one session twice, which is refused. */
static void eval_together(struct stream *s, struct open_session *all, int32_t n, const struct gf_config *c) {
    struct gf_error err = {0};
    struct gf_session *some[SESSIONS];
    for (int32_t i = 0; i < n; i++) some[i] = all[below(s, 6) ? i : 0].s;
    int32_t *ids = any_ids(s, n, c->vocab_size);
    maybe_fail_allocations(s);
    STATUS(gf_eval_batch(some, ids, n, &err), err);
    allow_allocations();
    free(ids);
}

/* A copy of the last row's logits; NULL if there is none or they are not finite. */
static float *last_logits(struct gf_session *e, int32_t vocab) {
    struct gf_error err = {0};
    int32_t rows;
    gf_session_hidden(e, GF_STACK_DECODER, &rows);
    const float *x = rows ? gf_session_logits(e, rows - 1, 1, &err) : NULL;
    if (!x) return NULL;
    float *copy = values((size_t)vocab, sizeof *copy);
    memcpy(copy, x, (size_t)vocab * sizeof *copy);
    for (int32_t i = 0; i < vocab; i++)
        if (!isfinite(x[i])) return free(copy), NULL;
    return copy;
}

/* Rewinding and evaluating the same ids again, in any pieces, gives the same bits. */
static void replay(struct stream *s, struct open_session *t, const struct gf_config *c) {
    const int32_t length = gf_session_length(t->s);
    if (!c->causal || t->edits || t->changed || length < 2) return;
    const int32_t n = 1 + below(s, length < 70 ? length : 70);
    float *before = last_logits(t->s, c->vocab_size);
    int32_t *ids = values((size_t)n, sizeof *ids), status = GF_OK;
    memcpy(ids, t->s->ids + length - n, (size_t)n * sizeof *ids);
    PROMISE(gf_session_rewind(t->s, length - n, NULL) == GF_OK);
    for (int32_t i = 0, m; i < n && status == GF_OK; i += m) {
        m = below(s, 2) ? n - i : 1 + below(s, n - i);
        status = gf_session_eval(t->s, ids + i, m, NULL);
    }
    float *after = before && status == GF_OK ? last_logits(t->s, c->vocab_size) : NULL;
    if (after) PROMISE(!memcmp(before, after, (size_t)c->vocab_size * sizeof *after));
    free(ids);
    free(after);
    free(before);
}

/* Evaluate the last token again. Returns a copy of what it captured at a point; NULL if nothing. */
static float *capture_last(struct open_session *t, int32_t layer, int32_t point, int64_t *n) {
    const int32_t length = gf_session_length(t->s), last = length ? t->s->ids[length - 1] : 0;
    int32_t dims[3];
    *n = 0;
    if (!length) return NULL;
    PROMISE(gf_session_rewind(t->s, length - 1, NULL) == GF_OK);
    const int32_t status = gf_session_eval(t->s, &last, 1, NULL);
    allow_allocations();
    if (status != GF_OK) gf_session_eval(t->s, &last, 1, NULL); /* fails if the capture is too large */
    const float *x = status == GF_OK ? gf_session_captured(t->s, GF_STACK_DECODER, layer, point, dims) : NULL;
    *n = x ? (int64_t)dims[0] * dims[1] * dims[2] : 0;
    float *copy = x ? values((size_t)*n, sizeof *copy) : NULL;
    for (int64_t i = 0; i < *n; i++) copy[i] = x[i];
    return copy;
}

/* A pass that succeeds although allocations fail captures the same values as with memory. */
static void capture_without_memory(struct stream *s, struct open_session *t, const struct gf_config *c) {
    const int32_t layers = c->n_layers < 9 ? c->n_layers : 9, layer = layers ? below(s, layers) : 0,
                  point = below(s, GF_N_POINTS);
    if (gf_session_length(t->s) < 1 || t->s->trace || layers == 0) return;
    if (c->kind == GF_ENCODER_DECODER && t->s->cross.length == 0) return;
    if (gf_session_capture(t->s, GF_STACK_DECODER, layer, point, 1, NULL) != GF_OK) return;
    int64_t n, m;
    float *full = capture_last(t, layer, point, &n);
    gf_session_capture(t->s, GF_STACK_DECODER, layer, point, 0, NULL);
    gf_free(t->s->observe->scratch); /* the next pass must allocate it again */
    t->s->observe->scratch = NULL;
    t->s->observe->scratch_floats = 0;
    PROMISE(gf_session_capture(t->s, GF_STACK_DECODER, layer, point, 1, NULL) == GF_OK);
    fail_allocations(1 + below(s, 4));
    float *limited = capture_last(t, layer, point, &m);
    if (limited && full) PROMISE(n == m && !memcmp(full, limited, (size_t)n * sizeof *full));
    gf_session_capture(t->s, GF_STACK_DECODER, layer, point, 0, NULL);
    free(limited);
    free(full);
}

static void open_one(struct stream *s, const struct gf_model *m, struct open_session *to) {
    struct gf_error err = {0};
    const int32_t context = below(s, 2) ? 0 : about(s, 120);
    const int32_t type = below(s, 9) ? below(s, GF_N_KV_TYPES) : about(s, 9);
    maybe_fail_allocations(s);
    to->s = gf_session_open(m, context, type, &err);
    allow_allocations();
    PROMISE(!to->s == !!err.text[0]);
    if (to->s) PROMISE(gf_session_context(to->s) == (context ? context : gf_model_config(m)->context_length));
}

/* Fork a session. The fork has the same last logits. */
static void fork_one(struct stream *s, const struct open_session *from, struct open_session *to,
                     const struct gf_config *c) {
    struct gf_error err = {0};
    maybe_fail_allocations(s);
    to->s = gf_session_fork(from->s, &err);
    allow_allocations();
    PROMISE(!to->s == !!err.text[0]);
    if (!to->s) return;
    to->changed = from->edits || from->changed;
    PROMISE(gf_session_length(to->s) == gf_session_length(from->s));
    float *a = last_logits(from->s, c->vocab_size), *b = last_logits(to->s, c->vocab_size);
    if (a && b) PROMISE(!memcmp(a, b, (size_t)c->vocab_size * sizeof *a));
    free(a);
    free(b);
}

void sessions(struct stream *s, struct gf_model *m) {
    static struct gf_pool *pool; /* shared by all cases; its threads end with the process */
    const struct gf_config *c = gf_model_config(m);
    struct open_session all[SESSIONS] = {{0}};
    int32_t n = 0;
    while (s->at < s->end) {
        struct gf_error err = {0};
        struct open_session *t = &all[n ? below(s, n) : 0];
        struct gf_session *e = t->s;
        const int32_t what = n ? below(s, 20) : 0;
        switch (what) {
        case 0:
        case 1:
            if (n == SESSIONS) break;
            all[n] = (struct open_session){0};
            if (what)
                fork_one(s, t, &all[n], c);
            else
                open_one(s, m, &all[n]);
            n += all[n].s != NULL;
            break;
        case 2:
        case 3: STATUS(gf_session_rewind(e, about(s, gf_session_length(e) + 1), &err), err); break;
        case 4:
            maybe_fail_allocations(s);
            STATUS(gf_session_trace(e, below(s, 2), &err), err);
            allow_allocations();
            break;
        case 5: eval_together(s, all, n, c); break;
        case 6:
            encode(s, e, c);
            t->changed |= t->edits;
            break;
        case 7:
        case 8:
        case 9: t->edits |= capture_or_edit(s, e, c); break;
        case 10: sample(s, e, c); break;
        case 11: read_results(s, e, c); break;
        case 12:
        case 13: replay(s, t, c); break;
        case 14:
            if (!pool) pool = gf_pool_open(2);
            gf_model_set_pool(m, below(s, 2) ? pool : NULL);
            break;
        case 15: capture_without_memory(s, t, c); break;
        default: eval(s, e, c);
        }
        if (n && gf_session_length(t->s) == 0 && c->kind == GF_DECODER && !t->edits) t->changed = 0;
    }
    for (int32_t i = 0; i < n; i++) {
        PROMISE(gf_session_kv_bytes(all[i].s) < (uint64_t)1 << 40);
        PROMISE(gf_session_scratch_bytes(all[i].s) < (uint64_t)1 << 40);
        gf_session_close(all[i].s);
    }
    gf_model_set_pool(m, NULL);
}
