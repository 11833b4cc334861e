/* failing_allocator.c - see failing_allocator.h. */
#include "failing_allocator.h"
#include <stdlib.h>

static int32_t
    allocations_left; /* allocations up to the first that fails, that one included; 0: none fails; -1: all do */

void fail_allocations(int32_t k) { allocations_left = k; }
void allow_allocations(void) { allocations_left = 0; }

#ifdef GF_WRAP_ALLOCATOR
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static int fails(void) {
    if (allocations_left == 1) allocations_left = -1;
    if (allocations_left > 1) allocations_left--;
    return allocations_left < 0;
}

void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return fails() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t n) { return fails() ? NULL : __real_realloc(p, n); }
void *test_calloc(size_t n, size_t size) { return __real_calloc(n, size); }
#else
void *test_calloc(size_t n, size_t size) { return calloc(n, size); }
#endif
