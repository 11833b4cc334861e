/* bpe.h - byte-level byte-pair encoding: trained here, or with the vocabulary of a tokenizer.json.
 *
 * Text is cut as GPT-2's pattern cuts it ('s|'t|'re|'ve|'m|'ll|'d| ?letters| ?digits|
 * ?others|spaces not before a word|spaces), then pairs are merged inside each piece in the order in
 * which training found them. */
#ifndef GF_BPE_H
#define GF_BPE_H
#include "base/status.h"
#include "train/sink.h"
#include <stddef.h>
#include <stdint.h>

#define GF_BPE_SEPARATOR "<|endoftext|>" /* id 0: begin and end token */

struct gf_bpe {
    int32_t vocab_size;
    uint8_t **bytes; /* [vocab_size] what an id stands for; NULL for id 0 */
    int32_t *n_bytes;
    int32_t (*merges)[2]; /* [n_merges] ids; merge i makes id 257 + i */
    int32_t n_merges;
    void *pairs, *pieces; /* look-up tables */
};

/* Learn from text (separators are skipped) until vocab_size ids exist; at least 257. */
int32_t gf_bpe_train(struct gf_bpe *b, const char *text, size_t n, int32_t vocab_size, struct gf_error *err);
void gf_bpe_close(struct gf_bpe *b);
/* Ids of n bytes of text, special tokens not recognised. Writes at most `room`; returns how many
 * there are, -1 without memory. */
int64_t gf_bpe_encode(struct gf_bpe *b, const char *text, size_t n, int32_t *ids, int64_t room);
/* An id's bytes in the letters that byte-level vocabularies are written in, UTF-8, 0-terminated. */
void gf_bpe_spell(const struct gf_bpe *b, int32_t id, char *out, size_t room);
/* The tokenizer.json that Hugging Face's library reads; and one written here back. With `begin`
 * that library puts the separator in front of what it encodes. */
void gf_bpe_write(const struct gf_bpe *b, int begin, struct gf_sink *to);
int32_t gf_bpe_read(struct gf_bpe *b, const char *json, size_t n, struct gf_error *err);
#endif
