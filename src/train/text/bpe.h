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

/* A vocabulary from merges [n][2] of ids; merge i makes id GF_BPE_FIRST_MERGE + i. After a failure there is nothing to
 * close. */
int32_t gf_bpe_from(struct gf_bpe *b, const int32_t *merges, int32_t n, struct gf_error *err);

void gf_bpe_close(struct gf_bpe *b);
/* The ids of n bytes of text; special tokens are not recognised. Writes at most `capacity` of them and returns how many
 * there are; -1 if memory is missing. */
int64_t gf_bpe_encode(struct gf_bpe *b, const char *text, size_t n, int32_t *ids, int64_t capacity);
#endif
