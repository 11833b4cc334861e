/* golden.h - reads tests/golden/models: tiny models with their inputs, outputs and all intermediate values, written by
 * make_golden.py, an implementation that shares no code with the engine. The tests run in the project's root. */
#ifndef GF_GOLDEN_H
#define GF_GOLDEN_H
#include "glassformer.h"

struct golden_weight {
    char name[64];
    int32_t rank, rows, cols;
    const float *data;
};
struct golden_point {
    char name[64];
    int32_t stack, layer, point; /* point: of enum gf_point */
    int32_t dims[3];
    const float *data;
};
struct golden_decoy { /* the output of a model with a known mistake */
    char name[64];
    const float *output;
};
struct golden_edit { /* the output with one edit */
    char name[64];
    int32_t stack, layer, point, head, position, op, n_values;
    float scale;
    const float *values, *output;
};
struct golden_run {
    char name[64];
    struct gf_config cfg; /* the model's, with the changes of this run */
    int32_t n, n_source, n_mask, full;
    const int32_t *ids, *source;
    const uint8_t *mask; /* NULL: nothing is masked */
    float tolerance;
    int32_t rows, cols; /* of the output: logits, or an encoder's states */
    const float *output;
    int32_t n_points, n_decoys, n_edits;
    struct golden_point *points;
    struct golden_decoy *decoys;
    struct golden_edit *edits;
};
struct golden {
    char name[64];
    struct gf_config cfg;
    int32_t n_weights, n_runs;
    struct golden_weight *weights;
    struct golden_run *runs;
    void *memory;
};

extern const char *const golden_names[];
enum { N_GOLDEN = 25 };

/* Read a model. If it is missing, the process ends with a sentence. */
void golden_open(struct golden *g, const char *name);
void golden_close(struct golden *g);

/* How weights are loaded into a model. */
struct feeding {
    const uint8_t *dtypes;    /* [roster] the types in memory; NULL: f32 */
    int32_t file_dtype;       /* the type in the file */
    int32_t transposed;       /* matrices are written as [in, out] */
    int32_t claim_transposed; /* matrices are written as [out, in] but announced as [in, out] */
    int32_t stacked;          /* q, k, v (and their biases) are written as one tensor */
    const char *a, *b;        /* weights whose names end in a and in b are exchanged */
    int32_t zero_head;        /* 1 + the head of layer 0 whose columns of the output projection are set to 0 */
    uint64_t seed;            /* for the sizes of the pieces */
};
/* A sealed model with the golden weights, loaded by gf_tensor_begin, write and end. NULL with err if that is refused.
 * how may be NULL. */
struct gf_model *golden_model(const struct golden *g, const struct gf_config *cfg, const struct feeding *how,
                              struct gf_error *err);
/* The types in memory that represent the golden weights exactly, for feeding.dtypes: a block format for three models,
 * otherwise f32. The list is overwritten by the next call. */
const uint8_t *golden_dtypes(const struct golden *g);
const uint8_t *all_kept_as(int dtype);
/* Encode and evaluate a run in one call each. Returns the rows [run->rows, run->cols], owned by the session; NULL with
 * err on failure. */
const float *golden_eval(struct gf_session *s, const struct golden_run *r, struct gf_error *err);
/* Evaluate a run in a new session and copy its output to out [rows * cols]. Returns GF_OK or the failure. */
int32_t golden_output(const struct gf_model *m, const struct golden_run *r, float *out, struct gf_error *err);
/* The largest difference; infinite if a value is NaN, or infinite on one side only. */
double max_diff(const float *a, const float *b, int64_t n);
/* Random numbers for the tests (xorshift64*). */
uint64_t test_random(uint64_t *state);
/* A random valid configuration, with widths of at most 40 and a context of at most 90. */
struct gf_config test_config(uint64_t *state);
/* The number of the point with this name; -1 if there is none. */
int32_t point_by_name(const char *name);
const char *point_name(int32_t point);
#endif
