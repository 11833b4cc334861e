/* train.c - the program that trains the models in weights/.
 *
 *   glassformer-train RECIPE --data FILE [--valid FILE] [--out FOLDER] [--threads N]
 *                     [--from WEIGHTS] [--teacher WEIGHTS ...] [key=value ...]
 *
 * weights/train.js starts it: it makes WEIGHTS (weights.c) of models, and GGUF files of what this program writes.
 * --data synthetic: stories from a grammar (synthetic.h), to try a recipe. --from: start from these weights.
 * FOLDER gets tokenizer.json, loss.csv, loss.svg, the model's files and a checkpoint. Ctrl-C ends the run after the
 * current step and writes the checkpoint; the same command then continues the run from it. */
#include "base/clock.h"
#include "glassformer.h"
#include "train/blas.h"
#include "train/files/export.h"
#include "train/files/files.h"
#include "train/files/tokenizer_json.h"
#include "train/recipe.h"
#include "train/report.h"
#include "train/samples.h"
#include "train/text/synthetic.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct run {
    struct gf_recipe recipe;
    const char *recipe_path, *data_path, *valid_path, *out, *from, *teacher_paths[GF_TEACHERS];
    int32_t threads, n_teachers;
    struct gf_bpe bpe;
    struct gf_swap swap;
    struct gf_data data, valid;
    struct gf_trainer trainer;
    struct gf_params teachers[GF_TEACHERS];
    struct gf_pool *pool;
    struct gf_curve curve;
    struct gf_error err;
};

enum { STOPPED = 3 }; /* the exit status of a run that a signal has ended, and that the same command continues */
static volatile sig_atomic_t stopping;
static void stop(int signal_number) {
    (void)signal_number;
    stopping = 1;
}

static int32_t read_recipe(struct gf_recipe *recipe, const char *path, struct gf_error *err) {
    size_t n;
    char *text = gf_file_read(path, &n);
    if (!text) return gf_fail(err, GF_ERR_ARGUMENT, "%s cannot be read", path);
    int32_t status = GF_OK;
    for (char *line = strtok(text, "\n"); line && status == GF_OK; line = strtok(NULL, "\n"))
        status = gf_recipe_line(recipe, line, err);
    free(text);
    return status;
}

static int32_t read_threads(struct run *r, const char *word) {
    char *end;
    const long n = strtol(word, &end, 10);
    if (!*word || *end || n < 1 || n > 64)
        return gf_fail(&r->err, GF_ERR_ARGUMENT, "--threads is %s, expected 1 to 64", word);
    r->threads = (int32_t)n;
    return GF_OK;
}

static int32_t read_arguments(struct run *r, int argc, char **argv) {
    int32_t status = read_recipe(&r->recipe, r->recipe_path = argv[1], &r->err);
    const struct {
        const char *name, **to;
    } paths[] = {{"--data", &r->data_path}, {"--valid", &r->valid_path}, {"--out", &r->out}, {"--from", &r->from}};
    for (int i = 2; i < argc && status == GF_OK; i++) {
        int k = 0;
        while (k < 4 && strcmp(argv[i], paths[k].name)) k++;
        const int threads = !strcmp(argv[i], "--threads"), teacher = !strcmp(argv[i], "--teacher");
        if (k == 4 && !threads && !teacher)
            status = gf_recipe_line(&r->recipe, argv[i], &r->err);
        else if (++i == argc)
            status = gf_fail(&r->err, GF_ERR_ARGUMENT, "%s needs a value", argv[i - 1]);
        else if (threads)
            status = read_threads(r, argv[i]);
        else if (teacher && r->n_teachers == GF_TEACHERS)
            status = gf_fail(&r->err, GF_ERR_ARGUMENT, "more than %d teachers", GF_TEACHERS);
        else if (teacher)
            r->teacher_paths[r->n_teachers++] = argv[i];
        else
            *paths[k].to = argv[i];
    }
    if (status == GF_OK && !r->data_path) status = gf_fail(&r->err, GF_ERR_ARGUMENT, "--data FILE is needed");
    return status == GF_OK ? gf_recipe_complete(&r->recipe, &r->err) : status;
}

/* FOLDER/NAME. Valid until the next call. */
static const char *in_folder(const char *folder, const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The path of a file that the recipe names: it is in the recipe's folder. Valid until the next call. */
static const char *beside(const char *recipe, const char *name) {
    static char path[1024];
    const char *slash = strrchr(recipe, '/');
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - recipe + 1) : 0, recipe, name);
    return path;
}

/* Put the path before the sentence of an error. Returns status. */
static int32_t about_file(struct run *r, const char *path, int32_t status) {
    char text[sizeof r->err.text];
    memcpy(text, r->err.text, sizeof text);
    return status == GF_OK ? GF_OK : gf_fail(&r->err, status, "%s: %s", path, text);
}

/* Open the corpus whose text, from `path`, d owns from now on; NULL: it cannot be read. */
static int32_t open_data(struct run *r, struct gf_data *d, const char *path, char *text, size_t n, uint64_t seed) {
    if (!text) return gf_fail(&r->err, GF_ERR_ARGUMENT, "%s cannot be read", path);
    const int32_t status =
        gf_data_open(d, text, n, r->recipe.pairs, &r->bpe, r->recipe.cfg.context_length, seed, &r->err);
    return about_file(r, path, status);
}

/* Open the corpus that the run learns from, and check that it is the one that the recipe names by its SHA-256. A
 * synthetic one is also written into the run's folder. */
static int32_t open_corpus(struct run *r) {
    const char *expected = r->recipe.data_sha256;
    const int synthetic = !strcmp(r->data_path, "synthetic");
    size_t n = 0;
    char *text = synthetic ? gf_synthetic_stories(1, 5000, &n) : gf_file_read(r->data_path, &n);
    int32_t status = open_data(r, &r->data, r->data_path, text, n, r->recipe.options.seed);
    if (status == GF_OK && synthetic) {
        struct gf_file f;
        gf_file_open(&f, in_folder(r->out, "synthetic.txt"));
        gf_put(&f.sink, text, n);
        status = gf_file_close(&f, GF_OK, &r->err);
    } else if (status == GF_OK && *expected && strcmp(r->data.sha256, expected)) {
        status =
            gf_fail(&r->err, GF_ERR_ARGUMENT, "%s has SHA-256 %s, the recipe expects %s (data_sha256= accepts any)",
                    r->data_path, r->data.sha256, expected);
    }
    return status;
}

/* Write a file into the run's folder. */
static int32_t write_file(struct run *r, const char *name, enum gf_file_kind kind) {
    struct gf_file f;
    gf_file_open(&f, in_folder(r->out, name));
    const int32_t status = gf_export_file(kind, &r->trainer, &r->bpe, &f.sink, &r->err);
    return gf_file_close(&f, status, &r->err);
}

static int has_checkpoint(const struct run *r) {
    FILE *f = fopen(in_folder(r->out, "checkpoint"), "rb");
    if (f) fclose(f);
    return f != NULL;
}

/* The vocabulary: that of the run to continue, the recipe's, or one learned from the corpus. */
static int32_t open_vocabulary(struct run *r) {
    size_t n = 0;
    char *json = has_checkpoint(r) ? gf_file_read(in_folder(r->out, "tokenizer.json"), &n) : NULL;
    if (!json && r->recipe.tokenizer[0]) {
        json = gf_file_read(beside(r->recipe_path, r->recipe.tokenizer), &n);
        if (!json) return gf_fail(&r->err, GF_ERR_ARGUMENT, "%s cannot be read", r->recipe.tokenizer);
    }
    int32_t status;
    if (json) {
        status = gf_bpe_read(&r->bpe, json, n, &r->err);
        free(json);
    } else {
        status = gf_bpe_train(&r->bpe, r->data.bytes, r->data.n_bytes, r->recipe.cfg.vocab_size, &r->err);
    }
    if (status != GF_OK) return status;
    if (r->bpe.vocab_size > r->recipe.cfg.vocab_size)
        return gf_fail(&r->err, GF_ERR_CONFIG, "the tokenizer has %d tokens, the model expects at most %d",
                       r->bpe.vocab_size, r->recipe.cfg.vocab_size);
    r->recipe.cfg.vocab_size = r->bpe.vocab_size; /* a short text has fewer pairs than were asked for */
    return GF_OK;
}

/* Open the word replacements that the recipe names, if any. */
static int32_t open_groups(struct run *r) {
    size_t n;
    if (!r->recipe.groups[0]) return GF_OK;
    if (r->recipe.pairs)
        return gf_fail(&r->err, GF_ERR_CONFIG, "groups = replaces words of stories, but this corpus has pairs");
    char *groups = gf_file_read(beside(r->recipe_path, r->recipe.groups), &n);
    if (!groups) return gf_fail(&r->err, GF_ERR_ARGUMENT, "%s cannot be read", r->recipe.groups);
    const int32_t status = gf_swap_open(&r->swap, groups, r->data.bytes, r->data.n_bytes, &r->err);
    free(groups);
    r->data.swap = &r->swap;
    return status;
}

static int32_t set_repeats(struct run *r) {
    if (r->recipe.pairs && r->recipe.repeat_share > 0)
        return gf_fail(&r->err, GF_ERR_CONFIG, "repeat_share = repeats passages of stories, but this corpus has pairs");
    r->data.repeat_share = r->recipe.repeat_share;
    return GF_OK;
}

/* Read weights of the run's vocabulary (weights.c). */
static int32_t read_weights(struct run *r, struct gf_params *to, const char *path) {
    size_t n;
    char *bytes = gf_file_read(path, &n);
    if (!bytes) return gf_fail(&r->err, GF_ERR_ARGUMENT, "%s cannot be read", path);
    const int32_t status = gf_import_weights(to, &r->bpe, bytes, n, &r->err);
    free(bytes);
    return about_file(r, path, status);
}

/* Start from the weights of --from. */
static int32_t start_from(struct run *r) {
    struct gf_trainer *t = &r->trainer;
    const int32_t status = read_weights(r, &t->weights, r->from);
    if (status == GF_OK && t->averaged.data)
        memcpy(t->averaged.data, t->weights.data, (size_t)t->weights.n * sizeof(float));
    return status;
}

static int32_t open_teachers(struct run *r) {
    struct gf_recipe teacher_recipe;
    gf_recipe_defaults(&teacher_recipe);
    if (!r->recipe.teacher[0])
        return gf_fail(&r->err, GF_ERR_ARGUMENT, "--teacher: the recipe does not say which recipe made it (teacher =)");
    int32_t status = read_recipe(&teacher_recipe, beside(r->recipe_path, r->recipe.teacher), &r->err);
    if (status == GF_OK) status = gf_recipe_complete(&teacher_recipe, &r->err);
    if (status != GF_OK) return status;
    teacher_recipe.cfg.vocab_size = r->recipe.cfg.vocab_size;
    for (int32_t k = 0; k < r->n_teachers && status == GF_OK; k++) {
        struct gf_params *teacher = &r->teachers[k];
        if (gf_params_open(teacher, &teacher_recipe.cfg))
            return gf_fail(&r->err, GF_ERR_MEMORY, "no memory for the weights of a teacher");
        status = read_weights(r, teacher, r->teacher_paths[k]);
        if (status == GF_OK)
            status = gf_trainer_teach(&r->trainer, &teacher_recipe.cfg, teacher,
                                      r->recipe.teacher_share / (float)r->n_teachers, &r->err);
    }
    return status;
}

/* Continue from the checkpoint in the folder, if there is one. */
static int32_t load_checkpoint(struct run *r) {
    if (!has_checkpoint(r)) return GF_OK;
    const char *path = in_folder(r->out, "checkpoint");
    size_t n;
    char *bytes = gf_file_read(path, &n);
    if (!bytes) return gf_fail(&r->err, GF_ERR_ARGUMENT, "%s cannot be read", path);
    const int32_t status = gf_trainer_load(&r->trainer, bytes, n, &r->err);
    free(bytes);
    if (status != GF_OK) return about_file(r, in_folder(r->out, "checkpoint"), status);
    printf("going on after step %lld of %s%s\n", (long long)r->trainer.step, r->out,
           r->from ? ", not from the file of --from" : "");
    return gf_curve_read_csv(&r->curve, in_folder(r->out, "loss.csv"), r->trainer.step, &r->err);
}

static int32_t open_run(struct run *r) {
    mkdir(r->out, 0777);
    const struct gf_recipe *p = &r->recipe;
    int32_t status = open_corpus(r);
    if (status == GF_OK) status = open_vocabulary(r);
    if (status == GF_OK) status = open_groups(r);
    if (status == GF_OK) status = set_repeats(r);
    if (status == GF_OK && r->valid_path) {
        size_t n = 0;
        char *text = gf_file_read(r->valid_path, &n);
        status = open_data(r, &r->valid, r->valid_path, text, n, 0);
    }
    r->pool = gf_pool_open(r->threads);
    if (status == GF_OK)
        status = gf_trainer_open(&r->trainer, &p->cfg, &p->options, &r->data, gf_blas_gemm(), r->pool, &r->err);
    if (status == GF_OK && r->from) status = start_from(r);
    if (status == GF_OK && r->n_teachers) status = open_teachers(r);
    if (status == GF_OK) status = load_checkpoint(r);
    return status == GF_OK ? write_file(r, "tokenizer.json", GF_FILE_TOKENIZER) : status;
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Generated texts: answers to validation pairs if there are any. */
static int32_t print_samples(struct run *r) {
    return gf_samples_print(&r->trainer, r->valid_path ? &r->valid : &r->data, &r->err);
}

static int32_t save_checkpoint(struct run *r) {
    int32_t status = write_file(r, "checkpoint", GF_FILE_STATE);
    if (status == GF_OK) status = gf_curve_write_csv(&r->curve, in_folder(r->out, "loss.csv"), &r->err);
    if (status == GF_OK) status = gf_curve_write_svg(&r->curve, in_folder(r->out, "loss.svg"), r->recipe.name, &r->err);
    return status;
}

static int32_t validate(struct run *r, struct gf_measure *at) {
    struct gf_score score;
    const int32_t status = gf_trainer_validate(&r->trainer, &r->valid, &score, &r->err);
    at->valid = score.loss / (double)score.n_targets;
    at->bits = score.loss / 0.69314718055994530942 / (double)score.bytes;
    return status;
}

static int32_t train(struct run *r) {
    struct gf_trainer *t = &r->trainer;
    const struct gf_recipe *p = &r->recipe;
    const double start = gf_now_ms();
    const int64_t first_tokens = t->tokens, first_step = t->step;
    double smooth = NAN;
    int32_t status = GF_OK;
    while (t->step < p->options.steps && !stopping && status == GF_OK) {
        struct gf_measure at = {0, 0, 0, 0, NAN, NAN};
        status = gf_trainer_step(t, &at.loss, &at.norm, &r->err);
        if (status != GF_OK) return status;
        at.step = t->step;
        at.tokens = t->tokens;
        smooth = isnan(smooth) ? at.loss : 0.98 * smooth + 0.02 * at.loss;
        const int last = t->step == p->options.steps;
        if (r->valid_path && (last || (p->validate_every && t->step % p->validate_every == 0)))
            status = validate(r, &at);
        if (status == GF_OK) status = gf_curve_add(&r->curve, at, &r->err);
        if (status == GF_OK && (last || t->step % 20 == 0 || !isnan(at.valid))) {
            const double seconds = (gf_now_ms() - start) / 1000,
                         left = seconds / (double)(t->step - first_step) * (double)(p->options.steps - t->step);
            printf("step %lld/%lld  loss %.4f  norm %.2f  %.0f tokens/s  %.0f min left", (long long)t->step,
                   (long long)p->options.steps, smooth, at.norm, (double)(t->tokens - first_tokens) / seconds,
                   left / 60);
            if (!isnan(at.valid)) printf("  validation %.4f nats, %.4f bits/byte", at.valid, at.bits);
            printf("\n");
        }
        if (status == GF_OK && p->sample_every && t->step % p->sample_every == 0) status = print_samples(r);
        if (status == GF_OK && p->checkpoint_every && t->step % p->checkpoint_every == 0) status = save_checkpoint(r);
        fflush(stdout);
    }
    if (status == GF_OK) status = save_checkpoint(r);
    return status;
}

/* Write the model's files; open_run has written tokenizer.json. Print the bits per byte with each type of the matrices,
 * as the engine computes them, or the exact answers. */
static int32_t write_model(struct run *r) {
    const struct gf_params *best = gf_trainer_best(&r->trainer);
    const struct gf_config *c = &r->trainer.cfg;
    int32_t status = write_file(r, "config.json", GF_FILE_CONFIG);
    if (status == GF_OK) status = write_file(r, "model.safetensors", GF_FILE_SAFETENSORS);
    if (status != GF_OK) return status;
    if (r->recipe.pairs)
        return r->valid_path ? gf_samples_print_exact(&r->trainer, &r->valid, &r->err) : print_samples(r);
    static const int32_t dtypes[] = {GF_F32, GF_F16, GF_Q8_0, GF_Q4_0};
    for (int i = 0; r->valid_path && i < 4; i++) {
        struct gf_model *m = gf_export_model(best, c, dtypes[i], &r->err);
        double bits = NAN;
        status = m ? gf_export_bits(m, &r->valid, &bits, &r->err) : r->err.status;
        gf_model_close(m);
        if (status != GF_OK) return status;
        printf("%s: %.4f bits/byte\n", gf_dtypes[dtypes[i]].name, bits);
        fflush(stdout);
    }
    return print_samples(r);
}

static void print_usage(void) {
    printf("usage: RECIPE --data FILE [--valid FILE] [--out FOLDER] [--threads N]\n"
           "              [--from MODEL] [--teacher MODEL ...] [key=value ...]\n\n"
           "A recipe is a text file of lines key = value (weights/*.recipe). --data synthetic "
           "needs no\n"
           "file. The same command goes on where an earlier one stopped.\n\n");
    gf_recipe_print_keys();
}

int main(int argc, char **argv) {
    static struct run r = {.out = "build/train", .threads = 1};
    if (argc < 2 || !strcmp(argv[1], "--help")) return print_usage(), argc < 2 ? 2 : 0;
    gf_recipe_defaults(&r.recipe);
    int32_t status = read_arguments(&r, argc, argv);
    if (status == GF_OK) status = open_run(&r);
    if (status == GF_OK) {
        printf("%s: %lld parameters, %d texts, %s\n", r.recipe.name, (long long)gf_count_parameters(&r.trainer.cfg),
               r.data.n_texts, gf_blas_name());
        signal(SIGINT, stop);
        signal(SIGTERM, stop);
        status = train(&r);
    }
    signal(SIGINT, SIG_DFL); /* the same command writes files anew that are not complete */
    signal(SIGTERM, SIG_DFL);
    if (status == GF_OK && !stopping) status = write_model(&r);
    if (status != GF_OK) fprintf(stderr, "glassformer-train: %s\n", r.err.text);
    gf_trainer_close(&r.trainer);
    for (int k = 0; k < GF_TEACHERS; k++) gf_params_close(&r.teachers[k]);
    gf_data_close(&r.data);
    gf_data_close(&r.valid);
    gf_swap_close(&r.swap);
    gf_bpe_close(&r.bpe);
    gf_pool_close(r.pool);
    gf_curve_close(&r.curve);
    return status != GF_OK ? 1 : stopping ? STOPPED : 0;
}
