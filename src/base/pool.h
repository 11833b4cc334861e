/* pool.h - threads that share a job: the job is cut into fixed tiles, and each thread claims the next ones.
 *
 * The result of a tile does not depend on the thread that computes it. The caller waits for claimed tiles, not for
 * threads: a thread that the operating system suspends delays the tiles that it has claimed and nothing else. Idle
 * helpers spin for about 30 microseconds (decoding one token runs dozens of jobs, a few microseconds apart), then
 * sleep. */
#ifndef GF_POOL_H
#define GF_POOL_H
#include <stdint.h>

struct gf_pool;
typedef void (*gf_tile_fn)(void *ctx, int32_t tile);

/* A pool of n_threads threads, the caller's included. NULL for n_threads <= 1, in a build without threads, and when
 * memory or threads are not available; every call below takes NULL as a pool of one thread. Owned by the caller, who
 * ends it with gf_pool_close. */
struct gf_pool *gf_pool_open(int32_t n_threads);
/* Ends the helpers, waits until they have returned, and frees the pool. */
void gf_pool_close(struct gf_pool *pool);

/* Call fn(ctx, 0) ... fn(ctx, n_tiles - 1), each once, in any order, and return when all are done.
 * pool NULL: on this thread, in order. One call at a time, none from inside a tile. */
void gf_pool_run(struct gf_pool *pool, gf_tile_fn fn, void *ctx, int32_t n_tiles);

/* Call these around a pass of many jobs. repeated = 1: passes of the same kind repeat (decoding, one pass a token);
 * they are timed, and pace.h decides whether helpers take part in this pass. repeated = 0: any other work; it is not
 * timed and helpers take part. */
void gf_pool_begin_pass(struct gf_pool *pool, int repeated);
void gf_pool_end_pass(struct gf_pool *pool);
/* What decides whether helpers take part, for a benchmark to print. out[6]: state, left, kept_ms, trial_ms and slow of
 * pace.h, and the jobs that still run without helpers after a stall. All 0 for NULL. */
void gf_pool_state(const struct gf_pool *pool, double *out);

#if !defined(__wasm__)
/* Replace the clock that pace.h and the stall detection read; tests pass one that they advance themselves. Called by
 * the thread that owns the pool, between jobs. */
void gf_pool_clock(struct gf_pool *pool, double (*now_ms)(void));
#else
/* WebAssembly cannot start threads: JavaScript starts helpers 1 ... n_threads - 1, each a worker with its own instance
 * of the same module on the same shared memory. Compiled with -matomics -mbulk-memory, linked with shared, imported
 * memory and the global __stack_pointer exported.
 *
 *   on the engine's thread                          in the worker, when told so
 *     pool = x.gf_pool_open(n)                        x = new WebAssembly.Instance(module,
 *     for i in 1 .. n - 1: tell worker i                    { env: { memory, ... } }).exports
 *       { module, memory, pool, i,                    x.__stack_pointer.value = stack
 *         stack: x.gf_pool_stack(pool, i) }           x.gf_pool_worker(pool, i)
 *
 * A new instance has the stack pointer of the first one, so __stack_pointer must be set before any other call. Jobs may
 * run at once; helpers join when they have started. The engine's thread sleeps while it waits, which a page's main
 * thread may not do, so the engine runs in a worker. gf_pool_worker returns after gf_pool_close, which waits for every
 * helper that has started; do not terminate a helper before. One memory has at most one pool: a second gf_pool_open
 * returns NULL. */
uint32_t gf_pool_stack(struct gf_pool *pool, int32_t index); /* address of the stack's upper end */
void gf_pool_worker(struct gf_pool *pool, int32_t index);
#endif
#endif
