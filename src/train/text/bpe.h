/* bpe.h - byte-level byte-pair encoding: learning a vocabulary, and encoding text with one.
 *
 * Text is divided into pieces by GPT-2's pattern ('s|'t|'re|'ve|'m|'ll|'d| ?letters| ?digits| ?others|spaces not before
 * a word|spaces). A piece begins as one token a byte; then pairs of neighbouring tokens are merged, in the order in
 * which training found the merges. Sennrich et al. 2016; over bytes, Radford et al. 2019. */
#ifndef GF_BPE_H
#define GF_BPE_H
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

#define GF_BPE_SEPARATOR "<|endoftext|>" /* id 0: begin and end token */

enum { GF_BPE_FIRST_BYTE = 1, GF_BPE_FIRST_MERGE = 257 }; /* ids of byte 0 and of merge 0 */
enum { GF_BPE_PIECE_MOST = 4096 };                        /* bytes; a longer piece is divided */

struct gf_merge_table;
struct gf_piece_table;

struct gf_bpe {
    int32_t vocab_size;
    uint8_t **bytes; /* [vocab_size] what an id stands for; NULL for id 0 */
    int32_t *n_bytes;
    int32_t (*merges)[2]; /* [n_merges] ids; merge i makes id GF_BPE_FIRST_MERGE + i */
    int32_t n_merges;
    struct gf_merge_table *table; /* finds the merge of a pair of ids */
    struct gf_piece_table *cache; /* the ids of the pieces that have been encoded */
};

/* Learn from text (separators are skipped) until vocab_size ids exist, or fewer if the text has no more pairs.
 * vocab_size is at least GF_BPE_FIRST_MERGE. After a failure gf_bpe_close frees what is left. */
int32_t gf_bpe_train(struct gf_bpe *b, const char *text, size_t n, int32_t vocab_size, struct gf_error *err);

/* A vocabulary from a list of merges: gf_bpe_open makes the separator and the 256 bytes, with capacity for vocab_size
 * ids; gf_bpe_add_merge adds an id; gf_bpe_seal, after the last merge, makes encoding possible. Each returns 0, or -1
 * if memory is missing; gf_bpe_close then frees what is left. */
int gf_bpe_open(struct gf_bpe *b, int32_t vocab_size);
int gf_bpe_add_merge(struct gf_bpe *b, int32_t left, int32_t right);
int gf_bpe_seal(struct gf_bpe *b);

void gf_bpe_close(struct gf_bpe *b);
/* The ids of n bytes of text; special tokens are not recognised. Writes at most `capacity` of them and returns how many
 * there are; -1 if memory is missing. */
int64_t gf_bpe_encode(struct gf_bpe *b, const char *text, size_t n, int32_t *ids, int64_t capacity);
#endif
