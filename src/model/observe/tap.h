/* tap.h - the calls by which a forward pass reports a point: apply the edits of that point, then capture it.
 *
 * The forward pass calls gf_tap or gf_tap_keys at every point of GF_POINTS. A session that observes nothing has no
 * gf_observe; a tap is then one branch. */
#ifndef GF_TAP_H
#define GF_TAP_H
#include "model/observe/observe.h"

/* Whether a point is captured or edited, so that callers can skip work that only a tap needs. */
static inline int gf_tapped(const struct gf_observe *o, int32_t stack, int32_t layer, int32_t point) {
    if (!o) return 0;
    int32_t place = gf_place(&o->cfg, stack, layer, point);
    return o->captured[place].wanted || o->edited[place];
}

/* n rows of this chunk from its row `row` on, `width` floats each, ld apart, have just been computed. Points with axes
 * D, Q, K, F, 1, R. */
void gf_tap_rows(struct gf_observe *o, int32_t stack, int32_t layer, int32_t point, int32_t row, float *x, int32_t ld,
                 int32_t n, int32_t width);
/* The same for all rows of the chunk; does nothing where nothing is observed. */
static inline void gf_tap(struct gf_observe *o, int32_t stack, int32_t layer, int32_t point, float *x, int32_t ld,
                          int32_t n, int32_t width) {
    if (o) gf_tap_rows(o, stack, layer, point, 0, x, ld, n, width);
}
/* One query's row of keys 0 .. n - 1 in one head. Points with axes S; `row` counts within this
 * chunk. */
void gf_tap_keys(struct gf_observe *o, int32_t stack, int32_t layer, int32_t point, int32_t head, int32_t row, float *x,
                 int32_t n);
#endif
