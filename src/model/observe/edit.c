/* edit.c - changes the values of a pass at its taps: ablation, patching, steering. */
#include "model/observe/observe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int32_t selected_width(const struct gf_config *c, int32_t axes) {
    switch (axes) {
    case 'D':
    case 'P':
    case 'R': return c->d_model;
    case 'F': return c->d_ff;
    case 'E': return c->n_experts;
    case 'Q':
    case 'K': return c->d_head;
    default: return 1;
    }
}

int32_t gf_observe_edit(struct gf_observe **made, const struct gf_config *c, int32_t stack, int32_t layer,
                        int32_t point, int32_t head, int32_t position, int32_t index, int32_t op, float scale,
                        const float *values, int32_t n_values, struct gf_error *err) {
    const int32_t place = gf_observe_place(c, stack, layer, point, err);
    if (place < 0) return place;
    const int32_t axes = gf_point_axes(point), width = selected_width(c, axes),
                  heads = axes == 'K'                                 ? c->n_kv_heads
                          : axes == 'Q' || axes == 'S' || axes == 'R' ? c->n_heads
                                                                      : 0;
    if (axes == 'C')
        return gf_fail(err, GF_ERR_ARGUMENT, "the chosen experts cannot be edited: edit the router's logits instead");
    if (head < -1 || head >= heads)
        return gf_fail(err, GF_ERR_ARGUMENT, "head %d: this point has %d heads", head, heads);
    if (position < -1) return gf_fail(err, GF_ERR_ARGUMENT, "position %d is negative", position);
    if (index < -1 || (axes != 'S' && index >= width))
        return gf_fail(err, GF_ERR_ARGUMENT, "index %d: a row of this point has %d places", index, width);
    if (op == GF_EDIT_SCALE) {
        if (!isfinite(scale)) return gf_fail(err, GF_ERR_ARGUMENT, "scale is not a finite number");
        n_values = 0;
    } else if (op != GF_EDIT_SET && op != GF_EDIT_ADD) {
        return gf_fail(err, GF_ERR_ARGUMENT, "edit %d does not exist", op);
    } else if (!values || n_values < 1 || (n_values != 1 && (index >= 0 || (axes != 'S' && n_values != width)))) {
        return gf_fail(err, GF_ERR_ARGUMENT, "%d values given, 1 or %d expected", n_values, index >= 0 ? 1 : width);
    }
    for (int32_t i = 0; i < n_values; i++)
        if (!isfinite(values[i])) return gf_fail(err, GF_ERR_ARGUMENT, "value %d is not a finite number", i);
    const int32_t status = gf_observe_need(made, c, err);
    if (status != GF_OK) return status;
    struct gf_observe *o = *made;
    struct gf_edit *edits = o->edits;
    if (o->n_edits == o->max_edits) { /* doubled: growing by one at a time would fragment the heap */
        const int32_t most = o->max_edits ? 2 * o->max_edits : 16;
        edits = realloc(o->edits, (size_t)most * sizeof *edits);
        if (edits) {
            o->edits = edits;
            o->max_edits = most;
        }
    }
    float *copy = n_values ? malloc((size_t)n_values * sizeof *copy) : NULL;
    if (!edits || (n_values && !copy)) {
        free(copy);
        return gf_fail(err, GF_ERR_MEMORY, "no memory for an edit");
    }
    if (copy) memcpy(copy, values, (size_t)n_values * sizeof *copy);
    edits[o->n_edits++] = (struct gf_edit){place, head, position, index, op, scale, copy, n_values};
    o->edited[place] = 1;
    return GF_OK;
}

static void apply(const struct gf_edit *e, float *x, int32_t n) {
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
    const int32_t part = selected_width(&o->cfg, axes);
    for (int32_t k = 0; k < o->n_edits; k++) {
        const struct gf_edit *e = &o->edits[k];
        if (e->place != place) continue;
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
