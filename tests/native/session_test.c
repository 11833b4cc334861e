/* session_test.c - a session gives the same bits token by token, in chunks, after rewinding or forking, with captures,
 * with tracing, with threads and together with other sessions. Also the effects of edits. */
#include "base/pool.h"
#include "check.h"
#include "golden.h"
#include <stdlib.h>

static struct golden all[N_GOLDEN];
static struct gf_model *models[N_GOLDEN];
static struct gf_error err;

#define CHECK_OK(call)                                                                                                 \
    do {                                                                                                               \
        int32_t status_ = (call);                                                                                      \
        if (check_note(status_ == GF_OK, __FILE__, __LINE__)) printf("%s: status %d: %s\n", #call, status_, err.text); \
    } while (0)
/* The same bits; a failure prints the model's name. */
#define CHECK_SAME(got, want, n, name, ...)                                                                            \
    do {                                                                                                               \
        const float *got_ = (got), *want_ = (want);                                                                    \
        const int64_t n_ = (n);                                                                                        \
        if (check_note(!memcmp(got_, want_, (size_t)n_ * sizeof *got_), __FILE__, __LINE__)) {                         \
            printf("%s, ", name);                                                                                      \
            printf(__VA_ARGS__);                                                                                       \
            printf(": other bits, up to %.3g away\n", max_diff(got_, want_, n_));                                      \
        }                                                                                                              \
    } while (0)

static int is_decoder(const struct golden *g) { return g->cfg.kind != GF_ENCODER; }
static int is_double(const struct golden *g) { return g->cfg.kind == GF_ENCODER_DECODER; }
static int has_blocks(const struct golden *g) { return g->name[0] == 'q' && g->name[2] == '_'; }

#define EACH_MODEL(g, m)                                                                                               \
    for (struct golden *g = all; g < all + N_GOLDEN; g++)                                                              \
        for (struct gf_model *m = models[g - all]; m; m = NULL)
#define EACH_DECODER(g, m)                                                                                             \
    EACH_MODEL(g, m)                                                                                                   \
    if (is_decoder(g))

enum { MOST = 128 };
static int32_t ids[MOST], source[11];
static const uint8_t source_mask[11] = {1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0};
static const int32_t lengths[] = {1, 7, 64, 65, 0}; /* 0: the whole context */
enum { N_LENGTHS = sizeof lengths / sizeof *lengths };

static int32_t length_of(const struct golden *g, int32_t i) { return lengths[i] ? lengths[i] : g->cfg.context_length; }

/* Open a session, with a source if the model is an encoder_decoder. */
static struct gf_session *open_session(const struct golden *g, const struct gf_model *m, int32_t kv_type) {
    struct gf_session *s = gf_session_open(m, 0, kv_type, &err);
    CHECK(s != NULL);
    if (!s) exit(1);
    if (is_double(g)) CHECK_OK(gf_session_encode(s, source, NULL, source_mask, 11, &err));
    return s;
}

/* Sizes of the chunks: all at once, one by one, odd ones. */
enum { AT_ONCE, ONE_BY_ONE, ODD, N_PLANS };
static int32_t piece(int32_t plan, int32_t k, int32_t left) {
    static const int32_t odd[] = {3, 1, 5, 63, 2, 7, 13};
    int32_t n = plan == AT_ONCE ? left : plan == ONE_BY_ONE ? 1 : odd[k % 7];
    return n < left ? n : left;
}

/* Evaluate tokens [from, to) and copy their logits to out. */
static void eval(struct gf_session *s, int32_t vocab, const int32_t *tokens, int32_t from, int32_t to, int32_t plan,
                 float *out) {
    for (int32_t at = from, k = 0, n; at < to; at += n, k++) {
        n = piece(plan, k, to - at);
        CHECK_OK(gf_session_eval(s, tokens + at, n, &err));
        const float *y = gf_session_logits(s, 0, n, &err);
        CHECK(y != NULL);
        if (y) memcpy(out + (int64_t)(at - from) * vocab, y, (size_t)n * (size_t)vocab * sizeof *out);
    }
}

static float *floats(int64_t n) {
    float *p = calloc((size_t)n + 1, sizeof *p);
    if (!p) exit(1);
    return p;
}

/* ---- chunks, rewinds, forks, threads ----------------------------------------------------------------------------- */

static void one_pass_single_tokens_and_odd_chunks_give_the_same_bits(void) {
    EACH_DECODER(g, m)
    for (int32_t kv = 0; kv < GF_N_KV_TYPES; kv++)
        for (int32_t i = 0; i < N_LENGTHS; i++) {
            const int32_t n = length_of(g, i), v = g->cfg.vocab_size;
            float *want = floats((int64_t)n * v), *got = floats((int64_t)n * v);
            for (int32_t plan = 0; plan < N_PLANS; plan++) {
                struct gf_session *s = open_session(g, m, kv);
                eval(s, v, ids, 0, n, plan, plan ? got : want);
                CHECK_INT(gf_session_length(s), n);
                if (plan) CHECK_SAME(got, want, (int64_t)n * v, g->name, "%d tokens, plan %d, cache %d", n, plan, kv);
                gf_session_close(s);
            }
            free(want), free(got);
        }
}

/* The same for random configurations. */
static void random_causal_configurations_give_the_same_bits_in_any_chunks(void) {
    uint64_t seed = 4711;
    int walked = 0;
    for (int i = 0; i < 90; i++) {
        struct golden g = {.name = "random configuration", .cfg = test_config(&seed)};
        if (!is_decoder(&g)) continue;
        const int32_t n = 70, v = g.cfg.vocab_size;
        int32_t tokens[70];
        for (int k = 0; k < n; k++) tokens[k] = ids[k] % v;
        struct gf_model *m = gf_model_open(&g.cfg, NULL, &err);
        CHECK(m != NULL);
        if (!m) continue;
        CHECK_OK(gf_model_randomize(m, (uint64_t)i, 0.4f, &err));
        float *want = floats((int64_t)n * v), *got = floats((int64_t)n * v);
        for (int32_t plan = 0; plan < N_PLANS; plan++) {
            struct gf_session *s = gf_session_open(m, 0, i % GF_N_KV_TYPES, &err);
            CHECK(s != NULL);
            if (is_double(&g)) CHECK_OK(gf_session_encode(s, tokens + 3, NULL, source_mask, 11, &err));
            eval(s, v, tokens, 0, n, plan, plan ? got : want);
            if (plan) CHECK_SAME(got, want, (int64_t)n * v, g.name, "%d, plan %d", i, plan);
            gf_session_close(s);
        }
        walked++;
        free(want), free(got);
        gf_model_close(m);
    }
    CHECK(walked > 40);
}

/* The logits of a row do not depend on which rows are requested together. */
static void logits_of_any_rows_are_the_same_bits(void) {
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, n = 67 < g->cfg.context_length ? 67 : 64;
        struct gf_session *s = open_session(g, m, GF_KV_F32);
        CHECK_OK(gf_session_eval(s, ids, n, &err));
        float *want = floats((int64_t)n * v);
        const float *y = gf_session_logits(s, 0, n, &err);
        CHECK(y != NULL);
        if (y) memcpy(want, y, (size_t)n * (size_t)v * sizeof *want);
        for (int32_t row = n - 1; row >= 0; row -= 3) {
            const int32_t k = row % 2 ? 1 : n - row;
            y = gf_session_logits(s, row, k, &err);
            CHECK(y != NULL);
            if (y) CHECK_SAME(y, want + (int64_t)row * v, (int64_t)k * v, g->name, "rows %d..%d", row, row + k - 1);
        }
        free(want);
        gf_session_close(s);
    }
}

static void f16_and_q8_caches_stay_close_to_f32(void) {
    EACH_DECODER(g, m) {
        if (has_blocks(g)) continue; /* int8 activations may round differently */
        const int32_t v = g->cfg.vocab_size, n = 40;
        float *y[GF_N_KV_TYPES];
        uint64_t bytes[GF_N_KV_TYPES];
        for (int32_t kv = 0; kv < GF_N_KV_TYPES; kv++) {
            struct gf_session *s = open_session(g, m, kv);
            y[kv] = floats((int64_t)n * v);
            eval(s, v, ids, 0, n, AT_ONCE, y[kv]);
            bytes[kv] = gf_session_kv_bytes(s);
            gf_session_close(s);
        }
        double all_of_it = 0, f16 = 0, q8 = 0;
        for (int64_t i = 0; i < (int64_t)n * v; i++) {
            all_of_it += pow((double)y[0][i], 2);
            f16 += pow((double)y[GF_KV_F16][i] - (double)y[0][i], 2);
            q8 += pow((double)y[GF_KV_Q8][i] - (double)y[0][i], 2);
        }
        /* A step of f16 is 2^-11, one of q8 is 1/254 of the largest value. Large scores make the error several times as
         * large. */
        CHECK_NEAR(sqrt(f16 / all_of_it), 0, 4 * 0x1p-11);
        CHECK_NEAR(sqrt(q8 / all_of_it), 0, 8.0 / 254);
        CHECK(max_diff(y[GF_KV_F16], y[0], (int64_t)n * v) > 0);
        CHECK(bytes[GF_KV_F16] < bytes[GF_KV_F32] && bytes[GF_KV_Q8] < bytes[GF_KV_F32]);
        for (int32_t kv = 0; kv < GF_N_KV_TYPES; kv++) free(y[kv]);
    }
}

static void the_cache_grows_block_by_block(void) {
    struct golden *g = &all[0];
    struct gf_session *s = open_session(g, models[0], GF_KV_F32);
    float *y = floats((int64_t)MOST * g->cfg.vocab_size);
    CHECK_INT(gf_session_kv_bytes(s), 0);
    eval(s, g->cfg.vocab_size, ids, 0, 1, AT_ONCE, y);
    const uint64_t one = gf_session_kv_bytes(s);
    /* keys and values of 64 positions in 2 layers of 2 heads of 6 */
    CHECK_INT(one, 64 * 2 * 2 * 2 * 6 * sizeof(float));
    eval(s, g->cfg.vocab_size, ids, 1, 64, ODD, y);
    CHECK_INT(gf_session_kv_bytes(s), one);
    eval(s, g->cfg.vocab_size, ids, 64, 65, AT_ONCE, y);
    CHECK_INT(gf_session_kv_bytes(s), 2 * one);
    CHECK_OK(gf_session_rewind(s, 3, &err));
    CHECK_INT(gf_session_length(s), 3);
    free(y);
    gf_session_close(s);
}

static void a_rewound_session_equals_a_fresh_one(void) {
    static const int32_t kept[] = {0, 1, 17, 63, 64, 69};
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, full = g->cfg.context_length, before = 70,
                      after = full - 70 < 6 ? 6 : full - 70;
        float *want = floats((int64_t)MOST * v), *got = floats((int64_t)MOST * v);
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
            int32_t other[MOST];
            const int32_t k = kept[i], n = k + after <= full ? k + after : full;
            memcpy(other, ids, sizeof other);
            for (int32_t j = k; j < n; j++) other[j] = (ids[j] + 5) % v;
            struct gf_session *s = open_session(g, m, GF_KV_F16), *fresh = open_session(g, m, GF_KV_F16);
            eval(s, v, ids, 0, before, AT_ONCE, got);
            CHECK_OK(gf_session_rewind(s, k, &err));
            CHECK(gf_session_logits(s, 0, 1, &err) == NULL); /* nothing has been evaluated */
            eval(s, v, other, k, n, ODD, got);
            eval(fresh, v, other, 0, n, AT_ONCE, want);
            CHECK_SAME(got, want + (int64_t)k * v, (int64_t)(n - k) * v, g->name, "rewound to %d", k);
            gf_session_close(s);
            gf_session_close(fresh);
        }
        free(want), free(got);
    }
}

static void a_fork_and_its_original_continue_independently(void) {
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, at = 66 < g->cfg.context_length ? 66 : 33;
        float *want = floats((int64_t)MOST * v), *got = floats((int64_t)MOST * v);
        int32_t other[MOST];
        for (int32_t j = 0; j < MOST; j++) other[j] = j < at ? ids[j] : (ids[j] + 3) % v;
        struct gf_session *s = open_session(g, m, GF_KV_F32), *fresh = open_session(g, m, 0);
        gf_session_seed(s, 99);
        eval(s, v, ids, 0, at, AT_ONCE, got);
        struct gf_session *f = gf_session_fork(s, &err);
        CHECK(f != NULL);
        if (!f) return;
        CHECK_INT(gf_session_length(f), at);
        CHECK_INT(gf_session_context(f), gf_session_context(s));
        const float *last = gf_session_logits(f, 0, 1, &err);
        CHECK(last != NULL);
        if (last) CHECK_SAME(last, got + (int64_t)(at - 1) * v, v, g->name, "the fork's last row");
        struct gf_sampling hot = {2, 1, 0, 1.5f, 0};
        for (int i = 0; i < 5; i++) { /* the same generator state and the same tokens for the penalty */
            struct gf_choice a, b;
            CHECK_OK(gf_session_sample(s, &hot, NULL, &a, &err));
            CHECK_OK(gf_session_sample(f, &hot, NULL, &b, &err));
            CHECK_INT(a.id, b.id);
        }
        eval(s, v, ids, at, at + 3, ONE_BY_ONE, got); /* both continue, alternately */
        eval(f, v, other, at, at + 4, ONE_BY_ONE, got);
        eval(fresh, v, other, 0, at + 4, AT_ONCE, want);
        CHECK_SAME(got, want + (int64_t)at * v, 4 * (int64_t)v, g->name, "the fork");
        eval(s, v, ids, at + 3, at + 5, AT_ONCE, got);
        CHECK_OK(gf_session_rewind(fresh, 0, &err));
        eval(fresh, v, ids, 0, at + 5, AT_ONCE, want);
        CHECK_SAME(got, want + (int64_t)(at + 3) * v, 2 * (int64_t)v, g->name, "the original");
        gf_session_close(s); /* the fork remains usable */
        eval(f, v, other, at + 4, at + 5, AT_ONCE, got);
        CHECK_OK(gf_session_rewind(fresh, 0, &err));
        eval(fresh, v, other, 0, at + 5, AT_ONCE, want);
        CHECK_SAME(got, want + (int64_t)(at + 4) * v, v, g->name, "the fork, alone");
        gf_session_close(f);
        gf_session_close(fresh);
        free(want), free(got);
    }
}

static void results_do_not_depend_on_the_number_of_threads(void) {
    struct gf_pool *pool = gf_pool_open(4);
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, n = 70;
        float *y[2] = {floats((int64_t)n * v), floats((int64_t)n * v)}, *pattern[2];
        int32_t dims[3];
        for (int threads = 0; threads < 2; threads++) {
            gf_model_set_pool(m, threads ? pool : NULL);
            struct gf_session *s = open_session(g, m, GF_KV_F32);
            eval(s, v, ids, 0, 66, AT_ONCE, y[threads]);
            CHECK_OK(gf_session_capture(s, 0, 0, GF_P_PATTERN, 1, &err));
            eval(s, v, ids, 66, n, AT_ONCE, y[threads] + (int64_t)66 * v);
            const float *p = gf_session_captured(s, 0, 0, GF_P_PATTERN, dims);
            CHECK(p != NULL);
            const int64_t size = (int64_t)dims[0] * dims[1] * dims[2];
            pattern[threads] = floats(size);
            if (p) memcpy(pattern[threads], p, (size_t)size * sizeof *p);
            gf_session_close(s);
        }
        gf_model_set_pool(m, NULL);
        CHECK_SAME(y[1], y[0], (int64_t)n * v, g->name, "%d threads", gf_pool_threads(pool));
        CHECK_SAME(pattern[1], pattern[0], (int64_t)dims[0] * dims[1] * dims[2], g->name, "patterns by %d threads",
                   gf_pool_threads(pool));
        for (int i = 0; i < 2; i++) free(y[i]), free(pattern[i]);
    }
    gf_pool_close(pool);
}

static void sessions_evaluated_together_give_the_same_bits_as_alone(void) {
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size;
        static const int32_t held[] = {1, 5, 63, 64, 31};
        struct gf_session *s[5], *alone[5];
        float *y = floats((int64_t)64 * v);
        int32_t next[5];
        for (int i = 0; i < 5; i++) {
            s[i] = open_session(g, m, GF_KV_F32);
            alone[i] = open_session(g, m, GF_KV_F32);
            eval(s[i], v, ids + i, 0, held[i], AT_ONCE, y);
            eval(alone[i], v, ids + i, 0, held[i], AT_ONCE, y);
        }
        for (int step = 0; step < 3; step++) {
            for (int i = 0; i < 5; i++) next[i] = (ids[step] + 7 * i) % v;
            CHECK_OK(gf_eval_batch(s, next, 5, &err));
            for (int i = 0; i < 5; i++) {
                CHECK_OK(gf_session_eval(alone[i], next + i, 1, &err));
                const float *a = gf_session_logits(s[i], 0, 1, &err), *b = gf_session_logits(alone[i], 0, 1, &err);
                CHECK(a && b);
                if (a && b) CHECK_SAME(a, b, v, g->name, "session %d, step %d", i, step);
                CHECK_INT(gf_session_length(s[i]), held[i] + step + 1);
            }
        }
        /* a session that no longer captures may join */
        CHECK_OK(gf_session_capture(s[0], 0, 0, GF_P_Z, 1, &err));
        CHECK_INT(gf_eval_batch(s, next, 2, &err), GF_ERR_STATE);
        CHECK_OK(gf_session_capture(s[0], 0, 0, GF_P_Z, 0, &err));
        CHECK_OK(gf_eval_batch(s, next, 2, &err));
        for (int i = 0; i < 2; i++) CHECK_OK(gf_session_rewind(s[i], held[i] + 3, &err));
        struct gf_session *twice[2] = {s[0], s[0]};
        CHECK_INT(gf_eval_batch(twice, next, 2, &err), GF_ERR_ARGUMENT);
        CHECK_INT(gf_eval_batch(s, next, 0, &err), GF_ERR_ARGUMENT);
        next[1] = v; /* one bad token: no session is evaluated */
        CHECK_INT(gf_eval_batch(s, next, 2, &err), GF_ERR_TOKEN);
        CHECK_INT(gf_session_length(s[0]), held[0] + 3);
        for (int i = 0; i < 5; i++) gf_session_close(s[i]), gf_session_close(alone[i]);
        free(y);
    }
}

static void a_session_ends_at_the_last_position_of_its_context(void) {
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, full = g->cfg.context_length;
        float *y = floats((int64_t)MOST * v);
        struct gf_session *s = open_session(g, m, GF_KV_F32);
        eval(s, v, ids, 0, full, AT_ONCE, y);
        CHECK_INT(gf_session_eval(s, ids, 1, &err), GF_ERR_CONTEXT);
        CHECK_INT(gf_session_length(s), full);
        CHECK_OK(gf_session_rewind(s, full - 1, &err));
        float *again = floats(v);
        eval(s, v, ids, full - 1, full, AT_ONCE, again);
        CHECK_SAME(again, y + (int64_t)(full - 1) * v, v, g->name, "the last position again");
        free(y), free(again);
        gf_session_close(s);
    }
}

static void a_model_without_a_causal_mask_evaluates_the_whole_sequence_at_once(void) {
    EACH_DECODER(g, m) {
        (void)m;
        if (has_blocks(g)) continue;
        const int32_t v = g->cfg.vocab_size;
        struct gf_config cfg = g->cfg;
        cfg.causal = 0;
        struct gf_model *free_model = golden_model(g, &cfg, NULL, &err);
        CHECK(free_model != NULL);
        if (!free_model) continue;
        struct gf_session *s = open_session(g, free_model, 0), *fresh = open_session(g, free_model, 0);
        float *want = floats((int64_t)70 * v), *got = floats((int64_t)70 * v);
        eval(fresh, v, ids, 0, 70, AT_ONCE, want); /* one call, more than a chunk */
        for (int32_t n = 68; n <= 70; n++) {
            CHECK_OK(gf_session_rewind(s, 0, &err));
            eval(s, v, ids, 0, n, AT_ONCE, got);
        }
        CHECK_SAME(got, want, (int64_t)70 * v, g->name, "the prefix again and again");
        CHECK_OK(gf_session_rewind(s, 0, &err));
        eval(s, v, ids, 0, 69, AT_ONCE, got);
        CHECK(max_diff(got, want, v) > 1e-4 || g->cfg.n_layers == 0); /* the first row depends on the last token */
        free(want), free(got);
        gf_session_close(s), gf_session_close(fresh);
        gf_model_close(free_model);
    }
}

/* ---- encoders ---------------------------------------------------------------------------------------------------- */

static void masked_source_positions_have_no_effect(void) {
    EACH_MODEL(g, m) {
        if (g->cfg.kind == GF_DECODER) continue;
        const int32_t d = g->cfg.d_model, v = g->cfg.vocab_size;
        int32_t other[11], n;
        for (int i = 0; i < 11; i++) other[i] = source_mask[i] ? source[i] : (source[i] + 9) % v;
        struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
        CHECK_OK(gf_session_encode(s, source, NULL, source_mask, 11, &err));
        float *want = floats(11 * d), *logits = floats(20 * v), *got = floats(20 * v);
        memcpy(want, gf_session_hidden(s, GF_STACK_ENCODER, &n), (size_t)(11 * d) * sizeof *want);
        CHECK_INT(n, 11);
        if (is_double(g)) eval(s, v, ids, 0, 20, AT_ONCE, logits);
        CHECK_OK(gf_session_encode(s, other, NULL, source_mask, 11, &err));
        const float *h = gf_session_hidden(s, GF_STACK_ENCODER, &n);
        for (int i = 0; i < 11; i++)
            if (source_mask[i])
                CHECK_SAME(h + i * d, want + i * d, d, g->name, "source row %d", i);
            else
                CHECK(max_diff(h + i * d, want + i * d, d) > 0);
        if (is_double(g)) {
            eval(s, v, ids, 0, 20, ONE_BY_ONE, got);
            CHECK_SAME(got, logits, 20 * v, g->name, "other hidden tokens");
            /* a new source empties the decoder's cache */
            CHECK_OK(gf_session_encode(s, source, NULL, NULL, 9, &err));
            CHECK_INT(gf_session_length(s), 0);
            CHECK(gf_session_logits(s, 0, 1, &err) == NULL);
        }
        /* masked positions at the end have the same effect as a shorter source */
        static const uint8_t tail[11] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0};
        CHECK_OK(gf_session_encode(s, source, NULL, tail, 11, &err));
        memcpy(want, gf_session_hidden(s, GF_STACK_ENCODER, &n), (size_t)(8 * d) * sizeof *want);
        if (is_double(g)) eval(s, v, ids, 0, 20, AT_ONCE, logits);
        CHECK_OK(gf_session_encode(s, source, NULL, NULL, 8, &err));
        CHECK_SAME(gf_session_hidden(s, GF_STACK_ENCODER, &n), want, 8 * d, g->name, "8 of 11");
        CHECK_INT(n, 8);
        if (is_double(g)) {
            eval(s, v, ids, 0, 20, AT_ONCE, got);
            CHECK_SAME(got, logits, 20 * v, g->name, "decoding from 8 of 11");
        }
        free(want), free(logits), free(got);
        gf_session_close(s);
    }
}

/* ---- captures and traces ----------------------------------------------------------------------------------------- */

static int32_t capture_all(struct gf_session *s) {
    int32_t n = 0;
    for (int32_t stack = 0; stack < 2; stack++)
        for (int32_t layer = -1; layer < 3; layer++)
            for (int32_t point = 0; point < GF_N_POINTS; point++)
                n += gf_session_capture(s, stack, layer, point, 1, &err) == GF_OK;
    return n;
}

/* The rows from row0 on of a point captured in a shorter pass equal those rows of the whole pass. Later keys are 0 in a
 * pattern and -inf in scores. */
static void check_rows(const struct golden *g, struct gf_session *part, struct gf_session *whole, int32_t layer,
                       int32_t point, int32_t row0) {
    int32_t a[3], b[3];
    const float *x = gf_session_captured(part, 0, layer, point, a), *y = gf_session_captured(whole, 0, layer, point, b);
    if (!x && !y) return;
    CHECK(x && y);
    if (!x || !y || point == GF_P_CROSS_K || point == GF_P_CROSS_V) return;
    const char *name = point_name(point);
    if (!strstr(name, "pattern") && !strstr(name, "scores")) {
        const int64_t width = (int64_t)a[1] * a[2];
        CHECK_SAME(x, y + row0 * width, a[0] * width, g->name, "%s of layer %d from row %d", name, layer, row0);
        return;
    }
    int same = 1, empty = 1;
    for (int32_t h = 0; h < a[0]; h++)
        for (int32_t i = 0; i < a[1]; i++) {
            const float *p = x + ((int64_t)h * a[1] + i) * a[2], *q = y + ((int64_t)h * b[1] + row0 + i) * b[2];
            same &= !memcmp(p, q, (size_t)a[2] * sizeof *p);
            for (int32_t j = a[2]; j < b[2]; j++) empty &= strstr(name, "pattern") ? q[j] == 0 : q[j] == -INFINITY;
        }
    CHECK(same);
    CHECK(empty);
}

/* The rows of a causal pattern sum to 1. After the diagonal and before the window they are 0, and the scores -inf. */
static void check_patterns(const struct golden *g, struct gf_session *s, int32_t layer, int32_t n) {
    const int32_t window = g->cfg.sliding_window;
    int32_t dims[3];
    const float *pattern = gf_session_captured(s, 0, layer, GF_P_PATTERN, dims),
                *scores = gf_session_captured(s, 0, layer, GF_P_SCORES, dims);
    CHECK(pattern && scores && dims[1] == n && dims[2] == n);
    for (int32_t h = 0; pattern && scores && h < dims[0]; h++)
        for (int32_t i = 0; i < n; i++) {
            const int64_t row = ((int64_t)h * n + i) * n;
            double sum = 0;
            int hidden = 1;
            for (int32_t j = 0; j < n; j++) {
                sum += (double)pattern[row + j];
                if (j > i || (window && j <= i - window))
                    hidden &= pattern[row + j] == 0 && scores[row + j] == -INFINITY;
            }
            CHECK_NEAR(sum, 1, 1e-5);
            CHECK(hidden);
        }
}

static void captured_rows_do_not_depend_on_the_pass(void) {
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, n = 71;
        float *want = floats((int64_t)n * v), *got = floats((int64_t)n * v);
        struct gf_session *plain = open_session(g, m, GF_KV_F32), *whole = gf_session_open(m, 0, GF_KV_F32, &err),
                          *part = gf_session_open(m, 0, GF_KV_F32, &err);
        CHECK(capture_all(whole) > 20);
        capture_all(part);
        if (is_double(g)) {
            CHECK_OK(gf_session_encode(whole, source, NULL, source_mask, 11, &err));
            CHECK_OK(gf_session_encode(part, source, NULL, source_mask, 11, &err));
        }
        eval(plain, v, ids, 0, n, AT_ONCE, want);
        eval(whole, v, ids, 0, n, AT_ONCE, got);
        CHECK_SAME(got, want, (int64_t)n * v, g->name, "captured");
        for (int32_t at = 0, k = 0, step; at < n; at += step, k++) {
            step = piece(k < 4 ? ONE_BY_ONE : ODD, k, n - at);
            eval(part, v, ids, at, at + step, AT_ONCE, got + (int64_t)at * v);
            for (int32_t layer = -1; layer < g->cfg.n_layers; layer++)
                for (int32_t point = 0; point < GF_N_POINTS; point++) check_rows(g, part, whole, layer, point, at);
        }
        CHECK_SAME(got, want, (int64_t)n * v, g->name, "captured piece by piece");
        for (int32_t layer = 0; layer < g->cfg.n_layers; layer++) check_patterns(g, whole, layer, n);
        free(want), free(got);
        gf_session_close(plain), gf_session_close(whole), gf_session_close(part);
    }
}

static void capturing_any_single_point_changes_no_bit(void) {
    EACH_MODEL(g, m)
    for (int32_t kv = 0; kv < GF_N_KV_TYPES; kv++) {
        const struct golden_run *r = &g->runs[0];
        const int64_t n = (int64_t)r->rows * r->cols;
        float *want = floats(n);
        struct gf_session *s = gf_session_open(m, 0, kv, &err);
        const float *plain = golden_eval(s, r, &err);
        CHECK(plain != NULL);
        if (plain) memcpy(want, plain, (size_t)n * sizeof *want);
        for (int32_t stack = 0; stack < 2; stack++)
            for (int32_t layer = -1; layer < 2; layer++)
                for (int32_t point = 0; point < GF_N_POINTS; point++) {
                    if (gf_session_capture(s, stack, layer, point, 1, &err) != GF_OK) continue;
                    CHECK_OK(gf_session_rewind(s, 0, &err));
                    const float *y = golden_eval(s, r, &err);
                    int32_t dims[3];
                    CHECK(y && gf_session_captured(s, stack, layer, point, dims));
                    if (y) CHECK_SAME(y, want, n, g->name, "%s captured, cache %d", point_name(point), kv);
                    CHECK_OK(gf_session_capture(s, stack, layer, point, 0, &err));
                    CHECK(!gf_session_captured(s, stack, layer, point, dims));
                }
        free(want);
        gf_session_close(s);
    }
}

/* The captured values [rows, width] of a point. */
static const float *seen(struct gf_session *s, int32_t layer, int32_t point) {
    int32_t dims[3];
    const float *x = gf_session_captured(s, 0, layer, point, dims);
    CHECK(x != NULL);
    if (!x) exit(1);
    return x;
}

static const float *weight(const struct golden *g, const char *name, int32_t layer) {
    char full[64];
    snprintf(full, sizeof full, "%s.%d.%s", is_double(g) ? "decoder" : "blocks", layer, name);
    for (int32_t i = 0; i < g->n_weights; i++)
        if (!strcmp(g->weights[i].name, full)) return g->weights[i].data;
    return NULL;
}

static void captured_parts_add_up_to_the_residual_stream(void) {
    EACH_DECODER(g, m) {
        if (has_blocks(g)) continue;
        const struct gf_config *c = &g->cfg;
        const int32_t n = 9, d = c->d_model, v = c->vocab_size;
        struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
        capture_all(s);
        if (is_double(g)) CHECK_OK(gf_session_encode(s, source, NULL, source_mask, 11, &err));
        float *y = floats((int64_t)n * v), *sum = floats((int64_t)n * d);
        eval(s, v, ids, 0, n, AT_ONCE, y);
        /* heads' results and the bias make the attention's output; pattern rows sum to 1 */
        for (int32_t layer = 0; layer < c->n_layers; layer++)
            for (int cross = 0; cross <= is_double(g); cross++) {
                const float *result = seen(s, layer, cross ? GF_P_CROSS_RESULT : GF_P_RESULT),
                            *out = seen(s, layer, cross ? GF_P_CROSS_OUT : GF_P_ATTN_OUT),
                            *pattern = seen(s, layer, cross ? GF_P_CROSS_PATTERN : GF_P_PATTERN),
                            *bias = weight(g, cross ? "cross_attn.o.bias" : "attn.o.bias", layer);
                for (int32_t i = 0; i < n * d; i++) {
                    double total = bias ? (double)bias[i % d] : 0;
                    for (int32_t h = 0; h < c->n_heads; h++)
                        total += (double)result[(i / d * c->n_heads + h) * d + i % d];
                    CHECK_NEAR((double)out[i], total, 1e-5);
                }
                const int32_t keys = cross ? 11 : n;
                for (int32_t i = 0; i < c->n_heads * n; i++) {
                    double total = 0;
                    for (int32_t j = 0; j < keys; j++) total += (double)pattern[i * keys + j];
                    CHECK_NEAR(total, 1, 1e-6);
                }
            }
        /* the residual stream at any depth is the sum of the embedding and all contributions before it */
        if (c->norm_placement == GF_PRE_NORM) {
            const float *embed = seen(s, -1, GF_P_EMBED),
                        *pos = c->position == GF_POS_LEARNED || c->position == GF_POS_SINUSOIDAL
                                   ? seen(s, -1, GF_P_POS_EMBED)
                                   : NULL;
            for (int32_t i = 0; i < n * d; i++) sum[i] = embed[i] + (pos ? pos[i] : 0);
            for (int32_t layer = 0; layer < c->n_layers; layer++) {
                static const int parts[][2] = {{GF_P_ATTN_OUT, GF_P_RESID_MID},
                                               {GF_P_CROSS_OUT, GF_P_RESID_MID_CROSS},
                                               {GF_P_MLP_OUT, GF_P_RESID_POST}};
                CHECK_NEAR(max_diff(seen(s, layer, GF_P_RESID_PRE), sum, n * d), 0, 1e-5);
                for (int k = 0; k < 3; k++) {
                    if (k == 1 && !is_double(g)) continue;
                    const float *part = seen(s, layer, parts[k][0]);
                    for (int32_t i = 0; i < n * d; i++) sum[i] += part[i];
                    CHECK_NEAR(max_diff(seen(s, layer, parts[k][1]), sum, n * d), 0, 1e-5);
                }
            }
        }
        /* mean square = variance + mean squared, on live activations */
        if (c->norm == GF_RMSNORM) {
            const float *x = seen(s, 0, c->norm_placement == GF_PRE_NORM ? GF_P_RESID_PRE : GF_P_ATTN_OUT),
                        *pre = seen(s, 0, GF_P_RESID_PRE), *scale = seen(s, 0, GF_P_LN1_SCALE);
            for (int32_t i = 0; i < n; i++) {
                double mean = 0, var = 0;
                for (int pass = 0; pass < 2; pass++)
                    for (int32_t j = 0; j < d; j++) {
                        double a = (double)x[i * d + j];
                        if (x != pre) a += (double)pre[i * d + j];
                        if (pass)
                            var += (a - mean) * (a - mean) / d;
                        else
                            mean += a / d;
                    }
                const double want = sqrt(var + mean * mean + (double)c->norm_eps);
                CHECK_NEAR((double)scale[i], want, 1e-5 * want);
            }
        }
        free(y), free(sum);
        gf_session_close(s);
    }
}

static void tracing_changes_no_bit(void) {
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, two = is_double(g);
        float *want = floats(5 * v), *got = floats(5 * v);
        struct gf_session *plain = open_session(g, m, 0), *s = open_session(g, m, 0);
        CHECK_OK(gf_session_trace(s, 1, &err));
        eval(plain, v, ids, 0, 5, AT_ONCE, want);
        eval(s, v, ids, 0, 5, AT_ONCE, got);
        CHECK_SAME(got, want, 5 * v, g->name, "traced");
        int32_t n = 0, at_layer[3] = {0, 0, 0}, others = 0;
        const struct gf_op_time *t = gf_session_traced(s, &n);
        CHECK(t != NULL && n > 0);
        for (int32_t i = 0; t && i < n; i++) {
            CHECK(t[i].ms >= 0 && t[i].ms < 60000);
            CHECK_INT(t[i].stack, GF_STACK_DECODER);
            if (t[i].layer >= 0 && t[i].layer < 3)
                at_layer[t[i].layer]++;
            else
                others++;
        }
        CHECK(t && t[0].op == GF_OP_EMBED && t[n - 1].op == GF_OP_HEAD);
        CHECK_INT(others, 2 + g->cfg.final_norm); /* embed, final norm, head */
        /* per block: norms, qkv, attend, o, residual, up, act, down, residual, perhaps rope; and
         * for a cross-attention norm, q, attend, o, residual */
        for (int32_t l = 0; l < g->cfg.n_layers; l++) CHECK(at_layer[l] >= 9 + 5 * two && at_layer[l] <= 11 + 5 * two);
        CHECK_OK(gf_session_trace(s, 0, &err));
        CHECK(gf_session_traced(s, &n) == NULL && n == 0);
        free(want), free(got);
        gf_session_close(plain), gf_session_close(s);
    }
}

/* ---- edits ------------------------------------------------------------------------------------------------------- */

static void after_clearing_edits_a_session_equals_a_fresh_one(void) {
    EACH_MODEL(g, m) {
        const struct golden_run *r = &g->runs[0];
        const int64_t n = (int64_t)r->rows * r->cols;
        float *want = floats(n);
        CHECK_OK(golden_output(m, r, want, &err));
        struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
        gf_session_clear_edits(s);
        const int32_t stack = g->cfg.kind == GF_ENCODER ? GF_STACK_ENCODER : GF_STACK_DECODER;
        CHECK_OK(gf_session_edit(s, stack, 0, GF_P_Z, 0, -1, -1, GF_EDIT_SCALE, 0, NULL, 0, &err));
        const float *y = golden_eval(s, r, &err);
        CHECK(y && max_diff(y, want, n) > 1e-3);
        gf_session_clear_edits(s);
        CHECK_OK(gf_session_rewind(s, 0, &err));
        y = golden_eval(s, r, &err);
        CHECK(y != NULL);
        if (y) CHECK_SAME(y, want, n, g->name, "after its edits were cleared");
        free(want);
        gf_session_close(s);
    }
}

static void scaling_by_one_changes_no_bit(void) {
    EACH_MODEL(g, m) {
        const struct golden_run *r = &g->runs[0];
        const int64_t n = (int64_t)r->rows * r->cols;
        float *want = floats(n);
        CHECK_OK(golden_output(m, r, want, &err));
        struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
        int32_t edits = 0;
        for (int32_t stack = 0; stack < 2; stack++)
            for (int32_t layer = -1; layer < 2; layer++)
                for (int32_t point = 0; point < GF_N_POINTS; point++)
                    edits +=
                        gf_session_edit(s, stack, layer, point, -1, -1, -1, GF_EDIT_SCALE, 1, NULL, 0, &err) == GF_OK;
        CHECK(edits > 15);
        const float *y = golden_eval(s, r, &err);
        CHECK(y != NULL);
        if (y) CHECK_SAME(y, want, n, g->name, "%d edits that scale by 1", edits);
        free(want);
        gf_session_close(s);
    }
}

/* Compared with a model whose output projection has zeros in the head's columns. */
static void ablating_a_head_equals_zeroing_its_output_columns(void) {
    EACH_DECODER(g, m) {
        if (is_double(g) || has_blocks(g)) continue;
        const int32_t v = g->cfg.vocab_size, n = 66;
        float *want = floats((int64_t)n * v), *got = floats((int64_t)n * v), *untouched = floats((int64_t)n * v);
        struct gf_session *s = open_session(g, m, 0);
        eval(s, v, ids, 0, n, AT_ONCE, untouched);
        for (int32_t head = 0; head < g->cfg.n_heads; head++) {
            struct feeding how = {.zero_head = 1 + head};
            struct gf_model *without = golden_model(g, &g->cfg, &how, &err);
            CHECK(without != NULL);
            if (!without) break;
            struct gf_session *t = open_session(g, without, 0);
            eval(t, v, ids, 0, n, AT_ONCE, want);
            gf_session_clear_edits(s);
            CHECK_OK(gf_session_rewind(s, 0, &err));
            CHECK_OK(gf_session_edit(s, 0, 0, GF_P_Z, head, -1, -1, GF_EDIT_SCALE, 0, NULL, 0, &err));
            eval(s, v, ids, 0, n, ODD, got);
            CHECK_SAME(got, want, (int64_t)n * v, g->name, "head %d", head);
            CHECK(max_diff(got, untouched, (int64_t)n * v) > 1e-3);
            gf_session_close(t);
            gf_model_close(without);
        }
        free(want), free(got), free(untouched);
        gf_session_close(s);
    }
}

static void patching_the_residual_stream_reproduces_the_other_run(void) {
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, n = 12, d = g->cfg.d_model;
        int32_t other[12];
        for (int i = 0; i < n; i++) other[i] = (ids[i] + 11) % v;
        float *want = floats(n * v), *got = floats(n * v);
        for (int32_t layer = 0; layer < g->cfg.n_layers; layer++)
            for (int32_t k = 0; k < 2; k++) {
                const int32_t point = k ? GF_P_RESID_POST : GF_P_RESID_PRE;
                struct gf_session *a = open_session(g, m, 0), *b = open_session(g, m, 0);
                CHECK_OK(gf_session_capture(a, 0, layer, point, 1, &err));
                eval(a, v, ids, 0, n, AT_ONCE, want);
                eval(b, v, other, 0, n, AT_ONCE, got);
                CHECK(max_diff(got, want, n * v) > 1e-2);
                const float *x = seen(a, layer, point);
                for (int32_t i = 0; i < n; i++)
                    CHECK_OK(gf_session_edit(b, 0, layer, point, -1, i, -1, GF_EDIT_SET, 0, x + i * d, d, &err));
                CHECK_OK(gf_session_rewind(b, 0, &err));
                eval(b, v, other, 0, n, ODD, got);
                CHECK_SAME(got, want, n * v, g->name, "%s of layer %d patched", point_name(point), layer);
                gf_session_close(a), gf_session_close(b);
            }
        free(want), free(got);
    }
}

static void edits_apply_at_their_position_in_any_chunks(void) {
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, n = 67, d = g->cfg.d_model;
        float *want = floats((int64_t)n * v), *got = floats((int64_t)n * v), *push = floats(d);
        for (int32_t j = 0; j < d; j++) push[j] = (float)(j % 5) - 2;
        for (int32_t plan = 0; plan < N_PLANS; plan++) {
            struct gf_session *s = open_session(g, m, 0);
            CHECK_OK(gf_session_capture(s, 0, 0, GF_P_RESID_PRE, 1, &err));
            CHECK_OK(gf_session_edit(s, 0, 0, GF_P_RESID_PRE, -1, 65, -1, GF_EDIT_ADD, 0, push, d, &err));
            CHECK_OK(gf_session_edit(s, 0, 0, GF_P_V, 0, 3, -1, GF_EDIT_SCALE, -2, NULL, 0, &err));
            CHECK_OK(gf_session_edit(s, 0, 0, GF_P_RESULT, 1, 64, -1, GF_EDIT_SET, 0, push, d, &err));
            const float half[2] = {0.5f, 0.5f};
            CHECK_OK(gf_session_edit(s, 0, 0, GF_P_PATTERN, 1, 5, -1, GF_EDIT_SET, 0, half, 2, &err));
            CHECK_OK(gf_session_edit(s, 0, 0, GF_P_PATTERN, 0, 66, -1, GF_EDIT_SET, 0, half, 2, &err));
            CHECK_OK(gf_session_edit(s, 0, 0, GF_P_RESID_PRE, -1, -1, -1, GF_EDIT_SCALE, 1.5f, NULL, 0, &err));
            eval(s, v, ids, 0, n, plan, plan ? got : want);
            if (plan) CHECK_SAME(got, want, (int64_t)n * v, g->name, "plan %d", plan);
            gf_session_close(s);
        }
        free(want), free(got), free(push);
    }
}

/* Each edit changes the result of the one before, and a capture shows the result of the last. */
static void edits_apply_in_order_before_capture(void) {
    struct golden *g = &all[1];
    const int32_t d = g->cfg.d_model, v = g->cfg.vocab_size;
    struct gf_session *s = open_session(g, models[1], 0);
    float *y = floats(4 * v);
    const float two = 2, three = 3;
    CHECK_OK(gf_session_capture(s, 0, 0, GF_P_RESID_MID, 1, &err));
    CHECK_OK(gf_session_edit(s, 0, 0, GF_P_RESID_MID, -1, 2, -1, GF_EDIT_SET, 0, &two, 1, &err));
    CHECK_OK(gf_session_edit(s, 0, 0, GF_P_RESID_MID, -1, -1, -1, GF_EDIT_SCALE, 0.5f, NULL, 0, &err));
    CHECK_OK(gf_session_edit(s, 0, 0, GF_P_RESID_MID, -1, 2, -1, GF_EDIT_ADD, 0, &three, 1, &err));
    eval(s, v, ids, 0, 4, AT_ONCE, y);
    const float *x = seen(s, 0, GF_P_RESID_MID);
    for (int32_t j = 0; j < d; j++) {
        CHECK(x[2 * d + j] == 4);
        CHECK(x[1 * d + j] != 4);
    }
    free(y);
    gf_session_close(s);
}

/* An index edits one neuron, or one key of a pattern, and no other. Masked scores stay masked. */
static void an_index_edits_one_neuron_or_one_key(void) {
    struct golden *g = &all[1];
    const int32_t d_ff = g->cfg.d_ff, v = g->cfg.vocab_size, n = 4;
    struct gf_session *plain = open_session(g, models[1], 0), *cut = open_session(g, models[1], 0);
    float *y = floats(n * v), *z = floats(n * v);
    CHECK_OK(gf_session_capture(plain, 0, 0, GF_P_MLP_POST, 1, &err));
    CHECK_OK(gf_session_capture(cut, 0, 0, GF_P_MLP_POST, 1, &err));
    CHECK_OK(gf_session_capture(cut, 0, 1, GF_P_SCORES, 1, &err));
    CHECK_OK(gf_session_edit(cut, 0, 0, GF_P_MLP_POST, -1, -1, 3, GF_EDIT_SCALE, 0, NULL, 0, &err));
    CHECK_OK(gf_session_edit(cut, 0, 1, GF_P_SCORES, 0, -1, -1, GF_EDIT_SCALE, 0, NULL, 0, &err));
    eval(plain, v, ids, 0, n, AT_ONCE, y);
    eval(cut, v, ids, 0, n, AT_ONCE, z);
    const float *a = seen(plain, 0, GF_P_MLP_POST), *b = seen(cut, 0, GF_P_MLP_POST);
    for (int32_t i = 0; i < n * d_ff; i++) CHECK(b[i] == (i % d_ff == 3 ? 0 : a[i]));
    CHECK(memcmp(y, z, (size_t)(n * v) * sizeof *y) != 0);
    int32_t dims[3];
    const float *scores = gf_session_captured(cut, 0, 1, GF_P_SCORES, dims);
    for (int32_t q = 0; q < n; q++)
        for (int32_t k = 0; k < n; k++) CHECK(k > q ? isinf(scores[q * dims[2] + k]) : scores[q * dims[2] + k] == 0);
    /* a key beyond the cache: with INT32_MAX the fuzzer made index + 1 overflow */
    gf_session_clear_edits(cut);
    CHECK_OK(gf_session_rewind(cut, 0, &err));
    for (int32_t op = GF_EDIT_SCALE; op <= GF_EDIT_ADD; op++) {
        const float one = 1;
        CHECK_OK(gf_session_edit(cut, 0, 0, GF_P_PATTERN, -1, -1, INT32_MAX, op, 0, &one, 1, &err));
        CHECK_OK(gf_session_edit(cut, 0, 0, GF_P_PATTERN, -1, -1, n, op, 0, &one, 1, &err));
    }
    eval(cut, v, ids, 0, n, AT_ONCE, z);
    CHECK_SAME(z, y, (int64_t)n * v, g->name, "keys beyond the last");
    free(y), free(z);
    gf_session_close(plain);
    gf_session_close(cut);
}

/* An edit of a head's result changes one row, for every weight type. Once all rows, edited or not, became sums over
 * heads. */
static void an_edited_head_result_changes_its_own_row_only(void) {
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, n = 9;
        float *y = floats((int64_t)n * v), *z = floats((int64_t)n * v);
        struct gf_session *plain = open_session(g, m, 0), *cut = open_session(g, m, 0);
        CHECK_OK(gf_session_edit(cut, 0, 0, GF_P_RESULT, 0, n - 1, -1, GF_EDIT_SCALE, 3, NULL, 0, &err));
        eval(plain, v, ids, 0, n, AT_ONCE, y);
        eval(cut, v, ids, 0, n, AT_ONCE, z);
        if (g->cfg.causal) CHECK_SAME(z, y, (int64_t)(n - 1) * v, g->name, "rows before the edited one");
        CHECK(max_diff(z + (int64_t)(n - 1) * v, y + (int64_t)(n - 1) * v, v) > 1e-4);
        gf_session_close(plain), gf_session_close(cut);
        free(y), free(z);
    }
}

/* A pattern value set outside the window was once captured but not used in the output. */
static void an_edited_pattern_outside_the_window_is_computed_with(void) {
    struct gf_config c;
    gf_config_default(&c);
    c.vocab_size = 50, c.d_model = 32, c.n_layers = 2, c.n_heads = c.n_kv_heads = 2;
    c.d_head = 16, c.d_ff = 64, c.context_length = MOST, c.sliding_window = 16;
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    CHECK(m != NULL);
    if (!m) return;
    CHECK_OK(gf_model_randomize(m, 3, 0.4f, &err));
    const int32_t n = MOST - 1, v = c.vocab_size;
    int32_t tokens[MOST];
    for (int i = 0; i < MOST; i++) tokens[i] = ids[i] % v;
    float *y = floats((int64_t)n * v), *z = floats((int64_t)n * v);
    for (int k = 0; k < 4; k++) {
        const int32_t index = k < 2 ? 0 : n - 20; /* in a block far from the window, and in the window's block */
        struct gf_session *plain = gf_session_open(m, 0, 0, &err), *cut = gf_session_open(m, 0, 0, &err);
        const float one = 1;
        CHECK_OK(gf_session_edit(cut, 0, 0, GF_P_PATTERN, -1, n - 1, index, GF_EDIT_SET, 0, &one, 1, &err));
        eval(plain, v, tokens, 0, n, AT_ONCE, y);
        eval(cut, v, tokens, 0, n, k % 2 ? ODD : AT_ONCE, z);
        CHECK_SAME(z, y, (int64_t)(n - 1) * v, "window", "rows before the edited one");
        CHECK(max_diff(z + (int64_t)(n - 1) * v, y + (int64_t)(n - 1) * v, v) > 1e-4);
        gf_session_close(plain), gf_session_close(cut);
    }
    free(y), free(z);
    gf_model_close(m);
}

/* The output of rows whose whole window is masked was once NaN. */
static void rows_whose_keys_are_all_masked_are_finite(void) {
    struct gf_config c;
    gf_config_default(&c);
    c.kind = GF_ENCODER, c.causal = 0, c.tie_word_embeddings = 0;
    c.vocab_size = 50, c.d_model = 32, c.n_layers = 2, c.n_heads = c.n_kv_heads = 2;
    c.d_head = 16, c.d_ff = 64, c.context_length = 16, c.sliding_window = 2;
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    if (!m) printf("%s\n", err.text);
    CHECK(m != NULL);
    if (!m) return;
    CHECK_OK(gf_model_randomize(m, 3, 0.4f, &err));
    struct gf_session *s = gf_session_open(m, 0, 0, &err);
    static const uint8_t mask[] = {1, 1, 1, 1, 0, 0, 0, 0};
    int32_t tokens[8], n;
    for (int i = 0; i < 8; i++) tokens[i] = ids[i] % c.vocab_size;
    CHECK_OK(gf_session_encode(s, tokens, NULL, mask, 8, &err));
    const float *hidden = gf_session_hidden(s, GF_STACK_ENCODER, &n);
    CHECK_INT(n, 8);
    for (int32_t i = 0; hidden && i < n * c.d_model; i++) CHECK(isfinite(hidden[i]));
    gf_session_close(s);
    gf_model_close(m);
}

int main(void) {
    uint64_t seed = 2024;
    for (int i = 0; i < N_GOLDEN; i++) {
        struct golden *g = &all[i];
        golden_open(g, golden_names[i]);
        uint8_t dtypes[256];
        memset(dtypes,
               !strcmp(g->name, "q8_0")   ? GF_Q8_0
               : !strcmp(g->name, "q4_0") ? GF_Q4_0
               : !strcmp(g->name, "q4_1") ? GF_Q4_1
                                          : GF_F32,
               sizeof dtypes);
        struct feeding how = {.dtypes = dtypes};
        models[i] = golden_model(g, &g->cfg, &how, &err);
        CHECK(models[i] != NULL);
    }
    for (int i = 0; i < MOST; i++) ids[i] = (int32_t)(test_random(&seed) >> 33) % 41;
    for (int i = 0; i < 11; i++) source[i] = (int32_t)(test_random(&seed) >> 33) % 41;
    RUN(one_pass_single_tokens_and_odd_chunks_give_the_same_bits);
    RUN(random_causal_configurations_give_the_same_bits_in_any_chunks);
    RUN(logits_of_any_rows_are_the_same_bits);
    RUN(f16_and_q8_caches_stay_close_to_f32);
    RUN(the_cache_grows_block_by_block);
    RUN(a_rewound_session_equals_a_fresh_one);
    RUN(a_fork_and_its_original_continue_independently);
    RUN(results_do_not_depend_on_the_number_of_threads);
    RUN(sessions_evaluated_together_give_the_same_bits_as_alone);
    RUN(a_session_ends_at_the_last_position_of_its_context);
    RUN(a_model_without_a_causal_mask_evaluates_the_whole_sequence_at_once);
    RUN(masked_source_positions_have_no_effect);
    RUN(captured_rows_do_not_depend_on_the_pass);
    RUN(capturing_any_single_point_changes_no_bit);
    RUN(captured_parts_add_up_to_the_residual_stream);
    RUN(tracing_changes_no_bit);
    RUN(after_clearing_edits_a_session_equals_a_fresh_one);
    RUN(scaling_by_one_changes_no_bit);
    RUN(ablating_a_head_equals_zeroing_its_output_columns);
    RUN(patching_the_residual_stream_reproduces_the_other_run);
    RUN(edits_apply_at_their_position_in_any_chunks);
    RUN(edits_apply_in_order_before_capture);
    RUN(an_index_edits_one_neuron_or_one_key);
    RUN(an_edited_head_result_changes_its_own_row_only);
    RUN(an_edited_pattern_outside_the_window_is_computed_with);
    RUN(rows_whose_keys_are_all_masked_are_finite);
    for (int i = 0; i < N_GOLDEN; i++) {
        gf_model_close(models[i]);
        golden_close(&all[i]);
    }
    return check_end();
}
