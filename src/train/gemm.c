/* gemm.c - C = alpha op(A) op(B) + beta C, see gf_gemm_fn. Blocks of B and A are copied (packed), so that the inner
 * loop reads both in sequence, transposed or not: B as [k][COLS columns], A as [k][ROWS rows].
 *
 * A sum runs over k in chunks of DEPTH: products are added in order within a chunk, then the sums of the chunks in
 * order. This order depends on k alone, so splitting m or n among threads changes no bit. */
#include "train/gemm.h"
#include "kernels/kernels.h" /* gf_mat_get */
#include <string.h>

/* ROWS x COLS sums stay in registers: in wasm 4 x 8 fill 8 of an x86 processor's 16. (V8 on a Xeon,
 * 512 x 384 x 64: 26 GFLOP/s, 19 with 8 x 16, 7 with 8 x 8.) Natively a row is one register of AVX: compilers store
 * wider vectors to the stack. (gcc 12 on Zen 4, 512 x 512 x 128: 51 GFLOP/s, 38 with 8 x 8, 5 with 8 x 16.) */
#if defined(__wasm__)
enum { ROWS = 4, COLS = 8 };
#else
enum { ROWS = 6, COLS = 8 };
#endif
enum { DEPTH = 256, TILE = 64 }; /* TILE columns of B packed: 64 KB */

typedef float columns __attribute__((vector_size(COLS * sizeof(float)), aligned(4), may_alias));

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

typedef float four __attribute__((vector_size(4 * sizeof(float)), aligned(4), may_alias));

/* to [k][width], four columns of it = four rows of `from`, for the multiple of 4 in k; returns that. */
static int32_t transpose(float *to, int32_t width, const float *from, int32_t ld, int32_t k) {
    int32_t i = 0;
    for (; i + 4 <= k; i += 4, from += 4, to += 4 * width) {
        const four a = *(const four *)from, b = *(const four *)(from + ld), c = *(const four *)(from + 2 * (int64_t)ld),
                   d = *(const four *)(from + 3 * (int64_t)ld);
        const four u = __builtin_shufflevector(a, b, 0, 4, 1, 5), v = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                   w = __builtin_shufflevector(a, b, 2, 6, 3, 7), z = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        *(four *)to = __builtin_shufflevector(u, v, 0, 1, 4, 5);
        *(four *)(to + width) = __builtin_shufflevector(u, v, 2, 3, 6, 7);
        *(four *)(to + 2 * width) = __builtin_shufflevector(w, z, 0, 1, 4, 5);
        *(four *)(to + 3 * width) = __builtin_shufflevector(w, z, 2, 3, 6, 7);
    }
    return i;
}

/* Pack: to [k][width] = n columns (or, transposed, n rows) of `from`; columns n .. width - 1 become zeros. */
static void pack(float *to, int32_t width, const float *from, int32_t ld, int transposed, int32_t n, int32_t k) {
    int32_t done = 0;
    if (transposed && n == width && width % 4 == 0)
        for (int32_t j = 0; j < n; j += 4) done = transpose(to + j, width, from + (int64_t)j * ld, ld, k);
    to += (int64_t)done * width;
    for (int32_t i = done; i < k; i++, to += width) {
        if (!transposed && n == width) {
            memcpy(to, from + (int64_t)i * ld, (size_t)width * sizeof *to);
            continue;
        }
        for (int32_t j = 0; j < width; j++)
            to[j] = j >= n ? 0 : transposed ? from[(int64_t)j * ld + i] : from[(int64_t)i * ld + j];
    }
}

/* sums [ROWS][COLS] = packed A [k][ROWS] times packed B [k][COLS]: the outer product of one row of each is added k
 * times, so ROWS accumulators of COLS lanes take one load of B and ROWS broadcasts of A per step */
static void inner(float *sums, const float *a, const float *b, int32_t k) {
    columns s[ROWS] = {{0}};
    for (int32_t i = 0; i < k; i++, a += ROWS, b += COLS) {
        const columns v = *(const columns *)b;
        for (int r = 0; r < ROWS; r++) s[r] += v * a[r];
    }
    memcpy(sums, s, sizeof s);
}

/* op(B): rows ldb apart, or a matrix of panels. */
struct right {
    const float *b;
    int32_t ldb, transposed;
    const struct gf_mat *w; /* instead of b */
};

/* As pack, for `tile` columns of op(B) from j0 on and rows k0 .. k0 + depth - 1: COLS columns after COLS columns. */
static void pack_plain(float *to, const struct right *r, int32_t j0, int32_t tile, int32_t k0, int32_t depth) {
    for (int32_t j = 0; j < tile; j += COLS)
        pack(to + (int64_t)j * depth, COLS,
             r->transposed ? r->b + (int64_t)(j0 + j) * r->ldb + k0 : r->b + (int64_t)k0 * r->ldb + j0 + j, r->ldb,
             r->transposed, least(COLS, tile - j), depth);
}

static void pack_panels(float *to, const struct right *r, int32_t j0, int32_t tile, int32_t k0, int32_t depth) {
    float row[DEPTH];
    const int32_t whole = (tile + COLS - 1) / COLS * COLS;
    for (int32_t j = 0; r->transposed && j < whole; j++) { /* columns are rows of W */
        float *column = to + (int64_t)(j / COLS * COLS) * depth + j % COLS;
        if (j < tile) gf_mat_get(row, r->w, j0 + j, k0, depth);
        for (int32_t i = 0; i < depth; i++) column[i * COLS] = j < tile ? row[i] : 0;
    }
    for (int32_t i = 0; !r->transposed && i < depth; i++) {
        gf_mat_get(row, r->w, k0 + i, j0, tile);
        memset(row + tile, 0, (size_t)(whole - tile) * sizeof *row);
        for (int32_t j = 0; j < whole; j += COLS)
            memcpy(to + (int64_t)j * depth + i * COLS, row + j, COLS * sizeof *row);
    }
}

/* C = alpha op(A) op(B) + beta C, for n columns from `first` on. */
static void multiply(int ta, const struct right *right, int32_t m, int32_t first, int32_t n, int32_t k, float alpha,
                     const float *a, int32_t lda, float beta, float *c, int32_t ldc) {
    float pa[DEPTH * ROWS], pb[DEPTH * TILE], sums[ROWS * COLS];
    for (int32_t i = 0; i < m; i++) {
        float *row = c + (int64_t)i * ldc + first;
        if (beta == 0)
            memset(row, 0, (size_t)n * sizeof *row);
        else if (beta != 1)
            for (int32_t j = 0; j < n; j++) row[j] *= beta;
    }
    for (int32_t k0 = 0; k0 < k; k0 += DEPTH) {
        const int32_t depth = least(DEPTH, k - k0);
        for (int32_t j0 = first; j0 < first + n; j0 += TILE) {
            const int32_t tile = least(TILE, first + n - j0);
            (right->w ? pack_panels : pack_plain)(pb, right, j0, tile, k0, depth);
            for (int32_t i0 = 0; i0 < m; i0 += ROWS) {
                const int32_t rows = least(ROWS, m - i0);
                pack(pa, ROWS, ta ? a + (int64_t)k0 * lda + i0 : a + (int64_t)i0 * lda + k0, lda, !ta, rows, depth);
                for (int32_t j = 0; j < tile; j += COLS) {
                    inner(sums, pa, pb + (int64_t)j * depth, depth);
                    const int32_t cols = least(COLS, tile - j);
                    for (int32_t r = 0; r < rows; r++) {
                        float *to = c + (int64_t)(i0 + r) * ldc + j0 + j;
                        for (int32_t q = 0; q < cols; q++) to[q] += alpha * sums[r * COLS + q];
                    }
                }
            }
        }
    }
}

void gf_gemm(int ta, int tb, int32_t m, int32_t n, int32_t k, float alpha, const float *a, int32_t lda, const float *b,
             int32_t ldb, float beta, float *c, int32_t ldc) {
    const struct right right = {.b = b, .ldb = ldb, .transposed = tb};
    multiply(ta, &right, m, 0, n, k, alpha, a, lda, beta, c, ldc);
}

void gf_gemm_by_panels(int tb, int32_t m, int32_t first, int32_t n, const float *a, int32_t lda, const struct gf_mat *w,
                       float beta, float *c, int32_t ldc) {
    const struct right right = {.transposed = tb, .w = w};
    multiply(0, &right, m, first, n, tb ? w->cols : w->rows, 1, a, lda, beta, c, ldc);
}
