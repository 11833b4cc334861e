/* loss.h - cross-entropy over the next token. */
#ifndef GF_LOSS_H
#define GF_LOSS_H
#include <stdint.h>

/* Sum over n rows of -ln softmax(logits)[target], rows with target -1 left out. With `back` logits
 * become the gradient of that sum times scale: scale (softmax - onehot). row_loss: [n] or NULL. */
double gf_cross_entropy(float *logits, const int32_t *targets, int32_t n, int32_t vocab_size, float scale, int back,
                        float *row_loss);
/* The gradient that gf_cross_entropy left in dlogits, moved towards a teacher: every counted row
 * gains scale (onehot - softmax(teacher)). teacher [n, vocab_size]: logits, overwritten. */
void gf_distil(float *dlogits, float *teacher, const int32_t *targets, int32_t n, int32_t vocab_size, float scale);
#endif
