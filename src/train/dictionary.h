/* dictionary.h - trains a sparse dictionary of activations: a TopK autoencoder (Gao et al. 2024) or, where the target
 * is another point than the input, a transcoder (Dunefsky et al. 2024).
 *
 *   z = the k largest of W_enc x + b_enc, those above 0        y ~ W_dec^T z + b_dec, rows of W_dec of length 1
 *
 * With a token table, x and y are what is left after the mean activation of the row's token has been subtracted
 * (Dooms & Wilhelm 2024). Results have the same bits on every machine and with any number of threads. */
#ifndef GF_DICTIONARY_H
#define GF_DICTIONARY_H
#include "base/arena.h"
#include "base/pool.h"
#include "base/rng.h"
#include "base/status.h"
#include "train/adam.h"

/* X(C type, name, least, most): what gf_dictionary_new of wasm/dictionary_abi.c takes, as doubles in
 * this order. */
#define GF_DICTIONARY_OPTIONS(X)                                                                                       \
    X(int32_t, rows, 1, 1 << 30)                                                                                       \
    X(int32_t, d_in, 1, 1 << 20)                                                                                       \
    X(int32_t, d_out, 0, 1 << 20)      /* of the target; 0: the input is the target */                                 \
    X(int32_t, vocab_size, 0, 1 << 30) /* of the token table; 0: none */                                               \
    X(int32_t, size, 1, 1 << 24)       /* features */                                                                  \
    X(int32_t, k, 1, 1 << 24)          /* features of a row, at most; at most `size` */                                \
    X(int32_t, batch, 1, 1 << 20)      /* rows of a step, at most `rows` */                                            \
    X(int64_t, steps, 0, 0x1p53)                                                                                       \
    X(float, lr, 0, 1e3)                                                                                               \
    X(float, decay, 0, 1) /* share of the steps, at the end, in which the rate falls to 0 */                           \
    X(uint64_t, seed, 0, 0x1p53)

#define GF_DICTIONARY_MEMBER(type, name, least, most) type name;
struct gf_dictionary_options {
    GF_DICTIONARY_OPTIONS(GF_DICTIONARY_MEMBER)
};

/* A weight with Adam's moments. */
struct gf_dictionary_weight {
    float *w, *first, *second;
};

/* The rows of a batch and what they activate. */
struct gf_dictionary_batch {
    float *x;               /* [batch, d_in] */
    float *error;           /* [batch, d_out]: reconstruction - target */
    float *pre;             /* [batch, size]: W_enc x */
    float *z, *dz;          /* [batch, k]: values of the active features, and their gradients */
    int32_t *index;         /* [batch, k]: the active features, in order; -1 after the last */
    int32_t *start, *order; /* entries by feature: order[start[i]] ... are those of feature i; [size + 1], [batch k] */
    double *squares;        /* [batch]: of the error */
};

struct gf_dictionary {
    struct gf_dictionary_options o;
    int32_t d_out; /* that of the target */
    struct gf_arena memory;
    float *x, *y;    /* the caller fills them before gf_dictionary_prepare: [rows, d_in], [rows, d_out] or x */
    int32_t *tokens; /* [rows], with a token table */
    int32_t *counts; /* [vocab_size]: rows of each token */
    float *table_in, *table_out; /* [vocab_size, d]: mean activations of each token; the latter NULL or that of y */
    struct gf_dictionary_weight enc, b_enc, dec, b_dec; /* [size, d_in], [size], [size, d_out], [d_out] */
    struct gf_dictionary_batch batch;
    float *gradient;           /* [size, d_in + d_out]: workspace of the features */
    int64_t *fired;            /* [size]: the value of `seen` when a feature was last active */
    int32_t *rows;             /* [rows]: the order of this epoch */
    int32_t next;              /* index into it */
    int64_t step, seen;        /* steps and rows so far */
    double variance;           /* mean of |y - mean(y)|^2, before the table is subtracted */
    float scale_in, scale_out; /* root mean square of a component of x and y, after the table is subtracted */
    double power1, power2;     /* beta1^step, beta2^step */
    struct gf_rng rng;
    struct gf_pool *pool; /* may be NULL */
};

/* What some rows have cost. fvu: fraction of variance unexplained, sum |error|^2 / sum |y - mean(y)|^2. */
struct gf_dictionary_score {
    double step, rows, fvu, l0, dead; /* dead: features that were not active in the last epoch */
};

/* Open a dictionary whose rows are still to be filled in. */
int32_t gf_dictionary_open(struct gf_dictionary *d, const struct gf_dictionary_options *o, struct gf_error *err);
void gf_dictionary_close(struct gf_dictionary *d);
/* Subtract the token table from the rows, and draw the first weights. Refuses values that are not finite, and tokens
 * outside the vocabulary. */
int32_t gf_dictionary_prepare(struct gf_dictionary *d, struct gf_error *err);
/* Do one step. The score is that of its rows before it. */
int32_t gf_dictionary_step(struct gf_dictionary *d, struct gf_dictionary_score *score, struct gf_error *err);
/* What n rows from `first` on activate: index and z [n, k], as in struct gf_dictionary_batch. dead: features that are
 * not active in them. Returns GF_OK, or GF_ERR_ARGUMENT where there are no such rows. */
int32_t gf_dictionary_encode(struct gf_dictionary *d, int32_t first, int32_t n, int32_t *index, float *z,
                             struct gf_dictionary_score *score, struct gf_error *err);
#endif
