/* trace.c - see trace.h. */
#include "model/observe/trace.h"
#include "base/clock.h"
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
    if (t->n == t->capacity) { /* rare; its cost counts for no operation, because `last` is set below */
        const int32_t capacity = t->capacity ? 2 * t->capacity : 256;
        struct gf_op_time *rows = realloc(t->rows, (size_t)capacity * sizeof *rows);
        if (!rows) return;
        t->rows = rows;
        t->capacity = capacity;
    }
    t->rows[t->n++] = (struct gf_op_time){now - t->last, stack, layer, op, 0};
    t->last = gf_now_ms();
}
