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
