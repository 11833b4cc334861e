/* heap.c - malloc, calloc, realloc and free of the wasm binaries, in linear memory that grows up to 4 GiB.
 *
 * Blocks follow one another without gaps, each behind a header with its size and that of the block before it. Free
 * blocks are in lists by size, four lists for each power of two; neighbours that are free become one block.
 *
 * Emscripten's emmalloc adds a size to an address in 32 bits. Near 4 GiB the sum wraps, and a request for more than is
 * left then gets memory that others use. Here sizes are only compared with sizes. Emscripten's dlmalloc is 6.7 kB
 * larger. One thread calls this; nothing else may call sbrk with more than 0. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern void *sbrk(intptr_t n); /* -std=c11 leaves it out of unistd.h */

struct block {
    size_t before;             /* bytes of the block before this one; 0: this is the first */
    size_t size;               /* bytes, header included, a multiple of GRAIN; bit 0: in use */
    struct block *next, *prev; /* in its list, while it is free */
};

enum { GRAIN = 16, HEADER = 2 * sizeof(size_t), LEAST = 32, LISTS = 4 * 8 * (int)sizeof(size_t) };
static struct block *lists[LISTS], *last; /* last: the block at the end of the heap; NULL: there is none yet */

static size_t size_of(const struct block *b) { return b->size & ~(size_t)1; }
static int is_free(const struct block *b) { return !(b->size & 1); }
static struct block *after(struct block *b) { return (struct block *)(void *)((char *)b + size_of(b)); }
static void *payload(struct block *b) { return (char *)b + HEADER; }
static struct block *block_of(void *p) { return (struct block *)(void *)((char *)p - HEADER); }

/* The list of blocks of this size. LEAST is in the first one. */
static struct block **list_of(size_t size) {
    int octave = 0;
    while (size >> octave >= 2 * LEAST) octave++;
    return &lists[4 * octave + (int)(size >> octave) / 8 % 4];
}

static void unlink_free(struct block *b) {
    *(b->prev ? &b->prev->next : list_of(b->size)) = b->next;
    if (b->next) b->next->prev = b->prev;
}

/* Make b a free block of `size` bytes, between neighbours that are in use. */
static void make_free(struct block *b, size_t size) {
    struct block **list = list_of(size);
    b->size = size;
    if (b != last) after(b)->before = size;
    b->prev = NULL;
    b->next = *list;
    if (*list) (*list)->prev = b;
    *list = b;
}

/* Join b, which is in no list, with the free block after it. */
static void absorb_next(struct block *b) {
    struct block *next = b == last ? NULL : after(b);
    if (!next || !is_free(next)) return;
    unlink_free(next);
    if (next == last)
        last = b;
    else
        after(next)->before = size_of(b) + next->size;
    b->size += next->size;
}

/* Keep `size` bytes of b, which is in use and in no list, and free what is left. */
static void trim(struct block *b, size_t size) {
    const size_t left = size_of(b) - size;
    if (left < LEAST) return;
    struct block *rest = (struct block *)(void *)((char *)b + size);
    rest->before = size;
    rest->size = left;
    if (b == last) last = rest;
    b->size = size | 1;
    absorb_next(rest);
    make_free(rest, rest->size);
}

/* Make the last block a free one of `size` bytes, which is more than it is now. Returns it, or NULL without memory. */
static struct block *grow(size_t size) {
    if (!last) { /* payloads are multiples of GRAIN */
        const uintptr_t start = (uintptr_t)sbrk(0);
        if (sbrk((intptr_t)((GRAIN - (start + HEADER) % GRAIN) % GRAIN)) == (void *)-1) return NULL;
    }
    struct block *free_last = last && is_free(last) ? last : NULL;
    struct block *b = sbrk((intptr_t)(size - (free_last ? free_last->size : 0)));
    if (b == (void *)-1) return NULL;
    if (free_last) {
        unlink_free(free_last);
        b = free_last;
    } else {
        b->before = last ? size_of(last) : 0;
        last = b;
    }
    make_free(b, size);
    return b;
}

/* Bytes of a block for n bytes; 0: there is no such block. */
static size_t block_size(size_t n) {
    if (n > SIZE_MAX - HEADER - GRAIN) return 0;
    n = (n + HEADER + GRAIN - 1) / GRAIN * GRAIN;
    return n < LEAST ? LEAST : n;
}

void *malloc(size_t n) {
    const size_t size = block_size(n);
    if (!size) return NULL;
    struct block *b = NULL;
    for (struct block **list = list_of(size); !b && list < lists + LISTS; list++)
        for (b = *list; b && b->size < size;) b = b->next;
    if (!b) b = grow(size);
    if (!b) return NULL;
    unlink_free(b);
    b->size |= 1;
    trim(b, size);
    return payload(b);
}

void free(void *p) {
    if (!p) return;
    struct block *b = block_of(p);
    b->size = size_of(b);
    absorb_next(b);
    if (b->before) {
        struct block *before = (struct block *)(void *)((char *)b - b->before);
        if (is_free(before)) {
            unlink_free(before);
            if (b == last) last = before;
            before->size += b->size;
            b = before;
        }
    }
    make_free(b, b->size);
}

void *calloc(size_t n, size_t size) {
    if (size && n > SIZE_MAX / size) return NULL;
    void *p = malloc(n * size);
    return p ? memset(p, 0, n * size) : NULL;
}

void *realloc(void *p, size_t n) {
    if (!p) return malloc(n);
    const size_t size = block_size(n);
    if (!size) return NULL;
    struct block *b = block_of(p);
    if (size_of(b) < size) absorb_next(b);
    if (size_of(b) < size) {
        void *more = malloc(n);
        if (!more) return NULL;
        memcpy(more, p, size_of(b) - HEADER);
        free(p);
        return more;
    }
    trim(b, size);
    return p;
}
