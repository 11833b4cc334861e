/* session_observe.c - the calls by which a session captures, edits and times its passes. */
#include "model/session.h"
#include <stdlib.h>

int32_t gf_session_capture(struct gf_session *s, int32_t stack, int32_t layer, int32_t point, int32_t on,
                           struct gf_error *err) {
    return gf_observe_capture(&s->observe, &s->model->cfg, stack, layer, point, on, err);
}

const float *gf_session_captured(const struct gf_session *s, int32_t stack, int32_t layer, int32_t point,
                                 int32_t dims[3]) {
    return gf_observe_captured(s->observe, stack, layer, point, dims);
}

int32_t gf_session_edit(struct gf_session *s, int32_t stack, int32_t layer, int32_t point, int32_t head,
                        int32_t position, int32_t index, int32_t op, float scale, const float *values, int32_t n_values,
                        struct gf_error *err) {
    return gf_observe_edit(&s->observe, &s->model->cfg, stack, layer, point, head, position, index, op, scale, values,
                           n_values, err);
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
