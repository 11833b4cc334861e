/* synthetic.c - see synthetic.h. A story keeps its names, its animal and its thing throughout. */
#include "train/text/synthetic.h"
#include "base/rng.h"
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"Lily", "Tim", "Anna", "Ben", "Mia", "Sam", "Sue", "Tom"};
static const char *const animals[] = {"dog", "cat", "bird", "rabbit", "fox", "bear"};
static const char *const things[] = {"ball", "kite", "boat", "cake", "hat", "drum"};
static const char *const places[] = {"in the park", "by the river", "at home", "in the garden"};
static const char *const colours[] = {"red", "blue", "big", "small", "old"};

/* @ hero, & friend, # animal, $ thing, ~ place, % colour: each drawn once for a story. */
static const char *const openings[] = {"Once upon a time, there was a child named @.", "One day, @ went out to play ~.",
                                       "@ had a % $ and loved it very much."};
static const char *const middles[] = {
    "@ saw a % # ~.",
    "The # took the $ and ran away!",
    "\"Can I play with the $?\" asked &.",
    "@ said, \"Yes, we can share the $.\"",
    "& was sad because the $ was lost.",
    "They looked for the $ ~, but it was not there.",
    "The # was hungry, so @ gave it some food.",
};
static const char *const endings[] = {"In the end, @ and & were happy.", "The # and @ became best friends.",
                                      "@ went home with the $ and smiled."};

#define PICK(list) list[gf_rng_u64(rng) % (sizeof list / sizeof *list)]

struct story {
    const char *hero, *other, *animal, *thing, *place, *colour;
};

static const char *word(const struct story *s, char mark) {
    switch (mark) {
    case '@': return s->hero;
    case '&': return s->other;
    case '#': return s->animal;
    case '$': return s->thing;
    case '~': return s->place;
    case '%': return s->colour;
    default: return NULL;
    }
}

static char *put_sentence(char *to, const struct story *s, const char *sentence) {
    for (; *sentence; sentence++) {
        const char *w = word(s, *sentence);
        if (w) {
            memcpy(to, w, strlen(w));
            to += strlen(w);
        } else {
            *to++ = *sentence;
        }
    }
    *to++ = ' ';
    return to;
}

char *gf_synthetic_stories(uint64_t seed, int32_t n, size_t *n_bytes) {
    enum { LONGEST = 1024 }; /* bytes of a story: 8 sentences below 100 bytes */
    char *text = malloc((size_t)n * LONGEST + 1), *to = text;
    if (!text) return NULL;
    struct gf_rng one, *rng = &one;
    gf_rng_seed(rng, seed);
    for (int32_t i = 0; i < n; i++) {
        struct story s = {PICK(names), PICK(names), PICK(animals), PICK(things), PICK(places), PICK(colours)};
        while (s.other == s.hero) s.other = PICK(names);
        to = put_sentence(to, &s, PICK(openings));
        for (uint64_t k = 2 + gf_rng_u64(rng) % 5; k; k--) to = put_sentence(to, &s, PICK(middles));
        to = put_sentence(to, &s, PICK(endings));
        memcpy(to - 1, "\n<|endoftext|>\n", 15);
        to += 14;
    }
    *to = 0;
    *n_bytes = (size_t)(to - text);
    return text;
}
