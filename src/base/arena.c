/* arena.c - see arena.h. */
#include "base/arena.h"
#include "base/bytes.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef __wasm__
extern void *sbrk(intptr_t n); /* -std=c11 leaves it out of unistd.h */
#endif

enum { LINE = 64 };

void *gf_calloc(uint64_t n, uint64_t size) {
    const uint64_t bytes = gf_mul_u64(n, size);
    return bytes > SIZE_MAX >> 1 ? NULL : calloc(1, bytes ? (size_t)bytes : 1);
}

void *gf_alloc(uint64_t n) {
    /* The largest size of one object in C: 2 GiB in wasm. Larger sizes would overflow when 2 * LINE is added. */
    if (n > (SIZE_MAX >> 1) - 2 * LINE) return NULL;
#ifdef __wasm__
    /* Memory above the end of the heap is zero. The calloc of the C library would write it and so make it resident. */
    const uintptr_t end = (uintptr_t)sbrk(0);
    uint8_t *raw = malloc((size_t)n + 2 * LINE);
#else
    uint8_t *raw = calloc(1, (size_t)n + 2 * LINE);
#endif
    if (!raw) return NULL;
    uint8_t *p = (uint8_t *)(((uintptr_t)raw + 2 * LINE - 1) & ~(uintptr_t)(LINE - 1));
#ifdef __wasm__
    if ((uintptr_t)p < end) memset(p, 0, end - (uintptr_t)p < n ? end - (uintptr_t)p : (size_t)n);
#endif
    memcpy(p - sizeof raw, &raw, sizeof raw);
    return p;
}

void gf_free(void *p) {
    if (!p) return;
    uint8_t *raw;
    memcpy(&raw, (uint8_t *)p - sizeof raw, sizeof raw);
    free(raw);
}

int gf_arena_open(struct gf_arena *a, uint64_t size) {
    a->memory = gf_alloc(size);
    a->size = size;
    a->used = 0;
    return a->memory ? 0 : -1;
}

void gf_arena_close(struct gf_arena *a) {
    gf_free(a->memory);
    memset(a, 0, sizeof *a);
}

void *gf_arena_take(struct gf_arena *a, uint64_t n) {
    const uint64_t offset = a->used;
    a->used = gf_add_u64(offset, gf_round_up(n, LINE));
    if (!a->memory || n == 0) return NULL;
    assert(a->used <= a->size);
    return a->memory + offset;
}
