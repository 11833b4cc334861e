/* pace.c - see pace.h. */
#include "base/pace.h"

/* Counts of passes. A pass takes about a millisecond. */
enum { MEAN = 16 }; /* weight of the running mean: each pass counts 1 / MEAN */
enum { GAP_HELPED_FIRST = 32, GAP_HELPED_MOST = 512, GAP_ALONE_FIRST = 128, GAP_ALONE_MOST = 4096 };
enum { TRIAL_ALONE = 2, TRIAL_HELPED = 32 };
/* A trial with helpers ends early, as lost, when so many passes in a row are slower than without them. */
enum { SLOW_MOST = 4 };
/* Ratios of durations: a mode is faster below FASTER; passes have become slower above SLOWER. */
static const float FASTER = 0.95f, SLOWER = 1.25f;

void gf_pace_open(struct gf_pace *p) {
    *p = (struct gf_pace){.state = GF_PACE_HELPED,
                          .left = 2 * GAP_HELPED_FIRST,
                          .gap_helped = GAP_HELPED_FIRST,
                          .gap_alone = GAP_ALONE_FIRST};
}

/* Try the mode that is not kept for `passes` passes. trial_ms: the start of the minimum, or of the mean. */
static void begin_trial(struct gf_pace *p, enum gf_pace_state state, int32_t passes, float trial_ms) {
    p->state = state;
    p->left = passes;
    p->trial_ms = trial_ms;
    p->slow = 0;
}

/* Keep the faster mode and set when the other one is tried again. */
static void end_trial(struct gf_pace *p) {
    const int is_won = p->trial_ms < FASTER * p->kept_ms, is_helped = is_won == (p->state == GF_PACE_TRIES_HELPED);
    if (is_won) {
        p->kept_ms = p->trial_ms;
        p->gap_helped = GAP_HELPED_FIRST;
    } else if (is_helped && p->gap_helped < GAP_HELPED_MOST) {
        p->gap_helped *= 2;
    } else if (is_helped) {
        p->gap_alone = GAP_ALONE_FIRST; /* helpers have been faster for long */
    }
    p->state = is_helped ? GF_PACE_HELPED : GF_PACE_ALONE;
    p->baseline_ms = p->kept_ms;
    p->left = is_helped ? p->gap_helped : p->gap_alone;
    if (!is_helped && p->gap_alone < GAP_ALONE_MOST) p->gap_alone *= 2;
}

static void add_to_mean(struct gf_pace *p, float ms) { p->kept_ms += p->kept_ms > 0 ? (ms - p->kept_ms) / MEAN : ms; }

void gf_pace_took(struct gf_pace *p, double took) {
    const float ms = (float)took;
    switch (p->state) {
    case GF_PACE_HELPED:
        add_to_mean(p, ms);
        if (p->baseline_ms > 0 && p->kept_ms > SLOWER * p->baseline_ms) {
            p->left = 1;
            p->gap_helped = GAP_HELPED_FIRST / 2; /* the mean is still rising: the next trial comes soon */
        }
        if (--p->left == 0) begin_trial(p, GF_PACE_TRIES_ALONE, TRIAL_ALONE, p->kept_ms);
        break;
    case GF_PACE_ALONE:
        add_to_mean(p, ms);
        if (--p->left == 0) begin_trial(p, GF_PACE_TRIES_HELPED, TRIAL_HELPED, 0);
        break;
    case GF_PACE_TRIES_ALONE:
        if (ms < p->trial_ms) p->trial_ms = ms; /* the minimum: interruptions of a short trial are noise */
        if (--p->left == 0) end_trial(p);
        break;
    case GF_PACE_TRIES_HELPED:
        p->trial_ms += ms / TRIAL_HELPED;
        p->slow = ms > SLOWER * p->kept_ms ? p->slow + 1 : 0;
        if (p->slow == SLOW_MOST) p->trial_ms = p->kept_ms, p->left = 1;
        if (--p->left == 0) end_trial(p);
        break;
    }
}
