/* data.h - divides a corpus into texts and makes training batches of them.
 *
 * A corpus of stories has a separator after each story. The ids of a sequence are separator, tokens; its targets are
 * tokens, separator. A sequence longer than the context is divided into consecutive windows. A corpus of pairs, for an
 * encoder_decoder, has lines "source TAB target". The source has no separators; loss and bytes count the target only.
 * Each text occurs once an epoch, in an order that depends on seed and epoch only. */
#ifndef GF_DATA_H
#define GF_DATA_H
#include "train/text/bpe.h"
#include "train/text/batch.h"
#include "train/text/swap.h"

struct gf_document { /* one story, or one line of pairs: n bytes from bytes[start] on */
    size_t start, n;
};

struct gf_data {
    char *bytes; /* [n_bytes] the corpus */
    size_t n_bytes;
    char sha256[65]; /* the hash of the corpus, in hexadecimal */
    struct gf_document *texts;
    int32_t n_texts;
    int pairs;
    struct gf_bpe *bpe;
    struct gf_swap *swap; /* word replacements; NULL: none */
    float repeat_share;   /* the share of the windows of gf_data_fill that repeat a passage; 0: none */
    int32_t context;
    uint64_t seed;
    /* The position of the next sequence, which a checkpoint contains: window `window` of text order[next] */
    int64_t epoch, next, window;
    int32_t *order;        /* [n_texts] the shuffled texts */
    int64_t ordered_epoch; /* the epoch of `order`; -1: none */
    /* The loaded text as ids */
    int32_t *ids;    /* [n_ids] separator, tokens, separator; of a pair the target's */
    int32_t *source; /* [n_source] of a pair */
    int64_t n_ids, capacity;
    int32_t n_source;
    int64_t loaded;  /* epoch * n_texts + next of the loaded text; -1: none or another one */
    size_t n_target; /* bytes that are predicted: of a pair those of its target */
};

/* Open a corpus of stories, or of pairs. text: n bytes followed by a 0, from malloc; d owns it, and it is freed on
 * failure. bpe is the caller's and outlives d. */
int32_t gf_data_open(struct gf_data *d, char *text, size_t n, int pairs, struct gf_bpe *bpe, int32_t context,
                     uint64_t seed, struct gf_error *err);
void gf_data_close(struct gf_data *d);

/* A batch that owns its arrays. */
struct gf_batch_buffer {
    struct gf_batch b;
    int32_t rows, seqs; /* capacity: tokens, sequences */
    int32_t *ids, *targets, *teacher_targets, *lengths, *source_ids, *source_lengths;
    int32_t n_targets; /* targets that are not -1 */
    int64_t bytes;     /* bytes of predicted text that starts in this batch; set by gf_data_in_order */
};
/* 0, or -1 if memory is missing; there is then nothing to close. */
int gf_batch_open(struct gf_batch_buffer *r, int32_t rows, int32_t seqs);
void gf_batch_close(struct gf_batch_buffer *r);
/* Empty the batch. */
void gf_batch_clear(struct gf_batch_buffer *r);
/* Append a sequence: n ids, the token that is right after each (-1: not part of the loss), and the n_source ids of its
 * source. Returns 1, or 0 if it does not fit. */
int gf_batch_append(struct gf_batch_buffer *r, const int32_t *ids, const int32_t *targets, int32_t n,
                    const int32_t *source, int32_t n_source);
/* Fill the batch with the next sequences in shuffled order, as many as fit. Returns 0, or -1 if memory is missing. */
int gf_data_fill(struct gf_data *d, struct gf_batch_buffer *r);
/* Continue from a position that gf_data_fill has reached before. Returns 0; -1, with nothing changed, if the corpus has
 * no such position or memory is missing. */
int gf_data_seek(struct gf_data *d, int64_t epoch, int64_t next, int64_t window);
/* Fill the batch in file order and without word replacements, from window *w of text *i on; advances both. *i is
 * n_texts after the last window. Returns 0, or -1 if memory is missing. */
int gf_data_in_order(struct gf_data *d, struct gf_batch_buffer *r, int32_t *i, int32_t *w);
#endif
