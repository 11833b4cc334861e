/* mistakes_test.c - the comparison with tests/golden fails for models with known mistakes. */
#include "goldens.h"

#define CHECK_FAR(diff, bound, ...)                                                                                    \
    do {                                                                                                               \
        double diff_ = (diff), bound_ = (bound);                                                                       \
        if (check_note(diff_ > bound_, __FILE__, __LINE__)) {                                                          \
            printf(__VA_ARGS__);                                                                                       \
            printf(": off by %.3g only, more than %.3g expected\n", diff_, bound_);                                    \
        }                                                                                                              \
    } while (0)

/* ---- mistakes ---------------------------------------------------------------------------------------------------- */

static void the_comparison_distinguishes_the_outputs_of_known_mistakes(void) {
    int n = 0;
    EACH_GOLDEN(g) EACH_RUN(g, r) {
        if (!r->n_decoys) continue;
        struct gf_model *m = model_of(g, &r->cfg);
        for (int32_t i = 0; i < r->n_decoys; i++, n++)
            CHECK_FAR(off_by(m, r, r->decoys[i].output), 2 * (double)r->tolerance, "%s, %s: %s", g->name, r->name,
                      r->decoys[i].name);
        gf_model_close(m);
    }
    CHECK(n > 40);
}

/* Compare a model that has the mistake with the golden output: they must differ. If the mistake is one of the decoys,
 * its output must be that decoy. */
static void fault(const char *name, const char *decoy, void (*spoil)(struct gf_config *), const struct feeding *how) {
    const struct golden *g = golden(name);
    const struct golden_run *r = &g->runs[0];
    struct gf_config cfg = r->cfg;
    if (spoil) spoil(&cfg);
    struct gf_model *m = golden_model(g, &cfg, how, &err);
    CHECK(m != NULL);
    if (!m) return;
    CHECK_FAR(off_by(m, r, r->output), 2 * (double)r->tolerance, "%s with a planted fault (%s)", name,
              decoy ? decoy : "");
    for (int32_t i = 0; decoy && i < r->n_decoys; i++)
        if (!strcmp(r->decoys[i].name, decoy))
            CHECK_CLOSE(off_by(m, r, r->decoys[i].output), (double)r->tolerance, "%s, planted %s", name, decoy);
    gf_model_close(m);
}

static void swap_gelu(struct gf_config *c) { c->ffn = c->ffn == GF_GELU_ERF ? GF_GELU_TANH : GF_GELU_ERF; }
static void swap_pairs(struct gf_config *c) { c->rope_pairs = !c->rope_pairs; }
static void swap_placement(struct gf_config *c) { c->norm_placement = !c->norm_placement; }
static void to_rmsnorm(struct gf_config *c) { c->norm = c->final_norm_kind = GF_RMSNORM; }
static void to_layernorm(struct gf_config *c) { c->norm = c->final_norm_kind = GF_LAYERNORM, c->bias_norm = 0; }
static void tie(struct gf_config *c) { c->tie_word_embeddings = 1; }
static void no_rope_scaling(struct gf_config *c) { c->rope_scaling = GF_ROPE_SCALING_NONE; }
static void linear_scaling(struct gf_config *c) { c->rope_scaling = GF_ROPE_SCALING_LINEAR; }
static void wider_window(struct gf_config *c) { c->sliding_window++; }
static void no_qk_norm(struct gf_config *c) { c->qk_norm = 0; }
static void other_eps(struct gf_config *c) { c->norm_eps = 1e-6f; }
static void other_theta(struct gf_config *c) { c->rope_theta = 600; }
static void no_scale(struct gf_config *c) { c->embedding_scale = 1; }
static void no_final(struct gf_config *c) { c->final_norm = 0; }
static void relu(struct gf_config *c) { c->ffn = GF_RELU; }

static void every_head_rotates(struct gf_config *c) { c->rotary_kv_heads = 0; }
static void heads_of_the_decoder(struct gf_config *c) { c->n_encoder_heads = 0; }
static void fewer_heads_rotate(struct gf_config *c) { c->rotary_kv_heads = 1; }

static void the_comparison_fails_for_models_with_planted_faults(void) {
    static const struct feeding gate_up = {.a = ".gate.weight", .b = ".up.weight"},
                                transposed = {.claim_transposed = 1}, q_k = {.a = ".q.weight", .b = ".k.weight"},
                                norms = {.a = ".norm1.weight", .b = ".norm2.weight"};
    fault("gpt2", "gelu_other", swap_gelu, NULL);
    fault("plain_gpt", "gelu_other", swap_gelu, NULL);
    fault("classic_post_norm", "gelu_other", swap_gelu, NULL);
    fault("modern_tied", "rope_pairs", swap_pairs, NULL);
    fault("rope_adjacent_mqa", "rope_pairs", swap_pairs, NULL);
    fault("qk_norm", "rope_pairs", swap_pairs, NULL);
    fault("modern_tied", "pre_post", swap_placement, NULL);
    fault("gpt2", "pre_post", swap_placement, NULL);
    fault("classic_post_norm", "pre_post", swap_placement, NULL);
    fault("encoder_decoder_2017", "pre_post", swap_placement, NULL);
    fault("gpt2", "no_final_norm", no_final, NULL);
    fault("modern_tied", "norm_other", to_layernorm, NULL);
    fault("plain_gpt", "norm_other", to_rmsnorm, NULL);
    fault("post_norm_bare", "norm_other", to_layernorm, NULL);
    fault("modern_untied_gqa", "tie_other", tie, NULL);
    fault("tiny_block", "tie_other", tie, NULL);
    fault("rope_adjacent_mqa", "no_rope_scaling", no_rope_scaling, NULL);
    fault("rope_adjacent_mqa", "no_embedding_scale", no_scale, NULL);
    fault("rope_llama3", "no_rope_scaling", no_rope_scaling, NULL);
    fault("rope_llama3", "llama3_as_linear", linear_scaling, NULL);
    fault("rotary_kv_heads", "rope_every_head", every_head_rotates, NULL);
    fault("rotary_kv_heads", NULL, fewer_heads_rotate, NULL);
    fault("encoder_decoder_heads", "decoder_heads", heads_of_the_decoder, NULL);
    fault("sliding_window", "window_off_by_one", wider_window, NULL);
    fault("qk_norm", "no_qk_norm", no_qk_norm, NULL);
    fault("modern_untied_gqa", NULL, other_eps, NULL);
    fault("tiny_block", NULL, other_eps, NULL);
    fault("modern_untied_gqa", NULL, other_theta, NULL);
    fault("post_norm_bare", NULL, swap_gelu, NULL);
    fault("gpt2", NULL, relu, NULL);
    fault("modern_tied", "gate_for_up", NULL, &gate_up);
    fault("swiglu_biases", "gate_for_up_but_not_its_bias", NULL, &gate_up);
    fault("modern_tied", NULL, NULL, &transposed);
    fault("gpt2", NULL, NULL, &transposed);
    fault("modern_tied", NULL, NULL, &q_k);
    fault("gpt2", NULL, NULL, &norms);
}

/* The test rotates the queries itself, in double, and sets them by an edit. With the right angle the output is the
 * golden one, with the angle of the next position it is not. */
static void the_comparison_fails_for_a_rope_offset_of_one(void) {
    const struct golden *g = golden("modern_tied");
    const struct golden_run *r = &g->runs[0];
    const struct gf_config *c = &r->cfg;
    struct gf_model *m = model_of(g, c);
    if (!m) return;
    const struct golden_point *q = NULL;
    for (int32_t i = 0; i < r->n_points; i++)
        if (r->points[i].point == GF_P_Q && r->points[i].layer == 1) q = &r->points[i];
    CHECK(q != NULL);
    for (int32_t offset = 0; q && offset < 2; offset++) {
        struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
        for (int32_t pos = 0; pos < r->n; pos++)
            for (int32_t h = 0; h < c->n_heads; h++) {
                float rotated[8];
                const float *x = q->data + (pos * c->n_heads + h) * c->d_head;
                const int32_t half = c->d_head / 2;
                for (int32_t j = 0; j < half; j++) {
                    const double angle = (pos + offset) * pow((double)c->rope_theta, -2.0 * j / c->d_head),
                                 a = (double)x[j], b = (double)x[j + half];
                    rotated[j] = (float)(a * cos(angle) - b * sin(angle));
                    rotated[j + half] = (float)(a * sin(angle) + b * cos(angle));
                }
                CHECK_OK(gf_session_edit(s, 0, 1, GF_P_ROT_Q, h, pos, -1, GF_EDIT_SET, 0, rotated, c->d_head, &err));
            }
        const float *y = golden_eval(s, r, &err);
        const double d = y ? max_diff(y, r->output, (int64_t)r->rows * r->cols) : -1;
        if (offset == 0)
            CHECK_CLOSE(d, (double)r->tolerance, "queries rotated by their own position");
        else
            CHECK_FAR(d, 100 * (double)r->tolerance, "queries rotated by the next position");
        gf_session_close(s);
    }
    gf_model_close(m);
}

int main(void) {
    for (int i = 0; i < N_GOLDEN; i++) golden_open(&all[i], golden_names[i]);
    RUN(the_comparison_distinguishes_the_outputs_of_known_mistakes);
    RUN(the_comparison_fails_for_models_with_planted_faults);
    RUN(the_comparison_fails_for_a_rope_offset_of_one);
    for (int i = 0; i < N_GOLDEN; i++) golden_close(&all[i]);
    return check_end();
}
