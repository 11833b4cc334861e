/* model_test.c - compares models with tests/golden: outputs of every variant, capture points, edits, all ways to load
 * weights. Also: the comparison detects known mistakes; parameter counts; refusals and their sentences. */
#include "base/decimal.h"
#include "check.h"
#include "golden.h"
#include <stdlib.h>

/* The tests make allocations that cannot succeed. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static struct golden all[N_GOLDEN];
static struct gf_error err;

static struct golden *golden(const char *name) {
    for (int i = 0; i < N_GOLDEN; i++)
        if (!strcmp(all[i].name, name)) return &all[i];
    printf("no golden model %s\n", name);
    exit(1);
}

#define EACH_GOLDEN(g) for (struct golden *g = all; g < all + N_GOLDEN; g++)
#define EACH_RUN(g, r) for (struct golden_run *r = (g)->runs; r < (g)->runs + (g)->n_runs; r++)
#define CHECK_OK(call)                                                                                                 \
    do {                                                                                                               \
        int32_t status_ = (call);                                                                                      \
        if (check_note(status_ == GF_OK, __FILE__, __LINE__)) printf("%s: status %d: %s\n", #call, status_, err.text); \
    } while (0)
/* Close, with the names in the message. */
#define CHECK_CLOSE(diff, bound, ...)                                                                                  \
    do {                                                                                                               \
        double diff_ = (diff), bound_ = (bound);                                                                       \
        if (check_note(diff_ <= bound_, __FILE__, __LINE__)) {                                                         \
            printf(__VA_ARGS__);                                                                                       \
            printf(": off by %.3g, allowed %.3g\n", diff_, bound_);                                                    \
        }                                                                                                              \
    } while (0)
#define CHECK_FAR(diff, bound, ...)                                                                                    \
    do {                                                                                                               \
        double diff_ = (diff), bound_ = (bound);                                                                       \
        if (check_note(diff_ > bound_, __FILE__, __LINE__)) {                                                          \
            printf(__VA_ARGS__);                                                                                       \
            printf(": off by %.3g only, more than %.3g expected\n", diff_, bound_);                                    \
        }                                                                                                              \
    } while (0)

static double largest(const float *x, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i]) && fabs((double)x[i]) > most) most = fabs((double)x[i]);
    return most;
}

/* Models whose weights a block format represents exactly are stored in it. */
static int block_dtype(const struct golden *g) {
    return !strcmp(g->name, "q8_0")   ? GF_Q8_0
           : !strcmp(g->name, "q4_0") ? GF_Q4_0
           : !strcmp(g->name, "q4_1") ? GF_Q4_1
                                      : GF_F32;
}
static uint8_t same_dtypes[256];
static const uint8_t *all_kept_as(int dtype) {
    memset(same_dtypes, dtype, sizeof same_dtypes);
    return same_dtypes;
}

static struct gf_model *model_of(const struct golden *g, const struct gf_config *cfg) {
    struct feeding how = {.dtypes = all_kept_as(block_dtype(g))};
    struct gf_model *m = golden_model(g, cfg, &how, &err);
    if (check_note(m != NULL, __FILE__, __LINE__)) printf("%s: %s\n", g->name, err.text);
    return m;
}

/* The largest difference between a run's golden output and that of model m. */
static double off_by(const struct gf_model *m, const struct golden_run *r, const float *want) {
    if (!m) return 0;
    const int64_t n = (int64_t)r->rows * r->cols;
    float *y = malloc((size_t)n * sizeof *y);
    CHECK_OK(golden_output(m, r, y, &err));
    double d = max_diff(y, want, n);
    free(y);
    return d;
}

/* ---- the roster -------------------------------------------------------------------------------------------------- */

static void roster_lists_the_golden_weights(void) {
    EACH_GOLDEN(g) {
        const int32_t n = gf_roster_count(&g->cfg);
        uint64_t sum = 0, golden_sum = 0;
        int32_t at = 0;
        for (int32_t i = 0; i < n; i++) {
            struct gf_tensor t;
            CHECK_INT(gf_roster_tensor(&g->cfg, i, &t), GF_OK);
            sum += t.count;
            if (t.tied_to >= 0) {
                CHECK_TEXT(t.name, "head.weight");
                CHECK_INT(t.count, 0);
                struct gf_tensor table;
                CHECK_INT(gf_roster_tensor(&g->cfg, t.tied_to, &table), GF_OK);
                CHECK_TEXT(table.name, "embed.weight");
                continue;
            }
            CHECK(at < g->n_weights);
            if (at == g->n_weights) break;
            const struct golden_weight *w = &g->weights[at++];
            CHECK_TEXT(t.name, w->name);
            CHECK_INT(t.rank, w->rank);
            CHECK_INT(t.rows, w->rows);
            CHECK_INT(t.cols, w->cols);
            CHECK_INT(t.count, (int64_t)w->rows * w->cols);
            golden_sum += t.count;
        }
        CHECK_INT(at, g->n_weights);
        CHECK_INT(gf_count_parameters(&g->cfg), sum);
        CHECK_INT(sum, golden_sum);
    }
}

/* ---- outputs and points ------------------------------------------------------------------------------------------ */

static void outputs_match_the_golden_models(void) {
    EACH_GOLDEN(g) EACH_RUN(g, r) {
        struct gf_model *m = model_of(g, &r->cfg);
        CHECK_CLOSE(off_by(m, r, r->output), (double)r->tolerance, "%s, %s", g->name, r->name);
        gf_model_close(m);
    }
}

/* Cells that the mask forbids are never computed: -inf at every stage before the softmax. */
static void hide_what_is_masked(const struct golden_run *r, const struct golden_point *p, float *want) {
    const int cross = !strncmp(p->name, "cross", 5);
    const struct golden_point *masked = NULL;
    for (int32_t i = 0; i < r->n_points; i++)
        if (r->points[i].stack == p->stack && r->points[i].layer == p->layer &&
            r->points[i].point == (cross ? GF_P_CROSS_SCORES : GF_P_SCORES))
            masked = &r->points[i];
    const int64_t n = (int64_t)p->dims[0] * p->dims[1] * p->dims[2];
    for (int64_t i = 0; masked && i < n; i++)
        if (isinf(masked->data[i])) want[i] = -INFINITY;
}

static void check_point(const struct golden *g, const struct golden_run *r, const struct golden_point *p,
                        struct gf_session *s) {
    int32_t dims[3] = {0, 0, 0};
    const float *got = gf_session_captured(s, p->stack, p->layer, p->point, dims);
    if (check_note(got && !memcmp(dims, p->dims, sizeof dims), __FILE__, __LINE__))
        printf("%s, %s: %s of layer %d, stack %d: [%d, %d, %d], expected [%d, %d, %d]\n", g->name, r->name, p->name,
               p->layer, p->stack, dims[0], dims[1], dims[2], p->dims[0], p->dims[1], p->dims[2]);
    if (!got || memcmp(dims, p->dims, sizeof dims)) return;
    const int64_t n = (int64_t)dims[0] * dims[1] * dims[2];
    float *want = malloc((size_t)n * sizeof *want);
    memcpy(want, p->data, (size_t)n * sizeof *want);
    if (strstr(p->name, "scores_")) hide_what_is_masked(r, p, want);
    const double most = largest(want, n);
    CHECK_CLOSE(max_diff(got, want, n), strstr(p->name, "pattern") ? 2e-5 : 2e-5 * fmax(1, most),
                "%s, %s: %s of layer %d, stack %d", g->name, r->name, p->name, p->layer, p->stack);
    free(want);
}

static void every_capture_point_matches_the_golden_models(void) {
    EACH_GOLDEN(g) EACH_RUN(g, r) {
        struct gf_model *m = model_of(g, &r->cfg);
        struct gf_session *s = m ? gf_session_open(m, 0, GF_KV_F32, &err) : NULL;
        CHECK(s != NULL);
        if (!s) continue;
        int32_t there = 0;
        for (int32_t stack = 0; stack < 2; stack++)
            for (int32_t layer = -1; layer < 3; layer++)
                for (int32_t point = 0; point < GF_N_POINTS; point++)
                    there += gf_session_capture(s, stack, layer, point, 1, &err) == GF_OK;
        CHECK(golden_eval(s, r, &err) != NULL);
        for (int32_t i = 0; i < r->n_points; i++) check_point(g, r, &r->points[i], s);
        /* every point that the engine captures is checked, and every point of the architecture exists */
        if (r->full) CHECK_INT(there, r->n_points);
        gf_session_close(s);
        gf_model_close(m);
    }
}

static void apply(struct gf_session *s, const struct golden_edit *e) {
    CHECK_OK(gf_session_edit(s, e->stack, e->layer, e->point, e->head, e->position, -1, e->op, e->scale, e->values,
                             e->n_values, &err));
}

static void an_edit_at_every_point_matches_the_golden_models(void) {
    int n = 0;
    EACH_GOLDEN(g) EACH_RUN(g, r) {
        if (!r->n_edits) continue;
        struct gf_model *m = model_of(g, &r->cfg);
        struct gf_session *s = m ? gf_session_open(m, 0, GF_KV_F32, &err) : NULL;
        for (int32_t i = 0; s && i < r->n_edits; i++, n++) {
            const struct golden_edit *e = &r->edits[i];
            gf_session_clear_edits(s);
            CHECK_OK(gf_session_rewind(s, 0, &err));
            apply(s, e);
            const float *y = golden_eval(s, r, &err);
            CHECK(y != NULL);
            if (!y) break;
            CHECK_CLOSE(max_diff(y, e->output, (int64_t)r->rows * r->cols), (double)r->tolerance,
                        "%s: edit %d at %s, layer %d, stack %d, head %d, position %d", g->name, e->op, e->name,
                        e->layer, e->stack, e->head, e->position);
        }
        gf_session_close(s);
        gf_model_close(m);
    }
    CHECK(n > 100);
}

/* ---- how weights arrive ------------------------------------------------------------------------------------------ */

/* Weights that f32, f16 and bf16 represent exactly give the same bits for every type in the file and in memory,
 * transposed or not, stacked or not, in pieces of any size. */
static void float_types_layouts_and_piece_sizes_give_the_same_bits(void) {
    static const char *const names[] = {"modern_tied", "gpt2"};
    static const uint8_t formats[] = {GF_F32, GF_F16, GF_BF16};
    uint8_t mixed[256];
    for (int i = 0; i < 256; i++) mixed[i] = formats[i % 3];
    for (int k = 0; k < 2; k++) {
        const struct golden *g = golden(names[k]);
        const struct golden_run *r = &g->runs[0];
        const size_t n_bytes = (size_t)r->rows * (size_t)r->cols * sizeof(float);
        float *first = malloc(n_bytes), *y = malloc(n_bytes);
        struct gf_model *m = model_of(g, &r->cfg);
        CHECK_OK(golden_output(m, r, first, &err));
        gf_model_close(m);
        for (uint64_t way = 0; way < 48; way++) {
            struct feeding how = {.dtypes = way / 3 % 4 == 3 ? mixed : all_kept_as(formats[way / 3 % 4]),
                                  .file_dtype = formats[way % 3],
                                  .transposed = way / 12 % 2,
                                  .stacked = way / 24 % 2,
                                  .seed = way * 7919};
            m = golden_model(g, &r->cfg, &how, &err);
            CHECK(m != NULL);
            if (!m) continue;
            CHECK_OK(golden_output(m, r, y, &err));
            CHECK_BITS(y, first, n_bytes);
            gf_model_close(m);
        }
        free(first);
        free(y);
    }
}

/* Weights that a block format represents exactly are loaded as floats and read back unchanged. */
static void block_formats_keep_weights_that_they_represent_exactly(void) {
    for (int dtype = GF_Q8_0; dtype <= GF_Q4_1; dtype++) {
        const struct golden *g = golden(dtype == GF_Q8_0 ? "q8_0" : dtype == GF_Q4_0 ? "q4_0" : "q4_1");
        const struct golden_run *r = &g->runs[0];
        const size_t n_bytes = (size_t)r->rows * (size_t)r->cols * sizeof(float);
        float *first = malloc(n_bytes), *y = malloc(n_bytes);
        for (int way = 0; way < 2; way++) { /* quantised while loading; the second time transposed */
            struct feeding how = {
                .dtypes = all_kept_as(dtype), .transposed = way, .stacked = way, .seed = (uint64_t)way};
            struct gf_model *m = golden_model(g, &r->cfg, &how, &err);
            CHECK(m != NULL);
            if (!m) continue;
            CHECK_OK(golden_output(m, r, way ? y : first, &err));
            CHECK_CLOSE(max_diff(way ? y : first, r->output, (int64_t)r->rows * r->cols), (double)r->tolerance,
                        "%s, way %d", g->name, way);
            if (way) CHECK_BITS(y, first, n_bytes);
            int32_t kept = 0;
            for (int32_t i = 0; i < gf_roster_count(&r->cfg); i++) {
                struct gf_tensor t;
                gf_model_tensor(m, i, &t);
                kept += t.dtype == dtype;
                float row[64];
                for (int32_t k = 0; k < t.rows; k++) { /* read back */
                    CHECK_OK(gf_tensor_read(m, i, k, row, &err));
                    const struct golden_weight *w = NULL;
                    for (int32_t j = 0; j < g->n_weights; j++)
                        if (!strcmp(g->weights[j].name, t.tied_to < 0 ? t.name : "embed.weight")) w = &g->weights[j];
                    CHECK(w != NULL);
                    if (w) CHECK_BITS(row, w->data + (int64_t)k * t.cols, (size_t)t.cols * 4);
                }
            }
            CHECK(kept >= 8);
            gf_model_close(m);
        }
        free(first);
        free(y);
    }
}

/* Load one matrix block by block and store it as `kept`. */
static void check_blocks(const struct golden *from, int32_t entry, int dtype, int kept) {
    struct gf_model *m = gf_model_open(&from->cfg, all_kept_as(kept), &err);
    CHECK(m != NULL);
    if (!m) return;
    const struct golden_weight *w = &from->weights[entry];
    const int64_t n = (int64_t)w->rows * w->cols;
    const int32_t block = gf_dtype_block_bytes(dtype);
    uint8_t bytes[41 * 64 / 32 * 34];
    CHECK(n / 32 * block <= (int64_t)sizeof bytes);
    gf_quantize(bytes, w->data, dtype, n);
    CHECK_OK(gf_tensor_begin(m, entry, 1, dtype, 0, &err));
    for (int32_t i = 0; i < n / 32; i++) CHECK_OK(gf_tensor_write(m, bytes + i * block, (uint32_t)block, &err));
    CHECK_OK(gf_tensor_end(m, &err));
    float row[64];
    for (int32_t i = 0; i < w->rows; i++) {
        const float *want = w->data + (int64_t)i * w->cols;
        CHECK_OK(gf_tensor_read(m, entry, i, row, &err));
        if (kept == dtype || kept == GF_F32)
            CHECK_BITS(row, want, (size_t)w->cols * sizeof *row);
        else /* the others round; q4_0 most, because its positive side ends at 7/8 of the negative one */
            CHECK_CLOSE(max_diff(row, want, w->cols), 0.126 * largest(want, w->cols), "%s: dtype %d kept as %d",
                        w->name, dtype, kept);
    }
    gf_model_close(m);
}

static void blocks_from_a_file_are_stored_unchanged(void) {
    static const char *const names[] = {"q8_0", "q4_0", "q4_1"};
    for (int k = 0; k < 3; k++) {
        const struct golden *from = golden(names[k]);
        for (int32_t i = 0; i < from->n_weights; i++)
            for (int kept = 0; kept <= GF_Q4_1; kept++)
                if (from->weights[i].rank == 2 && !strstr(from->weights[i].name, "head"))
                    check_blocks(from, i, GF_Q8_0 + k, kept);
    }
}

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

/* ---- counts ------------------------------------------------------------------------------------------------------ */

static struct gf_config config(int32_t vocab, int32_t d, int32_t layers, int32_t heads, int32_t d_ff, int32_t context) {
    struct gf_config c;
    gf_config_default(&c);
    c.vocab_size = vocab, c.d_model = d, c.n_layers = layers, c.n_heads = c.n_kv_heads = heads;
    c.d_head = d / heads, c.d_ff = d_ff, c.context_length = context;
    return c;
}

static struct gf_config gpt2(int32_t d, int32_t layers, int32_t heads) {
    struct gf_config c = config(50257, d, layers, heads, 4 * d, 1024);
    c.norm = c.final_norm_kind = GF_LAYERNORM, c.ffn = GF_GELU_TANH, c.position = GF_POS_LEARNED;
    c.bias_qkv = c.bias_attn_out = c.bias_ffn = c.bias_norm = 1;
    return c;
}

/* Parameters of one component; layer -1: of all. */
static uint64_t count_of(const struct gf_config *c, int32_t component, int32_t layer) {
    uint64_t sum = 0;
    struct gf_tensor t;
    for (int32_t i = 0; gf_roster_tensor(c, i, &t) == GF_OK; i++)
        if (t.component == component && (layer < 0 || t.layer == layer)) sum += t.count;
    return sum;
}

static void parameter_counts_match_the_published_ones(void) {
    struct gf_config c = config(50257, 768, 12, 12, 2048, 1024);
    CHECK_INT(gf_count_parameters(&c), 123551232);
    CHECK_INT(gf_count_parameters(&c) - count_of(&c, GF_C_EMBEDDING, -1), 84953856);
    CHECK_INT(count_of(&c, GF_C_EMBEDDING, -1), 38597376);
    CHECK_INT(count_of(&c, GF_C_ATTENTION, 3), 2359296);
    CHECK_INT(count_of(&c, GF_C_FFN, 3), 4718592);
    CHECK_INT(count_of(&c, GF_C_NORM, 3), 1536);
    CHECK_INT(count_of(&c, GF_C_ATTENTION, 3) + count_of(&c, GF_C_FFN, 3) + count_of(&c, GF_C_NORM, 3), 7079424);
    c.tie_word_embeddings = 0;
    CHECK_INT(gf_count_parameters(&c), 162148608);

    c = gpt2(768, 12, 12);
    CHECK_INT(gf_count_parameters(&c), 124439808);
    c = gpt2(1024, 24, 16);
    CHECK_INT(gf_count_parameters(&c), 354823168);
    c = gpt2(1280, 36, 20);
    CHECK_INT(gf_count_parameters(&c), 774030080);
    c = gpt2(1600, 48, 25);
    CHECK_INT(gf_count_parameters(&c), 1557611200);

    c = config(32000, 4096, 32, 32, 11008, 4096);
    c.tie_word_embeddings = 0;
    CHECK_INT(gf_count_parameters(&c), 6738415616);

    /* the tiny block, and at twice the width */
    for (int32_t d = 64; d <= 128; d += 64) {
        c = config(256, d, 1, 4, 4 * d, 64);
        c.norm = c.final_norm_kind = GF_LAYERNORM, c.bias_norm = 1, c.ffn = GF_GELU_ERF, c.position = GF_POS_NONE;
        CHECK_INT(count_of(&c, GF_C_ATTENTION, 0), d == 64 ? 16384 : 65536);
        CHECK_INT(count_of(&c, GF_C_FFN, 0), d == 64 ? 32768 : 131072);
        CHECK_INT(count_of(&c, GF_C_NORM, 0), d == 64 ? 256 : 512);
    }

    /* the 2017 model of the tutorial: vocabulary 1000, width 64, 2 + 2 layers, 4 heads, FFN 128 */
    c = config(1000, 64, 2, 4, 128, 50);
    c.kind = GF_ENCODER_DECODER, c.n_encoder_layers = 2, c.norm = c.final_norm_kind = GF_LAYERNORM;
    c.norm_placement = GF_POST_NORM, c.final_norm = 0, c.ffn = GF_RELU;
    c.position = GF_POS_SINUSOIDAL, c.tie_word_embeddings = 0;
    c.bias_qkv = c.bias_attn_out = c.bias_ffn = c.bias_norm = c.bias_head = 1;
    CHECK_INT(gf_count_parameters(&c), 296424);
}

static uint64_t seed = 12345;
static int32_t below(int32_t n) { return (int32_t)(test_random(&seed) >> 33) % n; }

/* The same count, written by hand from the papers. */
static uint64_t count_by_formula(const struct gf_config *c) {
    const uint64_t d = (uint64_t)c->d_model, q = (uint64_t)(c->n_heads * c->d_head),
                   kv = (uint64_t)(c->n_kv_heads * c->d_head), f = (uint64_t)c->d_ff, v = (uint64_t)c->vocab_size,
                   two = c->kind == GF_ENCODER_DECODER, norm = c->norm == GF_LAYERNORM && c->bias_norm ? 2 * d : d,
                   gates = c->ffn == GF_SWIGLU ? 2 : 1,
                   attn = d * (q + 2 * kv) + q * d + (c->bias_qkv ? q + 2 * kv : 0) + (c->bias_attn_out ? d : 0),
                   ffn = (gates + 1) * d * f + (c->bias_ffn ? gates * f + d : 0),
                   qk = c->qk_norm ? 2 * (uint64_t)c->d_head : 0, encoder = 2 * norm + attn + qk + ffn,
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
    struct gf_config c = config(300, 64, 2, 4, 128, 40);
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

static void a_random_model_has_the_loss_of_uniform_guessing(void) {
    struct gf_config c = config(1000, 128, 4, 4, 512, 64);
    c.norm = c.final_norm_kind = GF_LAYERNORM, c.ffn = GF_GELU_ERF, c.position = GF_POS_LEARNED;
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    CHECK_OK(gf_model_randomize(m, 3, 0.02f, &err));
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    int32_t ids[33];
    for (int i = 0; i < 33; i++) ids[i] = below(1000);
    CHECK_OK(gf_session_eval(s, ids, 32, &err));
    const float *y = gf_session_logits(s, 0, 32, &err);
    double loss = 0;
    for (int i = 0; i < 32; i++) {
        double sum = 0;
        for (int k = 0; k < 1000; k++) sum += exp((double)y[i * 1000 + k]);
        loss += (log(sum) - (double)y[i * 1000 + ids[i + 1]]) / 32;
    }
    CHECK_NEAR(loss, log(1000), 0.02 * log(1000));
    gf_session_close(s);
    gf_model_close(m);
}

/* The relative difference between input and output of a block at initialisation, for a unit-normal input. */
static double change_of_a_block(int32_t placement, uint64_t seed_) {
    struct gf_config c = config(16, 64, 1, 4, 256, 16);
    c.norm = c.final_norm_kind = GF_LAYERNORM, c.ffn = GF_GELU_ERF, c.position = GF_POS_NONE;
    c.norm_placement = placement;
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    CHECK_OK(gf_model_randomize(m, seed_, 0.02f, &err));
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

/* The call fails with this status and a sentence that contains these words. */
#define CHECK_REFUSED(call, wanted, ...)                                                                               \
    do {                                                                                                               \
        memset(&err, 0, sizeof err);                                                                                   \
        CHECK_INT((int64_t)(call), wanted);                                                                            \
        CHECK_INT(err.status, wanted);                                                                                 \
        const char *const words_[] = {__VA_ARGS__};                                                                    \
        for (size_t i_ = 0; i_ < sizeof words_ / sizeof *words_; i_++)                                                 \
            if (check_note(strstr(err.text, words_[i_]) != NULL, __FILE__, __LINE__))                                  \
                printf("\"%s\" does not say \"%s\"\n", err.text, words_[i_]);                                          \
    } while (0)
/* The same for calls that return a pointer. */
#define STATUS_OF(pointer) ((pointer) == NULL ? err.status : 0)

/* Defaults depend on what was given; what was given stays, but for flags of parts that the architecture lacks. */
static void fields_that_were_not_given_are_filled_in(void) {
    struct gf_config c;
    uint8_t given[GF_N_FIELDS] = {0};
#define GIVE(field, value) (c.field = value, given[GF_FIELD_##field] = 1)
    memset(&c, 0x55, sizeof c);
    CHECK_REFUSED(gf_config_complete(&c, given, &err), GF_ERR_CONFIG, "vocab_size is missing");
    GIVE(vocab_size, 300), GIVE(d_model, 48), GIVE(n_heads, 5);
    CHECK_REFUSED(gf_config_complete(&c, given, &err), GF_ERR_CONFIG, "n_layers is missing");
    GIVE(n_layers, 3);
    CHECK_REFUSED(gf_config_complete(&c, given, &err), GF_ERR_CONFIG, "d_model 48 is not divisible by n_heads 5");
    GIVE(n_heads, 4), GIVE(bias_norm, 1);
    CHECK_OK(gf_config_complete(&c, given, &err));
    CHECK(c.n_kv_heads == 4 && c.d_head == 12 && c.d_ff == 128 && c.context_length == 1024 && c.n_encoder_layers == 0);
    CHECK(c.norm_eps == 1e-6f && c.final_norm && c.causal && c.tie_word_embeddings && !c.bias_norm);
    given[GF_FIELD_bias_norm] = 0;
    GIVE(norm, GF_LAYERNORM), GIVE(norm_placement, GF_POST_NORM), GIVE(kind, GF_ENCODER_DECODER), GIVE(ffn, GF_RELU);
    GIVE(n_heads, 5), GIVE(d_head, 6);
    CHECK_OK(gf_config_complete(&c, given, &err));
    CHECK(c.n_kv_heads == 5 && c.d_head == 6 && c.d_ff == 192 && c.n_encoder_layers == 3);
    CHECK(c.norm_eps == 1e-5f && !c.final_norm && c.bias_norm);
    GIVE(kind, GF_ENCODER), GIVE(bias_head, 1), GIVE(tie_word_embeddings, 1);
    CHECK_OK(gf_config_complete(&c, given, &err));
    CHECK(!c.causal && !c.bias_head && !c.tie_word_embeddings && c.n_encoder_layers == 0);
    GIVE(d_model, 0);
    CHECK_REFUSED(gf_config_complete(&c, given, &err), GF_ERR_CONFIG, "d_model is 0, expected a whole number from 1");
#undef GIVE
}

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
        gf_decimal(text, cases[i].x, 0);
        CHECK_TEXT(text, cases[i].text);
    }
    gf_decimal(text, (double)0.1f, 1);
    CHECK_TEXT(text, "0.1");
    gf_decimal(text, (double)0.1f, 0);
    CHECK_TEXT(text, "0.10000000149011612");
}

static void impossible_configurations_are_refused(void) {
    const struct gf_config good = config(50, 24, 2, 4, 40, 96);
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
    REFUSED(c.d_head = 5, "d_head 5 is odd");
    REFUSED(c.vocab_size = 0, "vocab_size is 0, expected a whole number from 1 to 4194304");
    REFUSED(c.d_model = -1, "d_model");
    REFUSED(c.n_layers = 0, "n_layers is 0, expected a whole number from 1 to 4096");
    REFUSED(c.n_layers = 1 << 20, "n_layers is 1048576");
    REFUSED(c.context_length = 0, "context_length");
    REFUSED(c.norm_eps = -0.1f, "norm_eps is -0.1, expected a number from 0 to 1");
    REFUSED(c.norm_eps = NAN, "norm_eps is NaN");
    REFUSED(c.ffn = 8,
            "ffn is 8, expected one of relu, gelu_erf, gelu_tanh, swiglu, silu, reglu, geglu_erf, geglu_tanh");
    REFUSED(c.causal = 7, "causal is 7, expected true or false");
    REFUSED(c.rope_theta = 0, "rope_theta");
    REFUSED((c.rope_scaling = GF_ROPE_SCALING_LINEAR, c.rope_factor = 0), "rope_factor");
    REFUSED(c.rope_scaling = GF_ROPE_SCALING_LLAMA3, "rope_scaling llama3 needs rope_original_context");
    REFUSED((c.rope_scaling = GF_ROPE_SCALING_LLAMA3, c.rope_original_context = 9, c.rope_low_freq_factor = 4.5f),
            "rope_high_freq_factor 4 is not above rope_low_freq_factor 4.5");
    REFUSED(c.n_encoder_layers = 1, "n_encoder_layers", "encoder_decoder");
    REFUSED(c.kind = GF_ENCODER_DECODER, "n_encoder_layers");
    REFUSED(c.shared_embedding = 0, "two embeddings");
    REFUSED(c.kind = GF_ENCODER, "causal");
    REFUSED((c.n_heads = c.n_kv_heads = 4096, c.d_head = 4096), "n_heads 4096", "d_head 4096");
    REFUSED((c.position = GF_POS_LEARNED, c.context_length = 1 << 30), "context_length", "learned");
#undef REFUSED
    c = good;
    CHECK_REFUSED(gf_config_set(&c, -1, 1, &err), GF_ERR_CONFIG, "field -1");
    CHECK_REFUSED(gf_config_set(&c, 10000, 1, &err), GF_ERR_CONFIG, "field 10000");
    CHECK_REFUSED(gf_config_set(&c, 1, 2.5, &err), GF_ERR_CONFIG, "vocab_size", "whole");
    CHECK_REFUSED(gf_config_set(&c, 1, NAN, &err), GF_ERR_CONFIG, "vocab_size is NaN", "4194304");
    CHECK_REFUSED(gf_config_set(&c, 1, 1e300, &err), GF_ERR_CONFIG, "vocab_size is 1e+300", "4194304");
    CHECK_INT(c.vocab_size, 50);
    CHECK_OK(gf_config_set(&c, 1, 51, &err));
    CHECK_INT((int32_t)gf_config_get(&c, 1), 51);
    CHECK(isnan(gf_config_get(&c, -1)) && isnan(gf_config_get(&c, 10000)));

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
            CHECK(gf_config_get(&c, f) == (limits[f].is_float ? (double)(float)values[i] : values[i]));
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

static int32_t entry(const struct gf_config *c, const char *name) {
    struct gf_tensor t;
    for (int32_t i = 0; gf_roster_tensor(c, i, &t) == GF_OK; i++)
        if (!strcmp(t.name, name)) return i;
    printf("no entry %s\n", name);
    return -1;
}

/* Position tables are f32 whatever the matrices beside them are kept as. The fuzzer stacked one with a matrix: their
 * formats were compared although a table has none. */
static void a_matrix_and_a_position_table_load_as_one_stack(void) {
    struct gf_config c = config(5, 32, 1, 4, 32, 3);
    c.position = GF_POS_LEARNED;
    uint8_t blocks[(5 + 3) * 34]; /* rows of 32 numbers at the scale 1, which is 0x3c00 in f16 */
    for (int row = 0; row < 5 + 3; row++) {
        uint8_t *b = blocks + 34 * row;
        b[0] = 0, b[1] = 0x3c;
        for (int i = 0; i < 32; i++) b[2 + i] = (uint8_t)(row + i);
    }
    struct gf_model *m = gf_model_open(&c, all_kept_as(GF_Q8_0), &err);
    const int32_t embed = 0, table = 1;
    CHECK_INT(entry(&c, "embed.weight"), embed);
    CHECK_INT(entry(&c, "position.weight"), table);
    CHECK_OK(gf_tensor_begin(m, embed, 2, GF_Q8_0, 0, &err));
    CHECK_OK(gf_tensor_write(m, blocks, sizeof blocks, &err));
    CHECK_OK(gf_tensor_end(m, &err));
    for (int row = 0; row < 5 + 3; row++) {
        float x[32];
        CHECK_OK(gf_tensor_read(m, row < 5 ? embed : table, row < 5 ? row : row - 5, x, &err));
        for (int i = 0; i < 32; i++) CHECK_NEAR(x[i], row + i, row < 5 ? 38 / 127.0 / 2 : 0);
    }
    gf_model_close(m);
}

static void tensors_of_wrong_shape_order_or_length_are_refused(void) {
    struct gf_config c = config(50, 24, 1, 4, 40, 96);
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    const int32_t n = gf_roster_count(&c), embed = 0, q = entry(&c, "blocks.0.attn.q.weight"),
                  norm = entry(&c, "blocks.0.norm1.weight"), head = n - 1;
    float x[50 * 24];
    for (int i = 0; i < 50 * 24; i++) x[i] = 0.25f;

    CHECK_REFUSED(gf_tensor_begin(m, -1, 1, GF_F32, 0, &err), GF_ERR_ARGUMENT, "-1");
    CHECK_REFUSED(gf_tensor_begin(m, n, 1, GF_F32, 0, &err), GF_ERR_ARGUMENT, "do not exist");
    CHECK_REFUSED(gf_tensor_begin(m, 5, INT32_MAX, GF_F32, 0, &err), GF_ERR_ARGUMENT, "exist");
    CHECK_REFUSED(gf_tensor_begin(m, 0, 1, GF_N_DTYPES, 0, &err), GF_ERR_ARGUMENT, "dtype");
    CHECK_REFUSED(gf_tensor_begin(m, head, 1, GF_F32, 0, &err), GF_ERR_DUPLICATE, "head.weight", "tied",
                  "embed.weight");
    CHECK_REFUSED(gf_tensor_begin(m, embed, 2, GF_F32, 0, &err), GF_ERR_SHAPE, "stacked", "embed.weight");
    CHECK_REFUSED(gf_tensor_begin(m, embed, 1, GF_Q8_0, 0, &err), GF_ERR_SHAPE, "embed.weight", "24", "32");
    CHECK_REFUSED(gf_tensor_write(m, x, 4, &err), GF_ERR_STATE, "no tensor");
    CHECK_REFUSED(gf_tensor_end(m, &err), GF_ERR_STATE, "no tensor");

    CHECK_OK(gf_tensor_begin(m, embed, 1, GF_F32, 0, &err));
    CHECK_REFUSED(gf_tensor_begin(m, q, 1, GF_F32, 0, &err), GF_ERR_STATE, "still being loaded");
    CHECK_REFUSED(gf_model_seal(m, &err), GF_ERR_STATE, "still being loaded");
    CHECK_REFUSED(gf_model_randomize(m, 1, 0.02f, &err), GF_ERR_STATE, "already");
    CHECK_REFUSED(gf_tensor_write(m, x, 6, &err), GF_ERR_ARGUMENT, "embed.weight", "6", "4");
    CHECK_REFUSED(gf_tensor_write(m, x, 4, &err), GF_ERR_STATE, "no tensor"); /* the failed write has discarded it */

    CHECK_OK(gf_tensor_begin(m, embed, 1, GF_F32, 0, &err));
    CHECK_OK(gf_tensor_write(m, x, sizeof x - 4, &err));
    CHECK_REFUSED(gf_tensor_end(m, &err), GF_ERR_TRUNCATED, "embed.weight", "1199", "1200");
    CHECK_OK(gf_tensor_begin(m, embed, 1, GF_F32, 0, &err));
    CHECK_OK(gf_tensor_write(m, x, 8, &err));
    CHECK_REFUSED(gf_tensor_write(m, x, sizeof x, &err), GF_ERR_SHAPE, "embed.weight", "1200");

    static const float odd[] = {NAN, INFINITY, -INFINITY};
    static const int places[] = {0, 7, 199};
    static const char *const named[] = {"element 100 ", "element 107 ", "element 299 "};
    for (int transposed = 0; transposed < 2; transposed++)
        for (int i = 0; i < 9; i++) {
            CHECK_OK(gf_tensor_begin(m, embed, 1, GF_F32, transposed, &err));
            CHECK_OK(gf_tensor_write(m, x, 400, &err));
            x[places[i / 3]] = odd[i % 3];
            CHECK_REFUSED(gf_tensor_write(m, x, 800, &err), GF_ERR_NOT_FINITE, "embed.weight", named[i / 3]);
            x[places[i / 3]] = 0.25f;
        }
    CHECK_OK(gf_tensor_begin(m, embed, 1, GF_F32, 0, &err));
    CHECK_OK(gf_tensor_write(m, x, sizeof x, &err));
    CHECK_OK(gf_tensor_end(m, &err));
    CHECK_REFUSED(gf_tensor_begin(m, embed, 1, GF_F32, 0, &err), GF_ERR_DUPLICATE, "embed.weight", "before");
    CHECK_REFUSED(gf_model_seal(m, &err), GF_ERR_MISSING, "blocks.0.norm1.weight", "missing");
    CHECK_REFUSED(STATUS_OF(gf_session_open(m, 0, GF_KV_F32, &err)), GF_ERR_STATE, "sealed");
    float row[64];
    CHECK_REFUSED(gf_tensor_read(m, embed, 50, row, &err), GF_ERR_ARGUMENT, "row 50");
    CHECK_REFUSED(gf_tensor_read(m, n, 0, row, &err), GF_ERR_ARGUMENT, "entry");
    CHECK_OK(gf_tensor_read(m, norm, 0, row, &err));
    struct gf_tensor t;
    CHECK_INT(gf_model_tensor(m, n, &t), GF_ERR_ARGUMENT);
    CHECK_INT(gf_roster_tensor(&c, n, &t), GF_ERR_ARGUMENT);
    CHECK_INT(gf_roster_tensor(&c, -1, &t), GF_ERR_ARGUMENT);
    gf_model_close(m);

    m = gf_model_open(&c, NULL, &err);
    CHECK_REFUSED(gf_model_randomize(m, 1, NAN, &err), GF_ERR_ARGUMENT, "finite");
    CHECK_REFUSED(gf_model_randomize(m, 1, -0.02f, &err), GF_ERR_ARGUMENT, "finite");
    CHECK_OK(gf_model_randomize(m, 1, 0.02f, &err));
    CHECK_REFUSED(gf_model_randomize(m, 1, 0.02f, &err), GF_ERR_STATE, "already");
    CHECK_REFUSED(gf_tensor_begin(m, embed, 1, GF_F32, 0, &err), GF_ERR_STATE, "sealed");
    gf_model_close(m);
    gf_model_close(NULL);
}

static void session_calls_with_wrong_arguments_or_state_are_refused(void) {
    struct gf_config c = config(50, 24, 1, 4, 40, 20);
    c.position = GF_POS_LEARNED;
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    CHECK_OK(gf_model_randomize(m, 1, 0.3f, &err));
    CHECK_REFUSED(STATUS_OF(gf_session_open(m, 21, GF_KV_F32, &err)), GF_ERR_ARGUMENT, "21", "20");
    CHECK_REFUSED(STATUS_OF(gf_session_open(m, -1, GF_KV_F32, &err)), GF_ERR_ARGUMENT, "-1");
    CHECK_REFUSED(STATUS_OF(gf_session_open(m, 0, GF_N_KV_TYPES, &err)), GF_ERR_ARGUMENT, "type");
    struct gf_session *s = gf_session_open(m, 10, GF_KV_F32, &err);
    CHECK_INT(gf_session_context(s), 10);
    int32_t ids[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, bad[3] = {1, 50, 2}, worse[1] = {-1};

    CHECK_REFUSED(STATUS_OF(gf_session_logits(s, 0, 1, &err)), GF_ERR_ARGUMENT, "0..0", "left 0");
    struct gf_choice choice;
    struct gf_sampling plain = {1, 1, 0, 1, 0};
    CHECK_REFUSED(gf_session_sample(s, &plain, NULL, &choice, &err), GF_ERR_ARGUMENT, "left 0");
    CHECK_REFUSED(gf_session_eval(s, ids, 0, &err), GF_ERR_ARGUMENT, "at least one");
    CHECK_REFUSED(gf_session_eval(s, ids, -5, &err), GF_ERR_ARGUMENT, "at least one");
    CHECK_REFUSED(gf_session_eval(s, ids, 11, &err), GF_ERR_CONTEXT, "11", "10");
    CHECK_REFUSED(gf_session_eval(s, bad, 3, &err), GF_ERR_TOKEN, "token 1", "50");
    CHECK_REFUSED(gf_session_eval(s, worse, 1, &err), GF_ERR_TOKEN, "-1");
    CHECK_REFUSED(gf_session_encode(s, ids, NULL, NULL, 3, &err), GF_ERR_STATE, "no encoder");
    CHECK_REFUSED(gf_session_rewind(s, 1, &err), GF_ERR_ARGUMENT, "1 of 0");
    CHECK_REFUSED(gf_session_rewind(s, -1, &err), GF_ERR_ARGUMENT, "-1");
    CHECK_INT(gf_session_length(s), 0);

    CHECK_OK(gf_session_eval(s, ids, 4, &err));
    float before[50], after[50];
    memcpy(before, gf_session_logits(s, 3, 1, &err), sizeof before);
    CHECK_REFUSED(gf_session_eval(s, ids, 7, &err), GF_ERR_CONTEXT, "7", "after 4");
    CHECK_REFUSED(gf_session_eval(s, bad, 3, &err), GF_ERR_TOKEN, "50");
    CHECK_REFUSED(STATUS_OF(gf_session_logits(s, 4, 1, &err)), GF_ERR_ARGUMENT, "4..4", "left 4");
    CHECK_REFUSED(STATUS_OF(gf_session_logits(s, -1, 1, &err)), GF_ERR_ARGUMENT, "-1");
    CHECK_REFUSED(STATUS_OF(gf_session_logits(s, 0, 0, &err)), GF_ERR_ARGUMENT, "rows");
    CHECK_REFUSED(STATUS_OF(gf_session_logits(s, 3, INT32_MAX, &err)), GF_ERR_ARGUMENT, "rows");
    CHECK_INT(gf_session_length(s), 4); /* the session is unchanged */
    memcpy(after, gf_session_logits(s, 3, 1, &err), sizeof after);
    CHECK_BITS(after, before, sizeof after);

    const float one = 1, nan = NAN;
    int32_t dims[3];
    CHECK_REFUSED(gf_session_capture(s, 0, 1, GF_P_Q, 1, &err), GF_ERR_ARGUMENT, "layer 1");
    CHECK_REFUSED(gf_session_capture(s, 0, 0, GF_N_POINTS, 1, &err), GF_ERR_ARGUMENT, "no point");
    CHECK_REFUSED(gf_session_capture(s, 0, 0, GF_P_EMBED, 1, &err), GF_ERR_ARGUMENT, "no point");
    CHECK_REFUSED(gf_session_capture(s, 0, 0, GF_P_ROT_Q, 1, &err), GF_ERR_ARGUMENT, "no point");
    CHECK_REFUSED(gf_session_capture(s, 0, 0, GF_P_CROSS_Q, 1, &err), GF_ERR_ARGUMENT, "no point");
    CHECK_REFUSED(gf_session_capture(s, 1, 0, GF_P_Q, 1, &err), GF_ERR_ARGUMENT, "stack 1");
    CHECK_REFUSED(gf_session_capture(s, 9, 0, GF_P_Q, 1, &err), GF_ERR_ARGUMENT, "stack 9");
    CHECK(gf_session_captured(s, 0, 0, GF_P_Q, dims) == NULL);
    CHECK(gf_session_captured(s, 0, 7, GF_P_Q, dims) == NULL);
#define EDIT(...) gf_session_edit(s, 0, 0, __VA_ARGS__, &err)
    CHECK_REFUSED(EDIT(GF_P_Q, 4, -1, -1, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "head 4", "4 heads");
    CHECK_REFUSED(EDIT(GF_P_Q, -2, -1, -1, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "head -2");
    CHECK_REFUSED(EDIT(GF_P_MLP_POST, 0, -1, -1, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "0 heads");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, -2, -1, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "position -2");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, -1, 0, NAN, NULL, 0), GF_ERR_ARGUMENT, "scale");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, -1, 3, 1, &one, 1), GF_ERR_ARGUMENT, "edit 3");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, -1, GF_EDIT_SET, 1, NULL, 0), GF_ERR_ARGUMENT, "0 values", "6");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, -1, GF_EDIT_SET, 1, &one, 5), GF_ERR_ARGUMENT, "5 values", "6");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, -1, GF_EDIT_ADD, 1, &nan, 1), GF_ERR_ARGUMENT, "value 0");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, 6, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "index 6", "6");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, -2, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "index -2");
    CHECK_REFUSED(EDIT(GF_P_LN_FINAL, -1, 0, -1, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "no point");
#undef EDIT
    gf_session_close(s);
    gf_session_close(NULL);
    gf_model_close(m);

    c.kind = GF_ENCODER_DECODER, c.n_encoder_layers = 1;
    m = gf_model_open(&c, NULL, &err);
    CHECK_OK(gf_model_randomize(m, 1, 0.3f, &err));
    s = gf_session_open(m, 0, GF_KV_F32, &err);
    const uint8_t blind[3] = {0, 0, 0};
    CHECK_REFUSED(gf_session_eval(s, ids, 1, &err), GF_ERR_STATE, "source");
    CHECK_REFUSED(gf_session_encode(s, ids, NULL, NULL, 0, &err), GF_ERR_ARGUMENT, "at least one");
    CHECK_REFUSED(gf_session_encode(s, ids, NULL, NULL, 21, &err), GF_ERR_CONTEXT, "21", "20");
    CHECK_REFUSED(gf_session_encode(s, bad, NULL, NULL, 3, &err), GF_ERR_TOKEN, "50");
    CHECK_REFUSED(gf_session_encode(s, ids, NULL, blind, 3, &err), GF_ERR_ARGUMENT, "hides every");
    gf_session_close(s);
    gf_model_close(m);

    c.kind = GF_ENCODER, c.n_encoder_layers = 0, c.causal = 0;
    m = gf_model_open(&c, NULL, &err);
    CHECK_OK(gf_model_randomize(m, 1, 0.3f, &err));
    s = gf_session_open(m, 0, GF_KV_F32, &err);
    CHECK_REFUSED(gf_session_eval(s, ids, 1, &err), GF_ERR_STATE, "encode");
    int32_t n = 1;
    CHECK(gf_session_hidden(s, GF_STACK_ENCODER, &n) == NULL && n == 0);
    gf_session_close(s);
    gf_model_close(m);
}

static void sampling_from_overflowing_logits_returns_a_status(void) {
    struct gf_config c = config(50, 24, 1, 4, 40, 20);
    c.final_norm = 0; /* a norm would divide the infinities away */
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    CHECK_OK(gf_model_randomize(m, 1, 1e30f, &err));
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    struct gf_choice choice;
    struct gf_sampling plain = {1, 1, 0, 1, 0}, greedy = {0, 1, 0, 1, 0};
    const int32_t ids[2] = {1, 2};
    CHECK_OK(gf_session_eval(s, ids, 2, &err));
    CHECK_REFUSED(gf_session_sample(s, &plain, NULL, &choice, &err), GF_ERR_NOT_FINITE, "NaN");
    CHECK_REFUSED(gf_session_sample(s, &greedy, NULL, &choice, &err), GF_ERR_NOT_FINITE, "NaN");
    gf_session_close(s);
    gf_model_close(m);
}

int main(void) {
    for (int i = 0; i < N_GOLDEN; i++) golden_open(&all[i], golden_names[i]);
    RUN(roster_lists_the_golden_weights);
    RUN(outputs_match_the_golden_models);
    RUN(every_capture_point_matches_the_golden_models);
    RUN(an_edit_at_every_point_matches_the_golden_models);
    RUN(float_types_layouts_and_piece_sizes_give_the_same_bits);
    RUN(block_formats_keep_weights_that_they_represent_exactly);
    RUN(blocks_from_a_file_are_stored_unchanged);
    RUN(the_comparison_distinguishes_the_outputs_of_known_mistakes);
    RUN(the_comparison_fails_for_models_with_planted_faults);
    RUN(the_comparison_fails_for_a_rope_offset_of_one);
    RUN(parameter_counts_match_the_published_ones);
    RUN(random_configurations_are_counted_reserved_and_run);
    RUN(random_weights_are_normal_and_depend_on_the_seed_only);
    RUN(a_random_model_has_the_loss_of_uniform_guessing);
    RUN(a_pre_norm_block_starts_near_the_identity);
    RUN(fields_that_were_not_given_are_filled_in);
    RUN(numbers_are_written_as_javascript_writes_them);
    RUN(impossible_configurations_are_refused);
    RUN(a_matrix_and_a_position_table_load_as_one_stack);
    RUN(tensors_of_wrong_shape_order_or_length_are_refused);
    RUN(session_calls_with_wrong_arguments_or_state_are_refused);
    RUN(sampling_from_overflowing_logits_returns_a_status);
    for (int i = 0; i < N_GOLDEN; i++) golden_close(&all[i]);
    return check_end();
}
