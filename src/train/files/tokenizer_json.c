/* tokenizer_json.c - see tokenizer_json.h. */
#include "train/files/tokenizer_json.h"
#include <stdio.h>
#include <string.h>

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

void gf_bpe_spell_merge(const struct gf_bpe *b, int32_t merge, char out[GF_BPE_MERGE_MOST]) {
    gf_bpe_spell(b, b->merges[merge][0], out, GF_BPE_SPELLING_MOST);
    const size_t n = strlen(out);
    out[n] = ' ';
    gf_bpe_spell(b, b->merges[merge][1], out + n + 1, GF_BPE_SPELLING_MOST);
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
    static char text[GF_BPE_MERGE_MOST];
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
        gf_bpe_spell_merge(b, i, text);
        if (i) gf_put_text(to, ",");
        put_string(to, text);
    }
    gf_put_text(to, "]}}\n");
}
