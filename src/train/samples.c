/* samples.c - see samples.h. */
#include "train/samples.h"
#include "base/arena.h" /* gf_calloc */
#include "glassformer.h"
#include "train/files/export.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct span { /* part of a text */
    const char *text;
    size_t n;
};

struct generator { /* the model with its present weights */
    struct gf_model *model;
    struct gf_session *session;
    struct gf_bpe *bpe;
};

/* After a failure too, close_generator frees what is left. */
static int32_t open_generator(struct generator *g, struct gf_trainer *t, struct gf_bpe *bpe, struct gf_error *err) {
    g->bpe = bpe;
    g->model = gf_export_model(gf_trainer_best(t), &t->cfg, GF_F32, err);
    g->session = g->model ? gf_session_open(g->model, 0, GF_KV_F32, err) : NULL;
    if (!g->session) return err->status;
    gf_session_seed(g->session, (uint64_t)t->step);
    return GF_OK;
}

static void close_generator(struct generator *g) {
    gf_session_close(g->session);
    gf_model_close(g->model);
}

/* Generate text after a prompt, or, with an encoder_decoder, the target of the source `prompt`. Writes up to `capacity`
 * bytes to out and stops there, at the separator or at the end of the context. *n_out: the number of bytes. */
static int32_t generate(const struct generator *g, struct span prompt, float temperature, char *out, size_t capacity,
                        size_t *n_out, struct gf_error *err) {
    const struct gf_config *c = gf_model_config(g->model);
    struct gf_session *s = g->session;
    struct gf_bpe *bpe = g->bpe;
    const int32_t context = c->context_length;
    int32_t *ids = gf_calloc((uint64_t)context + 1, sizeof *ids), n = 1, status = gf_session_rewind(s, 0, err);
    *n_out = 0;
    if (!ids) return gf_fail(err, GF_ERR_MEMORY, "no memory for a prompt");
    int64_t m = gf_bpe_encode(bpe, prompt.text, prompt.n, ids + 1, context);
    m = m < 0 ? 0 : m < context ? m : context;
    if (c->kind != GF_ENCODER_DECODER)
        n += (int32_t)m;
    else if (status == GF_OK)
        status = gf_session_encode(s, ids + 1, NULL, NULL, (int32_t)m, err);
    struct gf_sampling sampling = {GF_SAMPLING_OFF};
    sampling.temperature = temperature;
    while (status == GF_OK && gf_session_length(s) + n < context) {
        struct gf_choice next;
        status = gf_session_eval(s, ids, n, err);
        if (status == GF_OK) status = gf_session_sample(s, &sampling, NULL, &next, err);
        if (status != GF_OK || next.id == 0) break;
        const size_t n_bytes = (size_t)bpe->n_bytes[next.id];
        if (*n_out + n_bytes > capacity) break;
        memcpy(out + *n_out, bpe->bytes[next.id], n_bytes);
        *n_out += n_bytes;
        ids[0] = next.id;
        n = 1;
    }
    free(ids);
    return status;
}

/* Divide pair i at its tab. */
static void split_pair(const struct gf_data *d, int32_t i, struct span *source, struct span *target) {
    const char *text = d->bytes + d->texts[i].start, *tab = memchr(text, '\t', d->texts[i].n);
    *source = (struct span){text, (size_t)(tab - text)};
    *target = (struct span){tab + 1, d->texts[i].n - source->n - 1};
}

int32_t gf_samples_print(struct gf_trainer *t, const struct gf_data *data, struct gf_error *err) {
    static const char prompt[] = "Once upon a time, there was a little";
    struct generator g;
    char text[1024];
    size_t n;
    int32_t status = open_generator(&g, t, data->bpe, err);
    if (status == GF_OK && !data->pairs) {
        status = generate(&g, (struct span){prompt, strlen(prompt)}, 0.8f, text, sizeof text, &n, err);
        printf("  %s%.*s\n", prompt, (int)n, text);
    }
    for (int32_t i = 0; status == GF_OK && data->pairs && i < 5; i++) {
        struct span source, target;
        split_pair(data, (int32_t)((int64_t)i * 7919 % data->n_texts), &source, &target); /* 7919 is prime */
        status = generate(&g, source, 0, text, sizeof text, &n, err);
        printf("  %.*s -> %.*s\n", (int)source.n, source.text, (int)n, text);
    }
    close_generator(&g);
    return status;
}

int32_t gf_samples_print_exact(struct gf_trainer *t, const struct gf_data *data, struct gf_error *err) {
    struct generator g;
    size_t capacity = 8192,
           n; /* larger than a target by at least a token: a longer answer is not cut to an exact one */
    for (int32_t i = 0; i < data->n_texts; i++)
        if (capacity < 2 * data->texts[i].n) capacity = 2 * data->texts[i].n;
    char *text = malloc(capacity);
    if (!text) return gf_fail(err, GF_ERR_MEMORY, "no memory for an answer of %lld bytes", (long long)capacity);
    int32_t exact = 0, status = open_generator(&g, t, data->bpe, err);
    for (int32_t i = 0; i < data->n_texts && status == GF_OK; i++) {
        struct span source, target;
        split_pair(data, i, &source, &target);
        status = generate(&g, source, 0, text, capacity, &n, err);
        if (n == target.n && !memcmp(text, target.text, n))
            exact++;
        else
            printf("  %.*s -> %.*s, not %.*s\n", (int)source.n, source.text, (int)n, text, (int)target.n, target.text);
    }
    printf("%d of %d exact\n", exact, data->n_texts);
    close_generator(&g);
    free(text);
    return status;
}
