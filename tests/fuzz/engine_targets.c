/* engine_targets.c - calls the public C interface in random order with random arguments. The input decides; a case ends
 * with its input. */
#include "glassformer.h"
#include "golden.h" /* test_config */
#include "session_calls.h"
#include <string.h>

/* ---- a configuration --------------------------------------------------------------------------------------------- */

/* Whether a field is a float, which is returned rounded, or an int32_t, which is returned as it was set. */
#define IS_FLOAT(type, ...) _Generic((type)0, int32_t : 0, float : 1),
static const int is_float[] = {GF_CONFIG_FIELDS(IS_FLOAT)};
#undef IS_FLOAT
enum { N_SCALARS = sizeof is_float / sizeof *is_float }; /* the lists follow them */

static int32_t any_config(struct stream *s, struct gf_config *cfg) {
    uint64_t seed = word(s);
    struct gf_error err = {0};
    *cfg = test_config(&seed);
    for (int32_t n = below(s, 4); n > 0; n--) {
        struct gf_error none = {0};
        const int32_t field = about(s, GF_N_FIELDS);
        const double x = setting(s);
        const int32_t status = gf_config_set(cfg, field, x, &none);
        STATUS(status, none);
        if (status != GF_OK) continue;
        const double got = gf_config_get(cfg, field, gf_config_count(cfg, field) - 1);
        PROMISE(got == (field >= N_SCALARS || is_float[field] ? (double)(float)x : x));
    }
    const int32_t status = gf_config_check(cfg, &err);
    STATUS(status, err);
    return status;
}

/* The roster, whose entries sum up to the number of parameters. */
static void read_roster(struct stream *s, const struct gf_config *cfg) {
    const int32_t n = gf_roster_count(cfg), odd = about(s, n);
    uint64_t sum = 0;
    struct gf_tensor t;
    PROMISE(n > 0 && (gf_roster_tensor(cfg, odd, &t) == GF_OK) == (odd >= 0 && odd < n));
    for (int32_t i = 0; i < n && n < 200; i++) {
        PROMISE(gf_roster_tensor(cfg, i, &t) == GF_OK);
        PROMISE(t.name[0] && memchr(t.name, 0, sizeof t.name) && t.rows > 0 && t.cols > 0);
        sum += t.count;
    }
    if (n < 200) PROMISE(sum == gf_count_parameters(cfg));
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

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
        case 0: {
            const int32_t first = about(s, n_tensors), n = about(s, 4), turned = below(s, 2);
            maybe_fail_allocations(s);
            STATUS(gf_tensor_begin(m, first, n, dtype, turned, &err), err);
            allow_allocations();
            break;
        }
        case 1: write_some(s, m, (int64_t)block_bytes(dtype) * below(s, 200), below(s, 2)); break;
        case 2: write_some(s, m, below(s, 99), 1); break;
        default: STATUS(gf_tensor_end(m, &err), err);
        }
    }
    struct gf_error err = {0};
    if (gf_tensor_end(m, &err) != GF_OK) PROMISE(err.text[0]);
}

/* Every tensor that has not loaded, in pieces, in any dtype that its rows divide into. */
static void feed(struct stream *s, struct gf_model *m, int32_t n_tensors) {
    for (int32_t i = 0; i < n_tensors; i++) {
        struct gf_error err = {0}, none = {0};
        struct gf_tensor t;
        PROMISE(gf_model_tensor(m, i, &t) == GF_OK);
        /* often as it is kept: blocks that are taken over as they are */
        int32_t dtype = below(s, 2) ? t.dtype : below(s, GF_N_DTYPES), turned = below(s, 2);
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
            /* only f32 holds all of the floats */
            const int what = dtype == GF_F32 && t.dtype == GF_F32 && below(s, 2) ? FLOATS : ZEROS;
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
    const int typed = below(s, 4);
    maybe_fail_allocations(s);
    struct gf_model *m = gf_model_open(cfg, typed ? dtypes : NULL, &err);
    allow_allocations();
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
        const uint64_t seed = word(s);
        const float std = number(s);
        maybe_fail_allocations(s);
        status = gf_model_randomize(m, seed, std, &filled);
        STATUS(status, filled);
        allow_allocations();
    }
    if (status == GF_OK) return m;
    gf_model_close(m);
    return NULL;
}

static void read_weights(struct stream *s, const struct gf_model *m, int32_t n_tensors) {
    for (int32_t calls = below(s, 6); calls > 0; calls--) {
        struct gf_error err = {0}, refused = {0};
        struct gf_tensor t;
        const int32_t i = about(s, n_tensors);
        if (gf_model_tensor(m, i, &t) != GF_OK) t.rows = t.cols = 1;
        float *row = values((size_t)t.cols, sizeof *row);
        STATUS(gf_tensor_read(m, i, about(s, t.rows < 60000 ? t.rows : 60000), row, &err), err);
        float products[4];
        const int32_t first = about(s, t.rows < 60000 ? t.rows : 60000);
        STATUS(gf_tensor_products(m, i, first, below(s, 5), row, 1, products, &refused), refused);
        free(row);
    }
}

/* ---- targets ----------------------------------------------------------------------------------------------------- */

static void model(const uint8_t *bytes, size_t n) {
    struct stream s = {bytes, bytes + n};
    struct gf_config cfg;
    if (any_config(&s, &cfg) != GF_OK) return;
    read_roster(&s, &cfg);
    struct gf_model *m = any_model(&s, &cfg);
    if (!m) return;
    read_weights(&s, m, gf_roster_count(&cfg));
    sessions(&s, m);
    gf_model_close(m);
}

/* A model with small random weights; the whole input, except the first byte, goes into its sessions. */
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

const struct target engine_targets[] = {{"model", NULL, model}, {"session", NULL, session}, {NULL, NULL, NULL}};
