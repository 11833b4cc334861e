/* observe.h - the taps: where a pass lets itself be looked at (capture.c) and changed (edit.c).
 *
 * The forward pass calls gf_tap at every point of GF_POINTS, edits first, then capture. A session
 * that observes nothing has no gf_observe, and a tap is one predictable branch. */
#ifndef GF_OBSERVE_H
#define GF_OBSERVE_H
#include "glassformer.h"

struct gf_edit {
    int32_t place; /* stack, layer and point in one number: gf_place */
    int32_t head, position, index, op;
    float scale;
    float *values; /* [n_values], owned */
    int32_t n_values;
};

struct gf_captured {
    int32_t wanted;
    int32_t dims[3];
    float *data; /* owned; NULL until an eval */
};

struct gf_observe {
    struct gf_config cfg;
    int32_t n_places;
    struct gf_captured *captured; /* [n_places] */
    uint8_t *edited;              /* [n_places] */
    struct gf_edit *edits;
    int32_t n_edits;
    /* the pass under way */
    int32_t pass_rows; /* rows of the whole call            */
    int32_t row0;      /* of those, the first of this chunk */
    int32_t pos0;      /* absolute position of that row     */
    int32_t n_keys;    /* self-attention keys at the end of the call */
    int32_t n_source;  /* cross-attention keys              */
    float *scratch;    /* for what is computed only to be seen */
    uint64_t scratch_floats;
};

/* layer -1: points of the whole model. */
int32_t gf_place(const struct gf_config *cfg, int32_t stack, int32_t layer, int32_t point);
int32_t gf_point_axes(int32_t point);                 /* 'D', 'Q', ... */
int32_t gf_point_global(int32_t point);               /* of the whole model, not of a block */
int gf_point_cross(int32_t point);                    /* of cross-attention */
int32_t gf_stack_layers(const struct gf_config *cfg); /* of the deeper stack */

/* Whether anything happens at a place: lets callers skip work that only a tap needs. */
static inline int gf_watched(const struct gf_observe *o, int32_t stack, int32_t layer,
                             int32_t point) {
    if (!o) return 0;
    int32_t place = gf_place(&o->cfg, stack, layer, point);
    return o->captured[place].wanted || o->edited[place];
}

/* n rows of this chunk, `width` floats each, rows ld apart, have just been computed. Points with
 * axes D, Q, K, F, 1, R. */
void gf_tap_rows(struct gf_observe *o, int32_t stack, int32_t layer, int32_t point, float *x,
                 int32_t ld, int32_t n, int32_t width);
static inline void gf_tap(struct gf_observe *o, int32_t stack, int32_t layer, int32_t point,
                          float *x, int32_t ld, int32_t n, int32_t width) {
    if (o) gf_tap_rows(o, stack, layer, point, x, ld, n, width);
}
/* One query's row of keys 0 .. n - 1 in one head. Points with axes S; `row` counts within this
 * chunk. */
void gf_tap_keys(struct gf_observe *o, int32_t stack, int32_t layer, int32_t point, int32_t head,
                 int32_t row, float *x, int32_t n);

/* capture.c: make room for what is wanted of a pass over `rows` rows. 0, or -1 without memory. */
int gf_observe_begin(struct gf_observe *o, int32_t stack, int32_t rows, int32_t pos0,
                     int32_t n_keys, int32_t n_source);
/* The same for the cross keys and values of an encode of n_source positions. */
int gf_observe_begin_cross(struct gf_observe *o, int32_t n_source);
/* n floats that last until the next call; NULL without memory. */
float *gf_observe_scratch(struct gf_observe *o, uint64_t n);
/* capture.c: keep what a tap sees. edit.c: change it. */
void gf_capture_rows(struct gf_observe *o, int32_t place, const float *x, int32_t ld, int32_t n,
                     int32_t width);
void gf_capture_keys(struct gf_observe *o, int32_t place, int32_t head, int32_t row, const float *x,
                     int32_t n);
void gf_edit_rows(struct gf_observe *o, int32_t place, int32_t axes, float *x, int32_t ld,
                  int32_t n, int32_t width);
void gf_edit_keys(struct gf_observe *o, int32_t place, int32_t head, int32_t row, float *x,
                  int32_t n);
void gf_observe_close(struct gf_observe *o);
#endif
