/* session_calls.h - calls sessions of a model in random order until the input ends. */
#ifndef GF_SESSION_CALLS_H
#define GF_SESSION_CALLS_H
#include "glassformer.h"
#include "stream.h"

void sessions(struct stream *s, struct gf_model *m);
#endif
