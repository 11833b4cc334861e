/* load.c - converts the tensors of a file, which arrive in pieces, into the model's memory.
 *
 * A tensor is converted row by row as its bytes arrive. Besides the model itself only one row of floats is allocated,
 * or as many for a transposed tensor as a block of the type in memory has columns (32 for types without blocks), so
 * that whole blocks can be stored. */
#include "model/model.h"
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
    l.total = (uint64_t)l.rows * (uint64_t)l.cols;
    int32_t along = l.transposed ? l.rows : l.cols;
    if (along % gf_dtype_block_cols(dtype))
        return gf_fail(err, GF_ERR_SHAPE, "%s: rows of %d do not divide into blocks of %d", a->t.name, along,
                       gf_dtype_block_cols(dtype));
    if (l.transposed) l.verbatim = 0;
    l.line = calloc((size_t)along * (size_t)(l.transposed ? l.gather : 1), sizeof *l.line);
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
            int32_t at = i;
            const struct gf_slot *s = entry_by_head(m, &at);
            gf_slot_put(s, 0, at, x + i, d);
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

/* From here on numbers become infinite in the types of the tensor's entries. */
static float limit_of(const struct gf_model *m) {
    const struct gf_slot *first = &m->slots[m->loading.first];
    for (const struct gf_slot *s = first; s < first + m->loading.n; s++)
        if (s->mat && s->mat->dtype == GF_F16) return 65520;
    return INFINITY;
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

int32_t gf_tensor_write(struct gf_model *m, const void *bytes, uint32_t n_bytes, struct gf_error *err) {
    struct gf_loading *l = &m->loading;
    if (!l->line) return gf_fail(err, GF_ERR_STATE, "no tensor is being loaded");
    const char *name = m->slots[l->first].t.name;
    const uint32_t block = (uint32_t)gf_dtype_block_bytes(l->dtype);
    const int32_t per = gf_dtype_block_cols(l->dtype);
    int32_t status = GF_OK;
    if (n_bytes % block)
        status = gf_fail(err, GF_ERR_ARGUMENT, "%s: %u bytes are not whole blocks of %u", name, n_bytes, block);
    else if ((uint64_t)(n_bytes / block) * (uint64_t)per > l->total - l->done)
        status = gf_fail(err, GF_ERR_SHAPE, "%s: more than the %lld values expected", name, (long long)l->total);
    const uint8_t *in = bytes;
    const int32_t along = l->transposed ? l->rows : l->cols;
    const float limit = limit_of(m);
    for (uint64_t left = n_bytes / block * (uint64_t)per; left && status == GF_OK;) {
        const int32_t line = (int32_t)(l->done / (uint64_t)along), from = (int32_t)(l->done % (uint64_t)along);
        int32_t n = along - from;
        if ((uint64_t)n > left) n = (int32_t)left;
        float *to = l->line + from + (l->transposed ? (size_t)(line % l->gather) * (size_t)along : 0);
        if (!l->verbatim) gf_dequantize(to, in, l->dtype, n);
        const int64_t bad = l->verbatim ? gf_blocks_not_finite(in, l->dtype, n) : not_finite(to, n, limit);
        if (bad >= 0) {
            const int too_large = !l->verbatim && isfinite(to[bad]);
            status = gf_fail(err, GF_ERR_NOT_FINITE, "%s: element %lld is %s", name, (long long)l->done + bad,
                             too_large ? "larger than f16 holds, 65504: load it as f32" : "NaN or infinite");
            break;
        }
        if (l->verbatim) {
            int32_t row = line;
            struct gf_slot *s = entry_of(m, &row);
            gf_mat_put_blocks(s->mat, s->row0 + row, from, in, l->dtype, n);
        } else if (from + n == along) {
            if (!l->transposed)
                put_row(m, line, l->line);
            else if (line % l->gather == l->gather - 1 || line == l->cols - 1)
                put_transposed(m, line - line % l->gather, line % l->gather + 1);
        }
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
