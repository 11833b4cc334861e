/* weights.h - a model's weights as structs.
 *
 * Every matrix is [rows = out, cols = in]. Pointers point into the model's arena; what an architecture lacks is NULL,
 * or a matrix with 0 rows. */
#ifndef GF_WEIGHTS_H
#define GF_WEIGHTS_H
#include "kernels/kernels.h" /* struct gf_mat */

struct gf_linear { /* y = x W^T + b */
    struct gf_mat w;
    float *b; /* [w.rows] or NULL */
};

struct gf_norm {
    float *gain; /* [d_model]; NULL by config: 1 */
    float *bias; /* [d_model]; NULL for RMSNorm or by config */
};

struct gf_attn {
    /* self: rows q | k | v, [(n_heads + 2 n_kv_heads) d_head, d_model]; cross: rows q alone */
    struct gf_linear in;
    struct gf_linear kv; /* cross only: rows k | v, read from the encoder's output */
    struct gf_linear o;  /* [d_model, n_heads d_head] */
    /* qk_norm only. qk_norm_span head: [d_head] each; else [n_heads d_head] and [n_kv_heads d_head] */
    struct gf_norm q_norm, k_norm;
};

struct gf_ffn {
    struct gf_linear up;   /* [d_ff, d_model]; gated: rows gate | up, [2 d_ff, d_model] */
    struct gf_linear down; /* [d_model, d_ff] */
};

struct gf_experts {          /* layers with experts only */
    struct gf_linear router; /* [n_experts, d_model]; with a shared expert a row more, its gate */
    struct gf_ffn *each;     /* [n_experts], of width d_expert; then the shared one */
};

/* The parts of a block that add to the residual stream. Cross-attention: decoder blocks of an encoder_decoder. */
enum gf_sublayer { GF_SELF_ATTENTION, GF_CROSS_ATTENTION, GF_FEED_FORWARD, GF_N_SUBLAYERS };

struct gf_block {
    struct gf_norm norm[GF_N_SUBLAYERS]; /* before (pre, sandwich), after (post) or on the output of (output) each */
    struct gf_norm norm_out[GF_N_SUBLAYERS]; /* sandwich: on its output; not of cross-attention */
    struct gf_attn attn, cross;
    struct gf_ffn ffn;
    struct gf_experts experts; /* instead of ffn, where the layer has experts */
};

struct gf_weights {
    struct gf_mat embed;                /* [vocab_size, d_embed] */
    struct gf_mat encoder_embed;        /* the encoder's, unless shared_embedding */
    struct gf_linear embed_project;     /* [d_model, d_embed]; 0 rows where the widths are equal */
    float *position, *encoder_position; /* [position_offset + context_length, d_model]; learned positions */
    float *relative, *encoder_relative; /* [relative_buckets, n_heads], of all layers of a stack; relative.h */
    float *token_type;                  /* [n_token_types, d_model] */
    struct gf_norm embed_norm, encoder_embed_norm; /* embed_norm only */
    struct gf_block *blocks;                       /* [n_layers] */
    struct gf_block *encoder_blocks;               /* [n_encoder_layers] of an encoder_decoder */
    struct gf_ffn *experts;                        /* those of all layers: gf_block.experts.each points into it */
    struct gf_norm final_norm, encoder_final_norm;
    struct gf_linear pooler;         /* [d_model, d_model] */
    struct gf_linear head_transform; /* mlm_head, label_transform: [d_model, d_model], with the norm after it */
    struct gf_norm head_norm;
    struct gf_linear head_project; /* [d_embed, d_model]; as embed_project */
    struct gf_linear head;         /* [gf_head_rows, d_embed]; a tied head is the embedding's matrix itself */
};
#endif
