/* heap_test.c - the allocator of the wasm binaries, whose source is included here, on a heap of its own.
 * tests/fuzz/full_memory.js uses it where addresses end. */
#include "check.h"
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define malloc  heap_malloc
#define calloc  heap_calloc
#define realloc heap_realloc
#define free    heap_free
#define sbrk    heap_sbrk
void *malloc(size_t n);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t n);
void free(void *p);
#include "../../src/wasm/heap.c" /* no header: it replaces the C library's */

enum { ROOM = 1 << 18, MOST = 200 };
static _Alignas(64) unsigned char room[ROOM];
static size_t used = 8; /* the heap does not begin at a multiple of GRAIN */

void *heap_sbrk(intptr_t n) {
    if ((size_t)n > ROOM - used) return (void *)-1;
    used += (size_t)n;
    return room + used - (size_t)n;
}

static uint32_t state = 1;
static uint32_t below(uint32_t n) { return (state = state * 1664525u + 1013904223u) / 65536 % n; }

/* An allocation of n bytes, each of which is `mark`. */
struct piece {
    unsigned char *p;
    size_t n;
    unsigned char mark;
};

static int is_intact(const struct piece *a, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a->p[i] != a->mark) return 0;
    return 1;
}

static void allocate(struct piece *a, unsigned char mark) {
    a->n = below(8) ? below(300) : below(ROOM / 4);
    a->mark = mark;
    const int zeroed = below(4) == 0;
    a->p = zeroed ? calloc(a->n, 1) : malloc(a->n);
    if (!a->p) return;
    CHECK_INT((uintptr_t)a->p % 16, 0);
    CHECK(a->p >= room && a->p + a->n <= room + used);
    if (zeroed) CHECK(is_intact(&(struct piece){a->p, a->n, 0}, a->n));
    memset(a->p, mark, a->n);
}

static void reallocate(struct piece *a) {
    const size_t n = below(3) ? below(400) : below(ROOM / 4);
    unsigned char *p = realloc(a->p, n);
    if (!p) {
        CHECK(is_intact(a, a->n));
        return;
    }
    a->p = p;
    CHECK(is_intact(a, a->n < n ? a->n : n));
    a->n = n;
    memset(p, a->mark, n);
}

static void pieces_keep_their_bytes_and_the_heap_is_whole_again_when_all_are_free(void) {
    struct piece all[MOST];
    int n = 0, refused = 0;
    for (int step = 0; step < 200000; step++) {
        const int i = n ? (int)below((uint32_t)n) : 0;
        if (n < MOST && below(5) < 2) {
            allocate(&all[n], (unsigned char)step);
            if (all[n].p)
                n++;
            else
                refused++;
        } else if (n && below(3)) {
            CHECK(is_intact(&all[i], all[i].n));
            free(all[i].p);
            all[i] = all[--n];
        } else if (n) {
            reallocate(&all[i]);
        }
    }
    CHECK(refused > 100);
    while (n) free(all[--n].p);
    void *most = malloc(used - 16 - 2 * sizeof(size_t)); /* in one block, behind its header */
    CHECK(most != NULL);
    free(most);
    free(NULL);
}

static void sizes_that_no_memory_has_are_refused(void) {
    CHECK(malloc(SIZE_MAX) == NULL);
    CHECK(malloc(SIZE_MAX - 40) == NULL);
    CHECK(malloc(ROOM) == NULL);
    CHECK(calloc(SIZE_MAX / 2 + 2, 2) == NULL); /* the product is 2 */
    void *p = malloc(0);
    CHECK(p != NULL && realloc(p, SIZE_MAX) == NULL);
    free(realloc(p, 10));
}

int main(void) {
    RUN(pieces_keep_their_bytes_and_the_heap_is_whole_again_when_all_are_free);
    RUN(sizes_that_no_memory_has_are_refused);
    return check_end();
}
