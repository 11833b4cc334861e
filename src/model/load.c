/* load.c - converts the tensors of a file, which arrive in pieces, into the model's memory.
 *
 * A tensor is converted row by row as its bytes arrive. Besides the model itself only one row of floats is allocated,
 * or as many for a transposed tensor as a block of the type in memory has columns (32 for types without blocks), so
 * that whole blocks can be stored. */
#include "model/model.h"
#include "base/arena.h"      /* gf_calloc */
#include "kernels/kernels.h" /* gf_dequantize, gf_blocks_not_finite, gf_mat_put_blocks */
#include "model/config.h"    /* gf_q_width */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GATHER = 256 }; /* most rows of a transposed tensor that are gathered before they are stored */

/* Forget the tensor that is being loaded. */
static void end_loading(struct gf_model *m) {
    free(m->loading.line);
    m->loading.line = NULL;
}

/* From this magnitude on a number becomes infinite or NaN in memory, because it, or the scale or minimum of its block,
 * is infinite as f16 (in bf16: as bf16). src/kernels/quant.c computes the scales. */
static float limit_of_dtype(int32_t dtype) {
    const float half = 65520;
    switch (dtype) {
    case GF_F16:
    case GF_Q4_1:
    case GF_Q5_1: return half;
    case GF_Q4_0: return 8 * half;
    case GF_Q5_0: return 16 * half;
    case GF_Q4_K: return 63 * half;
    case GF_Q8_0: return 127 * half;
    case GF_Q6_K: return 32 * 128 * half;
    case GF_BF16: return 0x1.FFp127f;
    default: return INFINITY;
    }
}

/* The type of the entries [n] that has the least limit; GF_F32 if none is a matrix. */
static int32_t narrowest(const struct gf_slot *entries, int32_t n) {
    int32_t dtype = GF_F32;
    for (const struct gf_slot *s = entries; s < entries + n; s++)
        if (s->mat && limit_of_dtype(s->mat->dtype) < limit_of_dtype(dtype)) dtype = s->mat->dtype;
    return dtype;
}

static int32_t refuse_begin(const struct gf_model *m, int32_t first, int32_t n, int32_t dtype, int32_t layout,
                            struct gf_error *err) {
    if (m->sealed) return gf_fail(err, GF_ERR_STATE, "the model is sealed");
    if (m->loading.line) return gf_fail(err, GF_ERR_STATE, "another tensor is still being loaded: end it first");
    if (first < 0 || n < 1 || n > m->n_slots || first > m->n_slots - n)
        return gf_fail(err, GF_ERR_ARGUMENT, "roster entries %d..%lld do not exist", first, (long long)first + n - 1);
    if (dtype < 0 || dtype >= GF_N_DTYPES) return gf_fail(err, GF_ERR_ARGUMENT, "dtype %d does not exist", dtype);
    const struct gf_slot *a = &m->slots[first];
    if (layout < 0 || layout > 2) return gf_fail(err, GF_ERR_ARGUMENT, "layout %d does not exist", layout);
    for (int32_t i = first; i < first + n; i++) {
        const struct gf_slot *s = &m->slots[i];
        if (layout == 2 && (a->t.rank == 1 ? s->t.cols : s->t.rows) != gf_q_width(&m->cfg))
            return gf_fail(err, GF_ERR_SHAPE, "%s does not have %d rows for each of %d heads", s->t.name, m->cfg.d_head,
                           m->cfg.n_heads);
        if (s->t.tied_to >= 0)
            return gf_fail(err, GF_ERR_DUPLICATE, "%s is tied to %s and has no values of its own", s->t.name,
                           m->slots[s->t.tied_to].t.name);
        if (m->loaded[i]) return gf_fail(err, GF_ERR_DUPLICATE, "%s was loaded before", s->t.name);
        if (s->t.rank != a->t.rank || (s->t.rank == 2 && s->t.cols != a->t.cols))
            return gf_fail(err, GF_ERR_SHAPE, "%s cannot be stacked with %s", s->t.name, a->t.name);
    }
    return GF_OK;
}

int32_t gf_tensor_begin(struct gf_model *m, int32_t first, int32_t n, int32_t dtype, int32_t layout,
                        struct gf_error *err) {
    int32_t status = refuse_begin(m, first, n, dtype, layout, err);
    if (status != GF_OK) return status;
    struct gf_loading l = {.first = first, .n = n, .dtype = dtype, .gather = GF_QBLOCK, .by_head = layout == 2};
    const struct gf_slot *a = &m->slots[first];
    l.verbatim = a->mat && gf_dtype_fits(dtype, a->mat->dtype);
    if (a->t.rank == 1) { /* several vectors are stored as one long row */
        l.rows = 1;
        for (int32_t i = 0; i < n; i++) l.cols += m->slots[first + i].t.cols;
    } else {
        l.cols = a->t.cols;
        for (int32_t i = 0; i < n; i++) {
            const struct gf_slot *s = &m->slots[first + i];
            l.rows += s->t.rows;
            if (s->mat && gf_dtype_block_cols(s->mat->dtype) > l.gather) l.gather = gf_dtype_block_cols(s->mat->dtype);
            if (!s->mat || !gf_dtype_fits(dtype, s->mat->dtype)) l.verbatim = 0;
        }
        l.transposed = layout == 1;
    }
    l.limit = limit_of_dtype(narrowest(a, n));
    l.total = (uint64_t)l.rows * (uint64_t)l.cols;
    int32_t along = l.transposed ? l.rows : l.cols;
    if (along % gf_dtype_block_cols(dtype))
        return gf_fail(err, GF_ERR_SHAPE, "%s: rows of %d do not divide into blocks of %d", a->t.name, along,
                       gf_dtype_block_cols(dtype));
    if (l.transposed) l.verbatim = 0;
    l.line = gf_calloc((uint64_t)along * (uint64_t)(l.transposed ? l.gather : 1), sizeof *l.line);
    if (!l.line) return gf_fail(err, GF_ERR_MEMORY, "no memory for a row of %s", a->t.name);
    m->loading = l;
    return GF_OK;
}

/* Element `i` of entries that follow each other head by head: the entry, and its element *i. */
static struct gf_slot *entry_by_head(struct gf_model *m, int32_t *i) {
    const int32_t d = m->cfg.d_head, n = m->loading.n, entry = *i / d % n;
    *i = *i / (n * d) * d + *i % d;
    return &m->slots[m->loading.first + entry];
}

/* The entry that row `row` of the stack belongs to; *row becomes its row within that entry. */
static struct gf_slot *entry_of(struct gf_model *m, int32_t *row) {
    if (m->loading.by_head) return entry_by_head(m, row);
    struct gf_slot *s = &m->slots[m->loading.first];
    while (*row >= s->t.rows) *row -= s++->t.rows;
    return s;
}

/* Store one row of the stack. */
static void put_row(struct gf_model *m, int32_t row, const float *x) {
    const struct gf_loading *l = &m->loading;
    if (m->slots[l->first].t.rank == 2) {
        const struct gf_slot *s = entry_of(m, &row);
        gf_slot_put(s, row, 0, x, l->cols);
    } else if (l->by_head) {
        const int32_t d = m->cfg.d_head;
        for (int32_t i = 0; i < l->cols; i += d) {
            int32_t element = i;
            const struct gf_slot *s = entry_by_head(m, &element);
            gf_slot_put(s, 0, element, x + i, d);
        }
    } else {
        for (const struct gf_slot *s = &m->slots[l->first]; s < &m->slots[l->first + l->n]; x += s++->t.cols)
            gf_slot_put(s, 0, 0, x, s->t.cols);
    }
}

/* Store columns col ... col + n - 1 of a transposed tensor, which are in line [n][rows]. */
static void put_transposed(struct gf_model *m, int32_t col, int32_t n) {
    const struct gf_loading *l = &m->loading;
    for (int32_t row = 0; row < l->rows; row++) {
        int32_t r = row;
        const struct gf_slot *s = entry_of(m, &r);
        float piece[GATHER];
        for (int32_t k = 0; k < n; k++) piece[k] = l->line[(size_t)k * (size_t)l->rows + (size_t)row];
        gf_slot_put(s, r, col, piece, n);
    }
}

/* The first of x [n] that is NaN, or not below the limit; -1: there is none. */
static int64_t not_finite(const float *x, int32_t n, float limit) {
    int32_t finite = 1;
    for (int32_t i = 0; i < n; i++) finite &= fabsf(x[i]) < limit;
    if (finite) return -1;
    int32_t i = 0;
    while (fabsf(x[i]) < limit) i++;
    return i;
}

/* The error of a value that is not finite, `bad` values after those loaded before; GF_OK if bad is -1. */
static int32_t refuse_value(const struct gf_model *m, int64_t bad, int is_too_large, struct gf_error *err) {
    const struct gf_loading *l = &m->loading;
    if (bad < 0) return GF_OK;
    const char *name = m->slots[l->first].t.name;
    const long long at = (long long)l->done + bad;
    if (!is_too_large) return gf_fail(err, GF_ERR_NOT_FINITE, "%s: element %lld is NaN or infinite", name, at);
    return gf_fail(err, GF_ERR_NOT_FINITE, "%s: element %lld is too large for %s: load it as f32", name, at,
                   gf_dtypes[narrowest(&m->slots[l->first], l->n)].name);
}

/* The next n values of the file, which lie within one line of it, as floats. */
static int32_t convert(const struct gf_model *m, float *to, const uint8_t *in, int32_t n, struct gf_error *err) {
    gf_dequantize(to, in, m->loading.dtype, n);
    const int64_t bad = not_finite(to, n, m->loading.limit);
    return refuse_value(m, bad, bad >= 0 && isfinite(to[bad]), err);
}

/* Three ways to store n values, those from column `col` on of row `row` of the file. This one: as the file's blocks. */
static int32_t store_blocks(struct gf_model *m, int32_t row, int32_t col, const uint8_t *in, int32_t n,
                            struct gf_error *err) {
    const int32_t dtype = m->loading.dtype;
    const int32_t status = refuse_value(m, gf_blocks_not_finite(in, dtype, n), 0, err);
    if (status != GF_OK) return status;
    const struct gf_slot *s = entry_of(m, &row);
    gf_mat_put_blocks(s->mat, s->row0 + row, col, in, dtype, n);
    return GF_OK;
}

/* Converted; the row is stored when it is complete. */
static int32_t store_row(struct gf_model *m, int32_t row, int32_t col, const uint8_t *in, int32_t n,
                         struct gf_error *err) {
    const struct gf_loading *l = &m->loading;
    const int32_t status = convert(m, l->line + col, in, n, err);
    if (status == GF_OK && col + n == l->cols) put_row(m, row, l->line);
    return status;
}

/* Converted and transposed; `gather` rows are stored when they are complete. */
static int32_t store_transposed(struct gf_model *m, int32_t row, int32_t col, const uint8_t *in, int32_t n,
                                struct gf_error *err) {
    const struct gf_loading *l = &m->loading;
    const int32_t gathered = row % l->gather;
    const int32_t status = convert(m, l->line + (size_t)gathered * (size_t)l->rows + col, in, n, err);
    if (status == GF_OK && col + n == l->rows && (gathered == l->gather - 1 || row == l->cols - 1))
        put_transposed(m, row - gathered, gathered + 1);
    return status;
}

/* GF_OK if the tensor has room for so many bytes of whole blocks. */
static int32_t refuse_bytes(const struct gf_model *m, uint32_t n_bytes, struct gf_error *err) {
    const struct gf_loading *l = &m->loading;
    const char *name = m->slots[l->first].t.name;
    const uint32_t block = (uint32_t)gf_dtype_block_bytes(l->dtype);
    if (n_bytes % block)
        return gf_fail(err, GF_ERR_ARGUMENT, "%s: %u bytes are not whole blocks of %u", name, n_bytes, block);
    if ((uint64_t)(n_bytes / block) * (uint64_t)gf_dtype_block_cols(l->dtype) > l->total - l->done)
        return gf_fail(err, GF_ERR_SHAPE, "%s: more than the %lld values expected", name, (long long)l->total);
    return GF_OK;
}

int32_t gf_tensor_write(struct gf_model *m, const void *bytes, uint32_t n_bytes, struct gf_error *err) {
    struct gf_loading *l = &m->loading;
    if (!l->line) return gf_fail(err, GF_ERR_STATE, "no tensor is being loaded");
    int32_t status = refuse_bytes(m, n_bytes, err);
    const uint32_t block = (uint32_t)gf_dtype_block_bytes(l->dtype);
    const int32_t per = gf_dtype_block_cols(l->dtype), width = l->transposed ? l->rows : l->cols;
    const uint8_t *in = bytes;
    for (uint64_t left = n_bytes / block * (uint64_t)per; left && status == GF_OK;) {
        const int32_t row = (int32_t)(l->done / (uint64_t)width), col = (int32_t)(l->done % (uint64_t)width);
        const int32_t n = left < (uint64_t)(width - col) ? (int32_t)left : width - col;
        if (l->verbatim)
            status = store_blocks(m, row, col, in, n, err);
        else if (l->transposed)
            status = store_transposed(m, row, col, in, n, err);
        else
            status = store_row(m, row, col, in, n, err);
        in += (size_t)(n / per) * block;
        l->done += (uint64_t)n;
        left -= (uint64_t)n;
    }
    if (status != GF_OK) end_loading(m);
    return status;
}

int32_t gf_tensor_end(struct gf_model *m, struct gf_error *err) {
    struct gf_loading *l = &m->loading;
    if (!l->line) return gf_fail(err, GF_ERR_STATE, "no tensor is being loaded");
    int32_t status = GF_OK;
    if (l->done != l->total)
        status = gf_fail(err, GF_ERR_TRUNCATED, "%s: %lld values loaded, expected %lld", m->slots[l->first].t.name,
                         (long long)l->done, (long long)l->total);
    else
        memset(m->loaded + l->first, 1, (size_t)l->n);
    end_loading(m);
    return status;
}
