/* edit.c - changes the values of a pass at its taps: ablation, patching, steering. */
#include "model/observe/observe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* x -= (x . d / d . d) d, over the places that are not masked scores */
static void remove_direction(const float *d, float *x, int32_t n) {
    double along = 0, square = 0;
    for (int32_t i = 0; i < n; i++)
        if (x[i] != -INFINITY) along += (double)x[i] * (double)d[i], square += (double)d[i] * (double)d[i];
    for (int32_t i = 0; square > 0 && i < n; i++)
        if (x[i] != -INFINITY) x[i] -= (float)(along / square * (double)d[i]);
}

static void apply(const struct gf_edit *e, float *x, int32_t n) {
    if (e->op == GF_EDIT_PROJECT) {
        remove_direction(e->values, x, e->n_values < n ? e->n_values : n);
        return;
    }
    const int32_t first = e->index < 0 ? 0 : e->index;
    int32_t end = e->index >= 0 && e->index < n ? e->index + 1 : n; /* a key's index has no limit */
    if (e->n_values > 1 && e->n_values < end) end = e->n_values;
    for (int32_t i = first; i < end; i++) {
        if (x[i] == -INFINITY) continue; /* a masked score */
        const float v = e->n_values ? e->values[e->n_values > 1 ? i : 0] : 0;
        switch (e->op) {
        case GF_EDIT_SCALE: x[i] *= e->scale; break;
        case GF_EDIT_SET: x[i] = v; break;
        case GF_EDIT_ADD: x[i] += v; break;
        }
    }
}

void gf_edit_rows(struct gf_observe *o, int32_t place, int32_t axes, int32_t row, float *x, int32_t ld, int32_t n,
                  int32_t width) {
    const int32_t part = gf_row_shape_of(gf_place_config(o, place), axes).width;
    for (int32_t k = 0; k < o->n_edits; k++) {
        const struct gf_edit *e = &o->edits[k];
        if (e->place != place) continue;
        if (e->op == GF_EDIT_FEATURE) {
            int32_t end = k + 1;
            while (end < o->n_edits && o->edits[end].place == place && o->edits[end].features == e->features) end++;
            gf_edit_features(o, k, end - k, row, x, ld, n, width);
            k = end - 1;
            continue;
        }
        for (int32_t i = 0; i < n; i++) {
            if (e->position >= 0 && e->position != o->pos0 + o->row0 + row + i) continue;
            for (int32_t h = 0; h < width / part; h++)
                if (e->head < 0 || e->head == h) apply(e, x + (size_t)i * (size_t)ld + (size_t)h * (size_t)part, part);
        }
    }
}

void gf_edit_keys(struct gf_observe *o, int32_t place, int32_t head, int32_t row, float *x, int32_t n) {
    for (int32_t k = 0; k < o->n_edits; k++) {
        const struct gf_edit *e = &o->edits[k];
        if (e->place != place || (e->head >= 0 && e->head != head)) continue;
        if (e->position >= 0 && e->position != o->pos0 + o->row0 + row) continue;
        apply(e, x, n);
    }
}
