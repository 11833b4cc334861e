/* swap.c - see swap.h. */
#include "train/text/swap.h"
#include "base/arena.h" /* gf_calloc */
#include "base/rng.h"
#include <stdlib.h>
#include <string.h>

enum { WORD_MOST = 24, TRIES = 8 }; /* letters of a word; draws until a replacement fits */

static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static int is_upper(char c) { return c >= 'A' && c <= 'Z'; }
/* The number of letters at the start of t [n]. */
static size_t letters(const char *t, size_t n) {
    size_t m = 0;
    while (m < n && is_letter(t[m])) m++;
    return m;
}

static int by_text(const void *a, const void *b) {
    return strcmp(((const struct gf_swap_word *)a)->text, ((const struct gf_swap_word *)b)->text);
}

/* The index of a listed word, or -1. */
static int32_t find(const struct gf_swap *s, const char *word) {
    int32_t low = 0, high = s->n_words;
    while (low < high) {
        const int32_t mid = (low + high) / 2;
        if (strcmp(s->words[mid].text, word) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->n_words && !strcmp(s->words[low].text, word) ? low : -1;
}

/* The index of the listed word that t [n] is: as it stands, with its first letter in lower case (*capital), or without
 * the s of a plural (*plural); -1 if none. */
static int32_t look_up(const struct gf_swap *s, const char *t, size_t n, int *capital, int *plural) {
    char word[WORD_MOST + 1];
    *capital = *plural = 0;
    if (n < 2 || n > WORD_MOST) return -1;
    memcpy(word, t, n);
    word[n] = 0;
    int32_t at = find(s, word);
    if (at < 0 && is_upper(word[0])) {
        word[0] = (char)(word[0] - 'A' + 'a');
        *capital = 1;
        at = find(s, word);
    }
    if (at < 0 && word[n - 1] == 's' && !is_upper(word[0])) {
        word[n - 1] = 0;
        *plural = 1;
        at = find(s, word);
    }
    return at;
}

int32_t gf_swap_open(struct gf_swap *s, const char *groups, const char *text, size_t n, struct gf_error *err) {
    memset(s, 0, sizeof *s);
    int32_t capacity = 1, group = 0;
    double chance = 0;
    for (const char *g = groups; *g; g++) capacity += strchr(" \t\r\n", *g) != NULL;
    s->words = gf_calloc((uint64_t)capacity, sizeof *s->words);
    if (!s->words) return gf_fail(err, GF_ERR_MEMORY, "no memory for %d words", capacity);
    for (const char *g = groups; *g;) {
        size_t m = 0;
        while (g[m] && !strchr(" \t\r\n", g[m])) m++;
        if (m && *g >= '0' && *g <= '9') {
            chance = strtod(g, NULL);
        } else if (m) {
            struct gf_swap_word *w = &s->words[s->n_words];
            w->text = gf_calloc(m + 1, 1);
            if (!w->text) {
                gf_swap_close(s);
                return gf_fail(err, GF_ERR_MEMORY, "no memory for %d words", capacity);
            }
            memcpy(w->text, g, m);
            w->n = (int32_t)m;
            w->group = group;
            w->chance = chance;
            w->vowel = strchr("aeiouAEIOU", *g) != NULL;
            s->n_words++;
        }
        group += g[m] == '\n';
        g += m + (g[m] != 0);
    }
    qsort(s->words, (size_t)s->n_words, sizeof *s->words, by_text);
    for (int32_t i = 1; i < s->n_words; i++)
        if (!strcmp(s->words[i].text, s->words[i - 1].text)) {
            gf_fail(err, GF_ERR_DUPLICATE, "the word %s is listed twice", s->words[i].text);
            gf_swap_close(s);
            return GF_ERR_DUPLICATE;
        }
    for (size_t i = 0, m; i < n; i += m + 1) {
        m = letters(text + i, n - i);
        int capital, plural;
        const int32_t at = look_up(s, text + i, m, &capital, &plural);
        if (at >= 0) s->words[at].count++;
    }
    return GF_OK;
}

void gf_swap_close(struct gf_swap *s) {
    for (int32_t i = 0; i < s->n_words; i++) free(s->words[i].text);
    free(s->words);
    free(s->out);
    memset(s, 0, sizeof *s);
}

/* A random word of the group, in proportion to its count; -1 if none occurs in the corpus. */
static int32_t draw_from(const struct gf_swap *s, int32_t group, struct gf_rng *rng) {
    int64_t all = 0, at;
    for (int32_t i = 0; i < s->n_words; i++)
        if (s->words[i].group == group) all += s->words[i].count;
    at = (int64_t)(gf_rng_uniform(rng) * (double)all);
    for (int32_t i = 0; i < s->n_words; i++) {
        if (s->words[i].group != group) continue;
        if (at < s->words[i].count) return i;
        at -= s->words[i].count;
    }
    return -1;
}

const char *gf_swap_apply(struct gf_swap *s, const char *text, size_t n, uint64_t draw, size_t *n_out) {
    enum { GROWTH = (WORD_MOST + 2) / 2 }; /* two letters may become WORD_MOST and an s */
    if (n * GROWTH + WORD_MOST > s->capacity) {
        free(s->out);
        s->capacity = n * GROWTH + 4096;
        s->out = malloc(s->capacity);
        if (!s->out) return s->capacity = 0, NULL;
    }
    struct gf_rng rng;
    int capital, plural;
    gf_rng_seed(&rng, draw);
    for (int32_t i = 0; i < s->n_words; i++) s->words[i].used = 0, s->words[i].replacement = -1;
    for (size_t i = 0, m; i < n; i += m + 1) { /* which words occur */
        m = letters(text + i, n - i);
        const int32_t at = look_up(s, text + i, m, &capital, &plural);
        if (at >= 0) s->words[at].used = 1;
    }
    for (int32_t i = 0; i < s->n_words; i++) { /* what replaces them */
        struct gf_swap_word *w = &s->words[i];
        if (w->used != 1 || gf_rng_uniform(&rng) >= w->chance) continue;
        for (int k = 0; k < TRIES && w->replacement < 0; k++) {
            const int32_t other = draw_from(s, w->group, &rng);
            if (other < 0 || s->words[other].used || s->words[other].vowel != w->vowel) continue;
            w->replacement = other;
            s->words[other].used = 2;
        }
    }
    char *to = s->out;
    for (size_t i = 0, m; i < n; i += m) {
        m = letters(text + i, n - i);
        const int32_t at = look_up(s, text + i, m, &capital, &plural), other = at < 0 ? -1 : s->words[at].replacement;
        if (other < 0) {
            m += m == 0; /* a byte that is no letter */
            memcpy(to, text + i, m);
            to += m;
            continue;
        }
        memcpy(to, s->words[other].text, (size_t)s->words[other].n);
        if (capital && !is_upper(*to)) *to = (char)(*to - 'a' + 'A');
        to += s->words[other].n;
        if (plural) *to++ = 's';
    }
    *n_out = (size_t)(to - s->out);
    return s->out;
}
