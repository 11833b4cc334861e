/* tap.c - reports a point of a pass: applies the edits of that point (edit.c), then captures it (capture.c). */
#include "model/observe/observe.h"

void gf_tap_rows(struct gf_observe *o, int32_t stack, int32_t layer, int32_t point, int32_t row, float *x, int32_t ld,
                 int32_t n, int32_t width) {
    const int32_t place = gf_place(o->cfg, stack, layer, point);
    const int edited = o->edited[place];
    if (edited && !(GF_HAS_BACKWARD && o->backward)) gf_edit_rows(o, place, gf_point_axes(point), row, x, ld, n, width);
    if (o->captured[place].wanted && !o->captures_nothing) gf_capture_rows(o, place, row, x, ld, n, width);
    if (edited && GF_HAS_BACKWARD && o->backward) gf_edit_rows(o, place, gf_point_axes(point), row, x, ld, n, width);
}

void gf_tap_keys(struct gf_observe *o, int32_t stack, int32_t layer, int32_t point, int32_t head, int32_t row, float *x,
                 int32_t n) {
    const int32_t place = gf_place(o->cfg, stack, layer, point);
    if (o->edited[place]) gf_edit_keys(o, place, head, row, x, n);
    if (o->captured[place].wanted && !o->captures_nothing) gf_capture_keys(o, place, head, row, x, n);
}
