/* attend_whole.c - attention over whole sequences for training; see attend.h. */
#include "model/layers/attend.h"
#include "kernels/kernels.h" /* gf_tanh */
#include "kernels/wide.h"    /* gf_softmax_wide */
#include "model/config.h"    /* gf_score_scale */
#include "model/layers/position.h"  /* gf_alibi_slope */
#include "model/layers/relative.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES = 64 }; /* queries whose scores are formed at a time */

uint64_t gf_attend_whole_work(int32_t most) { return 3 * (uint64_t)QUERIES * (uint64_t)most; }

/* pattern [m, to - from] of queries i0 .. i0 + m - 1 of one head, whose q and k start there. slopes: with a soft cap
 * its derivative for each score, [m, to - from]. */
static void whole_pattern(const struct gf_attend *a, float *pattern, float *slopes, const float *q, const float *k,
                          int32_t head, int32_t i0, int32_t m, int32_t from, int32_t to) {
    const struct gf_config *c = a->p->cfg;
    const int32_t d = c->d_head, width = to - from;
    const float cap = c->score_softcap, slope = a->alibi ? gf_alibi_slope(c, head) : 0;
    a->p->training->gemm(0, 1, m, width, d, gf_score_scale(c), q, a->ldq, k, a->ldk, 0, pattern, width);
    if (cap > 0) {
        for (int64_t j = 0; j < (int64_t)m * width; j++) pattern[j] /= cap;
        gf_tanh(pattern, pattern, (int64_t)m * width);
        for (int64_t j = 0; j < (int64_t)m * width; j++) {
            slopes[j] = 1 - pattern[j] * pattern[j];
            pattern[j] *= cap;
        }
    }
    for (int32_t i = 0; i < m; i++) {
        float *row = pattern + (int64_t)i * width;
        const int32_t first = gf_keys_from(a, i0 + i) - from, end = gf_keys_to(a, i0 + i) - from;
        for (int32_t j = first; a->alibi && j < end; j++) row[j] -= slope * (float)abs(i0 + i - from - j);
        if (a->relative) gf_relative_add(c, a->relative, head, row, i0 + i - from, first, end);
        for (int32_t j = first; a->mask && j < end; j++)
            if (!a->mask[from + j]) row[j] = -INFINITY;
        gf_softmax_wide(row + first, row + first, end - first);
        memset(row, 0, (size_t)first * sizeof *row);
        memset(row + end, 0, (size_t)(width - end) * sizeof *row);
    }
}

void gf_attend_whole(const struct gf_attend *a) {
    const struct gf_config *c = a->p->cfg;
    const gf_gemm_fn gemm = a->p->training->gemm;
    const int32_t d = c->d_head, group = c->n_heads / c->n_kv_heads;
    float *pattern = a->p->training->work;
    for (int32_t h = 0; h < c->n_heads; h++)
        for (int32_t i = 0; i < a->n; i += QUERIES) {
            const int32_t m = a->n - i < QUERIES ? a->n - i : QUERIES, from = gf_keys_from(a, i),
                          to = gf_keys_to(a, i + m - 1), width = to - from;
            const int64_t key = (int64_t)from * a->ldk + h / group * d;
            whole_pattern(a, pattern, pattern + (int64_t)m * width, a->q + (int64_t)i * a->ldq + h * d, a->k + key, h,
                          i, m, from, to);
            gemm(0, 0, m, d, width, 1, pattern, width, a->v + key, a->ldk, 0, a->z + (int64_t)i * a->ldz + h * d,
                 a->ldz);
        }
}

/* The gradient at a row of scores or of the pattern: ds * scale, whose first key is `from`. It is 0 at the keys that
 * the row does not see. */
static void tap_row_backward(const struct gf_attend *a, int32_t point, int32_t head, int32_t row, const float *ds,
                             int32_t from, float scale) {
    const struct gf_pass *p = a->p;
    if (!gf_tapped(p, point)) return;
    float *all = p->observe->scratch;
    memset(all, 0, (size_t)a->n_keys * sizeof *all);
    for (int32_t j = gf_keys_from(a, row); j < gf_keys_to(a, row); j++)
        if (!a->mask || a->mask[j]) all[j] = ds[j - from] * scale;
    gf_tap_keys(p->observe, p->stack, p->layer, point, head, row, all, a->n_keys);
}

void gf_attend_whole_backward(const struct gf_attend *a, const float *dz, float *dq, float *dk, float *dv,
                              float *drelative) {
    const struct gf_config *c = a->p->cfg;
    const gf_gemm_fn gemm = a->p->training->gemm;
    const int32_t d = c->d_head, group = c->n_heads / c->n_kv_heads;
    const float scale = gf_score_scale(c);
    for (int32_t h = 0; h < c->n_heads; h++)
        for (int32_t i = 0; i < a->n; i += QUERIES) {
            const int32_t m = a->n - i < QUERIES ? a->n - i : QUERIES, from = gf_keys_from(a, i),
                          to = gf_keys_to(a, i + m - 1), width = to - from;
            const int64_t key = (int64_t)from * a->ldk + h / group * d, query = (int64_t)i * a->ldq + h * d,
                          out = (int64_t)i * a->ldz + h * d;
            float *pattern = a->p->training->work, *ds = pattern + (int64_t)m * width,
                  *slopes = ds + (int64_t)m * width;
            whole_pattern(a, pattern, slopes, a->q + query, a->k + key, h, i, m, from, to);
            gemm(1, 0, width, d, m, 1, pattern, width, dz + out, a->ldz, 1, dv + key, a->ldk);
            gemm(0, 1, m, width, d, 1, dz + out, a->ldz, a->v + key, a->ldk, 0, ds, width);
            for (int32_t r = 0; r < m; r++) {
                const float *zr = a->z + out + (int64_t)r * a->ldz, *dzr = dz + out + (int64_t)r * a->ldz;
                const int64_t row = (int64_t)r * width;
                float sum = 0;
                tap_row_backward(a, a->points->pattern, h, i + r, ds + row, from, 1);
                for (int32_t j = 0; j < d; j++) sum += dzr[j] * zr[j];
                for (int32_t j = 0; j < width; j++) ds[row + j] = pattern[row + j] * (ds[row + j] - sum);
                tap_row_backward(a, a->points->scores, h, i + r, ds + row, from, 1);
                if (a->relative) gf_relative_gather(c, drelative, h, ds + row, i + r - from, 0, width);
                for (int32_t j = 0; c->score_softcap > 0 && j < width; j++) ds[row + j] *= slopes[row + j];
                tap_row_backward(a, a->points->scaled, h, i + r, ds + row, from, 1);
                tap_row_backward(a, a->points->raw, h, i + r, ds + row, from, scale);
            }
            gemm(0, 0, m, d, width, scale, ds, width, a->k + key, a->ldk, 0, dq + query, a->ldq);
            gemm(1, 0, width, d, m, scale, ds, width, a->q + query, a->ldq, 1, dk + key, a->ldk);
        }
}
