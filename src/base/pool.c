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
#include <string.h>

#if defined(__wasm__) && !defined(__wasm_atomics__)
/* ---- build without threads --------------------------------------------------------------------------------------- */

struct gf_pool *gf_pool_open(int32_t n_threads) {
    (void)n_threads;
    return NULL;
}
void gf_pool_close(struct gf_pool *pool) { (void)pool; }
void gf_pool_run(struct gf_pool *pool, gf_tile_fn fn, void *ctx, int32_t n_tiles) {
    (void)pool;
    for (int32_t i = 0; i < n_tiles; i++) fn(ctx, i);
}
void gf_pool_begin_pass(struct gf_pool *pool, int repeated) { (void)pool, (void)repeated; }
void gf_pool_end_pass(struct gf_pool *pool) { (void)pool; }
void gf_pool_state(const struct gf_pool *pool, double *out) {
    (void)pool;
    memset(out, 0, 6 * sizeof *out);
}
uint32_t gf_pool_stack(struct gf_pool *pool, int32_t index) {
    (void)pool, (void)index;
    return 0;
}
void gf_pool_worker(struct gf_pool *pool, int32_t index) { (void)pool, (void)index; }
#else
/* ---- builds with threads ----------------------------------------------------------------------------------------- */
#include <stdatomic.h>
#include <stdlib.h>
#if !defined(__wasm__)
#include <pthread.h>
#endif

#define TILE_BITS    18 /* the word: 28 bits of epoch, 18 of n_tiles, 18 of the next tile */
#define MAX_TILES    ((1 << TILE_BITS) - 1)
/* Reads of the awaited word before a thread sleeps: about 30 microseconds for the next job, about 10 for the last tile.
 * wasm (4-byte pointers) has no pause instruction between reads and therefore needs more of them. */
#define JOB_SPINS    (sizeof(void *) == 8 ? 1000 : 40000)
#define DONE_SPINS   (JOB_SPINS / 3)
/* Stalls. When the operating system suspends a helper in the middle of a tile, the caller waits for that tile. A wait
 * of more than STALL_MS is a stall. One may be chance. A second within STALL_WINDOW jobs, if the caller waited longer
 * than it worked on the job, means that another process uses the helper's core: the caller runs the next SOLO_FIRST
 * jobs without helpers, and twice as many each further time, up to SOLO_MOST. After as many jobs without a stall as
 * the next solo period would have, its length is SOLO_FIRST again. Jobs on which the caller works for LONG_JOB_MS or
 * more (training) start no solo period: there a suspended helper costs less than running without helpers. */
#define STALL_MS     3.0
#define LONG_JOB_MS  30.0
#define STALL_WINDOW 1024
#define SOLO_FIRST   512
#define SOLO_MOST    (1 << 16)
#define STACK_BYTES  (128 << 10) /* a wasm helper has this much; matmul.c uses 20 KB */

struct gf_pool {
    _Atomic uint64_t job;
    _Atomic(gf_tile_fn) fn;
    _Atomic(void *) ctx;
    _Atomic uint32_t done; /* finished tiles of this job */
    char padding[64];      /* keeps what waiting threads read off the cache line that working threads write */
    _Atomic uint32_t epoch;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t stop;
    int32_t n_threads;
    int32_t solo_jobs;      /* jobs that the caller still runs without helpers */
    int32_t solo_next;      /* length of the next solo period, in jobs */
    int32_t jobs_unstalled; /* jobs since the last stall, at most SOLO_MOST */
    struct gf_pace pace;
    double pass_began;        /* time in ms; 0: the pass is not timed */
    int solo_pass;            /* this pass runs without helpers */
#if defined(__wasm__)
    _Atomic uint32_t present; /* helpers that have started and not yet returned */
    _Atomic uint32_t pages;   /* size of the memory when the job was opened, in pages of 64 KB */
    char *stacks;             /* STACK_BYTES for each helper */
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

/* Whether this thread can access all memory that the job uses. V8 keeps the size of a shared memory in each instance,
 * updates it by an interrupt after another thread has grown the memory, and checks bulk copies against it: until the
 * interrupt arrives, a copy into the new part traps. A helper in this state takes no tile. */
#if defined(__wasm__)
#define PUBLISH_MEMORY(p) atomic_store(&(p)->pages, (uint32_t)__builtin_wasm_memory_size(0))
#define HAS_MEMORY(p)     ((uint32_t)__builtin_wasm_memory_size(0) >= atomic_load(&(p)->pages))
#else
#define PUBLISH_MEMORY(p) ((void)(p))
#define HAS_MEMORY(p)     1
#endif

static void spin_hint(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Wait until *word differs from `value`. Returns the milliseconds slept; 0 if spinning was enough. */
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

/* Wake the threads that sleep on *word. Called after *word has changed. */
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

/* Claim and run tiles until none is left. A thread claims several neighbouring tiles at a time, which takes fewer swaps
 * and reads memory sequentially; fewer towards the end, so that all threads finish at about the same time. */
static void run_tiles(struct gf_pool *p) {
    for (;;) {
        uint64_t job = atomic_load(&p->job);
        uint32_t n = (uint32_t)(job >> TILE_BITS) & MAX_TILES, tile = (uint32_t)job & MAX_TILES;
        if (tile >= n || !HAS_MEMORY(p)) return;
        gf_tile_fn fn = atomic_load(&p->fn);
        void *ctx = atomic_load(&p->ctx);
        uint32_t share = (n - tile) / (2 * (uint32_t)p->n_threads), count = share > 1 ? share : 1;
        if (!atomic_compare_exchange_weak(&p->job, &job, job + count)) continue;
        for (uint32_t i = 0; i < count; i++) fn(ctx, (int32_t)(tile + i));
        if (atomic_fetch_add(&p->done, count) + count == n) wake_all(p, &p->done);
    }
}

/* What a helper thread runs: the tiles of each job, until the pool is closed. */
static void helper_loop(struct gf_pool *p) {
    uint32_t seen = 0;
    while (!atomic_load(&p->stop)) {
        run_tiles(p);
        wait_while(p, &p->epoch, seen, JOB_SPINS);
        seen = atomic_load(&p->epoch);
    }
}

static void next_epoch(struct gf_pool *p) {
    atomic_fetch_add(&p->epoch, 1);
    wake_all(p, &p->epoch);
}

/* Detect a stall after a job in which the caller slept for `slept` ms. began: the time at which the job started; used
 * only if the last stall is less than STALL_WINDOW jobs ago. */
static void detect_stall(struct gf_pool *p, double slept, double began) {
    if (slept > STALL_MS) {
        const double worked = NOW_MS(p) - began - slept;
        if (p->jobs_unstalled < STALL_WINDOW && worked < slept && worked < LONG_JOB_MS) {
            p->solo_jobs = p->solo_next;
            if (p->solo_next < SOLO_MOST) p->solo_next *= 2;
        }
        p->jobs_unstalled = 0;
    } else {
        if (p->jobs_unstalled < SOLO_MOST) p->jobs_unstalled++;
        if (p->jobs_unstalled >= p->solo_next) p->solo_next = SOLO_FIRST;
    }
}

/* Run a job of n <= MAX_TILES tiles. */
static void run_job(struct gf_pool *p, gf_tile_fn fn, void *ctx, uint32_t n) {
    if (p->solo_pass || p->solo_jobs > 0) {
        if (!p->solo_pass) p->solo_jobs--;
        for (uint32_t i = 0; i < n; i++) fn(ctx, (int32_t)i);
        return;
    }
    const double began = p->jobs_unstalled < STALL_WINDOW ? NOW_MS(p) : 0;
    uint64_t epoch = atomic_load(&p->epoch) + 1;
    atomic_store(&p->fn, fn);
    atomic_store(&p->ctx, ctx);
    atomic_store(&p->done, 0);
    PUBLISH_MEMORY(p);
    atomic_store(&p->job, epoch << 2 * TILE_BITS | (uint64_t)n << TILE_BITS);
    next_epoch(p);
    run_tiles(p);
    double slept = 0;
    for (uint32_t done; (done = atomic_load(&p->done)) < n;) slept += wait_while(p, &p->done, done, DONE_SPINS);
    detect_stall(p, slept, began);
}

/* Part of a job of more than MAX_TILES tiles: its tile i is tile first + i of the whole. */
struct job_part {
    gf_tile_fn fn;
    void *ctx;
    int32_t first;
};
static void run_part_tile(void *ctx, int32_t tile) {
    const struct job_part *part = ctx;
    part->fn(part->ctx, part->first + tile);
}

void gf_pool_run(struct gf_pool *pool, gf_tile_fn fn, void *ctx, int32_t n_tiles) {
    if (!pool || n_tiles <= 1) {
        for (int32_t i = 0; i < n_tiles; i++) fn(ctx, i);
        return;
    }
    if (n_tiles <= MAX_TILES) {
        run_job(pool, fn, ctx, (uint32_t)n_tiles);
        return;
    }
    struct job_part part = {fn, ctx, 0};
    for (; n_tiles > 0; n_tiles -= MAX_TILES, part.first += MAX_TILES)
        run_job(pool, run_part_tile, &part, (uint32_t)(n_tiles < MAX_TILES ? n_tiles : MAX_TILES));
}

void gf_pool_begin_pass(struct gf_pool *p, int repeated) {
    if (!p) return;
    p->solo_pass = repeated && !gf_pace_helped(&p->pace);
    p->pass_began = repeated ? NOW_MS(p) : 0;
}
void gf_pool_end_pass(struct gf_pool *p) {
    if (p && p->pass_began > 0) gf_pace_took(&p->pace, NOW_MS(p) - p->pass_began);
}
void gf_pool_state(const struct gf_pool *p, double *out) {
    memset(out, 0, 6 * sizeof *out);
    if (!p) return;
    out[0] = p->pace.state, out[1] = p->pace.left, out[2] = p->pace.kept_ms, out[3] = p->pace.trial_ms;
    out[4] = p->pace.slow, out[5] = p->solo_jobs;
}

#if defined(__wasm__)
/* Static and never freed, so that a worker that starts after gf_pool_close can read `stop`. */
static struct gf_pool the_pool;

struct gf_pool *gf_pool_open(int32_t n_threads) {
    struct gf_pool *p = &the_pool;
    if (n_threads <= 1 || p->n_threads) return NULL;
    p->stacks = malloc((size_t)(n_threads - 1) * STACK_BYTES);
    if (!p->stacks) return NULL;
    p->n_threads = n_threads;
    p->solo_next = SOLO_FIRST;
    p->jobs_unstalled = STALL_WINDOW;
    gf_pace_open(&p->pace);
    return p;
}

uint32_t gf_pool_stack(struct gf_pool *p, int32_t index) {
    if (!p || index < 1 || index >= p->n_threads) return 0;
    return ((uint32_t)(uintptr_t)p->stacks + (uint32_t)index * STACK_BYTES) & ~15u;
}

void gf_pool_worker(struct gf_pool *p, int32_t index) {
    (void)index;
    atomic_fetch_add(&p->present, 1);
    helper_loop(p);
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
    helper_loop(pool);
    return NULL;
}

struct gf_pool *gf_pool_open(int32_t n_threads) {
    if (n_threads <= 1) return NULL;
    struct gf_pool *p = calloc(1, sizeof *p + (size_t)(n_threads - 1) * sizeof p->threads[0]);
    if (!p) return NULL;
    p->now_ms = gf_now_ms;
    p->solo_next = SOLO_FIRST;
    p->jobs_unstalled = STALL_WINDOW;
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
