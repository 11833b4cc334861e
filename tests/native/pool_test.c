/* pool_test.c - who computes: when helpers are left out, and when they are asked again.
 *
 * The pool decides by a clock. Here tiles move that clock by hand, so that nothing depends on how
 * busy the machine is: these tests once failed beside a compiler. */
#include "base/clock.h"
#include "base/pace.h"
#include "base/pool.h"
#include "check.h"

#if !defined(__wasm__)
#include <sched.h>

static _Thread_local char seat; /* its address tells threads apart */
static const char *caller;
static _Atomic int32_t looks;  /* at the clock, by the caller */
static _Atomic int32_t tenths; /* of a millisecond: the time */

static double by_hand(void) {
    looks += &seat == caller;
    return 1 + tenths / 10.0; /* a pass that began at 0 is none */
}

static struct gf_pool *open_pool(void) {
    struct gf_pool *p = gf_pool_open(2);
    CHECK_INT(gf_pool_threads(p), 2);
    caller = &seat;
    if (p) gf_pool_clock(p, by_hand);
    return p;
}

/* Until the condition holds; a minute of real time is a thread that never comes. */
#define AWAIT(cond)                                                                                                    \
    do {                                                                                                               \
        const double end_ = gf_now_ms() + 60000;                                                                       \
        while (!(cond) && gf_now_ms() < end_) sched_yield();                                                           \
    } while (0)

struct crew {
    int32_t helper_tenths, caller_tenths;  /* time that the helper's first and each of the caller's tiles take */
    int32_t needed;                        /* the caller's tile lasts until the helper has begun one */
    int32_t watched;                       /* the helper's lasts until the caller waits for it */
    _Atomic int32_t helped, looked, ended; /* the helper's tiles; looks when the caller had done a tile */
};

static void tile(void *ctx, int32_t index) {
    struct crew *c = ctx;
    (void)index;
    if (&seat == caller) {
        if (c->needed) AWAIT(c->helped);
        tenths += c->caller_tenths;
        c->looked = looks;
        c->ended = 1;
        return;
    }
    if (c->helped++) return;
    if (c->watched) AWAIT(c->ended && looks > c->looked);
    tenths += c->helper_tenths;
}

/* A job of two tiles: the caller works, then waits for the helper. */
static void job(struct gf_pool *p, int32_t works_ms, int32_t waits_ms) {
    struct crew c = {.helper_tenths = 10 * waits_ms, .caller_tenths = 10 * works_ms, .needed = 1, .watched = 1};
    gf_pool_run(p, tile, &c, 2);
    CHECK_INT(c.helped, 1);
}

static void calm_jobs(struct gf_pool *p, int32_t n) {
    struct crew c = {0};
    for (int32_t i = 0; i < n; i++) gf_pool_run(p, tile, &c, 2);
}

/* How many jobs are done alone from now on: without a look at the clock. One more is not. */
static int32_t jobs_alone(struct gf_pool *p) {
    for (int32_t n = 0; n < 1 << 18; n++) {
        struct crew c = {0};
        const int32_t before = looks;
        gf_pool_run(p, tile, &c, 4);
        if (looks != before) return n;
        CHECK_INT(c.helped, 0);
    }
    return -1;
}

static void a_helper_without_its_core_is_left_out_for_longer_each_time(void) {
    struct gf_pool *p = open_pool();
    if (!p) return;
    job(p, 0, 30);
    CHECK_INT(jobs_alone(p), 0); /* once may be chance */
    for (int32_t alone = 512; alone <= 1 << 16; alone *= 2) {
        job(p, 0, 30);
        CHECK_INT(jobs_alone(p), alone);
    }
    job(p, 0, 30);
    CHECK_INT(jobs_alone(p), 1 << 16); /* at most */
    job(p, 0, 0);                      /* it is used again */
    calm_jobs(p, 1 << 16);
    job(p, 0, 30); /* long ago it was: chance again, and the first rest is short again */
    CHECK_INT(jobs_alone(p), 0);
    job(p, 0, 30);
    CHECK_INT(jobs_alone(p), 512);
    gf_pool_close(p);
}

static void two_waits_far_apart_are_chance(void) {
    struct gf_pool *p = open_pool();
    if (!p) return;
    job(p, 0, 30);
    calm_jobs(p, 1023);
    job(p, 0, 30);
    CHECK_INT(jobs_alone(p), 512);
    calm_jobs(p, 1022); /* and the one that was not alone */
    job(p, 0, 30);
    CHECK_INT(jobs_alone(p), 1024);
    gf_pool_close(p);

    p = open_pool();
    if (!p) return;
    job(p, 0, 30);
    calm_jobs(p, 1024);
    job(p, 0, 30);
    CHECK_INT(jobs_alone(p), 0);
    gf_pool_close(p);
}

static void a_helper_with_longer_tiles_is_not_left_out(void) {
    static const struct {
        int32_t works, waits, alone;
    } cases[] = {{20, 10, 0},                /* no longer than the caller's own part */
                 {40, 80, 0},                /* tiles are very long, as in training */
                 {30, 31, 0}, {29, 31, 512}, /* from 30 ms on */
                 {0, 3, 0},   {0, 4, 512},   /* a wait of more than 3 ms */
                 {10, 10, 0}, {10, 11, 512}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gf_pool *p = open_pool();
        if (!p) return;
        job(p, 0, 30); /* the second within 1,024 jobs counts */
        for (int more = 0; more < (cases[i].alone ? 1 : 4); more++) job(p, cases[i].works, cases[i].waits);
        CHECK_INT(jobs_alone(p), cases[i].alone);
        gf_pool_close(p);
    }
}

/* 2 ms alone; the helper's one tile takes longer, or less long. */
static void passes_are_done_in_the_faster_way(void) {
    for (int faster = 0; faster < 2; faster++) {
        struct gf_pool *p = open_pool();
        struct gf_pace same; /* told the same times */
        if (!p) return;
        gf_pace_open(&same);
        int32_t helped = 0;
        for (int pass = 0; pass < 600; pass++) {
            const int with = gf_pace_helped(&same);
            struct crew c = {.helper_tenths = faster ? 12 : 26, .caller_tenths = with ? 0 : 5, .needed = with};
            gf_pool_begin_pass(p, 1);
            gf_pool_run(p, tile, &c, 4);
            gf_pool_end_pass(p);
            CHECK_INT(c.helped > 0, with);
            gf_pace_took(&same, !with ? 2 : faster ? 1.2 : 2.6);
            if (pass >= 300) helped += with;
        }
        CHECK(faster ? helped > 250 : helped < 50);
        struct crew c = {.needed = 1};
        gf_pool_begin_pass(p, 0); /* other work is not judged by it */
        gf_pool_run(p, tile, &c, 4);
        CHECK(c.helped > 0);
        const int32_t before = looks;
        gf_pool_end_pass(p);
        CHECK_INT(looks, before);
        gf_pool_close(p);
    }
}
#endif

static void count_tile(void *ctx, int32_t tile) { ((uint8_t *)ctx)[tile]++; }

/* ---- the decision itself ----------------------------------------------------------------------------------------- */

/* What n passes cost where each takes this long without helpers, with those that have just rested
 * (for a few passes), and with those that have not. */
struct machine {
    double without, rested, with;
};
static double passes(struct gf_pace *p, struct machine m, int n) {
    double sum = 0;
    for (int i = 0, since = 0; i < n; i++) {
        const int helped = gf_pace_helped(p);
        since = helped ? since + 1 : 0;
        const double ms = !helped ? m.without : since < 6 ? m.rested : m.with;
        gf_pace_took(p, ms);
        sum += ms;
    }
    return sum / n;
}

static void helpers_are_used_where_they_help(void) {
    const struct machine quiet = {1.7, 1, 1}, busy = {1.7, 1, 2.3}, small = {1, 1.2, 1.2};
    struct gf_pace p;
    gf_pace_open(&p);
    CHECK(gf_pace_helped(&p));
    CHECK(passes(&p, quiet, 4000) < 1.01);
    CHECK(passes(&p, busy, 1000) < 2.3);  /* up to 512 passes until it is seen, */
    CHECK(passes(&p, busy, 4000) < 1.76); /* then little is lost */
    CHECK(passes(&p, quiet, 5000) < 1.5); /* at most 4096 until it is tried again */
    CHECK(passes(&p, quiet, 4000) < 1.01);
    gf_pace_open(&p);
    CHECK(passes(&p, busy, 200) < 2.1);
    CHECK(passes(&p, busy, 2000) < 1.8);
    gf_pace_open(&p);
    CHECK(passes(&p, small, 4000) < 1.02);
}

/* After a switch the other way is tried soon again, however quiet it was before; and when passes
 * suddenly take longer, at once. */
static void trials_follow_what_changes(void) {
    const struct machine quiet = {1.7, 1, 1}, busy = {1, 2, 2};
    struct gf_pace p;
    gf_pace_open(&p);
    passes(&p, quiet, 4000); /* 512 passes between trials by now */
    CHECK_INT(p.gap, 512);
    while (!p.trying) passes(&p, quiet, 1);
    while (p.trying) passes(&p, quiet, 1);
    int n = 0;
    for (; !p.trying && n < 600; n++) passes(&p, busy, 1);
    CHECK(n < 16); /* the mean exceeds the settled one by a quarter */
    while (p.trying) passes(&p, busy, 1);
    CHECK(!gf_pace_helped(&p));
    passes(&p, busy, 300); /* tried in vain once more */
    while (!gf_pace_helped(&p) || p.trying) passes(&p, quiet, 1);
    CHECK_INT(p.gap, 32);
    passes(&p, quiet, 32);
    CHECK(p.trying);
}

/* More tiles than one job can count. */
static void millions_of_tiles_run_once_each(void) {
    enum { MOST = (1 << 18) - 1 };
    static const int32_t counts[] = {MOST - 1, MOST, MOST + 1, 2 * MOST, 2 * MOST + 7, 600000};
    static uint8_t times[600000];
    struct gf_pool *p = gf_pool_open(3);
    for (int i = 0; i < 6; i++) {
        int32_t wrong = 0;
        memset(times, 0, sizeof times);
        gf_pool_run(p, count_tile, times, counts[i]);
        for (int32_t k = 0; k < 600000; k++) wrong += times[k] != (k < counts[i]);
        CHECK_INT(wrong, 0);
    }
    gf_pool_close(p);
}

int main(void) {
    RUN(trials_follow_what_changes);
    RUN(millions_of_tiles_run_once_each);
#if !defined(__wasm__)
    RUN(a_helper_without_its_core_is_left_out_for_longer_each_time);
    RUN(two_waits_far_apart_are_chance);
    RUN(a_helper_with_longer_tiles_is_not_left_out);
    RUN(passes_are_done_in_the_faster_way);
#endif
    RUN(helpers_are_used_where_they_help);
    return check_end();
}
