/* tap.h - reports a point of a pass: applies the edits of that point, then captures it. Passes call it through gf_tap
 * of pass.h, and only where something is observed. */
#ifndef GF_TAP_H
#define GF_TAP_H
#include "model/observe/observe.h"

/* n rows of this chunk from its row `row` on, `width` floats each, ld apart, have just been computed. Points with axes
 * D, Q, K, F, 1, R. */
void gf_tap_rows(struct gf_observe *o, int32_t stack, int32_t layer, int32_t point, int32_t row, float *x, int32_t ld,
                 int32_t n, int32_t width);
/* One query's row of keys 0 .. n - 1 in one head. Points with axes S; `row` counts within this
 * chunk. */
void gf_tap_keys(struct gf_observe *o, int32_t stack, int32_t layer, int32_t point, int32_t head, int32_t row, float *x,
                 int32_t n);
#endif
