/* swap.h - data augmentation: replaces names and similar words of a story, so that a small corpus is not memorised.
 *
 * A file lists words that can stand for each other, a group on each line, the chance that one of
 * them is replaced in front. In a text every word of a group is replaced throughout by another of
 * its group, with plurals and capitals kept, drawn by how frequent it is in the whole data (so that
 * frequencies stay as they are), never by one that the text has already, and with a vowel in front
 * only for one with a vowel ("a" and "an" stay right). */
#ifndef GF_SWAP_H
#define GF_SWAP_H
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

struct gf_swap_word {
    char *text;
    int32_t n, group, vowel;
    double chance;       /* that it is replaced */
    int64_t count;       /* in the data */
    int32_t seen, other; /* in the text under way: there, and what stands for it (-1: itself) */
};
struct gf_swap {
    struct gf_swap_word *words; /* sorted by text */
    int32_t n_words;
    char *out;
    size_t room;
};

/* groups: such a file's text. text: the data, to count in. After a failure there is nothing to
 * close. */
int32_t gf_swap_open(struct gf_swap *s, const char *groups, const char *text, size_t n, struct gf_error *err);
void gf_swap_close(struct gf_swap *s);
/* The text with what `draw` makes of it, valid until the next call; NULL without memory. */
const char *gf_swap_apply(struct gf_swap *s, const char *text, size_t n, uint64_t draw, size_t *n_out);
#endif
