/* engine_targets.c - the public C interface, called in any order with any numbers: every decision
 * is read off the input, and when that ends the case does. */
#include "glassformer.h"
#include "golden.h" /* test_config */
#include "targets.h"
#include <math.h>
#include <string.h>

struct stream {
    const uint8_t *at, *end;
};

static uint32_t byte(struct stream *s) { return s->at < s->end ? *s->at++ : 0; }
static uint64_t word(struct stream *s) {
    uint64_t w = 0;
    for (int i = 0; i < 8; i++) w = w << 8 | byte(s);
    return w;
}
static int32_t below(struct stream *s, int32_t n) {
    return (int32_t)((byte(s) << 8 | byte(s)) % (uint32_t)n);
}
/* Mostly -1 .. n; now and then a number that nobody means. */
static int32_t about(struct stream *s, int32_t n) {
    static const int32_t far[] = {INT32_MIN, -2, 1 << 16, 1 << 30, INT32_MAX - 1, INT32_MAX};
    return byte(s) < 12 ? far[below(s, 6)] : below(s, n + 2) - 1;
}
static float number(struct stream *s) {
    static const float far[] = {0, -0.0f, 1e-38f, 3e38f, -3e38f, INFINITY, NAN, -1, 0.5f, 1};
    return byte(s) < 40 ? far[below(s, 10)] : (float)below(s, 2001) / 1000 - 1;
}
/* n values of their own stretch of memory, so that one read too many is seen. */
static void *values(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    PROMISE(p);
    return p;
}
static float *numbers(struct stream *s, int32_t n) {
    float *x = values((size_t)n, sizeof *x);
    for (int32_t i = 0; i < n; i++) x[i] = number(s);
    return x;
}
/* Every float of a result is read: a sum, whatever it is. */
static float touch(const float *x, int64_t n) {
    float sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}
static volatile float touched;

/* ---- a configuration ------------------------------------------------------------------------- */

/* Fields are int32_t, which comes back as set, or float, which comes back rounded. */
#define IS_FLOAT(type, ...) _Generic((type)0, int32_t : 0, float : 1),
static const int is_float[] = {GF_CONFIG_FIELDS(IS_FLOAT)};
#undef IS_FLOAT
enum { N_FIELDS = sizeof is_float / sizeof *is_float };

static int32_t any_config(struct stream *s, struct gf_config *cfg) {
    static const double far[] = {-1,        0,   1,   2,     3,       7,
                                 8,         64,  90,  4096,  1 << 16, 1 << 20,
                                 INT32_MAX, 0.5, NAN, 1e-30, 1e12,    INFINITY};
    uint64_t seed = word(s);
    struct gf_error err = {0};
    *cfg = test_config(&seed);
    for (int32_t n = below(s, 4); n > 0; n--) {
        struct gf_error none = {0};
        const int32_t field = about(s, N_FIELDS);
        const double x = below(s, 3) ? below(s, 4) : far[below(s, 18)];
        const int32_t status = gf_config_set(cfg, field, x, &none);
        STATUS(status, none);
        if (status == GF_OK)
            PROMISE(gf_config_get(cfg, field) == (is_float[field] ? (double)(float)x : x));
    }
    const int32_t status = gf_config_check(cfg, &err);
    STATUS(status, err);
    return status;
}

/* ---- weights --------------------------------------------------------------------------------- */

static int32_t block_bytes(int32_t dtype) {
    return dtype >= 0 && dtype < GF_N_DTYPES ? gf_dtype_block_bytes(dtype) : 4;
}

/* A float's bits as they may stand in a file, tiny and huge ones among them; finite. */
static float stored(struct stream *s) {
    static const float far[] = {0, 1e-45f, -1e-40f, 1e-30f, 65504, 65536, 1e30f, 3.4e38f, -3.4e38f};
    return byte(s) < 99 ? far[below(s, 9)] : (float)below(s, 2001) / 1000 - 1;
}

/* One write of n bytes. */
enum { ZEROS, JUNK, FLOATS };
static int32_t write_some(struct stream *s, struct gf_model *m, int64_t n, int what) {
    struct gf_error err = {0};
    uint8_t *bytes = values((size_t)n, 1);
    for (int64_t i = 0; what == JUNK && i < n; i++) bytes[i] = (uint8_t)byte(s);
    for (int64_t i = 0; what == FLOATS && i + 4 <= n; i += 4) {
        const float x = stored(s);
        memcpy(bytes + i, &x, 4);
    }
    const int32_t status = gf_tensor_write(m, bytes, (uint32_t)n, &err);
    STATUS(status, err);
    free(bytes);
    return status;
}

/* Calls in no order, of no size. */
static void feed_wildly(struct stream *s, struct gf_model *m, int32_t n_tensors) {
    for (int32_t calls = below(s, 30); calls > 0; calls--) {
        struct gf_error err = {0};
        const int32_t dtype = about(s, GF_N_DTYPES);
        switch (below(s, 4)) {
        case 0:
            STATUS(gf_tensor_begin(m, about(s, n_tensors), about(s, 4), dtype, below(s, 2), &err),
                   err);
            break;
        case 1: write_some(s, m, (int64_t)block_bytes(dtype) * below(s, 200), below(s, 2)); break;
        case 2: write_some(s, m, below(s, 99), 1); break;
        default: STATUS(gf_tensor_end(m, &err), err);
        }
    }
    struct gf_error err = {0};
    if (gf_tensor_end(m, &err) != GF_OK) PROMISE(err.text[0]);
}

/* Every tensor that has not arrived, in pieces, in any dtype that its rows divide into. */
static void feed(struct stream *s, struct gf_model *m, int32_t n_tensors) {
    for (int32_t i = 0; i < n_tensors; i++) {
        struct gf_error err = {0}, none = {0};
        struct gf_tensor t;
        PROMISE(gf_model_tensor(m, i, &t) == GF_OK);
        int32_t dtype = below(s, GF_N_DTYPES), turned = below(s, 2);
        if (gf_tensor_begin(m, i, 1, dtype, turned, &err) != GF_OK) {
            PROMISE(err.text[0]);
            dtype = GF_F32;
            if (gf_tensor_begin(m, i, 1, dtype, turned, &none) != GF_OK) continue; /* is there */
        }
        const int32_t per = gf_dtype_block_cols(dtype), block = gf_dtype_block_bytes(dtype);
        int64_t left = (int64_t)t.rows * t.cols / per;
        while (left > 0) {
            int64_t n = below(s, 3) ? left : 1 + below(s, 50);
            if (n > left) n = left;
            const int what = dtype == GF_F32 && below(s, 2) ? FLOATS : ZEROS;
            if (write_some(s, m, n * block, what) != GF_OK) break;
            left -= n;
        }
        PROMISE(left == 0 && gf_tensor_end(m, &none) == GF_OK);
    }
}

static struct gf_model *any_model(struct stream *s, const struct gf_config *cfg) {
    struct gf_error err = {0};
    const int32_t n = gf_roster_count(cfg);
    uint8_t *dtypes = values((size_t)n, 1);
    const int one = below(s, GF_N_DTYPES), odd = below(s, 16) == 0;
    for (int32_t i = 0; i < n; i++)
        dtypes[i] = (uint8_t)(odd ? (int32_t)byte(s) : below(s, 8) ? one : below(s, GF_N_DTYPES));
    struct gf_model *m = gf_model_open(cfg, below(s, 4) ? dtypes : NULL, &err);
    free(dtypes);
    PROMISE(!m == !!err.text[0]);
    if (!m) return NULL;
    if (gf_model_bytes(m) > 1 << 22) { /* opened is enough */
        gf_model_close(m);
        return NULL;
    }
    PROMISE(!gf_session_open(m, 0, 0, &err) && err.text[0]); /* not sealed */
    const int how = below(s, 3);
    if (how) feed_wildly(s, m, n);
    if (how == 1) feed(s, m, n);
    struct gf_error sealed = {0};
    int32_t status = gf_model_seal(m, &sealed);
    STATUS(status, sealed);
    if (how == 1) PROMISE(status == GF_OK);
    struct gf_error filled = {0};
    if (status != GF_OK) {
        status = gf_model_randomize(m, word(s), number(s), &filled);
        STATUS(status, filled);
    }
    if (status == GF_OK) return m;
    gf_model_close(m);
    return NULL;
}

static void read_weights(struct stream *s, const struct gf_model *m, int32_t n_tensors) {
    for (int32_t calls = below(s, 6); calls > 0; calls--) {
        struct gf_error err = {0};
        struct gf_tensor t;
        const int32_t i = about(s, n_tensors);
        if (gf_model_tensor(m, i, &t) != GF_OK) t.rows = t.cols = 1;
        float *row = values((size_t)t.cols, sizeof *row);
        STATUS(gf_tensor_read(m, i, about(s, t.rows < 60000 ? t.rows : 60000), row, &err), err);
        free(row);
    }
}

/* ---- sessions -------------------------------------------------------------------------------- */

enum { SESSIONS = 4 };

static int32_t *any_ids(struct stream *s, int32_t n, int32_t vocab) {
    int32_t *ids = values((size_t)n, sizeof *ids);
    const int sound = below(s, 8) != 0;
    for (int32_t i = 0; i < n; i++)
        ids[i] = sound ? below(s, vocab < 60000 ? vocab : 60000)
                       : about(s, vocab < 60000 ? vocab : 60000);
    return ids;
}

/* All or nothing: after a failure the session is as long as before. */
static void eval(struct stream *s, struct gf_session *e, const struct gf_config *c) {
    struct gf_error err = {0};
    const int32_t n = about(s, below(s, 3) ? 5 : 140), count = n > 0 && n < 200 ? n : 0,
                  before = gf_session_length(e);
    int32_t *ids = any_ids(s, count, c->vocab_size);
    const int32_t status = count || n < 1 ? gf_session_eval(e, ids, n, &err) : GF_OK;
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
    if (count || n < 1) STATUS(gf_session_encode(e, ids, below(s, 2) ? mask : NULL, n, &err), err);
    free(mask);
    free(ids);
}

static void look(struct stream *s, struct gf_session *e, const struct gf_config *c) {
    struct gf_error err = {0};
    int32_t n, dims[3];
    const int32_t row = about(s, 6), rows = about(s, 6);
    const float *x = gf_session_logits(e, row, rows, &err);
    PROMISE(!x == !!err.text[0]);
    if (x) touched = touch(x, (int64_t)rows * c->vocab_size);
    x = gf_session_hidden(e, below(s, 2), &n);
    if (x) touched = touch(x, (int64_t)n * c->d_model);
    const int32_t deep = below(s, 2) ? c->n_layers : c->n_encoder_layers;
    for (int32_t point = 0; point < GF_N_POINTS; point++) {
        x = gf_session_captured(e, below(s, 2), below(s, (deep < 9 ? deep : 9) + 1) - 1, point,
                                dims);
        if (x) touched = touch(x, (int64_t)dims[0] * dims[1] * dims[2]);
    }
    const struct gf_op_time *ops = gf_session_traced(e, &n);
    for (int32_t i = 0; ops && i < n; i++) PROMISE(ops[i].op >= 0 && ops[i].op < GF_N_OPS);
}

static void sample(struct stream *s, struct gf_session *e, const struct gf_config *c) {
    struct gf_error err = {0};
    struct gf_choice choice, top[8];
    const struct gf_sampling p = {.temperature = number(s),
                                  .top_p = below(s, 2) ? 1 : number(s),
                                  .min_p = below(s, 2) ? 0 : number(s),
                                  .repetition_penalty = below(s, 2) ? 1 : number(s),
                                  .top_k = below(s, 2) ? 0 : about(s, c->vocab_size % 60000)};
    gf_session_seed(e, word(s));
    int32_t status = gf_session_sample(e, &p, &choice, &err);
    STATUS(status, err);
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
    status = gf_distribution(probs, logits, n, &p, seen, 2, &no_probs);
    STATUS(status, no_probs);
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)probs[i];
    if (status == GF_OK) PROMISE(fabs(sum - 1) < 1e-3);
    free(probs);
    free(logits);
}

static void watch(struct stream *s, struct gf_session *e, const struct gf_config *c) {
    struct gf_error err = {0};
    const int32_t stack = about(s, 2), point = about(s, GF_N_POINTS),
                  layer = about(s, c->n_layers < 9 ? c->n_layers : 9);
    if (below(s, 2)) {
        STATUS(gf_session_capture(e, stack, layer, point, below(s, 4) != 0, &err), err);
        return;
    }
    static const int32_t sizes[] = {1, 0, 3, -1};
    const int32_t widths[] = {c->d_model, c->d_head, c->d_ff, 40}, width = widths[below(s, 4)];
    const int32_t n = below(s, 2) && width < 5000 ? width : sizes[below(s, 4)];
    float *x = numbers(s, n > 0 ? n : 0);
    STATUS(gf_session_edit(e, stack, layer, point, about(s, 4), about(s, 99), about(s, 40),
                           about(s, 3), number(s), x, n, &err),
           err);
    free(x);
}

static void together(struct stream *s, struct gf_session *const *all, int32_t n,
                     const struct gf_config *c) {
    struct gf_error err = {0};
    struct gf_session *some[SESSIONS];
    for (int32_t i = 0; i < n; i++) some[i] = all[below(s, 6) ? i : 0];
    int32_t *ids = any_ids(s, n, c->vocab_size);
    STATUS(gf_sessions_eval(some, ids, n, &err), err);
    free(ids);
}

static void sessions(struct stream *s, const struct gf_model *m) {
    const struct gf_config *c = gf_model_config(m);
    struct gf_session *all[SESSIONS];
    int32_t n = 0;
    while (s->at < s->end) {
        struct gf_error err = {0};
        struct gf_session *e = n ? all[below(s, n)] : NULL, *more = NULL;
        const int32_t what = n ? below(s, 16) : 0;
        switch (what) {
        case 0:
        case 1:
            if (n == SESSIONS) break;
            more = what
                       ? gf_session_fork(e, &err)
                       : gf_session_open(m, below(s, 2) ? 0 : about(s, 120),
                                         below(s, 9) ? below(s, GF_N_KV_TYPES) : about(s, 9), &err);
            PROMISE(!more == !!err.text[0]);
            if (more) all[n++] = more;
            break;
        case 2: STATUS(gf_session_rewind(e, about(s, gf_session_length(e) + 1), &err), err); break;
        case 3: gf_session_clear_edits(e); break;
        case 4: STATUS(gf_session_trace(e, below(s, 2), &err), err); break;
        case 5: together(s, all, n, c); break;
        case 6: encode(s, e, c); break;
        case 7:
        case 8:
        case 9: watch(s, e, c); break;
        case 10: sample(s, e, c); break;
        case 11: look(s, e, c); break;
        default: eval(s, e, c);
        }
    }
    for (int32_t i = 0; i < n; i++) {
        PROMISE(gf_session_kv_bytes(all[i]) < (uint64_t)1 << 40);
        gf_session_close(all[i]);
    }
}

/* ---- targets --------------------------------------------------------------------------------- */

static void model(const uint8_t *bytes, size_t n) {
    struct stream s = {bytes, bytes + n};
    struct gf_config cfg;
    if (any_config(&s, &cfg) != GF_OK) return;
    struct gf_model *m = any_model(&s, &cfg);
    if (!m) return;
    read_weights(&s, m, gf_roster_count(&cfg));
    sessions(&s, m);
    gf_model_close(m);
}

/* Small weights of one configuration of each kind: the whole input goes into its sessions. */
static void session(const uint8_t *bytes, size_t n) {
    struct stream s = {bytes, bytes + n};
    struct gf_error err = {0};
    uint64_t seed = byte(&s);
    const struct gf_config cfg = test_config(&seed);
    struct gf_model *m = gf_model_open(&cfg, NULL, &err);
    PROMISE(m && gf_model_randomize(m, 1, 0.1f, &err) == GF_OK);
    sessions(&s, m);
    gf_model_close(m);
}

const struct target engine_targets[] = {
    {"model", NULL, model}, {"session", NULL, session}, {NULL, NULL, NULL}};
