/* pace.c - see pace.h. */
#include "base/pace.h"

/* Passes, here of a millisecond or so. */
enum { MEAN = 16, GAP_FIRST = 32, GAP_MOST = 512, AWAY_FIRST = 128, AWAY_MOST = 4096 };
enum { TRY_WITHOUT = 2, TRY_WITH = 32 };
static const float CLEARLY = 0.95f, ODD = 1.25f;

void gf_pace_open(struct gf_pace *p) {
    *p = (struct gf_pace){.with = 1, .left = 2 * GAP_FIRST, .gap = GAP_FIRST, .away = AWAY_FIRST};
}

/* End of a trial: keep the faster mode and set when the other one is tried again. */
static void end_trial(struct gf_pace *p) {
    if (p->tried < CLEARLY * p->usual) {
        p->with = !p->with;
        p->usual = p->tried;
        p->gap = GAP_FIRST;
    } else if (p->with && p->gap < GAP_MOST) {
        p->gap *= 2;
    } else if (p->with) {
        p->away = AWAY_FIRST; /* no slow pass for long */
    }
    p->settled = p->usual;
    p->left = p->with ? p->gap : p->away;
    if (!p->with && p->away < AWAY_MOST) p->away *= 2;
}

void gf_pace_took(struct gf_pace *p, double took) {
    const float ms = (float)took;
    if (!p->trying)
        p->usual += p->usual > 0 ? (ms - p->usual) / MEAN : ms;
    else if (!p->with)
        p->tried += ms / TRY_WITH;
    else if (ms < p->tried) /* the minimum: interruptions of a short trial are noise */
        p->tried = ms;
    if (!p->trying && p->with && p->settled > 0 && p->usual > ODD * p->settled) p->left = 1;
    if (--p->left) return;
    p->trying = !p->trying;
    if (!p->trying) {
        end_trial(p);
        return;
    }
    p->left = p->with ? TRY_WITHOUT : TRY_WITH;
    p->tried = p->with ? p->usual : 0;
}
