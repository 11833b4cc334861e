/* cache_test.c - the kv cache at the boundaries of its blocks of 64 positions: forks, rewinds, NaN. */
#include "status.h"
#include "glassformer.h"
#include "model/layers/kv.h"
#include <stdlib.h>

static struct gf_config small_config(int32_t kind) {
    struct gf_config c = decoder_config(37, 12, 2, 2, 10, 300);
    c.kind = kind, c.n_kv_heads = 1;
    c.n_encoder_layers = kind == GF_ENCODER_DECODER;
    return c;
}

static struct gf_model *small_model(int32_t kind) {
    const struct gf_config c = small_config(kind);
    return random_model(&c, 5, 0.5f);
}

static int32_t id(int32_t at) { return (at * 29 + at / 7) % 37; }

/* Evaluate n positions after the present length, with ids shifted by `by`. */
static void run(struct gf_session *s, int32_t n, int32_t by) {
    int32_t ids[300];
    const int32_t from = gf_session_length(s);
    for (int32_t i = 0; i < n; i++) ids[i] = (id(from + i) + by) % 37;
    if (n) CHECK_INT(gf_session_eval(s, ids, n, &err), GF_OK);
}

static void check_same_logits(struct gf_session *a, struct gf_session *b) {
    int32_t rows_a, rows_b;
    gf_session_hidden(a, GF_STACK_DECODER, &rows_a);
    gf_session_hidden(b, GF_STACK_DECODER, &rows_b);
    const float *x = gf_session_logits(a, rows_a - 1, 1, &err), *y = gf_session_logits(b, rows_b - 1, 1, &err);
    CHECK(x && y);
    if (x && y) CHECK_BITS(x, y, 37 * sizeof *x);
}

static void encode(struct gf_session *s, int32_t n, int masked) {
    int32_t ids[300];
    uint8_t mask[300];
    for (int32_t i = 0; i < n; i++) ids[i] = id(i + 3), mask[i] = i % 3 != 1;
    CHECK_INT(gf_session_encode(s, ids, NULL, masked ? mask : NULL, n, &err), GF_OK);
}

static const int32_t lengths[] = {0, 1, 63, 64, 65, 127, 128, 129, 192};
enum { N_LENGTHS = sizeof lengths / sizeof *lengths };

/* A fork has the blocks of its length, no more and no fewer. Fork and original continue like a session that was never
 * forked. source: the positions of an encoder_decoder's source; 0: a decoder. */
static void fork_at(const struct gf_model *m, int32_t type, int32_t length, int rewound, int32_t source, int masked) {
    struct gf_session *s = gf_session_open(m, 0, type, &err), *fresh = gf_session_open(m, 0, type, &err);
    if (source) encode(s, source, masked), encode(fresh, source, masked);
    run(s, length, 0);
    if (rewound) { /* blocks after the length stay allocated */
        run(s, 200 - length, 1);
        CHECK_INT(gf_session_rewind(s, length, &err), GF_OK);
    }
    struct gf_session *f = gf_session_fork(s, &err);
    CHECK(f != NULL);
    if (!f) return;
    const struct gf_config *c = gf_model_config(m);
    const uint64_t block = (uint64_t)c->n_layers * (uint64_t)c->n_kv_heads *
                           (gf_kv_key_bytes(type, c->d_head) + gf_kv_value_bytes(type, c->d_head)),
                   blocks = (uint64_t)(length + 63) / 64 + (uint64_t)(source + 63) / 64;
    CHECK_INT(gf_session_length(f), length);
    CHECK_INT(gf_session_kv_bytes(f), blocks * block);
    run(f, 3, 0);
    run(s, 3, 0);
    run(fresh, length + 3, 0);
    check_same_logits(f, s);
    check_same_logits(f, fresh);
    run(s, 5, 2); /* other tokens than the original from here on: neither writes into the other's blocks */
    run(f, 5, 0);
    run(fresh, 5, 0);
    check_same_logits(f, fresh);
    gf_session_close(s);
    run(f, 61, 0);
    run(fresh, 61, 0);
    check_same_logits(f, fresh);
    gf_session_close(f);
    gf_session_close(fresh);
}

static void a_fork_allocates_the_blocks_of_its_length(void) {
    struct gf_model *m = small_model(GF_DECODER);
    for (int32_t type = 0; type < GF_N_KV_TYPES; type++)
        for (int i = 0; i < 2 * N_LENGTHS; i++) fork_at(m, type, lengths[i / 2], i % 2, 0, 0);
    gf_model_close(m);
}

static void a_fork_keeps_the_source_of_its_original(void) {
    static const int32_t sources[] = {1, 64, 65, 150};
    struct gf_model *m = small_model(GF_ENCODER_DECODER);
    for (int i = 0; i < 24; i++) fork_at(m, i % 3, 10, i / 12, sources[i / 3 % 4], i % 2 && i > 2);
    gf_model_close(m);
}

/* NaN in a key, a query or a value reaches the results that are computed with it, and no others. A weight of 0 adds
 * nothing, for any of the queries that are computed together. */
static void nan_reaches_its_results_only(int D) {
    enum { MOST = 70, Q = 7, BAD = 5 };
    static _Alignas(64) uint8_t kb[64 * (MOST + 2) * 4 + 256], vb[64 * (MOST + 2) * 4 + 256];
    for (int type = 0; type < GF_N_KV_TYPES; type++) {
        float x[MOST], q[Q * MOST], s[Q * 64], p[Q * 64], z[Q * MOST];
        CHECK(gf_kv_key_bytes(type, D) <= sizeof kb && gf_kv_value_bytes(type, D) <= sizeof vb);
        for (int j = 0; j < 64; j++) {
            for (int i = 0; i < D; i++) x[i] = (float)((i * 7 + j * 3) % 11 - 5);
            if (j == BAD) x[3] = NAN;
            CHECK_INT(gf_kv_put(type, kb, vb, j, x, x, D), type == GF_KV_F16 && j == BAD);
        }
        for (int t = 0; t < Q; t++) {
            for (int i = 0; i < D; i++) q[t * D + i] = (float)(i + t) / 8 + 1;
            if (t == 2) q[t * D + 9] = NAN;
        }
        const void *keys = kb;
        gf_attn_scores(s, 64, q, D, Q, type, &keys, 64, D, 0.5f);
        const int kept = type != GF_KV_F16; /* what halves cannot hold is refused: gf_kv_put has said so */
        for (int t = 0; t < Q; t++)
            for (int j = 0; j < 64; j++) CHECK(isnan(s[t * 64 + j]) == (t == 2 || (kept && j == BAD)));
        for (int m = 1; m <= Q; m++) /* m queries, of which those in `without` do not look there */
            for (int without = 0; without < 1 << m; without += m < 5 ? 1 : 13) {
                for (int i = 0; i < m * 64; i++) p[i] = 0.01f;
                for (int t = 0; t < m; t++)
                    if (without >> t & 1) p[t * 64 + BAD] = 0;
                memset(z, 0, sizeof z);
                gf_attn_mix(z, D, p, 64, m, type, vb, 64, D);
                for (int t = 0; t < m; t++) {
                    CHECK(isnan(z[t * D + 3]) == (kept && !(without >> t & 1)));
                    if (without >> t & 1)
                        for (int i = 0; i < D; i++) CHECK(isfinite(z[t * D + i]));
                }
            }
    }
}

static void nan_in_a_query_key_or_value_reaches_its_results_only(void) {
    static const int widths[] = {10, 16, 64, 70};
    for (int i = 0; i < 4; i++) nan_reaches_its_results_only(widths[i]);
}

/* What each type holds of a value (kernels.h), seen through one key with a query of 1. */
static void each_type_holds_what_it_promises(void) {
    static _Alignas(64) uint8_t kb[64 * 8 * 4 + 256], vb[64 * 8 * 4 + 256];
    static const float values[] = {0, 1, -0.3f, 1234.5f, 65504, 65519, 65520, -1e6f, 1e-7f, INFINITY, -INFINITY, NAN};
    for (int type = 0; type < GF_N_KV_TYPES; type++)
        for (int i = 0; i < 12; i++)
            for (int in_value = 0; in_value <= 1; in_value++) {
                const float x = values[i], one[8] = {x}, zero[8] = {0}, query[8] = {1};
                const double size = fabs((double)x);
                const int refused = gf_kv_put(type, kb, vb, 0, in_value ? zero : one, in_value ? one : zero, 8);
                CHECK_INT(refused, type == GF_KV_F16 && !(size < 65520));
                float scores[64], got[8] = {0};
                const void *keys = kb;
                if (refused) continue;
                gf_attn_scores(scores, 64, query, 8, 1, type, &keys, 64, 8, 1);
                gf_attn_mix(got, 8, query, 8, 1, type, vb, 1, 8);
                const double y = (double)(in_value ? got[0] : scores[0]);
                const double off = type == GF_KV_F32 ? 0 : type == GF_KV_F16 ? size * 0x1p-11 + 0x1p-25 : size / 127;
                if (isfinite(x))
                    CHECK_NEAR(y, (double)x, off);
                else
                    CHECK(type == GF_KV_F32 && !isnan(x) ? y == (double)x : isnan(y));
            }
}

/* Keys of an f16 cache were limited to 65504, and NaN became 65504, without a word. */
static void an_eval_whose_keys_do_not_fit_f16_is_refused(void) {
    for (int kind = 0; kind < 2; kind++) {
        const int two = kind == 1;
        struct gf_config c = small_config(two ? GF_ENCODER_DECODER : GF_DECODER);
        c.bias_qkv = 1;
        struct gf_model *m = random_model(&c, 5, 0.5f);
        struct gf_session *f16 = gf_session_open(m, 0, GF_KV_F16, &err),
                          *other = gf_session_open(m, 0, GF_KV_F16, &err);
        struct gf_tensor t = {0};
        int32_t entry = 0;
        const char *name = two ? "decoder.1.cross_attn.k.bias" : "blocks.1.attn.k.bias";
        while (strcmp(t.name, name)) CHECK_INT(gf_model_tensor(m, entry++, &t), GF_OK);
        if (two) encode(f16, 4, 0), encode(other, 4, 0);
        run(f16, 3, 0);
        run(other, 3, 0);
        const float large[20] = {0, 7e4f}, usual[20] = {0};
        CHECK_OK(gf_tensor_put(m, entry - 1, 0, large, &err));
        const int32_t ids[] = {1, 2}, before = gf_session_length(f16);
        if (two) {
            CHECK_REFUSED(gf_session_encode(f16, ids, NULL, NULL, 2, &err), GF_ERR_NOT_FINITE, "position 0 has a key");
            CHECK_REFUSED(gf_session_eval(f16, ids, 2, &err), GF_ERR_STATE, "needs a source");
        } else {
            CHECK_REFUSED(gf_session_eval(f16, ids, 2, &err), GF_ERR_NOT_FINITE, "position 3 has a key");
            CHECK_INT(gf_session_length(f16), before);
            struct gf_session *both[] = {other, f16};
            CHECK_REFUSED(gf_eval_batch(both, ids, 2, &err), GF_ERR_NOT_FINITE, "position 3 has a key");
            CHECK_INT(gf_session_length(other), 3);
            CHECK(gf_session_logits(other, 2, 1, &err) != NULL);
        }
        CHECK_OK(gf_tensor_put(m, entry - 1, 0, usual, &err));
        if (two) encode(f16, 4, 0), run(f16, 3, 0);
        run(f16, 2, 0);
        run(other, 2, 0);
        check_same_logits(f16, other);
        gf_session_close(f16);
        gf_session_close(other);
        gf_model_close(m);
    }
}

/* Save a session of `length` positions, restore it into an empty one, and continue both. */
static void save_at(const struct gf_model *m, int32_t type, int32_t length) {
    struct gf_session *s = gf_session_open(m, 0, type, &err), *r = gf_session_open(m, 0, type, &err);
    run(s, 200, 1); /* positions that are dropped must not be in the bytes */
    CHECK_INT(gf_session_rewind(s, 0, &err), GF_OK);
    run(s, length, 0);
    const uint64_t n_bytes = gf_session_block_bytes(s);
    uint8_t *bytes = malloc((size_t)n_bytes), *again = malloc((size_t)n_bytes);
    CHECK(bytes && again);
    if (!bytes || !again) exit(1);
    const int32_t blocks = (length + GF_KV_BLOCK - 1) / GF_KV_BLOCK;
    struct gf_session *fresh = gf_session_open(m, 0, type, &err);
    run(fresh, length, 0);
    for (int32_t b = 0; b < blocks; b++) {
        int32_t ids[GF_KV_BLOCK + 1] = {0}, n = length - b * GF_KV_BLOCK;
        if (n > GF_KV_BLOCK) n = GF_KV_BLOCK;
        for (int32_t i = 0; i < n; i++) ids[i] = id(b * GF_KV_BLOCK + i) % 37;
        CHECK_INT(gf_session_save(s, b, bytes, n_bytes, &err), GF_OK);
        CHECK_INT(gf_session_save(fresh, b, again, n_bytes, &err), GF_OK);
        CHECK_BITS(bytes, again, n_bytes);
        const int32_t before = gf_session_length(r);
        char sentence[80];
        snprintf(sentence, sizeof sentence, "a block of the cache has %d bytes, not %d", (int)n_bytes,
                 (int)n_bytes - 1);
        CHECK_INT(gf_session_restore(r, ids, n, bytes, n_bytes - 1, &err), GF_ERR_ARGUMENT);
        CHECK(!strcmp(err.text, sentence));
        CHECK_INT(gf_session_restore(r, ids, 0, bytes, n_bytes, &err), GF_ERR_ARGUMENT);
        CHECK_INT(gf_session_restore(r, ids, GF_KV_BLOCK + 1, bytes, n_bytes, &err) == GF_OK, 0);
        ids[n - 1] += 37;
        CHECK_INT(gf_session_restore(r, ids, n, bytes, n_bytes, &err), GF_ERR_TOKEN);
        ids[n - 1] -= 37;
        /* NaN or infinity in the first element, and in the last one of the block (a scale of q8) */
        for (int last = 0; last <= 1; last++) {
            const uint32_t size = type == GF_KV_F16 ? 2 : 4, bad = type == GF_KV_F16 ? 0x7c00u
                                                                   : last            ? 0x7fc00000u
                                                                                     : 0xff800000u;
            const uint32_t kept_size = type == GF_KV_Q8 && !last ? 1 : size, value = kept_size == 1 ? 0x80u : bad;
            uint8_t *at = bytes + (last ? n_bytes - size : 0);
            uint8_t kept[4];
            memcpy(kept, at, kept_size);
            memcpy(at, &value, kept_size); /* little-endian, as every machine here */
            CHECK_INT(gf_session_restore(r, ids, n, bytes, n_bytes, &err), GF_ERR_NOT_FINITE);
            memcpy(at, kept, kept_size);
        }
        CHECK_INT(gf_session_length(r), before);
        CHECK_INT(gf_session_restore(r, ids, n, bytes, n_bytes, &err), GF_OK);
        CHECK(gf_session_logits(r, 0, 1, &err) == NULL); /* no pass has been run */
        CHECK_INT(gf_session_save(r, b, again, n_bytes, &err), GF_OK);
        CHECK_BITS(bytes, again, n_bytes);
        if (n < GF_KV_BLOCK) CHECK_INT(gf_session_restore(r, ids, 1, bytes, n_bytes, &err), GF_ERR_ARGUMENT);
    }
    CHECK_INT(gf_session_length(r), length);
    CHECK_INT(gf_session_save(s, blocks, bytes, n_bytes, &err), GF_ERR_ARGUMENT);
    CHECK_INT(gf_session_save(s, -1, bytes, n_bytes, &err), GF_ERR_ARGUMENT);
    if (blocks) CHECK_INT(gf_session_save(s, 0, bytes, n_bytes + 1, &err), GF_ERR_ARGUMENT);
    for (int step = 0; step < 2; step++) {
        run(r, 1 + 66 * step, 0);
        run(fresh, 1 + 66 * step, 0);
        check_same_logits(r, fresh);
    }
    free(bytes);
    free(again);
    gf_session_close(s);
    gf_session_close(r);
    gf_session_close(fresh);
}

static void a_saved_session_continues_with_the_same_bits(void) {
    struct gf_model *m = small_model(GF_DECODER);
    for (int32_t type = 0; type < GF_N_KV_TYPES; type++)
        for (int i = 0; i < N_LENGTHS; i++) save_at(m, type, lengths[i]);
    gf_model_close(m);
}

/* After a rewind the keys are rotated for the longer sequence: saving was refused. */
static void a_rewound_session_saves_the_bytes_of_one_that_was_never_longer(void) {
    for (int32_t kind = GF_ROPE_SCALING_DYNAMIC; kind <= GF_ROPE_SCALING_LONGROPE; kind++) {
        struct gf_config c = small_config(GF_DECODER);
        c.rope_scaling = kind, c.rope_factor = 2, c.rope_original_context = 20;
        if (kind == GF_ROPE_SCALING_LONGROPE)
            for (int i = 0; i < 3; i++)
                c.rope_short_factors.at[c.rope_short_factors.n++] = 1,
                c.rope_long_factors.at[c.rope_long_factors.n++] = 4;
        struct gf_model *m = random_model(&c, 5, 0.5f);
        struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err), *fresh = gf_session_open(m, 0, GF_KV_F32, &err);
        int32_t dims[3];
        CHECK_OK(gf_session_capture(s, 0, 1, GF_P_Q, 1, &err));
        run(s, 30, 0);
        CHECK_OK(gf_session_rewind(s, 10, &err));
        run(fresh, 10, 0);
        const size_t n = (size_t)gf_session_block_bytes(s);
        uint8_t *a = malloc(n), *b = malloc(n);
        float before[30 * 12];
        memcpy(before, gf_session_captured(s, 0, 1, GF_P_Q, dims), sizeof before);
        CHECK_OK(gf_session_save(s, 0, a, n, &err));
        CHECK_OK(gf_session_save(fresh, 0, b, n, &err));
        CHECK_BITS(a, b, n);
        CHECK_BITS(gf_session_captured(s, 0, 1, GF_P_Q, dims), before, sizeof before);
        CHECK_INT(gf_session_length(s), 10);
        run(s, 15, 0);
        run(fresh, 15, 0);
        check_same_logits(s, fresh);
        free(a), free(b);
        gf_session_close(s), gf_session_close(fresh);
        gf_model_close(m);
    }
}

int main(void) {
    RUN(a_rewound_session_saves_the_bytes_of_one_that_was_never_longer);
    RUN(each_type_holds_what_it_promises);
    RUN(an_eval_whose_keys_do_not_fit_f16_is_refused);
    RUN(a_saved_session_continues_with_the_same_bits);
    RUN(nan_in_a_query_key_or_value_reaches_its_results_only);
    RUN(a_fork_allocates_the_blocks_of_its_length);
    RUN(a_fork_keeps_the_source_of_its_original);
    return check_end();
}
