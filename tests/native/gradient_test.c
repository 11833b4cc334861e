/* gradient_test.c - every gradient of every variant against central differences in double. */
#include "in_double.h"

/* The definition of gf_gemm: sums in double. */
static void gemm_ref(int ta, int tb, int32_t m, int32_t n, int32_t k, float alpha, const float *a, int32_t lda,
                     const float *b, int32_t ldb, float beta, float *c, int32_t ldc) {
    for (int32_t i = 0; i < m; i++)
        for (int32_t j = 0; j < n; j++) {
            double sum = 0;
            for (int32_t q = 0; q < k; q++)
                sum += (double)a[ta ? (int64_t)q * lda + i : (int64_t)i * lda + q] *
                       (double)b[tb ? (int64_t)j * ldb + q : (int64_t)q * ldb + j];
            float *to = &c[(int64_t)i * ldc + j];
            *to = (float)((double)alpha * sum + (beta == 0 ? 0 : (double)beta * (double)*to));
        }
}

/* ---- variants ---------------------------------------------------------------------------------------------------- */

static struct gf_config base(void) {
    struct gf_config c;
    gf_config_default(&c);
    c.vocab_size = 11;
    c.d_model = 8;
    c.n_layers = 1;
    c.n_heads = c.n_kv_heads = 2;
    c.d_head = 4;
    c.d_ff = 12;
    c.context_length = 8;
    return c;
}

static uint64_t state;        /* the same at the beginning of each variant */
static double uniform(void) { /* -1 .. 1, xorshift64* */
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return (double)(int32_t)(state * 2685821657736338717u >> 32) * 0x1p-31;
}

static const int32_t lengths[] = {5, 1, 8}, source_lengths[] = {4, 3, 6};
static int32_t ids[14], targets[14], source_ids[13];

static struct gf_batch fixed_batch(int32_t vocab_size, int two) {
    for (int i = 0; i < 14; i++) ids[i] = (i * 7 + 3) % vocab_size, targets[i] = (i * 5 + 1) % vocab_size;
    targets[4] = -1;
    for (int i = 0; i < 13; i++) source_ids[i] = (i * 3 + 2) % vocab_size;
    return (struct gf_batch){.n = 14,
                             .n_seqs = 3,
                             .lengths = lengths,
                             .ids = ids,
                             .targets = targets,
                             .n_source = two ? 13 : 0,
                             .source_lengths = source_lengths,
                             .source_ids = source_ids};
}

/* The distance of the numbers that are compared: each of a small tensor, some of a large one. It has no factor in common
 * with the width, so every row and every column has its turn. */
static uint64_t stride(const struct gf_tensor *t) { return t->count <= 40 ? 1 : t->cols % 5 ? 5 : 7; }

/* The largest relative error over the parameters. An absolute error below 1e-9 counts as 0. */
static void check_gradients(const char *name, const struct gf_config *c, double dropout, gf_gemm_fn gemm) {
    struct gf_error err;
    if (gf_config_check(c, &err) != GF_OK) {
        printf("  %s: %s\n", name, err.text);
        CHECK(0);
        return;
    }
    struct gf_params w, g;
    struct gf_graph graph;
    if (gf_params_open(&w, c) || gf_params_open(&g, c) || gf_graph_open(&graph, c, 14, 13, 3, gemm)) {
        CHECK(0);
        return;
    }
    state = 4;
    for (int32_t i = 0; i < w.n_list; i++)
        for (uint64_t j = 0; j < w.list[i].t.count; j++)
            w.data[w.list[i].offset + j] =
                uniform() * 0.5 + (w.list[i].t.rank == 1 && ends(w.list[i].t.name, ".weight"));
    const struct gf_batch b = fixed_batch(c->vocab_size, c->kind == GF_ENCODER_DECODER);
    gf_graph_run(&graph, &w.w, &g.w, &b, 1, dropout, 7);
    const double h = 1e-5; /* truncation and rounding both add less than 1e-6 */
    double worst = 0;
    uint64_t count = 0;
    for (int32_t i = 0; i < w.n_list; i++) {
        double norm2 = 0;
        count += w.list[i].t.count;
        for (uint64_t j = 0; j < w.list[i].t.count; j += stride(&w.list[i].t)) {
            double *x = &w.data[w.list[i].offset + j], x0 = *x, f[2], got = *(&g.data[w.list[i].offset + j]);
            for (int k = 0; k < 2; k++) {
                *x = x0 + (k ? h : -h);
                f[k] = gf_graph_run(&graph, &w.w, NULL, &b, 1, dropout, 7);
            }
            *x = x0;
            const double want = (f[1] - f[0]) / (2 * h), size = fmax(fabs(got), fabs(want)),
                         error = fabs(got - want) / fmax(size, 1e-3);
            norm2 += got * got;
            if (error > worst) worst = error;
            if (check_note(error <= 1e-5, __FILE__, __LINE__))
                printf("%s: d %s[%d] is %.12g, differences say %.12g\n", name, w.list[i].t.name, (int)j, got, want);
        }
        /* Single gradients may be 0 (a key bias shifts all scores of a query equally; some rows are unused), but not
         * those of a whole matrix. */
        if (w.list[i].t.rank == 2) CHECK(norm2 > 0);
    }
    CHECK_INT(count, gf_count_parameters(c));
    printf("  %-44s %5d parameters, worst relative error %.1e\n", name, (int)count, worst);
    gf_graph_close(&graph);
    gf_params_close(&g);
    gf_params_close(&w);
}

#define VARIANT(name, ...)                                                                                             \
    do {                                                                                                               \
        struct gf_config c = base();                                                                                   \
        __VA_ARGS__;                                                                                                   \
        check_gradients(name, &c, 0, gemm_ref);                                                                        \
    } while (0)

static void gpt2(struct gf_config *c) {
    c->norm = c->final_norm_kind = GF_LAYERNORM;
    c->ffn = GF_GELU_TANH;
    c->position = GF_POS_LEARNED;
    c->bias_qkv = c->bias_attn_out = c->bias_ffn = c->bias_norm = 1;
}

static void original(struct gf_config *c) { /* the 2017 encoder-decoder */
    gpt2(c);
    c->kind = GF_ENCODER_DECODER;
    c->n_encoder_layers = 1;
    c->norm_placement = GF_POST_NORM;
    c->final_norm = 0;
    c->ffn = GF_RELU;
    c->position = GF_POS_SINUSOIDAL;
    c->tie_word_embeddings = 0;
    c->bias_head = 1;
}

static void gradients_of_decoders_match_central_differences(void) {
    VARIANT("modern, tied, two layers", c.n_layers = 2);
    VARIANT("modern, untied, adjacent pairs", c.tie_word_embeddings = 0, c.rope_pairs = GF_ROPE_ADJACENT);
    VARIANT("grouped queries, d_head 6", c.n_heads = 4, c.d_head = 6);
    VARIANT("one kv head", c.n_kv_heads = 1);
    VARIANT("q and k norms, grouped", c.n_heads = 4, c.qk_norm = 1);
    VARIANT("sliding window of 3", c.sliding_window = 3);
    VARIANT("qkv bias", c.bias_qkv = 1);
    VARIANT("all biases, swiglu", c.bias_qkv = c.bias_attn_out = c.bias_ffn = c.bias_head = 1,
            c.tie_word_embeddings = 0);
    VARIANT("gpt2", gpt2(&c));
    VARIANT("gelu_erf, layernorm without bias", gpt2(&c), c.ffn = GF_GELU_ERF, c.bias_norm = 0);
    VARIANT("post-norm, layernorm, gelu_erf, sinusoidal", gpt2(&c), c.norm_placement = GF_POST_NORM,
            c.ffn = GF_GELU_ERF, c.position = GF_POS_SINUSOIDAL, c.tie_word_embeddings = 0);
    VARIANT("attention only, no norms, no positions, two layers", c.n_layers = 2, c.ffn = GF_NO_FFN, c.d_ff = 0,
            c.norm = GF_NO_NORM, c.final_norm = 0, c.position = GF_POS_NONE);
    VARIANT("attention only, sandwich norms", c.n_layers = 2, c.ffn = GF_NO_FFN, c.d_ff = 0,
            c.norm_placement = GF_SANDWICH_NORM);
    VARIANT("no norms, swiglu", c.norm = GF_NO_NORM, c.final_norm = 0);
    VARIANT("no norms, parallel", c.norm = GF_NO_NORM, c.final_norm = 0, c.parallel_residual = 1);
    VARIANT("post-norm, rmsnorm, no positions", c.norm_placement = GF_POST_NORM, c.position = GF_POS_NONE);
    VARIANT("embedding scale, no final norm", c.embedding_scale = 3, c.final_norm = 0);
    VARIANT("llama3 rope scaling", c.rope_scaling = GF_ROPE_SCALING_LLAMA3, c.rope_factor = 8,
            c.rope_original_context = 16);
    VARIANT("not causal, scores unscaled", c.causal = 0, c.scale_scores = 0);
    VARIANT("no residual", c.use_residual = 0);
    VARIANT("no residual, post-norm", c.use_residual = 0, c.norm_placement = GF_POST_NORM);
    VARIANT("no norm, no final norm, no position", c.use_norm = c.use_final_norm = 0, c.use_position = 0);
}

static struct gf_list flags(int32_t n, int first, int second) {
    struct gf_list list = {.n = n, .at = {first, second}};
    return list;
}

/* The parts that only some families have. */
static void gradients_of_further_families_match_central_differences(void) {
    for (int32_t ffn = 0; ffn < GF_WORDS_ffn; ffn++)
        if (ffn != GF_NO_FFN) VARIANT(gf_field_word(GF_FIELD_ffn, ffn), c.ffn = ffn);
    VARIANT("geglu_tanh, sandwich norms, two layers", c.ffn = GF_GEGLU_TANH, c.norm_placement = GF_SANDWICH_NORM,
            c.n_layers = 2);
    VARIANT("norms of outputs, q and k norms of projections", c.norm_placement = GF_OUTPUT_NORM, c.qk_norm = 1,
            c.qk_norm_span = GF_SPAN_PROJECTION, c.n_heads = 4);
    VARIANT("norms of outputs, no residual", c.norm_placement = GF_OUTPUT_NORM, c.use_residual = 0);
    VARIANT("norms of outputs, layernorm, relu", gpt2(&c), c.norm_placement = GF_OUTPUT_NORM, c.ffn = GF_RELU);
    VARIANT("parallel, two norms, a part of each head rotates", gpt2(&c), c.position = GF_POS_ROPE,
            c.parallel_residual = 1, c.rotary_dim = 2, c.n_layers = 2);
    VARIANT("parallel, one norm, adjacent pairs, head with bias", gpt2(&c), c.position = GF_POS_ROPE,
            c.parallel_residual = c.shared_norm = 1, c.d_head = 6, c.rotary_dim = 4, c.rope_pairs = GF_ROPE_ADJACENT,
            c.tie_word_embeddings = 0, c.bias_head = 1);
    VARIANT("parallel, one norm, no residual", c.parallel_residual = c.shared_norm = 1, c.use_residual = 0);
    VARIANT("q and k norms: layernorm with bias", c.qk_norm = 1, c.qk_norm_kind = GF_QK_LAYERNORM, c.bias_qk_norm = 1,
            c.n_heads = 4);
    VARIANT("q and k norms: layernorm, one for each head", c.qk_norm = 1, c.qk_norm_kind = GF_QK_LAYERNORM,
            c.qk_norm_span = GF_SPAN_EACH_HEAD, c.n_heads = 4);
    VARIANT("norms without weights", gpt2(&c), c.norm_gain = c.bias_norm = 0);
    VARIANT("windows and frequencies of their own in one layer", c.n_layers = 2, c.sliding_window = 3,
            c.window_layers = flags(2, 1, 0), c.rope_local_theta = 30, c.rope_scaling = GF_ROPE_SCALING_LINEAR,
            c.rope_factor = 4);
    VARIANT("heads without rotation", c.n_heads = 6, c.n_kv_heads = 3, c.rotary_kv_heads = 2);
    VARIANT("one layer without rotation", c.n_layers = 2, c.rope_layers = flags(2, 1, 0));
    VARIANT("yarn", c.rope_scaling = GF_ROPE_SCALING_YARN, c.rope_factor = 4, c.rope_original_context = 64,
            c.rope_attention_factor = 1.25);
    VARIANT("alibi, three heads, a norm of the embedding", gpt2(&c), c.position = GF_POS_ALIBI, c.n_heads = 3,
            c.n_kv_heads = 3, c.d_head = 2, c.embed_norm = 1);
    VARIANT("soft caps of scores and logits", c.score_softcap = 0.7, c.logit_softcap = 0.9);
    VARIANT("four factors", c.embedding_scale = 3, c.residual_scale = 0.35, c.score_scale = 0.8, c.logit_scale = 0.3);
    VARIANT("narrower embedding, offset positions, post-norm", gpt2(&c), c.d_embed = 6, c.position_offset = 2,
            c.norm_placement = GF_POST_NORM, c.final_norm = 0, c.ffn = GF_RELU);
    VARIANT("wider embedding, untied", c.d_embed = 10, c.tie_word_embeddings = 0);
    VARIANT("relative bias beside rotation, soft cap, window", c.relative_buckets = 6, c.relative_max_distance = 5,
            c.score_softcap = 0.7, c.n_layers = 2, c.sliding_window = 4, c.n_heads = 4);
}

/* The choice jumps where two experts are equally probable: a difference over such a place is no derivative, and an
 * expert that no row chooses has no gradient. The weights are drawn from a seed of their own, with which neither
 * happens. */
static void gradients_of_experts_match_central_differences(void) {
    state = 4;
    VARIANT("two of four experts", c.n_experts = 4, c.n_experts_used = 2, c.d_expert = 6);
    VARIANT("two of three, not divided by their sum", c.n_experts = 3, c.n_experts_used = 2, c.d_expert = 6,
            c.norm_expert_weights = 0);
    VARIANT("all of three, wider than d_ff, relu", c.n_experts = c.n_experts_used = 3, c.d_expert = 15,
            c.ffn = GF_RELU);
    VARIANT("one of three, not divided, in the second of two layers", c.n_layers = 2, c.n_experts = 3,
            c.n_experts_used = 1, c.d_expert = 5, c.norm_expert_weights = 0, c.expert_layers = flags(2, 0, 1));
    VARIANT("experts, parallel residual, one norm", c.parallel_residual = c.shared_norm = 1, c.n_experts = 3,
            c.n_experts_used = 2, c.d_expert = 6);
    VARIANT("experts, sandwich norms, residual scale", c.norm_placement = GF_SANDWICH_NORM, c.residual_scale = 0.4,
            c.n_experts = 3, c.n_experts_used = 2, c.d_expert = 6);
}

static void bert(struct gf_config *c) {
    gpt2(c);
    c->kind = GF_ENCODER;
    c->causal = 0;
    c->norm_placement = GF_POST_NORM;
    c->final_norm = 0;
    c->ffn = GF_GELU_ERF;
    c->embed_norm = c->mlm_head = c->bias_head = c->n_token_types = 1;
}

static void gradients_of_encoders_match_central_differences(void) {
    VARIANT("BERT, two layers", bert(&c), c.n_layers = 2);
    VARIANT("RoBERTa: offset, padding id", bert(&c), c.position_offset = 2, c.position_pad_id = 3);
    VARIANT("pre-norm, rope, untied", c.kind = GF_ENCODER, c.causal = 0, c.mlm_head = 1, c.tie_word_embeddings = 0);
    VARIANT("a window on both sides", bert(&c), c.sliding_window = 2);
    VARIANT("relative bias", c.kind = GF_ENCODER, c.causal = 0, c.mlm_head = 1, c.position = GF_POS_NONE,
            c.relative_buckets = 6, c.relative_max_distance = 4);
}

/* As many labels as tokens, whose targets the batch has; a classifier of sequences has those of its first rows. */
static void classifier(struct gf_config *c, int32_t pooling, int32_t transform) {
    c->n_labels = c->vocab_size;
    c->tie_word_embeddings = c->mlm_head = 0;
    c->label_pooling = pooling;
    c->label_transform = transform;
}

static void gradients_of_classifiers_match_central_differences(void) {
    VARIANT("BERT: the pooler", bert(&c), classifier(&c, GF_LABELS_OF_POOLER, GF_LABEL_NONE), c.pooler = 1);
    VARIANT("BERT: a label of each token", bert(&c), classifier(&c, GF_LABELS_OF_EACH, GF_LABEL_NONE));
    VARIANT("RoBERTa: tanh of the first", bert(&c), classifier(&c, GF_LABELS_OF_FIRST, GF_LABEL_TANH));
    for (int32_t act = GF_LABEL_RELU; act < GF_WORDS_label_transform; act++)
        VARIANT(gf_field_word(GF_FIELD_label_transform, act), bert(&c), classifier(&c, GF_LABELS_OF_FIRST, act));
    VARIANT("ModernBERT: mean, norm", bert(&c), classifier(&c, GF_LABELS_OF_MEAN, GF_LABEL_GELU_ERF), c.label_norm = 1);
    VARIANT("ModernBERT: each token", bert(&c), classifier(&c, GF_LABELS_OF_EACH, GF_LABEL_GELU_ERF), c.label_norm = 1);
    VARIANT("the mean itself", bert(&c), classifier(&c, GF_LABELS_OF_MEAN, GF_LABEL_NONE), c.bias_head = 0);
    VARIANT("Llama: score", classifier(&c, GF_LABELS_OF_LAST, GF_LABEL_NONE));
    VARIANT("BART: tanh", original(&c), classifier(&c, GF_LABELS_OF_LAST, GF_LABEL_TANH));
}

static void gradients_of_encoder_decoders_match_central_differences(void) {
    VARIANT("2017, one embedding, untied, two layers", original(&c), c.n_layers = c.n_encoder_layers = 2);
    VARIANT("2017, attention only", original(&c), c.ffn = GF_NO_FFN, c.d_ff = 0);
    VARIANT("2017, tied, own embeddings, learned", original(&c), c.tie_word_embeddings = 1, c.shared_embedding = 0,
            c.position = GF_POS_LEARNED, c.bias_head = 0);
    VARIANT("pre-norm, final norm, swiglu, grouped, rope", c.kind = GF_ENCODER_DECODER, c.n_encoder_layers = 1,
            c.n_heads = 4);
    VARIANT("T5: relative bias, rmsnorm, geglu_tanh", c.kind = GF_ENCODER_DECODER, c.n_encoder_layers = 2,
            c.position = GF_POS_NONE, c.relative_buckets = 8, c.relative_max_distance = 6, c.scale_scores = 0,
            c.d_head = 3, c.ffn = GF_GEGLU_TANH, c.logit_scale = 0.35);
    VARIANT("Marian: sinusoids in halves, silu", original(&c), c.sinusoid_pairs = GF_SINUSOID_HALF, c.ffn = GF_SILU,
            c.embedding_scale = 2, c.tie_word_embeddings = 1);
    VARIANT("BART: norms of both embeddings, offset positions", original(&c), c.position = GF_POS_LEARNED,
            c.position_offset = 2, c.embed_norm = 1, c.tie_word_embeddings = 1, c.ffn = GF_GELU_ERF);
    VARIANT("other heads in the encoder", original(&c), c.n_encoder_heads = 1, c.tie_word_embeddings = 1);
    VARIANT("pre-norm, layernorm, gelu_tanh, biases", original(&c), c.norm_placement = GF_PRE_NORM, c.final_norm = 1,
            c.ffn = GF_GELU_TANH);
}

/* Forward and backward drop the same elements. */
static void gradients_with_dropout_match_central_differences(void) {
    struct gf_config c = base();
    check_gradients("dropout 0.3", &c, 0.3, gemm_ref);
    original(&c);
    check_gradients("dropout 0.3, 2017", &c, 0.3, gemm_ref);
    c = base();
    c.parallel_residual = 1;
    check_gradients("dropout 0.3, parallel", &c, 0.3, gemm_ref);
    c = base();
    c.norm_placement = GF_SANDWICH_NORM, c.residual_scale = 0.4;
    check_gradients("dropout 0.3, sandwich, residual scale", &c, 0.3, gemm_ref);
}

/* ln p of token v after row i, in the run without gradients that has just ended. */
static double log_probability(const struct gf_graph *g, int i, int32_t v) {
    const double *row = g->logits + i * g->cfg.vocab_size;
    return row[v] - gf_logsumexp(row, g->cfg.vocab_size, NULL);
}

/* Two teachers of another architecture, which have no part in the target of row 6. The loss is the cross-entropy with
 * the mixed targets. */
static double mixed_loss(struct gf_graph *g, const struct gf_weights *w, const struct gf_batch *b, const double *mix) {
    double sum = 0;
    gf_graph_run(g, w, NULL, b, 1, 0, 0);
    for (int i = 0; i < 14; i++)
        for (int32_t v = 0; b->targets[i] >= 0 && v < g->cfg.vocab_size; v++)
            sum -= mix[i * g->cfg.vocab_size + v] * log_probability(g, i, v);
    return sum;
}

static void gradients_with_two_teachers_match_central_differences(void) {
    struct gf_config c = base(), other = base();
    gpt2(&other);
    other.d_ff = 12;
    const int32_t vocab_size = c.vocab_size;
    struct gf_params w, g, his[2];
    struct gf_graph graph, teaching[2];
    struct gf_teacher teachers[2];
    double *mix = calloc(14 * (size_t)vocab_size, sizeof *mix);
    int bad = !mix || gf_params_open(&w, &c) || gf_params_open(&g, &c) || gf_graph_open(&graph, &c, 14, 0, 3, gemm_ref);
    for (int t = 0; t < 2 && !bad; t++)
        bad = gf_params_open(&his[t], &other) || gf_graph_open(&teaching[t], &other, 14, 0, 3, gemm_ref);
    if (bad) {
        CHECK(0);
        return;
    }
    for (uint64_t i = 0; i < w.n; i++) w.data[i] = uniform() * 0.5;
    struct gf_batch b = fixed_batch(vocab_size, 0);
    int32_t teacher_targets[14];
    memcpy(teacher_targets, b.targets, sizeof teacher_targets);
    teacher_targets[6] = -1;
    b.teacher_targets = teacher_targets;
    for (int i = 0; i < 14; i++)
        if (b.targets[i] >= 0) mix[i * vocab_size + b.targets[i]] = i == 6 ? 1 : 1 - 0.5 - 0.2;
    for (int t = 0; t < 2; t++) {
        const double share = t ? 0.2 : 0.5;
        for (uint64_t i = 0; i < his[t].n; i++) his[t].data[i] = uniform() * 0.5;
        gf_graph_run(&teaching[t], &his[t].w, NULL, &b, 1, 0, 0);
        for (int i = 0; i < 14; i++)
            for (int32_t v = 0; i != 6 && v < vocab_size; v++)
                mix[i * vocab_size + v] += share * exp(log_probability(&teaching[t], i, v));
        teachers[t] = (struct gf_teacher){&teaching[t], &his[t].w, share};
    }
    graph.teachers = teachers;
    graph.n_teachers = 2;
    gf_graph_run(&graph, &w.w, &g.w, &b, 1, 0, 0);
    double worst = 0;
    for (uint64_t i = 0; i < w.n; i += 3) {
        const double h = 1e-5, x0 = w.data[i];
        double f[2];
        for (int k = 0; k < 2; k++) {
            w.data[i] = x0 + (k ? h : -h);
            f[k] = mixed_loss(&graph, &w.w, &b, mix);
        }
        w.data[i] = x0;
        const double want = (f[1] - f[0]) / (2 * h), size = fmax(fabs(g.data[i]), fabs(want));
        worst = fmax(worst, fabs(g.data[i] - want) / fmax(size, 1e-3));
    }
    CHECK(worst > 0 && worst <= 1e-5);
    printf("  %-44s %5d parameters, worst relative error %.1e\n", "two teachers' shares of 0.5 and 0.2", (int)(w.n / 3),
           worst);
    for (int t = 0; t < 2; t++) {
        gf_graph_close(&teaching[t]);
        gf_params_close(&his[t]);
    }
    gf_graph_close(&graph);
    gf_params_close(&g);
    gf_params_close(&w);
    free(mix);
}

/* Sizes that are no multiples of the blocks of gemm.c, and the sizes above. */
static void gradients_with_the_own_matrix_product_match_central_differences(void) {
    struct gf_config c = base();
    check_gradients("own matrix products", &c, 0, gf_gemm);
    double a[19 * 300], b[300 * 70], got[19 * 70], want[19 * 70];
    for (int i = 0; i < 19 * 300; i++) a[i] = uniform();
    for (int i = 0; i < 300 * 70; i++) b[i] = uniform();
    for (int ta = 0; ta < 2; ta++)
        for (int tb = 0; tb < 2; tb++) {
            for (int i = 0; i < 19 * 70; i++) got[i] = want[i] = uniform();
            gf_gemm(ta, tb, 19, 70, 300, 0.5, a, ta ? 19 : 300, b, tb ? 300 : 70, 2, got, 70);
            gemm_ref(ta, tb, 19, 70, 300, 0.5, a, ta ? 19 : 300, b, tb ? 300 : 70, 2, want, 70);
            for (int i = 0; i < 19 * 70; i++) CHECK_NEAR(got[i], want[i], 1e-12);
        }
}

static void gradients_of_another_final_norm_match_central_differences(void) {
    VARIANT("final rmsnorm over layernorm, its own epsilon", gpt2(&c), c.final_norm_kind = GF_RMSNORM,
            c.final_norm_eps = 0.5f);
    VARIANT("final layernorm with bias over rmsnorm", c.final_norm_kind = GF_LAYERNORM, c.bias_norm = 1);
}

/* The weights are drawn from a seed of their own, as those of the experts above. */
static void gradients_of_shared_experts_match_central_differences(void) {
    state = 4;
    VARIANT("a shared expert, wider than the others", c.n_experts = 3, c.n_experts_used = 2, c.d_expert = 5,
            c.d_shared_expert = 14, c.norm_expert_weights = 0);
    VARIANT("a shared expert, narrow, relu, in one of two layers", c.n_layers = 2, c.n_experts = 3,
            c.n_experts_used = 2, c.d_expert = 8, c.d_shared_expert = 3, c.ffn = GF_RELU,
            c.expert_layers = flags(2, 1, 0));
}

int main(void) {
    RUN(gradients_of_decoders_match_central_differences);
    RUN(gradients_of_further_families_match_central_differences);
    RUN(gradients_of_experts_match_central_differences);
    RUN(gradients_of_encoder_decoders_match_central_differences);
    RUN(gradients_of_encoders_match_central_differences);
    RUN(gradients_of_classifiers_match_central_differences);
    RUN(gradients_with_dropout_match_central_differences);
    RUN(gradients_with_two_teachers_match_central_differences);
    RUN(gradients_with_the_own_matrix_product_match_central_differences);
    RUN(gradients_of_another_final_norm_match_central_differences);
    RUN(gradients_of_shared_experts_match_central_differences);
    return check_end();
}
