/* golden.h - tests/golden/models: tiny models with everything that happens inside them, written by
 * make_golden.py, an implementation that shares nothing with the engine. The tests run in the
 * project's root. */
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
struct golden_decoy { /* the output that a mistake would have given */
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
    struct gf_config cfg; /* the model's, with what this run changes */
    int32_t n, n_source, n_mask, full;
    const int32_t *ids, *source;
    const uint8_t *mask; /* NULL where nothing is hidden */
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
enum { N_GOLDEN = 21 };

/* Read a model; the process ends with a sentence if it is not there. */
void golden_open(struct golden *g, const char *name);
void golden_close(struct golden *g);

/* How weights reach an engine. */
struct feeding {
    const uint8_t *dtypes;    /* [roster] kept as; NULL: f32 */
    int32_t file_dtype;       /* bytes arrive as */
    int32_t transposed;       /* matrices arrive as [in, out] */
    int32_t claim_transposed; /* matrices arrive as [out, in] but are announced as [in, out] */
    int32_t stacked;          /* q, k, v (and their biases) arrive as one tensor */
    const char *a, *b;        /* names that end so are exchanged: ".gate.weight", ".up.weight" */
    int32_t zero_head;        /* 1 + a head of layer 0 whose columns of the output projection are 0 */
    uint64_t seed;            /* of the sizes of the pieces */
};
/* A sealed model with the golden weights, through gf_tensor_begin, write and end; NULL and err when
 * refused. how may be NULL. */
struct gf_model *golden_model(const struct golden *g, const struct gf_config *cfg, const struct feeding *how,
                              struct gf_error *err);
/* Encode and evaluate a run in one go; rows [run->rows, run->cols], owned by the session. NULL and
 * err on failure. */
const float *golden_eval(struct gf_session *s, const struct golden_run *r, struct gf_error *err);
/* A session of its own: its output to out [rows * cols]. 0, or the status. */
int32_t golden_output(const struct gf_model *m, const struct golden_run *r, float *out, struct gf_error *err);
/* Largest difference; infinite where one is NaN or an infinity only one side has. */
double max_diff(const float *a, const float *b, int64_t n);
/* xorshift64*: tests need numbers too. */
uint64_t test_random(uint64_t *state);
/* Any configuration that can be built, of at most 40 wide and 90 long. */
struct gf_config test_config(uint64_t *state);
/* The point's number by its name, -1 if there is none. */
int32_t point_by_name(const char *name);
const char *point_name(int32_t point);
#endif
