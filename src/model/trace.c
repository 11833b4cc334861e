/* trace.c - see trace.h. */
#include "model/trace.h"
#include "base/clock.h"
#include "model/session.h"
#include <stdlib.h>
#include <string.h>

void gf_trace_open(struct gf_trace *t) {
    t->n = 0;
    t->last = gf_now_ms();
}

void gf_trace_close(struct gf_trace *t) {
    free(t->rows);
    memset(t, 0, sizeof *t);
}

void gf_trace_note(struct gf_trace *t, int32_t stack, int32_t layer, int32_t op) {
    const double now = gf_now_ms();
    if (t->n == t->room) { /* rare, and its cost falls on no operation: `last` is set below */
        const int32_t room = t->room ? 2 * t->room : 256;
        struct gf_op_time *rows = realloc(t->rows, (size_t)room * sizeof *rows);
        if (!rows) return;
        t->rows = rows;
        t->room = room;
    }
    t->rows[t->n++] = (struct gf_op_time){now - t->last, stack, layer, op, 0};
    t->last = gf_now_ms();
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
