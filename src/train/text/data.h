/* data.h - texts become batches.
 *
 * Stories: a file of texts with a separator line after each. A sequence is separator, tokens; its
 * targets are the tokens, separator; longer than the context, it is cut into consecutive windows.
 * Pairs: a file of lines "source TAB target" for an encoder_decoder; the source has no separators,
 * and a loss or a byte counts only in the target.
 * Every story is drawn once an epoch, in an order that depends on seed and epoch alone. */
#ifndef GF_DATA_H
#define GF_DATA_H
#include "train/text/bpe.h"
#include "train/text/batch.h"
#include "train/text/swap.h"

struct gf_text { /* one story, or one line of pairs */
    size_t at, n;
};

struct gf_data {
    char *bytes; /* all of the text */
    size_t n_bytes;
    char sha256[65]; /* of it */
    struct gf_text *texts;
    int32_t n_texts;
    int pairs;
    struct gf_bpe *bpe;
    struct gf_swap *swap; /* or NULL */
    int32_t context;
    uint64_t seed;
    /* where the next sequence comes from: all that a checkpoint needs */
    int64_t epoch, next, window;
    /* the order of `epoch`, and the text under way as ids */
    int32_t *order;
    int64_t ordered;
    int32_t *ids;
    int64_t n_ids, room;
    int64_t held; /* which text `ids` holds: epoch * n_texts + next; -1: none */
    int32_t *source;
    int32_t n_source;
    size_t n_target; /* bytes of the text under way that are predicted: of a pair its target */
};

/* Stories, or pairs. text: n bytes and a 0 behind them, from malloc; taken over, also on failure. */
int32_t gf_data_open(struct gf_data *d, char *text, size_t n, int pairs, struct gf_bpe *bpe, int32_t context,
                     uint64_t seed, struct gf_error *err);
void gf_data_close(struct gf_data *d);

/* A batch with memory of its own, filled by gf_data_fill. */
struct gf_batch_room {
    struct gf_batch b;
    int32_t rows, seqs; /* room */
    int32_t *ids, *targets, *lengths, *source_ids, *source_lengths;
    int32_t counted; /* targets that are not -1 */
    int64_t bytes;   /* of text that is predicted */
};
int gf_batch_open(struct gf_batch_room *r, int32_t rows, int32_t seqs);
void gf_batch_close(struct gf_batch_room *r);
/* The next sequences in shuffled order, as many whole ones as fit. 0, or -1 without memory. */
int gf_data_fill(struct gf_data *d, struct gf_batch_room *r);
/* Go on from a place where gf_data_fill once stood. 0, or -1 (and nothing has changed): this data
 * has no such place, or no memory. */
int gf_data_seek(struct gf_data *d, int64_t epoch, int64_t next, int64_t window);
/* The same as gf_data_fill in file order without substitutions: text i from window w on; *i becomes
 * n_texts at the end. */
int gf_data_in_order(struct gf_data *d, struct gf_batch_room *r, int32_t *i, int32_t *w);
#endif
