/* synthetic.h - short stories generated from a grammar, for tests and for trying a recipe without a corpus. */
#ifndef GF_SYNTHETIC_H
#define GF_SYNTHETIC_H
#include <stddef.h>
#include <stdint.h>

/* n stories, a separator line after each. The same seed gives the same text on every machine. *n_bytes does not count
 * the final 0. NULL without memory. Owned by the caller (free). */
char *gf_synthetic_stories(uint64_t seed, int32_t n, size_t *n_bytes);
#endif
