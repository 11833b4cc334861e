/* pool.h - work cut into fixed tiles that threads claim as they go.
 *
 * Who computes a tile never changes its result. Nobody waits for a thread, only for tiles that were
 * claimed: a thread that loses its core costs the run of neighbouring tiles it holds, not the job.
 * Helpers watch for the next job for some 30 microseconds (a token has dozens, a few microseconds
 * apart), then sleep. */
#ifndef GF_POOL_H
#define GF_POOL_H
#include <stdint.h>

struct gf_pool;
typedef void (*gf_tile_fn)(void *ctx, int32_t tile);

/* A pool of n_threads threads, the caller's among them. NULL when one thread is all there is
 * (n_threads <= 1, a build without threads) or memory or threads could not be had: NULL is a valid
 * pool everywhere below. Owned by the caller, gf_pool_close ends it. */
struct gf_pool *gf_pool_open(int32_t n_threads);
/* Wait until every helper has left, then free the pool. */
void gf_pool_close(struct gf_pool *pool);
int32_t gf_pool_threads(const struct gf_pool *pool); /* the caller's included; NULL: 1 */

/* Call fn(ctx, 0) ... fn(ctx, n_tiles - 1), each once, in any order, and return when all are done.
 * pool NULL: on this thread, in order. One call at a time, none from inside a tile. */
void gf_pool_run(struct gf_pool *pool, gf_tile_fn fn, void *ctx, int32_t n_tiles);

/* Around a pass of many small jobs that comes again and again, as every token does: it is done in
 * the way that was faster (pace.h), and so is what follows up to the next pass. Work that is not
 * of that kind begins with `again` 0 and is never timed. */
void gf_pool_pass(struct gf_pool *pool, int again);
void gf_pool_passed(struct gf_pool *pool);

#if !defined(__wasm__)
/* Replace the clock that decides who computes: tests give one that they move by hand. Called by the
 * thread that owns the pool, between jobs. */
void gf_pool_clock(struct gf_pool *pool, double (*now_ms)(void));
#else
/* WebAssembly starts no threads by itself: JavaScript brings helper 1 ... n_threads - 1, each a
 * worker with its own instance of the same module on the same shared memory. Compiled with
 * -matomics -mbulk-memory, linked with shared, imported memory and the global __stack_pointer
 * exported.
 *
 *   on the engine's thread                          in the worker, when told so
 *     pool = x.gf_pool_open(n)                        x = new WebAssembly.Instance(module,
 *     for i in 1 .. n - 1: tell worker i                    { env: { memory, ... } }).exports
 *       { module, memory, pool, i,                    x.__stack_pointer.value = stack
 *         stack: x.gf_pool_stack(pool, i) }           x.gf_pool_worker(pool, i)
 *
 * An instance begins with the stack pointer of the first one, so the global must be set before
 * anything else is called. Work may be given to the pool at once; helpers join when they are up.
 * The engine's thread sleeps while it waits, so it must be one that may: not a page's main thread.
 * gf_pool_worker returns after gf_pool_close, which waits for those who came (so let none be
 * terminated before); then the worker may end. A memory has one pool in its life: the second
 * gf_pool_open gives NULL. */
uint32_t gf_pool_stack(struct gf_pool *pool, int32_t index); /* address of the stack's upper end */
void gf_pool_worker(struct gf_pool *pool, int32_t index);
#endif
#endif
