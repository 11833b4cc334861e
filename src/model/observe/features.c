/* features.c - encodes rows by a sparse dictionary, and changes the values of its features in a pass. */
#include "model/observe/features.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Share out the memory: called twice, first to count it. */
static void take(struct gf_features *f) {
    struct gf_arena *a = &f->memory;
    const struct gf_features_spec *s = &f->spec;
    const uint64_t size = (uint64_t)s->size * sizeof(float), d = (uint64_t)s->d * sizeof(float);
    gf_mat_bind(&f->w, s->dtype, s->size, s->d, gf_arena_take(a, gf_mat_bytes(s->dtype, s->size, s->d)));
    f->bias = gf_arena_take(a, 4 * size);
    f->table = gf_arena_take(a, (uint64_t)s->vocab_size * d);
    f->x = gf_arena_take(a, GF_FEATURE_ROWS * d);
    f->z = gf_arena_take(a, GF_FEATURE_ROWS * size);
    f->scale = gf_arena_take(a, GF_FEATURE_ROWS * sizeof *f->scale);
    f->slope = gf_arena_take(a, 2 * d);
    f->largest = gf_arena_take(a, (uint64_t)s->k * sizeof *f->largest);
    f->index = gf_arena_take(a, (uint64_t)s->k * sizeof *f->index);
    f->scratch = gf_arena_take(a, gf_matmul_scratch(GF_FEATURE_ROWS, s->d));
}

/* The binary that trains has encoders in floats alone, so that it needs no code that quantises rows: 3 KB. */
#if defined(GF_TRAINING)
#define PUT_ROW        gf_mat_put_floats
#define HAS_TYPE(type) (gf_dtype_is_kept(type) && !gf_dtype_is_quantized(type))
#else
#define PUT_ROW        gf_mat_put
#define HAS_TYPE(type) gf_dtype_is_kept(type)
#endif

static int32_t check_spec(const struct gf_features_spec *s, struct gf_error *err) {
    if (s->d < 1 || s->size < 1 || s->k < 0 || s->k > s->size || s->from < 0 || s->norm < 0 || s->norm > 2 ||
        s->vocab_size < 0)
        return gf_fail(err, GF_ERR_ARGUMENT, "a dictionary with %d features of %d values, k = %d, is not possible",
                       s->size, s->d, s->k);
    if (s->dtype < 0 || s->dtype >= (int32_t)(sizeof gf_dtypes / sizeof *gf_dtypes) || !HAS_TYPE(s->dtype) ||
        gf_mat_bytes(s->dtype, s->size, s->d) == UINT64_MAX)
        return gf_fail(err, GF_ERR_UNSUPPORTED, "an encoder with rows of %d values cannot have this type", s->d);
    return GF_OK;
}

struct gf_features *gf_features_open(const struct gf_features_spec *spec, struct gf_error *err) {
    if (check_spec(spec, err) != GF_OK) return NULL;
    struct gf_features *f = calloc(1, sizeof *f);
    if (f) {
        f->spec = *spec;
        take(f);
        const uint64_t bytes = f->memory.used;
        f->memory = (struct gf_arena){0};
        if (gf_arena_open(&f->memory, bytes)) {
            free(f);
            f = NULL;
        }
    }
    if (!f) {
        gf_fail(err, GF_ERR_MEMORY, "no memory for a dictionary with %d features", spec->size);
        return NULL;
    }
    take(f);
    f->held = 1;
    f->threshold = f->bias + spec->size;
    f->gain = f->threshold + spec->size;
    f->magnitude = f->gain + spec->size;
    return f;
}

void gf_features_hold(struct gf_features *f) {
    if (f) f->held++;
}

void gf_features_close(struct gf_features *f) {
    if (!f || --f->held) return;
    gf_arena_close(&f->memory);
    free(f);
}

void gf_features_put(struct gf_features *f, int32_t i, const float *row) { PUT_ROW(&f->w, i, 0, row, f->spec.d); }
void gf_features_get(const struct gf_features *f, int32_t i, float *row) { gf_mat_get_row(row, &f->w, i); }
float *gf_features_vectors(struct gf_features *f) { return f->bias; }
float *gf_features_table(struct gf_features *f) { return f->table; }

/* x' of a row: see gf_features_spec. Returns what a unit of x' is in x. */
static float prepare(const struct gf_features *f, float *to, const float *x, const int32_t *id) {
    const int32_t d = f->spec.d;
    const float *mean_of_token = f->table && id ? f->table + (int64_t)*id * d : NULL;
    for (int32_t c = 0; c < d; c++) to[c] = mean_of_token ? x[c] - mean_of_token[c] : x[c];
    if (!f->spec.norm) return 1;
    double sum = 0, squares = 0;
    for (int32_t c = 0; f->spec.norm == 2 && c < d; c++) sum += (double)to[c];
    for (int32_t c = 0; c < d; c++) {
        const double off = (double)to[c] - sum / d;
        squares += off * off;
    }
    const double unit = f->spec.norm == 1 ? sqrt(squares / d) : sqrt(squares / (d - 1));
    const double by = f->spec.norm == 1 ? unit : unit + 1e-5;
    for (int32_t c = 0; c < d; c++) to[c] = by > 0 ? (float)(((double)to[c] - sum / d) / by) : 0;
    return (float)unit;
}

/* z of a row, in the place of its products p. */
static void activate(struct gf_features *f, float *p) {
    const int32_t n = f->spec.size, k = f->spec.k;
    if (k) {
        gf_largest(f->largest, f->index, p, f->bias, n, k);
        memset(p, 0, (size_t)n * sizeof *p);
        for (int32_t j = 0; j < k && f->index[j] >= 0; j++) p[f->index[j]] = f->largest[j];
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        const float z = f->gain[i] * p[i] + f->magnitude[i];
        p[i] = p[i] + f->bias[i] > f->threshold[i] && z > 0 ? z : 0;
    }
}

void gf_features_encode_rows(struct gf_features *f, const float *x, int32_t ld, const int32_t *ids, int32_t position,
                             int32_t n, struct gf_pool *pool) {
    const int64_t d = f->spec.d, size = f->spec.size;
    for (int32_t i = 0; i < n; i++) f->scale[i] = prepare(f, f->x + i * d, x + (int64_t)i * ld, ids ? ids + i : NULL);
    gf_matmul(f->z, f->x, &f->w, NULL, n, f->scratch, pool);
    for (int32_t i = 0; i < n; i++) {
        if (position + i < f->spec.from)
            memset(f->z + i * size, 0, (size_t)size * sizeof *f->z);
        else
            activate(f, f->z + i * size);
    }
}

const float *gf_features_encode(struct gf_features *f, const float *x, const int32_t *ids, int32_t position, int32_t n,
                                struct gf_pool *pool) {
    gf_features_encode_rows(f, x, f->spec.d, ids, position, n, pool);
    return f->z;
}

/* The edits of a row whose features have been read. */
static void change(const struct gf_features *f, const struct gf_edit *edits, int32_t n, int32_t position,
                   const float *z, float unit, float *x) {
    if (position < f->spec.from) return;
    for (int32_t k = 0; k < n; k++) {
        const struct gf_edit *e = &edits[k];
        if (e->position >= 0 && e->position != position) continue;
        const float by = ((e->scale - 1) * z[e->index] + e->add) * unit;
        if (by != 0) gf_axpy(x, e->values, by, f->spec.d);
    }
}

/* Rows as they are before an edit: copied to e->seen where a backward pass will follow, and read from there in it. */
static const float *rows_before(const struct gf_observe *o, const struct gf_edit *e, int32_t row, const float *x,
                                int32_t *ld, int32_t n) {
    const int32_t d = e->features->spec.d;
    if (!GF_HAS_BACKWARD || !e->seen) return x;
    float *seen = e->seen + (int64_t)(o->row0 + row) * d;
    for (int32_t i = 0; !o->backward && i < n; i++)
        memcpy(seen + (int64_t)i * d, x + (int64_t)i * *ld, (size_t)d * sizeof *x);
    *ld = d;
    return seen;
}

void gf_edit_features(struct gf_observe *o, int32_t first, int32_t n, int32_t row, float *x, int32_t ld, int32_t n_rows,
                      int32_t width) {
    const struct gf_edit *edits = o->edits + first;
    struct gf_features *f = edits->features;
    const int32_t position = o->pos0 + o->row0 + row;
    const int32_t *ids = o->ids ? o->ids + (o->row0 - o->ids_row0 + row) : NULL;
    if (width != f->spec.d) return;
    for (int32_t i = 0; i < n_rows; i += GF_FEATURE_ROWS) {
        const int32_t rows = n_rows - i < GF_FEATURE_ROWS ? n_rows - i : GF_FEATURE_ROWS;
        int32_t ld_before = ld;
        const float *before = rows_before(o, edits, row + i, x + (int64_t)i * ld, &ld_before, rows);
        gf_features_encode_rows(f, before, ld_before, ids ? ids + i : NULL, position + i, rows, o->pool);
        for (int32_t r = 0; r < rows; r++) {
            float *to = x + (int64_t)(i + r) * ld;
            if (GF_HAS_BACKWARD && o->backward)
                gf_features_back(f, edits, n, position + i + r, r, to);
            else
                change(f, edits, n, position + i + r, f->z + (int64_t)r * f->spec.size, f->scale[r], to);
        }
    }
}
