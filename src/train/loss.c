/* loss.c - softmax and cross-entropy in one, so that no probabilities are stored. */
#include "train/loss.h"
#include "kernels/kernels.h"    /* gf_argmax, gf_logsumexp, gf_scale */
#include "kernels/train_rows.h" /* gf_softmax_wide */
#include <string.h>

double gf_cross_entropy(float *logits, const int32_t *targets, int32_t n, int32_t vocab_size, float scale, int back,
                        int64_t *right) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++, logits += vocab_size) {
        const int32_t target = targets[i];
        if (target < 0) {
            if (back) memset(logits, 0, (size_t)vocab_size * sizeof *logits);
            continue;
        }
        sum += (double)(gf_logsumexp(logits, vocab_size, NULL) - logits[target]);
        *right += gf_argmax(logits, vocab_size) == target;
        if (!back) continue;
        gf_softmax_wide(logits, logits, vocab_size);
        gf_scale(logits, logits, scale, vocab_size);
        logits[target] -= scale;
    }
    return sum;
}

void gf_distil(float *dlogits, float *teacher, const int32_t *targets, int32_t n, int32_t vocab_size, float scale) {
    for (int32_t i = 0; i < n; i++, dlogits += vocab_size, teacher += vocab_size) {
        if (targets[i] < 0) continue;
        gf_softmax_wide(teacher, teacher, vocab_size);
        for (int32_t j = 0; j < vocab_size; j++) dlogits[j] -= scale * teacher[j];
        dlogits[targets[i]] += scale;
    }
}
