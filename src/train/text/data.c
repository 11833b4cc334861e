/* data.c - see data.h. */
#include "train/text/data.h"
#include "base/arena.h" /* gf_calloc */
#include "base/rng.h"
#include "train/sha256.h"
#include "train/text/repeat.h"
#include <stdlib.h>
#include <string.h>

static int is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* The offset of a pair's target, behind the tab; 0 if there is no tab. */
static size_t target_at(const char *text, size_t n) {
    const char *tab = memchr(text, '\t', n);
    return tab ? (size_t)(tab - text) + 1 : 0;
}

/* List the texts between separators (of pairs: the lines), without the spaces around them and without empty ones, in
 * `to`. to may be NULL. Returns their number. */
static int64_t list_texts(const struct gf_data *d, struct gf_document *to) {
    const char *mark = d->pairs ? "\n" : GF_BPE_SEPARATOR;
    const size_t m = strlen(mark);
    int64_t count = 0;
    for (size_t at = 0; at < d->n_bytes;) {
        const char *found = strstr(d->bytes + at, mark);
        size_t end = found ? (size_t)(found - d->bytes) : d->n_bytes, from = at, n;
        at = found ? end + m : end;
        while (from < end && is_space(d->bytes[from]) && !(d->pairs && d->bytes[from] == '\t')) from++;
        n = end - from;
        while (n && is_space(d->bytes[from + n - 1]) && !(d->pairs && d->bytes[from + n - 1] == '\t')) n--;
        if (n && to) to[count] = (struct gf_document){from, n};
        count += n > 0;
    }
    return count;
}

/* Divide the corpus into texts. */
static int32_t divide(struct gf_data *d, struct gf_error *err) {
    const size_t length = strlen(d->bytes);
    if (length < d->n_bytes)
        return gf_fail(err, GF_ERR_ARGUMENT, "byte %lld is 0: this is not text", (long long)length);
    const int64_t found = list_texts(d, NULL);
    if (!found) return gf_fail(err, GF_ERR_ARGUMENT, "there is no text to learn from");
    if (found > INT32_MAX)
        return gf_fail(err, GF_ERR_ARGUMENT, "there are %lld texts, expected at most %d", (long long)found, INT32_MAX);
    d->n_texts = (int32_t)found;
    d->texts = gf_calloc((uint64_t)found, sizeof *d->texts);
    d->order = gf_calloc((uint64_t)found, sizeof *d->order);
    if (!d->texts || !d->order) return gf_fail(err, GF_ERR_MEMORY, "no memory for %d texts", d->n_texts);
    list_texts(d, d->texts);
    for (int32_t i = 0; d->pairs && i < d->n_texts; i++) {
        const struct gf_document *t = &d->texts[i];
        const size_t target = target_at(d->bytes + t->start, t->n);
        if (target <= 1 || target >= t->n)
            return gf_fail(err, GF_ERR_ARGUMENT, "pair %d has no %s", i + 1,
                           target > 1    ? "target behind its tab"
                           : target == 1 ? "source before its tab"
                                         : "tab between source and target");
    }
    return GF_OK;
}

int32_t gf_data_open(struct gf_data *d, char *text, size_t n, int pairs, struct gf_bpe *bpe, int32_t context,
                     uint64_t seed, struct gf_error *err) {
    *d = (struct gf_data){.bytes = text,
                          .n_bytes = n,
                          .pairs = pairs,
                          .bpe = bpe,
                          .context = context,
                          .seed = seed,
                          .ordered_epoch = -1,
                          .loaded = -1};
    const int32_t status = divide(d, err);
    if (status == GF_OK)
        gf_sha256(d->sha256, text, n);
    else
        gf_data_close(d);
    return status;
}

void gf_data_close(struct gf_data *d) {
    free(d->bytes);
    free(d->texts);
    free(d->order);
    free(d->ids);
    free(d->source);
    memset(d, 0, sizeof *d);
}

int gf_batch_open(struct gf_batch_buffer *r, int32_t rows, int32_t seqs) {
    memset(r, 0, sizeof *r);
    r->rows = rows;
    r->seqs = seqs;
    int32_t **lists[] = {&r->ids, &r->targets, &r->teacher_targets, &r->source_ids, &r->lengths, &r->source_lengths};
    for (int i = 0; i < 6; i++) {
        *lists[i] = gf_calloc((uint64_t)(i < 4 ? rows : seqs) + 1, sizeof **lists[i]);
        if (!*lists[i]) return gf_batch_close(r), -1;
    }
    r->b = (struct gf_batch){.lengths = r->lengths,
                             .ids = r->ids,
                             .targets = r->targets,
                             .teacher_targets = r->teacher_targets,
                             .source_lengths = r->source_lengths,
                             .source_ids = r->source_ids};
    return 0;
}

void gf_batch_close(struct gf_batch_buffer *r) {
    free(r->ids);
    free(r->targets);
    free(r->teacher_targets);
    free(r->lengths);
    free(r->source_ids);
    free(r->source_lengths);
    memset(r, 0, sizeof *r);
}

void gf_batch_clear(struct gf_batch_buffer *r) {
    r->b.n = r->b.n_seqs = r->b.n_source = r->n_targets = 0;
    r->bytes = 0;
}

int gf_batch_append(struct gf_batch_buffer *r, const int32_t *ids, const int32_t *targets, int32_t n,
                    const int32_t *source, int32_t n_source) {
    struct gf_batch *b = &r->b;
    if (b->n_seqs == r->seqs || n > r->rows - b->n || n_source > r->rows - b->n_source) return 0;
    memcpy(r->ids + b->n, ids, (size_t)n * sizeof *ids);
    memcpy(r->targets + b->n, targets, (size_t)n * sizeof *ids);
    memcpy(r->teacher_targets + b->n, targets, (size_t)n * sizeof *ids);
    if (n_source) memcpy(r->source_ids + b->n_source, source, (size_t)n_source * sizeof *ids);
    for (int32_t i = 0; i < n; i++) r->n_targets += targets[i] >= 0;
    r->source_lengths[b->n_seqs] = n_source;
    r->lengths[b->n_seqs++] = n;
    b->n += n;
    b->n_source += n_source;
    return 1;
}

/* Encode text i into d->ids and d->source. swap, unless NULL, replaces words, as the random number `draw` says. Returns
 * 0, or -1 if memory is missing. */
static int load_text(struct gf_data *d, int32_t i, struct gf_swap *swap, uint64_t draw) {
    const char *text = d->bytes + d->texts[i].start;
    size_t n = d->texts[i].n, skip = 0;
    if (d->pairs) {
        skip = target_at(text, n);
    } else if (swap) {
        text = gf_swap_apply(swap, text, n, draw, &n);
        if (!text) return -1;
    }
    if ((int64_t)n + 2 > d->capacity) {
        free(d->ids);
        free(d->source);
        d->capacity = (int64_t)n + 1024;
        d->ids = gf_calloc((uint64_t)d->capacity, sizeof *d->ids);
        d->source = gf_calloc((uint64_t)d->capacity, sizeof *d->source);
        if (!d->ids || !d->source) return d->capacity = 0, -1;
    }
    d->n_source = 0;
    if (skip) {
        const int64_t m = gf_bpe_encode(d->bpe, text, skip - 1, d->source, d->capacity);
        if (m < 0) return -1;
        d->n_source = (int32_t)(m < d->context ? m : d->context);
    }
    d->ids[0] = 0;
    const int64_t m = gf_bpe_encode(d->bpe, text + skip, n - skip, d->ids + 1, d->capacity - 2);
    if (m < 0) return -1;
    d->ids[m + 1] = 0;
    d->n_ids = m + 2;
    d->n_target = n - skip;
    return 0;
}

/* Append window w of the loaded text to the batch. *last: whether it is the text's last window. Returns 1, or 0 if the
 * window does not fit. */
static int append_window(struct gf_data *d, struct gf_batch_buffer *r, int64_t w, int *last) {
    const int64_t from = w * d->context, n_rows = d->n_ids - 1;
    const int32_t n = (int32_t)(n_rows - from < d->context ? n_rows - from : d->context);
    *last = from + n >= n_rows;
    return gf_batch_append(r, d->ids + from, d->ids + from + 1, n, d->source, d->n_source);
}

/* Repeat a passage in the last window of the batch, with the probability repeat_share. */
static void repeat_last(struct gf_data *d, struct gf_batch_buffer *r) {
    const int32_t n = r->lengths[r->b.n_seqs - 1], at = r->b.n - n;
    struct gf_rng rng;
    gf_rng_seed(&rng, ~(d->seed + (uint64_t)d->loaded * 0x9e3779b97f4a7c15u) + (uint64_t)d->window);
    if (gf_rng_uniform(&rng) >= (double)d->repeat_share) return;
    r->n_targets += gf_repeat(r->ids + at, r->targets + at, r->teacher_targets + at, n, d->bpe->vocab_size, &rng) - n;
}

/* Order the texts of the epoch by a Fisher-Yates shuffle. */
static void shuffle(struct gf_data *d) {
    struct gf_rng rng;
    gf_rng_seed(&rng, d->seed ^ ((uint64_t)d->epoch + 1) * 0x9e3779b97f4a7c15u);
    for (int32_t i = 0; i < d->n_texts; i++) d->order[i] = i;
    for (int32_t i = d->n_texts - 1; i > 0; i--) {
        const int32_t j = (int32_t)(gf_rng_uniform(&rng) * (i + 1)), t = d->order[i];
        d->order[i] = d->order[j];
        d->order[j] = t;
    }
    d->ordered_epoch = d->epoch;
}

/* Load the text at the position of d, if it is not loaded. Returns 0, or -1 if memory is missing. */
static int load_next(struct gf_data *d) {
    if (d->ordered_epoch != d->epoch) shuffle(d);
    const int64_t key = d->epoch * d->n_texts + d->next;
    if (d->loaded == key) return 0;
    d->loaded = -1;
    if (load_text(d, d->order[d->next], d->swap, d->seed + (uint64_t)key * 0x9e3779b97f4a7c15u)) return -1;
    d->loaded = key;
    return 0;
}

int gf_data_seek(struct gf_data *d, int64_t epoch, int64_t next, int64_t window) {
    const int64_t old_epoch = d->epoch, old_next = d->next;
    if (epoch < 0 || epoch > INT32_MAX || next < 0 || next >= d->n_texts || window < 0) return -1;
    d->epoch = epoch;
    d->next = next;
    if (!load_next(d) && window <= (d->n_ids - 2) / d->context) {
        d->window = window;
        return 0;
    }
    d->epoch = old_epoch;
    d->next = old_next;
    return -1;
}

int gf_data_fill(struct gf_data *d, struct gf_batch_buffer *r) {
    gf_batch_clear(r);
    for (;;) {
        if (load_next(d)) return -1;
        int last;
        if (!append_window(d, r, d->window, &last)) return 0;
        repeat_last(d, r);
        if (!last) {
            d->window++;
            continue;
        }
        d->window = 0;
        if (++d->next == d->n_texts) d->next = 0, d->epoch++;
    }
}

int gf_data_in_order(struct gf_data *d, struct gf_batch_buffer *r, int32_t *i, int32_t *w) {
    gf_batch_clear(r);
    d->loaded = -1;
    for (; *i < d->n_texts; ++*i, *w = 0) {
        if (load_text(d, *i, NULL, 0)) return -1;
        int last = 0;
        while (!last) {
            if (!append_window(d, r, *w, &last)) return 0;
            if (*w == 0) r->bytes += (int64_t)d->n_target;
            ++*w;
        }
    }
    return 0;
}
