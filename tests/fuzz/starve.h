/* starve.h - memory that runs out: the engine's k-th allocation from now fails, and all after it
 * until that is taken back. Where the linker cannot wrap malloc (GF_STARVE undefined) nothing
 * fails. */
#ifndef GF_STARVE_H
#define GF_STARVE_H
#include <stddef.h>
#include <stdint.h>

/* k from 1 on; 0: memory is there again. */
void starve(int32_t k);
/* calloc that never fails: what the fuzzer itself needs. */
void *own_calloc(size_t n, size_t size);
#endif
