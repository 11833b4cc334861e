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
/* The next n bytes, 64-byte aligned; n = 0 gives NULL. An arena that is all 0 gives NULL and only counts: one list of
 * calls first sums `used`, the size to open the arena with (GF_TOO_MUCH: more than can be counted), and then takes the
 * memory. An open arena that runs out is a bug (assert). */
void *gf_arena_take(struct gf_arena *a, uint64_t n);

/* n zeroed elements of `size` bytes, which free() frees; NULL without memory, and where the product has more than 64
 * bits or than an object can have (2 GiB in wasm). */
void *gf_calloc(uint64_t n, uint64_t size);
/* One 64-byte aligned, zeroed allocation, for buffers that grow; NULL without memory. gf_free frees it (NULL
 * allowed). */
void *gf_alloc(uint64_t n);
void gf_free(void *p);
#endif
