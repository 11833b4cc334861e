/* train_text_test.c - src/train/text: vocabularies, pieces, epochs, windows, pairs, repeated passages, word
 * replacements. For each test there was a planted fault that no other native test detected. */
#include "base/rng.h"
#include "check.h"
#include "copied.h"
#include "train/files/tokenizer_json.h"
#include "train/text/data.h"
#include "train/text/synthetic.h"
#include "train/text/unicode.h"
#include <stdlib.h>

static struct gf_error err;

/* ---- vocabularies ------------------------------------------------------------------------------------------------ */

/* The most frequent pair in pieces of letters; of equals the one with the smallest ids. Counted again for each
 * merge. */
enum { WORDS = 60, LONG = 8, MERGES = 60 };
static void best_pair(int32_t words[WORDS][LONG], const int32_t *n, int32_t best[2]) {
    static int32_t count[400][400];
    memset(count, 0, sizeof count);
    for (int w = 0; w < WORDS; w++)
        for (int i = 0; i + 1 < n[w]; i++) count[words[w][i]][words[w][i + 1]]++;
    best[0] = best[1] = 0;
    for (int32_t a = 0; a < 400; a++)
        for (int32_t b = 0; b < 400; b++)
            if (count[a][b] > count[best[0]][best[1]]) best[0] = a, best[1] = b;
}

static void equally_frequent_pairs_are_merged_in_the_order_of_their_ids(void) {
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct gf_rng r;
        struct gf_bpe b;
        char text[WORDS * LONG + 1];
        int32_t words[WORDS][LONG], n[WORDS], at = 0;
        gf_rng_seed(&r, seed);
        for (int w = 0; w < WORDS; w++) {
            const int32_t letters = 2 + (int32_t)(gf_rng_u64(&r) % 5), from = at;
            if (w) text[at++] = ' ';
            for (int i = 0; i < letters; i++) text[at++] = (char)('a' + gf_rng_u64(&r) % 9);
            n[w] = at - from;
            for (int i = 0; i < n[w]; i++) words[w][i] = 1 + text[from + i];
        }
        CHECK_INT(gf_bpe_train(&b, text, (size_t)at, 257 + MERGES, &err), GF_OK);
        CHECK_INT(b.n_merges, MERGES);
        for (int32_t m = 0; m < MERGES; m++) {
            int32_t best[2];
            best_pair(words, n, best);
            CHECK_INT(b.merges[m][0], best[0]);
            CHECK_INT(b.merges[m][1], best[1]);
            for (int w = 0; w < WORDS; w++) {
                int32_t to = 0;
                for (int i = 0; i < n[w]; i++)
                    if (i + 1 < n[w] && words[w][i] == best[0] && words[w][i + 1] == best[1])
                        words[w][to++] = 257 + m, i++;
                    else
                        words[w][to++] = words[w][i];
                n[w] = to;
            }
        }
        gf_bpe_close(&b);
    }
}

static void text_is_divided_by_gpt2s_pattern(void) {
    static const char text[] = "x b x b x b x b";
    struct gf_bpe b;
    int32_t ids[16000], two[16000];
    CHECK_INT(gf_bpe_train(&b, text, sizeof text - 1, 258, &err), GF_OK);
    CHECK(b.merges[0][0] == 1 + ' ' && b.merges[0][1] == 1 + 'b');
    CHECK_INT(gf_bpe_encode(&b, "x  b", 4, ids, 9), 3); /* the last space belongs to the word */
    CHECK(ids[0] == 1 + 'x' && ids[1] == 1 + ' ' && ids[2] == 257);
    CHECK_INT(gf_bpe_encode(&b, "x  ", 3, ids, 9), 3);
    gf_bpe_close(&b);
    /* A piece has at most 4,096 bytes; a longer one is divided. */
    char line[9000];
    for (int i = 0; i < 9000; i++) line[i] = "abc"[i % 3];
    CHECK_INT(gf_bpe_train(&b, line, sizeof line, 259, &err), GF_OK); /* ab, then abc */
    const int64_t k = gf_bpe_encode(&b, line, 5000, ids, 16000), first = gf_bpe_encode(&b, line, 4096, two, 16000),
                  rest = gf_bpe_encode(&b, line + 4096, 904, two + first, 16000 - first);
    CHECK_INT(k, first + rest);
    CHECK_BITS(ids, two, k * 4);
    CHECK(ids[first - 1] == 1 + 'a' && ids[first] == 1 + 'b'); /* 4096 = 3 x 1365 + 1 */
    gf_bpe_close(&b);
}

static void bytes_that_form_no_character_count_as_one_character_each(void) {
    static const struct {
        const char *text;
        size_t bytes;
    } cases[] = {{"\xf4\x90\x80\x80", 1},
                 {"\xf4\x8f\xbf\xbf", 4},
                 {"\xf5\x80\x80\x80", 1},
                 {"\xc1\x81", 1},
                 {"\xe2\x82", 1},
                 {"\xe2\x82\xac", 3},
                 {"\x80", 1},
                 {"\xc3x", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t m;
        const enum gf_char kind = gf_char_at(cases[i].text, strlen(cases[i].text), &m);
        CHECK_INT(m, cases[i].bytes);
        if (m == 1) CHECK_INT(kind, GF_CHAR_OTHER);
    }
}

static void tokens_with_json_escapes_are_read_back(void) {
    static const char text[] = "\"\\ \"\\ \"\\ \\\" \\\" \"\" \"\"";
    struct gf_bpe b, again;
    struct gf_memory m;
    struct gf_sink to = gf_memory_sink(&m);
    CHECK_INT(gf_bpe_train(&b, text, sizeof text - 1, 264, &err), GF_OK);
    CHECK(b.n_merges >= 5); /* quotes and backslashes in all of them */
    gf_bpe_write(&b, 1, &to);
    CHECK_INT(gf_bpe_read(&again, (const char *)m.bytes, m.n, &err), GF_OK);
    CHECK_INT(again.n_merges, b.n_merges);
    CHECK_BITS(again.merges, b.merges, (size_t)b.n_merges * sizeof *b.merges);
    gf_bpe_close(&again);
    gf_bpe_close(&b);
    gf_memory_close(&m);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static void each_epoch_has_its_own_order(void) {
    enum { N = 40 };
    struct gf_bpe b;
    struct gf_data d;
    size_t n;
    int32_t orders[3][N], moved[3] = {0};
    char *text = gf_synthetic_stories(3, N, &n);
    CHECK_INT(gf_bpe_train(&b, text, n, 260, &err), GF_OK);
    CHECK_INT(gf_data_open(&d, text, n, 0, &b, 32, 9, &err), GF_OK);
    for (int e = 0; e < 3; e++) {
        int32_t seen[N] = {0};
        CHECK_INT(gf_data_seek(&d, e, 0, 0), 0);
        memcpy(orders[e], d.order, sizeof orders[e]);
        for (int i = 0; i < N; i++) seen[orders[e][i]]++;
        for (int i = 0; i < N; i++) CHECK_INT(seen[i], 1);
        for (int i = 0; i < N; i++) moved[e] += orders[e][i] != orders[e ? e - 1 : 2][i];
    }
    CHECK(moved[1] > N / 2 && moved[2] > N / 2);
    CHECK_INT(gf_data_seek(&d, 0, 0, 0), 0); /* an earlier epoch has the same order again */
    CHECK_BITS(d.order, orders[0], sizeof orders[0]);
    gf_data_close(&d);
    gf_bpe_close(&b);
}

/* Windows of a text of n tokens (bytes, without merges) and a separator: (n + 1) / 8 rounded up. */
static void the_last_window_ends_with_the_text(void) {
    struct gf_bpe b;
    CHECK_INT(gf_bpe_train(&b, "a", 1, 257, &err), GF_OK);
    for (int32_t n = 1; n < 40; n++) {
        struct gf_data d;
        struct gf_batch_buffer buffer;
        const int32_t windows = (n + 1 + 7) / 8;
        char line[64];
        memset(line, 'a', sizeof line);
        CHECK_INT(gf_data_open(&d, copy_of(line, (size_t)n), (size_t)n, 0, &b, 8, 1, &err), GF_OK);
        for (int32_t w = 0; w < windows + 3; w++) CHECK_INT(gf_data_seek(&d, 0, 0, w), w < windows ? 0 : -1);
        /* in file order, one window a batch: each byte counts once */
        int64_t bytes = 0, targets = 0;
        int32_t passes = 0;
        CHECK_INT(gf_batch_open(&buffer, 8, 1), 0);
        for (int32_t i = 0, w = 0; i < d.n_texts; passes++) {
            CHECK_INT(gf_data_in_order(&d, &buffer, &i, &w), 0);
            bytes += buffer.bytes, targets += buffer.n_targets;
        }
        CHECK_INT(passes, windows);
        CHECK_INT(bytes, n);
        CHECK_INT(targets, n + 1);
        gf_batch_close(&buffer);
        gf_data_close(&d);
    }
    gf_bpe_close(&b);
}

static void only_the_target_of_a_pair_is_predicted(void) {
    static const char pairs[] = "three\ttrois\none two four\tun\n";
    struct gf_bpe b;
    struct gf_data d;
    struct gf_batch_buffer buffer;
    int64_t bytes = 0, targets = 0;
    CHECK_INT(gf_bpe_train(&b, "a", 1, 257, &err), GF_OK);
    CHECK_INT(gf_data_open(&d, copy_of(pairs, sizeof pairs - 1), sizeof pairs - 1, 1, &b, 16, 1, &err), GF_OK);
    CHECK_INT(gf_batch_open(&buffer, 40, 4), 0);
    for (int32_t i = 0, w = 0; i < d.n_texts;) {
        CHECK_INT(gf_data_in_order(&d, &buffer, &i, &w), 0);
        bytes += buffer.bytes, targets += buffer.n_targets;
    }
    CHECK_INT(bytes, 5 + 2); /* trois, un */
    CHECK_INT(targets, 5 + 2 + 2);
    gf_batch_close(&buffer);
    gf_data_close(&d);
    gf_bpe_close(&b);
}

/* One window of at most 32 tokens. */
struct window {
    int32_t n, n_targets, ids[32], targets[32], teacher_targets[32];
};

/* The first windows of the corpus in training order, each from a seek to its position. */
static void take_windows(struct gf_data *d, float share, struct window *to, int32_t most) {
    struct gf_batch_buffer buffer;
    int64_t text = 0, window = 0;
    CHECK_INT(gf_batch_open(&buffer, 32, 1), 0);
    d->repeat_share = share;
    for (int32_t i = 0; i < most; i++) {
        CHECK_INT(gf_data_seek(d, 0, text, window), 0);
        CHECK_INT(gf_data_fill(d, &buffer), 0);
        text = d->next, window = d->window;
        to[i] = (struct window){.n = buffer.b.n, .n_targets = buffer.n_targets};
        memcpy(to[i].ids, buffer.ids, (size_t)buffer.b.n * sizeof(int32_t));
        memcpy(to[i].targets, buffer.targets, (size_t)buffer.b.n * sizeof(int32_t));
        memcpy(to[i].teacher_targets, buffer.teacher_targets, (size_t)buffer.b.n * sizeof(int32_t));
    }
    gf_batch_close(&buffer);
}

/* A repeated window: after the separator a passage, the plain window's or random, and the passage again. Only tokens
 * that the text or the first copy predicts are targets, and teachers take part in the text only. Returns whether the
 * passage is random. */
static int check_repeated(const struct window *w, const struct window *plain, int32_t vocab_size) {
    const int32_t passage = (w->n - 1) / 2;
    const int random = memcmp(w->ids, plain->ids, (size_t)(passage + 1) * sizeof(int32_t)) != 0;
    CHECK_INT(w->ids[0], plain->ids[0]);
    for (int32_t i = 1; i <= passage; i++) CHECK(w->ids[i] >= 1 && w->ids[i] < vocab_size);
    for (int32_t i = passage + 1; i < w->n; i++) CHECK_INT(w->ids[i], w->ids[i - passage]);
    for (int32_t i = 0; i < w->n; i++) {
        const int32_t next = i + 1 < w->n ? w->ids[i + 1] : w->ids[w->n - passage];
        CHECK_INT(w->targets[i], i == passage || (i < passage && random) ? -1 : next);
        CHECK_INT(w->teacher_targets[i], i < passage ? w->targets[i] : -1);
    }
    CHECK_INT(w->n_targets, random ? w->n - 1 - passage : w->n - 1);
    return random;
}

static void a_share_of_the_windows_repeats_a_passage(void) {
    enum { N = 2000 };
    static struct window plain[N], mixed[N], again[N];
    struct gf_bpe b;
    struct gf_data d;
    size_t n;
    int32_t repeated = 0, random = 0, changes = 0, last = 0;
    char *text = gf_synthetic_stories(5, 600, &n);
    CHECK_INT(gf_bpe_train(&b, text, n, 260, &err), GF_OK);
    CHECK_INT(gf_data_open(&d, text, n, 0, &b, 32, 9, &err), GF_OK);
    take_windows(&d, 0, plain, N);
    take_windows(&d, 0.25f, mixed, N);
    take_windows(&d, 0.25f, again, N);
    CHECK_BITS(mixed, again, sizeof mixed);
    for (int32_t i = 0; i < N; i++) {
        CHECK_INT(plain[i].n, mixed[i].n);
        CHECK_INT(plain[i].n_targets, plain[i].n);
        CHECK_BITS(plain[i].teacher_targets, plain[i].targets, sizeof plain[i].teacher_targets);
        const int32_t before = repeated;
        repeated += plain[i].n >= 8 && memcmp(&plain[i], &mixed[i], sizeof plain[i]) != 0;
        changes += last != repeated - before;
        last = repeated - before;
        if (!last) continue;
        random += check_repeated(&mixed[i], &plain[i], b.vocab_size);
    }
    CHECK(repeated > N * 0.2 && repeated < N * 0.3);
    CHECK(changes > N * 0.33 && changes < N * 0.42); /* 2 x 0.25 x 0.75: the windows of a text are independent */
    CHECK(random > repeated * 0.4 && random < repeated * 0.6);
    gf_data_close(&d);
    gf_bpe_close(&b);
}

/* Two words never get the same replacement, and a word after "an" is replaced by one that begins with a vowel. */
static void different_words_get_different_replacements(void) {
    static const char text[] = "Lily Tim an owl Ben a dog", all[] = "Lily Tim Ben Mia Sam owl dog ant cat";
    struct gf_swap s;
    int32_t changed = 0;
    CHECK_INT(gf_swap_open(&s, "1 Lily Tim Ben Mia Sam\n1 owl dog ant cat\n", all, sizeof all - 1, &err), GF_OK);
    for (uint64_t draw = 0; draw < 200; draw++) {
        size_t n;
        char words[7][16], copy[128] = {0};
        const char *got = gf_swap_apply(&s, text, sizeof text - 1, draw, &n);
        CHECK(got && n < sizeof copy);
        memcpy(copy, got, n);
        CHECK_INT(sscanf(copy, "%15s %15s %15s %15s %15s %15s %15s", words[0], words[1], words[2], words[3], words[4],
                         words[5], words[6]),
                  7);
        changed += strcmp(copy, text) != 0;
        CHECK(strcmp(words[0], words[1]) && strcmp(words[0], words[4]) && strcmp(words[1], words[4]));
        CHECK(!strcmp(words[2], "an") && strchr("ao", words[3][0]));
        CHECK(!strcmp(words[5], "a") && !strchr("ao", words[6][0]));
    }
    CHECK(changed > 100);
    gf_swap_close(&s);
}

int main(void) {
    RUN(equally_frequent_pairs_are_merged_in_the_order_of_their_ids);
    RUN(text_is_divided_by_gpt2s_pattern);
    RUN(bytes_that_form_no_character_count_as_one_character_each);
    RUN(tokens_with_json_escapes_are_read_back);
    RUN(each_epoch_has_its_own_order);
    RUN(the_last_window_ends_with_the_text);
    RUN(only_the_target_of_a_pair_is_predicted);
    RUN(a_share_of_the_windows_repeats_a_passage);
    RUN(different_words_get_different_replacements);
    return check_end();
}
