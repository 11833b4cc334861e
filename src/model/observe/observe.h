/* observe.h - what a session captures (capture.c) and edits (edit.c), by place. A place is a stack, a layer and a point
 * in one number. */
#ifndef GF_OBSERVE_H
#define GF_OBSERVE_H
#include "model/config.h" /* gf_q_width */

struct gf_edit {
    int32_t place; /* stack, layer and point in one number: gf_place */
    int32_t head, position, index, op;
    float scale;
    float *values; /* [n_values], owned */
    int32_t n_values;
    struct gf_features *features; /* of GF_EDIT_FEATURE, whose feature is `index`; held */
    float add;                    /* of GF_EDIT_FEATURE */
    float *seen; /* of GF_EDIT_FEATURE: rows before the edit [rows, d], for a backward pass, the caller's; or NULL */
};

struct gf_captured {
    int32_t wanted;
    int32_t dims[3];
    float *data; /* owned; NULL until an eval */
};

struct gf_observe {
    struct gf_config cfg[2]; /* by enum gf_stack: gf_stack_config */
    int32_t n_places;
    struct gf_captured *captured; /* [n_places] */
    uint8_t *edited;              /* [n_places] */
    struct gf_edit *edits;
    int32_t n_edits, max_edits; /* max_edits: the capacity of edits */
    /* The current pass */
    int32_t row0;       /* the first row of this chunk, counted in the whole call */
    int32_t pos0;       /* absolute position of the first row of the call */
    int32_t n_keys;     /* self-attention keys at the end of the call */
    int32_t n_source;   /* cross-attention keys */
    const int32_t *ids; /* tokens of the rows from row ids_row0 of the call on; NULL: no feature reads them */
    int32_t ids_row0;
    struct gf_pool *pool;     /* that of the pass, for features; may be NULL */
    int32_t captures_nothing; /* positions held are computed again: edits alone */
    int32_t backward;         /* taps capture a gradient first, then apply the edits, which are transposed */
    float *scratch;           /* for values that are computed only to be observed; gf_observe_begin reserves it */
    uint64_t scratch_floats;
};

/* layer -1: points of the whole model. */
int32_t gf_place(const struct gf_config *cfg, int32_t stack, int32_t layer, int32_t point);
int32_t gf_point_axes(int32_t point);                 /* 'D', 'Q', ... */
int gf_point_cross(int32_t point);                    /* whether it is a point of cross-attention */
int32_t gf_stack_layers(const struct gf_config *cfg); /* the layers of the deeper stack */
/* The configuration of a place's stack. */
const struct gf_config *gf_place_config(const struct gf_observe *o, int32_t place);

/* Allocate *o if it is NULL. */
int32_t gf_observe_need(struct gf_observe **o, const struct gf_config *cfg, struct gf_error *err);
/* The place of a point that this architecture has; otherwise GF_ERR_ARGUMENT. */
int32_t gf_observe_place(const struct gf_config *cfg, int32_t stack, int32_t layer, int32_t point,
                         struct gf_error *err);

/* Binaries built with GF_INFERENCE have no backward passes (layers/pass.h). */
#if defined(GF_INFERENCE)
#define GF_HAS_BACKWARD 0
#else
#define GF_HAS_BACKWARD 1
#endif

/* Whether anything is captured or edited; o may be NULL. */
int gf_observing(const struct gf_observe *o);

/* A row of a point with these axes. An edit changes `width` floats, of the row or of one head of it. */
struct gf_row_shape {
    int32_t heads; /* 0: the row has no heads */
    int32_t width; /* floats of a head, or of the row; 1 for scores and patterns, whose rows are keys */
};
struct gf_row_shape gf_row_shape_of(const struct gf_config *cfg, int32_t axes);

/* capture.c: allocate the captures of a pass over `rows` rows. Returns 0, or -1 if memory is missing. */
int gf_observe_begin(struct gf_observe *o, int32_t stack, int32_t rows, int32_t pos0, int32_t n_keys, int32_t n_source);
/* The same for the cross keys and values of an encode of n_source positions. */
int gf_observe_begin_cross(struct gf_observe *o, int32_t n_source);
/* Make o->scratch hold n floats. Returns 0, or -1 if memory is missing. */
int gf_observe_reserve(struct gf_observe *o, uint64_t n);
/* Number of floats that the per-head results of any stack need: all heads' z, and [heads, d_model] twice. */
static inline uint64_t gf_results_floats(const struct gf_config *c) {
    const int32_t heads = c->n_encoder_heads > c->n_heads ? c->n_encoder_heads : c->n_heads;
    return (uint64_t)gf_q_width(c) + (uint64_t)heads * 2 * (uint64_t)c->d_model;
}
/* tap.c: report a point of a pass: apply the edits of that point, then capture it. Passes call these through gf_tap of
 * pass.h, and only where something is observed. */
/* n rows of this chunk from its row `row` on, `width` floats each, ld apart, have just been computed. Points with axes
 * D, Q, K, F, 1, R. */
void gf_tap_rows(struct gf_observe *o, int32_t stack, int32_t layer, int32_t point, int32_t row, float *x, int32_t ld,
                 int32_t n, int32_t width);
/* One query's row of keys 0 .. n - 1 in one head. Points with axes S; `row` counts within this
 * chunk. */
void gf_tap_keys(struct gf_observe *o, int32_t stack, int32_t layer, int32_t point, int32_t head, int32_t row, float *x,
                 int32_t n);
/* capture.c: copy the values of a tap. edit.c: change them. */
void gf_capture_rows(struct gf_observe *o, int32_t place, int32_t row, const float *x, int32_t ld, int32_t n,
                     int32_t width);
void gf_capture_keys(struct gf_observe *o, int32_t place, int32_t head, int32_t row, const float *x, int32_t n);
void gf_edit_rows(struct gf_observe *o, int32_t place, int32_t axes, int32_t row, float *x, int32_t ld, int32_t n,
                  int32_t width);
/* features.c: apply the edits `first` ... first + n - 1 of features, all of one encoder and at one place, to n_rows
 * rows of `width` floats, ld apart. The features are read before a row changes. In a backward pass x is the gradient by
 * the changed values, and becomes that by the values before the edits (features_back.c). */
void gf_edit_features(struct gf_observe *o, int32_t first, int32_t n, int32_t row, float *x, int32_t ld, int32_t n_rows,
                      int32_t width);
void gf_edit_keys(struct gf_observe *o, int32_t place, int32_t head, int32_t row, float *x, int32_t n);
/* Append an edit with a copy of its values; gf_observe_edit after its checks (gf_session_edit, and of a feature
 * gf_session_edit_feature, whose direction are the values). */
int32_t gf_observe_add_edit(struct gf_observe *o, const struct gf_edit *edit, const float *values,
                            struct gf_error *err);
int32_t gf_observe_edit(struct gf_observe *o, const struct gf_edit *edit, const float *values, struct gf_error *err);
void gf_observe_close(struct gf_observe *o);
#endif
