/* session_eval.h - the parts of prefill and decode that restoring a session shares */
#ifndef GF_SESSION_EVAL_H
#define GF_SESSION_EVAL_H
#include "model/session.h"

/* GF_OK if n more tokens can be evaluated, otherwise the error. */
int32_t gf_refuse_eval(const struct gf_session *s, const int32_t *ids, int32_t n, struct gf_error *err);
/* After the keys and values of n tokens are in the cache: add the tokens to the sequence. */
void gf_session_advance(struct gf_session *s, const int32_t *ids, int32_t n);
#endif
