/* session_observe.c - the calls by which a session captures, edits and times its passes. */
#include "model/observe/features.h"
#include "model/session/session.h"
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
    const struct gf_edit edit = {place, head, position, index, op, scale, NULL, n_values, NULL, 0, NULL};
    return gf_observe_edit(s->observe, &edit, values, err);
}

int32_t gf_session_edit_feature(struct gf_session *s, int32_t stack, int32_t layer, int32_t point, int32_t position,
                                struct gf_features *f, int32_t feature, float scale, float add, const float *direction,
                                struct gf_error *err) {
    const struct gf_config *cfg = &s->model->cfg;
    const int32_t place = gf_observe_place(cfg, stack, layer, point, err);
    const int32_t status = place < 0 ? place : gf_observe_need(&s->observe, cfg, err);
    if (status != GF_OK) return status;
    const struct gf_edit edit = {place, -1, position, feature, GF_EDIT_FEATURE, scale, NULL, 0, f, add, NULL};
    return gf_observe_edit(s->observe, &edit, direction, err);
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
