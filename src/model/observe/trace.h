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
/* Record that the operation `op` has just ended. */
void gf_trace_note(struct gf_trace *t, int32_t stack, int32_t layer, int32_t op);
#endif
