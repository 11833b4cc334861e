/* pace.h - decides by the clock whether repeated work is faster with helper threads or without.
 *
 * If another process keeps a core busy, three threads share two cores: at any time one of ours is suspended, the others
 * wait for its tile, and the caller alone would finish sooner. Only elapsed time shows this. So the mode that is not in
 * use (with or without helpers) is tried now and then, at growing intervals, and the faster one is kept. A trial
 * without helpers is short. A trial with helpers is long, because the operating system runs a rested thread at once and
 * suspends it only later. */
#ifndef GF_PACE_H
#define GF_PACE_H
#include <stdint.h>

struct gf_pace {
    int32_t with, trying; /* helpers are used; the other mode is being tried */
    int32_t left;         /* passes until that changes */
    int32_t gap, away;    /* passes between trials, with helpers and without */
    float usual, tried;   /* ms of a pass: a running mean; of the trial */
    float settled;        /* the mean after the last trial: much above it, the next comes at once */
};

void gf_pace_open(struct gf_pace *p);
/* Whether helpers take part in the next pass. */
static inline int gf_pace_helped(const struct gf_pace *p) { return p->with != p->trying; }
/* Report the duration of the pass that has just ended. */
void gf_pace_took(struct gf_pace *p, double ms);
#endif
