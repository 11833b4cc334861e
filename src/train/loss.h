/* loss.h - cross-entropy of the token that is right, and distillation. */
#ifndef GF_LOSS_H
#define GF_LOSS_H
#include <stdint.h>

/* Returns the sum of -ln softmax(logits)[target] over n rows, without those of target -1. With `back` the logits are
 * overwritten by the gradient of that sum times scale: scale (softmax - onehot). Adds to *right the number of targets
 * that have the largest logit of their row. */
double gf_cross_entropy(float *logits, const int32_t *targets, int32_t n, int32_t vocab_size, float scale, int back,
                        int64_t *right);
/* Mix a teacher's targets into the gradient dlogits of gf_cross_entropy: adds scale (onehot - softmax(teacher)) to each
 * row whose target is not -1. teacher [n, vocab_size]: its logits, overwritten. */
void gf_distil(float *dlogits, float *teacher, const int32_t *targets, int32_t n, int32_t vocab_size, float scale);
#endif
