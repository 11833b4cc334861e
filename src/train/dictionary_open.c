/* dictionary_open.c - what comes before the first step of a dictionary: its memory, the means of the tokens, the scales
 * of the activations, and random weights. */
#include "kernels/kernels.h" /* gf_axpy, gf_scale */
#include "train/dictionary.h"
#include <math.h>
#include <string.h>

static float *floats(struct gf_arena *a, int64_t rows, int64_t cols) {
    return gf_arena_take(a, (uint64_t)rows * (uint64_t)cols * sizeof(float));
}

static void take_weight(struct gf_arena *a, struct gf_dictionary_weight *w, int64_t rows, int64_t cols) {
    w->w = floats(a, rows, cols);
    w->first = floats(a, rows, cols);
    w->second = floats(a, rows, cols);
}

/* Share out the memory: called twice, first to count it. */
static void take(struct gf_dictionary *d) {
    struct gf_arena *a = &d->memory;
    const struct gf_dictionary_options *o = &d->o;
    const int32_t in = o->d_in, out = d->d_out;
    d->x = floats(a, o->rows, in);
    d->y = floats(a, o->rows, o->d_out);
    d->tokens = gf_arena_take(a, o->vocab_size ? (uint64_t)o->rows * sizeof *d->tokens : 0);
    d->counts = gf_arena_take(a, (uint64_t)o->vocab_size * sizeof *d->counts);
    d->table_in = floats(a, o->vocab_size, in);
    d->table_out = floats(a, o->vocab_size, o->d_out);
    take_weight(a, &d->enc, o->size, in);
    take_weight(a, &d->b_enc, o->size, 1);
    take_weight(a, &d->dec, o->size, out);
    take_weight(a, &d->b_dec, 1, out);
    struct gf_dictionary_batch *b = &d->batch;
    const uint64_t entries = (uint64_t)o->batch * (uint64_t)o->k;
    b->x = floats(a, o->batch, in);
    b->error = floats(a, o->batch, out);
    b->pre = floats(a, o->batch, o->size);
    b->z = floats(a, o->batch, o->k);
    b->dz = floats(a, o->batch, o->k);
    b->index = gf_arena_take(a, entries * sizeof *b->index);
    b->start = gf_arena_take(a, ((uint64_t)o->size + 1) * sizeof *b->start);
    b->order = gf_arena_take(a, entries * sizeof *b->order);
    b->squares = gf_arena_take(a, (uint64_t)o->batch * sizeof *b->squares);
    d->gradient = floats(a, o->size, (int64_t)in + out);
    d->fired = gf_arena_take(a, (uint64_t)o->size * sizeof *d->fired);
    d->rows = gf_arena_take(a, (uint64_t)o->rows * sizeof *d->rows);
}

int32_t gf_dictionary_open(struct gf_dictionary *d, const struct gf_dictionary_options *o, struct gf_error *err) {
    memset(d, 0, sizeof *d);
    if (o->k > o->size) return gf_fail(err, GF_ERR_ARGUMENT, "k is %d, the dictionary has %d features", o->k, o->size);
    d->o = *o;
    d->d_out = o->d_out ? o->d_out : o->d_in;
    if (d->o.batch > o->rows) d->o.batch = o->rows;
    take(d);
    const uint64_t bytes = d->memory.used;
    d->memory = (struct gf_arena){0};
    if (gf_arena_open(&d->memory, bytes))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for a dictionary with %d rows: %lld bytes", o->rows,
                       (long long)bytes);
    take(d);
    return GF_OK;
}

void gf_dictionary_close(struct gf_dictionary *d) { gf_arena_close(&d->memory); }

static int32_t check_rows(const struct gf_dictionary *d, struct gf_error *err) {
    const int64_t n = (int64_t)d->o.rows * d->o.d_in, m = (int64_t)d->o.rows * d->o.d_out;
    for (int64_t i = 0; i < n + m; i++)
        if (!isfinite(i < n ? d->x[i] : d->y[i - n]))
            return gf_fail(err, GF_ERR_NOT_FINITE, "an activation is NaN or infinite");
    for (int32_t i = 0; d->tokens && i < d->o.rows; i++)
        if (d->tokens[i] < 0 || d->tokens[i] >= d->o.vocab_size)
            return gf_fail(err, GF_ERR_TOKEN, "token %d of row %d: the table has %d tokens", d->tokens[i], i,
                           d->o.vocab_size);
    return GF_OK;
}

/* mean [width] of the rows; returns the mean of |row - mean|^2. */
static double mean_of(const float *rows, int32_t n, int32_t width, float *mean) {
    double variance = 0;
    for (int32_t c = 0; c < width; c++) {
        double sum = 0, squares = 0;
        for (int32_t i = 0; i < n; i++) sum += (double)rows[(int64_t)i * width + c];
        mean[c] = (float)(sum / n);
        for (int32_t i = 0; i < n; i++) {
            const double x = (double)rows[(int64_t)i * width + c] - sum / n;
            squares += x * x;
        }
        variance += squares / n;
    }
    return variance;
}

/* table[t] = mean + the sum of (row - mean) over the rows of token t / (their number + 1), and each row becomes what is
 * left of it. The 1 draws the means of rare tokens to the mean of all: a token with one row would explain it alone. */
static void subtract_table(const struct gf_dictionary *d, float *rows, int32_t width, float *table, const float *mean) {
    for (int32_t i = 0; i < d->o.rows; i++)
        for (int32_t c = 0; c < width; c++)
            table[(int64_t)d->tokens[i] * width + c] += rows[(int64_t)i * width + c] - mean[c];
    for (int32_t t = 0; t < d->o.vocab_size; t++)
        for (int32_t c = 0; c < width; c++) {
            float *to = table + (int64_t)t * width + c;
            *to = mean[c] + *to / (float)(d->counts[t] + 1);
        }
    for (int32_t i = 0; i < d->o.rows; i++)
        gf_axpy(rows + (int64_t)i * width, table + (int64_t)d->tokens[i] * width, -1, width);
}

/* The root mean square of a component; 1 where all are 0. */
static float scale_of(float *rows, int32_t n, int32_t width, float *mean) {
    const double variance = mean_of(rows, n, width, mean);
    return variance > 0 ? (float)sqrt(variance / width) : 1;
}

/* Rows of length 1 in random directions: the decoder, and the encoder of a transcoder, which reads other values. The
 * encoder of an autoencoder begins as the decoder (Gao et al. 2024). Without a table the biases take the mean away. */
static void draw(struct gf_dictionary *d, const float *mean_in, const float *mean_out) {
    const int32_t in = d->o.d_in, out = d->d_out;
    for (int part = 0; part < 2; part++) {
        float *w = part ? d->enc.w : d->dec.w;
        const int32_t width = part ? in : out;
        if (part && !d->y) {
            memcpy(w, d->dec.w, (size_t)d->o.size * (size_t)in * sizeof *w);
            break;
        }
        for (int32_t i = 0; i < d->o.size; i++, w += width) {
            double squares = 0;
            for (int32_t c = 0; c < width; c++) {
                w[c] = (float)gf_rng_normal(&d->rng);
                squares += (double)w[c] * (double)w[c];
            }
            gf_scale(w, w, (float)((part ? (double)(d->scale_out / d->scale_in) : 1) / sqrt(squares)), width);
        }
    }
    memcpy(d->b_dec.w, mean_out, (size_t)out * sizeof(float));
    for (int32_t i = 0; i < d->o.size; i++)
        for (int32_t c = 0; c < in; c++) d->b_enc.w[i] -= d->enc.w[(int64_t)i * in + c] * mean_in[c];
}

int32_t gf_dictionary_prepare(struct gf_dictionary *d, struct gf_error *err) {
    const struct gf_dictionary_options *o = &d->o;
    const int32_t in = o->d_in, out = d->d_out;
    float *mean_in = d->gradient, *mean_out = d->gradient + in, *y = d->y ? d->y : d->x;
    const int32_t status = check_rows(d, err);
    if (status != GF_OK) return status;
    d->variance = mean_of(y, o->rows, out, mean_out);
    mean_of(d->x, o->rows, in, mean_in);
    for (int32_t i = 0; d->tokens && i < o->rows; i++) d->counts[d->tokens[i]]++;
    if (d->tokens) subtract_table(d, d->x, in, d->table_in, mean_in);
    if (d->tokens && d->y) subtract_table(d, d->y, out, d->table_out, mean_out);
    d->scale_in = scale_of(d->x, o->rows, in, mean_in);
    d->scale_out = scale_of(y, o->rows, out, mean_out);
    if (!(d->variance > 0)) d->variance = 1; /* all rows are equal: any reconstruction of them is exact */
    gf_rng_seed(&d->rng, o->seed);
    draw(d, mean_in, mean_out);
    for (int32_t i = 0; i < o->rows; i++) d->rows[i] = i;
    for (int32_t i = 0; i < o->size; i++) d->fired[i] = 0;
    d->next = o->rows; /* the first batch shuffles */
    d->power1 = d->power2 = 1;
    return GF_OK;
}
