/* text.h - writes text into memory of a fixed size, without printf, which would be a sixth of the wasm binary. What
 * does not fit is cut off. */
#ifndef GF_TEXT_H
#define GF_TEXT_H
#include <stddef.h>
#include <stdint.h>

struct gf_text {
    char *end, *limit; /* where the final 0 is, and the last place where it can be */
};

/* The empty text in `memory`, of at least one byte, owned by the caller. */
static inline struct gf_text gf_text_in(char *memory, size_t size) {
    *memory = 0;
    return (struct gf_text){memory, memory + size - 1};
}
/* Append a string, its first n characters, or a whole number. */
void gf_append(struct gf_text *t, const char *s);
void gf_append_first(struct gf_text *t, const char *s, size_t n);
void gf_append_whole(struct gf_text *t, uint64_t number);
/* Append the shortest decimal that reads back as x, written as JavaScript writes numbers: "0.1", "1e+21", "NaN".
 * is_float: the shortest that reads back as the float x. Up to 15 digits and powers of ten to 22 the digits are exact;
 * beyond, the last may differ from JavaScript's. */
void gf_append_decimal(struct gf_text *t, double x, int is_float);
#endif
