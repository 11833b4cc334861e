/* dictionary.c - see dictionary.h. The encoder is a dense product; everything else computes with the k active features
 * of a row: a step at 1,024 features of width 256 and k = 16 takes 0.57 MFLOP a row, dense backpropagation 1.6.
 *
 * Forward passes are shared out by rows, gradients and Adam by features, whose sums run over the rows in order. */
#include "kernels/kernels.h" /* gf_axpy, gf_largest */
#include "train/dictionary.h"
#include "train/gemm.h"
#include <math.h>
#include <string.h>

/* Rows, and parts of the features, of a tile. Biases begin at 0 and are in the units of the activations, so their rate
 * is multiplied by the scale of these. */
enum { TILE_ROWS = 128, FEATURE_TILES = 8, LANES = 8 };
static const float BETA1 = 0.9f, BETA2 = 0.999f, EPS = 1e-10f;

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

static float dot(const float *a, const float *b, int32_t n) {
    lanes s = {0};
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES) s += *(const lanes *)(a + i) * *(const lanes *)(b + i);
    float sum = 0;
    for (int32_t j = 0; j < LANES; j++) sum += s[j];
    for (; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static double squares(const float *x, int32_t n) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* Rows of the batch, from the stored ones. */
struct rows {
    struct gf_dictionary *d;
    const int32_t *order; /* NULL: first, first + 1, ... */
    int32_t first, n;
};

static void forward_rows(void *ctx, int32_t tile) {
    const struct rows *of = ctx;
    struct gf_dictionary *d = of->d;
    const struct gf_dictionary_batch *b = &d->batch;
    const int32_t in = d->o.d_in, out = d->d_out, m = d->o.size, k = d->o.k;
    const int32_t from = tile * TILE_ROWS, end = from + TILE_ROWS < of->n ? from + TILE_ROWS : of->n;
    for (int32_t r = from; r < end; r++) {
        const int64_t at = of->order ? of->order[r] : of->first + r;
        memcpy(b->x + (int64_t)r * in, d->x + at * in, (size_t)in * sizeof(float));
    }
    gf_gemm(0, 1, end - from, m, in, 1, b->x + (int64_t)from * in, in, d->enc.w, in, 0, b->pre + (int64_t)from * m, m);
    for (int32_t r = from; r < end; r++) {
        int32_t *index = b->index + (int64_t)r * k;
        float *z = b->z + (int64_t)r * k, *error = b->error + (int64_t)r * out;
        gf_largest(z, index, b->pre + (int64_t)r * m, d->b_enc.w, m, k);
        memcpy(error, d->b_dec.w, (size_t)out * sizeof *error);
        for (int32_t j = 0; j < k && index[j] >= 0; j++) gf_axpy(error, d->dec.w + (int64_t)index[j] * out, z[j], out);
        const int64_t at = of->order ? of->order[r] : of->first + r;
        gf_axpy(error, (d->y ? d->y : d->x) + at * out, -1, out);
        b->squares[r] = squares(error, out);
        for (int32_t j = 0; j < k && index[j] >= 0; j++)
            b->dz[(int64_t)r * k + j] = dot(error, d->dec.w + (int64_t)index[j] * out, out);
    }
}

/* Run n rows, and add up what they cost. */
static void forward(struct rows *of, struct gf_dictionary_score *score) {
    struct gf_dictionary *d = of->d;
    gf_pool_run(d->pool, forward_rows, of, (of->n + TILE_ROWS - 1) / TILE_ROWS);
    double error = 0, active = 0;
    for (int32_t r = 0; r < of->n; r++) {
        error += d->batch.squares[r];
        for (int32_t j = 0; j < d->o.k && d->batch.index[(int64_t)r * d->o.k + j] >= 0; j++) active++;
    }
    score->rows += of->n;
    score->fvu += error / d->variance;
    score->l0 += active;
}

/* ---- backward and Adam ------------------------------------------------------------------------------------------- */

/* Sort the entries of n rows by feature; those of a feature stay in order. */
static void sort_entries(struct gf_dictionary *d, int32_t n) {
    const struct gf_dictionary_batch *b = &d->batch;
    const int32_t m = d->o.size, entries = n * d->o.k;
    memset(b->start, 0, (size_t)(m + 1) * sizeof *b->start);
    for (int32_t e = 0; e < entries; e++)
        if (b->index[e] >= 0) b->start[b->index[e]]++;
    int32_t sum = 0;
    for (int32_t i = 0; i <= m; i++) {
        const int32_t count = i < m ? b->start[i] : 0;
        b->start[i] = sum;
        sum += count;
    }
    for (int32_t e = 0; e < entries; e++) /* start[i] moves to the end of feature i, which is the start of i + 1 */
        if (b->index[e] >= 0) b->order[b->start[b->index[e]]++] = e;
    memmove(b->start + 1, b->start, (size_t)m * sizeof *b->start);
    b->start[0] = 0;
}

struct update {
    struct gf_dictionary *d;
    struct gf_adam adam;
    float rate, per_row; /* per_row: 1 / rows of the batch */
};

/* The gradients of feature i and its step. Its decoder row keeps the length 1: the part of the gradient along it is
 * removed, and the row is normalised after the step. */
static void update_feature(const struct update *u, int32_t i) {
    struct gf_dictionary *d = u->d;
    const struct gf_dictionary_batch *b = &d->batch;
    const int32_t in = d->o.d_in, out = d->d_out, k = d->o.k;
    const int64_t enc = (int64_t)i * in, dec = (int64_t)i * out;
    float *to_enc = d->gradient + (int64_t)i * (in + out), *to_dec = to_enc + in, bias = 0;
    memset(to_enc, 0, (size_t)(in + out) * sizeof *to_enc);
    for (int32_t e = b->start[i]; e < b->start[i + 1]; e++) {
        const int32_t entry = b->order[e], r = entry / k;
        const float dz = b->dz[entry] * u->per_row;
        gf_axpy(to_enc, b->x + (int64_t)r * in, dz, in);
        gf_axpy(to_dec, b->error + (int64_t)r * out, b->z[entry] * u->per_row, out);
        bias += dz;
    }
    if (b->start[i] < b->start[i + 1]) d->fired[i] = d->seen;
    float *w = d->dec.w + dec;
    gf_axpy(to_dec, w, -dot(to_dec, w, out), out);
    const float scale = d->scale_out / d->scale_in;
    gf_adam(d->enc.w + enc, to_enc, d->enc.first + enc, d->enc.second + enc, (uint64_t)in, &u->adam, u->rate * scale,
            0);
    gf_adam(d->b_enc.w + i, &bias, d->b_enc.first + i, d->b_enc.second + i, 1, &u->adam, u->rate * d->scale_out, 0);
    gf_adam(w, to_dec, d->dec.first + dec, d->dec.second + dec, (uint64_t)out, &u->adam, u->rate, 0);
    const float length = (float)sqrt(squares(w, out));
    for (int32_t c = 0; length > 0 && c < out; c++) w[c] /= length;
}

static void update_features(void *ctx, int32_t tile) {
    const struct update *u = ctx;
    const int64_t m = u->d->o.size;
    const int32_t end = (int32_t)(m * (tile + 1) / FEATURE_TILES);
    for (int32_t i = (int32_t)(m * tile / FEATURE_TILES); i < end; i++) update_feature(u, i);
}

static void update_output_bias(const struct update *u, int32_t n) {
    struct gf_dictionary *d = u->d;
    float *gradient = d->gradient;
    memset(gradient, 0, (size_t)d->d_out * sizeof *gradient);
    for (int32_t r = 0; r < n; r++) gf_axpy(gradient, d->batch.error + (int64_t)r * d->d_out, u->per_row, d->d_out);
    gf_adam(d->b_dec.w, gradient, d->b_dec.first, d->b_dec.second, (uint64_t)d->d_out, &u->adam, u->rate * d->scale_out,
            0);
}

/* The learning rate of step `step`, from 0 on. */
static float rate_of(const struct gf_dictionary_options *o, int64_t step) {
    const double left = (double)(o->steps - step), falls = (double)o->decay * (double)o->steps;
    return left < falls ? (float)((double)o->lr * left / falls) : o->lr;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* The rows of the next batch, each once an epoch: Fisher and Yates's shuffle. */
static const int32_t *next_rows(struct gf_dictionary *d) {
    if (d->next + d->o.batch > d->o.rows) {
        for (int32_t i = d->o.rows - 1; i > 0; i--) {
            const int32_t j = (int32_t)(gf_rng_u64(&d->rng) % (uint64_t)(i + 1)), row = d->rows[i];
            d->rows[i] = d->rows[j];
            d->rows[j] = row;
        }
        d->next = 0;
    }
    d->next += d->o.batch;
    return d->rows + d->next - d->o.batch;
}

int32_t gf_dictionary_step(struct gf_dictionary *d, struct gf_dictionary_score *score, struct gf_error *err) {
    if (d->step >= d->o.steps)
        return gf_fail(err, GF_ERR_STATE, "the dictionary has done its %lld steps", (long long)d->step);
    memset(score, 0, sizeof *score);
    struct rows of = {d, next_rows(d), 0, d->o.batch};
    forward(&of, score);
    if (!isfinite(score->fvu))
        return gf_fail(err, GF_ERR_NOT_FINITE, "step %lld of the dictionary: the error is not finite",
                       (long long)d->step + 1);
    sort_entries(d, of.n);
    d->power1 *= (double)BETA1;
    d->power2 *= (double)BETA2;
    const float fix1 = (float)(1 / (1 - d->power1)), fix2 = (float)(1 / (1 - d->power2));
    struct update u = {d, {BETA1, BETA2, EPS, fix1, fix2}, rate_of(&d->o, d->step), 1 / (float)of.n};
    d->step++;
    d->seen += of.n;
    gf_pool_run(d->pool, update_features, &u, FEATURE_TILES);
    update_output_bias(&u, of.n);
    score->step = (double)d->step;
    score->fvu /= score->rows;
    score->l0 /= score->rows;
    for (int32_t i = 0; i < d->o.size; i++) score->dead += d->fired[i] <= d->seen - d->o.rows;
    return GF_OK;
}

int32_t gf_dictionary_encode(struct gf_dictionary *d, int32_t first, int32_t n, int32_t *index, float *z,
                             struct gf_dictionary_score *score, struct gf_error *err) {
    if (first < 0 || n < 1 || n > d->o.rows - first)
        return gf_fail(err, GF_ERR_ARGUMENT, "rows %d and %d more: the dictionary has %d", first, n, d->o.rows);
    const int32_t k = d->o.k;
    int32_t *active = d->batch.start; /* [size + 1] */
    memset(score, 0, sizeof *score);
    memset(active, 0, (size_t)d->o.size * sizeof *active);
    for (int32_t at = 0; at < n; at += d->o.batch) {
        struct rows of = {d, NULL, first + at, n - at < d->o.batch ? n - at : d->o.batch};
        forward(&of, score);
        const size_t entries = (size_t)of.n * (size_t)k;
        memcpy(index + (int64_t)at * k, d->batch.index, entries * sizeof *index);
        memcpy(z + (int64_t)at * k, d->batch.z, entries * sizeof *z);
        for (size_t e = 0; e < entries; e++)
            if (d->batch.index[e] >= 0) active[d->batch.index[e]] = 1;
    }
    score->step = (double)d->step;
    score->fvu /= score->rows;
    score->l0 /= score->rows;
    for (int32_t i = 0; i < d->o.size; i++) score->dead += !active[i];
    return GF_OK;
}
