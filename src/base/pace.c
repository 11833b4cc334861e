/* pace.c - see pace.h. */
#include "base/pace.h"

/* Counts of passes. A pass takes about a millisecond. */
enum { MEAN = 16 }; /* weight of the running mean: each pass counts 1 / MEAN */
enum { GAP_HELPED_FIRST = 32, GAP_HELPED_MOST = 512, GAP_ALONE_FIRST = 128, GAP_ALONE_MOST = 4096 };
enum { TRIAL_ALONE = 2, TRIAL_LONG = 32 };
/* A long trial ends early, as lost, when so many passes in a row are slower than in the other mode. */
enum { SLOW_MOST = 4 };
/* Ratios of durations: a mode is faster below FASTER; passes have become slower above SLOWER. */
static const float FASTER = 0.95f, SLOWER = 1.25f;
/* A pass counts for at most so many times the mean of the kept mode: one interruption is no change. */
static const float CLIP = 2;

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

/* Keep a mode and set when the other one is tried again. is_won: it was the other one; ms: its mean. */
static void keep(struct gf_pace *p, int is_helped, int is_won, float ms) {
    if (is_won) {
        p->kept_ms = ms;
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

/* The next state after the last pass of a trial. */
static void end_trial(struct gf_pace *p) {
    const float ms = p->trial_ms;
    if (p->state == GF_PACE_TRIES_HELPED) {
        const int is_won = ms < FASTER * p->kept_ms;
        keep(p, is_won, is_won, ms);
    } else if (p->state == GF_PACE_PROVES_HELPED) {
        const int is_won = p->alone_ms < FASTER * ms;
        if (!is_won) p->kept_ms = ms;
        keep(p, !is_won, is_won, p->alone_ms);
    } else if (ms >= FASTER * p->kept_ms) {
        keep(p, 1, 0, ms);
    } else if (p->state == GF_PACE_TRIES_ALONE) {
        begin_trial(p, GF_PACE_PROVES_ALONE, TRIAL_LONG, 0);
    } else {
        p->alone_ms = ms;
        begin_trial(p, GF_PACE_PROVES_HELPED, TRIAL_LONG, 0);
    }
}

static void add_to_mean(struct gf_pace *p, float ms) { p->kept_ms += p->kept_ms > 0 ? (ms - p->kept_ms) / MEAN : ms; }

void gf_pace_took(struct gf_pace *p, double took) {
    const float most = CLIP * p->kept_ms, ms = p->kept_ms > 0 && took > most ? most : (float)took;
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
        if (--p->left == 0) begin_trial(p, GF_PACE_TRIES_HELPED, TRIAL_LONG, 0);
        break;
    case GF_PACE_TRIES_ALONE:
        if (ms < p->trial_ms) p->trial_ms = ms; /* the minimum: interruptions of a short trial are noise */
        if (--p->left == 0) end_trial(p);
        break;
    case GF_PACE_TRIES_HELPED:
    case GF_PACE_PROVES_ALONE:
    case GF_PACE_PROVES_HELPED: {
        const float other = p->state == GF_PACE_PROVES_HELPED ? p->alone_ms : p->kept_ms;
        p->trial_ms += ms / TRIAL_LONG;
        p->slow = ms > SLOWER * other ? p->slow + 1 : 0;
        if (p->slow == SLOW_MOST) p->trial_ms = 2 * other, p->left = 1;
        if (--p->left == 0) end_trial(p);
        break;
    }
    }
}
