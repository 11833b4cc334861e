/* pool.c - see pool.h.
 *
 * A job is fn, ctx and one 64-bit word: which job, how many tiles, the next tile. A thread reads
 * the word, then fn and ctx, and claims by compare and swap. If that succeeds the job was still
 * open in between, and fn and ctx were its own; a thread that slept through the end of the job
 * fails and looks again. The caller opens a job only after all tiles of the last one are done. */
#include "base/pool.h"
#include <stddef.h> /* NULL */

#if defined(__wasm__) && !defined(__wasm_atomics__)
/* ---- one thread ---------------------------------------------------------------------------- */

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
#else
/* ---- POSIX threads ------------------------------------------------------------------------- */
#include <pthread.h>
#include <sched.h> /* sched_yield */
#include <stdatomic.h>
#include <stdlib.h>

#define TILE_BITS 18 /* the word: 28 bits of epoch, 18 of n_tiles, 18 of the next tile */
#define MAX_TILES ((1 << TILE_BITS) - 1)
#define SPINS     2000 /* about 50 microseconds */

struct gf_pool {
    _Atomic uint64_t job;
    _Atomic(gf_tile_fn) fn;
    _Atomic(void *) ctx;
    _Atomic uint32_t done; /* finished tiles of this job */
    char apart[64];        /* what waiting threads read, away from what working ones write */
    _Atomic uint32_t epoch;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t stop;
    pthread_mutex_t lock; /* for going to sleep */
    pthread_cond_t wake;
    int32_t n_threads;
    pthread_t threads[];
};

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Claim and run tiles until none is left. */
static void work(struct gf_pool *p) {
    for (;;) {
        uint64_t job = atomic_load_explicit(&p->job, memory_order_acquire);
        uint32_t n = (uint32_t)(job >> TILE_BITS) & MAX_TILES, tile = (uint32_t)job & MAX_TILES;
        if (tile >= n) return;
        gf_tile_fn fn = atomic_load_explicit(&p->fn, memory_order_relaxed);
        void *ctx = atomic_load_explicit(&p->ctx, memory_order_relaxed);
        if (!atomic_compare_exchange_weak_explicit(&p->job, &job, job + 1, memory_order_acq_rel,
                                                   memory_order_relaxed))
            continue;
        fn(ctx, (int32_t)tile);
        atomic_fetch_add_explicit(&p->done, 1, memory_order_release);
    }
}

static void *helper(void *pool) {
    struct gf_pool *p = pool;
    uint32_t seen = 0;
    for (;;) {
        for (int i = 0; i < SPINS && atomic_load(&p->epoch) == seen; i++) pause_briefly();
        if (atomic_load(&p->epoch) == seen) {
            pthread_mutex_lock(&p->lock);
            atomic_fetch_add(&p->sleepers, 1);
            while (atomic_load(&p->epoch) == seen) pthread_cond_wait(&p->wake, &p->lock);
            atomic_fetch_sub(&p->sleepers, 1);
            pthread_mutex_unlock(&p->lock);
        }
        seen = atomic_load(&p->epoch);
        if (atomic_load(&p->stop)) return NULL;
        work(p);
    }
}

/* Let the helpers see that something is new, asleep or not. */
static void call_helpers(struct gf_pool *p) {
    atomic_fetch_add(&p->epoch, 1);
    if (atomic_load(&p->sleepers) == 0) return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

static void run_some(struct gf_pool *p, gf_tile_fn fn, void *ctx, uint32_t n) {
    uint64_t epoch = atomic_load(&p->epoch) + 1;
    atomic_store_explicit(&p->fn, fn, memory_order_relaxed);
    atomic_store_explicit(&p->ctx, ctx, memory_order_relaxed);
    atomic_store_explicit(&p->done, 0, memory_order_relaxed);
    atomic_store_explicit(&p->job, epoch << 2 * TILE_BITS | (uint64_t)n << TILE_BITS,
                          memory_order_release);
    call_helpers(p);
    work(p);
    for (int i = 0; atomic_load_explicit(&p->done, memory_order_acquire) < n; i++) {
        if (i < SPINS)
            pause_briefly();
        else
            sched_yield();
    }
}

struct first_tile {
    gf_tile_fn fn;
    void *ctx;
    int32_t first;
};
static void run_from_first(void *ctx, int32_t tile) {
    struct first_tile *f = ctx;
    f->fn(f->ctx, f->first + tile);
}

void gf_pool_run(struct gf_pool *pool, gf_tile_fn fn, void *ctx, int32_t n_tiles) {
    if (!pool || n_tiles <= 1) {
        for (int32_t i = 0; i < n_tiles; i++) fn(ctx, i);
        return;
    }
    struct first_tile from = {fn, ctx, 0};
    for (; n_tiles > 0; n_tiles -= MAX_TILES, from.first += MAX_TILES)
        run_some(pool, run_from_first, &from,
                 (uint32_t)(n_tiles < MAX_TILES ? n_tiles : MAX_TILES));
}

struct gf_pool *gf_pool_open(int32_t n_threads) {
    if (n_threads <= 1) return NULL;
    struct gf_pool *p = calloc(1, sizeof *p + (size_t)(n_threads - 1) * sizeof p->threads[0]);
    if (!p) return NULL;
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
    call_helpers(p);
    for (int32_t i = 0; i < p->n_threads - 1; i++) pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

int32_t gf_pool_threads(const struct gf_pool *pool) { return pool ? pool->n_threads : 1; }
#endif
