/* graph.h - forward and backward of a whole model over a batch of sequences. */
#ifndef GF_GRAPH_H
#define GF_GRAPH_H
#include "base/arena.h"
#include "model/layers/embed.h"
#include "model/layers/head.h"
#include "model/layers/pass.h"
#include "train/params.h"
#include "train/text/batch.h"

struct gf_graph;
/* Distillation: a model of the same vocabulary whose predictions are part of the targets, which become
 * (1 - share) onehot + share softmax(its logits) (Hinton et al. 2015, temperature 1). Each of several teachers has its
 * own share. */
struct gf_teacher {
    struct gf_graph *graph; /* opened for batches of the same size */
    const struct gf_weights *w;
    float share; /* 0 ... 1; the sum over all teachers is at most 1 */
};
enum { GF_TEACHERS = 4 };

/* What is differentiated instead of the loss: a sum of weight times the logit of a token (of a classifier: of a label)
 * after a row. A classifier of a whole sequence has the row 0. */
struct gf_metric {
    int32_t n; /* terms, at least 1 */
    const int32_t *rows, *tokens;
    const float *weights;
};

/* One stack's activations, and its gradients. */
struct gf_stack_graph {
    struct gf_config cfg; /* gf_stack_config */
    struct gf_bufs *layers;
    int32_t n_layers;
    struct gf_back back;
    struct gf_seg *segs; /* [max_seqs] */
    float *relative;     /* biases of the scores by distance, of the present weights (relative.h) */
    struct gf_embedded embedded;
    float *input;       /* resid_pre of layer 0 */
    const float *last;  /* the residual stream after the last layer */
    float *hidden;      /* the output: the final norm of `last`, or `last` */
    float *mean, *rstd; /* statistics of that norm */
    float *dhidden;
};

struct gf_graph { /* the activations of one batch; each batch that runs at the same time needs its own */
    struct gf_config cfg;
    int32_t max_rows, max_source, max_seqs;
    gf_gemm_fn gemm;
    const struct gf_teacher *teachers; /* [n_teachers] the caller's; used when gradients are computed */
    int32_t n_teachers;                /* 0 .. GF_TEACHERS */
    const struct gf_metric *metric;    /* NULL: the loss */
    /* The owner's, where weights stay (frozen.h); by_panels NULL: they are plain row-major f32 */
    gf_panels_fn by_panels;
    const struct gf_adapter *adapters;
    int32_t n_adapters;
    float *low;
    struct gf_pool *pool;
    struct gf_observe *changes; /* NULL, or its edits apply to the forward pass of the decoder */
    struct gf_observe *observe; /* NULL, or what it captures are the gradients at its points: gf_tap in backward */
    struct gf_arena arena;
    struct gf_stack_graph decoder; /* the stack that makes the logits, also that of kind encoder */
    struct gf_stack_graph encoder; /* only an encoder_decoder has it */
    float *table, *work;
    float *drows;                      /* gradient of the embedding before its projection */
    float *projected, *dprojected;     /* [loss_rows, d_embed] hidden states before the head */
    float *capped;                     /* [loss_rows, gf_head_rows] a copy of the logits, with a soft cap */
    float *pooled, *label_rows;        /* [max_seqs, d_model] what a pooler computes; what a classifier reads */
    struct gf_transformed transformed; /* the linear layer before the head */
    float *logits; /* [loss_rows, gf_head_rows], after a run without gradients those of its last rows */
    int64_t right; /* targets of the last run that had the largest logit */
};

/* Whether a configuration is valid, and the gradients of all its features are implemented: GF_OK, or the error. loss:
 * those of the loss, which a classifier lacks, and not only those of a metric. */
int32_t gf_graph_check(const struct gf_config *cfg, int loss, struct gf_error *err);
/* Allocate for batches of up to max_rows rows (and max_source source rows) in up to max_seqs sequences. Returns 0, or
 * -1 if memory is missing. */
int gf_graph_open(struct gf_graph *g, const struct gf_config *cfg, int32_t max_rows, int32_t max_source,
                  int32_t max_seqs, gf_gemm_fn gemm);
void gf_graph_close(struct gf_graph *g);
/* Returns the sum of -ln p over the targets that are not -1. Unless dw is NULL, adds to dw the gradient of that sum
 * times `scale`; with teachers, the gradient of the cross-entropy with the mixed targets. dropout: the share of
 * elements dropped, chosen by seed. */
double gf_graph_run(struct gf_graph *g, const struct gf_weights *w, struct gf_weights *dw, const struct gf_batch *batch,
                    float scale, float dropout, uint64_t seed);
#endif
