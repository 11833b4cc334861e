/* pool.h - work cut into fixed tiles that threads claim as they go.
 *
 * Who computes a tile never changes its result. Nobody waits for a thread, only for tiles that were
 * claimed: a thread that loses its core costs the tile it holds, not the job. Helpers watch for the
 * next job for some microseconds (a token has dozens, a few microseconds apart), then sleep. */
#ifndef GF_POOL_H
#define GF_POOL_H
#include <stdint.h>

struct gf_pool;
typedef void (*gf_tile_fn)(void *ctx, int32_t tile);

/* A pool of n_threads threads, the caller's among them. NULL when one thread is all there is
 * (n_threads <= 1, a build without threads) or memory or threads could not be had: NULL is a valid
 * pool everywhere below. Owned by the caller, gf_pool_close ends it. */
struct gf_pool *gf_pool_open(int32_t n_threads);
void gf_pool_close(struct gf_pool *pool);
int32_t gf_pool_threads(const struct gf_pool *pool); /* the caller's included; NULL: 1 */

/* Call fn(ctx, 0) ... fn(ctx, n_tiles - 1), each once, in any order, and return when all are done.
 * pool NULL: on this thread, in order. One call at a time, none from inside a tile. */
void gf_pool_run(struct gf_pool *pool, gf_tile_fn fn, void *ctx, int32_t n_tiles);
#endif
