/* pool.c - see pool.h.
 *
 * A job is fn, ctx and one 64-bit word that holds the job's number (epoch), its tile count and its next tile. A thread
 * reads the word, then fn and ctx, then claims tiles by compare and swap on the word. If the swap succeeds, the job did
 * not change in between, so fn and ctx belong to it. If the job has ended meanwhile, the swap fails and the thread
 * reads again. The caller opens a job only when all tiles of the previous one are done.
 *
 * A waiting thread spins for a while and then sleeps. The caller sleeps too: when the operating system has suspended a
 * helper in the middle of a tile, the caller's idle core lets it run that helper again. */
#include "base/pool.h"
#include "base/clock.h"
#include "base/pace.h"
#include <stddef.h> /* NULL */

#if defined(__wasm__) && !defined(__wasm_atomics__)
/* ---- one thread -------------------------------------------------------------------------------------------------- */

struct gf_pool *gf_pool_open(int32_t n_threads) {
    (void)n_threads;
    return NULL;
}
void gf_pool_close(struct gf_pool *pool) { (void)pool; }
int32_t gf_pool_threads(const struct gf_pool *pool) {
    (void)pool;
    return 1;
}
void gf_pool_run(struct gf_pool *pool, gf_tile_fn fn, void *ctx, int32_t n_tiles) {
    (void)pool;
    for (int32_t i = 0; i < n_tiles; i++) fn(ctx, i);
}
void gf_pool_pass(struct gf_pool *pool, int again) { (void)pool, (void)again; }
void gf_pool_passed(struct gf_pool *pool) { (void)pool; }
uint32_t gf_pool_stack(struct gf_pool *pool, int32_t index) {
    (void)pool, (void)index;
    return 0;
}
void gf_pool_worker(struct gf_pool *pool, int32_t index) { (void)pool, (void)index; }
#else
/* ---- several ----------------------------------------------------------------------------------------------------- */
#include <stdatomic.h>
#include <stdlib.h>
#if !defined(__wasm__)
#include <pthread.h>
#endif

#define TILE_BITS   18 /* the word: 28 bits of epoch, 18 of n_tiles, 18 of the next tile */
#define MAX_TILES   ((1 << TILE_BITS) - 1)
/* How often a word is read before the thread sleeps: about 30 microseconds for the next job, about 10 for a tile. */
#define JOB_SPINS   (sizeof(void *) == 8 ? 1000 : 40000)
#define DONE_SPINS  (JOB_SPINS / 3)
/* Stalls. A caller's wait of more than STALL ms that is also longer than its own part of the job means that another
 * process took a helper's core in the middle of a tile. After a second stall within NEAR jobs the caller runs the next
 * ALONE_FIRST jobs without helpers, twice as many after each further stall, up to ALONE_MOST; the number returns to
 * ALONE_FIRST after as many jobs without a stall. Jobs whose own part takes LONG ms (a lane of training) are exempt:
 * there a lost time slice costs less than running alone. */
#define STALL       3.0
#define LONG        30.0
#define NEAR        1024
#define ALONE_FIRST 512
#define ALONE_MOST  (1 << 16)
#define STACK       (128 << 10) /* bytes of a wasm helper's stack; matmul.c takes 20 KB of it */

struct gf_pool {
    _Atomic uint64_t job;
    _Atomic(gf_tile_fn) fn;
    _Atomic(void *) ctx;
    _Atomic uint32_t done; /* finished tiles of this job */
    char apart[64];        /* a cache line between what waiting threads read and what working threads write */
    _Atomic uint32_t epoch;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t stop;
    int32_t n_threads;
    int32_t alone;      /* jobs that the caller still runs without helpers */
    int32_t alone_next; /* the value of alone after the next stall */
    int32_t calm;       /* jobs since the last stall */
    struct gf_pace pace;
    double pass_began;        /* 0: none is timed */
    int solo;                 /* helpers take no part until the next pass */
#if defined(__wasm__)
    _Atomic uint32_t present; /* helpers that have started and not yet returned */
    _Atomic uint32_t pages;   /* of memory, when the job was opened */
    char *stacks;
#else
    double (*now_ms)(void);
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t threads[];
#endif
};

#if defined(__wasm__)
#define NOW_MS(p) gf_now_ms()
#else
#define NOW_MS(p) (p)->now_ms()
void gf_pool_clock(struct gf_pool *p, double (*now_ms)(void)) { p->now_ms = now_ms; }
#endif

/* Whether this thread may access all memory that the job uses. V8 keeps the size of a shared memory in each instance,
 * updates it by an interrupt after growth in another thread, and checks bulk copies against it: until the interrupt
 * arrives, a copy into the new part traps. Such a helper leaves the job to the other threads. */
#if defined(__wasm__)
#define STATE_MEMORY(p) atomic_store(&(p)->pages, (uint32_t)__builtin_wasm_memory_size(0))
#define SEES_MEMORY(p)  ((uint32_t)__builtin_wasm_memory_size(0) >= atomic_load(&(p)->pages))
#else
#define STATE_MEMORY(p) ((void)(p))
#define SEES_MEMORY(p)  1
#endif

static void spin_hint(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Return when *word is no longer `value`: the milliseconds slept, 0 if spinning was enough. */
static double wait_while(struct gf_pool *p, _Atomic uint32_t *word, uint32_t value, int spins) {
    for (int i = 0; i < spins; i++) {
        if (atomic_load(word) != value) return 0;
        spin_hint();
    }
    const double began = NOW_MS(p);
    atomic_fetch_add(&p->sleepers, 1);
#if defined(__wasm__)
    while (atomic_load(word) == value) __builtin_wasm_memory_atomic_wait32((int32_t *)word, (int32_t)value, -1);
#else
    pthread_mutex_lock(&p->lock);
    while (atomic_load(word) == value) pthread_cond_wait(&p->wake, &p->lock);
    pthread_mutex_unlock(&p->lock);
#endif
    atomic_fetch_sub(&p->sleepers, 1);
    return NOW_MS(p) - began;
}

/* After a change of *word: wake the threads that sleep on it. */
static void wake_all(struct gf_pool *p, _Atomic uint32_t *word) {
    if (atomic_load(&p->sleepers) == 0) return;
#if defined(__wasm__)
    __builtin_wasm_memory_atomic_notify((int32_t *)word, UINT32_MAX);
#else
    (void)word;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
#endif
}

/* Claim and run tiles until none is left. A thread claims several neighbouring tiles at a time, fewer towards the end:
 * fewer swaps, and memory is read sequentially. */
static void work(struct gf_pool *p) {
    for (;;) {
        uint64_t job = atomic_load(&p->job);
        uint32_t n = (uint32_t)(job >> TILE_BITS) & MAX_TILES, tile = (uint32_t)job & MAX_TILES;
        if (tile >= n || !SEES_MEMORY(p)) return;
        gf_tile_fn fn = atomic_load(&p->fn);
        void *ctx = atomic_load(&p->ctx);
        uint32_t few = (n - tile) / (2 * (uint32_t)p->n_threads), run = few > 1 ? few : 1;
        if (!atomic_compare_exchange_weak(&p->job, &job, job + run)) continue;
        for (uint32_t i = 0; i < run; i++) fn(ctx, (int32_t)(tile + i));
        if (atomic_fetch_add(&p->done, run) + run == n) wake_all(p, &p->done);
    }
}

static void help(struct gf_pool *p) {
    uint32_t seen = 0;
    while (!atomic_load(&p->stop)) {
        work(p);
        wait_while(p, &p->epoch, seen, JOB_SPINS);
        seen = atomic_load(&p->epoch);
    }
}

static void next_epoch(struct gf_pool *p) {
    atomic_fetch_add(&p->epoch, 1);
    wake_all(p, &p->epoch);
}

/* Detect stalls after a job in which the caller slept for `slept` ms. began: the job's start, where a stall was within
 * NEAR jobs. */
static void detect_stall(struct gf_pool *p, double slept, double began) {
    if (slept > STALL) {
        const double worked = NOW_MS(p) - began - slept;
        if (p->calm < NEAR && worked < slept && worked < LONG) {
            p->alone = p->alone_next;
            if (p->alone_next < ALONE_MOST) p->alone_next *= 2;
        }
        p->calm = 0;
    } else {
        if (p->calm < ALONE_MOST) p->calm++;
        if (p->calm >= p->alone_next) p->alone_next = ALONE_FIRST;
    }
}

static void run_some(struct gf_pool *p, gf_tile_fn fn, void *ctx, uint32_t n) {
    if (p->solo || p->alone > 0) {
        if (!p->solo) p->alone--;
        for (uint32_t i = 0; i < n; i++) fn(ctx, (int32_t)i);
        return;
    }
    const double began = p->calm < NEAR ? NOW_MS(p) : 0;
    uint64_t epoch = atomic_load(&p->epoch) + 1;
    atomic_store(&p->fn, fn);
    atomic_store(&p->ctx, ctx);
    atomic_store(&p->done, 0);
    STATE_MEMORY(p);
    atomic_store(&p->job, epoch << 2 * TILE_BITS | (uint64_t)n << TILE_BITS);
    next_epoch(p);
    work(p);
    double slept = 0;
    for (uint32_t d; (d = atomic_load(&p->done)) < n;) slept += wait_while(p, &p->done, d, DONE_SPINS);
    detect_stall(p, slept, began);
}

struct later_tiles {
    gf_tile_fn fn;
    void *ctx;
    int32_t first;
};
static void run_later(void *ctx, int32_t tile) {
    struct later_tiles *l = ctx;
    l->fn(l->ctx, l->first + tile);
}

void gf_pool_run(struct gf_pool *pool, gf_tile_fn fn, void *ctx, int32_t n_tiles) {
    if (!pool || n_tiles <= 1) {
        for (int32_t i = 0; i < n_tiles; i++) fn(ctx, i);
        return;
    }
    if (n_tiles <= MAX_TILES) {
        run_some(pool, fn, ctx, (uint32_t)n_tiles);
        return;
    }
    struct later_tiles l = {fn, ctx, 0};
    for (; n_tiles > 0; n_tiles -= MAX_TILES, l.first += MAX_TILES)
        run_some(pool, run_later, &l, (uint32_t)(n_tiles < MAX_TILES ? n_tiles : MAX_TILES));
}

int32_t gf_pool_threads(const struct gf_pool *pool) { return pool ? pool->n_threads : 1; }

void gf_pool_pass(struct gf_pool *p, int again) {
    if (!p) return;
    p->solo = again && !gf_pace_helped(&p->pace);
    p->pass_began = again ? NOW_MS(p) : 0;
}
void gf_pool_passed(struct gf_pool *p) {
    if (p && p->pass_began > 0) gf_pace_took(&p->pace, NOW_MS(p) - p->pass_began);
}

#if defined(__wasm__)
/* Static and never freed: a worker that starts after gf_pool_close still finds `stop` set. */
static struct gf_pool the_pool;

struct gf_pool *gf_pool_open(int32_t n_threads) {
    struct gf_pool *p = &the_pool;
    if (n_threads <= 1 || p->n_threads) return NULL;
    p->stacks = malloc((size_t)(n_threads - 1) * STACK);
    if (!p->stacks) return NULL;
    p->n_threads = n_threads;
    p->alone_next = ALONE_FIRST;
    p->calm = NEAR;
    gf_pace_open(&p->pace);
    return p;
}

uint32_t gf_pool_stack(struct gf_pool *p, int32_t index) {
    if (!p || index < 1 || index >= p->n_threads) return 0;
    return ((uint32_t)(uintptr_t)p->stacks + (uint32_t)index * STACK) & ~15u;
}

void gf_pool_worker(struct gf_pool *p, int32_t index) {
    (void)index;
    atomic_fetch_add(&p->present, 1);
    help(p);
    atomic_fetch_sub(&p->present, 1);
    wake_all(p, &p->present);
}

void gf_pool_close(struct gf_pool *p) {
    if (!p) return;
    atomic_store(&p->stop, 1);
    next_epoch(p);
    for (uint32_t n; (n = atomic_load(&p->present)) > 0;) wait_while(p, &p->present, n, DONE_SPINS);
}
#else
static void *helper(void *pool) {
    help(pool);
    return NULL;
}

struct gf_pool *gf_pool_open(int32_t n_threads) {
    if (n_threads <= 1) return NULL;
    struct gf_pool *p = calloc(1, sizeof *p + (size_t)(n_threads - 1) * sizeof p->threads[0]);
    if (!p) return NULL;
    p->now_ms = gf_now_ms;
    p->alone_next = ALONE_FIRST;
    p->calm = NEAR;
    gf_pace_open(&p->pace);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    for (p->n_threads = 1; p->n_threads < n_threads; p->n_threads++)
        if (pthread_create(&p->threads[p->n_threads - 1], NULL, helper, p) != 0) break;
    if (p->n_threads > 1) return p;
    gf_pool_close(p);
    return NULL;
}

void gf_pool_close(struct gf_pool *p) {
    if (!p) return;
    atomic_store(&p->stop, 1);
    next_epoch(p);
    for (int32_t i = 0; i < p->n_threads - 1; i++) pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
#endif
#endif
