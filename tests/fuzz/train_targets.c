/* train_targets.c - gives changed files to the trainer: vocabularies, GGUF files, checkpoints, texts, recipes. */
#include "targets.h"
#include "train/text/bpe.h"
#include "train/files/export.h"
#include "train/files/tokenizer_json.h"
#include "train/recipe.h"
#include "train/text/synthetic.h"
#include <string.h>

/* A run of two steps, made once. It writes the seeds and reads the changed files. */
static struct {
    struct gf_recipe recipe;
    struct gf_bpe bpe;
    struct gf_data data;
    struct gf_trainer t;
    struct gf_memory start; /* its state, restored after each case */
    int open;
} small;

static void must(int ok, const struct gf_error *err) {
    if (ok) return;
    fprintf(stderr, "the seeds cannot be made: %s\n", err->text);
    exit(1);
}

static void close_small(void) {
    gf_memory_close(&small.start);
    gf_trainer_close(&small.t);
    gf_data_close(&small.data);
    gf_bpe_close(&small.bpe);
}

static void open_small(void) {
    static const char *const lines[] = {
        "vocab_size=270",  "d_model=16",      "n_layers=1",  "n_heads=2",         "n_kv_heads=2",
        "d_head=8",        "d_ff=32",         "average=0.9", "context_length=32", "steps=9",
        "micro_tokens=64", "batch_tokens=64", NULL};
    struct gf_error err = {0};
    double loss, norm;
    size_t n;
    if (small.open) return;
    small.open = 1;
    gf_recipe_defaults(&small.recipe);
    for (int i = 0; lines[i]; i++) must(gf_recipe_line(&small.recipe, lines[i], &err) == GF_OK, &err);
    must(gf_recipe_complete(&small.recipe, &err) == GF_OK, &err);
    const struct gf_config *c = &small.recipe.cfg;
    char *text = gf_synthetic_stories(3, 12, &n);
    must(text && gf_bpe_train(&small.bpe, text, n, c->vocab_size, &err) == GF_OK, &err);
    must(gf_data_open(&small.data, text, n, 0, &small.bpe, c->context_length, 1, &err) == GF_OK &&
             gf_trainer_open(&small.t, c, &small.recipe.options, &small.data, gf_gemm, NULL, &err) == GF_OK,
         &err);
    for (int i = 0; i < 2; i++) must(gf_trainer_step(&small.t, &loss, &norm, &err) == GF_OK, &err);
    struct gf_sink to = gf_memory_sink(&small.start);
    gf_trainer_save(&small.t, &to);
    atexit(close_small);
}

static void memory_of(struct gf_memory *m, const void *bytes, size_t n) {
    struct gf_sink to = gf_memory_sink(m);
    gf_put(&to, bytes, n);
}

/* ---- a vocabulary ------------------------------------------------------------------------------------------------ */

static int vocabulary_seeds(struct gf_memory seeds[MAX_SEEDS]) {
    static const char tiny[] = "\"merges\":[\"a b\",\"ab c\",\"\xc4\xa0 t\",\"\\\" \\\\\"]";
    open_small();
    struct gf_sink to = gf_memory_sink(&seeds[0]);
    gf_bpe_write(&small.bpe, 1, &to);
    memory_of(&seeds[1], tiny, sizeof tiny - 1);
    return 2;
}

static void vocabulary(const uint8_t *bytes, size_t n) {
    static const char text[] = "Once upon a time, \"Lily\" had 2 \xc3\xa9\xff\\ abcabc.";
    struct gf_error err = {0};
    struct gf_bpe b;
    int32_t ids[sizeof text];
    const int32_t status = gf_bpe_read(&b, (const char *)bytes, n, &err);
    STATUS(status, err);
    if (status != GF_OK) return;
    const int64_t k = gf_bpe_encode(&b, text, sizeof text - 1, ids, sizeof text);
    PROMISE(k >= 0 && k < (int64_t)sizeof text);
    size_t at = 0;
    for (int64_t i = 0; i < k; i++) {
        PROMISE(ids[i] > 0 && ids[i] < b.vocab_size);
        PROMISE(!memcmp(text + at, b.bytes[ids[i]], (size_t)b.n_bytes[ids[i]]));
        at += (size_t)b.n_bytes[ids[i]];
    }
    PROMISE(at == sizeof text - 1);
    struct gf_memory again; /* an accepted vocabulary is accepted again after writing */
    struct gf_sink to = gf_memory_sink(&again);
    struct gf_bpe second;
    gf_bpe_write(&b, 0, &to);
    PROMISE(gf_bpe_read(&second, (const char *)again.bytes, again.n, &err) == GF_OK);
    PROMISE(second.vocab_size == b.vocab_size);
    gf_bpe_close(&second);
    gf_memory_close(&again);
    gf_bpe_close(&b);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static int weights_seeds(struct gf_memory seeds[MAX_SEEDS]) {
    struct gf_error err = {0};
    open_small();
    struct gf_sink to = gf_memory_sink(&seeds[0]);
    must(gf_export_weights(&small.t.weights, &small.bpe, &to, &err) == GF_OK, &err);
    return 1;
}

static void weights(const uint8_t *bytes, size_t n) {
    struct gf_error err = {0};
    struct gf_params p;
    double loss, norm;
    PROMISE(!gf_params_open(&p, &small.t.cfg));
    const int32_t status = gf_import_weights(&p, &small.bpe, bytes, n, &err);
    STATUS(status, err);
    if (status == GF_OK) { /* training continues with the weights that were read */
        memcpy(small.t.weights.data, p.data, (size_t)p.n * sizeof *p.data);
        STATUS(gf_trainer_step(&small.t, &loss, &norm, &err), err);
        struct gf_error none = {0};
        PROMISE(gf_trainer_load(&small.t, small.start.bytes, small.start.n, &none) == GF_OK);
    }
    gf_params_close(&p);
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static int checkpoint_seeds(struct gf_memory seeds[MAX_SEEDS]) {
    open_small();
    memory_of(&seeds[0], small.start.bytes, small.start.n);
    return 1;
}

/* Training continues from an accepted checkpoint, or the step fails with a sentence. */
static void checkpoint(const uint8_t *bytes, size_t n) {
    struct gf_error err = {0};
    double loss, norm;
    const int32_t status = gf_trainer_load(&small.t, bytes, n, &err);
    STATUS(status, err);
    if (status == GF_OK) {
        struct gf_memory again;
        struct gf_sink to = gf_memory_sink(&again);
        gf_trainer_save(&small.t, &to); /* it is accepted again after saving */
        PROMISE(!to.bad && gf_trainer_load(&small.t, again.bytes, again.n, &err) == GF_OK);
        gf_memory_close(&again);
        STATUS(gf_trainer_step(&small.t, &loss, &norm, &err), err);
    }
    PROMISE(gf_trainer_load(&small.t, small.start.bytes, small.start.n, &err) == GF_OK);
}

/* ---- texts and recipes ------------------------------------------------------------------------------------------- */

static int text_seeds(struct gf_memory seeds[MAX_SEEDS]) {
    static const char pairs[] = "one two\tun deux\nthree\ttrois\n\n a \t b \n",
                      groups[] = "0.5 Lily Mia Anna\n1 dog cat owl\n0.1 a an\n# remark\n";
    size_t n;
    open_small();
    char *stories = gf_synthetic_stories(5, 4, &n);
    memory_of(&seeds[0], stories, n);
    free(stories);
    memory_of(&seeds[1], pairs, sizeof pairs - 1);
    memory_of(&seeds[2], groups, sizeof groups - 1);
    return 3;
}

static void text_as(const char *text, size_t n, int pairs, struct gf_swap *swap) {
    struct gf_error err = {0};
    struct gf_data d;
    struct gf_batch_buffer buffer;
    char *copy = malloc(n + 1); /* gf_data_open owns it */
    PROMISE(copy);
    memcpy(copy, text, n + 1);
    const int32_t status = gf_data_open(&d, copy, n, pairs, &small.bpe, 8, 1, &err);
    STATUS(status, err);
    if (status != GF_OK) return;
    d.swap = swap;
    PROMISE(!gf_batch_open(&buffer, 16, 16));
    for (int i = 0; i < 3; i++) PROMISE(!gf_data_fill(&d, &buffer));
    gf_batch_close(&buffer);
    gf_data_close(&d);
}

/* Use one input as stories, as pairs, as a file of word groups, and as the corpus of a vocabulary. */
static void texts(const uint8_t *bytes, size_t n) {
    static const char lily[] = "Lily had a dog. Lily's dogs saw an owl.",
                      others[] = "Lily had a dog. Mia and Anna saw cats, owls, a cat and an owl.";
    struct gf_error err = {0};
    char *text = malloc(n + 1);
    PROMISE(text);
    memcpy(text, bytes, n);
    text[n] = 0;
    struct gf_swap swap;
    int32_t status = gf_swap_open(&swap, text, others, sizeof others - 1, &err);
    STATUS(status, err);
    const int swaps = status == GF_OK;
    text_as(text, n, 0, swaps ? &swap : NULL);
    text_as(text, n, 1, NULL);
    if (swaps) {
        size_t m;
        PROMISE(gf_swap_apply(&swap, lily, sizeof lily - 1, n, &m));
        gf_swap_close(&swap);
    }
    struct gf_bpe b;
    struct gf_error none = {0};
    status = gf_bpe_train(&b, text, n, 280, &none);
    STATUS(status, none);
    if (status == GF_OK) gf_bpe_close(&b);
    free(text);
}

static int recipe_seeds(struct gf_memory seeds[MAX_SEEDS]) {
    static const char plain[] =
        "name = m # what it is called\nvocab_size = 270\nd_model = 8\nn_layers = 1\nn_heads = 2\n"
        "n_kv_heads = 1\nd_head = 4\nd_ff = 16\ncontext_length = 8\nmicro_tokens = 16\n"
        "batch_tokens = 32\nsteps = 9\nwarmup = 0.1\nfinal_rate = 0.1\ndropout = 0.1\n"
        "average = 0.9\nseed = 7\ninit_std = 0.02\ninit_scaled = 1\nlr = 0.01\nmuon = 1\n",
                      other[] = "vocab_size=270\nd_model=6\nn_layers=2\nn_heads=1\nn_kv_heads=1\nd_head="
                                "6\nd_ff=9\ncontext_length=8\nmicro_tokens=8\nnorm = layernorm\nffn = "
                                "gelu_erf\nposition = learned\nbias_qkv=1\ntie_word_embeddings=0\n"
                                "task = stories\ngroups = g\nclip=1\nbeta1=0.9\nbeta2=0.95\neps=1e-8\n"
                                "weight_decay=0.1\nmuon=0\nmuon_lr=0.1\nmomentum=0.9\n"
                                "sliding_window=3\nvalidate_every=2\nsample_every=2\n";
    open_small();
    memory_of(&seeds[0], plain, sizeof plain - 1);
    memory_of(&seeds[1], other, sizeof other - 1);
    return 2;
}

/* Each line is accepted or refused, and so is the configuration that the accepted lines describe; then it trains. */
static void recipe(const uint8_t *bytes, size_t n) {
    struct gf_recipe r;
    struct gf_trainer t;
    double loss, norm;
    gf_recipe_defaults(&r);
    for (size_t at = 0, end; at < n; at = end + 1) {
        char line[512];
        struct gf_error err = {0};
        for (end = at; end < n && bytes[end] != '\n';) end++;
        const size_t m = end - at < sizeof line ? end - at : sizeof line - 1;
        memcpy(line, bytes + at, m);
        line[m] = 0;
        STATUS(gf_recipe_line(&r, line, &err), err);
    }
    struct gf_error err = {0};
    const int32_t fine = gf_recipe_complete(&r, &err);
    STATUS(fine, err);
    if (fine != GF_OK || r.cfg.vocab_size != small.bpe.vocab_size || gf_count_parameters(&r.cfg) > 1 << 15 ||
        r.options.micro_tokens > 1 << 7 || r.options.batch_tokens > 1 << 9)
        return;
    const int32_t context = small.data.context;
    small.data.context = r.cfg.context_length;
    PROMISE(!gf_data_seek(&small.data, 0, 0, 0));
    const int32_t status = gf_trainer_open(&t, &r.cfg, &r.options, &small.data, gf_gemm, NULL, &err);
    STATUS(status, err);
    if (status == GF_OK) {
        STATUS(gf_trainer_step(&t, &loss, &norm, &err), err);
        gf_trainer_close(&t);
    }
    small.data.context = context;
}

const struct target train_targets[] = {{"vocabulary", vocabulary_seeds, vocabulary},
                                       {"weights", weights_seeds, weights},
                                       {"checkpoint", checkpoint_seeds, checkpoint},
                                       {"text", text_seeds, texts},
                                       {"recipe", recipe_seeds, recipe},
                                       {NULL, NULL, NULL}};
