/* session_run.h - one pass of a session through a stack or the head, on the session's scratch */
#ifndef GF_SESSION_RUN_H
#define GF_SESSION_RUN_H
#include "model/session.h"

/* GF_OK if all n ids are in the vocabulary, otherwise the error. */
int32_t gf_check_ids(const struct gf_model *m, const int32_t *ids, int32_t n, struct gf_error *err);
/* hidden [n, d_model] = the whole stack, embedding to final norm, for the n rows of the segments. The scratch is
 * reserved for n rows. */
void gf_run_stack(struct gf_session *s, int32_t stack, const struct gf_seg *segs, int32_t n_segs, int32_t n,
                  const int32_t *ids, float *hidden);
/* logits [n, vocab_size] of the hidden states [n, d_model], n up to GF_CHUNK. The scratch is reserved for n rows. */
void gf_run_head(struct gf_session *s, float *logits, const float *hidden, int32_t n);
#endif
