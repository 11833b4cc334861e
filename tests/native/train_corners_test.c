/* train_corners_test.c - parts of the trainer that the other tests do not cover: files, teachers, learning rates,
 * dropout, and the results of the WebAssembly interface. For each there was a planted fault that no other native test
 * detected. */
#include "check.h"
#include "copied.h"
#include "../../src/wasm/train_abi.c" /* no header: only JavaScript calls it */
#include "base/rng.h"
#include "model/layers/dropout.h"
#include "train/files/files.h"
#include "train/text/synthetic.h"
#include <unistd.h>

static struct gf_error err;

/* The sanitizers refuse allocations above 8 MB: one test needs a failing allocation. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1:max_allocation_size_mb=8"; }

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void a_failed_file_is_removed(void) {
    char path[64], part[72];
    snprintf(path, sizeof path, "build/train_corners_test.%ld", (long)getpid());
    snprintf(part, sizeof part, "%s.part", path);
    for (int bad = 0; bad < 2; bad++) {
        struct gf_file f;
        gf_file_open(&f, path);
        gf_put_text(&f.sink, "text");
        CHECK_INT(access(part, F_OK), 0);
        CHECK_INT(gf_file_close(&f, bad ? GF_ERR_UNSUPPORTED : GF_OK, &err), bad ? GF_ERR_UNSUPPORTED : GF_OK);
        CHECK_INT(access(part, F_OK), -1);
        CHECK_INT(access(path, F_OK), bad ? -1 : 0);
        remove(path);
    }
    struct gf_memory m;
    struct gf_sink to = gf_memory_sink(&m);
    char text[1100];
    memset(text, 'x', sizeof text), text[1023] = 0;
    gf_put_format(&to, "%s", text);
    CHECK_INT(to.bad, 0);
    CHECK_INT(m.n, 1023);
    text[1023] = 'x', text[1024] = 0; /* longer than the buffer of gf_put_format */
    gf_put_format(&to, "%s", text);
    CHECK_INT(to.bad, 1);
    CHECK_INT(m.n, 1023);
    gf_memory_close(&m);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

struct setting {
    const char *key;
    double value;
};
static struct gf_run *open_run(const struct setting *more, const char *text, int held) {
    static const struct setting small[] = {{"vocab_size", 270}, {"d_model", 16},        {"n_layers", 2},
                                           {"n_heads", 2},      {"n_kv_heads", 2},      {"d_head", 8},
                                           {"d_ff", 32},        {"context_length", 32}, {"steps", 9},
                                           {"lr", 0.01},        {"micro_tokens", 64},   {"batch_tokens", 128}};
    struct gf_run *r = gf_train_new();
    size_t n = text ? strlen(text) : 0;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        CHECK_INT(gf_train_set(r, small[i].key, small[i].value, &err), GF_OK);
    for (; more && more->key; more++) CHECK_INT(gf_train_set(r, more->key, more->value, &err), GF_OK);
    char *own = text ? copy_of(text, n) : gf_synthetic_stories(3, 30, &n);
    err.text[0] = 0;
    const int32_t status =
        gf_train_open(r, own, (uint32_t)n, held ? copy_of(own, n) : NULL, held ? (uint32_t)n : 0, &err);
    CHECK_INT(status, GF_OK);
    if (status != GF_OK) printf("  %s\n", err.text);
    return r;
}

static void the_learning_rate_ends_at_final_rate(void) {
    struct gf_trainer_options o;
    gf_trainer_defaults(&o);
    o.steps = 100, o.warmup = 0.1f, o.final_rate = 0.25f;
    CHECK_NEAR(gf_trainer_rate(&o, 5), 0.5, 1e-6);
    CHECK_NEAR(gf_trainer_rate(&o, 10), 1, 1e-6);
    CHECK_NEAR(gf_trainer_rate(&o, 55), 0.625, 1e-6);
    for (int64_t step = 100; step < 400; step += 37)
        CHECK_NEAR(gf_trainer_rate(&o, step), 0.25, 1e-6); /* after the last step */
    static const double at_91[] = {[GF_LINEAR] = 0.325, [GF_CONSTANT] = 1, [GF_WSD] = 0.625};
    for (o.schedule = GF_LINEAR; o.schedule <= GF_WSD; o.schedule++) {
        CHECK_NEAR(gf_trainer_rate(&o, 5), 0.5, 1e-6);
        CHECK_NEAR(gf_trainer_rate(&o, 91), at_91[o.schedule], 1e-6);
        CHECK_NEAR(gf_trainer_rate(&o, 300), o.schedule == GF_CONSTANT ? 1 : 0.25, 1e-6);
    }
    struct gf_recipe r;
    gf_recipe_defaults(&r);
    CHECK_INT(gf_recipe_line(&r, "schedule = wsd", &err), GF_OK);
    CHECK_INT(r.options.schedule, GF_WSD);
    CHECK_INT(gf_recipe_line(&r, "schedule = 3", &err), GF_ERR_CONFIG);
}

/* What was behind character 319 of a value, or 63 of an entry of a list, was cut off. */
static void a_long_value_of_a_recipe_is_complete_or_refused(void) {
    struct gf_recipe r;
    char line[8000] = "rope_long_factors = ", *end = line + strlen(line);
    gf_recipe_defaults(&r);
    for (int i = 0; i < 100; i++) end += sprintf(end, "%s%d.500000000", i ? ", " : "", i + 1);
    CHECK_INT(gf_recipe_line(&r, line, &err), GF_OK);
    CHECK_INT(r.cfg.rope_long_factors.n, 100);
    CHECK(r.cfg.rope_long_factors.at[99] == 100.5f);
    sprintf(line, "rope_short_factors = 1, %0100d", 2);
    CHECK_INT(gf_recipe_line(&r, line, &err), GF_ERR_CONFIG);
    CHECK_TEXT(err.text, "rope_short_factors: 100 characters, expected at most 63");
    sprintf(line, "teacher = %0300d", 7);
    CHECK_INT(gf_recipe_line(&r, line, &err), GF_ERR_CONFIG);
    CHECK_TEXT(err.text, "teacher: longer than 255");
    sprintf(line, "groups = %05000d", 7);
    CHECK_INT(gf_recipe_line(&r, line, &err), GF_ERR_CONFIG);
    CHECK_TEXT(err.text, "groups: 5000 characters, expected at most 4095");
    memset(line, 'k', 100);
    strcpy(line + 100, " = 1");
    CHECK_INT(gf_recipe_line(&r, line, &err), GF_ERR_CONFIG);
}

/* Each pass, step and seed drops other elements. With a learning rate of 0 only dropout changes the loss of a text. */
static double loss_with(int32_t micro, int32_t batch, int steps) {
    const struct setting more[] = {{"dropout", 0.5},
                                   {"seed", 1},
                                   {"lr", 0},
                                   {"muon_lr", 0},
                                   {"init_std", 0.3},
                                   {"weight_decay", 0},
                                   {"micro_tokens", micro},
                                   {"batch_tokens", batch},
                                   {"context_length", 32},
                                   {NULL, 0}};
    static char text[2000];
    double out[7] = {0};
    text[0] = 0; /* equal stories of one window each */
    for (int i = 0; i < 12; i++) strcat(text, "abcdefgh ijklmnop qrst uvw xyz.\n<|endoftext|>\n");
    struct gf_run *r = open_run(more, text, 0);
    for (int i = 0; i < steps; i++) CHECK_INT(gf_train_step(r, out, &err), GF_OK);
    gf_train_close(r);
    return out[1];
}
static void dropout_masks_differ_by_seed_step_and_pass(void) {
    const double one = loss_with(32, 32, 1);
    CHECK(loss_with(32, 32, 1) == one);
    CHECK(loss_with(32, 32, 2) != one);
    CHECK(loss_with(32, 64, 1) != one); /* two passes; the first is the same */
    /* The initial weights depend on the seed too, so the dropped elements are compared directly. */
    const struct gf_config cfg = {.d_model = 64};
    float x[64], y[3][64];
    for (int i = 0; i < 64; i++) x[i] = 1;
    for (int i = 0; i < 3; i++) {
        struct gf_training t = {.dropout = 0.5f, .seed = 7 + (uint64_t)i % 2};
        const struct gf_pass p = {.cfg = &cfg, .n = 1, .training = &t};
        gf_dropout(&p, 0, y[i], x);
    }
    CHECK(!memcmp(y[0], y[2], sizeof y[0]));
    CHECK(memcmp(y[0], y[1], sizeof y[0]) != 0);
}

static void a_checkpoint_of_another_seed_is_refused(void) {
    const struct setting other[] = {{"seed", 2}, {NULL, 0}};
    struct gf_run *a = open_run(NULL, NULL, 0), *b = open_run(other, NULL, 0);
    uint32_t n;
    void *state = gf_train_file(a, GF_FILE_STATE, &n, &err);
    CHECK(state != NULL);
    CHECK_INT(gf_train_load(b, state, n, &err), GF_ERR_CONFIG);
    CHECK(strstr(err.text, "another seed") != NULL);
    CHECK_INT(gf_train_load(a, state, n, &err), GF_OK);
    free(state);
    gf_train_close(a);
    gf_train_close(b);
}

static void teachers_of_another_vocabulary_or_shorter_context_are_refused(void) {
    struct gf_run *r = open_run(NULL, NULL, 0);
    struct gf_params w;
    for (int i = 0; i < 4; i++) {
        struct gf_config c = r->trainer.cfg;
        if (i == 0) c.context_length--;
        if (i == 1) c.vocab_size++;
        if (i == 2) c.kind = GF_ENCODER_DECODER, c.n_encoder_layers = 1;
        CHECK_INT(gf_params_open(&w, &c), 0);
        CHECK_INT(gf_trainer_teach(&r->trainer, &c, &w, 0.1f, &err), i < 3 ? GF_ERR_CONFIG : GF_OK);
        CHECK_INT(r->trainer.lanes[0].graph.n_teachers, i == 3);
        if (i < 3) gf_params_close(&w);
    }
    for (int i = 1; i < GF_TEACHERS; i++)
        CHECK_INT(gf_trainer_teach(&r->trainer, &r->trainer.cfg, &w, 0.1f, &err), GF_OK);
    CHECK_INT(gf_trainer_teach(&r->trainer, &r->trainer.cfg, &w, 0.1f, &err), GF_ERR_ARGUMENT);
    gf_train_close(r);
    gf_params_close(&w);
}

/* The optimiser took the step before the loss, infinite where all gradients are finite, was refused. */
static void a_step_whose_loss_is_infinite_changes_no_weight(void) {
    struct gf_config c;
    gf_config_default(&c);
    c.vocab_size = 8, c.d_model = c.d_head = c.context_length = 4, c.n_layers = c.n_heads = c.n_kv_heads = 1;
    c.ffn = GF_NO_FFN, c.d_ff = 0, c.norm = GF_NO_NORM, c.final_norm = 0, c.position = GF_POS_NONE;
    c.tie_word_embeddings = 0;
    struct gf_trainer_options o;
    gf_trainer_defaults(&o);
    o.batch_tokens = 8, o.micro_tokens = 4;
    struct gf_data none = {0};
    struct gf_trainer t;
    CHECK_INT(gf_trainer_open(&t, &c, &o, &none, gf_gemm, NULL, &err), GF_OK);
    memset(t.weights.data, 0, t.weights.n * sizeof(float));
    float *embed = t.weights.data + gf_params_find(&t.weights, "embed.weight", 0)->offset;
    for (int i = 0; i < 8; i++) embed[4 * i] = 1e20f;
    t.weights.data[gf_params_find(&t.weights, "head.weight", 0)->offset + 3 * 4] = -1e20f;
    const int32_t ids[] = {1, 2}, targets[] = {3, -1};
    gf_batch_append(&t.micro[0], ids, targets, 2, NULL, 0);
    float *before = malloc(t.weights.n * sizeof(float));
    memcpy(before, t.weights.data, t.weights.n * sizeof(float));
    double loss, norm;
    CHECK_INT(gf_trainer_learn(&t, &loss, &norm, &err), GF_ERR_NOT_FINITE);
    CHECK_INT(memcmp(before, t.weights.data, t.weights.n * sizeof(float)), 0);
    free(before);
    gf_trainer_close(&t);
}

static void batch_tokens_must_be_a_multiple_of_micro_tokens(void) {
    struct gf_trainer t;
    struct gf_run *r = open_run(NULL, NULL, 0);
    struct gf_trainer_options o = r->recipe.options;
    o.batch_tokens = 100;
    CHECK_INT(gf_trainer_open(&t, &r->recipe.cfg, &o, &r->data, gf_gemm, NULL, &err), GF_ERR_ARGUMENT);
    CHECK(strstr(err.text, "100") && strstr(err.text, "multiple") && strstr(err.text, "64"));
    gf_train_close(r);
}

/* The results of a step; files contain the average; a vocabulary may be smaller than requested. */
static void the_wasm_interface_returns_the_documented_values(void) {
    const struct setting more[] = {{"average", 0.9}, {"vocab_size", 600}, {NULL, 0}};
    struct gf_run *r = open_run(more, "one fish two fish\n<|endoftext|>\nred fish blue fish\n", 0);
    double out[7], before = 0;
    CHECK(gf_train_vocab_size(r) < 600 && gf_train_vocab_size(r) > 257);
    CHECK_INT(r->trainer.cfg.vocab_size, gf_train_vocab_size(r));
    for (int i = 1; i <= 4; i++) {
        CHECK_INT(gf_train_step(r, out, &err), GF_OK);
        CHECK(out[0] == i && out[4] == before + out[5] && out[5] > 0);
        before = out[4];
    }
    CHECK_INT(gf_train_validate(r, out, &err), GF_ERR_STATE); /* there is no validation text */
    /* the decay is (1 + t) / (10 + t) while that is below 0.9 */
    CHECK(memcmp(r->trainer.averaged.data, r->trainer.weights.data, 64) != 0);
    struct gf_memory m;
    struct gf_sink to = gf_memory_sink(&m);
    uint32_t n;
    void *file = gf_train_file(r, GF_FILE_SAFETENSORS, &n, &err);
    gf_export_safetensors(&r->trainer.averaged, &r->trainer.cfg, &to);
    CHECK(file && n == m.n && !memcmp(file, m.bytes, n));
    free(file);
    gf_memory_close(&m);
    to = gf_memory_sink(&m);
    file = gf_train_file(r, GF_FILE_TOKENIZER, &n, &err);
    gf_bpe_write(&r->bpe, 1, &to); /* with `begin`, as for stories */
    CHECK(file && n == m.n && !memcmp(file, m.bytes, n));
    free(file);
    gf_memory_close(&m);
    gf_train_close(r);
}

/* After one step the average is w0 + (1 - 2/11) (w1 - w0), although average = 0.9. */
static void the_running_average_forgets_the_initial_weights(void) {
    const struct setting more[] = {{"average", 0.9}, {NULL, 0}};
    struct gf_run *r = open_run(more, NULL, 0);
    struct gf_trainer *t = &r->trainer;
    double out[7], worst = 0;
    float *w0 = malloc((size_t)t->weights.n * sizeof *w0);
    memcpy(w0, t->weights.data, (size_t)t->weights.n * sizeof *w0);
    CHECK_INT(gf_train_step(r, out, &err), GF_OK);
    for (uint64_t i = 0; i < t->weights.n; i++) {
        const double start = (double)w0[i], now = (double)t->weights.data[i];
        worst = fmax(worst, fabs((double)t->averaged.data[i] - (start + 9.0 / 11 * (now - start))));
    }
    CHECK_NEAR(worst, 0, 1e-6);
    free(w0);
    gf_train_close(r);
}

static void pairs_train_through_the_wasm_interface(void) {
    const struct setting more[] = {{"kind", GF_ENCODER_DECODER}, {"n_encoder_layers", 1}, {NULL, 0}};
    struct gf_run *r = open_run(more, "one\tun\ntwo\tdeux\nthree\ttrois\n", 1);
    double out[7];
    struct gf_memory m;
    struct gf_sink to = gf_memory_sink(&m);
    uint32_t n;
    CHECK_INT(gf_train_step(r, out, &err), GF_OK);
    CHECK_INT(gf_train_validate(r, out, &err), GF_OK);
    CHECK(out[0] > 0 && out[1] > 0 && isfinite(out[0]) && isfinite(out[1]));
    void *file = gf_train_file(r, GF_FILE_TOKENIZER, &n, &err);
    gf_bpe_write(&r->bpe, 0, &to); /* without `begin`, as for pairs */
    CHECK(file && n == m.n && !memcmp(file, m.bytes, n));
    free(file);
    gf_memory_close(&m);
    gf_train_close(r);
}

/* normal(0, std); for the matrices that write into the residual stream divided by sqrt(2 n_layers). */
static void initial_weights_have_the_requested_deviation(void) {
    for (int kind = 0; kind < 2; kind++)
        for (int scaled = 0; scaled < 2; scaled++) {
            struct gf_config c;
            struct gf_params p;
            gf_config_default(&c);
            c.vocab_size = 300, c.d_model = 64, c.n_layers = 8, c.n_heads = c.n_kv_heads = 4;
            c.d_head = 16, c.d_ff = 80, c.context_length = 8;
            if (kind) c.kind = GF_ENCODER_DECODER, c.n_encoder_layers = 2;
            CHECK_INT(gf_params_open(&p, &c), 0);
            gf_params_init(&p, &c, 3, 0.05f, scaled);
            for (int32_t i = 0; i < p.n_list; i++) {
                const struct gf_tensor *t = &p.list[i].t;
                const float *x = p.data + p.list[i].offset;
                const int out = strstr(t->name, "attn.o.") || strstr(t->name, "ffn.down."),
                          layers = t->stack == GF_STACK_ENCODER ? 2 : 8;
                const double std = scaled && out ? 0.05 / sqrt(2.0 * layers) : 0.05;
                double squares = 0;
                for (uint64_t k = 0; k < t->count; k++) squares += (double)x[k] * (double)x[k];
                const double rms = sqrt(squares / (double)t->count);
                if (t->rank == 2)
                    CHECK_NEAR(rms, std, 4 * std / sqrt(2.0 * (double)t->count));
                else
                    CHECK(rms == 1);
            }
            gf_params_close(&p);
        }
}

/* Root mean squares over the matrices of a layer, without norm gains, whose gradients are larger. */
static void depth_is_measured_over_matrices_only(void) {
    struct gf_run *r = open_run(NULL, NULL, 0);
    const struct gf_config *c = &r->recipe.cfg;
    enum { N = 40 };
    struct gf_depth depth[2];
    struct gf_rng rng;
    struct gf_params w, grads;
    struct gf_graph g;
    int32_t ids[2 * N], lengths[] = {32, 8};
    CHECK_INT(gf_train_depth(r, 11, N, depth, &err), GF_OK);
    CHECK(!gf_params_open(&w, c) && !gf_params_open(&grads, c) && !gf_graph_open(&g, c, N, 0, 2, gf_gemm));
    gf_rng_seed(&rng, 11);
    gf_params_init(&w, c, gf_rng_u64(&rng), 0.02f, 0);
    for (int i = 0; i < 2 * N; i++) ids[i] = (int32_t)(gf_rng_uniform(&rng) * c->vocab_size);
    const struct gf_batch batch = {.n = N, .n_seqs = 2, .lengths = lengths, .ids = ids, .targets = ids + N};
    gf_graph_run(&g, &w.w, &grads.w, &batch, 1.0f / N, 0, 0);
    for (int32_t l = 0; l < 2; l++) {
        double sum = 0, count = 0;
        for (int32_t i = 0; i < grads.n_list; i++) {
            const struct gf_param *e = &grads.list[i];
            if (e->t.layer != l || strstr(e->t.name, "norm")) continue;
            for (uint64_t k = 0; k < e->t.count; k++) sum += pow((double)grads.data[e->offset + k], 2), count++;
        }
        CHECK_NEAR(depth[l].weights, sqrt(sum / count), 1e-6 * sqrt(sum / count));
    }
    gf_graph_close(&g);
    gf_params_close(&w);
    gf_params_close(&grads);
    gf_train_close(r);
}

static int says(const struct gf_config *c, const char *what) {
    struct gf_memory m;
    struct gf_sink to = gf_memory_sink(&m);
    gf_export_config(c, &to);
    gf_put(&to, "", 1);
    const int found = !to.bad && strstr((const char *)m.bytes, what) != NULL;
    gf_memory_close(&m);
    return found;
}

/* A configuration that differs from GPT-2 or Llama in one field gets the model_type "glassformer". */
static void only_plain_gpt2_and_llama_get_hugging_face_folders(void) {
    struct gf_config llama;
    gf_config_default(&llama);
    llama.vocab_size = 300, llama.d_model = 16, llama.n_layers = 1, llama.n_heads = 2;
    llama.n_kv_heads = 2, llama.d_head = 8, llama.d_ff = 32, llama.context_length = 32;
    struct gf_config gpt2 = llama;
    gpt2.norm = gpt2.final_norm_kind = GF_LAYERNORM, gpt2.ffn = GF_GELU_TANH, gpt2.position = GF_POS_LEARNED;
    gpt2.bias_qkv = gpt2.bias_attn_out = gpt2.bias_ffn = gpt2.bias_norm = 1;
    CHECK(says(&llama, "\"model_type\": \"llama\"") && says(&gpt2, "\"model_type\": \"gpt2\""));
#define OWN(from, change)                                                                                              \
    do {                                                                                                               \
        struct gf_config c = from;                                                                                     \
        change;                                                                                                        \
        CHECK_INT(gf_config_check(&c, &err), GF_OK);                                                                   \
        CHECK(says(&c, "\"model_type\": \"glassformer\""));                                                            \
    } while (0)
    OWN(gpt2, c.d_head = 4);
    OWN(gpt2, c.n_kv_heads = 1);
    OWN(gpt2, c.bias_norm = 0);
    OWN(gpt2, c.final_norm_kind = GF_RMSNORM);
    OWN(gpt2, c.final_norm_eps = 0.01f);
    OWN(gpt2, c.bias_ffn = 0);
    OWN(gpt2, c.ffn = GF_GELU_ERF);
    OWN(gpt2, c.position = GF_POS_ROPE);
    OWN(gpt2, c.bias_head = 1);
    OWN(gpt2, (c.n_labels = 3, c.tie_word_embeddings = 0));
    OWN(llama, c.rotary_kv_heads = 1);
    OWN(llama, c.rope_pairs = GF_ROPE_ADJACENT);
    OWN(llama, (c.rope_scaling = GF_ROPE_SCALING_LINEAR, c.rope_factor = 2));
    OWN(llama, c.bias_qkv = 1);
    OWN(llama, c.qk_norm = 1);
    OWN(llama, c.sliding_window = 8);
    OWN(llama, c.relative_buckets = 8);
    OWN(gpt2, (c.position = GF_POS_SINUSOIDAL, c.sinusoid_pairs = GF_SINUSOID_HALF));
    OWN(llama, c.embedding_scale = 2);
    OWN(llama, c.tie_word_embeddings = 0);
    OWN(llama, c.norm_placement = GF_POST_NORM);
    OWN(llama, c.final_norm = 0);
    OWN(llama, (c.norm = GF_NO_NORM, c.final_norm = 0));
    OWN(llama, (c.ffn = GF_NO_FFN, c.d_ff = 0));
    OWN(llama, c.causal = 0);
    OWN(llama, c.use_residual = 0);
#undef OWN
}

/* A state of 10 MB, for which memory is missing. What was written of it is freed; the sanitizer reports a leak. */
static void a_file_for_which_memory_is_missing_returns_null_and_leaks_nothing(void) {
    const struct setting more[] = {{"d_model", 128}, {"d_ff", 1000}, {NULL, 0}};
    struct gf_run *r = open_run(more, NULL, 0);
    uint32_t n = 0;
    err.status = GF_OK;
    void *file = gf_train_file(r, GF_FILE_STATE, &n, &err);
    CHECK(n > 4 << 20);
    CHECK(!file == (err.status == GF_ERR_MEMORY));
#if defined(__SANITIZE_ADDRESS__)
    CHECK(!file);
#endif
    free(file);
    gf_train_close(r);
}

int main(void) {
    RUN(a_long_value_of_a_recipe_is_complete_or_refused);
    RUN(a_file_for_which_memory_is_missing_returns_null_and_leaks_nothing);
    RUN(initial_weights_have_the_requested_deviation);
    RUN(depth_is_measured_over_matrices_only);
    RUN(only_plain_gpt2_and_llama_get_hugging_face_folders);
    RUN(a_failed_file_is_removed);
    RUN(the_learning_rate_ends_at_final_rate);
    RUN(dropout_masks_differ_by_seed_step_and_pass);
    RUN(a_checkpoint_of_another_seed_is_refused);
    RUN(teachers_of_another_vocabulary_or_shorter_context_are_refused);
    RUN(a_step_whose_loss_is_infinite_changes_no_weight);
    RUN(batch_tokens_must_be_a_multiple_of_micro_tokens);
    RUN(the_wasm_interface_returns_the_documented_values);
    RUN(the_running_average_forgets_the_initial_weights);
    RUN(pairs_train_through_the_wasm_interface);
    return check_end();
}
