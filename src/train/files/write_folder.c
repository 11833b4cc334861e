/* write_folder.c - writes config.json and model.safetensors (f32).
 *
 * A Llama or GPT-2 is written with Hugging Face's fields and names, so that its transformers library opens it; any
 * other architecture with model_type "glassformer" and the names of the roster. */
#include "glassformer.h"
#include "train/files/export.h"
#include "train/files/family.h"
#include "model/config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- config.json ------------------------------------------------------------------------------------------------- */

/* One field of the configuration as a line of config.json. */
static void put_value(struct gf_sink *to, int32_t field, double x) {
    if (gf_field_word(field, (int32_t)x))
        gf_put_format(to, "\"%s\"", gf_field_word(field, (int32_t)x));
    else if (gf_field_is_flag(field))
        gf_put_text(to, x != 0 ? "true" : "false");
    else
        gf_put_format(to, x == floor(x) ? "%.0f" : "%.9g", x);
}

/* An empty list is left out. */
static void put_field(struct gf_sink *to, const struct gf_config *cfg, int32_t field) {
    const int32_t n = gf_config_count(cfg, field);
    if (n) gf_put_format(to, gf_field_is_list(field) ? "  \"%s\": [" : "  \"%s\": ", gf_field_name(field));
    for (int32_t i = 0; i < n; i++) {
        if (i) gf_put_text(to, ", ");
        put_value(to, field, gf_config_get_at(cfg, field, i));
    }
    if (n) gf_put_text(to, gf_field_is_list(field) ? "],\n" : ",\n");
}

/* Whose fields and names the files have. A Llama of Hugging Face rotates halves; the names here are those of tied
 * embeddings. */
static enum gf_family names_of(const struct gf_config *c) {
    const enum gf_family family = gf_family_of(c);
    const int llama = c->rope_pairs == GF_ROPE_HALF && c->tie_word_embeddings;
    return family == GF_FAMILY_LLAMA && !llama ? GF_FAMILY_OWN : family;
}

void gf_export_config(const struct gf_config *c, struct gf_sink *to) {
    switch (names_of(c)) {
    case GF_FAMILY_LLAMA:
        gf_put_format(to,
                      "{\n  \"architectures\": [\"LlamaForCausalLM\"],\n  \"model_type\": \"llama\",\n"
                      "  \"vocab_size\": %d,\n  \"hidden_size\": %d,\n  \"intermediate_size\": %d,\n"
                      "  \"num_hidden_layers\": %d,\n  \"num_attention_heads\": %d,\n"
                      "  \"num_key_value_heads\": %d,\n  \"head_dim\": %d,\n"
                      "  \"max_position_embeddings\": %d,\n  \"rms_norm_eps\": %.9g,\n  \"rope_theta\": "
                      "%.9g,\n"
                      "  \"hidden_act\": \"silu\",\n  \"attention_bias\": false,\n  \"mlp_bias\": false,\n",
                      c->vocab_size, c->d_model, c->d_ff, c->n_layers, c->n_heads, c->n_kv_heads, c->d_head,
                      c->context_length, (double)c->norm_eps, (double)c->rope_theta);
        break;
    case GF_FAMILY_GPT2:
        gf_put_format(to,
                      "{\n  \"architectures\": [\"GPT2LMHeadModel\"],\n  \"model_type\": \"gpt2\",\n"
                      "  \"vocab_size\": %d,\n  \"n_embd\": %d,\n  \"n_inner\": %d,\n  \"n_layer\": %d,\n"
                      "  \"n_head\": %d,\n  \"n_positions\": %d,\n  \"layer_norm_epsilon\": %.9g,\n"
                      "  \"activation_function\": \"gelu_new\",\n",
                      c->vocab_size, c->d_model, c->d_ff, c->n_layers, c->n_heads, c->context_length,
                      (double)c->norm_eps);
        break;
    case GF_FAMILY_OWN:
        gf_put_text(to, "{\n  \"model_type\": \"glassformer\",\n");
        for (int32_t i = 0; i < GF_N_FIELDS; i++) put_field(to, c, i);
        if (c->kind == GF_ENCODER_DECODER) gf_put_text(to, "  \"decoder_start_token_id\": 0,\n");
        break;
    }
    if (names_of(c) != GF_FAMILY_OWN)
        gf_put_text(to, "  \"tie_word_embeddings\": true,\n  \"torch_dtype\": \"float32\",\n");
    gf_put_text(to, "  \"bos_token_id\": 0,\n  \"eos_token_id\": 0\n}\n");
}

/* ---- model.safetensors: u64 length of the header, header, data --------------------------------------------------- */

struct row { /* a tensor of the file: the roster's weights of which it consists, stacked by rows; %d is the layer */
    const char *file, *roster[3];
    int transposed; /* stored as [in, out] */
};
static const struct row llama_rows[] = {
    {"model.embed_tokens.weight", {"embed.weight"}, 0},
    {"model.norm.weight", {"final_norm.weight"}, 0},
    {"model.layers.%d.input_layernorm.weight", {"blocks.%d.norm1.weight"}, 0},
    {"model.layers.%d.self_attn.q_proj.weight", {"blocks.%d.attn.q.weight"}, 0},
    {"model.layers.%d.self_attn.k_proj.weight", {"blocks.%d.attn.k.weight"}, 0},
    {"model.layers.%d.self_attn.v_proj.weight", {"blocks.%d.attn.v.weight"}, 0},
    {"model.layers.%d.self_attn.o_proj.weight", {"blocks.%d.attn.o.weight"}, 0},
    {"model.layers.%d.post_attention_layernorm.weight", {"blocks.%d.norm2.weight"}, 0},
    {"model.layers.%d.mlp.gate_proj.weight", {"blocks.%d.ffn.gate.weight"}, 0},
    {"model.layers.%d.mlp.up_proj.weight", {"blocks.%d.ffn.up.weight"}, 0},
    {"model.layers.%d.mlp.down_proj.weight", {"blocks.%d.ffn.down.weight"}, 0},
    {NULL, {NULL}, 0}};
#define QKV(what) "blocks.%d.attn.q." what, "blocks.%d.attn.k." what, "blocks.%d.attn.v." what
static const struct row gpt2_rows[] = {{"transformer.wte.weight", {"embed.weight"}, 0},
                                       {"transformer.wpe.weight", {"position.weight"}, 0},
                                       {"transformer.ln_f.weight", {"final_norm.weight"}, 0},
                                       {"transformer.ln_f.bias", {"final_norm.bias"}, 0},
                                       {"transformer.h.%d.ln_1.weight", {"blocks.%d.norm1.weight"}, 0},
                                       {"transformer.h.%d.ln_1.bias", {"blocks.%d.norm1.bias"}, 0},
                                       {"transformer.h.%d.attn.c_attn.weight", {QKV("weight")}, 1},
                                       {"transformer.h.%d.attn.c_attn.bias", {QKV("bias")}, 0},
                                       {"transformer.h.%d.attn.c_proj.weight", {"blocks.%d.attn.o.weight"}, 1},
                                       {"transformer.h.%d.attn.c_proj.bias", {"blocks.%d.attn.o.bias"}, 0},
                                       {"transformer.h.%d.ln_2.weight", {"blocks.%d.norm2.weight"}, 0},
                                       {"transformer.h.%d.ln_2.bias", {"blocks.%d.norm2.bias"}, 0},
                                       {"transformer.h.%d.mlp.c_fc.weight", {"blocks.%d.ffn.up.weight"}, 1},
                                       {"transformer.h.%d.mlp.c_fc.bias", {"blocks.%d.ffn.up.bias"}, 0},
                                       {"transformer.h.%d.mlp.c_proj.weight", {"blocks.%d.ffn.down.weight"}, 1},
                                       {"transformer.h.%d.mlp.c_proj.bias", {"blocks.%d.ffn.down.bias"}, 0},
                                       {NULL, {NULL}, 0}};

struct tensors { /* state of one pass over the file's tensors, which makes the header or writes the data */
    struct gf_sink *to;
    const struct gf_params *p;
    int data;        /* this pass writes the data */
    uint64_t offset; /* of the next tensor's data */
    char *header;    /* [n] */
    size_t n, capacity;
};

/* Append a tensor's entry to the header. rows 0: it has one dimension. */
static void put_entry(struct tensors *t, const char *name, int32_t rows, int32_t cols, uint64_t count) {
    char shape[32];
    if (rows)
        snprintf(shape, sizeof shape, "%d,%d", rows, cols);
    else
        snprintf(shape, sizeof shape, "%d", cols);
    t->n += (size_t)snprintf(t->header + t->n, t->capacity - t->n,
                             "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%llu,%llu]}",
                             t->n > 1 ? "," : "", name, shape, (unsigned long long)t->offset,
                             (unsigned long long)(t->offset + count * 4));
    t->offset += count * 4;
}

/* One tensor of the file in this pass: n weights of the roster, stacked by rows. */
static void put_tensor(struct tensors *t, const char *name, const struct gf_param *const *parts, int n,
                       int transposed) {
    const struct gf_tensor *a = &parts[0]->t;
    int32_t rows = 0;
    uint64_t count = 0;
    for (int i = 0; i < n; i++) rows += parts[i]->t.rows, count += parts[i]->t.count;
    if (!t->data) {
        if (a->rank == 1)
            put_entry(t, name, 0, (int32_t)count, count);
        else
            put_entry(t, name, transposed ? a->cols : rows, transposed ? rows : a->cols, count);
        return;
    }
    for (int32_t c = 0; transposed && c < a->cols; c++)
        for (int i = 0; i < n; i++)
            for (int32_t r = 0; r < parts[i]->t.rows; r++)
                gf_put(t->to, t->p->data + parts[i]->offset + (uint64_t)r * (uint64_t)a->cols + (uint64_t)c, 4);
    for (int i = 0; !transposed && i < n; i++)
        gf_put(t->to, t->p->data + parts[i]->offset, (size_t)parts[i]->t.count * 4);
}

static void put_tensors(struct tensors *t, const struct gf_config *c) {
    const enum gf_family family = names_of(c);
    for (int32_t i = 0; family == GF_FAMILY_OWN && i < t->p->n_list; i++) {
        const struct gf_param *e = &t->p->list[i];
        put_tensor(t, e->t.name, &e, 1, 0);
    }
    if (family == GF_FAMILY_OWN) return;
    for (const struct row *r = family == GF_FAMILY_LLAMA ? llama_rows : gpt2_rows; r->file; r++) {
        const char *mark = strstr(r->file, "%d");
        for (int32_t l = 0; l < (mark ? c->n_layers : 1); l++) {
            const struct gf_param *parts[3];
            char name[64];
            int n = 0;
            for (; n < 3 && r->roster[n]; n++) parts[n] = gf_params_find(t->p, r->roster[n], l);
            if (mark)
                snprintf(name, sizeof name, "%.*s%d%s", (int)(mark - r->file), r->file, l, mark + 2);
            else
                snprintf(name, sizeof name, "%s", r->file);
            put_tensor(t, name, parts, n, r->transposed);
        }
    }
}

void gf_export_safetensors(const struct gf_params *p, const struct gf_config *cfg, struct gf_sink *to) {
    struct tensors t = {.to = to, .p = p, .capacity = (size_t)p->n_list * 192 + 64};
    t.header = malloc(t.capacity + 8);
    if (!t.header) {
        to->bad = 1;
        return;
    }
    t.header[t.n++] = '{';
    put_tensors(&t, cfg);
    t.header[t.n++] = '}';
    while (t.n % 8) t.header[t.n++] = ' ';
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)t.n >> 8 * i);
    gf_put(to, length, 8);
    gf_put(to, t.header, t.n);
    free(t.header);
    t.data = 1;
    put_tensors(&t, cfg);
}
