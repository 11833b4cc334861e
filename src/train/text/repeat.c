/* repeat.c - see repeat.h. */
#include "train/text/repeat.h"

int32_t gf_repeat(int32_t *ids, int32_t *targets, int32_t *teacher_targets, int32_t n, int32_t vocab_size,
                  struct gf_rng *rng) {
    const int32_t passage = (n - 1) / 2;
    if (passage < 1) return n;
    const int random = gf_rng_uniform(rng) < 0.5;
    for (int32_t i = 1; random && i <= passage; i++) ids[i] = 1 + (int32_t)(gf_rng_uniform(rng) * (vocab_size - 1));
    for (int32_t i = passage + 1; i < n; i++) {
        ids[i] = ids[i - passage];
        targets[i] = ids[i - passage + 1];
        teacher_targets[i] = -1;
    }
    for (int32_t i = random ? 0 : passage; i <= passage; i++) targets[i] = teacher_targets[i] = -1;
    return random ? n - 1 - passage : n - 1;
}
