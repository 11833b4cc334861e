/* frozen.c - see frozen.h. */
#include "model/layers/frozen.h"
#include "base/pool.h"
#include "kernels/kernels.h" /* gf_mat_rows */
#include <string.h>

enum { COLUMNS = 64 }; /* columns of a result that a thread computes at a time; whole blocks of each type */

struct product { /* C = A op(W) + beta C */
    const struct gf_pass *p;
    int32_t transposed, n, lda, ldc;
    const float *a;
    const struct gf_mat *w;
    float beta, *c;
};

static int32_t columns_of(const struct product *t) { return t->transposed ? t->w->rows : t->w->cols; }

static void multiply_columns(void *ctx, int32_t tile) {
    const struct product *t = ctx;
    const int32_t first = tile * COLUMNS, left = columns_of(t) - first;
    t->p->training->by_panels(t->transposed, t->n, first, left < COLUMNS ? left : COLUMNS, t->a, t->lda, t->w, t->beta,
                              t->c, t->ldc);
}

static void multiply_frozen(struct product t) {
    gf_pool_run(t.p->pool, multiply_columns, &t, (columns_of(&t) + COLUMNS - 1) / COLUMNS);
}

/* The adapters of a part of a matrix, one after the other: the first at or after `a`; NULL: no more. */
static const struct gf_adapter *adapter_of(const struct gf_training *t, const struct gf_mat *part,
                                           const struct gf_adapter *a) {
    for (; a && a < t->adapters + t->n_adapters; a++)
        if (a->data == part->data) return a;
    return NULL;
}

/* y, the columns of the part, += scale (x A^T) B^T */
static void add_adapters(const struct gf_pass *p, const struct gf_mat *part, float *y, int32_t ldy, const float *x,
                         int32_t n) {
    const struct gf_training *t = p->training;
    for (const struct gf_adapter *a = t->adapters; (a = adapter_of(t, part, a)); a++) {
        const int32_t r = a->rank, cols = part->cols;
        t->gemm(0, 1, n, r, cols, 1, x, cols, a->a, cols, 0, t->low, r);
        t->gemm(0, 1, n, a->rows, r, a->scale, t->low, r, a->b, r, 1, y + a->row0, ldy);
    }
}

void gf_frozen_forward(const struct gf_pass *p, const struct gf_linear *w, float *y, const float *x, int32_t n) {
    const int32_t rows = gf_mat_rows(&w->w);
    for (int64_t i = 0; w->b && i < n; i++) memcpy(y + i * rows, w->b, (size_t)rows * sizeof *y);
    for (const struct gf_mat *part = &w->w; part; y += part->rows, part = part->next) {
        multiply_frozen((struct product){p, 1, n, part->cols, rows, x, part, w->b ? 1 : 0, y});
        add_adapters(p, part, y, rows, x, n);
    }
}

/* dA += scale (dy B)^T x;  dB += scale dy^T (x A^T);  dx += scale (dy B) A */
static void adapters_backward(const struct gf_pass *p, const struct gf_mat *part, float *dx, const float *dy,
                              int32_t ldy, const float *x, int32_t n) {
    const struct gf_training *t = p->training;
    for (const struct gf_adapter *a = t->adapters; (a = adapter_of(t, part, a)); a++) {
        const int32_t r = a->rank, cols = part->cols;
        const float *of = dy + a->row0;
        float *narrow = t->low;
        t->gemm(0, 1, n, r, cols, 1, x, cols, a->a, cols, 0, narrow, r);
        t->gemm(1, 0, a->rows, r, n, a->scale, of, ldy, narrow, r, 1, a->db, r);
        t->gemm(0, 0, n, r, a->rows, a->scale, of, ldy, a->b, r, 0, narrow, r);
        t->gemm(1, 0, r, cols, n, 1, narrow, r, x, cols, 1, a->da, cols);
        if (dx) t->gemm(0, 0, n, cols, r, 1, narrow, r, a->a, cols, 1, dx, cols);
    }
}

void gf_frozen_backward(const struct gf_pass *p, const struct gf_linear *w, float *dx, int add, const float *dy,
                        const float *x, int32_t n) {
    const int32_t rows = gf_mat_rows(&w->w);
    for (const struct gf_mat *part = &w->w; part; dy += part->rows, part = part->next) {
        if (dx) multiply_frozen((struct product){p, 0, n, rows, part->cols, dy, part, add ? 1 : 0, dx});
        add = 1;
        adapters_backward(p, part, dx, dy, rows, x, n);
    }
}
