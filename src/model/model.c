/* model.c - opens a model: reserves memory for all tensors of the roster in one arena, and seals it. */
#include "model/model.h"
#include "base/arena.h" /* gf_alloc, gf_calloc */
#include "base/bytes.h"
#include "base/rng.h"
#include "kernels/kernels.h" /* gf_mat_bytes, gf_mat_bind, gf_mat_put, gf_mat_get_row, gf_matmul */
#include "model/config.h"    /* gf_stack_config */
#include "model/layers/relative.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_slot(void *ctx, const struct gf_slot *s) {
    struct gf_model *m = ctx;
    m->slots[m->n_slots++] = *s;
}

/* The end of the entries that share slot i's matrix. Such entries follow each other. */
static int32_t group_end(const struct gf_model *m, int32_t i) {
    int32_t end = i + 1;
    while (end < m->n_slots && m->slots[i].mat && m->slots[end].mat == m->slots[i].mat) end++;
    return end;
}

/* The weight type of slot i, a matrix: f32 where the requested type does not fit its columns. */
static int32_t slot_dtype(const struct gf_model *m, int32_t i, const uint8_t *dtypes) {
    const struct gf_slot *s = &m->slots[i];
    if (!dtypes || dtypes[i] >= GF_N_DTYPES) return GF_F32;
    return gf_mat_bytes(dtypes[i], s->t.rows, s->t.cols) == GF_TOO_MUCH ? GF_F32 : dtypes[i];
}

/* Lay out one part of a matrix: entries i ... end - 1, which have the same type. `before` is the part before it in the
 * same matrix, or NULL. Returns the part. */
static struct gf_mat *lay_out_part(struct gf_model *m, int32_t i, int32_t end, int32_t dtype, struct gf_mat *before) {
    const int32_t first = m->slots[i].row0, cols = m->slots[i].t.cols;
    int32_t rows = 0;
    for (int32_t k = i; k < end; k++) rows += m->slots[k].t.rows;
    const uint64_t bytes = gf_mat_bytes(dtype, rows, cols);
    struct gf_mat *mat = before ? &m->parts[i] : m->slots[i].mat;
    void *memory = gf_arena_take(&m->arena, bytes);
    if (memory) {
        gf_mat_bind(mat, dtype, rows, cols, memory);
        if (before) before->next = mat;
    }
    for (int32_t k = i; k < end; k++) {
        struct gf_slot *s = &m->slots[k];
        s->t.dtype = dtype;
        /* the padding rows are divided among the entries */
        s->t.n_bytes = bytes == GF_TOO_MUCH ? bytes : bytes / (uint64_t)rows * (uint64_t)s->t.rows;
        if (memory) s->mat = mat, s->row0 -= first, s->t.address = (uint64_t)(uintptr_t)memory;
    }
    return mat;
}

/* Lay out the matrix of entries i ... end - 1: neighbours of the same type are one part. */
static void lay_out_matrix(struct gf_model *m, int32_t i, int32_t end, const uint8_t *dtypes) {
    struct gf_mat *before = NULL;
    for (int32_t from = i, to; from < end; from = to) {
        const int32_t dtype = slot_dtype(m, from, dtypes);
        for (to = from + 1; to < end && slot_dtype(m, to, dtypes) == dtype;) to++;
        before = lay_out_part(m, from, to, dtype, before);
    }
}

/* Whether the model has this stack of blocks. */
static int has_stack(const struct gf_config *c, int32_t stack) {
    return c->kind == GF_ENCODER_DECODER || (c->kind == GF_ENCODER) == (stack == GF_STACK_ENCODER);
}

/* Lay out the biases of the scores by distance, after the tensors. */
static void lay_out_biases(struct gf_model *m) {
    const uint64_t bytes =
        gf_mul_u64(gf_mul_u64((uint64_t)m->cfg.n_heads, sizeof(float)), (uint64_t)gf_relative_width(&m->cfg));
    for (int32_t stack = 0; stack < 2; stack++)
        if (has_stack(&m->cfg, stack)) m->relative[stack] = gf_arena_take(&m->arena, bytes);
}

/* Lay out every tensor in the arena. Before it is open only the sizes are summed. */
static void lay_out(struct gf_model *m, const uint8_t *dtypes) {
    for (int32_t i = 0; i < m->n_slots;) {
        struct gf_slot *s = &m->slots[i];
        int32_t end = group_end(m, i);
        if (s->t.tied_to >= 0) {
            end = i + 1;
            s->t.dtype = m->slots[s->t.tied_to].t.dtype;
            s->t.address = m->slots[s->t.tied_to].t.address;
        } else if (s->mat) {
            lay_out_matrix(m, i, end, dtypes);
        } else {
            if (s->offset == 0) *s->vec = gf_arena_take(&m->arena, gf_mul_u64(s->vec_len, sizeof(float)));
            s->t.dtype = GF_F32;
            s->t.n_bytes = gf_mul_u64(s->t.count, sizeof(float));
            if (*s->vec) s->t.address = (uint64_t)(uintptr_t)(*s->vec + s->offset);
        }
        i = end;
    }
    lay_out_biases(m);
}

struct gf_model *gf_model_open(const struct gf_config *cfg, const uint8_t *dtypes, struct gf_error *err) {
    gf_kernels_init();
    if (gf_config_check(cfg, err) != GF_OK) return NULL;
    int32_t n = gf_roster_count(cfg);
    struct gf_model *m = calloc(1, sizeof *m);
    if (!m) goto no_memory;
    m->cfg = *cfg;
    for (int32_t stack = 0; stack < 2; stack++) m->stack_cfg[stack] = gf_stack_config(cfg, stack);
    m->slots = gf_calloc((uint64_t)n, sizeof *m->slots);
    m->loaded = gf_calloc((uint64_t)n, 1);
    m->parts = gf_calloc((uint64_t)n, sizeof *m->parts);
    if (gf_weights_open(&m->w, cfg) || !m->slots || !m->loaded || !m->parts) goto no_memory;
    gf_roster_walk(&m->cfg, &m->w, add_slot, m);
    lay_out(m, dtypes);
    const uint64_t bytes = m->arena.used;
    if (gf_arena_open(&m->arena, bytes)) {
        gf_fail(err, GF_ERR_MEMORY, "the weights need %lld bytes, more memory than can be had", (long long)bytes);
        gf_model_close(m);
        return NULL;
    }
    lay_out(m, dtypes);
    gf_weights_share(&m->w, &m->cfg);
    return m;
no_memory:
    gf_fail(err, GF_ERR_MEMORY, "no memory for a model of %d tensors", n);
    gf_model_close(m);
    return NULL;
}

void gf_model_close(struct gf_model *m) {
    if (!m) return;
    free(m->loading.line);
    gf_arena_close(&m->arena);
    free(m->slots);
    free(m->loaded);
    free(m->parts);
    gf_weights_close(&m->w);
    free(m);
}

const struct gf_config *gf_model_config(const struct gf_model *m) { return &m->cfg; }
uint64_t gf_model_bytes(const struct gf_model *m) { return m->arena.size; }
void gf_model_set_pool(struct gf_model *m, struct gf_pool *pool) { m->pool = pool; }
const char *gf_backend(void) {
    gf_kernels_init();
    return gf_kernels_name();
}

int32_t gf_model_tensor(const struct gf_model *m, int32_t i, struct gf_tensor *out) {
    if (i < 0 || i >= m->n_slots) return GF_ERR_ARGUMENT;
    *out = m->slots[i].t;
    if (out->tied_to >= 0) out->n_bytes = 0;
    return GF_OK;
}

/* Blocks that share weights have copies of their structs, which are made again: types have changed. */
static void narrow_all(struct gf_model *m) {
    for (int32_t i = 0; i < m->n_slots; i++)
        if (m->slots[i].mat && m->slots[i].row0 == 0 && m->slots[i].t.tied_to < 0) gf_mat_narrow(m->slots[i].mat);
    gf_weights_share(&m->w, &m->cfg);
}

void gf_slot_widen(struct gf_model *m, const struct gf_slot *s) {
    if (!gf_slot_is_narrow(s)) return;
    gf_mat_widen(s->mat);
    gf_weights_share(&m->w, &m->cfg);
}

int32_t gf_model_seal(struct gf_model *m, struct gf_error *err) {
    if (m->loading.line) return gf_fail(err, GF_ERR_STATE, "a tensor is still being loaded: end it before sealing");
    for (int32_t i = 0; i < m->n_slots; i++)
        if (!m->loaded[i] && m->slots[i].t.tied_to < 0)
            return gf_fail(err, GF_ERR_MISSING, "%s is missing", m->slots[i].t.name);
    for (int32_t stack = 0; stack < 2; stack++) {
        const int own_encoder = stack == GF_STACK_ENCODER && m->cfg.kind == GF_ENCODER_DECODER;
        if (m->relative[stack])
            gf_relative_spread(&m->cfg, stack == GF_STACK_ENCODER, m->relative[stack],
                               own_encoder ? m->w.encoder_relative : m->w.relative);
    }
    narrow_all(m);
    m->sealed = 1;
    return GF_OK;
}

/* The slot that has the values of roster entry i; NULL where there is no such row. */
static const struct gf_slot *slot_of(const struct gf_model *m, int32_t i, int32_t row, struct gf_error *err) {
    if (i < 0 || i >= m->n_slots || row < 0 || row >= m->slots[i].t.rows)
        return gf_fail(err, GF_ERR_ARGUMENT, "no row %d in roster entry %d", row, i), NULL;
    const struct gf_slot *s = &m->slots[i];
    return s->t.tied_to >= 0 ? &m->slots[s->t.tied_to] : s;
}

int32_t gf_tensor_read(const struct gf_model *m, int32_t i, int32_t row, float *out, struct gf_error *err) {
    const struct gf_slot *s = slot_of(m, i, row, err);
    if (!s) return GF_ERR_ARGUMENT;
    size_t cols = (size_t)s->t.cols;
    if (s->mat)
        gf_mat_get_row(out, s->mat, s->row0 + row);
    else
        memcpy(out, *s->vec + s->offset + (size_t)row * cols, cols * sizeof *out);
    return GF_OK;
}

/* Rows whose products are computed together: x is put in order once for them, and they stay in the second cache. */
#define TOGETHER (8 * GF_PANEL)

/* *w = rows row .. row + n - 1 of entry i as floats: the panels that the model has where they begin with such a row,
 * else a copy in `panels`. values: space for a row. */
static void float_rows(struct gf_mat *w, const struct gf_model *m, int32_t i, int32_t row, int32_t n, float *values,
                       float *panels) {
    const struct gf_slot *s = slot_of(m, i, row, NULL);
    const int32_t first = s->row0 + row, cols = s->t.cols;
    const int is_there = s->mat && s->mat->dtype == GF_F32 && first % GF_PANEL == 0;
    gf_mat_bind(w, GF_F32, n, cols, is_there ? (float *)s->mat->data + (int64_t)first * cols : panels);
    for (int32_t k = 0; k < n && !is_there; k++) {
        gf_tensor_read(m, i, row + k, values, NULL);
        gf_mat_put(w, k, 0, values, cols);
    }
}

int32_t gf_tensor_products(const struct gf_model *m, int32_t i, int32_t row, int32_t n, const float *x, int32_t count,
                           float *out, struct gf_error *err) {
    if (n < 1 || count < 1 || row > INT32_MAX - n)
        return gf_fail(err, GF_ERR_ARGUMENT, "%d rows and %d vectors: expected one of each or more", n, count);
    const struct gf_slot *s = slot_of(m, i, row, err);
    if (!s || !slot_of(m, i, row + n - 1, err)) return GF_ERR_ARGUMENT;
    const int32_t cols = s->t.cols;
    float *values = gf_alloc(gf_mul_u64((uint64_t)cols, sizeof *values));
    float *panels = gf_alloc(gf_mat_bytes(GF_F32, TOGETHER, cols));
    float *products = gf_alloc(gf_mul_u64((uint64_t)count, TOGETHER * sizeof *products));
    void *scratch = gf_alloc(gf_matmul_scratch(count, cols));
    const int has_memory = values && panels && products && scratch;
    for (int32_t r = 0; has_memory && r < n; r += TOGETHER) {
        struct gf_mat w;
        const int32_t rows = n - r < TOGETHER ? n - r : TOGETHER;
        float_rows(&w, m, i, row + r, rows, values, panels);
        gf_matmul(products, x, &w, NULL, count, scratch, m->pool);
        for (int32_t v = 0; v < count; v++)
            memcpy(out + (int64_t)v * n + r, products + (int64_t)v * rows, (size_t)rows * sizeof *out);
    }
    gf_free(values);
    gf_free(panels);
    gf_free(products);
    gf_free(scratch);
    return has_memory ? GF_OK : gf_fail(err, GF_ERR_MEMORY, "no memory for products of %d rows", n);
}

int32_t gf_tensor_put(struct gf_model *m, int32_t i, int32_t row, const float *x, struct gf_error *err) {
    const struct gf_slot *s = slot_of(m, i, row, err);
    if (!s) return GF_ERR_ARGUMENT;
    gf_slot_widen(m, s);
    gf_slot_put(s, row, 0, x, s->t.cols);
    return GF_OK;
}

void gf_slot_put(const struct gf_slot *s, int32_t row, int32_t col, const float *x, int32_t n) {
    if (s->mat)
        gf_mat_put(s->mat, s->row0 + row, col, x, n);
    else
        memcpy(*s->vec + s->offset + (size_t)row * (size_t)s->t.cols + (size_t)col, x, (size_t)n * sizeof *x);
}

/* Norm gains are the only vectors that start at 1: "....weight" of rank 1. */
static int is_gain(const struct gf_tensor *t) {
    size_t n = strlen(t->name);
    return t->rank == 1 && n > 7 && !strcmp(t->name + n - 7, ".weight");
}

int32_t gf_model_randomize(struct gf_model *m, uint64_t seed, float std, struct gf_error *err) {
    if (m->sealed || m->loading.line) return gf_fail(err, GF_ERR_STATE, "the model already has weights");
    if (!(std >= 0 && isfinite(std))) return gf_fail(err, GF_ERR_ARGUMENT, "std must be finite and at least 0");
    struct gf_rng rng;
    gf_rng_seed(&rng, seed);
    int32_t widest = 1;
    for (int32_t i = 0; i < m->n_slots; i++)
        if (m->slots[i].t.cols > widest) widest = m->slots[i].t.cols;
    float *values = gf_calloc((uint64_t)widest, sizeof *values);
    if (!values) return gf_fail(err, GF_ERR_MEMORY, "no memory for a row of %d", widest);
    for (int32_t i = 0; i < m->n_slots; i++) {
        struct gf_slot *s = &m->slots[i];
        m->loaded[i] = 1;
        if (s->t.tied_to >= 0) continue;
        for (int32_t row = 0; row < s->t.rows; row++) {
            for (int32_t col = 0; col < s->t.cols; col++)
                values[col] = s->t.rank == 2 ? std * (float)gf_rng_normal(&rng) : (float)is_gain(&s->t);
            gf_slot_put(s, row, 0, values, s->t.cols);
        }
    }
    free(values);
    return gf_model_seal(m, err);
}
