/* gradients.h - the gradient of a loaded model's loss, or of a difference of its logits, with respect to its weights
 * and to the values at the points of a pass. */
#ifndef GF_GRADIENTS_H
#define GF_GRADIENTS_H
#include "model/model.h"
#include "train/graph.h"

struct gf_gradients {
    struct gf_config cfg;
    struct gf_model *model;     /* the weights, as they are stored; the caller fills them */
    uint8_t *wanted;            /* [roster entries] whether the next run keeps the gradient of a weight */
    struct gf_params grads;     /* of the wanted ones, after a run */
    struct gf_observe *observe; /* captures the gradients at points */
    struct gf_observe *changes; /* the edits of the forward pass; NULL: there were none */
    struct gf_pool *pool;       /* or NULL */
};

/* One sequence and what is differentiated. */
struct gf_question {
    const int32_t *ids, *source; /* [n], [n_source] */
    int32_t n, n_source;
    struct gf_metric metric; /* n 0: the mean loss of the tokens after the first */
    float embedding;         /* a factor of the token embedding in this pass */
};

/* Refuses configurations that cannot be trained. dtypes: [roster entries] of the weights; NULL: f32. */
int32_t gf_gradients_open(struct gf_gradients *g, const struct gf_config *cfg, const uint8_t *dtypes,
                          struct gf_error *err);
void gf_gradients_close(struct gf_gradients *g);
/* Change a point in later runs, as gf_session_edit and gf_session_edit_feature. The gradient at the point is that of
 * the changed values, and what flows to those before goes through the change. GF_ERR_UNSUPPORTED at points where that
 * is not implemented. */
int32_t gf_gradients_edit(struct gf_gradients *g, int32_t stack, int32_t layer, const struct gf_edit *edit,
                          int32_t point, const float *values, struct gf_error *err);
/* *value: what is differentiated. g->grads and g->observe then hold its gradients. */
int32_t gf_gradients_run(struct gf_gradients *g, const struct gf_question *q, double *value, struct gf_error *err);
#endif
