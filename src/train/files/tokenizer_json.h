/* tokenizer_json.h - a vocabulary as tokenizer.json, the file of Hugging Face's tokenizers library. */
#ifndef GF_TOKENIZER_JSON_H
#define GF_TOKENIZER_JSON_H
#include "train/text/bpe.h"
#include "train/sink.h"

/* Bytes that the longest spelling needs: two a byte of the token, and the 0. */
enum { GF_BPE_SPELLING_MOST = 2 * GF_BPE_PIECE_MOST + 3 };

/* Spell a token as byte-level vocabularies do: each of its bytes as one character, in UTF-8, terminated by 0. A
 * spelling that exceeds `capacity` is cut off. */
void gf_bpe_spell(const struct gf_bpe *b, int32_t id, char *out, size_t capacity);
/* Write a tokenizer.json. With `begin`, Hugging Face's library puts the separator before each text that it encodes. */
void gf_bpe_write(const struct gf_bpe *b, int begin, struct gf_sink *to);
/* Read the merges of a tokenizer.json that gf_bpe_write has written. After a failure there is nothing to close. */
int32_t gf_bpe_read(struct gf_bpe *b, const char *json, size_t n, struct gf_error *err);
#endif
