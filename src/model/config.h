/* config.h - the fields of a configuration by name, the words of enumerated ones, and what follows from several. */
#ifndef GF_MODEL_CONFIG_H
#define GF_MODEL_CONFIG_H
#include "glassformer.h"

const char *gf_field_name(int32_t field);
int32_t gf_field_find(const char *name); /* -1: there is none */
/* The word for the value k; NULL: no such value, or the field is a number. */
const char *gf_field_word(int32_t field, int32_t k);
int gf_field_is_flag(int32_t field); /* true or false, and no words; of a list its values */
int gf_field_is_list(int32_t field);
/* "FIELD is FOUND, expected RANGE" into err; returns GF_ERR_CONFIG. */
int32_t gf_field_refuse(int32_t field, const char *found, struct gf_error *err);

/* Whether the blocks of a stack have the sublayer `kind` (enum gf_sublayer). Every walk over sublayers asks this. */
int gf_has_sublayer(const struct gf_config *c, int32_t stack, int32_t kind);
int32_t gf_last_sublayer(const struct gf_config *c, int32_t stack);

/* The stack that makes the logits. */
static inline int32_t gf_main_stack(const struct gf_config *c) {
    return c->kind == GF_ENCODER ? GF_STACK_ENCODER : GF_STACK_DECODER;
}
/* The configuration as the blocks of a stack have it: with the heads of an encoder-decoder's encoder. */
struct gf_config gf_stack_config(const struct gf_config *c, int32_t stack);

/* The activation of a feed-forward layer by itself, which no gate multiplies. */
static inline int32_t gf_ffn_activation(const struct gf_config *c) {
    switch (c->ffn) {
#define GF_ACTIVATION(id, word, activation, flops)                                                                     \
    case id: return activation;
        GF_FFNS(GF_ACTIVATION)
#undef GF_ACTIVATION
    }
    return c->ffn;
}
/* The activation of mlm_head. */
static inline int32_t gf_head_activation(const struct gf_config *c) {
    return c->head_activation == GF_NO_FFN ? gf_ffn_activation(c) : c->head_activation;
}
/* Whether a second matrix, the gate, is activated and multiplies `up` (Shazeer 2020). */
static inline int gf_ffn_gated(const struct gf_config *c) { return gf_ffn_activation(c) != c->ffn; }

/* The flag of a layer in a list that repeats over the layers. */
static inline int gf_layer_flag(const struct gf_list *list, int32_t layer) {
    return !list->n || list->at[layer % list->n] != 0;
}
/* The sliding window of a layer; 0: none. */
static inline int32_t gf_layer_window(const struct gf_config *c, int32_t layer) {
    return gf_layer_flag(&c->window_layers, layer) ? c->sliding_window : 0;
}
/* Whether a layer rotates q and k. */
static inline int gf_layer_rotates(const struct gf_config *c, int32_t layer) {
    return c->position == GF_POS_ROPE && c->use_position && gf_layer_flag(&c->rope_layers, layer);
}
/* Whether it rotates by the frequencies of rope_local_theta. */
static inline int gf_layer_is_local(const struct gf_config *c, int32_t layer) {
    return c->rope_local_theta > 0 && gf_layer_window(c, layer) > 0;
}

/* Whether a layer has experts. */
static inline int gf_layer_sparse(const struct gf_config *c, int32_t layer) {
    return c->n_experts > 0 && gf_layer_flag(&c->expert_layers, layer);
}

/* 1 where a shared expert runs for every token, else 0. It follows the others: expert number n_experts. */
static inline int32_t gf_shared_experts(const struct gf_config *c) { return c->d_shared_expert > 0; }
/* The width of an expert. */
static inline int32_t gf_expert_width(const struct gf_config *c, int32_t expert) {
    return expert < c->n_experts ? c->d_expert : c->d_shared_expert;
}

/* Floats of a row of q, of k or v, and of q | k | v. */
static inline int32_t gf_q_width(const struct gf_config *c) { return c->n_heads * c->d_head; }
static inline int32_t gf_kv_width(const struct gf_config *c) { return c->n_kv_heads * c->d_head; }
static inline int32_t gf_qkv_width(const struct gf_config *c) { return gf_q_width(c) + 2 * gf_kv_width(c); }

/* The width of the widest feed-forward layer without experts, and of all. */
static inline int32_t gf_dense_ffn(const struct gf_config *c) {
    return c->d_encoder_ff > c->d_ff ? c->d_encoder_ff : c->d_ff;
}
static inline int32_t gf_widest_ffn(const struct gf_config *c) {
    const int32_t wide = c->d_shared_expert > c->d_expert ? c->d_shared_expert : c->d_expert, dense = gf_dense_ffn(c);
    return c->n_experts > 0 && wide > dense ? wide : dense;
}

/* Components of each head that rotate. */
static inline int32_t gf_rotary_dim(const struct gf_config *c) { return c->rotary_dim > 0 ? c->rotary_dim : c->d_head; }
/* kv heads that rotate, each with its queries. */
static inline int32_t gf_rotary_kv_heads(const struct gf_config *c) {
    return c->rotary_kv_heads > 0 ? c->rotary_kv_heads : c->n_kv_heads;
}
/* Width of the embedding, and whether it is projected to d_model. */
static inline int32_t gf_embed_width(const struct gf_config *c) { return c->d_embed > 0 ? c->d_embed : c->d_model; }
static inline int gf_embed_projected(const struct gf_config *c) { return c->d_embed > 0; }
/* Whether positions, types and the norm come before that projection; then the head has no projection of its own. */
static inline int gf_embed_narrow(const struct gf_config *c) { return c->d_embed > 0 && c->kind == GF_ENCODER; }
/* The width of the sum at the beginning of the stream, and of what the transform of an mlm_head gives. */
static inline int32_t gf_narrow_width(const struct gf_config *c) {
    return gf_embed_narrow(c) ? c->d_embed : c->d_model;
}

/* The width of what the layer before the head gives, and of the states that the head reads. */
static inline int32_t gf_head_width(const struct gf_config *c) { return c->mlm_head ? gf_narrow_width(c) : c->d_model; }

/* The first block with the weights of block `layer`. */
static inline int32_t gf_layer_owner(const struct gf_config *c, int32_t layer) {
    if (c->n_layer_groups == 0) return layer;
    const int32_t groups = c->n_layer_groups, group = (int32_t)((int64_t)layer * groups / c->n_layers);
    return (int32_t)(((int64_t)group * c->n_layers + groups - 1) / groups);
}

/* The width of the logits: labels of a classifier, otherwise tokens. */
static inline int32_t gf_head_rows(const struct gf_config *c) { return c->n_labels > 0 ? c->n_labels : c->vocab_size; }
/* Whether a model has a head. */
static inline int gf_has_head(const struct gf_config *c) {
    return c->kind != GF_ENCODER || c->mlm_head || c->n_labels > 0;
}
/* Whether a classifier reads one state for each sequence, which the engine makes of those of all positions. */
static inline int gf_label_pooled(const struct gf_config *c) {
    return c->label_pooling != GF_LABELS_OF_EACH && c->label_pooling != GF_LABELS_OF_LAST;
}
/* Whether there is a linear layer between the states and the head. */
static inline int gf_head_transformed(const struct gf_config *c) {
    return c->mlm_head || c->label_transform != GF_LABEL_NONE;
}

/* Whether the norms in the blocks and of the embedding exist and are not switched off. */
static inline int gf_has_norms(const struct gf_config *c) { return c->norm != GF_NO_NORM && c->use_norm; }
/* Where a sublayer has norms. */
static inline int gf_norm_before(const struct gf_config *c) {
    return c->norm != GF_NO_NORM && (c->norm_placement == GF_PRE_NORM || c->norm_placement == GF_SANDWICH_NORM);
}
/* Whether the first norm of a block exists. */
static inline int gf_layer_norm1(const struct gf_config *c, int32_t layer) { return c->first_norm || layer > 0; }
static inline int gf_norm_of_output(const struct gf_config *c) {
    return c->norm_placement == GF_SANDWICH_NORM || c->norm_placement == GF_OUTPUT_NORM;
}

/* What q.k is multiplied by in a layer. */
float gf_score_scale(const struct gf_config *c, int32_t layer);
#endif
