/* pool_test.c - when jobs run without helpers, and when with them again.
 *
 * The pool decides by a clock. In these tests the tiles advance that clock, so that the results do not depend on the
 * load of the machine: with the real clock they failed while a compiler was running. */
#include "base/clock.h"
#include "base/pace.h"
#include "base/pool.h"
#include "check.h"

#if !defined(__wasm__)
#include <sched.h>

static _Thread_local char thread_mark; /* its address differs between threads */
static const char *caller;             /* thread_mark of the thread that calls the pool */
static _Atomic int32_t clock_reads;    /* by the caller */
static _Atomic int32_t tenths;         /* the time, in tenths of a millisecond */

static double test_clock(void) {
    clock_reads += &thread_mark == caller;
    return 1 + tenths / 10.0; /* never 0, which gf_pool_begin_pass sets for passes that are not timed */
}

static struct gf_pool *open_pool(void) {
    struct gf_pool *p = gf_pool_open(2);
    CHECK(p != NULL);
    caller = &thread_mark;
    if (p) gf_pool_clock(p, test_clock);
    return p;
}

/* Wait until the condition holds, for at most four minutes of real time. */
#define AWAIT(cond)                                                                                                    \
    do {                                                                                                               \
        const double end_ = gf_now_ms() + 240000;                                                                      \
        while (!(cond) && gf_now_ms() < end_) sched_yield();                                                           \
    } while (0)

struct job {                      /* what its tiles do and what happened */
    int32_t helper_tenths;        /* duration of the helper's first tile */
    int32_t caller_tenths;        /* duration of each of the caller's tiles */
    int32_t needs_helper;         /* a tile of the caller lasts until the helper has started one */
    int32_t needs_waiting_caller; /* the helper's first tile lasts until the caller waits for it */
    _Atomic int32_t helper_tiles; /* started */
    _Atomic int32_t caller_ended; /* the caller has finished a tile */
    _Atomic int32_t reads_then;   /* clock_reads at that time */
};

static void tile(void *ctx, int32_t index) {
    struct job *job = ctx;
    (void)index;
    if (&thread_mark == caller) {
        if (job->needs_helper) AWAIT(job->helper_tiles);
        tenths += job->caller_tenths;
        job->reads_then = clock_reads;
        job->caller_ended = 1;
        return;
    }
    if (job->helper_tiles++) return;
    if (job->needs_waiting_caller) AWAIT(job->caller_ended && clock_reads > job->reads_then);
    tenths += job->helper_tenths;
}

/* Run a job of two tiles: the caller works for work_ms, then waits for the helper for wait_ms. */
static void run_waiting(struct gf_pool *p, int32_t work_ms, int32_t wait_ms) {
    struct job job = {
        .helper_tenths = 10 * wait_ms, .caller_tenths = 10 * work_ms, .needs_helper = 1, .needs_waiting_caller = 1};
    gf_pool_run(p, tile, &job, 2);
    CHECK_INT(job.helper_tiles, 1);
}

/* Run n jobs without a stall. */
static void run_unstalled(struct gf_pool *p, int32_t n) {
    struct job job = {0};
    for (int32_t i = 0; i < n; i++) gf_pool_run(p, tile, &job, 2);
}

/* Run jobs until one uses helpers (the caller then reads the clock). Returns how many did not. */
static int32_t run_solo_jobs(struct gf_pool *p) {
    for (int32_t n = 0; n < 1 << 18; n++) {
        struct job job = {0};
        const int32_t before = clock_reads;
        gf_pool_run(p, tile, &job, 4);
        if (clock_reads != before) return n;
        CHECK_INT(job.helper_tiles, 0);
    }
    return -1;
}

static void after_repeated_stalls_jobs_run_without_helpers_for_longer_each_time(void) {
    struct gf_pool *p = open_pool();
    if (!p) return;
    run_waiting(p, 0, 30);
    CHECK_INT(run_solo_jobs(p), 0); /* a first stall has no effect */
    for (int32_t solo = 512; solo <= 1 << 16; solo *= 2) {
        run_waiting(p, 0, 30);
        CHECK_INT(run_solo_jobs(p), solo);
    }
    run_waiting(p, 0, 30);
    CHECK_INT(run_solo_jobs(p), 1 << 16); /* the longest */
    run_waiting(p, 0, 0);                 /* helpers are used again */
    run_unstalled(p, 1 << 16);
    run_waiting(p, 0, 30); /* the last stall was long ago: a first one again, and the next period is short */
    CHECK_INT(run_solo_jobs(p), 0);
    run_waiting(p, 0, 30);
    CHECK_INT(run_solo_jobs(p), 512);
    gf_pool_close(p);
}

static void two_stalls_far_apart_do_not_count(void) {
    struct gf_pool *p = open_pool();
    if (!p) return;
    run_waiting(p, 0, 30);
    run_unstalled(p, 1023);
    run_waiting(p, 0, 30);
    CHECK_INT(run_solo_jobs(p), 512);
    run_unstalled(p, 1022); /* run_solo_jobs has run one more */
    run_waiting(p, 0, 30);
    CHECK_INT(run_solo_jobs(p), 1024);
    gf_pool_close(p);

    p = open_pool();
    if (!p) return;
    run_waiting(p, 0, 30);
    run_unstalled(p, 1024);
    run_waiting(p, 0, 30);
    CHECK_INT(run_solo_jobs(p), 0);
    gf_pool_close(p);
}

static void a_wait_counts_as_a_stall_only_if_longer_than_the_callers_work(void) {
    static const struct {
        int32_t work_ms, wait_ms, solo;
    } cases[] = {{20, 10, 0},                /* the wait is shorter than the caller's work */
                 {40, 80, 0},                /* the work takes 30 ms or more, as in training */
                 {30, 31, 0}, {29, 31, 512}, /* the limit of 30 ms */
                 {0, 3, 0},   {0, 4, 512},   /* a stall is a wait of more than 3 ms */
                 {10, 10, 0}, {10, 11, 512}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gf_pool *p = open_pool();
        if (!p) return;
        run_waiting(p, 0, 30); /* a first stall; the second within 1,024 jobs has an effect */
        for (int more = 0; more < (cases[i].solo ? 1 : 4); more++) run_waiting(p, cases[i].work_ms, cases[i].wait_ms);
        CHECK_INT(run_solo_jobs(p), cases[i].solo);
        gf_pool_close(p);
    }
}

/* A pass takes 2 ms without the helper, and 2.6 or 1.2 ms with it. */
static void repeated_passes_use_the_faster_of_both_modes(void) {
    for (int faster = 0; faster < 2; faster++) {
        struct gf_pool *p = open_pool();
        struct gf_pace same; /* gets the same times, and so decides as the pool does */
        if (!p) return;
        gf_pace_open(&same);
        int32_t helped = 0;
        for (int pass = 0; pass < 600; pass++) {
            const int with = gf_pace_helped(&same);
            struct job job = {.helper_tenths = faster ? 12 : 26, .caller_tenths = with ? 0 : 5, .needs_helper = with};
            gf_pool_begin_pass(p, 1);
            gf_pool_run(p, tile, &job, 4);
            gf_pool_end_pass(p);
            CHECK_INT(job.helper_tiles > 0, with);
            gf_pace_took(&same, !with ? 2 : faster ? 1.2 : 2.6);
            double told[6];
            gf_pool_state(p, told);
            CHECK_INT((int)told[0], same.state);
            CHECK_INT((int)told[1], same.left);
            CHECK(told[2] == same.kept_ms && told[3] == same.trial_ms && told[4] == same.slow && told[5] == 0);
            if (pass >= 300) helped += with;
        }
        CHECK(faster ? helped > 250 : helped < 50);
        struct job job = {.needs_helper = 1};
        gf_pool_begin_pass(p, 0); /* any other work uses helpers and is not timed */
        gf_pool_run(p, tile, &job, 4);
        CHECK(job.helper_tiles > 0);
        const int32_t before = clock_reads;
        gf_pool_end_pass(p);
        CHECK_INT(clock_reads, before);
        gf_pool_close(p);
    }
}
#endif

static void count_tile(void *ctx, int32_t tile) { ((uint8_t *)ctx)[tile]++; }

/* ---- pace.h ------------------------------------------------------------------------------------------------------ */

struct machine { /* ms of a pass without helpers; with them, in the first 5 passes after they have slept, and later */
    double without, rested, with;
};
/* The mean duration of n passes on such a machine, in ms. */
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

static void pace_settles_on_the_faster_mode(void) {
    const struct machine quiet = {1.7, 1, 1}, busy = {1.7, 1, 2.3}, small = {1, 1.2, 1.2};
    struct gf_pace p;
    gf_pace_open(&p);
    CHECK(gf_pace_helped(&p));
    CHECK(passes(&p, quiet, 4000) < 1.01);
    CHECK(passes(&p, busy, 1000) < 2.3);  /* up to 512 passes until the next trial, */
    CHECK(passes(&p, busy, 4000) < 1.76); /* then few passes use helpers */
    CHECK(passes(&p, quiet, 5000) < 1.5); /* at most 4096 until helpers are tried again */
    CHECK(passes(&p, quiet, 4000) < 1.01);
    gf_pace_open(&p);
    CHECK(passes(&p, busy, 200) < 2.1);
    CHECK(passes(&p, busy, 2000) < 1.71); /* trials of helpers end soon after they become slow */
    gf_pace_open(&p);
    CHECK(passes(&p, small, 4000) < 1.02);
    gf_pace_open(&p); /* passes take twice as long at once, little longer than without helpers */
    passes(&p, (struct machine){1, 0.6, 0.6}, 500);
    CHECK(passes(&p, small, 600) < 1.05); /* 32 passes without helpers, 32 with them, then the mode changes */
}

/* A trial starts at once when passes become slower, and soon after a change of the mode, however long the intervals
 * between trials had been before. */
static void pace_tries_the_other_mode_soon_after_a_change(void) {
    const struct machine quiet = {1.7, 1, 1}, busy = {1, 2, 2};
    struct gf_pace p;
    gf_pace_open(&p);
    passes(&p, quiet, 4000); /* 512 passes between trials by now */
    CHECK_INT(p.gap_helped, 512);
    while (p.state == GF_PACE_HELPED) passes(&p, quiet, 1);
    while (p.state == GF_PACE_TRIES_ALONE) passes(&p, quiet, 1);
    int n = 0;
    for (; p.state == GF_PACE_HELPED && n < 600; n++) passes(&p, busy, 1);
    CHECK(n < 16); /* the mean exceeds the baseline by a quarter */
    while (p.state != GF_PACE_HELPED && p.state != GF_PACE_ALONE) passes(&p, busy, 1);
    CHECK(p.state == GF_PACE_ALONE);
    passes(&p, busy, 300); /* one more trial of helpers, which are slower */
    while (p.state != GF_PACE_HELPED) passes(&p, quiet, 1);
    CHECK_INT(p.gap_helped, 32);
    passes(&p, quiet, 32);
    CHECK(p.state == GF_PACE_TRIES_ALONE);
}

/* The best of two passes without helpers was compared with the mean of those with helpers, which contains every
 * interruption by the operating system: a few put helpers to rest that were faster. */
static void interruptions_do_not_put_helpers_to_rest(void) {
    static const struct {
        double without;
        uint32_t percent;
    } machines[] = {{1.7, 1}, {1.7, 10}, {1.2, 1}, {1.2, 5}};
    for (int32_t i = 0; i < 4; i++) {
        uint32_t random = 1;
        int32_t helped = 0;
        struct gf_pace p;
        gf_pace_open(&p);
        for (int32_t pass = 0; pass < 20000; pass++) {
            random = random * 1664525 + 1013904223;
            const double interrupted = (random >> 16) % 100 < machines[i].percent ? 4 : 0;
            helped += gf_pace_helped(&p);
            gf_pace_took(&p, (gf_pace_helped(&p) ? 1 : machines[i].without) + interrupted);
        }
        CHECK(helped > 19000);
    }
}

/* One word of the pool counts at most 2^18 - 1 tiles. */
static void each_tile_of_a_job_larger_than_one_word_runs_once(void) {
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

static void each_tile_runs_once_by_any_number_of_threads(void) {
    static uint8_t times[1000];
    CHECK(gf_pool_open(1) == NULL);
    for (int threads = 1; threads <= 3; threads++)
        for (int opened = 0; opened < 20; opened++) { /* the first pool for 300 jobs, the others for one each */
            struct gf_pool *p = threads > 1 ? gf_pool_open(threads) : NULL;
            for (int job = 0; job < (opened ? 1 : 300); job++) {
                const int32_t n = opened ? opened : job % 3 ? 1000 : job % 2 ? 7 : 0;
                int32_t wrong = 0;
                memset(times, 0, sizeof times);
                gf_pool_run(p, count_tile, times, n);
                for (int32_t k = 0; k < 1000; k++) wrong += times[k] != (k < n);
                CHECK_INT(wrong, 0);
            }
            gf_pool_close(p);
        }
}

int main(void) {
    RUN(each_tile_runs_once_by_any_number_of_threads);
    RUN(pace_tries_the_other_mode_soon_after_a_change);
    RUN(each_tile_of_a_job_larger_than_one_word_runs_once);
#if !defined(__wasm__)
    RUN(after_repeated_stalls_jobs_run_without_helpers_for_longer_each_time);
    RUN(two_stalls_far_apart_do_not_count);
    RUN(a_wait_counts_as_a_stall_only_if_longer_than_the_callers_work);
    RUN(repeated_passes_use_the_faster_of_both_modes);
#endif
    RUN(pace_settles_on_the_faster_mode);
    RUN(interruptions_do_not_put_helpers_to_rest);
    return check_end();
}
