/* family.c - see family.h. */
#include "train/files/family.h"
#include <string.h>

/* The fields that each family's own configuration has; a value of any other field must be its default. */
static const int32_t llama_fields[] = {GF_FIELD_vocab_size, GF_FIELD_d_model,        GF_FIELD_n_layers,
                                       GF_FIELD_n_heads,    GF_FIELD_n_kv_heads,     GF_FIELD_d_head,
                                       GF_FIELD_d_ff,       GF_FIELD_norm_eps,       GF_FIELD_rope_theta,
                                       GF_FIELD_rope_pairs, GF_FIELD_context_length, GF_FIELD_tie_word_embeddings};
static const int32_t gpt2_fields[] = {
    GF_FIELD_vocab_size, GF_FIELD_d_model,    GF_FIELD_n_layers,   GF_FIELD_n_heads,        GF_FIELD_d_ff,
    GF_FIELD_norm_eps,   GF_FIELD_norm,       GF_FIELD_ffn,        GF_FIELD_position,       GF_FIELD_bias_qkv,
    GF_FIELD_bias_ffn,   GF_FIELD_rope_theta, GF_FIELD_rope_pairs, GF_FIELD_context_length, GF_FIELD_bias_attn_out};

/* Whether c is what its values of these fields alone give. */
static int follows(const struct gf_config *c, const int32_t *fields, size_t n) {
    uint8_t given[GF_N_FIELDS] = {0};
    struct gf_config plain = *c;
    for (size_t i = 0; i < n; i++) given[fields[i]] = 1;
    return gf_config_complete(&plain, given, NULL) == GF_OK && !memcmp(&plain, c, sizeof plain);
}
#define FOLLOWS(c, fields) follows(c, fields, sizeof fields / sizeof *fields)

enum gf_family gf_family_of(const struct gf_config *c) {
    if (FOLLOWS(c, llama_fields)) return GF_FAMILY_LLAMA;
    if (c->norm == GF_LAYERNORM && c->ffn == GF_GELU_TANH && c->position == GF_POS_LEARNED && c->bias_qkv &&
        c->bias_attn_out && c->bias_ffn && FOLLOWS(c, gpt2_fields))
        return GF_FAMILY_GPT2;
    return GF_FAMILY_OWN;
}

static const struct gf_family_tensor llama_tensors[] = {
    {{"embed.weight"}, "model.embed_tokens.weight", 0},
    {{"final_norm.weight"}, "model.norm.weight", 0},
    {{"head.weight"}, "lm_head.weight", 0},
    {{"blocks.%d.norm1.weight"}, "model.layers.%d.input_layernorm.weight", 0},
    {{"blocks.%d.attn.q.weight"}, "model.layers.%d.self_attn.q_proj.weight", 0},
    {{"blocks.%d.attn.k.weight"}, "model.layers.%d.self_attn.k_proj.weight", 0},
    {{"blocks.%d.attn.v.weight"}, "model.layers.%d.self_attn.v_proj.weight", 0},
    {{"blocks.%d.attn.o.weight"}, "model.layers.%d.self_attn.o_proj.weight", 0},
    {{"blocks.%d.norm2.weight"}, "model.layers.%d.post_attention_layernorm.weight", 0},
    {{"blocks.%d.ffn.gate.weight"}, "model.layers.%d.mlp.gate_proj.weight", 0},
    {{"blocks.%d.ffn.up.weight"}, "model.layers.%d.mlp.up_proj.weight", 0},
    {{"blocks.%d.ffn.down.weight"}, "model.layers.%d.mlp.down_proj.weight", 0},
    {{NULL}, NULL, 0}};

#define QKV(what) "blocks.%d.attn.q." what, "blocks.%d.attn.k." what, "blocks.%d.attn.v." what
static const struct gf_family_tensor gpt2_tensors[] = {
    {{"embed.weight"}, "transformer.wte.weight", 0},
    {{"position.weight"}, "transformer.wpe.weight", 0},
    {{"final_norm.weight"}, "transformer.ln_f.weight", 0},
    {{"final_norm.bias"}, "transformer.ln_f.bias", 0},
    {{"blocks.%d.norm1.weight"}, "transformer.h.%d.ln_1.weight", 0},
    {{"blocks.%d.norm1.bias"}, "transformer.h.%d.ln_1.bias", 0},
    {{QKV("weight")}, "transformer.h.%d.attn.c_attn.weight", 1},
    {{QKV("bias")}, "transformer.h.%d.attn.c_attn.bias", 0},
    {{"blocks.%d.attn.o.weight"}, "transformer.h.%d.attn.c_proj.weight", 1},
    {{"blocks.%d.attn.o.bias"}, "transformer.h.%d.attn.c_proj.bias", 0},
    {{"blocks.%d.norm2.weight"}, "transformer.h.%d.ln_2.weight", 0},
    {{"blocks.%d.norm2.bias"}, "transformer.h.%d.ln_2.bias", 0},
    {{"blocks.%d.ffn.up.weight"}, "transformer.h.%d.mlp.c_fc.weight", 1},
    {{"blocks.%d.ffn.up.bias"}, "transformer.h.%d.mlp.c_fc.bias", 0},
    {{"blocks.%d.ffn.down.weight"}, "transformer.h.%d.mlp.c_proj.weight", 1},
    {{"blocks.%d.ffn.down.bias"}, "transformer.h.%d.mlp.c_proj.bias", 0},
    {{NULL}, NULL, 0}};

const struct gf_family_tensor *gf_family_tensors(enum gf_family family) {
    return family == GF_FAMILY_LLAMA ? llama_tensors : gpt2_tensors;
}

int gf_family_parts(const struct gf_param *parts[3], const struct gf_params *p, const struct gf_family_tensor *t,
                    int32_t layer) {
    int n = 0;
    for (; n < 3 && t->roster[n]; n++) {
        parts[n] = gf_params_find(p, t->roster[n], layer);
        if (!parts[n]) return 0;
    }
    return n;
}
