/* pass.h - one pass of n >= 1 rows through a stack of blocks: the argument of every component's forward and backward.
 *
 * Prefill, decode, encoder and training run the same code. They differ in the buffers (one set that all layers share,
 * or, for training, one for each layer, which backward reads) and in the segments (the cache and the position of each
 * row). */
#ifndef GF_PASS_H
#define GF_PASS_H
#include "model/layers/kv.h"
#include "model/observe/observe.h"
#include "model/observe/trace.h"
#include "model/weights.h"
#include <stddef.h> /* NULL */

/* n consecutive rows of one sequence, at positions pos0 ... pos0 + n - 1 of its cache. */
struct gf_seg {
    struct gf_kv *kv;
    int32_t pos0, n;
    const uint8_t *mask;       /* [n_keys]: 0 hides a key; NULL: none hidden */
    const int32_t *types;      /* encoder: [n] token types; NULL: all 0 */
    const struct gf_kv *cross; /* decoder blocks of an encoder_decoder */
    const uint8_t *cross_mask; /* [cross->length] or NULL */
    int32_t source0, n_source; /* training: the first of its rows of the encoder's output, and their number */
};

/* The rows of one sublayer; [n, d_model] unless said otherwise. */
struct gf_sublayer_bufs {
    float *normed;              /* its input, normalised */
    float *out;                 /* what attention or the feed-forward layer computes */
    float *added;               /* out after the norm of outputs: what is added to the stream (= out) */
    float *sum;                 /* post-norm: stream + added, which is normalised (= after) */
    float *after;               /* the residual stream after the sublayer */
    float *mean, *rstd;         /* [n] statistics of its norm */
    float *mean_out, *rstd_out; /* [n] of the norm of outputs (= mean, rstd) */
};

/* The activations of a layer: n rows, row-major, without gaps. A trainer has a set for each layer. A session has one
 * set, in which all sublayers share their rows, and "(= name)" means the same memory as name. */
struct gf_bufs {
    float *resid_pre;  /* [n, d_model] the residual stream before the layer (= after) */
    float *resid_post; /* [n, d_model] the one after it: `after` of its last sublayer */
    struct gf_sublayer_bufs sub[GF_N_SUBLAYERS];
    float *qkv;               /* [n, gf_qkv_width] q | k | v, q and k rotated */
    float *qk_raw;            /* training with qk_norm: [n, q and k] before their norm */
    float *z;                 /* [n, gf_q_width] */
    float *cross_q, *cross_z; /* [n, gf_q_width] (= qkv, z) */
    float *cross_kv;          /* training: [source rows, 2 gf_kv_width] */
    float *ffn_pre;           /* [n, d_ff]; gated [n, 2 d_ff], gate | up */
    float *ffn_post;          /* [n, d_ff] after the non-linearity (not gated: = ffn_pre) */
    /* Layers with experts. In training expert e's rows of ffn_pre, ffn_post, expert_in and expert_out follow those of
     * the experts before it, n n_experts_used in all; in a session each expert overwrites the n rows. A shared expert
     * is the last one, and adds a column to each. */
    float *routed;                 /* [n, n_experts] the router's logits, then their softmax; the logit of the gate */
    float *chosen;                 /* [n, n_experts_used] the numbers of the chosen experts; n_experts */
    float *expert_weights;         /* [n, n_experts_used] their weights; the sigmoid of the gate */
    float *expert_in, *expert_out; /* [rows, d_model] */
};

/* C = alpha op(A) op(B) + beta C.
 *   op(A) [m, k], op(B) [k, n], C [m, n]; row-major, rows lda, ldb, ldc apart; ta, tb: the stored
 *   matrix is the transpose of op's. beta 0 overwrites whatever C holds. C overlaps neither. */
typedef void (*gf_gemm_fn)(int ta, int tb, int32_t m, int32_t n, int32_t k, float alpha, const float *a, int32_t lda,
                           const float *b, int32_t ldb, float beta, float *c, int32_t ldc);

/* Columns first .. first + n - 1 of C = A op(W) + beta C, where W is a matrix of panels (kernels.h) without its further
 * parts: op(W) = W^T with tb, else W. A and C have m rows, lda and ldc apart; first is a multiple of 32. */
typedef void (*gf_panels_fn)(int tb, int32_t m, int32_t first, int32_t n, const float *a, int32_t lda,
                             const struct gf_mat *w, float beta, float *c, int32_t ldc);

/* A low-rank change of rows row0 .. row0 + rows - 1 of a matrix: scale B A, with its gradients. */
struct gf_adapter {
    const void *data; /* that of the matrix */
    int32_t row0, rows, rank;
    float scale;
    const float *a, *b; /* [rank, cols], [rows, rank] */
    float *da, *db;
};

/* What a pass needs in addition when a backward pass will follow. There is no cache: every segment is a whole sequence
 * from position 0 and attends to its own rows. */
struct gf_training {
    gf_gemm_fn gemm; /* weights are plain row-major f32 where by_panels is NULL */
    /* Weights that stay are panels of any type, and most of their gradients are NULL; adapters are added to some. */
    gf_panels_fn by_panels;
    const struct gf_adapter *adapters; /* [n_adapters] */
    int32_t n_adapters;
    float *low;         /* [n, rank] of the widest adapter */
    const float *table; /* positions from 0 on (gf_position_table), or NULL */
    float dropout;      /* share of a sublayer's output, and of the embedding, that is dropped */
    uint64_t seed;      /* the seed of this pass's dropout */
    float *work;        /* gf_attend_whole_work floats */
    float *encoded;     /* encoder_decoder: [source rows, d_model] the encoder's output */
    int32_t n_encoded;  /* source rows, over all segments */
};

/* Whether a backward pass will follow. Binaries built with GF_INFERENCE never train and contain no training code; the
 * binary built with GF_TRAINING only trains and contains no inference code. */
#if defined(GF_INFERENCE)
#define GF_TRAINS(p) 0
#elif defined(GF_TRAINING)
#define GF_TRAINS(p) 1
#else
#define GF_TRAINS(p) ((p)->training != NULL)
#endif

/* Gradients of activations, in one set that all layers share. */
struct gf_back {
    float *resid; /* [n, d_model] before a layer's backward: of resid_post; after it: of resid_pre */
    float *out;   /* [n, d_model] of a sublayer's output */
    float *in;    /* [n, d_model] of a sublayer's input */
    float *first; /* [n, d_model] parallel_residual: of the first input, until the second is known */
    float *qkv, *z, *ffn_pre, *ffn_post;
    float *expert_in, *expert_out;  /* [n, d_model] of one expert's rows */
    float *routed, *expert_weights; /* gradients of those in gf_bufs */
    float *cross_kv;
    float *encoded;  /* [source rows, d_model] of the encoder's output, summed over the decoder's layers */
    float *relative; /* [n_heads, gf_relative_width] of the biases by distance, summed over the layers */
};

struct gf_pass {
    const struct gf_config *cfg;
    int32_t stack;  /* GF_STACK_DECODER or GF_STACK_ENCODER */
    int32_t layer;  /* the block that runs; -1: none */
    int32_t causal; /* a query sees keys up to its own position */
    int32_t n;      /* rows, over all segments */
    int32_t drop;   /* inference, one segment: of the first `drop` rows this block computes keys and values only */
    struct gf_seg *segs;
    int32_t n_segs;
    struct gf_observe *observe;         /* or NULL */
    struct gf_trace *trace;             /* or NULL */
    struct gf_pool *pool;               /* or NULL */
    const struct gf_training *training; /* or NULL */
    const float *relative;              /* biases of the scores by distance (relative.h), or NULL */
    void *matmul_scratch;               /* gf_matmul_scratch(n, widest) bytes */
    float *scores;                      /* [tiles of an attention][4][scores_ld]: attend.h */
    int32_t scores_ld;                  /* most keys, a multiple of GF_KV_BLOCK */
};

/* Whether a point is edited. */
static inline int gf_edited(const struct gf_pass *p, int32_t point) {
    return p->observe && p->observe->edited[gf_place(p->cfg, p->stack, p->layer, point)];
}
/* Whether a point is captured or edited, so that callers can skip work that only a tap needs. */
static inline int gf_tapped(const struct gf_pass *p, int32_t point) {
    if (!p->observe) return 0;
    const int32_t place = gf_place(p->cfg, p->stack, p->layer, point);
    return p->observe->captured[place].wanted || p->observe->edited[place];
}
/* The rows of a point have just been computed: n rows of `width` floats, ld apart. Called at every point of GF_POINTS;
 * for scores and patterns gf_tap_keys. One branch where nothing is observed. In a backward pass x is the gradient at
 * the point. */
static inline void gf_tap(const struct gf_pass *p, int32_t point, float *x, int32_t ld, int32_t width) {
    if (p->observe) gf_tap_rows(p->observe, p->stack, p->layer, point, 0, x, ld, p->n, width);
}
/* The operation `op` has just ended: note its time where the session is timed. */
static inline void gf_mark(const struct gf_pass *p, int32_t op) {
    if (p->trace) gf_trace_note(p->trace, p->stack, p->layer, op);
}
#endif
