/* session_test.c - a session gives the same bits token by token, in chunks, after rewinding or forking, with threads and
 * together with other sessions. */
#include "base/pool.h"
#include "sessions.h"

static const int32_t lengths[] = {1, 7, 64, 65, 0}; /* 0: the whole context */
enum { N_LENGTHS = sizeof lengths / sizeof *lengths };

static int32_t length_of(const struct golden *g, int32_t i) { return lengths[i] ? lengths[i] : g->cfg.context_length; }

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
        int32_t type = i % GF_N_KV_TYPES;
        for (int32_t plan = 0; plan < N_PLANS; plan++) {
            struct gf_session *s = gf_session_open(m, 0, type, &err);
            CHECK(s != NULL);
            if (is_double(&g)) CHECK_OK(gf_session_encode(s, tokens + 3, NULL, source_mask, 11, &err));
            if (plan == 0 && type == GF_KV_F16 && gf_session_eval(s, tokens, n, NULL) == GF_ERR_NOT_FINITE) {
                plan = -1, type = GF_KV_F32; /* keys above 65504 */
                gf_session_close(s);
                continue;
            }
            CHECK_OK(gf_session_rewind(s, 0, &err));
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

/* Rows whose output is not wanted change neither the others nor the cache: in one chunk, over two, of a pass that begins
 * behind the last block. */
static void the_rows_after_dropped_ones_have_the_same_bits(void) {
    static const int32_t dropped[] = {1, 63, 64, 66, 67};
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, n = 67 < g->cfg.context_length ? 67 : 64, last = g->cfg.n_layers - 1;
        float *want = floats(2 * (int64_t)n * v), *got = floats((int64_t)v), *stream;
        struct gf_session *s = open_session(g, m, GF_KV_F32);
        CHECK_OK(gf_session_capture(s, 0, last, GF_P_RESID_POST, 1, &err));
        eval(s, v, ids, 0, n, AT_ONCE, want);
        stream = floats((int64_t)n * g->cfg.d_model);
        memcpy(stream, seen(s, last, GF_P_RESID_POST), (size_t)n * (size_t)g->cfg.d_model * sizeof *stream);
        CHECK_OK(gf_session_capture(s, 0, last, GF_P_RESID_POST, 0, &err));
        eval(s, v, ids, n, n + 1, AT_ONCE, want + (int64_t)n * v);
        for (int32_t i = 0; i < 10; i++) {
            const int32_t drop = dropped[i / 2] < n ? dropped[i / 2] : n, behind = i % 2;
            CHECK_OK(gf_session_rewind(s, 0, &err));
            CHECK_OK(gf_session_start(s, behind ? last + 1 : 0, behind ? stream : NULL, drop, &err));
            CHECK_OK(gf_session_eval(s, ids, n, &err));
            const float *y = drop < n ? gf_session_logits(s, 0, n - drop, &err) : NULL;
            CHECK(drop == n || y != NULL);
            if (y) CHECK_SAME(y, want + (int64_t)drop * v, (int64_t)(n - drop) * v, g->name, "%d of %d", drop, n);
            CHECK(gf_session_logits(s, n - drop, 1, &err) == NULL);
            if (behind) continue; /* the cache has what the layers before left */
            eval(s, v, ids, n, n + 1, AT_ONCE, got);
            CHECK_SAME(got, want + (int64_t)n * v, v, g->name, "after %d of %d", drop, n);
        }
        CHECK_REFUSED(gf_session_start(s, 0, NULL, -1, &err), GF_ERR_ARGUMENT, "-1 rows");
        CHECK_OK(gf_session_start(s, 0, NULL, 2, &err));
        CHECK_REFUSED(gf_session_eval(s, ids, 1, &err), GF_ERR_ARGUMENT, "2 of 1 rows");
        free(want), free(got), free(stream);
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
        struct gf_sampling hot = SAMPLER(.temperature = 2, .repetition_penalty = 1.5f);
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
            static const int32_t ends[] = {1, 37, 66, 70}; /* parts of 8 and of 4 rows, the last with fewer */
            for (int32_t i = 0, from = 0; i < 4; from = ends[i++]) {
                if (i == 3) CHECK_OK(gf_session_capture(s, 0, 0, GF_P_PATTERN, 1, &err));
                eval(s, v, ids, from, ends[i], AT_ONCE, y[threads] + (int64_t)from * v);
            }
            const float *p = gf_session_captured(s, 0, 0, GF_P_PATTERN, dims);
            CHECK(p != NULL);
            const int64_t size = (int64_t)dims[0] * dims[1] * dims[2];
            pattern[threads] = floats(size);
            if (p) memcpy(pattern[threads], p, (size_t)size * sizeof *p);
            gf_session_close(s);
        }
        gf_model_set_pool(m, NULL);
        CHECK_SAME(y[1], y[0], (int64_t)n * v, g->name, "4 threads");
        CHECK_SAME(pattern[1], pattern[0], (int64_t)dims[0] * dims[1] * dims[2], g->name, "patterns by 4 threads");
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
        const int64_t row = g->cfg.sliding_window ? 66 * v : 0; /* the last token is in its window */
        CHECK(max_diff(got + row, want + row, v) > 1e-4 || g->cfg.n_layers == 0);
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

int main(void) {
    open_models();
    RUN(one_pass_single_tokens_and_odd_chunks_give_the_same_bits);
    RUN(random_causal_configurations_give_the_same_bits_in_any_chunks);
    RUN(logits_of_any_rows_are_the_same_bits);
    RUN(the_rows_after_dropped_ones_have_the_same_bits);
    RUN(f16_and_q8_caches_stay_close_to_f32);
    RUN(the_cache_grows_block_by_block);
    RUN(a_rewound_session_equals_a_fresh_one);
    RUN(a_fork_and_its_original_continue_independently);
    RUN(results_do_not_depend_on_the_number_of_threads);
    RUN(sessions_evaluated_together_give_the_same_bits_as_alone);
    RUN(a_session_ends_at_the_last_position_of_its_context);
    RUN(a_model_without_a_causal_mask_evaluates_the_whole_sequence_at_once);
    RUN(masked_source_positions_have_no_effect);
    close_models();
    return check_end();
}
