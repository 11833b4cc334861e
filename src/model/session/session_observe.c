/* session_observe.c - the calls by which a session captures, edits and times its passes. */
#include "model/observe/features.h"
#include "model/session/session.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int32_t gf_session_capture(struct gf_session *s, int32_t stack, int32_t layer, int32_t point, int32_t on,
                           struct gf_error *err) {
    const struct gf_config *cfg = &s->model->cfg;
    const int32_t place = gf_observe_place(cfg, stack, layer, point, err);
    if (place < 0) return place;
    const int32_t status = gf_observe_need(&s->observe, cfg, err);
    if (status != GF_OK) return status;
    struct gf_captured *c = &s->observe->captured[place];
    c->wanted = on;
    if (!on) {
        gf_free(c->data);
        memset(c, 0, sizeof *c);
    }
    return GF_OK;
}

const float *gf_session_captured(const struct gf_session *s, int32_t stack, int32_t layer, int32_t point,
                                 int32_t dims[3]) {
    const int32_t place = gf_observe_place(&s->model->cfg, stack, layer, point, NULL);
    if (!s->observe || place < 0) return NULL;
    const struct gf_captured *c = &s->observe->captured[place];
    if (!c->wanted || !c->data) return NULL;
    memcpy(dims, c->dims, sizeof c->dims);
    return c->data;
}

int32_t gf_session_edit(struct gf_session *s, int32_t stack, int32_t layer, int32_t point, int32_t head,
                        int32_t position, int32_t index, int32_t op, float scale, const float *values, int32_t n_values,
                        struct gf_error *err) {
    const struct gf_config *cfg = &s->model->cfg;
    const int32_t place = gf_observe_place(cfg, stack, layer, point, err);
    const int32_t status = place < 0 ? place : gf_observe_need(&s->observe, cfg, err);
    if (status != GF_OK) return status;
    const struct gf_edit edit = {place, head, position, index, op, scale, NULL, n_values, NULL, 0};
    return gf_observe_edit(s->observe, &edit, values, err);
}

int32_t gf_session_edit_feature(struct gf_session *s, int32_t stack, int32_t layer, int32_t point, int32_t position,
                                struct gf_features *f, int32_t feature, float scale, float add, const float *direction,
                                struct gf_error *err) {
    const int32_t place = gf_observe_place(&s->model->cfg, stack, layer, point, err);
    if (place < 0) return place;
    const int32_t axes = gf_point_axes(point);
    const struct gf_row_shape row = gf_row_shape_of(&s->model->stack_cfg[stack], axes);
    const int32_t width = row.width * (row.heads ? row.heads : 1);
    if (axes != 'D' && axes != 'F' && axes != 'Q' && axes != 'K')
        return gf_fail(err, GF_ERR_ARGUMENT, "this point has no features");
    if (width != f->spec.d)
        return gf_fail(err, GF_ERR_ARGUMENT, "features of %d values: a row of this point has %d", f->spec.d, width);
    if (position < -1) return gf_fail(err, GF_ERR_ARGUMENT, "position %d is negative", position);
    if (feature < 0 || feature >= f->spec.size)
        return gf_fail(err, GF_ERR_ARGUMENT, "feature %d: there are %d", feature, f->spec.size);
    int finite = isfinite(scale) && isfinite(add);
    for (int32_t i = 0; i < width; i++) finite = finite && isfinite(direction[i]);
    if (!finite) return gf_fail(err, GF_ERR_ARGUMENT, "scale, add or the direction is not finite");
    const int32_t status = gf_observe_need(&s->observe, &s->model->cfg, err);
    if (status != GF_OK) return status;
    const struct gf_edit edit = {place, -1, position, feature, GF_EDIT_FEATURE, scale, NULL, width, f, add};
    return gf_observe_add_edit(s->observe, &edit, direction, err);
}

int32_t gf_session_trace(struct gf_session *s, int32_t on, struct gf_error *err) {
    if (!on && s->trace) {
        gf_trace_close(s->trace);
        free(s->trace);
        s->trace = NULL;
    } else if (on && !s->trace) {
        s->trace = calloc(1, sizeof *s->trace);
        if (!s->trace) return gf_fail(err, GF_ERR_MEMORY, "no memory for a trace");
    }
    return GF_OK;
}

const struct gf_op_time *gf_session_traced(const struct gf_session *s, int32_t *n) {
    *n = s->trace ? s->trace->n : 0;
    return s->trace ? s->trace->rows : NULL;
}
