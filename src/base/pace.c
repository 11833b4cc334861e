/* pace.c - see pace.h. */
#include "base/pace.h"

/* Counts of passes. A pass takes about a millisecond. */
enum { MEAN = 16 }; /* weight of the running mean: each pass counts 1 / MEAN */
enum { GAP_WITH_FIRST = 32, GAP_WITH_MOST = 512, GAP_WITHOUT_FIRST = 128, GAP_WITHOUT_MOST = 4096 };
enum { TRIAL_WITHOUT = 2, TRIAL_WITH = 32 };
/* A trial with helpers ends early, as lost, when so many passes in a row are slower than without them. */
enum { SLOW_MOST = 4 };
/* Ratios of durations: a mode is faster below FASTER; passes have become slower above SLOWER. */
static const float FASTER = 0.95f, SLOWER = 1.25f;

void gf_pace_open(struct gf_pace *p) {
    *p = (struct gf_pace){
        .with = 1, .left = 2 * GAP_WITH_FIRST, .gap_with = GAP_WITH_FIRST, .gap_without = GAP_WITHOUT_FIRST};
}

/* End of a trial: keep the faster mode and set when the other one is tried again. */
static void end_trial(struct gf_pace *p) {
    if (p->trial_ms < FASTER * p->kept_ms) {
        p->with = !p->with;
        p->kept_ms = p->trial_ms;
        p->gap_with = GAP_WITH_FIRST;
    } else if (p->with && p->gap_with < GAP_WITH_MOST) {
        p->gap_with *= 2;
    } else if (p->with) {
        p->gap_without = GAP_WITHOUT_FIRST; /* helpers have been faster for long */
    }
    p->baseline_ms = p->kept_ms;
    p->left = p->with ? p->gap_with : p->gap_without;
    if (!p->with && p->gap_without < GAP_WITHOUT_MOST) p->gap_without *= 2;
}

void gf_pace_took(struct gf_pace *p, double took) {
    const float ms = (float)took;
    if (!p->trying)
        p->kept_ms += p->kept_ms > 0 ? (ms - p->kept_ms) / MEAN : ms;
    else if (!p->with) {
        p->trial_ms += ms / TRIAL_WITH;
        p->slow = ms > SLOWER * p->kept_ms ? p->slow + 1 : 0;
        if (p->slow == SLOW_MOST) p->trial_ms = p->kept_ms, p->left = 1;
    } else if (ms < p->trial_ms) /* the minimum: interruptions of a short trial are noise */
        p->trial_ms = ms;
    if (!p->trying && p->with && p->baseline_ms > 0 && p->kept_ms > SLOWER * p->baseline_ms) {
        p->left = 1;
        p->gap_with = GAP_WITH_FIRST / 2; /* the mean is still rising: the next trial comes soon */
    }
    if (--p->left) return;
    p->trying = !p->trying;
    if (!p->trying) {
        end_trial(p);
        return;
    }
    p->left = p->with ? TRIAL_WITHOUT : TRIAL_WITH;
    p->trial_ms = p->with ? p->kept_ms : 0; /* the start of the minimum, or of the mean */
    p->slow = 0;
}
