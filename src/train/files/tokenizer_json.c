/* tokenizer_json.c - see tokenizer_json.h. */
#include "train/files/tokenizer_json.h"
#include <stdio.h>
#include <string.h>

enum { READ_MOST = 1 << 22 }; /* tokens of a file; the limit of vocab_size */

/* The character that a byte-level vocabulary writes for a byte (bytes_to_unicode of GPT-2's encoder.py): printable
 * bytes are written as the character of the same number, the n-th of the others, from 0, as U+0100 + n. */
static int32_t letter_of(int32_t byte) {
    int32_t others = 0;
    for (int32_t i = 0; i <= byte; i++) {
        const int printable = (i >= 33 && i <= 126) || (i >= 161 && i <= 172) || (i >= 174 && i <= 255);
        if (i == byte && printable) return byte;
        if (!printable) others++;
    }
    return 255 + others;
}

void gf_bpe_spell(const struct gf_bpe *b, int32_t id, char *out, size_t capacity) {
    size_t at = 0;
    if (id == 0) {
        snprintf(out, capacity, "%s", GF_BPE_SEPARATOR);
        return;
    }
    for (int32_t i = 0; i < b->n_bytes[id] && at + 3 <= capacity; i++) {
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

/* text as a JSON string. Spellings hold no control characters. */
static void put_string(struct gf_sink *to, const char *text) {
    for (gf_put(to, "\"", 1); *text; text++) {
        if (*text == '"' || *text == '\\') gf_put(to, "\\", 1);
        gf_put(to, text, 1);
    }
    gf_put(to, "\"", 1);
}

void gf_bpe_write(const struct gf_bpe *b, int begin, struct gf_sink *to) {
    char text[GF_BPE_SPELLING_MOST];
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
        put_string(to, text);
        gf_put_format(to, ":%d", i);
    }
    gf_put_text(to, "},\n\"merges\":[");
    for (int32_t i = 0; i < b->n_merges; i++) {
        char pair[2 * sizeof text];
        gf_bpe_spell(b, b->merges[i][0], text, sizeof text);
        snprintf(pair, sizeof pair, "%s ", text);
        gf_bpe_spell(b, b->merges[i][1], pair + strlen(pair), sizeof text);
        if (i) gf_put_text(to, ",");
        put_string(to, pair);
    }
    gf_put_text(to, "]}}\n");
}

/* Decode the JSON string whose text begins at *at, behind its opening quote, from the spelling of gf_bpe_spell to
 * bytes, and advance *at behind the closing quote. The spaces in it separate the two tokens of a merge: *split is the
 * number of bytes before the last. Returns the number of bytes; -1 if the string is not a spelling or exceeds
 * `capacity`. */
static int read_spelling(const char **at, const char *end, uint8_t *out, int capacity, int *split) {
    int n = 0;
    for (const char *t = *at; t < end; t++) {
        int32_t letter = (uint8_t)*t;
        if (letter == '"') return *at = t + 1, n;
        if (letter == '\\' && ++t < end) letter = (uint8_t)*t;
        if (letter >= 0x80 && t + 1 < end) letter = (letter & 0x1f) << 6 | (*++t & 0x3f);
        if (letter == ' ') {
            *split = n;
            continue;
        }
        int byte = 0;
        while (byte < 256 && letter_of(byte) != letter) byte++;
        if (byte == 256 || n == capacity) return -1;
        out[n++] = (uint8_t)byte;
    }
    return -1;
}

/* The id of the token that stands for these bytes, or -1. */
static int32_t id_of(const struct gf_bpe *b, const uint8_t *bytes, int n) {
    for (int32_t i = GF_BPE_FIRST_BYTE; i < b->vocab_size; i++)
        if (b->n_bytes[i] == n && !memcmp(b->bytes[i], bytes, (size_t)n)) return i;
    return -1;
}

/* The number of tokens of a vocabulary whose list of merges begins at t, counted up to READ_MOST + 1. */
static int32_t count_tokens(const char *t, const char *end) {
    int32_t count = GF_BPE_FIRST_MERGE;
    for (; t < end && *t != ']' && count <= READ_MOST; t++) { /* one string a merge */
        if (*t == '\\')
            t++;
        else if (*t == '"') {
            for (t++; t < end && *t != '"'; t++) t += *t == '\\';
            count++;
        }
    }
    return count;
}

int32_t gf_bpe_read(struct gf_bpe *b, const char *json, size_t n, struct gf_error *err) {
    static const char mark[] = "\"merges\":[";
    const char *end = json + n, *at = json;
    memset(b, 0, sizeof *b);
    while (at + sizeof mark - 1 <= end && memcmp(at, mark, sizeof mark - 1)) at++;
    if (at + sizeof mark - 1 > end)
        return gf_fail(err, GF_ERR_MISSING, "the tokenizer's merges are not in the form that this program writes");
    at += sizeof mark - 1;
    const int32_t count = count_tokens(at, end);
    if (count > READ_MOST) return gf_fail(err, GF_ERR_CONFIG, "the tokenizer has more than %d tokens", READ_MOST);
    int status = gf_bpe_open(b, count);
    while (!status && at < end && *at != ']') {
        uint8_t both[GF_BPE_PIECE_MOST];
        int split = -1;
        if (*at++ != '"') continue;
        /* More merges than were counted: a backslash outside of a string hid one from count_tokens. */
        const int m = b->vocab_size == count ? -1 : read_spelling(&at, end, both, sizeof both, &split);
        const int32_t left = m < 0 || split < 1 ? -1 : id_of(b, both, split),
                      right = left < 0 ? -1 : id_of(b, both + split, m - split);
        if (right < 0) {
            const int32_t place = b->n_merges;
            gf_bpe_close(b);
            return gf_fail(err, GF_ERR_SHAPE, "merge %d of the tokenizer joins unknown tokens", place);
        }
        status = gf_bpe_add_merge(b, left, right);
    }
    if (!status && at >= end) {
        gf_bpe_close(b);
        return gf_fail(err, GF_ERR_TRUNCATED, "the tokenizer ends early");
    }
    if (!status) status = gf_bpe_seal(b);
    if (!status) return GF_OK;
    gf_bpe_close(b);
    return gf_fail(err, GF_ERR_MEMORY, "no memory for a vocabulary of %d", count);
}
