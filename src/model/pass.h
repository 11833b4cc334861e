/* pass.h - one pass of n >= 1 rows through a stack of blocks: the argument of every component's forward and backward.
 *
 * Prefill, decode, encoder and training run the same code. They differ in the buffers (one set that all layers share,
 * or, for training, one for each layer, which backward reads) and in the segments (the cache and the position of each
 * row). */
#ifndef GF_PASS_H
#define GF_PASS_H
#include "kernels/gemm.h" /* gf_gemm_fn */
#include "model/kv.h"
#include "model/observe/tap.h"
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

/* The activations of a layer: n rows, row-major, without gaps. A trainer has a set for each layer. A session has one
 * set, in which "(= name)" means the same memory as name. */
struct gf_bufs {
    float *resid_pre;               /* [n, d_model] the residual stream before the layer */
    float *norm1;                   /* [n, d_model] the input of self-attention (= norm_cross, norm2) */
    float *mean1, *rstd1;           /* [n] statistics of norm1 */
    float *qkv;                     /* [n, (n_heads + 2 n_kv_heads) d_head], q and k rotated */
    float *z;                       /* [n, n_heads d_head] (= cross_z) */
    float *attn_out;                /* [n, d_model] (= cross_out; = ffn_out, unless parallel_residual) */
    float *attn_added;              /* [n, d_model] after its norm, where outputs have one (= attn_out) */
    float *mean1_post, *rstd1_post; /* statistics of that norm (= mean1, rstd1) */
    float *sum1;                    /* [n, d_model] post-norm: the input of norm1 (= resid_mid) */
    float *resid_mid;               /* [n, d_model] (= resid_pre) */
    float *norm_cross, *mean_cross, *rstd_cross;
    float *cross_q;  /* [n, n_heads d_head] (= qkv) */
    float *cross_kv; /* training: [source rows, 2 n_kv_heads d_head] */
    float *qk_raw;   /* training with qk_norm: [n, (n_heads + n_kv_heads) d_head] q and k before their norm */
    float *cross_z, *cross_out, *sum_cross, *resid_cross;
    float *norm2, *mean2, *rstd2;
    float *ffn_pre;  /* [n, d_ff]; gated [n, 2 d_ff], gate | up */
    float *ffn_post; /* [n, d_ff] after the non-linearity (not gated: = ffn_pre) */
    float *ffn_out, *sum2;
    /* Layers with experts. In training expert e's rows of ffn_pre, ffn_post, expert_in and expert_out follow those of
     * the experts before it, n n_experts_used in all; in a session each expert overwrites the n rows. A shared expert
     * is the last one, and adds a column to each. */
    float *routed;                 /* [n, n_experts] the router's logits, then their softmax; the logit of the gate */
    float *chosen;                 /* [n, n_experts_used] the numbers of the chosen experts; n_experts */
    float *shares;                 /* [n, n_experts_used] their weights; the sigmoid of the gate */
    float *expert_in, *expert_out; /* [rows, d_model] */
    float *ffn_added, *mean2_post, *rstd2_post;
    float *resid_post; /* [n, d_model] (= resid_pre) */
};

/* What a pass needs in addition when a backward pass will follow. There is no cache: every segment is a whole sequence
 * from position 0 and attends to its own rows. */
struct gf_training {
    gf_gemm_fn gemm;    /* weights are GF_ROWS */
    const float *table; /* positions from 0 on (gf_position_table), or NULL */
    float dropout;      /* share of a sublayer's output, and of the embedding, that is dropped */
    uint64_t seed;      /* of this pass's dropout */
    float *work;        /* gf_attend_whole_work floats */
    float *memory;      /* encoder_decoder: [source rows, d_model] the encoder's output */
    int32_t n_memory;   /* source rows, over all segments */
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
    float *expert_in, *expert_out; /* [n, d_model] of one expert's rows */
    float *routed, *shares;        /* as in gf_bufs */
    float *cross_kv;
    float *memory;   /* [source rows, d_model] of the encoder's output, summed over the decoder's layers */
    float *relative; /* [n_heads, gf_relative_width] of the biases by distance, summed over the layers */
};

struct gf_pass {
    const struct gf_config *cfg;
    int32_t stack;  /* GF_STACK_DECODER or GF_STACK_ENCODER */
    int32_t causal; /* a query sees keys up to its own position */
    int32_t n;      /* rows, over all segments */
    const struct gf_seg *segs;
    int32_t n_segs;
    struct gf_observe *observe;         /* or NULL */
    struct gf_trace *trace;             /* or NULL */
    struct gf_pool *pool;               /* or NULL */
    const struct gf_training *training; /* or NULL */
    const float *relative;              /* biases of the scores by distance (relative.h), or NULL */
    void *matmul_scratch;               /* gf_matmul_scratch(n, widest) bytes */
    float *scores;                      /* [n_kv_heads][4][scores_ld] */
    int32_t scores_ld;                  /* most keys, a multiple of GF_KV_BLOCK */
};
#endif
