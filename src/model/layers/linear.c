/* linear.c - y = x W^T + b, W [rows = out, cols = in]. */
#include "model/layers/linear.h"
#include "kernels/kernels.h" /* gf_matmul, gf_mat_rows */
#include "model/layers/frozen.h"
#include <string.h>

void gf_linear_forward(const struct gf_pass *p, const struct gf_linear *w, float *y, const float *x, int32_t n) {
    if (!GF_TRAINS(p)) {
        gf_matmul(y, x, &w->w, w->b, n, p->matmul_scratch, p->pool);
        return;
    }
    if (p->training->by_panels) {
        gf_frozen_forward(p, w, y, x, n);
        return;
    }
    const int32_t rows = w->w.rows, cols = w->w.cols;
    for (int64_t i = 0; w->b && i < n; i++) memcpy(y + i * rows, w->b, (size_t)rows * sizeof *y);
    p->training->gemm(0, 1, n, rows, cols, 1, x, cols, w->w.data, cols, w->b ? 1 : 0, y, rows);
}

void gf_linear_backward(const struct gf_pass *p, const struct gf_linear *w, struct gf_linear *dw, float *dx, int add,
                        const float *dy, const float *x, int32_t n) {
    const int32_t rows = gf_mat_rows(&w->w), cols = w->w.cols;
    const gf_gemm_fn gemm = p->training->gemm;
    if (dw->w.data) gemm(1, 0, rows, cols, n, 1, dy, rows, x, cols, 1, dw->w.data, cols);
    for (int64_t i = 0; dw->b && i < n; i++)
        for (int32_t j = 0; j < rows; j++) dw->b[j] += dy[i * rows + j];
    if (p->training->by_panels)
        gf_frozen_backward(p, w, dx, add, dy, x, n);
    else if (dx)
        gemm(0, 0, n, cols, rows, 1, dy, rows, w->w.data, cols, add ? 1 : 0, dx, cols);
}
