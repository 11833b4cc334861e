/* bpe.c - see bpe.h. Sennrich et al. 2016; over bytes, Radford et al. 2019. */
#include "train/text/bpe.h"
#include "train/text/unicode.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTE = 1, FIRST_MERGE = 257, LONGEST = 4096 }; /* ids; longest piece merged */
enum { MOST_TRAINED = 1 << 15, MOST_READ = 1 << 22 };       /* tokens; MOST_READ: vocab_size's */

/* ---- cutting ----------------------------------------------------------------------------------------------------- */

/* The end of the characters of one kind that begin at t[at]; *last: where the last of them does. */
static size_t run(const char *t, size_t at, size_t n, enum gf_char kind, size_t *last) {
    for (size_t m; at < n && gf_char_at(t + at, n - at, &m) == kind; at += m) *last = at;
    return at;
}

/* Length of the first piece of t. */
static size_t piece(const char *t, size_t n) {
    static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t m = strlen(endings[i]);
        if (n >= m && !memcmp(t, endings[i], m)) return m;
    }
    size_t m, last = 0, at = t[0] == ' ' && n > 1 && gf_char_at(t + 1, n - 1, &m) != GF_CHAR_SPACE;
    const enum gf_char kind = gf_char_at(t + at, n - at, &m);
    const size_t end = run(t, at, n, kind, &last);
    if (kind != GF_CHAR_SPACE) return end;
    return end < n && last > 0 ? last : end; /* the last space belongs to the word after it */
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

struct pairs { /* (left, right) -> merge, open addressing */
    uint64_t mask;
    struct {
        int32_t left, right, merge;
    } * at; /* merge -1: free */
};
struct piece_entry {
    char *text;
    int32_t *ids;
    uint32_t n_text, n_ids;
    int64_t count;
};
struct pieces { /* pieces seen, with their ids (or symbols, while training) and how often */
    uint64_t mask, used;
    struct piece_entry *at;
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

static int32_t find_merge(const struct pairs *p, int32_t a, int32_t b) {
    for (uint64_t i = hash_pair(a, b) & p->mask;; i = (i + 1) & p->mask) {
        if (p->at[i].merge < 0) return -1;
        if (p->at[i].left == a && p->at[i].right == b) return p->at[i].merge;
    }
}

static int build_pairs(struct gf_bpe *b) {
    struct pairs *p = calloc(1, sizeof *p);
    b->pairs = p;
    if (!p) return -1;
    p->mask = 1;
    while (p->mask < 3 * (uint64_t)b->n_merges + 2) p->mask = p->mask * 2 + 1;
    p->at = malloc((p->mask + 1) * sizeof *p->at);
    if (!p->at) return -1;
    for (uint64_t i = 0; i <= p->mask; i++) p->at[i].merge = -1;
    for (int32_t m = 0; m < b->n_merges; m++) {
        uint64_t i = hash_pair(b->merges[m][0], b->merges[m][1]) & p->mask;
        while (p->at[i].merge >= 0) i = (i + 1) & p->mask;
        p->at[i].left = b->merges[m][0], p->at[i].right = b->merges[m][1], p->at[i].merge = m;
    }
    return 0;
}

static void free_pieces(struct pieces *p) {
    for (uint64_t i = 0; p && p->at && i <= p->mask; i++) free(p->at[i].text), free(p->at[i].ids);
    if (p) free(p->at);
    free(p);
}

static struct pieces *open_pieces(void) {
    struct pieces *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->mask = 1023;
    p->at = calloc(p->mask + 1, sizeof *p->at);
    if (p->at) return p;
    free(p);
    return NULL;
}

/* The piece's place; text NULL there if it is new. NULL without memory. */
static struct piece_entry *find_piece(struct pieces *p, const char *t, size_t n) {
    if (p->used * 2 > p->mask) {
        struct pieces more = {p->mask * 2 + 1, p->used, NULL};
        more.at = calloc(more.mask + 1, sizeof *more.at);
        if (!more.at) return NULL;
        for (uint64_t i = 0; i <= p->mask; i++) {
            if (!p->at[i].text) continue;
            uint64_t j = hash_text(p->at[i].text, p->at[i].n_text) & more.mask;
            while (more.at[j].text) j = (j + 1) & more.mask;
            more.at[j] = p->at[i];
        }
        free(p->at);
        *p = more;
    }
    for (uint64_t i = hash_text(t, n) & p->mask;; i = (i + 1) & p->mask) {
        struct piece_entry *e = &p->at[i];
        if (!e->text || (e->n_text == n && !memcmp(e->text, t, n))) return e;
    }
}

static int fill_piece(struct pieces *p, struct piece_entry *e, const char *t, size_t n) {
    e->text = malloc(n);
    e->ids = malloc(n * sizeof *e->ids);
    if (!e->text || !e->ids) return -1;
    memcpy(e->text, t, n);
    e->n_text = e->n_ids = (uint32_t)n;
    for (size_t i = 0; i < n; i++) e->ids[i] = FIRST_BYTE + (uint8_t)t[i];
    p->used++;
    return 0;
}

/* ids with every (a, b) replaced by c, left to right; returns how many remain. */
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

static int add_token(struct gf_bpe *b, int32_t id, const uint8_t *x, int32_t n, const uint8_t *y, int32_t m) {
    b->bytes[id] = malloc((size_t)(n + m));
    if (!b->bytes[id]) return -1;
    memcpy(b->bytes[id], x, (size_t)n);
    if (m) memcpy(b->bytes[id] + n, y, (size_t)m);
    b->n_bytes[id] = n + m;
    return 0;
}

static int open_vocabulary(struct gf_bpe *b, int32_t vocab_size) {
    memset(b, 0, sizeof *b);
    b->bytes = calloc((size_t)vocab_size, sizeof *b->bytes);
    b->n_bytes = calloc((size_t)vocab_size, sizeof *b->n_bytes);
    b->merges = calloc((size_t)vocab_size, sizeof *b->merges);
    b->pieces = open_pieces();
    if (!b->bytes || !b->n_bytes || !b->merges || !b->pieces) return -1;
    b->vocab_size = FIRST_MERGE;
    for (int i = 0; i < 256; i++) {
        const uint8_t byte = (uint8_t)i;
        if (add_token(b, FIRST_BYTE + i, &byte, 1, NULL, 0)) return -1;
    }
    return 0;
}

static int add_merge(struct gf_bpe *b, int32_t left, int32_t right) {
    b->merges[b->n_merges][0] = left;
    b->merges[b->n_merges++][1] = right;
    return add_token(b, b->vocab_size++, b->bytes[left], b->n_bytes[left], b->bytes[right], b->n_bytes[right]);
}

void gf_bpe_close(struct gf_bpe *b) {
    for (int32_t i = 0; b->bytes && i < b->vocab_size; i++) free(b->bytes[i]);
    free(b->bytes);
    free(b->n_bytes);
    free(b->merges);
    if (b->pairs) free(((struct pairs *)b->pairs)->at);
    free(b->pairs);
    free_pieces(b->pieces);
    memset(b, 0, sizeof *b);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

struct counts { /* how often each pair of ids stands side by side */
    int32_t width;
    int64_t *of;   /* [width * width] */
    int32_t *list; /* pairs that may have a count, each once */
    uint8_t *listed;
    int32_t n_list;
};

static void count_pairs(struct counts *c, const struct piece_entry *e, int64_t sign) {
    for (uint32_t i = 0; i + 1 < e->n_ids; i++) {
        const int32_t pair = e->ids[i] * c->width + e->ids[i + 1];
        if (!c->listed[pair]) c->list[c->n_list++] = pair;
        c->listed[pair] = 1;
        c->of[pair] += sign * e->count;
    }
}

/* The most frequent pair; of equals the one with the smallest ids. Takes pairs without a count off
 * the list. */
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

static int learn(struct gf_bpe *b, struct pieces *words, int32_t vocab_size) {
    struct counts c = {.width = vocab_size};
    const size_t n_pairs = (size_t)vocab_size * (size_t)vocab_size;
    c.of = calloc(n_pairs, sizeof *c.of);
    c.list = malloc(n_pairs * sizeof *c.list);
    c.listed = calloc(n_pairs, 1);
    int status = c.of && c.list && c.listed ? 0 : -1;
    for (uint64_t i = 0; !status && i <= words->mask; i++)
        if (words->at[i].text) count_pairs(&c, &words->at[i], 1);
    while (!status && b->vocab_size < vocab_size) {
        const int32_t pair = best_pair(&c);
        if (pair < 0) break;
        const int32_t left = pair / c.width, right = pair % c.width, made = b->vocab_size;
        status = add_merge(b, left, right);
        for (uint64_t i = 0; !status && i <= words->mask; i++) {
            struct piece_entry *e = &words->at[i];
            uint32_t k = 0;
            while (k + 1 < e->n_ids && !(e->ids[k] == left && e->ids[k + 1] == right)) k++;
            if (!e->text || k + 1 >= e->n_ids) continue;
            count_pairs(&c, e, -1);
            e->n_ids = merge(e->ids, e->n_ids, left, right, made);
            count_pairs(&c, e, 1);
        }
    }
    free(c.of);
    free(c.list);
    free(c.listed);
    return status;
}

/* The end of the text before the next separator, and where the text after it begins. */
static size_t next_separator(const char *text, size_t at, size_t n, size_t *after) {
    const size_t m = sizeof GF_BPE_SEPARATOR - 1;
    for (size_t i = at; i + m <= n; i++)
        if (text[i] == '<' && !memcmp(text + i, GF_BPE_SEPARATOR, m)) return *after = i + m, i;
    return *after = n, n;
}

int32_t gf_bpe_train(struct gf_bpe *b, const char *text, size_t n, int32_t vocab_size, struct gf_error *err) {
    if (vocab_size < FIRST_MERGE || vocab_size > MOST_TRAINED)
        return gf_fail(err, GF_ERR_ARGUMENT, "vocabulary of %d: at least %d, at most %d", vocab_size, FIRST_MERGE,
                       MOST_TRAINED);
    struct pieces *words = open_pieces();
    int status = words && !open_vocabulary(b, vocab_size) ? 0 : -1;
    for (size_t at = 0, after; !status && at < n; at = after) {
        const size_t end = next_separator(text, at, n, &after);
        for (size_t m; !status && at < end; at += m) {
            m = piece(text + at, end - at);
            if (m > LONGEST) m = LONGEST; /* as gf_bpe_encode cuts it */
            struct piece_entry *e = find_piece(words, text + at, m);
            status = !e || (!e->text && fill_piece(words, e, text + at, m)) ? -1 : 0;
            if (!status) e->count++;
        }
    }
    if (!status) status = learn(b, words, vocab_size);
    if (!status) status = build_pairs(b);
    free_pieces(words);
    return status ? gf_fail(err, GF_ERR_MEMORY, "no memory to train a vocabulary") : GF_OK;
}

/* ---- use --------------------------------------------------------------------------------------------------------- */

static uint32_t merge_all(const struct gf_bpe *b, int32_t *ids, uint32_t n) {
    for (;;) {
        int32_t first = -1;
        for (uint32_t i = 0; i + 1 < n; i++) {
            const int32_t m = find_merge(b->pairs, ids[i], ids[i + 1]);
            if (m >= 0 && (first < 0 || m < first)) first = m;
        }
        if (first < 0) return n;
        n = merge(ids, n, b->merges[first][0], b->merges[first][1], FIRST_MERGE + first);
    }
}

int64_t gf_bpe_encode(struct gf_bpe *b, const char *text, size_t n, int32_t *ids, int64_t room) {
    int64_t count = 0;
    for (size_t at = 0, m; at < n; at += m) {
        m = piece(text + at, n - at);
        if (m > LONGEST) m = LONGEST;
        struct piece_entry *e = find_piece(b->pieces, text + at, m);
        if (!e || (!e->text && fill_piece(b->pieces, e, text + at, m))) return -1;
        if (!e->count++) e->n_ids = merge_all(b, e->ids, e->n_ids);
        for (uint32_t i = 0; i < e->n_ids; i++, count++)
            if (count < room) ids[count] = e->ids[i];
    }
    return count;
}

/* GPT-2's letters for bytes: printable ones stand for themselves, the others for U+0100 and on. */
static int32_t letter_of(int32_t byte) {
    int32_t others = 0;
    for (int32_t i = 0; i <= byte; i++) {
        const int plain = (i >= 33 && i <= 126) || (i >= 161 && i <= 172) || (i >= 174 && i <= 255);
        if (i == byte && plain) return byte;
        if (!plain) others++;
    }
    return 255 + others;
}

void gf_bpe_spell(const struct gf_bpe *b, int32_t id, char *out, size_t room) {
    size_t at = 0;
    if (id == 0) {
        snprintf(out, room, "%s", GF_BPE_SEPARATOR);
        return;
    }
    for (int32_t i = 0; i < b->n_bytes[id] && at + 3 <= room; i++) {
        const int32_t letter = letter_of(b->bytes[id][i]);
        if (letter < 0x80)
            out[at++] = (char)letter;
        else {
            out[at++] = (char)(0xc0 | letter >> 6);
            out[at++] = (char)(0x80 | (letter & 0x3f));
        }
    }
    out[at] = 0;
}

static void put_json(struct gf_sink *to, const char *text) {
    for (gf_put(to, "\"", 1); *text; text++) {
        if (*text == '"' || *text == '\\') gf_put(to, "\\", 1);
        gf_put(to, text, 1);
    }
    gf_put(to, "\"", 1);
}

void gf_bpe_write(const struct gf_bpe *b, int begin, struct gf_sink *to) {
    char text[2 * LONGEST + 3];
    gf_put_text(to, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[{\"id\":0,"
                    "\"content\":\"" GF_BPE_SEPARATOR "\",\"single_word\":false,\"lstrip\":false,\"rstrip\":"
                    "false,\"normalized\":false,\"special\":true}],\"normalizer\":null,\"pre_tokenizer\":{"
                    "\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":"
                    "true},");
    if (begin)
        gf_put_text(to, "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{"
                        "\"id\":\"" GF_BPE_SEPARATOR "\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],"
                        "\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"Sequence\":{\"id\":\"B\","
                        "\"type_id\":1}}],\"special_tokens\":{\"" GF_BPE_SEPARATOR "\":{\"id\":\"" GF_BPE_SEPARATOR
                        "\",\"ids\":[0],\"tokens\":[\"" GF_BPE_SEPARATOR "\"]}}},");
    else
        gf_put_text(to, "\"post_processor\":null,");
    gf_put_text(to, "\"decoder\":{\"type\":\"ByteLevel\","
                    "\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},\n\"model\":{\"type\":"
                    "\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,"
                    "\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":"
                    "false,\n\"vocab\":{");
    for (int32_t i = 0; i < b->vocab_size; i++) {
        gf_bpe_spell(b, i, text, sizeof text);
        if (i) gf_put_text(to, ",");
        put_json(to, text);
        gf_put_format(to, ":%d", i);
    }
    gf_put_text(to, "},\n\"merges\":[");
    for (int32_t i = 0; i < b->n_merges; i++) {
        char pair[2 * sizeof text];
        gf_bpe_spell(b, b->merges[i][0], text, sizeof text);
        snprintf(pair, sizeof pair, "%s ", text);
        gf_bpe_spell(b, b->merges[i][1], pair + strlen(pair), sizeof text);
        if (i) gf_put_text(to, ",");
        put_json(to, pair);
    }
    gf_put_text(to, "]}}\n");
}

/* One JSON string at *at (after the quote) into bytes, letters mapped back; its length or -1. */
static int read_spelling(const char **at, const char *end, uint8_t *out, int room, int *split) {
    int n = 0;
    for (const char *t = *at; t < end; t++) {
        int32_t letter = (uint8_t)*t;
        if (letter == '"') return *at = t + 1, n;
        if (letter == '\\' && ++t < end) letter = (uint8_t)*t;
        if (letter >= 0x80 && t + 1 < end) letter = (letter & 0x1f) << 6 | (*++t & 0x3f);
        if (letter == ' ' && split) {
            *split = n;
            continue;
        }
        int byte = 0;
        while (byte < 256 && letter_of(byte) != letter) byte++;
        if (byte == 256 || n == room) return -1;
        out[n++] = (uint8_t)byte;
    }
    return -1;
}

static int32_t id_of(const struct gf_bpe *b, const uint8_t *bytes, int n) {
    for (int32_t i = FIRST_BYTE; i < b->vocab_size; i++)
        if (b->n_bytes[i] == n && !memcmp(b->bytes[i], bytes, (size_t)n)) return i;
    return -1;
}

int32_t gf_bpe_read(struct gf_bpe *b, const char *json, size_t n, struct gf_error *err) {
    static const char mark[] = "\"merges\":[";
    const char *end = json + n, *at = json;
    memset(b, 0, sizeof *b);
    while (at + sizeof mark - 1 <= end && memcmp(at, mark, sizeof mark - 1)) at++;
    if (at + sizeof mark - 1 > end)
        return gf_fail(err, GF_ERR_MISSING, "the tokenizer's merges are not in the form that this program writes");
    at += sizeof mark - 1;
    int32_t count = FIRST_MERGE;
    for (const char *t = at; t < end && *t != ']' && count <= MOST_READ; t++) { /* two quotes a merge */
        if (*t == '\\')
            t++;
        else if (*t == '"') {
            for (t++; t < end && *t != '"'; t++) t += *t == '\\';
            count++;
        }
    }
    if (count > MOST_READ) return gf_fail(err, GF_ERR_CONFIG, "the tokenizer has more than %d tokens", MOST_READ);
    int status = open_vocabulary(b, count);
    while (!status && at < end && *at != ']') {
        uint8_t both[LONGEST];
        int split = -1;
        if (*at++ != '"') continue;
        const int m = b->vocab_size == count ? -1 /* strings that end elsewhere than was counted */
                                             : read_spelling(&at, end, both, sizeof both, &split);
        const int32_t left = m < 0 || split < 1 ? -1 : id_of(b, both, split),
                      right = left < 0 ? -1 : id_of(b, both + split, m - split);
        if (right < 0) {
            const int32_t place = b->n_merges;
            gf_bpe_close(b);
            return gf_fail(err, GF_ERR_SHAPE, "merge %d of the tokenizer joins unknown tokens", place);
        }
        status = add_merge(b, left, right);
    }
    if (!status && at >= end) {
        gf_bpe_close(b);
        return gf_fail(err, GF_ERR_TRUNCATED, "the tokenizer ends early");
    }
    if (!status) status = build_pairs(b);
    if (!status) return GF_OK;
    gf_bpe_close(b);
    return gf_fail(err, GF_ERR_MEMORY, "no memory for a vocabulary of %d", count);
}
