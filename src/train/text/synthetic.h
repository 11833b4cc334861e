/* synthetic.h - little stories from a grammar, for tests and for trying a recipe without a corpus. */
#ifndef GF_SYNTHETIC_H
#define GF_SYNTHETIC_H
#include <stddef.h>
#include <stdint.h>

/* n stories, a separator line after each; one seed, one text, everywhere. *n_bytes without the
 * ending 0. NULL without memory. Owned by the caller (free). */
char *gf_synthetic_stories(uint64_t seed, int32_t n, size_t *n_bytes);
#endif
