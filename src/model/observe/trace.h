/* trace.h - how long each operation of a pass took. */
#ifndef GF_TRACE_H
#define GF_TRACE_H
#include "glassformer.h"

struct gf_trace {
    struct gf_op_time *rows; /* owned */
    int32_t n, capacity;
    double last; /* the end of the operation before, in ms */
};

void gf_trace_open(struct gf_trace *t);
void gf_trace_close(struct gf_trace *t);
void gf_trace_note(struct gf_trace *t, int32_t stack, int32_t layer, int32_t op);

/* Record that the operation `op` has just ended. t is NULL when the session is not timed. */
static inline void gf_mark(struct gf_trace *t, int32_t stack, int32_t layer, int32_t op) {
    if (t) gf_trace_note(t, stack, layer, op);
}
#endif
