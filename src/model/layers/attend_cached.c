/* attend_cached.c - attention over cached keys and values for inference, with taps; see attend.h. Threads divide the kv
 * heads. Up to 4 queries share one read of a block of keys. The softmax runs over all keys of a row at once, so a row's
 * result does not depend on the other queries. */
#include "model/layers/attend.h"
#include "base/pool.h"
#include "kernels/kernels.h" /* gf_attn_scores, gf_softmax, gf_attn_mix */
#include "model/config.h"    /* gf_score_scale */
#include "model/layers/position.h"  /* gf_alibi_slope */
#include "model/layers/relative.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_QUERIES = 4, /* queries that share one read of a block of keys */
    KEY_BLOCKS = 32, /* blocks of keys for which the queries are converted or quantised once */
};

/* Masking: s[j] = -inf for the keys from .. to - 1 that the row does not see. */
static void hide(const struct gf_attend *a, float *s, int32_t row, int32_t from, int32_t to) {
    const int32_t first = gf_keys_from(a, row), end = gf_keys_to(a, row);
    for (int32_t j = from; j < first; j++) s[j] = -INFINITY;
    for (int32_t j = end; j < to; j++) s[j] = -INFINITY;
    if (!a->mask) return;
    for (int32_t j = first; j < end; j++)
        if (!a->mask[j]) s[j] = -INFINITY;
}

/* The scores of the keys from .. to - 1 of one row, after the scale: the soft cap, ALiBi's distances and the relative
 * position bias. */
static void adjust(const struct gf_attend *a, float *s, int32_t row, int32_t head, int32_t from, int32_t to) {
    const struct gf_config *c = a->p->cfg;
    if (c->score_softcap > 0) {
        gf_scale(s + from, s + from, 1 / c->score_softcap, to - from);
        gf_tanh(s + from, s + from, to - from);
        gf_scale(s + from, s + from, c->score_softcap, to - from);
    }
    if (a->alibi) {
        const float slope = gf_alibi_slope(c, head);
        for (int32_t j = from; j < to; j++) s[j] -= slope * (float)abs(a->pos0 + row - j);
    }
    if (a->relative) gf_relative_add(c, a->relative, head, s, a->pos0 + row, from, to);
}

static int pattern_edited(const struct gf_attend *a) {
    const struct gf_pass *p = a->p;
    return p->observe && p->observe->edited[gf_place(p->cfg, p->stack, p->layer, a->points->pattern)];
}

/* One row of keys of a head has just been computed at a point; seen: how many of them. */
static void tap_keys(const struct gf_attend *a, int32_t point, int32_t head, int32_t row, float *s, int32_t seen) {
    const struct gf_pass *p = a->p;
    if (p->observe) gf_tap_keys(p->observe, p->stack, p->layer, point, head, a->row0 + row, s, seen);
}

/* m queries of one kv head, rows row_of[i] and heads head_of[i]; q and z rows dq and dz apart. */
static void attend_queries(const struct gf_attend *a, int32_t kv_head, int32_t m, const int32_t *row_of,
                           const int32_t *head_of, const float *q, int32_t dq, float *z, int32_t dz) {
    const struct gf_pass *p = a->p;
    const struct gf_config *c = p->cfg;
    const int32_t ld = p->scores_ld, d = c->d_head;
    const float scale = gf_score_scale(c);
    const int adjusted = c->score_softcap > 0 || a->alibi || a->relative;
    float *s = p->scores + (int64_t)kv_head * MAX_QUERIES * ld;
    /* keys before the window's first block matter only if an edit may give them weight */
    const int32_t end = gf_keys_to(a, row_of[m - 1]),
                  b0 = pattern_edited(a) ? 0 : gf_keys_from(a, row_of[0]) / GF_KV_BLOCK,
                  b1 = (end + GF_KV_BLOCK - 1) / GF_KV_BLOCK, from = b0 * GF_KV_BLOCK,
                  to = (end + 15) / 16 * 16; /* without a tail for the softmax */
    const int staged = gf_tapped(p, a->points->raw) || gf_tapped(p, a->points->scaled);
    for (int32_t b = b0, n; b < b1; b += n) {
        const void *keys[KEY_BLOCKS];
        for (n = 0; n < KEY_BLOCKS && b + n < b1; n++) keys[n] = gf_kv_keys(a->kv, p->layer, kv_head, b + n);
        gf_attn_scores(s + b * GF_KV_BLOCK, ld, q, dq, m, a->kv->type, keys, n, d, staged ? 1 : scale);
    }
    for (int32_t i = 0; i < m; i++) {
        float *row = s + (int64_t)i * ld;
        const int32_t seen = gf_keys_to(a, row_of[i]);
        if (p->observe)
            for (int32_t j = 0; j < from; j++) row[j] = -INFINITY; /* left of the window's blocks */
        if (staged) {
            hide(a, row, row_of[i], from, to);
            tap_keys(a, a->points->raw, head_of[i], row_of[i], row, seen);
            gf_scale(row + from, row + from, scale, to - from);
            tap_keys(a, a->points->scaled, head_of[i], row_of[i], row, seen);
        }
        if (adjusted) adjust(a, row, row_of[i], head_of[i], from, to);
        hide(a, row, row_of[i], from, to);
        tap_keys(a, a->points->scores, head_of[i], row_of[i], row, seen);
        gf_softmax(row + from, row + from, to - from);
        if (a->window && a->mask && isnan(row[from])) /* every key in the window is masked */
            memset(row + from, 0, (size_t)(to - from) * sizeof *row);
        if (p->observe) {
            for (int32_t j = 0; j < from; j++) row[j] = 0;
            tap_keys(a, a->points->pattern, head_of[i], row_of[i], row, seen);
        }
        memset(z + (int64_t)i * dz, 0, (size_t)d * sizeof *z);
    }
    for (int32_t b = b0; b < b1; b++) {
        int32_t count = end - b * GF_KV_BLOCK;
        if (count > GF_KV_BLOCK) count = GF_KV_BLOCK;
        gf_attn_mix(z, dz, s + b * GF_KV_BLOCK, ld, m, a->kv->type, gf_kv_values(a->kv, p->layer, kv_head, b), count,
                    d);
    }
}

/* Up to 4 heads of a group share the keys; where groups are single heads, up to 4 neighbouring rows. */
static void attend_kv_head(void *ctx, int32_t kv_head) {
    const struct gf_attend *a = ctx;
    const struct gf_config *c = a->p->cfg;
    const int32_t group = c->n_heads / c->n_kv_heads, d = c->d_head, by_row = group == 1;
    int32_t row_of[MAX_QUERIES], head_of[MAX_QUERIES];
    for (int32_t row = 0; row < a->n; row += by_row ? MAX_QUERIES : 1)
        for (int32_t h = 0; h < group; h += MAX_QUERIES) {
            const int32_t left = by_row ? a->n - row : group - h, m = left < MAX_QUERIES ? left : MAX_QUERIES,
                          head = kv_head * group + h;
            for (int32_t i = 0; i < m; i++) row_of[i] = by_row ? row + i : row, head_of[i] = by_row ? head : head + i;
            attend_queries(a, kv_head, m, row_of, head_of, a->q + (int64_t)row * a->ldq + (int64_t)head * d,
                           by_row ? a->ldq : d, a->z + (int64_t)row * a->ldz + (int64_t)head * d, by_row ? a->ldz : d);
        }
}

void gf_attend_cached(const struct gf_attend *a) {
    gf_pool_run(a->p->pool, attend_kv_head, (void *)a, a->p->cfg->n_kv_heads);
}
