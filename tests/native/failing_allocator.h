/* failing_allocator.h - makes the k-th allocation of a test and all later ones fail, until allow_allocations.
 *
 * The linker sends malloc, calloc and realloc to failing_allocator.c (--wrap). Where it cannot (GF_WRAP_ALLOCATOR is
 * not defined) no allocation fails. */
#ifndef GF_FAILING_ALLOCATOR_H
#define GF_FAILING_ALLOCATOR_H
#include <stddef.h>
#include <stdint.h>

/* k >= 1: the k-th allocation from now on and all later ones fail. k = 0: none. */
void fail_allocations(int32_t k);
void allow_allocations(void);
/* calloc that does not fail in this way, for the test's own memory. */
void *test_calloc(size_t n, size_t size);
#endif
