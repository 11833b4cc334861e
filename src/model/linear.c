/* linear.c - y = x W^T + b, W [rows = out, cols = in]. */
#include "model/linear.h"
#include "kernels/kernels.h" /* gf_matmul */
#include <string.h>

void gf_linear_forward(const struct gf_pass *p, const struct gf_linear *l, float *y, const float *x, int32_t n) {
    if (GF_TRAINS(p)) {
        for (int64_t i = 0; l->b && i < n; i++) memcpy(y + i * l->w.rows, l->b, (size_t)l->w.rows * sizeof *y);
        p->training->gemm(0, 1, n, l->w.rows, l->w.cols, 1, x, l->w.cols, l->w.data, l->w.cols, l->b ? 1 : 0, y,
                          l->w.rows);
        return;
    }
    int32_t rows = 0, row = 0;
    for (const struct gf_mat *w = &l->w; w; w = w->next) rows += w->rows;
    for (const struct gf_mat *w = &l->w; w; row += w->rows, w = w->next)
        gf_matmul(y + row, rows, x, w->cols, w, l->b ? l->b + row : NULL, n, p->matmul_scratch, p->pool);
}

void gf_linear_backward(const struct gf_pass *p, const struct gf_linear *l, struct gf_linear *dl, float *dx, int add,
                        const float *dy, const float *x, int32_t n) {
    const int32_t rows = l->w.rows, cols = l->w.cols;
    const gf_gemm_fn gemm = p->training->gemm;
    gemm(1, 0, rows, cols, n, 1, dy, rows, x, cols, 1, dl->w.data, cols);
    for (int64_t i = 0; dl->b && i < n; i++)
        for (int32_t j = 0; j < rows; j++) dl->b[j] += dy[i * rows + j];
    if (dx) gemm(0, 0, n, cols, rows, 1, dy, rows, l->w.data, cols, add ? 1 : 0, dx, cols);
}
