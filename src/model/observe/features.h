/* features.h - the encoder of a sparse dictionary, whose calls glassformer.h declares. */
#ifndef GF_FEATURES_H
#define GF_FEATURES_H
#include "base/arena.h"
#include "glassformer.h"

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
    float *largest; /* [k] */
    int32_t *index; /* [k] */
    void *scratch;  /* of gf_matmul */
};

/* Count one more holder; f may be NULL. */
void gf_features_hold(struct gf_features *f);
#endif
