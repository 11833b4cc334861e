/* attend_cached.c - attention over cached keys and values for inference, with taps; see attend.h. Threads divide the kv
 * heads, and the rows of each where the heads are few. Up to 4 queries share one read of a block of keys. The softmax
 * runs over all keys of a row at once, so a row's result does not depend on the other queries. */
#include "model/layers/attend.h"
#include "base/pool.h"
#include "kernels/kernels.h"              /* gf_attn_scores, gf_softmax, gf_attn_mix */
#include "model/config.h"                 /* gf_score_scale */
#include "model/layers/position_tables.h" /* gf_alibi_slope */
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
        const float slope = gf_alibi_slope(c, a->p->layer, head);
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

/* Queries of one kv head that share each read of a block of keys. */
struct queries {
    int32_t kv_head, n;
    int32_t row[MAX_QUERIES], head[MAX_QUERIES];
    const float *q; /* [n, d_head], ldq apart */
    float *z;       /* [n, d_head], ldz apart */
    int32_t ldq, ldz;
    float *scores;                  /* [n, scores_ld], then the pattern; a column for each key */
    int32_t first_block, end_block; /* blocks of keys; end_block: the one behind the last */
    int32_t from, to, end;          /* scores of keys from .. to - 1 are formed; no query sees key `end` */
};

static float *scores_of(const struct gf_attend *a, const struct queries *g, int32_t i) {
    return g->scores + (int64_t)i * a->p->scores_ld;
}

/* Choose the keys. Those before the first block of the window matter only if an edit may give them weight. */
static void choose_keys(const struct gf_attend *a, struct queries *g) {
    g->end = gf_keys_to(a, g->row[g->n - 1]);
    g->first_block = pattern_edited(a) ? 0 : gf_keys_from(a, g->row[0]) / GF_KV_BLOCK;
    g->end_block = (g->end + GF_KV_BLOCK - 1) / GF_KV_BLOCK;
    g->from = g->first_block * GF_KV_BLOCK;
    g->to = (g->end + 15) / 16 * 16; /* without a tail for the softmax */
}

/* scores = q k^T scale */
static void form_scores(const struct gf_attend *a, const struct queries *g, float scale) {
    for (int32_t b = g->first_block, n; b < g->end_block; b += n) {
        const void *keys[KEY_BLOCKS];
        for (n = 0; n < KEY_BLOCKS && b + n < g->end_block; n++)
            keys[n] = gf_kv_keys(a->kv, a->p->layer, g->kv_head, b + n);
        const int32_t left = g->end - b * GF_KV_BLOCK, n_keys = left < n * GF_KV_BLOCK ? left : n * GF_KV_BLOCK;
        gf_attn_scores(g->scores + b * GF_KV_BLOCK, a->p->scores_ld, g->q, g->ldq, g->n, a->kv->type, keys, n_keys,
                       a->p->cfg->d_head, scale);
    }
}

/* Scales the raw scores of query i with both taps, for passes in which one of them is tapped. */
static void scale_tapped(const struct gf_attend *a, const struct queries *g, int32_t i) {
    float *s = scores_of(a, g, i);
    const int32_t row = g->row[i], head = g->head[i], seen = gf_keys_to(a, row);
    hide(a, s, row, g->from, g->to);
    tap_keys(a, a->points->raw, head, row, s, seen);
    gf_scale(s + g->from, s + g->from, gf_score_scale(a->p->cfg, a->p->layer), g->to - g->from);
    tap_keys(a, a->points->scaled, head, row, s, seen);
}

/* The scaled scores of query i with soft cap and biases, -inf at the keys that it does not see. */
static void mask_scores(const struct gf_attend *a, const struct queries *g, int32_t i) {
    float *s = scores_of(a, g, i);
    const int32_t row = g->row[i], head = g->head[i];
    if (a->p->cfg->score_softcap > 0 || a->alibi || a->relative) adjust(a, s, row, head, g->from, g->to);
    hide(a, s, row, g->from, g->to);
    tap_keys(a, a->points->scores, head, row, s, gf_keys_to(a, row));
}

/* Whether no key of this row of scores is seen: NaN is a score. */
static int sees_nothing(const float *s, int32_t n) {
    for (int32_t j = 0; j < n; j++)
        if (s[j] != -INFINITY) return 0;
    return 1;
}

/* pattern = softmax(scores) of query i */
static void form_pattern(const struct gf_attend *a, const struct queries *g, int32_t i) {
    float *s = scores_of(a, g, i);
    const int32_t row = g->row[i];
    if (a->window && a->mask && sees_nothing(s + g->from, g->to - g->from)) /* every key in the window is masked */
        memset(s + g->from, 0, (size_t)(g->to - g->from) * sizeof *s);
    else
        gf_softmax(s + g->from, s + g->from, g->to - g->from);
    if (!a->p->observe) return;
    for (int32_t j = 0; j < g->from; j++) s[j] = 0;
    tap_keys(a, a->points->pattern, g->head[i], row, s, gf_keys_to(a, row));
}

/* z = pattern v */
static void mix_values(const struct gf_attend *a, const struct queries *g) {
    const int32_t d = a->p->cfg->d_head;
    for (int32_t i = 0; i < g->n; i++) memset(g->z + (int64_t)i * g->ldz, 0, (size_t)d * sizeof *g->z);
    for (int32_t b = g->first_block; b < g->end_block; b++) {
        const int32_t left = g->end - b * GF_KV_BLOCK, count = left < GF_KV_BLOCK ? left : GF_KV_BLOCK;
        gf_attn_mix(g->z, g->ldz, g->scores + b * GF_KV_BLOCK, a->p->scores_ld, g->n, a->kv->type,
                    gf_kv_values(a->kv, a->p->layer, g->kv_head, b), count, d);
    }
}

static void attend_queries(const struct gf_attend *a, struct queries *g) {
    const int is_tapped = gf_tapped(a->p, a->points->raw) || gf_tapped(a->p, a->points->scaled);
    choose_keys(a, g);
    form_scores(a, g, is_tapped ? 1 : gf_score_scale(a->p->cfg, a->p->layer));
    for (int32_t i = 0; i < g->n; i++) {
        for (int32_t j = 0; a->p->observe && j < g->from; j++) scores_of(a, g, i)[j] = -INFINITY;
        if (is_tapped) scale_tapped(a, g, i);
        mask_scores(a, g, i);
        form_pattern(a, g, i);
    }
    mix_values(a, g);
}

/* The rows of a kv head that threads share, in `parts` parts of `rows` rows. */
struct division {
    const struct gf_attend *a;
    int32_t parts, rows;
};

/* One part of the rows of a kv head. Up to 4 heads of a group share the keys; where groups are single heads, up to 4
 * neighbouring rows. */
static void attend_part(void *ctx, int32_t tile) {
    const struct division *division = ctx;
    const struct gf_attend *a = division->a;
    const struct gf_config *c = a->p->cfg;
    const int32_t kv_head = tile / division->parts, first = tile % division->parts * division->rows,
                  end = a->n - first < division->rows ? a->n : first + division->rows,
                  group = c->n_heads / c->n_kv_heads, d = c->d_head, by_row = group == 1;
    struct queries g = {.kv_head = kv_head, .ldq = by_row ? a->ldq : d, .ldz = by_row ? a->ldz : d};
    g.scores = a->p->scores + (int64_t)tile * MAX_QUERIES * a->p->scores_ld;
    for (int32_t row = first; row < end; row += by_row ? MAX_QUERIES : 1)
        for (int32_t h = 0; h < group; h += MAX_QUERIES) {
            const int32_t left = by_row ? end - row : group - h, head = kv_head * group + h;
            g.n = left < MAX_QUERIES ? left : MAX_QUERIES;
            for (int32_t i = 0; i < g.n; i++) g.row[i] = by_row ? row + i : row, g.head[i] = by_row ? head : head + i;
            g.q = a->q + (int64_t)row * a->ldq + (int64_t)head * d;
            g.z = a->z + (int64_t)row * a->ldz + (int64_t)head * d;
            attend_queries(a, &g);
        }
}

void gf_attend_cached(const struct gf_attend *a) {
    const int32_t heads = a->p->cfg->n_kv_heads, parts = a->p->pool && !a->p->observe ? gf_attend_parts(heads) : 1,
                  rows = (a->n + parts * MAX_QUERIES - 1) / (parts * MAX_QUERIES) * MAX_QUERIES;
    struct division division = {a, (a->n + rows - 1) / rows, rows};
    gf_pool_run(a->p->pool, attend_part, &division, heads * division.parts);
}
