/* names.c - see names.h. */
#include "train/files/names.h"
#include <stdio.h>
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

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* A module of a file in GGUF and in Hugging Face's names, and in the roster's; %d is the layer. Behind each name stands
 * .weight or .bias. */
struct module {
    const char *gguf, *hf, *roster[3];
    int32_t transposed, rotated;
};
static const struct module llama[] = {
    {"token_embd", "model.embed_tokens", {"embed"}, 0, 0},
    {"output_norm", "model.norm", {"final_norm"}, 0, 0},
    {"output", "lm_head", {"head"}, 0, 0},
    {"blk.%d.attn_norm", "model.layers.%d.input_layernorm", {"blocks.%d.norm1"}, 0, 0},
    {"blk.%d.attn_q", "model.layers.%d.self_attn.q_proj", {"blocks.%d.attn.q"}, 0, 1},
    {"blk.%d.attn_k", "model.layers.%d.self_attn.k_proj", {"blocks.%d.attn.k"}, 0, 1},
    {"blk.%d.attn_v", "model.layers.%d.self_attn.v_proj", {"blocks.%d.attn.v"}, 0, 0},
    {"blk.%d.attn_output", "model.layers.%d.self_attn.o_proj", {"blocks.%d.attn.o"}, 0, 0},
    {"blk.%d.ffn_norm", "model.layers.%d.post_attention_layernorm", {"blocks.%d.norm2"}, 0, 0},
    {"blk.%d.ffn_gate", "model.layers.%d.mlp.gate_proj", {"blocks.%d.ffn.gate"}, 0, 0},
    {"blk.%d.ffn_up", "model.layers.%d.mlp.up_proj", {"blocks.%d.ffn.up"}, 0, 0},
    {"blk.%d.ffn_down", "model.layers.%d.mlp.down_proj", {"blocks.%d.ffn.down"}, 0, 0},
    {NULL, NULL, {NULL}, 0, 0}};
static const struct module gpt2[] = {{"token_embd", "transformer.wte", {"embed"}, 0, 0},
                                     {"position_embd", "transformer.wpe", {"position"}, 0, 0},
                                     {"output_norm", "transformer.ln_f", {"final_norm"}, 0, 0},
                                     {"output", "lm_head", {"head"}, 0, 0},
                                     {"blk.%d.attn_norm", "transformer.h.%d.ln_1", {"blocks.%d.norm1"}, 0, 0},
                                     {"blk.%d.attn_qkv",
                                      "transformer.h.%d.attn.c_attn",
                                      {"blocks.%d.attn.q", "blocks.%d.attn.k", "blocks.%d.attn.v"},
                                      1,
                                      0},
                                     {"blk.%d.attn_output", "transformer.h.%d.attn.c_proj", {"blocks.%d.attn.o"}, 1, 0},
                                     {"blk.%d.ffn_norm", "transformer.h.%d.ln_2", {"blocks.%d.norm2"}, 0, 0},
                                     {"blk.%d.ffn_up", "transformer.h.%d.mlp.c_fc", {"blocks.%d.ffn.up"}, 1, 0},
                                     {"blk.%d.ffn_down", "transformer.h.%d.mlp.c_proj", {"blocks.%d.ffn.down"}, 1, 0},
                                     {NULL, NULL, {NULL}, 0, 0}};

/* A module's name with the layer, and `end` behind it. */
static void spell(char out[64], const char *module, int32_t layer, const char *end) {
    const char *mark = strstr(module, "%d");
    if (mark)
        snprintf(out, 64, "%.*s%d%s%s", (int)(mark - module), module, layer, mark + 2, end);
    else
        snprintf(out, 64, "%s%s", module, end);
}

static const struct gf_param *find(const struct gf_params *p, const char *name) {
    for (int32_t i = 0; i < p->n_list; i++)
        if (!strcmp(p->list[i].t.name, name)) return &p->list[i];
    return NULL;
}

/* The tensor of a module that ends in `end`; n_parts 0: this architecture has none. */
static struct gf_stored stored(const struct gf_params *p, const struct module *m, int in_gguf, int32_t layer,
                               const char *end) {
    struct gf_stored s = {.rotated = m->rotated};
    for (char name[64]; s.n_parts < 3 && m->roster[s.n_parts]; s.n_parts++) {
        spell(name, m->roster[s.n_parts], layer, end);
        const struct gf_param *part = s.parts[s.n_parts] = find(p, name);
        if (!part) return (struct gf_stored){.n_parts = 0};
        s.rows += part->t.rank == 1 ? part->t.cols : part->t.rows;
        s.transposed = m->transposed && part->t.rank == 2;
    }
    spell(s.name, in_gguf ? m->gguf : m->hf, layer, end);
    return s;
}

void gf_each_stored(const struct gf_params *p, const struct gf_config *c, enum gf_family family, int in_gguf,
                    void (*fn)(void *ctx, const struct gf_stored *s), void *ctx) {
    static const char *const ends[] = {".weight", ".bias"};
    for (int32_t i = 0; family == GF_FAMILY_OWN && i < p->n_list; i++) {
        const struct gf_tensor *t = &p->list[i].t;
        struct gf_stored s = {.parts = {&p->list[i]}, .n_parts = 1, .rows = t->rank == 1 ? t->cols : t->rows};
        snprintf(s.name, sizeof s.name, "%s", t->name);
        fn(ctx, &s);
    }
    if (family == GF_FAMILY_OWN) return;
    for (int32_t layer = -1; layer < c->n_layers; layer++) /* -1: what is in no layer */
        for (const struct module *m = family == GF_FAMILY_LLAMA ? llama : gpt2; m->gguf; m++)
            for (int k = 0; k < 2 && (strstr(m->gguf, "%d") != NULL) == (layer >= 0); k++) {
                const struct gf_stored s = stored(p, m, in_gguf, layer, ends[k]);
                if (s.n_parts) fn(ctx, &s);
            }
}
