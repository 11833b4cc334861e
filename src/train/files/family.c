/* family.c - see family.h. */
#include "train/files/family.h"

enum gf_family gf_family_of(const struct gf_config *c) {
    const int plain = c->kind == GF_DECODER && c->norm_placement == GF_PRE_NORM && c->final_norm && !c->qk_norm &&
                      !c->sliding_window && !c->bias_head && c->embedding_scale == 1 && c->causal && c->scale_scores &&
                      c->use_position && c->use_residual && c->use_norm && c->use_final_norm;
    if (plain && c->norm == GF_RMSNORM && c->ffn == GF_SWIGLU && c->position == GF_POS_ROPE &&
        c->rope_scaling == GF_ROPE_SCALING_NONE && !c->bias_qkv && !c->bias_attn_out && !c->bias_ffn)
        return GF_FAMILY_LLAMA;
    if (plain && c->norm == GF_LAYERNORM && c->bias_norm && c->ffn == GF_GELU_TANH && c->position == GF_POS_LEARNED &&
        c->bias_qkv && c->bias_attn_out && c->bias_ffn && c->n_kv_heads == c->n_heads &&
        c->n_heads * c->d_head == c->d_model && c->tie_word_embeddings)
        return GF_FAMILY_GPT2;
    return GF_FAMILY_OWN;
}
