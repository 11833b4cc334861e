/* sample_test.c - sampling: the distribution is compared with its definition in double, the draws with the
 * distribution. */
#include "status.h"
#include "golden.h"
#include <stdlib.h>

static uint64_t seed = 77;
static double uniform(void) { return (double)(test_random(&seed) >> 11) * 0x1p-53; }
static int32_t below(int32_t n) { return (int32_t)(uniform() * n); }

enum { MOST = 400 };

/* ---- the definition ---------------------------------------------------------------------------------------------- */

static const double *sort_by;
static int more_likely_first(const void *a, const void *b) {
    const int32_t i = *(const int32_t *)a, k = *(const int32_t *)b;
    if (sort_by[i] != sort_by[k]) return sort_by[i] > sort_by[k] ? -1 : 1;
    return i - k;
}

/* How close a decision of the definition is to its limit. Below a bound float may decide differently from double. */
static double edge;

/* Penalty, bias, allowed tokens, temperature, top-k, top-p, min-p, one after the other, in double. */
static void define(double *probs, const float *logits, int32_t n, const struct gf_sampling *p,
                   const struct gf_adjustment *a, const int32_t *seen, int32_t n_seen) {
    double x[MOST];
    int32_t order[MOST];
    edge = 1;
    for (int32_t i = 0; i < n; i++) {
        int32_t had = 0;
        for (int32_t k = 0; k < n_seen; k++) had |= seen[k] == i;
        const double r = (double)p->repetition_penalty;
        x[i] = (double)logits[i];
        if (had) x[i] = x[i] > 0 ? x[i] / r : x[i] * r;
        for (int32_t k = 0; a && k < a->n_bias; k++)
            if (a->bias_id[k] == i) x[i] += (double)a->bias[k];
        if (a && a->allowed && !(a->allowed[i / 32] & 1u << i % 32)) x[i] = -INFINITY;
        order[i] = i;
    }
    sort_by = x;
    qsort(order, (size_t)n, sizeof *order, more_likely_first);
    for (int32_t i = 0; i < n; i++) probs[i] = 0;
    if (p->temperature == 0) {
        probs[order[0]] = 1;
        return;
    }
    double sum = 0;
    int32_t kept = n;
    if (p->top_k > 0 && p->top_k < n) {
        kept = p->top_k;
        while (kept < n && x[order[kept]] == x[order[p->top_k - 1]]) kept++; /* tokens that tie with the k-th stay */
    }
    for (int32_t i = 0; i < kept; i++)
        sum += probs[order[i]] = exp((x[order[i]] - x[order[0]]) / (double)p->temperature);
    if (p->top_p < 1) {
        double mass = 0;
        int32_t i = 0;
        while (i < kept) { /* the token at which the sum exceeds p stays */
            mass += probs[order[i++]] / sum;
            edge = fmin(edge, fabs(mass - (double)p->top_p));
            if (mass > (double)p->top_p) break;
        }
        for (int32_t k = i; k < kept; k++) probs[order[k]] = 0;
        kept = i;
    }
    const double most = probs[order[0]];
    sum = 0;
    for (int32_t i = 0; i < kept; i++) {
        edge = fmin(edge, p->min_p > 0 ? fabs(probs[order[i]] / most - (double)p->min_p) : 1);
        if (probs[order[i]] < (double)p->min_p * most) probs[order[i]] = 0;
        sum += probs[order[i]];
    }
    for (int32_t i = 0; i < n; i++) probs[i] /= sum;
}

static void compare(const float *logits, int32_t n, const struct gf_sampling *p, const struct gf_adjustment *a,
                    const int32_t *seen, int32_t n_seen) {
    double want[MOST], sum = 0;
    float got[MOST];
    define(want, logits, n, p, a, seen, n_seen);
    if (edge < 1e-6) return;
    CHECK_INT(gf_distribution(got, logits, n, p, a, seen, n_seen, &err), GF_OK);
    /* the exponent's rounding becomes a relative error of the weight; logits lie within 12 */
    const double t = (double)p->temperature, bound = 2e-6 + (t > 0 ? 12 / t * 0x1p-23 : 0);
    for (int32_t i = 0; i < n; i++) {
        CHECK_NEAR((double)got[i], want[i], bound * want[i] + 1e-9);
        if (want[i] == 0) CHECK(got[i] == 0);
        sum += (double)got[i];
    }
    CHECK_NEAR(sum, 1, 1e-5);
}

static void distributions_match_the_definition_in_double(void) {
    for (int round = 0; round < 1500; round++) {
        const int32_t n = round % 10 ? 1 + below(60) : 1 + below(MOST);
        float logits[MOST];
        int32_t seen[12];
        for (int32_t i = 0; i < n; i++) {
            logits[i] = (float)(12 * uniform() - 6);
            if (round % 3 == 0) logits[i] = (float)below(6) - 2; /* ties, and exact zeros */
            if (round % 7 == 0 && below(4) == 0) logits[i] = -INFINITY;
        }
        logits[below(n)] = 3;
        for (int i = 0; i < 12; i++) seen[i] = below(n + 4) - 2; /* some outside the vocabulary */
        const struct gf_sampling p =
            SAMPLER(.temperature = round % 11 == 0 ? 0 : (float)(0.05 + 3 * uniform() * uniform()),
                    .top_p = below(2) ? 1 : (float)(0.02 + 0.97 * uniform()),
                    .min_p = below(2) ? 0 : (float)(0.4 * uniform()),
                    .repetition_penalty = below(2) ? 1 : (float)(0.5 + 1.5 * uniform()),
                    .top_k = below(2) ? 0 : 1 + below(n + 5));
        compare(logits, n, &p, NULL, seen, below(12));
        /* some ids outside the vocabulary, some twice; token `sure` stays */
        const int32_t sure = below(n);
        logits[sure] = 3;
        float bias[9];
        int32_t ids[9];
        uint32_t allowed[(MOST + 31) / 32];
        for (int i = 0; i < 9; i++) {
            ids[i] = below(n + 4) - 2;
            bias[i] = below(3) || ids[i] == sure ? (float)(4 * uniform() - 2) : -INFINITY;
        }
        for (int32_t i = 0; i < (n + 31) / 32; i++)
            allowed[i] = (uint32_t)below(1 << 16) << 16 | (uint32_t)below(1 << 16);
        allowed[sure / 32] |= 1u << sure % 32;
        const struct gf_adjustment a = {below(10), ids, bias, below(2) ? allowed : NULL};
        compare(logits, n, &p, &a, seen, below(12));
    }
}

/* Each setting by itself, with weights that can be computed by hand: 8, 4, 2, 1, 1. */
static void each_sampling_setting_matches_values_computed_by_hand(void) {
    const float ln2 = 0.693147180559945f, logits[5] = {ln2, 3 * ln2, 2 * ln2, 0, 0}; /* weights 2, 8, 4, 1, 1 */
    const struct {
        struct gf_sampling p;
        double sixteenths[5];
    } rows[] = {
        {SAMPLER(), {2, 8, 4, 1, 1}},
        {SAMPLER(.temperature = 0), {0, 16, 0, 0, 0}},
        {SAMPLER(.top_k = 1), {0, 16, 0, 0, 0}},
        {SAMPLER(.top_k = 2), {0, 32. / 3, 16. / 3, 0, 0}},
        {SAMPLER(.top_k = 4), {2, 8, 4, 1, 1}}, /* the fourth and fifth tie: both stay */
        {SAMPLER(.top_k = 99), {2, 8, 4, 1, 1}},
        {SAMPLER(.top_p = 0.4f), {0, 16, 0, 0, 0}},
        {SAMPLER(.top_p = 0.51f), {0, 32. / 3, 16. / 3, 0, 0}}, /* the token at which the sum exceeds p stays */
        {SAMPLER(.top_p = 0.8f), {16. * 2 / 14, 16. * 8 / 14, 16. * 4 / 14, 0, 0}},
        {SAMPLER(.top_p = 1e-6f), {0, 16, 0, 0, 0}},
        {SAMPLER(.min_p = 0.3f), {0, 32. / 3, 16. / 3, 0, 0}},
        {SAMPLER(.min_p = 1), {0, 16, 0, 0, 0}},
        {SAMPLER(.temperature = 0.5f), {16. * 4 / 86, 16. * 64 / 86, 16. * 16 / 86, 16. / 86, 16. / 86}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float got[5];
        CHECK_INT(gf_distribution(got, logits, 5, &rows[i].p, NULL, NULL, 0, &err), GF_OK);
        for (int k = 0; k < 5; k++) CHECK_NEAR((double)got[k] * 16, rows[i].sixteenths[k], 1e-5);
    }
    /* the penalty divides positive logits and multiplies negative ones, once for each token */
    const float both[3] = {2, -1, 0};
    const int32_t seen[5] = {0, 1, 0, 0, 1};
    const struct gf_sampling penalty = SAMPLER(.repetition_penalty = 2);
    float got[3];
    const double sum = exp(1) + exp(-2) + 1;
    CHECK_INT(gf_distribution(got, both, 3, &penalty, NULL, seen, 5, &err), GF_OK);
    CHECK_NEAR((double)got[0], exp(1) / sum, 1e-6);
    CHECK_NEAR((double)got[1], exp(-2) / sum, 1e-6);
    CHECK_NEAR((double)got[2], 1 / sum, 1e-6);
    /* neither overflow nor underflow of all weights */
    const float big[4] = {1e4f, 9.99e3f, -1e4f, 0};
    const struct gf_sampling plain = SAMPLER(.temperature = 0.5f);
    float four[4];
    CHECK_INT(gf_distribution(four, big, 4, &plain, NULL, NULL, 0, &err), GF_OK);
    CHECK_NEAR((double)four[0], 1 / (1 + exp(-20)), 1e-6);
    CHECK_NEAR((double)four[1], exp(-20) / (1 + exp(-20)), 1e-12);
    /* exactly p is not more than p: of four equal tokens, two of which have half of the sum, three stay */
    const float equal[4] = {1, 1, 1, 1};
    const struct gf_sampling half = SAMPLER(.top_p = 0.5f);
    CHECK_INT(gf_distribution(four, equal, 4, &half, NULL, NULL, 0, &err), GF_OK);
    CHECK_NEAR((double)four[2], 1.0 / 3, 1e-6);
    CHECK(four[3] == 0);
}

static void extreme_settings_give_finite_probabilities(void) {
    const float logits[4] = {1, 3, -2, 2.9f}, huge[4] = {3e38f, -3e38f, 0, 2.9e38f};
    const int32_t seen[2] = {0, 1};
    static const struct gf_sampling rows[] = {
        SAMPLER(.temperature = 1e-40f), SAMPLER(.temperature = 1e-45f, .top_p = 0.9f, .min_p = 0.1f, .top_k = 3),
        SAMPLER(.repetition_penalty = 1e-45f), SAMPLER(.temperature = 1e6f, .top_p = 0.5f, .repetition_penalty = 1e6f),
        SAMPLER(.top_p = 1e-30f, .repetition_penalty = 1e-30f), SAMPLER(.temperature = 0, .repetition_penalty = 1e-45f),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 2; k++) {
            float got[4];
            double sum = 0;
            CHECK_INT(gf_distribution(got, k ? huge : logits, 4, &rows[i], NULL, seen, 2, &err), GF_OK);
            for (int j = 0; j < 4; j++) sum += (double)got[j];
            CHECK_NEAR(sum, 1, 1e-5);
            if (i < 2) CHECK(got[k ? 0 : 1] == 1); /* a temperature near 0 is nearly greedy */
        }
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

static struct gf_model *model(void) {
    const struct gf_config c = decoder_config(30, 16, 1, 2, 24, 40);
    return random_model(&c, 5, 0.25f);
}

static void draws_follow_the_distribution(void) {
    const struct gf_sampling rows[] = {
        SAMPLER(), SAMPLER(.temperature = 0.7f), SAMPLER(.temperature = 1.5f, .top_k = 7), SAMPLER(.top_p = 0.8f),
        SAMPLER(.min_p = 0.2f),
        SAMPLER(.temperature = 2, .top_p = 0.9f, .min_p = 0.05f, .repetition_penalty = 1.4f, .top_k = 12),
        SAMPLER(.temperature = 1.5f, .repetition_penalty = 4),
    };
    struct gf_model *m = model();
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    const int32_t ids[6] = {3, 14, 15, 9, 26, 5};
    CHECK_INT(gf_session_eval(s, ids, 6, &err), GF_OK);
    float logits[30], probs[30];
    memcpy(logits, gf_session_logits(s, 5, 1, &err), sizeof logits);
    double all = 0;
    for (int i = 0; i < 30; i++) all += exp((double)logits[i]);
    gf_session_seed(s, 31);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int n = 20000;
        int count[30] = {0}, kinds = 0;
        struct gf_choice c;
        for (int k = 0; k < n; k++) {
            if (gf_session_sample(s, &rows[i], NULL, &c, &err) != GF_OK || c.id < 0 || c.id >= 30) {
                CHECK(!"a draw failed");
                break;
            }
            count[c.id]++;
            /* the model's probability, before temperature and cuts */
            if (k % 997 == 0) CHECK_NEAR((double)c.logprob, (double)logits[c.id] - log(all), 1e-5);
        }
        CHECK_INT(gf_distribution(probs, logits, 30, &rows[i], NULL, ids, 6, &err), GF_OK);
        for (int k = 0; k < 30; k++) CHECK(gf_session_probability(s, k) == probs[k]);
        double chi2 = 0;
        for (int k = 0; k < 30; k++) {
            const double want = n * (double)probs[k];
            if (want == 0)
                CHECK_INT(count[k], 0);
            else
                chi2 += (count[k] - want) * (count[k] - want) / want, kinds++;
        }
        /* chi-square: mean kinds - 1, deviation sqrt(2 (kinds - 1)). The seed is fixed, so the result is always the
         * same. */
        CHECK(kinds > 1);
        CHECK_NEAR(chi2, kinds - 1, 4 * sqrt(2.0 * (kinds - 1)));
    }
    gf_session_close(s);
    gf_model_close(m);
}

static void generate(struct gf_session *s, const struct gf_sampling *p, int32_t *out, int32_t n) {
    struct gf_choice c = {1, 0};
    for (int32_t i = 0; i < n; i++) {
        CHECK_INT(gf_session_eval(s, &c.id, 1, &err), GF_OK);
        CHECK_INT(gf_session_sample(s, p, NULL, &c, &err), GF_OK);
        out[i] = c.id;
    }
}

static void the_same_seed_gives_the_same_tokens(void) {
    struct gf_model *m = model();
    const struct gf_sampling hot =
        SAMPLER(.temperature = 1.2f, .top_p = 0.95f, .repetition_penalty = 1.1f, .top_k = 20);
    const struct gf_sampling greedy = SAMPLER(.temperature = 0);
    int32_t a[39], b[39], c[39];
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    gf_session_seed(s, 8);
    generate(s, &hot, a, 39);
    CHECK_INT(gf_session_rewind(s, 0, &err), GF_OK);
    gf_session_seed(s, 8);
    generate(s, &hot, b, 39);
    CHECK(!memcmp(a, b, sizeof a));
    struct gf_session *t = gf_session_open(m, 0, GF_KV_F32, &err);
    gf_session_seed(t, 8);
    generate(t, &hot, b, 20); /* a fork copies the generator's state */
    struct gf_session *f = gf_session_fork(t, &err);
    CHECK(f != NULL);
    for (int i = 20; i < 39 && f; i++) {
        struct gf_choice choice;
        CHECK_INT(gf_session_eval(f, &b[i - 1], 1, &err), GF_OK);
        CHECK_INT(gf_session_sample(f, &hot, NULL, &choice, &err), GF_OK);
        b[i] = choice.id;
    }
    CHECK(!memcmp(a, b, sizeof a));
    gf_session_close(f);
    gf_session_close(t);
    CHECK_INT(gf_session_rewind(s, 0, &err), GF_OK);
    gf_session_seed(s, 9);
    generate(s, &hot, c, 39);
    CHECK(memcmp(a, c, sizeof a));
    /* greedy: the largest logit, and no random number is used */
    CHECK_INT(gf_session_rewind(s, 0, &err), GF_OK);
    generate(s, &greedy, c, 39);
    CHECK_INT(gf_session_rewind(s, 0, &err), GF_OK);
    for (int i = 0; i < 39; i++) {
        const int32_t id = i ? c[i - 1] : 1;
        CHECK_INT(gf_session_eval(s, &id, 1, &err), GF_OK);
        const float *y = gf_session_logits(s, 0, 1, &err);
        int32_t best = 0;
        for (int32_t k = 1; k < 30; k++)
            if (y[k] > y[best]) best = k;
        CHECK_INT(c[i], best);
    }
    gf_session_close(s);
    gf_model_close(m);
}

/* ---- the most likely --------------------------------------------------------------------------------------------- */

static void top_returns_the_k_largest_in_order(void) {
    for (int round = 0; round < 300; round++) {
        const int32_t n = 1 + below(100), k = 1 + below(n + 3);
        float logits[100];
        double x[100], all = 0;
        int32_t order[100];
        for (int32_t i = 0; i < n; i++) {
            logits[i] = round % 2 ? (float)below(5) : (float)(8 * uniform() - 4);
            x[i] = (double)logits[i];
            all += exp(x[i]);
            order[i] = i;
        }
        sort_by = x;
        qsort(order, (size_t)n, sizeof *order, more_likely_first);
        struct gf_choice top[103];
        const int32_t got = gf_top(logits, n, k, top, &err);
        CHECK_INT(got, k < n ? k : n);
        for (int32_t i = 0; i < got; i++) {
            CHECK_INT(top[i].id, order[i]);
            CHECK_NEAR((double)top[i].logprob, x[order[i]] - log(all), 1e-5);
        }
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void settings_out_of_range_leave_memory_alone(void) {
    const struct gf_sampling rows[] = {
        SAMPLER(.temperature = -1), SAMPLER(.temperature = NAN), SAMPLER(.temperature = INFINITY), SAMPLER(.top_p = 0),
        SAMPLER(.top_p = 1.1f), SAMPLER(.top_p = -0.1f), SAMPLER(.top_p = NAN), SAMPLER(.min_p = -0.1f),
        SAMPLER(.min_p = 1.5f), SAMPLER(.min_p = NAN), SAMPLER(.repetition_penalty = 0),
        SAMPLER(.repetition_penalty = -2), SAMPLER(.repetition_penalty = NAN), SAMPLER(.top_k = -1),
    };
    struct gf_model *m = model();
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    const int32_t id = 1;
    CHECK_INT(gf_session_eval(s, &id, 1, &err), GF_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gf_choice c;
        const int32_t status = gf_session_sample(s, &rows[i], NULL, &c, &err);
        CHECK(status == GF_OK ? c.id >= 0 && c.id < gf_model_config(m)->vocab_size : status == GF_ERR_ARGUMENT);
    }
    gf_session_close(s);
    gf_model_close(m);
}

static void arguments_without_a_distribution_are_refused(void) {
    const float logits[3] = {1, 2, 3};
    float probs[3];
    struct gf_choice top[3];
    const struct gf_sampling plain = SAMPLER(), greedy = SAMPLER(.temperature = 0);
    static const float biases[][3] = {{NAN, 0, 0}, {0, INFINITY, 0}, {0, 0, 1e7f}, {-INFINITY, -INFINITY, -INFINITY}};
    static const int32_t all[3] = {0, 1, 2};
    static const uint32_t none = 8;
    for (int i = 0; i < 5; i++) {
        const struct gf_adjustment a = {i < 4 ? 3 : 0, all, biases[i % 4], i < 4 ? NULL : &none};
        CHECK_INT(gf_distribution(probs, logits, 3, i % 2 ? &greedy : &plain, &a, NULL, 0, &err), GF_ERR_ARGUMENT);
        CHECK(strstr(err.text, i < 3 ? "a bias must be" : "exclude every token") != NULL);
    }
    static const float odd[][3] = {{1, NAN, 2}, {INFINITY, 0, 0}, {-INFINITY, -INFINITY, -INFINITY}, {NAN, NAN, NAN}};
    for (int i = 0; i < 4; i++) {
        CHECK_INT(gf_distribution(probs, odd[i], 3, &plain, NULL, NULL, 0, &err), GF_ERR_NOT_FINITE);
        CHECK_INT(gf_distribution(probs, odd[i], 3, &greedy, NULL, NULL, 0, &err), GF_ERR_NOT_FINITE);
        CHECK_INT(gf_top(odd[i], 3, 2, top, &err), GF_ERR_NOT_FINITE);
    }
    CHECK_INT(gf_distribution(probs, logits, 0, &plain, NULL, NULL, 0, &err), GF_ERR_ARGUMENT);
    CHECK_INT(gf_top(logits, 0, 1, top, &err), GF_ERR_ARGUMENT);
    CHECK_INT(gf_top(logits, 3, 0, top, &err), GF_ERR_ARGUMENT);
}

int main(void) {
    RUN(distributions_match_the_definition_in_double);
    RUN(each_sampling_setting_matches_values_computed_by_hand);
    RUN(extreme_settings_give_finite_probabilities);
    RUN(draws_follow_the_distribution);
    RUN(the_same_seed_gives_the_same_tokens);
    RUN(top_returns_the_k_largest_in_order);
    RUN(settings_out_of_range_leave_memory_alone);
    RUN(arguments_without_a_distribution_are_refused);
    return check_end();
}
