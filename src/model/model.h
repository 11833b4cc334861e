/* model.h - a model: configuration, roster and weights in one arena. Immutable once sealed. */
#ifndef GF_MODEL_H
#define GF_MODEL_H
#include "base/arena.h"
#include "glassformer.h"
#include "model/roster.h"

struct gf_loading {   /* load.c: the tensor that is being loaded */
    int32_t first, n; /* the roster entries that it contains */
    int32_t dtype, transposed;
    int32_t by_head;      /* the entries' rows follow each other head by head: gf_tensor_begin, layout 2 */
    int32_t rows, cols;   /* the shape of all entries stacked, as [out, in] */
    uint64_t done, total; /* elements */
    float limit;          /* values must be smaller, or they are infinite in memory */
    int32_t verbatim;     /* blocks are stored without conversion to float */
    int32_t gather;       /* transposed: rows of the file that are gathered, whole blocks of the types in memory */
    float *line;          /* one row [cols]; transposed: [gather][rows]; NULL: no tensor is being loaded */
};

struct gf_model {
    struct gf_config cfg, stack_cfg[2]; /* by enum gf_stack: gf_stack_config */
    struct gf_weights w;
    struct gf_slot *slots; /* the roster, bound to w */
    int32_t n_slots;
    struct gf_mat
        *parts;      /* [n_slots]: the second and later parts of matrices with several types, by their first slot */
    uint8_t *loaded; /* [n_slots] */
    int32_t sealed;
    struct gf_loading loading;
    struct gf_pool *pool;
    struct gf_arena arena;
    float *relative[2]; /* by enum gf_stack: biases of the scores by distance (relative.h); NULL: none */
};

/* Whether the values of a GF_F16 entry are in memory as bf16, from seal on (gf_mat_narrow). gf_slot_widen: no longer
 * so. */
static inline int gf_slot_is_narrow(const struct gf_slot *s) { return s->mat && s->mat->dtype != s->t.dtype; }
void gf_slot_widen(struct gf_model *m, const struct gf_slot *s);
/* Put n values into row `row` of a matrix or table, or (row 0) into a vector, from column `col` on. */
void gf_slot_put(const struct gf_slot *s, int32_t row, int32_t col, const float *x, int32_t n);
#endif
