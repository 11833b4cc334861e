/* pace.h - whether work that comes again and again is done sooner with helpers or without.
 *
 * Where another process computes too, three threads share two cores: all run, each waits for one
 * that does not, and the caller alone would have been done sooner. None of them can see it but by
 * the clock. So the way that is not in use is tried now and then, ever more seldom, and the faster
 * one taken. A trial without helpers is short; one with them lasts, because a helper that has
 * rested is let in at once and only held up later. */
#ifndef GF_PACE_H
#define GF_PACE_H
#include <stdint.h>

struct gf_pace {
    int32_t with, trying; /* helpers are used; the other way is being tried */
    int32_t left;         /* passes until that changes */
    int32_t gap, away;    /* passes between trials, with helpers and without */
    float usual, tried;   /* ms of a pass: a running mean; of the trial */
    float settled;        /* the mean after the last trial: much above it, the next comes at once */
};

void gf_pace_open(struct gf_pace *p);
/* Whether helpers take part in the next pass. */
static inline int gf_pace_helped(const struct gf_pace *p) { return p->with != p->trying; }
/* The pass took so long. */
void gf_pace_took(struct gf_pace *p, double ms);
#endif
