/* copied.h - a copy of bytes in memory of its own, for functions that free what they are given */
#ifndef GF_COPIED_H
#define GF_COPIED_H
#include <stdlib.h>
#include <string.h>

/* n bytes with a 0 after them; the caller, or the function it is given to, frees them. NULL without memory. */
static inline char *copy_of(const char *bytes, size_t n) {
    char *copy = malloc(n + 1);
    if (copy) memcpy(copy, bytes, n), copy[n] = 0;
    return copy;
}
#endif
