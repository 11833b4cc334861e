/* config_test.c - configurations: parameter counts, impossible ones; random weights. */
#include "base/text.h"
#include "golden.h"
#include "status.h"
#include <stdlib.h>

/* ---- counts ------------------------------------------------------------------------------------------------------ */

static uint64_t seed = 12345;
static int32_t below(int32_t n) { return (int32_t)(test_random(&seed) >> 33) % n; }

/* The same count, written by hand from the papers. */
static uint64_t count_by_formula(const struct gf_config *c) {
    const uint64_t d = (uint64_t)c->d_model, q = (uint64_t)(c->n_heads * c->d_head),
                   kv = (uint64_t)(c->n_kv_heads * c->d_head), f = (uint64_t)c->d_ff, v = (uint64_t)c->vocab_size,
                   two = c->kind == GF_ENCODER_DECODER,
                   norm = c->norm == GF_NO_NORM                     ? 0
                          : c->norm == GF_LAYERNORM && c->bias_norm ? 2 * d
                                                                    : d,
                   gates = c->ffn == GF_SWIGLU ? 2 : 1,
                   attn = d * (q + 2 * kv) + q * d + (c->bias_qkv ? q + 2 * kv : 0) + (c->bias_attn_out ? d : 0),
                   ffn = (gates + 1) * d * f + (c->bias_ffn ? gates * f + d : 0),
                   qk = c->qk_norm ? 2 * (uint64_t)c->d_head : 0,
                   encoder = norm + attn + qk + (c->ffn == GF_NO_FFN ? 0 : norm + ffn),
                   decoder = encoder + two * (norm + attn);
    uint64_t sum = v * d * (two && !c->shared_embedding ? 2 : 1);
    if (c->position == GF_POS_LEARNED) sum += (1 + two) * (uint64_t)c->context_length * d;
    sum += two * (uint64_t)c->n_encoder_layers * encoder + (uint64_t)c->n_layers * decoder;
    for (int32_t l = 0; c->n_experts && l < c->n_layers; l++) /* a router, and experts instead of the layer */
        if (!c->expert_layers.n || c->expert_layers.at[l % c->expert_layers.n] != 0)
            sum += (uint64_t)c->n_experts * (d + (gates + 1) * d * (uint64_t)c->d_expert) - ffn +
                   (c->d_shared_expert ? d + (gates + 1) * d * (uint64_t)c->d_shared_expert : 0);
    if (c->final_norm) sum += (1 + two) * norm;
    if (c->kind != GF_ENCODER && !c->tie_word_embeddings) sum += v * d;
    return sum + (c->bias_head ? v : 0);
}

static void random_configurations_are_counted_reserved_and_run(void) {
    for (int i = 0; i < 150; i++) {
        struct gf_config c = test_config(&seed);
        CHECK_OK(gf_config_check(&c, &err));
        CHECK_INT(gf_count_parameters(&c), count_by_formula(&c));
        struct gf_model *m = gf_model_open(&c, NULL, &err);
        CHECK(m != NULL);
        if (!m) continue;
        uint64_t count = 0, bytes = 0, padding = 0;
        struct gf_tensor t;
        for (int32_t k = 0; gf_model_tensor(m, k, &t) == GF_OK; k++) {
            count += t.count;
            bytes += t.n_bytes;
            CHECK(t.n_bytes >= t.count * 4);
            CHECK(t.address != 0);
            padding += 16 * (uint64_t)t.cols * 4 + 64; /* rows to a panel, arena to 64 */
        }
        CHECK_INT(count, gf_count_parameters(&c));
        CHECK(bytes >= 4 * count && bytes <= gf_model_bytes(m));
        CHECK(gf_model_bytes(m) <= 4 * count + padding);
        CHECK_OK(gf_model_randomize(m, (uint64_t)i, 0.3f, &err));
        struct gf_session *s = gf_session_open(m, 0, i % 3, &err);
        CHECK(s != NULL);
        int32_t ids[5], n;
        for (int k = 0; k < 5; k++) ids[k] = below(c.vocab_size);
        if (c.kind != GF_DECODER) CHECK_OK(gf_session_encode(s, ids, NULL, NULL, 5, &err));
        if (c.kind != GF_ENCODER) {
            CHECK_OK(gf_session_eval(s, ids, 5, &err));
            const float *y = gf_session_logits(s, 0, 5, &err);
            CHECK(y && isfinite(y[0]) && isfinite(y[5 * c.vocab_size - 1]));
        } else {
            const float *y = gf_session_hidden(s, GF_STACK_ENCODER, &n);
            CHECK(y && n == 5 && isfinite(y[5 * c.d_model - 1]));
        }
        gf_session_close(s);
        gf_model_close(m);
    }
}

/* ---- random weights ---------------------------------------------------------------------------------------------- */

static void random_weights_are_normal_and_depend_on_the_seed_only(void) {
    struct gf_config c = decoder_config(300, 64, 2, 4, 128, 40);
    c.norm = c.final_norm_kind = GF_LAYERNORM, c.position = GF_POS_LEARNED, c.bias_qkv = 1;
    struct gf_model *m[3];
    for (int i = 0; i < 3; i++) {
        m[i] = gf_model_open(&c, NULL, &err);
        CHECK_OK(gf_model_randomize(m[i], i < 2 ? 7 : 8, 0.02f, &err));
    }
    double sum = 0, square = 0, n = 0, same = 0;
    /* the deciles of the normal distribution */
    static const double edges[] = {-1.2815515655, -0.8416212336, -0.5244005127, -0.2533471031, 0,
                                   0.2533471031,  0.5244005127,  0.8416212336,  1.2815515655};
    double bins[10] = {0};
    struct gf_tensor t;
    for (int32_t i = 0; gf_model_tensor(m[0], i, &t) == GF_OK; i++)
        for (int32_t row = 0; t.tied_to < 0 && row < t.rows; row++) {
            float x[3][192];
            for (int k = 0; k < 3; k++) CHECK_OK(gf_tensor_read(m[k], i, row, x[k], &err));
            CHECK_BITS(x[0], x[1], (size_t)t.cols * 4);
            if (t.rank == 1) { /* gains 1, biases 0 */
                const float want = strstr(t.name, ".weight") ? 1 : 0;
                for (int32_t k = 0; k < t.cols; k++) CHECK(x[0][k] == want);
                continue;
            }
            for (int32_t k = 0; k < t.cols; k++) {
                const double v = (double)x[0][k] / 0.02;
                int b = 0;
                while (b < 9 && v > edges[b]) b++;
                bins[b]++, n++, sum += v, square += v * v;
                same += x[0][k] == x[2][k];
            }
        }
    CHECK(n > 80000);
    CHECK_NEAR(sum / n, 0, 4 / sqrt(n));
    CHECK_NEAR(square / n, 1, 4 * sqrt(2 / n));
    double chi2 = 0;
    for (int i = 0; i < 10; i++) chi2 += (bins[i] - n / 10) * (bins[i] - n / 10) / (n / 10);
    CHECK_NEAR(chi2, 9, 9 + 3.5); /* 9 degrees of freedom: above 21.7 once in a hundred */
    CHECK(same < 10);
    for (int i = 0; i < 3; i++) gf_model_close(m[i]);
}

/* The relative difference between input and output of a block at initialisation, for a unit-normal input. */
static double change_of_a_block(int32_t placement, uint64_t seed_) {
    struct gf_config c = decoder_config(16, 64, 1, 4, 256, 16);
    c.norm = c.final_norm_kind = GF_LAYERNORM, c.ffn = GF_GELU_ERF, c.position = GF_POS_NONE;
    c.norm_placement = placement;
    struct gf_model *m = random_model(&c, seed_, 0.02f);
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    CHECK_OK(gf_session_capture(s, 0, 0, GF_P_RESID_POST, 1, &err));
    float x[16][64];
    int32_t ids[16] = {0}, dims[3];
    for (int i = 0; i < 16; i++) {
        for (int k = 0; k < 64; k++) { /* twelve uniform numbers: close to normal */
            double sum = -6;
            for (int j = 0; j < 12; j++) sum += (double)(test_random(&seed) >> 11) * 0x1p-53;
            x[i][k] = (float)sum;
        }
        CHECK_OK(gf_session_edit(s, 0, 0, GF_P_RESID_PRE, -1, i, -1, GF_EDIT_SET, 0, x[i], 64, &err));
    }
    CHECK_OK(gf_session_eval(s, ids, 16, &err));
    const float *y = gf_session_captured(s, 0, 0, GF_P_RESID_POST, dims);
    double change = 0, norm = 0;
    for (int i = 0; i < 16 * 64; i++) {
        const double a = (double)x[i / 64][i % 64], b = (double)y[i];
        change += (b - a) * (b - a), norm += a * a;
    }
    gf_session_close(s);
    gf_model_close(m);
    return sqrt(change / norm);
}

static void a_pre_norm_block_starts_near_the_identity(void) {
    double pre = 0, post = 0;
    for (uint64_t i = 0; i < 20; i++) {
        pre += change_of_a_block(GF_PRE_NORM, i) / 20;
        post += change_of_a_block(GF_POST_NORM, i) / 20;
    }
    CHECK_NEAR(pre, 0.030, 0.004);
    CHECK(post > 3 * pre);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

/* Numbers in sentences are those of JavaScript. */
static void numbers_are_written_as_javascript_writes_them(void) {
    static const struct {
        double x;
        const char *text;
    } cases[] = {{0, "0"},
                 {-0.0, "0"},
                 {1, "1"},
                 {-17, "-17"},
                 {0.1, "0.1"},
                 {-2.5, "-2.5"},
                 {1e-6, "0.000001"},
                 {1.5e-7, "1.5e-7"},
                 {1e12, "1000000000000"},
                 {123456789.125, "123456789.125"},
                 {1e20, "100000000000000000000"},
                 {1e21, "1e+21"},
                 {1.25e300, "1.25e+300"},
                 {2147483648, "2147483648"},
                 {0.30000000000000004, "0.30000000000000004"},
                 {9007199254740991, "9007199254740991"},
                 {5e-324, "5e-324"},
                 {INFINITY, "Infinity"},
                 {-INFINITY, "-Infinity"},
                 {NAN, "NaN"}};
    char text[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gf_text t = gf_text_in(text, sizeof text);
        gf_append_decimal(&t, cases[i].x, 0);
        CHECK_TEXT(text, cases[i].text);
    }
    struct gf_text t = gf_text_in(text, sizeof text);
    gf_append_decimal(&t, (double)0.1f, 1);
    gf_append(&t, " ");
    gf_append_decimal(&t, (double)0.1f, 0);
    CHECK_TEXT(text, "0.1 0.10000000149011612");
    t = gf_text_in(text, 8); /* what does not fit is cut off */
    gf_append(&t, "12345");
    gf_append_whole(&t, 6789);
    CHECK_TEXT(text, "1234567");
}

/* tests/node/config.test.js has every default, limit and rule, of gf_config_complete. */
static void impossible_configurations_are_refused(void) {
    const struct gf_config good = decoder_config(50, 24, 2, 4, 40, 96);
    struct gf_config c;
#define REFUSED(change, ...)                                                                                           \
    do {                                                                                                               \
        c = good;                                                                                                      \
        change;                                                                                                        \
        CHECK_REFUSED(gf_config_check(&c, &err), GF_ERR_CONFIG, __VA_ARGS__);                                          \
        CHECK_REFUSED(STATUS_OF(gf_model_open(&c, NULL, &err)), GF_ERR_CONFIG, __VA_ARGS__);                           \
    } while (0)
    CHECK_OK(gf_config_check(&good, &err));
    REFUSED(c.n_kv_heads = 3, "n_heads 4", "multiple", "n_kv_heads 3");
    REFUSED(c.vocab_size = 0, "vocab_size is 0, expected a whole number from 1 to 4194304");
    REFUSED(c.n_layers = 1 << 20, "n_layers is 1048576");
    REFUSED(c.norm_eps = NAN, "norm_eps is NaN");
    REFUSED(c.ffn = GF_WORDS_ffn, "expected one of relu, gelu_erf, gelu_tanh, swiglu, ");
    REFUSED(c.kind = 9, "kind is 9, expected one of decoder, encoder, encoder_decoder");
    REFUSED(c.causal = 7, "causal is 7, expected true or false");
    REFUSED(c.pooler = 1, "pooler needs kind encoder");
    REFUSED((c.n_labels = 2, c.tie_word_embeddings = 1), "n_labels does not fit tie_word_embeddings");
    REFUSED((c.kind = GF_ENCODER_DECODER, c.n_encoder_layers = 1, c.mlm_head = 1), "mlm_head does not fit kind");
    REFUSED(c.kind = GF_ENCODER_DECODER, "n_encoder_layers");
    REFUSED((c.n_heads = c.n_kv_heads = 4096, c.d_head = 4096), "n_heads 4096", "d_head 4096");
#undef REFUSED
    c = good;
    CHECK_REFUSED(gf_config_set(&c, -1, 1, &err), GF_ERR_CONFIG, "field -1");
    CHECK_REFUSED(gf_config_set(&c, 10000, 1, &err), GF_ERR_CONFIG, "field 10000");
    CHECK_REFUSED(gf_config_set(&c, 1, 2.5, &err), GF_ERR_CONFIG, "vocab_size", "whole");
    CHECK_REFUSED(gf_config_set(&c, 1, NAN, &err), GF_ERR_CONFIG, "vocab_size is NaN", "4194304");
    CHECK_REFUSED(gf_config_set(&c, 1, 1e300, &err), GF_ERR_CONFIG, "vocab_size is 1e+300", "4194304");
    CHECK_INT(c.vocab_size, 50);
    CHECK_OK(gf_config_set(&c, 1, 51, &err));
    CHECK_INT((int32_t)gf_config_get(&c, 1, 0), 51);
    CHECK(isnan(gf_config_get(&c, -1, 0)) && isnan(gf_config_get(&c, 10000, 0)));

    /* gf_config_get returns the value that was set: an integer unchanged, a float rounded, also at its limits. */
#define FIELD_LIMITS(type, name, standard, least, most, meaning)                                                       \
    {#name, _Generic((type)0, int32_t : 0, float : 1), least, most},
    static const struct {
        const char *name;
        int is_float;
        double least, most;
    } limits[] = {GF_CONFIG_FIELDS(FIELD_LIMITS)};
#undef FIELD_LIMITS
    for (int32_t f = 0; f < (int32_t)(sizeof limits / sizeof *limits); f++) {
        const double values[] = {limits[f].least, limits[f].most, limits[f].is_float ? 0.1 : 1};
        for (int i = 0; i < 3; i++) {
            CHECK_OK(gf_config_set(&c, f, values[i], &err));
            CHECK(gf_config_get(&c, f, 0) == (limits[f].is_float ? (double)(float)values[i] : values[i]));
        }
        CHECK_REFUSED(gf_config_set(&c, f, limits[f].least - 1, &err), GF_ERR_CONFIG, limits[f].name);
        CHECK_REFUSED(gf_config_set(&c, f, limits[f].most * 1.001 + 1, &err), GF_ERR_CONFIG, limits[f].name);
        if (limits[f].most == 1e12) CHECK_OK(gf_config_set(&c, f, 1e12, &err));
    }

    c = good; /* more memory than any machine has */
    c.vocab_size = 1 << 22, c.d_model = 1 << 16, c.n_layers = 4096, c.d_ff = 1 << 20;
    c.n_heads = c.n_kv_heads = 64, c.d_head = 1024;
    CHECK_REFUSED(STATUS_OF(gf_model_open(&c, NULL, &err)), GF_ERR_MEMORY, "bytes", "memory");
}

int main(void) {
    RUN(random_configurations_are_counted_reserved_and_run);
    RUN(random_weights_are_normal_and_depend_on_the_seed_only);
    RUN(a_pre_norm_block_starts_near_the_identity);
    RUN(numbers_are_written_as_javascript_writes_them);
    RUN(impossible_configurations_are_refused);
    return check_end();
}
