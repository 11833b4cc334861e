/* features.h - the encoder of a sparse dictionary, whose calls glassformer.h declares. */
#ifndef GF_FEATURES_H
#define GF_FEATURES_H
#include "base/arena.h"
#include "glassformer.h"
#include "model/observe/observe.h"

struct gf_features {
    struct gf_features_spec spec;
    int32_t held; /* by the caller and by edits; the last one frees it */
    struct gf_arena memory;
    struct gf_mat w;
    float *bias, *threshold, *gain, *magnitude; /* [size] */
    float *table;                               /* [vocab_size, d]; NULL: none */
    /* workspace of GF_FEATURE_ROWS rows */
    float *x, *z;   /* [rows, d], [rows, size] */
    float *scale;   /* [rows]: what a unit of x' is in x */
    float *slope;   /* [2, d]: of features_back.c */
    float *largest; /* [k] */
    int32_t *index; /* [k] */
    void *scratch;  /* of gf_matmul */
};

/* Count one more holder; f may be NULL. */
void gf_features_hold(struct gf_features *f);
/* gf_features_encode of rows that are ld apart: f->z, and f->x and f->scale for features_back.c. */
void gf_features_encode_rows(struct gf_features *f, const float *x, int32_t ld, const int32_t *ids, int32_t position,
                             int32_t n, struct gf_pool *pool);
/* features_back.c: the gradient g of a row behind n edits of features becomes that before them; `row`: its number
 * among the rows that were encoded last. */
void gf_features_back(struct gf_features *f, const struct gf_edit *edits, int32_t n, int32_t position, int32_t row,
                      float *g);
#endif
