/* capture.c - copies the values of captured points out of a pass. */
#include "base/arena.h"
#include "base/bytes.h"
#include "model/observe/observe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cross keys and values are computed when the encoder runs, one row for each source position. */
static int is_cross_kv(int32_t point) { return point == GF_P_CROSS_K || point == GF_P_CROSS_V; }

static int is_scores(int32_t point) {
    return gf_point_axes(point) == 'S' && point != GF_P_PATTERN && point != GF_P_CROSS_PATTERN;
}

static void set_dims(const struct gf_observe *o, int32_t place, int32_t rows, int32_t dims[3]) {
    const int32_t point = place % GF_N_POINTS, axes = gf_point_axes(point);
    const struct gf_row_shape row = gf_row_shape_of(gf_place_config(o, place), axes);
    dims[0] = axes == 'P' ? 1 : rows;
    dims[1] = row.heads ? row.heads : row.width;
    dims[2] = row.heads ? row.width : 1;
    if (axes != 'S') return;
    dims[0] = row.heads;
    dims[1] = rows;
    dims[2] = gf_point_cross(point) ? o->n_source : o->n_keys;
}

/* Reserve the workspace of per-head results (attention.c) if a place first .. last - 1 captures or edits them. 0, or -1
 * without memory: the eval then fails before its pass begins. */
static int reserve_results(struct gf_observe *o, int32_t first, int32_t last) {
    for (int32_t place = first; place < last; place++)
        if (gf_point_axes(place % GF_N_POINTS) == 'R' && (o->captured[place].wanted || o->edited[place]))
            return gf_observe_reserve(o, gf_results_floats(o->cfg));
    return 0;
}

/* Allocate the values of a point for `rows` rows of the pass. 0, or -1 without memory. */
static int allocate(const struct gf_observe *o, int32_t place, int32_t rows) {
    struct gf_captured *c = &o->captured[place];
    const int32_t point = place % GF_N_POINTS;
    set_dims(o, place, rows, c->dims);
    uint64_t n = gf_mul_u64(gf_mul_u64((uint64_t)c->dims[0], (uint64_t)c->dims[1]), (uint64_t)c->dims[2]);
    gf_free(c->data);
    c->data = gf_alloc(gf_mul_u64(n, sizeof(float)));
    for (uint64_t i = 0; c->data && is_scores(point) && i < n; i++) c->data[i] = -INFINITY;
    return c->data ? 0 : -1;
}

/* Drops all captures of a pass where memory for one is missing. Returns -1. */
static int drop_captures(struct gf_observe *o, int32_t first, int32_t last) {
    for (int32_t place = first; place < last; place++) {
        gf_free(o->captured[place].data);
        o->captured[place].data = NULL;
    }
    return -1;
}

int gf_observe_begin(struct gf_observe *o, int32_t stack, int32_t rows, int32_t pos0, int32_t n_keys,
                     int32_t n_source) {
    o->row0 = 0;
    o->pos0 = pos0;
    o->n_keys = n_keys;
    o->n_source = n_source;
    const int32_t first = gf_place(o->cfg, stack, -1, 0), last = gf_place(o->cfg, stack, gf_stack_layers(o->cfg), 0);
    for (int32_t place = first; place < last; place++)
        if (o->captured[place].wanted && !is_cross_kv(place % GF_N_POINTS) && allocate(o, place, rows))
            return drop_captures(o, first, last);
    return reserve_results(o, first, last) ? drop_captures(o, first, last) : 0;
}

int gf_observe_begin_cross(struct gf_observe *o, int32_t n_source) {
    o->row0 = 0;
    o->pos0 = 0;
    const int32_t first = gf_place(o->cfg, GF_STACK_DECODER, 0, 0), last = first + o->cfg->n_layers * GF_N_POINTS;
    for (int32_t place = first; place < last; place++)
        if (o->captured[place].wanted && is_cross_kv(place % GF_N_POINTS) && allocate(o, place, n_source))
            return drop_captures(o, first, last);
    return 0;
}

void gf_capture_rows(struct gf_observe *o, int32_t place, int32_t row, const float *x, int32_t ld, int32_t n,
                     int32_t width) {
    float *to = o->captured[place].data + (size_t)(o->row0 + row) * (size_t)width;
    for (int32_t i = 0; i < n; i++)
        memcpy(to + (size_t)i * (size_t)width, x + (size_t)i * (size_t)ld, (size_t)width * sizeof *x);
}

void gf_capture_keys(struct gf_observe *o, int32_t place, int32_t head, int32_t row, const float *x, int32_t n) {
    struct gf_captured *c = &o->captured[place];
    size_t offset = ((size_t)head * (size_t)c->dims[1] + (size_t)(o->row0 + row)) * (size_t)c->dims[2];
    memcpy(c->data + offset, x, (size_t)n * sizeof *x);
}
