/* graph.h - forward and backward of a whole model over a batch of sequences. */
#ifndef GF_GRAPH_H
#define GF_GRAPH_H
#include "base/arena.h"
#include "model/pass.h"
#include "train/params.h"
#include "train/text/batch.h"

struct gf_graph;
/* A model of the same vocabulary whose predictions are learnt beside the true tokens: the targets
 * become (1 - share) onehot + share softmax(its logits) (Hinton 2015, temperature 1); of several,
 * each has its share. */
struct gf_teacher {
    struct gf_graph *graph; /* room for the same batches */
    const struct gf_weights *w;
    float share; /* 0 .. 1, all teachers' at most 1 */
};
enum { GF_TEACHERS = 4 };

struct gf_graph { /* one set of activations; as many graphs as batches at the same time */
    struct gf_config cfg;
    int32_t max_rows, max_source, max_seqs;
    gf_gemm_fn gemm;
    const struct gf_teacher *teachers; /* the caller's: asked where there is a gradient */
    int32_t n_teachers;                /* 0 .. GF_TEACHERS */
    struct gf_arena arena;
    struct gf_bufs *decoder, *encoder; /* [layers] */
    struct gf_back back, back_encoder;
    struct gf_seg *segs, *source_segs; /* [max_seqs] */
    float *table, *pos, *work;
    float *hidden, *mean, *rstd, *dhidden; /* decoder's end */
    float *memory, *memory_mean, *memory_rstd, *dmemory;
    float *embedded, *embedded_source; /* resid_pre of layer 0 */
    float *logits;                     /* [LOSS_ROWS, vocab_size] */
    uint64_t bytes;
};

/* Room for batches of up to max_rows rows (and max_source source rows) in up to max_seqs sequences.
 * 0, or -1 without memory. */
int gf_graph_open(struct gf_graph *g, const struct gf_config *cfg, int32_t max_rows, int32_t max_source,
                  int32_t max_seqs, gf_gemm_fn gemm);
void gf_graph_close(struct gf_graph *g);
/* Sum over the counted targets of -ln p. With dw the gradient of that sum (of the cross-entropy
 * with the teachers' targets, where there are some) times `scale` is added to dw.
 * dropout: share dropped, drawn from seed. row_loss: [n] or NULL. */
double gf_graph_run(struct gf_graph *g, const struct gf_weights *w, struct gf_weights *dw, const struct gf_batch *batch,
                    float scale, float dropout, uint64_t seed, float *row_loss);
#endif
