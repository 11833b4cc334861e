/* batch.h - the token ids that one training pass reads. */
#ifndef GF_BATCH_H
#define GF_BATCH_H
#include <stdint.h>

/* Sequences, one after the other, none longer than the context. */
struct gf_batch {
    int32_t n, n_seqs;              /* tokens (rows of the pass), sequences */
    const int32_t *lengths;         /* [n_seqs], sum n */
    const int32_t *ids;             /* [n] */
    const int32_t *targets;         /* [n] the token that follows; -1: not part of the loss */
    const int32_t *teacher_targets; /* [n] the same, for the share of teachers; NULL: targets */
    /* The sequences' sources; encoder_decoder only */
    int32_t n_source;
    const int32_t *source_lengths; /* [n_seqs], sum n_source */
    const int32_t *source_ids;     /* [n_source] */
};
#endif
