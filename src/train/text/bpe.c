/* bpe.c - see bpe.h. */
#include "train/text/bpe.h"
#include "base/arena.h" /* gf_calloc */
#include "train/text/unicode.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTE = GF_BPE_FIRST_BYTE, FIRST_MERGE = GF_BPE_FIRST_MERGE };
enum { TRAINED_MOST = 1 << 15 }; /* tokens; a pair of ids, left * vocab_size + right, fits an int32_t */

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* The end of the run of characters of one kind that starts at t[at]. *last: where its last character starts. */
static size_t end_of_run(const char *t, size_t at, size_t n, enum gf_char kind, size_t *last) {
    for (size_t m; at < n && gf_char_at(t + at, n - at, &m) == kind; at += m) *last = at;
    return at;
}

/* The length of the first piece of t, n >= 1 bytes; at most GF_BPE_PIECE_MOST. */
static size_t piece_length(const char *t, size_t n) {
    static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t m = strlen(endings[i]);
        if (n >= m && !memcmp(t, endings[i], m)) return m;
    }
    size_t m, last = 0, at = t[0] == ' ' && n > 1 && gf_char_at(t + 1, n - 1, &m) != GF_CHAR_SPACE;
    const enum gf_char kind = gf_char_at(t + at, n - at, &m);
    size_t end = end_of_run(t, at, n, kind, &last);
    if (kind == GF_CHAR_SPACE && end < n && last > 0) end = last; /* the last space belongs to the word after it */
    return end < GF_BPE_PIECE_MOST ? end : GF_BPE_PIECE_MOST;
}

/* ---- hash tables, open addressing -------------------------------------------------------------------------------- */

struct gf_merge_table { /* (left, right) -> merge */
    uint64_t mask;
    struct {
        int32_t left, right, merge;
    } * entries; /* [mask + 1]; merge -1: unused */
};
struct piece_entry {
    char *text;   /* NULL: unused */
    int32_t *ids; /* merged as far as they are yet */
    uint32_t n_text, n_ids;
    int64_t count; /* how often the piece has occurred */
};
struct gf_piece_table { /* text -> ids and count */
    uint64_t mask, used;
    struct piece_entry *entries; /* [mask + 1] */
};

static uint64_t hash_pair(int32_t a, int32_t b) {
    uint64_t z = ((uint64_t)(uint32_t)a << 32 | (uint32_t)b) * 0x9e3779b97f4a7c15u;
    return z ^ z >> 29;
}
static uint64_t hash_text(const char *t, size_t n) { /* FNV-1a */
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ (uint8_t)t[i]) * 0x100000001b3u;
    return h ^ h >> 32;
}

/* The merge of ids a and b, or -1. */
static int32_t find_merge(const struct gf_merge_table *p, int32_t a, int32_t b) {
    for (uint64_t i = hash_pair(a, b) & p->mask;; i = (i + 1) & p->mask) {
        if (p->entries[i].merge < 0) return -1;
        if (p->entries[i].left == a && p->entries[i].right == b) return p->entries[i].merge;
    }
}

int gf_bpe_seal(struct gf_bpe *b) {
    struct gf_merge_table *p = calloc(1, sizeof *p);
    b->table = p;
    if (!p) return -1;
    p->mask = 1;
    while (p->mask < 3 * (uint64_t)b->n_merges + 2) p->mask = p->mask * 2 + 1;
    p->entries = gf_calloc(p->mask + 1, sizeof *p->entries);
    if (!p->entries) return -1;
    for (uint64_t i = 0; i <= p->mask; i++) p->entries[i].merge = -1;
    for (int32_t m = 0; m < b->n_merges; m++) {
        uint64_t i = hash_pair(b->merges[m][0], b->merges[m][1]) & p->mask;
        while (p->entries[i].merge >= 0) i = (i + 1) & p->mask;
        p->entries[i].left = b->merges[m][0], p->entries[i].right = b->merges[m][1], p->entries[i].merge = m;
    }
    return 0;
}

static void free_pieces(struct gf_piece_table *p) {
    for (uint64_t i = 0; p && p->entries && i <= p->mask; i++) free(p->entries[i].text), free(p->entries[i].ids);
    if (p) free(p->entries);
    free(p);
}

static struct gf_piece_table *open_pieces(void) {
    struct gf_piece_table *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->mask = 1023;
    p->entries = gf_calloc(p->mask + 1, sizeof *p->entries);
    if (p->entries) return p;
    free(p);
    return NULL;
}

/* The entry of a piece, or the unused entry where fill_piece puts it. NULL if memory is missing. */
static struct piece_entry *find_piece(struct gf_piece_table *p, const char *t, size_t n) {
    if (p->used * 2 > p->mask) {
        struct gf_piece_table larger = {p->mask * 2 + 1, p->used, NULL};
        larger.entries = gf_calloc(larger.mask + 1, sizeof *larger.entries);
        if (!larger.entries) return NULL;
        for (uint64_t i = 0; i <= p->mask; i++) {
            if (!p->entries[i].text) continue;
            uint64_t j = hash_text(p->entries[i].text, p->entries[i].n_text) & larger.mask;
            while (larger.entries[j].text) j = (j + 1) & larger.mask;
            larger.entries[j] = p->entries[i];
        }
        free(p->entries);
        *p = larger;
    }
    for (uint64_t i = hash_text(t, n) & p->mask;; i = (i + 1) & p->mask) {
        struct piece_entry *e = &p->entries[i];
        if (!e->text || (e->n_text == n && !memcmp(e->text, t, n))) return e;
    }
}

/* Put a new piece into its entry, with one id a byte. */
static int fill_piece(struct gf_piece_table *p, struct piece_entry *e, const char *t, size_t n) {
    e->text = malloc(n);
    e->ids = gf_calloc(n, sizeof *e->ids);
    if (!e->text || !e->ids) return -1;
    memcpy(e->text, t, n);
    e->n_text = e->n_ids = (uint32_t)n;
    for (size_t i = 0; i < n; i++) e->ids[i] = FIRST_BYTE + (uint8_t)t[i];
    p->used++;
    return 0;
}

/* Count one occurrence of a piece of n bytes and return its entry. NULL if memory is missing. */
static struct piece_entry *count_piece(struct gf_piece_table *p, const char *t, size_t n) {
    struct piece_entry *e = find_piece(p, t, n);
    if (!e || (!e->text && fill_piece(p, e, t, n))) return NULL;
    e->count++;
    return e;
}

/* Replace each pair (a, b) in ids by c, from left to right. Returns how many ids remain. */
static uint32_t merge(int32_t *ids, uint32_t n, int32_t a, int32_t b, int32_t c) {
    uint32_t to = 0;
    for (uint32_t i = 0; i < n; i++)
        if (i + 1 < n && ids[i] == a && ids[i + 1] == b)
            ids[to++] = c, i++;
        else
            ids[to++] = ids[i];
    return to;
}

/* ---- vocabulary -------------------------------------------------------------------------------------------------- */

/* Give id the bytes x [n] followed by y [m]. */
static int add_token(struct gf_bpe *b, int32_t id, const uint8_t *x, int32_t n, const uint8_t *y, int32_t m) {
    b->bytes[id] = malloc((size_t)(n + m));
    if (!b->bytes[id]) return -1;
    memcpy(b->bytes[id], x, (size_t)n);
    if (m) memcpy(b->bytes[id] + n, y, (size_t)m);
    b->n_bytes[id] = n + m;
    return 0;
}

int gf_bpe_open(struct gf_bpe *b, int32_t vocab_size) {
    memset(b, 0, sizeof *b);
    b->bytes = gf_calloc((uint64_t)vocab_size, sizeof *b->bytes);
    b->n_bytes = gf_calloc((uint64_t)vocab_size, sizeof *b->n_bytes);
    b->merges = gf_calloc((uint64_t)vocab_size, sizeof *b->merges);
    b->cache = open_pieces();
    if (!b->bytes || !b->n_bytes || !b->merges || !b->cache) return -1;
    b->vocab_size = FIRST_MERGE;
    for (int i = 0; i < 256; i++) {
        const uint8_t byte = (uint8_t)i;
        if (add_token(b, FIRST_BYTE + i, &byte, 1, NULL, 0)) return -1;
    }
    return 0;
}

int gf_bpe_add_merge(struct gf_bpe *b, int32_t left, int32_t right) {
    b->merges[b->n_merges][0] = left;
    b->merges[b->n_merges++][1] = right;
    return add_token(b, b->vocab_size++, b->bytes[left], b->n_bytes[left], b->bytes[right], b->n_bytes[right]);
}

void gf_bpe_close(struct gf_bpe *b) {
    for (int32_t i = 0; b->bytes && i < b->vocab_size; i++) free(b->bytes[i]);
    free(b->bytes);
    free(b->n_bytes);
    free(b->merges);
    if (b->table) free(b->table->entries);
    free(b->table);
    free_pieces(b->cache);
    memset(b, 0, sizeof *b);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

struct counts { /* how often each pair of ids occurs; a pair is left * width + right */
    int32_t width;
    int64_t *of;     /* [width * width] */
    int32_t *list;   /* the pairs that may have a count, each once */
    uint8_t *listed; /* [width * width] whether a pair is in the list */
    int32_t n_list;
};

/* Add the pairs of a piece to the counts (sign 1), or subtract them (sign -1). */
static void count_pairs(struct counts *c, const struct piece_entry *e, int64_t sign) {
    for (uint32_t i = 0; i + 1 < e->n_ids; i++) {
        const int32_t pair = e->ids[i] * c->width + e->ids[i + 1];
        if (!c->listed[pair]) c->list[c->n_list++] = pair;
        c->listed[pair] = 1;
        c->of[pair] += sign * e->count;
    }
}

/* The most frequent pair, or -1 if there is none; of equals the one with the smallest ids. Removes pairs without a
 * count from the list. */
static int32_t best_pair(struct counts *c) {
    int32_t best = -1, kept = 0;
    for (int32_t i = 0; i < c->n_list; i++) {
        const int32_t pair = c->list[i];
        c->listed[pair] = c->of[pair] != 0;
        if (!c->listed[pair]) continue;
        c->list[kept++] = pair;
        if (best < 0 || c->of[pair] > c->of[best] || (c->of[pair] == c->of[best] && pair < best)) best = pair;
    }
    c->n_list = kept;
    return best;
}

/* Add the most frequent pair of ids in all pieces as a merge and apply it to them, until vocab_size ids exist. */
static int learn(struct gf_bpe *b, struct gf_piece_table *pieces, int32_t vocab_size) {
    struct counts c = {.width = vocab_size};
    const uint64_t n_pairs = (uint64_t)vocab_size * (uint64_t)vocab_size;
    c.of = n_pairs > INT32_MAX ? NULL : gf_calloc(n_pairs, sizeof *c.of); /* a pair is an int32_t */
    c.list = c.of ? malloc((size_t)n_pairs * sizeof *c.list) : NULL;
    c.listed = gf_calloc(n_pairs, 1);
    int status = c.of && c.list && c.listed ? 0 : -1;
    for (uint64_t i = 0; !status && i <= pieces->mask; i++)
        if (pieces->entries[i].text) count_pairs(&c, &pieces->entries[i], 1);
    while (!status && b->vocab_size < vocab_size) {
        const int32_t pair = best_pair(&c);
        if (pair < 0) break;
        const int32_t left = pair / c.width, right = pair % c.width, merged = b->vocab_size;
        status = gf_bpe_add_merge(b, left, right);
        for (uint64_t i = 0; !status && i <= pieces->mask; i++) {
            struct piece_entry *e = &pieces->entries[i];
            uint32_t k = 0;
            while (k + 1 < e->n_ids && !(e->ids[k] == left && e->ids[k + 1] == right)) k++;
            if (!e->text || k + 1 >= e->n_ids) continue;
            count_pairs(&c, e, -1);
            e->n_ids = merge(e->ids, e->n_ids, left, right, merged);
            count_pairs(&c, e, 1);
        }
    }
    free(c.of);
    free(c.list);
    free(c.listed);
    return status;
}

/* Where the next separator begins (n: there is none). *after: where the text after it begins. */
static size_t next_separator(const char *text, size_t at, size_t n, size_t *after) {
    const size_t m = sizeof GF_BPE_SEPARATOR - 1;
    for (size_t i = at; i + m <= n; i++)
        if (text[i] == '<' && !memcmp(text + i, GF_BPE_SEPARATOR, m)) return *after = i + m, i;
    return *after = n, n;
}

int32_t gf_bpe_train(struct gf_bpe *b, const char *text, size_t n, int32_t vocab_size, struct gf_error *err) {
    memset(b, 0, sizeof *b);
    if (vocab_size < FIRST_MERGE || vocab_size > TRAINED_MOST)
        return gf_fail(err, GF_ERR_ARGUMENT, "a vocabulary of %d tokens cannot be learned, expected %d to %d",
                       vocab_size, FIRST_MERGE, TRAINED_MOST);
    struct gf_piece_table *pieces = open_pieces();
    int status = pieces && !gf_bpe_open(b, vocab_size) ? 0 : -1;
    for (size_t at = 0, after; !status && at < n; at = after) {
        const size_t end = next_separator(text, at, n, &after);
        for (size_t m; !status && at < end; at += m) {
            m = piece_length(text + at, end - at);
            status = count_piece(pieces, text + at, m) ? 0 : -1;
        }
    }
    if (!status) status = learn(b, pieces, vocab_size);
    if (!status) status = gf_bpe_seal(b);
    free_pieces(pieces);
    return status ? gf_fail(err, GF_ERR_MEMORY, "no memory to learn a vocabulary") : GF_OK;
}

/* ---- encoding ---------------------------------------------------------------------------------------------------- */

/* Apply all merges to a piece's ids, the earliest one first. Returns how many ids remain. */
static uint32_t merge_all(const struct gf_bpe *b, int32_t *ids, uint32_t n) {
    for (;;) {
        int32_t first = -1;
        for (uint32_t i = 0; i + 1 < n; i++) {
            const int32_t m = find_merge(b->table, ids[i], ids[i + 1]);
            if (m >= 0 && (first < 0 || m < first)) first = m;
        }
        if (first < 0) return n;
        n = merge(ids, n, b->merges[first][0], b->merges[first][1], FIRST_MERGE + first);
    }
}

int64_t gf_bpe_encode(struct gf_bpe *b, const char *text, size_t n, int32_t *ids, int64_t capacity) {
    int64_t count = 0;
    for (size_t at = 0, m; at < n; at += m) {
        m = piece_length(text + at, n - at);
        struct piece_entry *e = count_piece(b->cache, text + at, m);
        if (!e) return -1;
        if (e->count == 1) e->n_ids = merge_all(b, e->ids, e->n_ids);
        for (uint32_t i = 0; i < e->n_ids; i++, count++)
            if (count < capacity) ids[count] = e->ids[i];
    }
    return count;
}
