/* schedule.c - the learning rates of a training run, step by step: the warm-up, then the schedule. */
#include "train/trainer.h"
#include "base/angle.h"
#include <math.h>

#define WORD(id, word) word,
const char *const gf_schedule_words[GF_N_SCHEDULES] = {GF_SCHEDULES(WORD)};

float gf_trainer_rate(const struct gf_trainer_options *o, int64_t step) {
    const double warm = floor((double)o->warmup * (double)o->steps + 0.5), at = (double)step;
    if (at <= warm && warm > 0) return (float)(at / warm);
    const double done = fmin((at - warm) / fmax(1, (double)o->steps - warm), 1), last = (double)o->final_rate;
    double above = 1; /* share of the difference to the last rate */
    switch (o->schedule) {
    case GF_COSINE: above = 0.5 * (1 + gf_direction_of(3.14159265358979323846 * done).cos); break;
    case GF_LINEAR: above = 1 - done; break;
    case GF_WSD: above = fmin(1, 5 * (1 - done)); break;
    }
    return (float)(last + (1 - last) * above);
}
