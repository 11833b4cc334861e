/* edit.c - changes the values of a pass at its taps: ablation, patching, steering. */
#include "model/observe/features.h" /* gf_features_hold */
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

int32_t gf_observe_add_edit(struct gf_observe *o, const struct gf_edit *edit, const float *values,
                            struct gf_error *err) {
    const size_t bytes = (size_t)edit->n_values * sizeof *values;
    struct gf_edit *edits = o->edits;
    if (o->n_edits == o->max_edits) { /* doubled: growing by one at a time would fragment the heap */
        const int32_t most = o->max_edits ? 2 * o->max_edits : 16;
        edits = realloc(o->edits, (size_t)most * sizeof *edits);
        if (edits) {
            o->edits = edits;
            o->max_edits = most;
        }
    }
    float *copy = bytes ? malloc(bytes) : NULL;
    if (!edits || (bytes && !copy)) {
        free(copy);
        return gf_fail(err, GF_ERR_MEMORY, "no memory for an edit");
    }
    if (copy) memcpy(copy, values, bytes);
    gf_features_hold(edit->features);
    edits[o->n_edits] = *edit;
    edits[o->n_edits++].values = copy;
    o->edited[edit->place] = 1;
    return GF_OK;
}

/* gf_observe_edit of a feature. */
static int32_t edit_feature(struct gf_observe *o, struct gf_edit e, const float *direction, struct gf_error *err) {
    const struct gf_features_spec *spec = &e.features->spec;
    const int32_t axes = gf_point_axes(e.place % GF_N_POINTS);
    const struct gf_row_shape row = gf_row_shape_of(gf_place_config(o, e.place), axes);
    e.n_values = row.width * (row.heads ? row.heads : 1);
    if (axes != 'D' && axes != 'F' && axes != 'Q' && axes != 'K')
        return gf_fail(err, GF_ERR_ARGUMENT, "this point has no features");
    if (e.n_values != spec->d)
        return gf_fail(err, GF_ERR_ARGUMENT, "features of %d values: a row of this point has %d", spec->d, e.n_values);
    if (e.position < -1) return gf_fail(err, GF_ERR_ARGUMENT, "position %d is negative", e.position);
    if (e.index < 0 || e.index >= spec->size)
        return gf_fail(err, GF_ERR_ARGUMENT, "feature %d: there are %d", e.index, spec->size);
    int finite = isfinite(e.scale) && isfinite(e.add);
    for (int32_t i = 0; i < e.n_values; i++) finite = finite && isfinite(direction[i]);
    if (!finite) return gf_fail(err, GF_ERR_ARGUMENT, "scale, add or the direction is not finite");
    return gf_observe_add_edit(o, &e, direction, err);
}

int32_t gf_observe_edit(struct gf_observe *o, const struct gf_edit *edit, const float *values, struct gf_error *err) {
    if (edit->features) return edit_feature(o, *edit, values, err);
    const int32_t axes = gf_point_axes(edit->place % GF_N_POINTS), op = edit->op, index = edit->index;
    const struct gf_row_shape row = gf_row_shape_of(gf_place_config(o, edit->place), axes);
    const int32_t width = row.width;
    struct gf_edit e = *edit;
    if (axes == 'C')
        return gf_fail(err, GF_ERR_ARGUMENT, "the chosen experts cannot be edited: edit the router's logits instead");
    if (e.head < -1 || e.head >= row.heads)
        return gf_fail(err, GF_ERR_ARGUMENT, "head %d: this point has %d heads", e.head, row.heads);
    if (e.position < -1) return gf_fail(err, GF_ERR_ARGUMENT, "position %d is negative", e.position);
    if (index < -1 || (axes != 'S' && index >= width))
        return gf_fail(err, GF_ERR_ARGUMENT, "index %d: a row of this point has %d places", index, width);
    if (op == GF_EDIT_SCALE) {
        if (!isfinite(e.scale)) return gf_fail(err, GF_ERR_ARGUMENT, "scale is not a finite number");
        e.n_values = 0;
    } else if (op < GF_EDIT_SET || op > GF_EDIT_PROJECT) {
        return gf_fail(err, GF_ERR_ARGUMENT, "edit %d does not exist", op);
    } else if (!values || e.n_values < (op == GF_EDIT_PROJECT ? 2 : 1) ||
               (e.n_values != 1 && (index >= 0 || (axes != 'S' && e.n_values != width)))) {
        return gf_fail(err, GF_ERR_ARGUMENT, "%d values given, 1 or %d expected", e.n_values, index >= 0 ? 1 : width);
    }
    for (int32_t i = 0; i < e.n_values; i++)
        if (!isfinite(values[i])) return gf_fail(err, GF_ERR_ARGUMENT, "value %d is not a finite number", i);
    return gf_observe_add_edit(o, &e, values, err);
}
