/* corners_test.c - settings and orders of calls that golden models and the other tests do not have. For each there was
 * a planted fault that no other native test detected. */
#include "status.h"
#include "glassformer.h"
#include "model/layers/position_tables.h"
#include <math.h>
#include <stdlib.h>

enum { VOCAB = 37 };

static struct gf_config config(int32_t kind) {
    struct gf_config c = decoder_config(VOCAB, 12, 2, 2, 10, 200);
    c.kind = kind, c.n_kv_heads = 1;
    c.n_encoder_layers = kind == GF_ENCODER_DECODER, c.causal = kind != GF_ENCODER;
    return c;
}

static struct gf_session *open_session(const struct gf_model *m) {
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    CHECK(s != NULL);
    return s;
}

static int32_t id(int32_t at) { return (at * 29 + at / 7) % VOCAB; }

static void run(struct gf_session *s, int32_t n) {
    int32_t ids[200];
    for (int32_t i = 0; i < n; i++) ids[i] = id(gf_session_length(s) + i);
    CHECK_INT(gf_session_eval(s, ids, n, &err), GF_OK);
}

static void encode(struct gf_session *s, int32_t n, const uint8_t *mask) {
    int32_t ids[200];
    for (int32_t i = 0; i < n; i++) ids[i] = id(i + 3);
    CHECK_INT(gf_session_encode(s, ids, NULL, mask, n, &err), GF_OK);
}

/* Check that the last rows' logits of both sessions have the same bits, or, with same = 0, that they differ. */
static void check_same_logits(struct gf_session *a, struct gf_session *b, int same) {
    int32_t rows_a, rows_b;
    gf_session_hidden(a, GF_STACK_DECODER, &rows_a);
    gf_session_hidden(b, GF_STACK_DECODER, &rows_b);
    const float *x = gf_session_logits(a, rows_a - 1, 1, &err), *y = gf_session_logits(b, rows_b - 1, 1, &err);
    CHECK(x && y);
    if (x && y) CHECK_INT(!memcmp(x, y, VOCAB * sizeof *x), same);
}

/* Press et al. 2022, get_slopes(12): those of 8 heads, then every second one of 16. */
static void the_slopes_of_alibi_are_those_of_its_authors(void) {
    const struct gf_config c = {.n_heads = 12, .alibi_max = 8};
    for (int32_t head = 0; head < 12; head++)
        CHECK_NEAR(log2((double)gf_alibi_slope(&c, 0, head)), head < 8 ? -1 - head : -0.5 - (head - 8), 1e-6);
}

static void logits_of_other_rows_are_computed_anew(void) {
    const struct gf_config c = config(GF_DECODER);
    struct gf_model *m = random_model(&c, 5, 0.5f);
    struct gf_session *s = open_session(m);
    float all[6 * VOCAB];
    run(s, 6);
    const float *x = gf_session_logits(s, 0, 6, &err);
    CHECK(x != NULL);
    if (x) memcpy(all, x, sizeof all);
    static const int32_t rows[] = {3, 0, 2, 1, 4, 0, 4, 3};
    for (int i = 0; i < 8; i++) {
        x = gf_session_logits(s, rows[i], 2, &err);
        CHECK(x && !memcmp(x, all + rows[i] * VOCAB, 2 * VOCAB * sizeof *x));
    }
    gf_session_close(s);
    gf_model_close(m);
}

static void sources_of_one_pass_have_the_bits_of_single_calls(void) {
    struct gf_config c = config(GF_ENCODER);
    c.pooler = c.mlm_head = 1, c.n_token_types = 2, c.position = GF_POS_LEARNED, c.position_pad_id = 4;
    c.position_offset = 1;
    struct gf_model *m = random_model(&c, 5, 0.5f);
    struct gf_session *s = open_session(m), *one = open_session(m);
    static const int32_t lengths[] = {5, 1, 70, 30};
    int32_t ids[106], types[106], n;
    uint8_t mask[106];
    for (int32_t i = 0; i < 106; i++) ids[i] = id(i), types[i] = i % 3 == 0, mask[i] = i % 5 != 1;
    for (int how = 0; how < 4; how++) { /* with types, with a mask */
        const int32_t *t = how & 1 ? types : NULL;
        const uint8_t *shown = how & 2 ? mask : NULL;
        CHECK_INT(gf_encode_batch(s, ids, t, shown, lengths, 4, &err), GF_OK);
        const float *hidden = gf_session_hidden(s, GF_STACK_ENCODER, &n), *pooled = gf_session_pooled(s),
                    *logits = gf_session_logits(s, 0, 106, &err);
        CHECK_INT(n, 106);
        for (int32_t i = 0, row = 0; i < 4; row += lengths[i++]) {
            const size_t rows = (size_t)lengths[i], width = (size_t)c.d_model;
            CHECK_INT(
                gf_session_encode(one, ids + row, t ? t + row : NULL, shown ? shown + row : NULL, lengths[i], &err),
                GF_OK);
            const float *h = gf_session_hidden(one, GF_STACK_ENCODER, &n), *p = gf_session_pooled(one),
                        *l = gf_session_logits(one, 0, lengths[i], &err);
            CHECK_INT(n, lengths[i]);
            CHECK(!memcmp(hidden + (size_t)row * width, h, rows * width * sizeof *h));
            CHECK(!memcmp(pooled + (size_t)i * width, p, width * sizeof *p));
            CHECK(!memcmp(logits + (size_t)row * VOCAB, l, rows * VOCAB * sizeof *l));
        }
    }
    CHECK_REFUSED(gf_encode_batch(s, ids, NULL, NULL, lengths, 0, &err), GF_ERR_ARGUMENT, "1 to 64");
    CHECK_REFUSED(gf_encode_batch(s, ids, NULL, NULL, (int32_t[]){5, 0}, 2, &err), GF_ERR_ARGUMENT, "at least one");
    CHECK_OK(gf_session_capture(s, GF_STACK_ENCODER, 0, GF_P_Q, 1, &err));
    CHECK_REFUSED(gf_encode_batch(s, ids, NULL, NULL, lengths, 2, &err), GF_ERR_STATE, "without captures");
    gf_session_close(s), gf_session_close(one);
    gf_model_close(m);
}

static void a_fork_has_the_context_length_of_its_original(void) {
    const struct gf_config c = config(GF_DECODER);
    struct gf_model *m = random_model(&c, 5, 0.5f);
    struct gf_session *s = gf_session_open(m, 50, GF_KV_F32, &err);
    run(s, 50);
    struct gf_session *f = gf_session_fork(s, &err);
    const int32_t one = 1;
    CHECK_INT(gf_session_context(f), 50);
    CHECK_INT(gf_session_eval(f, &one, 1, &err), GF_ERR_CONTEXT);
    gf_session_close(f);
    gf_session_close(s);
    gf_model_close(m);
}

/* The second session's source is longer than any that the first has allocated for. */
static void sessions_evaluated_together_keep_their_own_sources(void) {
    const struct gf_config c = config(GF_ENCODER_DECODER);
    struct gf_model *m = random_model(&c, 5, 0.5f);
    static const int32_t sources[] = {5, 180, 70};
    struct gf_session *s[3], *alone[3];
    int32_t ids[3];
    for (int i = 0; i < 3; i++) {
        s[i] = open_session(m), alone[i] = open_session(m);
        encode(s[i], sources[i], NULL), encode(alone[i], sources[i], NULL);
        ids[i] = id(0);
    }
    CHECK_INT(gf_eval_batch(s, ids, 3, &err), GF_OK);
    for (int i = 0; i < 3; i++) {
        run(alone[i], 1);
        check_same_logits(s[i], alone[i], 1);
        gf_session_close(s[i]);
        gf_session_close(alone[i]);
    }
    gf_model_close(m);
}

static void a_source_without_a_mask_ignores_the_mask_of_the_one_before(void) {
    const struct gf_config c = config(GF_ENCODER_DECODER);
    struct gf_model *m = random_model(&c, 5, 0.5f);
    struct gf_session *s = open_session(m), *fresh = open_session(m);
    uint8_t mask[20];
    for (int i = 0; i < 20; i++) mask[i] = i % 3 == 0;
    encode(s, 20, mask);
    run(s, 3);
    encode(s, 20, NULL);
    encode(fresh, 20, NULL);
    run(s, 3);
    run(fresh, 3);
    check_same_logits(s, fresh, 1);
    encode(s, 20, mask);
    run(s, 3);
    check_same_logits(s, fresh, 0); /* the mask has an effect */
    gf_session_close(s);
    gf_session_close(fresh);
    gf_model_close(m);
}

/* Scores outside the causal mask or the window stay -inf after an edit. */
static void edits_do_not_unmask_masked_scores(void) {
    struct gf_config c = config(GF_DECODER);
    c.sliding_window = 4;
    struct gf_model *m = random_model(&c, 5, 0.5f);
    const float three = 3;
    int32_t dims[3];
    for (int32_t op = GF_EDIT_SCALE; op <= GF_EDIT_ADD; op++) {
        struct gf_session *s = open_session(m);
        CHECK_INT(gf_session_edit(s, 0, 1, GF_P_SCORES, -1, -1, -1, op, 0, &three, 1, &err), GF_OK);
        CHECK_INT(gf_session_capture(s, 0, 1, GF_P_SCORES, 1, &err), GF_OK);
        CHECK_INT(gf_session_capture(s, 0, 1, GF_P_PATTERN, 1, &err), GF_OK);
        run(s, 12);
        for (int point = 0; point < 2; point++) {
            const float *x = gf_session_captured(s, 0, 1, point ? GF_P_PATTERN : GF_P_SCORES, dims);
            CHECK(x && dims[0] == 2 && dims[1] == 12 && dims[2] == 12);
            for (int32_t i = 0; x && i < 2 * 12 * 12; i++) {
                const int32_t key = i % 12, query = i / 12 % 12;
                const int seen = key <= query && key > query - 4;
                CHECK(point ? (x[i] != 0) == seen : (x[i] != -INFINITY) == seen && !isnan(x[i]));
            }
        }
        gf_session_close(s);
    }
    gf_model_close(m);
}

static void a_session_with_edits_cannot_join_others_but_its_fork_can(void) {
    const struct gf_config c = config(GF_DECODER);
    struct gf_model *m = random_model(&c, 5, 0.5f);
    struct gf_session *s = open_session(m), *plain = open_session(m);
    const int32_t one = id(0);
    CHECK_INT(gf_session_edit(s, 0, 0, GF_P_Z, 0, -1, -1, GF_EDIT_SCALE, 0, NULL, 0, &err), GF_OK);
    CHECK_INT(gf_eval_batch(&s, &one, 1, &err), GF_ERR_STATE);
    struct gf_session *fork = gf_session_fork(s, &err);
    CHECK_INT(gf_eval_batch(&fork, &one, 1, &err), GF_OK);
    run(plain, 1);
    check_same_logits(fork, plain, 1);
    gf_session_close(fork);
    gf_session_close(s);
    gf_session_close(plain);
    gf_model_close(m);
}

static void a_trace_covers_the_last_call_only(void) {
    const struct gf_config c = config(GF_DECODER);
    struct gf_model *m = random_model(&c, 5, 0.5f);
    struct gf_session *s = open_session(m);
    int32_t first, n;
    CHECK_INT(gf_session_trace(s, 1, &err), GF_OK);
    run(s, 3);
    CHECK(gf_session_traced(s, &first) && first > 20);
    for (int i = 0; i < 3; i++) {
        run(s, 3);
        CHECK(gf_session_traced(s, &n) != NULL);
        CHECK_INT(n, first);
    }
    gf_session_close(s);
    gf_model_close(m);
}

static void tensors_that_share_a_product_keep_a_type_each(void) {
    struct gf_config c = config(GF_DECODER);
    c.d_model = 64, c.d_head = 32, c.d_ff = 64;
    static const char *const odd[] = {"blocks.0.attn.q.weight", "blocks.0.attn.v.weight", "blocks.1.ffn.up.weight"};
    const int32_t n = gf_roster_count(&c);
    for (int i = 0; i < 3; i++) {
        uint8_t dtypes[64];
        memset(dtypes, GF_Q8_0, sizeof dtypes);
        struct gf_tensor t;
        for (int32_t e = 0; gf_roster_tensor(&c, e, &t) == GF_OK && e < 64; e++)
            if (!strcmp(t.name, odd[i])) dtypes[e] = GF_Q4_0;
        struct gf_model *m = gf_model_open(&c, dtypes, &err);
        CHECK(m != NULL);
        if (!m) return;
        for (int32_t e = 0; e < n; e++) {
            CHECK_INT(gf_model_tensor(m, e, &t), GF_OK);
            CHECK_INT(t.dtype, t.rank == 1 ? GF_F32 : !strcmp(t.name, odd[i]) ? GF_Q4_0 : GF_Q8_0);
        }
        gf_model_close(m);
    }
}

/* The formula of Llama 3.1, with factors other than Meta's. */
static void llama3_scaling_follows_its_factors(void) {
    static const struct {
        float factor, low, high;
        int32_t old;
    } cases[] = {{8, 1, 4, 8192}, {4, 2, 8, 512}, {32, 0.5f, 3, 100}, {2, 3, 5, 4096}};
    for (int i = 0; i < 4; i++) {
        struct gf_config c = config(GF_DECODER);
        float table[2 * 64];
        int32_t kinds[3] = {0};
        c.d_head = 64, c.rope_scaling = GF_ROPE_SCALING_LLAMA3, c.rope_theta = 500000;
        c.rope_factor = cases[i].factor, c.rope_low_freq_factor = cases[i].low;
        c.rope_high_freq_factor = cases[i].high, c.rope_original_context = cases[i].old;
        gf_position_table(&c, table, 10, 2, 0);
        for (int j = 0; j < 32; j++) {
            const double f = pow(500000, -2.0 * j / 64), wave = 2 * acos(-1) / f, old = cases[i].old,
                         low = (double)cases[i].low, high = (double)cases[i].high, factor = (double)cases[i].factor;
            const double smooth = (old / wave - low) / (high - low),
                         t = smooth < 0   ? 0
                             : smooth > 1 ? 1
                                          : smooth,
                         angle = 11 * ((1 - t) * f / factor + t * f);
            kinds[smooth <= 0 ? 0 : smooth >= 1 ? 2 : 1]++;
            CHECK_NEAR(table[64 + j], cos(angle), 1e-7);
            CHECK_NEAR(table[64 + 32 + j], sin(angle), 1e-7);
        }
        CHECK(kinds[0] && kinds[1] && kinds[2]);
    }
}

/* The token at which the sum exceeds p stays: if the sum is exactly p, the next one too. Temperature 0 applies the
 * repetition penalty like any other. */
static void sampling_at_the_limits_of_its_settings(void) {
    const float equal[] = {1, 1, 1, 1, -INFINITY, 1}, two[] = {2, 1.5f, 1.9f, -3};
    const struct gf_sampling half = SAMPLER(.top_p = 0.6f),
                             cold = SAMPLER(.temperature = 0, .repetition_penalty = 1.2f);
    float probs[6];
    CHECK_INT(gf_distribution(probs, equal, 6, &half, NULL, NULL, 0, &err), GF_OK);
    for (int i = 0; i < 6; i++) CHECK_NEAR(probs[i], i < 4 ? 0.25 : 0, 1e-6);
    const struct gf_sampling quarter = SAMPLER(.top_p = 0.5f);
    CHECK_INT(gf_distribution(probs, equal, 4, &quarter, NULL, NULL, 0, &err), GF_OK);
    for (int i = 0; i < 4; i++) CHECK_NEAR(probs[i], i < 3 ? 1.0 / 3 : 0, 1e-6);
    const int32_t seen = 0;
    CHECK_INT(gf_distribution(probs, two, 4, &cold, NULL, &seen, 1, &err), GF_OK);
    for (int i = 0; i < 4; i++) CHECK(probs[i] == (i == 2));

    const struct gf_config c = config(GF_DECODER);
    struct gf_model *m = random_model(&c, 5, 0.5f);
    struct gf_session *s = open_session(m);
    int32_t differ = 0;
    for (int i = 0; i < 30; i++) {
        struct gf_choice choice;
        const struct gf_sampling strong = SAMPLER(.temperature = 0, .repetition_penalty = 5);
        run(s, 1);
        const float *x = gf_session_logits(s, 0, 1, &err);
        CHECK(x != NULL);
        if (!x) return;
        int32_t held[30], best = 0;
        for (int k = 0; k <= i; k++) held[k] = id(k);
        float y[VOCAB];
        CHECK_INT(gf_distribution(y, x, VOCAB, &strong, NULL, held, i + 1, &err), GF_OK);
        while (best < VOCAB && y[best] == 0) best++;
        int32_t plain = 0;
        for (int32_t k = 1; k < VOCAB; k++)
            if (x[k] > x[plain]) plain = k;
        differ += plain != best;
        CHECK_INT(gf_session_sample(s, &strong, NULL, &choice, &err), GF_OK);
        CHECK_INT(choice.id, best);
    }
    CHECK(differ > 3);
    gf_session_close(s);
    gf_model_close(m);
}

int main(void) {
    RUN(the_slopes_of_alibi_are_those_of_its_authors);
    RUN(logits_of_other_rows_are_computed_anew);
    RUN(sources_of_one_pass_have_the_bits_of_single_calls);
    RUN(a_fork_has_the_context_length_of_its_original);
    RUN(sessions_evaluated_together_keep_their_own_sources);
    RUN(a_source_without_a_mask_ignores_the_mask_of_the_one_before);
    RUN(edits_do_not_unmask_masked_scores);
    RUN(a_session_with_edits_cannot_join_others_but_its_fork_can);
    RUN(a_trace_covers_the_last_call_only);
    RUN(tensors_that_share_a_product_keep_a_type_each);
    RUN(llama3_scaling_follows_its_factors);
    RUN(sampling_at_the_limits_of_its_settings);
    return check_end();
}
