/* arena.h - one allocation, carved up once, freed whole with the thing that owns it. */
#ifndef GF_ARENA_H
#define GF_ARENA_H
#include <stdint.h>

struct gf_arena {
    uint8_t *memory; /* 64-byte aligned; NULL when closed */
    uint64_t size, used;
};

/* Take `size` zeroed bytes from the heap. Returns 0, or -1 when they are not to be had. */
int gf_arena_open(struct gf_arena *a, uint64_t size);
void gf_arena_close(struct gf_arena *a);
/* The next n bytes, 64-byte aligned. The opener computed the size: running out is our mistake
 * (assert). n = 0 gives NULL. */
void *gf_arena_take(struct gf_arena *a, uint64_t n);
/* What gf_arena_take(n) uses up, for computing that size; GF_TOO_MUCH is passed on. */
uint64_t gf_arena_share(uint64_t n);

/* Single 64-byte aligned zeroed allocations, for what grows; NULL when not to be had. */
void *gf_take(uint64_t n);
void gf_give(void *p);
#endif
