/* batch.h - what one pass of training reads. */
#ifndef GF_BATCH_H
#define GF_BATCH_H
#include <stdint.h>

/* Whole sequences one after the other, none longer than the context. */
struct gf_batch {
    int32_t n, n_seqs;      /* rows, sequences */
    const int32_t *lengths; /* [n_seqs], sum n */
    const int32_t *ids;     /* [n] */
    const int32_t *targets; /* [n] the token that comes next; -1: not counted */
    /* encoder_decoder: every sequence's source */
    int32_t n_source;
    const int32_t *source_lengths; /* [n_seqs], sum n_source */
    const int32_t *source_ids;     /* [n_source] */
};
#endif
