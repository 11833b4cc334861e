/* swap.h - data augmentation: replaces names and similar words of a story, so that a small corpus is not memorised.
 *
 * A file lists groups of words that can replace each other: each line is the probability that a word of the group is
 * replaced, then the words. A replaced word is replaced wherever it occurs in the text, with its capital and plural
 * kept. The new word is drawn from the same group in proportion to its frequency in the corpus, so that frequencies
 * stay the same; it does not occur in the text yet, and both or neither begin with a vowel, so that "a" and "an" stay
 * right. */
#ifndef GF_SWAP_H
#define GF_SWAP_H
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

struct gf_swap_word {
    char *text;
    int32_t n, group, vowel;
    double chance; /* probability that it is replaced */
    int64_t count; /* occurrences in the corpus */
    /* In the current text: */
    int32_t used;        /* 1: the word occurs in it; 2: it replaces another one */
    int32_t replacement; /* the index of the word that replaces it; -1: none */
};
struct gf_swap {
    struct gf_swap_word *words; /* sorted by text */
    int32_t n_words;
    char *out; /* [capacity] the result of gf_swap_apply */
    size_t capacity;
};

/* groups: the text of such a file. text [n]: the corpus, in which the words are counted. After a failure there is
 * nothing to close. */
int32_t gf_swap_open(struct gf_swap *s, const char *groups, const char *text, size_t n, struct gf_error *err);
void gf_swap_close(struct gf_swap *s);
/* The text with words replaced; draw: the random seed. The result is valid until the next call; NULL if memory is
 * missing. */
const char *gf_swap_apply(struct gf_swap *s, const char *text, size_t n, uint64_t draw, size_t *n_out);
#endif
