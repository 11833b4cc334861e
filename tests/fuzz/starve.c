/* starve.c - see starve.h. The linker sends every malloc, calloc and realloc here (--wrap). */
#include "starve.h"
#include <stdlib.h>

static int32_t left; /* allocations until they fail; 0: they do not, -1: they do */

void starve(int32_t k) { left = k; }

#ifdef GF_STARVE
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static int fails(void) {
    if (left == 1) left = -1;
    if (left > 1) left--;
    return left < 0;
}

void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return fails() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t n) { return fails() ? NULL : __real_realloc(p, n); }
void *own_calloc(size_t n, size_t size) { return __real_calloc(n, size); }
#else
void *own_calloc(size_t n, size_t size) { return calloc(n, size); }
#endif
