/* reference_test.c - src/reference/decoder.c and the engine compute the same logits and draw the same tokens. The node
 * tests compare both on the shipped models. */
#include "reference/decoder.c"
#include "check.h"
#include "golden.h"
#include "model/session/session.h"

static struct gf_error err;

enum { MOST_LOGITS = 1 << 14 };

/* The largest difference of two rows of logits, as a share of the largest |logit|. */
static double difference(const double *want, const float *got, int64_t n) {
    double most = 0, largest = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = fabs(want[i] - (double)got[i]);
        if (!(d <= most)) most = d; /* NaN too */
        largest = fmax(largest, fabs(want[i]));
    }
    return most / largest;
}

/* The engine's logits for n tokens, passed in one call and one by one, are those of the reference. */
static void compare(const struct gf_model *m, const int32_t *ids, int32_t n) {
    static double want[MOST_LOGITS];
    const struct gf_config *c = gf_model_config(m);
    CHECK(n * c->vocab_size <= MOST_LOGITS);
    CHECK_INT(gf_reference_logits(want, &m->w, c, ids, n), GF_OK);
    for (int32_t step = n; step > 0; step = step == n && n > 1 ? 1 : 0) {
        struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
        for (int32_t i = 0; i < n; i += step) {
            CHECK_INT(gf_session_eval(s, ids + i, step, &err), GF_OK);
            const float *got = gf_session_logits(s, 0, step, &err);
            CHECK_NEAR(difference(want + i * c->vocab_size, got, step * c->vocab_size), 0, 1e-4);
        }
        gf_session_close(s);
    }
}

/* The golden files set bias_norm where a norm has no bias; a complete configuration does not. */
static int is_covered(const struct gf_config *cfg) {
    struct gf_config c = *cfg;
    uint8_t given[GF_N_FIELDS];
    memset(given, 1, sizeof given);
    return gf_config_complete(&c, given, &err) == GF_OK && gf_reference_covers(&c) == GF_OK;
}

static void golden_models_have_the_reference_logits(void) {
    int32_t n_runs = 0, n_models = 0;
    for (int32_t i = 0; i < N_GOLDEN; i++) {
        struct golden g;
        golden_open(&g, golden_names[i]);
        const int32_t before = n_runs;
        for (int32_t r = 0; r < g.n_runs; r++) {
            if (!is_covered(&g.runs[r].cfg)) continue;
            struct gf_model *m = golden_model(&g, &g.runs[r].cfg, NULL, &err);
            compare(m, g.runs[r].ids, g.runs[r].n);
            gf_model_close(m);
            n_runs++;
        }
        n_models += n_runs > before;
        if (n_runs > before) printf("  %s: %d of %d runs\n", golden_names[i], n_runs - before, g.n_runs);
        golden_close(&g);
    }
    CHECK_INT(n_models, 10);
}

/* A model of every activation, and of every norm, position and head that the reference covers. */
static void variants_have_the_reference_logits(void) {
    static const int32_t ids[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
    enum { N = GF_WORDS_ffn };
    for (int32_t i = 0; i < 12 * N; i++) {
        if (i % N == GF_NO_FFN) continue;
        struct gf_config c;
        gf_config_default(&c);
        c.vocab_size = 11, c.d_model = 24, c.n_layers = 2, c.n_heads = 4, c.n_kv_heads = 1 << i % 3, c.d_head = 6;
        c.d_ff = 17, c.ffn = i % N, c.norm = c.final_norm_kind = i / N % 2, c.tie_word_embeddings = i % 5 != 0;
        c.bias_norm = c.norm == GF_LAYERNORM, c.context_length = 16;
        c.position = (const int32_t[]){GF_POS_NONE, GF_POS_LEARNED, GF_POS_ROPE}[i / N / 2 % 3];
        c.rope_pairs = i / N / 6, c.rotary_dim = i % 7 == 0 && c.position == GF_POS_ROPE ? 4 : 0;
        CHECK_INT(gf_reference_covers(&c), GF_OK);
        struct gf_model *m = gf_model_open(&c, NULL, &err);
        CHECK_INT(gf_model_randomize(m, (uint64_t)i, 0.3f, &err), GF_OK);
        compare(m, ids, 12);
        gf_model_close(m);
    }
}

/* Logits from few values, so that many tie. */
static void fill_logits(float *logits, int32_t n, uint64_t *random) {
    for (int32_t i = 0; i < n; i++) logits[i] = 0.25f * (float)(test_random(random) % 24);
    if (n > 3) logits[test_random(random) % (uint64_t)n] = -INFINITY;
}

static void distributions_are_those_of_the_reference(void) {
    enum { N = 60 };
    static const float temperatures[] = {0, 0.3f, 1, 2.5f}, top_ps[] = {1, 0.95f, 0.5f, 0.1f};
    uint64_t random = 5;
    for (int32_t i = 0; i < 4 * 4 * 40; i++) {
        const int32_t n = 1 + (int32_t)(test_random(&random) % N);
        const struct gf_sampling p = SAMPLER(.temperature = temperatures[i % 4], .top_p = top_ps[i / 4 % 4],
                                             .top_k = (int32_t)(test_random(&random) % 30));
        float logits[N], got[N];
        double want[N];
        fill_logits(logits, n, &random);
        CHECK_INT(gf_distribution(got, logits, n, &p, NULL, NULL, 0, &err), GF_OK);
        gf_reference_distribution(want, logits, n, p.temperature, p.top_k, p.top_p);
        for (int32_t k = 0; k < n; k++) {
            CHECK((got[k] > 0) == (want[k] > 0));
            CHECK_NEAR((double)got[k], want[k], 1e-6);
        }
    }
}

/* Four equal tokens: top-k 2 keeps all four, and with top-p one half three stay, because two do not exceed it. */
static void ties_at_k_stay_and_top_p_stops_above_p(void) {
    static const float logits[] = {1, 1, 1, 1, 0};
    double p[5];
    gf_reference_distribution(p, logits, 5, 1, 2, 1);
    for (int i = 0; i < 5; i++) CHECK_NEAR(p[i], i < 4 ? 0.25 : 0, 1e-15);
    gf_reference_distribution(p, logits, 5, 1, 4, 0.5f);
    for (int i = 0; i < 5; i++) CHECK_NEAR(p[i], i < 3 ? 1.0 / 3 : 0, 1e-15);
}

static void draws_are_those_of_the_reference(void) {
    struct gf_config c;
    gf_config_default(&c);
    c.vocab_size = 50, c.d_model = 16, c.n_layers = 1, c.n_heads = c.n_kv_heads = 2, c.d_head = 8, c.d_ff = 16;
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    CHECK_INT(gf_model_randomize(m, 3, 0.5f, &err), GF_OK);
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    struct gf_rng rng;
    gf_session_seed(s, 11);
    gf_rng_seed(&rng, 11);
    const struct gf_sampling sampling = SAMPLER(.temperature = 0.9f, .top_p = 0.9f, .top_k = 20);
    struct gf_choice choice = {7, 0};
    for (int32_t i = 0; i < 200; i++) {
        double p[50];
        CHECK_INT(gf_session_eval(s, &choice.id, 1, &err), GF_OK);
        gf_reference_distribution(p, gf_session_logits(s, 0, 1, &err), 50, 0.9f, 20, 0.9f);
        CHECK_INT(gf_session_sample(s, &sampling, NULL, &choice, &err), GF_OK);
        CHECK_INT(choice.id, gf_reference_draw(p, 50, gf_rng_uniform(&rng)));
    }
    gf_session_close(s);
    gf_model_close(m);
}

/* An activation that decoder.c does not have must not be computed as another one. */
static void an_unknown_activation_is_refused_and_gives_nan(void) {
    struct gf_config c;
    gf_config_default(&c);
    c.vocab_size = 11, c.d_model = 16, c.n_layers = 1, c.n_heads = c.n_kv_heads = 2, c.d_head = 8, c.d_ff = 16;
    for (int32_t k = -1; k < 64; k++) {
        c.ffn = k;
        const int is_known = k != GF_NO_FFN && k >= 0 && gf_field_word(GF_FIELD_ffn, k);
        CHECK(isnan(activate(gf_ffn_activation(&c), 1)) == !is_known);
        CHECK_INT(gf_reference_covers(&c), is_known ? GF_OK : GF_ERR_UNSUPPORTED);
    }
}

/* Every field outside the list of the reference is refused when it has another value than its default. */
static void what_the_reference_does_not_compute_is_refused(void) {
    static const struct {
        int32_t field;
        double value;
    } others[] = {{GF_FIELD_kind, GF_ENCODER},
                  {GF_FIELD_n_experts, 2},
                  {GF_FIELD_norm_placement, GF_POST_NORM},
                  {GF_FIELD_final_norm, 0},
                  {GF_FIELD_norm_gain, 0},
                  {GF_FIELD_embed_norm, 1},
                  {GF_FIELD_parallel_residual, 1},
                  {GF_FIELD_qk_norm, 1},
                  {GF_FIELD_position, GF_POS_ALIBI},
                  {GF_FIELD_rope_scaling, 1},
                  {GF_FIELD_sliding_window, 4},
                  {GF_FIELD_score_softcap, 30},
                  {GF_FIELD_embedding_scale, 2},
                  {GF_FIELD_causal, 0},
                  {GF_FIELD_scale_scores, 0},
                  {GF_FIELD_use_position, 0},
                  {GF_FIELD_use_residual, 0},
                  {GF_FIELD_use_norm, 0},
                  {GF_FIELD_use_final_norm, 0},
                  {GF_FIELD_rope_layers, 1},
                  {GF_FIELD_d_embed, 8},
                  {GF_FIELD_rope_attention_factor, 2},
                  {GF_FIELD_position, GF_POS_SINUSOIDAL}};
    struct gf_config plain;
    gf_config_default(&plain);
    plain.vocab_size = 11, plain.d_model = 16, plain.n_layers = 1, plain.n_heads = plain.n_kv_heads = 2;
    plain.d_head = 8, plain.d_ff = 16;
    CHECK_INT(gf_reference_covers(&plain), GF_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct gf_config c = plain;
        CHECK_INT(gf_config_set(&c, others[i].field, others[i].value, &err), GF_OK);
        CHECK_INT(gf_reference_covers(&c), GF_ERR_UNSUPPORTED);
    }
}

int main(void) {
    RUN(golden_models_have_the_reference_logits);
    RUN(variants_have_the_reference_logits);
    RUN(an_unknown_activation_is_refused_and_gives_nan);
    RUN(distributions_are_those_of_the_reference);
    RUN(ties_at_k_stay_and_top_p_stops_above_p);
    RUN(draws_are_those_of_the_reference);
    RUN(what_the_reference_does_not_compute_is_refused);
    return check_end();
}
