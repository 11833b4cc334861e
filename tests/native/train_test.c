/* train_test.c - the trainer compared with PyTorch, with sessions of the engine and with itself. */
#include "check.h"
#include "glassformer.h"
#include "train/text/bpe.h"
#include "train/files/export.h"
#include "train/files/tokenizer_json.h"
#include "train/recipe.h"
#include "train/sha256.h"
#include "train/text/synthetic.h"
#include <stdlib.h>

/* ---- recorded by PyTorch: tests/golden/train/make.py ------------------------------------------------------------- */

enum { MOST = 64 };
struct golden {
    struct gf_recipe recipe;
    struct gf_batch batch;
    int32_t lengths[MOST], ids[MOST], targets[MOST], source_lengths[MOST], source_ids[MOST];
    int32_t n_floats, n_steps, counted;
    float *weights, *gradients;
    double loss, losses[MOST];
};

static int read_ints(FILE *f, int32_t *to, int32_t n) { return n <= MOST && fread(to, 4, (size_t)n, f) == (size_t)n; }

static int read_golden(struct golden *g, const char *name) {
    char path[128], line[256];
    struct gf_error err;
    memset(g, 0, sizeof *g);
    gf_recipe_defaults(&g->recipe);
    snprintf(path, sizeof path, "tests/golden/train/%s.recipe", name);
    FILE *f = fopen(path, "rb");
    int ok = f != NULL;
    while (ok && fgets(line, sizeof line, f)) {
        ok = gf_recipe_line(&g->recipe, line, &err) == GF_OK;
        if (!ok) printf("  %s: %s\n", path, err.text);
    }
    if (f) fclose(f);
    if (ok) CHECK_INT(gf_recipe_complete(&g->recipe, &err), GF_OK);
    snprintf(path, sizeof path, "tests/golden/train/%s.bin", name);
    f = ok ? fopen(path, "rb") : NULL;
    int32_t h[5];
    ok = f && read_ints(f, h, 5) && read_ints(f, g->lengths, h[0]) && read_ints(f, g->ids, h[1]) &&
         read_ints(f, g->targets, h[1]) && read_ints(f, g->source_lengths, h[0]) && read_ints(f, g->source_ids, h[2]) &&
         h[4] <= MOST;
    if (ok) {
        const size_t n = (size_t)h[3];
        g->n_floats = h[3];
        g->n_steps = h[4];
        g->weights = malloc(n * 4);
        g->gradients = malloc(n * 4);
        ok = g->weights && g->gradients && fread(g->weights, 4, n, f) == n && fread(&g->loss, 8, 1, f) == 1 &&
             fread(g->gradients, 4, n, f) == n && fread(g->losses, 8, (size_t)h[4], f) == (size_t)h[4];
        g->batch = (struct gf_batch){.n = h[1],
                                     .n_seqs = h[0],
                                     .lengths = g->lengths,
                                     .ids = g->ids,
                                     .targets = g->targets,
                                     .n_source = h[2],
                                     .source_lengths = g->source_lengths,
                                     .source_ids = g->source_ids};
        for (int32_t i = 0; i < h[1]; i++) g->counted += g->targets[i] >= 0;
    }
    if (f) fclose(f);
    CHECK(ok);
    return ok;
}

/* Loss, every gradient, then fifty optimiser steps on the same batch. */
static void against_pytorch(const char *name) {
    struct golden g;
    struct gf_params w, d;
    struct gf_graph graph;
    struct gf_optim optim;
    if (!read_golden(&g, name)) return;
    const struct gf_config *c = &g.recipe.cfg;
    if (gf_params_open(&w, c) || gf_params_open(&d, c) || gf_optim_open(&optim, &w, gf_gemm) ||
        gf_graph_open(&graph, c, MOST, MOST, MOST, gf_gemm)) {
        CHECK(0);
        return;
    }
    int64_t at = 0;
    for (int32_t i = 0; i < w.n_list; at += (int64_t)w.list[i++].t.count)
        memcpy(w.data + w.list[i].offset, g.weights + at, w.list[i].t.count * 4);
    CHECK_INT(at, g.n_floats);
    const double loss = gf_graph_run(&graph, &w.w, &d.w, &g.batch, 1, 0, 0);
    CHECK_NEAR(loss, g.loss, 1e-5 * g.loss);
    at = 0;
    for (int32_t i = 0; i < w.n_list; at += (int64_t)w.list[i++].t.count) {
        double error = 0, size = 0; /* over a whole tensor: small elements have the rounding errors of large ones */
        for (uint64_t j = 0; j < w.list[i].t.count; j++) {
            const double got = (double)d.data[w.list[i].offset + j], want = (double)g.gradients[(uint64_t)at + j];
            error += (got - want) * (got - want);
            size += want * want;
        }
        if (check_note(sqrt(error) <= 1e-5 * sqrt(size) + 1e-5, __FILE__, __LINE__))
            printf("%s: %s: error %.3g of %.3g\n", name, w.list[i].t.name, sqrt(error), sqrt(size));
    }
    double worst = 0;
    for (int32_t s = 0; s < g.n_steps; s++) {
        memset(d.data, 0, (size_t)d.n * 4);
        const double now = gf_graph_run(&graph, &w.w, &d.w, &g.batch, 1 / (float)g.counted, 0, 0) / g.counted;
        CHECK_NEAR(now, g.losses[s], 1e-3 * g.losses[s]);
        worst = fmax(worst, fabs(now - g.losses[s]) / g.losses[s]);
        gf_optim_step(&optim, &w, &d, &g.recipe.options.optim, s + 1, gf_trainer_rate(&g.recipe.options, s + 1), NULL);
    }
    printf("  %-12s %d steps, largest relative difference %.1e\n", name, g.n_steps, worst);
    gf_graph_close(&graph);
    gf_optim_close(&optim);
    gf_params_close(&d);
    gf_params_close(&w);
    free(g.weights);
    free(g.gradients);
}

static void gradients_and_fifty_steps_match_pytorch(void) {
    against_pytorch("modern");
    against_pytorch("gpt2");
    against_pytorch("grouped");
    against_pytorch("classic");
    against_pytorch("translation");
}

/* ---- a synthetic corpus ------------------------------------------------------------------------------------------ */

static void a_vocabulary_is_learned_written_and_read_back(void) {
    static const char *const texts[] = {"Once upon a time, there's a  dog.\n\n \"Hello!\" 42  ",
                                        "caf\xc3\xa9 \xe2\x80\x9cquoted\xe2\x80\x9d \x01\xff",
                                        " they'll we've I'm he'd it's", "x", ""};
    struct gf_error err;
    struct gf_bpe b, again;
    size_t n;
    char *text = gf_synthetic_stories(7, 200, &n);
    CHECK_INT(gf_bpe_train(&b, text, n, 400, &err), GF_OK);
    CHECK_INT(b.vocab_size, 400);
    struct gf_memory m;
    struct gf_sink to = gf_memory_sink(&m);
    gf_bpe_write(&b, 1, &to);
    CHECK_INT(to.bad, 0);
    const char *json = (const char *)m.bytes;
    CHECK_INT(gf_bpe_read(&again, json, m.n, &err), GF_OK);
    CHECK_INT(again.vocab_size, 400);
    int32_t ids[4096], ids2[4096];
    for (int i = 0; i < 5; i++) {
        const int64_t k = gf_bpe_encode(&b, texts[i], strlen(texts[i]), ids, 4096);
        CHECK_INT(gf_bpe_encode(&again, texts[i], strlen(texts[i]), ids2, 4096), k);
        char back[256] = {0};
        int at = 0;
        for (int64_t j = 0; j < k; j++) {
            CHECK_INT(ids2[j], ids[j]);
            memcpy(back + at, b.bytes[ids[j]], (size_t)b.n_bytes[ids[j]]);
            at += b.n_bytes[ids[j]];
        }
        CHECK_TEXT(back, texts[i]);
    }
    CHECK(gf_bpe_encode(&b, text, 1000, ids, 4096) < 500); /* fewer ids than bytes */
    gf_bpe_close(&again);
    CHECK_INT(gf_bpe_read(&again, json, m.n / 2, &err), GF_ERR_MISSING);
    CHECK_INT(gf_bpe_read(&again, json, m.n - 4, &err), GF_ERR_TRUNCATED);
    /* An incomplete UTF-8 character once included the quote after it, and more merges were read than counted. */
    static const char odd[] = "\"merges\":[\"\xc4\" ]\",\"! !\",\"! !\"]";
    CHECK_INT(gf_bpe_read(&again, odd, sizeof odd - 1, &err), GF_ERR_SHAPE);
    gf_memory_close(&m);
    gf_bpe_close(&b);
    free(text);
}

/* A line without a space was once one piece, and its tokens became longer than gf_bpe_write can write. */
static void no_token_is_longer_than_a_piece(void) {
    struct gf_error err;
    struct gf_bpe b, again;
    const size_t n = 20000;
    char *text = malloc(n + 1);
    if (!text) return;
    memset(text, '=', n), text[n] = 0;
    CHECK_INT(gf_bpe_train(&b, text, n, 300, &err), GF_OK);
    int32_t most = 0;
    for (int32_t i = 0; i < b.vocab_size; i++) most = b.n_bytes[i] > most ? b.n_bytes[i] : most;
    CHECK_INT(most, 4096);
    struct gf_memory m;
    struct gf_sink to = gf_memory_sink(&m);
    gf_bpe_write(&b, 1, &to);
    CHECK_INT(gf_bpe_read(&again, (const char *)m.bytes, m.n, &err), GF_OK);
    CHECK_INT(again.vocab_size, b.vocab_size);
    gf_bpe_close(&again);
    gf_memory_close(&m);
    /* a text with a 0 byte is refused */
    struct gf_data d;
    text[5000] = 0;
    CHECK_INT(gf_data_open(&d, text, n, 0, &b, 16, 1, &err), GF_ERR_ARGUMENT);
    CHECK_TEXT(err.text, "byte 5000 is 0: this is not text");
    gf_bpe_close(&b);
}

static void pairs_without_tab_source_or_target_are_refused(void) {
    static const char *const texts[] = {"one\tun\ntwo\tdeux\n", "one\tun\ntwo deux\n", "\tun\n"};
    struct gf_error err;
    struct gf_bpe b;
    CHECK_INT(gf_bpe_train(&b, "one", 3, 257, &err), GF_OK);
    for (int i = 0; i < 3; i++) {
        struct gf_data d;
        const size_t n = strlen(texts[i]);
        char *text = malloc(n + 1);
        if (!text) return;
        memcpy(text, texts[i], n + 1);
        CHECK_INT(gf_data_open(&d, text, n, 1, &b, 16, 1, &err), i ? GF_ERR_ARGUMENT : GF_OK);
        if (i)
            CHECK_TEXT(err.text,
                       i == 1 ? "pair 2 has no tab between source and target" : "pair 1 has no source before its tab");
        if (!i) gf_data_close(&d);
    }
    gf_bpe_close(&b);
}

static void a_replaced_word_is_replaced_throughout_a_text(void) {
    static const char text[] = "Lily had a dog. Lily's dogs saw an owl. \"Lily!\" said Tim. Dog and Timber.";
    struct gf_error err;
    struct gf_swap s;
    CHECK_INT(gf_swap_open(&s, "1 Lily Mia\n1 Tim Ben\n1 dog cat owl\n", "Mia Ben cat Lily Tim dog owl", 28, &err),
              GF_OK);
    size_t n;
    const char *got = gf_swap_apply(&s, text, sizeof text - 1, 3, &n);
    static const char want[] = "Mia had a cat. Mia's cats saw an owl. \"Mia!\" said Ben. Cat and Timber.";
    char copy[128] = {0};
    memcpy(copy, got, n < 127 ? n : 127);
    CHECK_TEXT(copy, want);
    got = gf_swap_apply(&s, text, sizeof text - 1, 3, &n);
    CHECK(n == strlen(copy) && !memcmp(got, copy, n));
    gf_swap_close(&s);
    /* Replacing short words by long ones once wrote beyond the result; the sanitizer reports it. */
    char dense[3000];
    for (size_t i = 0; i < sizeof dense; i++) dense[i] = "Ed "[i % 3];
    CHECK_INT(gf_swap_open(&s, "1 Ed Annabellachristina\n", "Annabellachristina Ed", 21, &err), GF_OK);
    for (uint64_t draw = 0; draw < 8; draw++) {
        got = gf_swap_apply(&s, dense, sizeof dense, draw, &n);
        CHECK(got && (n == sizeof dense || n == sizeof dense / 3 * 19));
    }
    gf_swap_close(&s);
    /* The words of a refused file were once not freed; the sanitizer reports it. */
    /* lines that end in CR LF, and a name among words */
    CHECK_INT(gf_swap_open(&s, "1 dog\tRex\r\n", "dog dog Rex", 11, &err), GF_OK);
    got = gf_swap_apply(&s, "Dog ran.", 8, 1, &n);
    CHECK(got && n == 8 && (!memcmp(got, "Rex ran.", n) || !memcmp(got, "Dog ran.", n)));
    CHECK_INT(s.n_words, 2);
    gf_swap_close(&s);
    CHECK_INT(gf_swap_open(&s, "1 Lily Mia\n1 Tim Mia\n", text, 0, &err), GF_ERR_DUPLICATE);
    CHECK_TEXT(err.text, "the word Mia is listed twice");
}

struct small {
    struct gf_bpe bpe;
    struct gf_data data;
    struct gf_recipe recipe;
    struct gf_trainer t;
};

static int open_small(struct small *s, const char *const *lines, int n_stories) {
    struct gf_error err = {0};
    size_t n;
    char *text = gf_synthetic_stories(7, n_stories, &n);
    gf_recipe_defaults(&s->recipe);
    static const char *const common[] = {"vocab_size=300",   "d_model=32",       "n_layers=2", "n_heads=2",
                                         "n_kv_heads=2",     "d_head=16",        "d_ff=64",    "context_length=64",
                                         "micro_tokens=128", "batch_tokens=256", "steps=40",   NULL};
    for (int i = 0; common[i]; i++) CHECK_INT(gf_recipe_line(&s->recipe, common[i], &err), GF_OK);
    for (; *lines; lines++) CHECK_INT(gf_recipe_line(&s->recipe, *lines, &err), GF_OK);
    CHECK_INT(gf_recipe_complete(&s->recipe, &err), GF_OK);
    int32_t status = gf_bpe_train(&s->bpe, text, n, s->recipe.cfg.vocab_size, &err);
    if (status == GF_OK)
        status = gf_data_open(&s->data, text, n, 0, &s->bpe, s->recipe.cfg.context_length, 5, &err);
    else
        free(text);
    if (status == GF_OK)
        status = gf_trainer_open(&s->t, &s->recipe.cfg, &s->recipe.options, &s->data, gf_gemm, NULL, &err);
    if (status != GF_OK) printf("  %s\n", err.text);
    CHECK_INT(status, GF_OK);
    return status == GF_OK;
}

static void close_small(struct small *s) {
    gf_trainer_close(&s->t);
    gf_data_close(&s->data);
    gf_bpe_close(&s->bpe);
}

static struct gf_memory state_of(const struct small *s) {
    struct gf_memory m;
    struct gf_sink to = gf_memory_sink(&m);
    gf_trainer_save(&s->t, &to);
    CHECK_INT(to.bad, 0);
    return m;
}

static void a_continued_run_gives_the_same_bits_as_an_uninterrupted_one(void) {
    static const char *const lines[] = {"dropout=0.1", "average=0.95", NULL};
    struct gf_error err;
    double loss, norm;
    struct small s;
    if (!open_small(&s, lines, 60)) return;
    for (int i = 0; i < 12; i++) gf_trainer_step(&s.t, &loss, &norm, &err);
    struct gf_memory half = state_of(&s);
    for (int i = 0; i < 12; i++) gf_trainer_step(&s.t, &loss, &norm, &err);
    struct gf_memory whole = state_of(&s);
    close_small(&s);

    if (!open_small(&s, lines, 60)) return;
    CHECK_INT(gf_trainer_load(&s.t, half.bytes, half.n, &err), GF_OK);
    CHECK_INT(s.t.step, 12);
    for (int i = 0; i < 12; i++) gf_trainer_step(&s.t, &loss, &norm, &err);
    struct gf_memory again = state_of(&s);
    close_small(&s);
    CHECK(whole.n > 100000);
    CHECK_INT(again.n, whole.n);
    CHECK_BITS(again.bytes, whole.bytes, whole.n);

    static const char *const wider[] = {"dropout=0.1", "average=0.95", "d_ff=96", NULL};
    if (!open_small(&s, wider, 60)) return;
    CHECK_INT(gf_trainer_load(&s.t, half.bytes, half.n, &err), GF_ERR_CONFIG);
    CHECK_INT(s.t.step, 0);
    close_small(&s);

    /* Truncated checkpoints, and positions that the corpus does not have. */
    if (!open_small(&s, lines, 60)) return;
    const size_t ends[] = {0, 7, 8, 100, half.n / 2, half.n - 1};
    for (int i = 0; i < 6; i++) CHECK_INT(gf_trainer_load(&s.t, half.bytes, ends[i], &err), GF_ERR_TRUNCATED);
    CHECK_INT(gf_data_seek(&s.data, 0, 60, 0), -1);
    CHECK_INT(gf_data_seek(&s.data, 0, -1, 0), -1);
    CHECK_INT(gf_data_seek(&s.data, -1, 0, 0), -1);
    CHECK_INT(gf_data_seek(&s.data, 0, 3, 1 << 20), -1);
    CHECK_INT(gf_data_seek(&s.data, 0, 3, -1), -1);
    close_small(&s);
    if (!open_small(&s, lines, 3)) return; /* a corpus of three stories does not have the position of the run above */
    CHECK_INT(s.bpe.vocab_size, 300);
    struct gf_memory fresh = state_of(&s);
    CHECK_INT(gf_trainer_load(&s.t, half.bytes, half.n, &err), GF_ERR_CONFIG);
    CHECK_TEXT(err.text, "the checkpoint belongs to other data");
    struct gf_memory still = state_of(&s);
    CHECK_INT(still.n, fresh.n);
    CHECK_BITS(still.bytes, fresh.bytes, fresh.n);
    close_small(&s);
    gf_memory_close(&half);
    gf_memory_close(&whole);
    gf_memory_close(&again);
    gf_memory_close(&fresh);
    gf_memory_close(&still);
}

/* A step whose loss is not finite changes no weight. All weights once became NaN. */
static void a_step_whose_loss_is_not_finite_changes_no_weight(void) {
    static const char *const lines[] = {NULL};
    struct gf_error err;
    double loss, norm;
    struct small s;
    if (!open_small(&s, lines, 40)) return;
    for (int i = 0; i < 3; i++) CHECK_INT(gf_trainer_step(&s.t, &loss, &norm, &err), GF_OK);
    float *at = s.t.weights.data, kept = at[0];
    at[0] = INFINITY;
    float *before = malloc((size_t)s.t.weights.n * sizeof *before);
    if (!before) return;
    memcpy(before, at, (size_t)s.t.weights.n * sizeof *before);
    CHECK_INT(gf_trainer_step(&s.t, &loss, &norm, &err), GF_ERR_NOT_FINITE);
    CHECK_TEXT(err.text, "step 4: the loss is no longer a number");
    CHECK_INT(s.t.step, 3);
    CHECK_BITS(at, before, s.t.weights.n * 4);
    at[0] = kept;
    CHECK_INT(gf_trainer_step(&s.t, &loss, &norm, &err), GF_OK);
    CHECK(isfinite(loss));
    CHECK_INT(s.t.step, 4);
    free(before);
    close_small(&s);
}

static void two_threads_give_the_same_bits_as_one(void) {
    static const char *const lines[] = {"dropout=0.1", NULL};
    struct gf_pool *pool = gf_pool_open(2);
    struct gf_error err;
    double loss, norm, loss2, norm2;
    struct small one, two;
    if (!open_small(&one, lines, 40) || !open_small(&two, lines, 40)) return;
    two.t.pool = pool;
    for (int i = 0; i < 6; i++) {
        CHECK_INT(gf_trainer_step(&one.t, &loss, &norm, &err), GF_OK);
        CHECK_INT(gf_trainer_step(&two.t, &loss2, &norm2, &err), GF_OK);
        CHECK(loss == loss2 && norm == norm2);
    }
    CHECK_BITS(two.t.weights.data, one.t.weights.data, one.t.weights.n * 4);
    close_small(&one);
    close_small(&two);
    gf_pool_close(pool);
}

/* Training computes whole sequences, a session uses its cache: both give the same bits per byte. */
static void validation_equals_the_bits_per_byte_of_a_session(void) {
    static const char *const variants[][8] = {
        {NULL},
        {"context_length=200", "micro_tokens=200", "batch_tokens=200", NULL}, /* more than one tile of queries */
        {"context_length=200", "micro_tokens=200", "batch_tokens=200", "sliding_window=70", NULL},
        {"n_heads=4", "d_head=8", "qk_norm=1", "sliding_window=17", "context_length=48", NULL},
        {"norm=layernorm", "ffn=gelu_tanh", "position=learned", "bias_qkv=1", "bias_ffn=1", NULL},
        {"norm_placement=post", "norm=layernorm", "position=sinusoidal", "ffn=gelu_erf", "tie_word_embeddings=0",
         NULL}};
    for (int i = 0; i < 6; i++) {
        struct small s;
        struct gf_error err;
        struct gf_score score;
        double loss, norm, engine = 0;
        if (!open_small(&s, variants[i], 5)) return;
        for (int k = 0; k < 5; k++) gf_trainer_step(&s.t, &loss, &norm, &err);
        CHECK_INT(gf_trainer_validate(&s.t, &s.data, &score, &err), GF_OK);
        const double bits = score.loss / 0.69314718055994530942 / (double)score.bytes;
        struct gf_model *m = gf_export_model(&s.t.weights, &s.t.cfg, GF_F32, &err);
        CHECK(m != NULL);
        if (m) CHECK_INT(gf_export_bits(m, &s.data, &engine, &err), GF_OK);
        CHECK_NEAR(engine, bits, 1e-5 * bits);
        CHECK(score.loss > 0 && score.loss < log(300) * (double)score.n_targets);
        CHECK(score.right > 0 && score.right < score.n_targets);
        gf_model_close(m);
        close_small(&s);
    }
}

/* FIPS 180-4's examples, and sizes around the last block. */
static void sha256_matches_the_published_examples(void) {
    char digits[65];
    gf_sha256(digits, "abc", 3);
    CHECK_TEXT(digits, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    gf_sha256(digits, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56);
    CHECK_TEXT(digits, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    gf_sha256(digits, "", 0);
    CHECK_TEXT(digits, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* Weights read back from a written file are those that were written; others are refused. */
static void weights_read_from_a_file_equal_those_written(void) {
    static const char *const variants[][8] = {
        {NULL},
        {"norm=layernorm", "ffn=gelu_tanh", "position=learned", "bias_qkv=1", "bias_attn_out=1", "bias_ffn=1", NULL}};
    for (int i = 0; i < 2; i++) {
        struct small s;
        struct gf_params back;
        struct gf_error err;
        struct gf_memory m;
        struct gf_sink to = gf_memory_sink(&m);
        double loss, norm;
        if (!open_small(&s, variants[i], 12)) return;
        for (int k = 0; k < 3; k++) gf_trainer_step(&s.t, &loss, &norm, &err);
        CHECK_INT(gf_params_open(&back, &s.t.cfg), 0);
        CHECK_INT(gf_export_weights(&s.t.weights, &s.bpe, &to, &err), GF_OK);
        CHECK_INT(to.bad, 0);
        CHECK_INT(gf_import_weights(&back, &s.bpe, m.bytes, m.n, &err), GF_OK);
        CHECK_BITS(back.data, s.t.weights.data, (size_t)back.n * sizeof(float));
        CHECK_INT(gf_import_weights(&back, &s.bpe, m.bytes, m.n - 1, &err), GF_ERR_SHAPE);
        s.bpe.bytes[5][0] ^= 1; /* another vocabulary of the same size */
        CHECK_INT(gf_import_weights(&back, &s.bpe, m.bytes, m.n, &err), GF_ERR_SHAPE);
        CHECK_TEXT(err.text, "its vocabulary or its weights are not those of this recipe and corpus");
        s.bpe.bytes[5][0] ^= 1;
        gf_memory_close(&m);
        gf_params_close(&back);
        close_small(&s);
    }
}

static void recipes_with_unknown_keys_or_invalid_values_are_refused(void) {
    struct gf_recipe r;
    struct gf_error err;
    gf_recipe_defaults(&r);
    CHECK_INT(gf_recipe_line(&r, "  # a remark", &err), GF_OK);
    CHECK_INT(gf_recipe_line(&r, "ffn = gelu_erf  # why", &err), GF_OK);
    CHECK_INT(r.cfg.ffn, GF_GELU_ERF);
    CHECK_INT(gf_recipe_line(&r, "kind = gelu", &err), GF_ERR_CONFIG);
    CHECK_TEXT(err.text, "kind is \"gelu\", expected one of decoder, encoder, encoder_decoder");
    CHECK_INT(gf_recipe_line(&r, "width = 3", &err), GF_ERR_CONFIG);
    CHECK_TEXT(err.text, "a recipe has no key width");
    CHECK_INT(gf_recipe_line(&r, "d_model = many", &err), GF_ERR_CONFIG);
    CHECK_TEXT(err.text, "d_model is \"many\", expected a whole number from 1 to 65536");
    CHECK_INT(gf_recipe_line(&r, "norm_eps = 1.5", &err), GF_ERR_CONFIG);
    CHECK_TEXT(err.text, "norm_eps is 1.5, expected a number from 0 to 1");
    CHECK_INT(gf_recipe_line(&r, "causal = 2", &err), GF_ERR_CONFIG);
    CHECK_TEXT(err.text, "causal is 2, expected true or false");
    CHECK_INT(gf_recipe_line(&r, "final_norm = false", &err), GF_OK);
    CHECK_INT(r.cfg.final_norm, 0);
    CHECK_INT(gf_recipe_line(&r, "d_model", &err), GF_ERR_CONFIG);
    /* Numbers out of range were once converted without a check. */
    static const char *const wild[] = {
        "steps = 1e999", "batch_tokens = nan", "muon = -inf",      "lr = 1e40",
        "seed = -1",     "sample_every = 0.5", "micro_tokens = 0", "checkpoint_every = -1"};
    const struct gf_recipe before = r;
    for (int i = 0; i < 8; i++) CHECK_INT(gf_recipe_line(&r, wild[i], &err), GF_ERR_CONFIG);
    CHECK_TEXT(err.text, "checkpoint_every: out of range (least 0, most 2147483647)");
    CHECK(!memcmp(&r, &before, sizeof r));
}

int main(void) {
    RUN(gradients_and_fifty_steps_match_pytorch);
    RUN(a_vocabulary_is_learned_written_and_read_back);
    RUN(no_token_is_longer_than_a_piece);
    RUN(pairs_without_tab_source_or_target_are_refused);
    RUN(a_replaced_word_is_replaced_throughout_a_text);
    RUN(recipes_with_unknown_keys_or_invalid_values_are_refused);
    RUN(sha256_matches_the_published_examples);
    RUN(a_continued_run_gives_the_same_bits_as_an_uninterrupted_one);
    RUN(a_step_whose_loss_is_not_finite_changes_no_weight);
    RUN(two_threads_give_the_same_bits_as_one);
    RUN(validation_equals_the_bits_per_byte_of_a_session);
    RUN(weights_read_from_a_file_equal_those_written);
    return check_end();
}
