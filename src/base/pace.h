/* pace.h - decides by the clock whether repeated work is faster with helper threads or without.
 *
 * If another process keeps a core busy, three threads share two cores: at any time one of the pool's threads is
 * suspended, the others wait for its tile, and the caller alone would finish sooner. Only elapsed time shows this. So
 * the mode that is not in use (with or without helpers) is tried at growing intervals, and the faster one is kept. A
 * trial without helpers is short: its best pass is compared with the mean of the kept mode. That mean contains
 * interruptions, which slow down both modes; so where the trial is faster, the means of as many passes without helpers
 * and then with them decide. A trial with helpers is long, because the operating system runs a thread that has slept at
 * once and suspends it only later. Long trials end when several passes in a row are slower. */
#ifndef GF_PACE_H
#define GF_PACE_H
#include <stdint.h>

/* Passes run in the kept mode, or in the other one, which is tried. */
enum gf_pace_state {
    GF_PACE_HELPED,       /* with helpers */
    GF_PACE_TRIES_ALONE,  /* without helpers, while the mode with them is kept */
    GF_PACE_ALONE,        /* without helpers */
    GF_PACE_TRIES_HELPED, /* with helpers, while the mode without them is kept */
    GF_PACE_PROVES_ALONE, /* without helpers, after a trial without them was faster */
    GF_PACE_PROVES_HELPED /* with helpers, after that */
};

struct gf_pace {
    enum gf_pace_state state;
    int32_t left;            /* passes until the trial starts or ends */
    int32_t slow;            /* the last passes of a long trial that were slower than in the other mode */
    int32_t gap_helped;      /* passes until the next trial while helpers are used */
    int32_t gap_alone;       /* passes until the next trial while they are not */
    float kept_ms, trial_ms; /* duration of a pass: running mean in the kept mode; in the trial */
    float alone_ms;          /* mean of PROVES_ALONE */
    float baseline_ms;       /* kept_ms after the last trial; if kept_ms rises well above it, a trial starts at once */
};

void gf_pace_open(struct gf_pace *p);
/* Whether helpers take part in the next pass. */
static inline int gf_pace_helped(const struct gf_pace *p) {
    return p->state == GF_PACE_HELPED || p->state == GF_PACE_TRIES_HELPED || p->state == GF_PACE_PROVES_HELPED;
}
/* Report the duration of the pass that has just ended. */
void gf_pace_took(struct gf_pace *p, double ms);
#endif
