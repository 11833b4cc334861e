/* samples.h - texts that the model generates while it is trained, printed by the training program. */
#ifndef GF_SAMPLES_H
#define GF_SAMPLES_H
#include "train/trainer.h"

/* Print a story that the model continues, or its answers to five sources of `data`, a corpus of pairs. */
int32_t gf_samples_print(struct gf_trainer *t, const struct gf_data *data, struct gf_error *err);
/* Print the number of pairs in `data` whose target the model generates exactly, and each pair for which it does not. */
int32_t gf_samples_print_exact(struct gf_trainer *t, const struct gf_data *data, struct gf_error *err);
#endif
