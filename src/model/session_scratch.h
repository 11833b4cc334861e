/* session_scratch.h - memory for a session's passes. Each call returns 0, or -1 without memory: nothing has changed
 * then. */
#ifndef GF_SESSION_SCRATCH_H
#define GF_SESSION_SCRATCH_H
#include "model/session.h"

/* Grow the scratch to passes of `rows` rows over `keys` keys. What the scratch held is lost when it grows. */
int gf_reserve_scratch(struct gf_session *s, int32_t rows, int32_t keys);
/* Grow *rows, [*room, width], to `need` rows; the old ones are copied. */
int gf_reserve_rows(float **rows, int32_t *room, int32_t need, int32_t width);
/* Grow s->ids to n tokens; the old ones are kept. */
int gf_reserve_ids(struct gf_session *s, int32_t n);
#endif
