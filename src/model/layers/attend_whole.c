/* attend_whole.c - attention over whole sequences for training; see attend.h. */
#include "model/layers/attend.h"
#include "kernels/kernels.h"              /* gf_tanh */
#include "kernels/train_rows.h"           /* gf_softmax_wide */
#include "model/config.h"                 /* gf_score_scale */
#include "model/layers/position_tables.h" /* gf_alibi_slope */
#include "model/layers/relative.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES = 64 }; /* queries whose scores are formed at a time */

uint64_t gf_attend_whole_work(int32_t most) { return 3 * (uint64_t)QUERIES * (uint64_t)most; }

/* Up to QUERIES queries of one head, and the keys that any of them sees. */
struct query_span {
    int32_t head, first, m;    /* queries first .. first + m - 1 */
    int32_t from, width;       /* keys from .. from + width - 1 */
    int64_t in_q, in_kv, in_z; /* where the first of each begins in q, in k and v, and in z */
};

static struct query_span query_span_of(const struct gf_attend *a, int32_t head, int32_t first) {
    const struct gf_config *c = a->p->cfg;
    const int32_t m = a->n - first < QUERIES ? a->n - first : QUERIES, from = gf_keys_from(a, first),
                  column = head * c->d_head, kv_column = head / (c->n_heads / c->n_kv_heads) * c->d_head;
    return (struct query_span){.head = head,
                               .first = first,
                               .m = m,
                               .from = from,
                               .width = gf_keys_to(a, first + m - 1) - from,
                               .in_q = (int64_t)first * a->ldq + column,
                               .in_kv = (int64_t)from * a->ldk + kv_column,
                               .in_z = (int64_t)first * a->ldz + column};
}

/* pattern [m, width]. slopes: with a soft cap its derivative for each score, [m, width]. */
static void whole_pattern(const struct gf_attend *a, const struct query_span *w, float *pattern, float *slopes) {
    const struct gf_config *c = a->p->cfg;
    const int32_t width = w->width;
    const int64_t all = (int64_t)w->m * width;
    const float cap = c->score_softcap, slope = a->alibi ? gf_alibi_slope(c, a->p->layer, w->head) : 0;
    a->p->training->gemm(0, 1, w->m, width, c->d_head, gf_score_scale(c, a->p->layer), a->q + w->in_q, a->ldq,
                         a->k + w->in_kv, a->ldk, 0, pattern, width);
    if (cap > 0) {
        for (int64_t j = 0; j < all; j++) pattern[j] /= cap;
        gf_tanh(pattern, pattern, all);
        for (int64_t j = 0; j < all; j++) {
            slopes[j] = 1 - pattern[j] * pattern[j];
            pattern[j] *= cap;
        }
    }
    for (int32_t i = 0; i < w->m; i++) {
        float *row = pattern + (int64_t)i * width;
        const int32_t query = w->first + i, first = gf_keys_from(a, query) - w->from,
                      end = gf_keys_to(a, query) - w->from;
        for (int32_t j = first; a->alibi && j < end; j++) row[j] -= slope * (float)abs(query - w->from - j);
        if (a->relative) gf_relative_add(c, a->relative, w->head, row, query - w->from, first, end);
        for (int32_t j = first; a->mask && j < end; j++)
            if (!a->mask[w->from + j]) row[j] = -INFINITY;
        gf_softmax_wide(row + first, row + first, end - first);
        memset(row, 0, (size_t)first * sizeof *row);
        memset(row + end, 0, (size_t)(width - end) * sizeof *row);
    }
}

void gf_attend_whole(const struct gf_attend *a) {
    const struct gf_config *c = a->p->cfg;
    float *pattern = a->p->training->work;
    for (int32_t h = 0; h < c->n_heads; h++)
        for (int32_t i = 0; i < a->n; i += QUERIES) {
            const struct query_span w = query_span_of(a, h, i);
            whole_pattern(a, &w, pattern, pattern + (int64_t)w.m * w.width);
            a->p->training->gemm(0, 0, w.m, c->d_head, w.width, 1, pattern, w.width, a->v + w.in_kv, a->ldk, 0,
                                 a->z + w.in_z, a->ldz);
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

/* The gradient of query i's pattern, ds [width], becomes that of its raw scores times 1 / scale. */
static void scores_backward(const struct gf_attend *a, const struct query_span *w, int32_t i, float *ds,
                            const float *pattern, const float *slopes, const float *dz, float *drelative) {
    const struct gf_config *c = a->p->cfg;
    const float *z = a->z + w->in_z + (int64_t)i * a->ldz;
    const int32_t query = w->first + i;
    float sum = 0;
    tap_row_backward(a, a->points->pattern, w->head, query, ds, w->from, 1);
    if (gf_edited(a->p, a->points->z)) /* z is not what the pattern gave */
        for (int32_t j = 0; j < w->width; j++) sum += ds[j] * pattern[j];
    else
        for (int32_t j = 0; j < c->d_head; j++) sum += dz[j] * z[j];
    for (int32_t j = 0; j < w->width; j++) ds[j] = pattern[j] * (ds[j] - sum);
    tap_row_backward(a, a->points->scores, w->head, query, ds, w->from, 1);
    if (a->relative) gf_relative_gather(c, drelative, w->head, ds, query - w->from, 0, w->width);
    for (int32_t j = 0; c->score_softcap > 0 && j < w->width; j++) ds[j] *= slopes[j];
    tap_row_backward(a, a->points->scaled, w->head, query, ds, w->from, 1);
    tap_row_backward(a, a->points->raw, w->head, query, ds, w->from, gf_score_scale(c, a->p->layer));
}

static void query_span_backward(const struct gf_attend *a, const struct query_span *w, const float *dz, float *dq,
                                float *dk, float *dv, float *drelative) {
    const gf_gemm_fn gemm = a->p->training->gemm;
    const int32_t d = a->p->cfg->d_head, m = w->m, width = w->width;
    const float scale = gf_score_scale(a->p->cfg, a->p->layer);
    float *pattern = a->p->training->work, *ds = pattern + (int64_t)m * width, *slopes = ds + (int64_t)m * width;
    dz += w->in_z;
    whole_pattern(a, w, pattern, slopes);
    gemm(1, 0, width, d, m, 1, pattern, width, dz, a->ldz, 1, dv + w->in_kv, a->ldk);
    gemm(0, 1, m, width, d, 1, dz, a->ldz, a->v + w->in_kv, a->ldk, 0, ds, width);
    for (int32_t i = 0; i < m; i++) {
        const int64_t row = (int64_t)i * width;
        scores_backward(a, w, i, ds + row, pattern + row, slopes + row, dz + (int64_t)i * a->ldz, drelative);
    }
    gemm(0, 0, m, d, width, scale, ds, width, a->k + w->in_kv, a->ldk, 0, dq + w->in_q, a->ldq);
    gemm(1, 0, width, d, m, scale, ds, width, a->q + w->in_q, a->ldq, 1, dk + w->in_kv, a->ldk);
}

void gf_attend_whole_backward(const struct gf_attend *a, const float *dz, float *dq, float *dk, float *dv,
                              float *drelative) {
    for (int32_t h = 0; h < a->p->cfg->n_heads; h++)
        for (int32_t i = 0; i < a->n; i += QUERIES) {
            const struct query_span w = query_span_of(a, h, i);
            query_span_backward(a, &w, dz, dq, dk, dv, drelative);
        }
}
