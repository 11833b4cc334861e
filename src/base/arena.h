/* arena.h - one allocation that is divided once and freed as a whole. */
#ifndef GF_ARENA_H
#define GF_ARENA_H
#include <stdint.h>

struct gf_arena {
    uint8_t *memory; /* 64-byte aligned; NULL when closed */
    uint64_t size, used;
};

/* Take `size` zeroed bytes from the heap. Returns 0, or -1 without memory. */
int gf_arena_open(struct gf_arena *a, uint64_t size);
void gf_arena_close(struct gf_arena *a);
/* The next n bytes, 64-byte aligned. The caller computed the arena's size, so running out is a bug (assert). n = 0
 * gives NULL. */
void *gf_arena_take(struct gf_arena *a, uint64_t n);
/* The bytes that gf_arena_take(n) uses, for computing that size. GF_TOO_MUCH gives GF_TOO_MUCH. */
uint64_t gf_arena_share(uint64_t n);

/* One 64-byte aligned, zeroed allocation, for buffers that grow; NULL without memory. gf_free frees it (NULL
 * allowed). */
void *gf_alloc(uint64_t n);
void gf_free(void *p);
#endif
