/* repeat.h - makes a window whose second half is a copy of its first.
 *
 * The loss of such windows is small only if the model attends to what followed the present token the last time, as
 * induction heads do (Olsson et al. 2022). In half of the windows the passage is text, in the others it is random
 * tokens, which nothing but the copy predicts. */
#ifndef GF_REPEAT_H
#define GF_REPEAT_H
#include "base/rng.h"

/* Change a window [n]: the tokens after the first up to the middle become the passage and come again until the end.
 * Targets that nothing predicts become -1: the start of the copy and, if the passage is random, the passage itself. So
 * do the teacher targets of the copy: a teacher need not be able to copy. Returns the number of targets that are
 * not -1. */
int32_t gf_repeat(int32_t *ids, int32_t *targets, int32_t *teacher_targets, int32_t n, int32_t vocab_size,
                  struct gf_rng *rng);
#endif
