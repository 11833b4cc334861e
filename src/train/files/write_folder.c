/* write_folder.c - writes config.json and model.safetensors (f32).
 *
 * A Llama or GPT-2 is written with Hugging Face's fields and names, so that its transformers library opens it; any
 * other architecture with model_type "glassformer" and the names of the roster. */
#include "glassformer.h"
#include "train/files/export.h"
#include "train/files/family.h"
#include "model/config.h"
#include <math.h>
#include <string.h>

/* ---- config.json ------------------------------------------------------------------------------------------------- */

/* One field of the configuration as a line of config.json. */
static void put_value(struct gf_sink *to, int32_t field, double x) {
    const char *word = gf_field_word(field, fabs(x) < 1e6 ? (int32_t)x : -1);
    if (word)
        gf_put_format(to, "\"%s\"", word);
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
        put_value(to, field, gf_config_get(cfg, field, i));
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

struct tensors {                   /* one pass over the file's tensors, which makes the header or writes the data */
    struct gf_sink *header, *data; /* the one of the pass; the other is NULL */
    const struct gf_params *p;
    uint64_t offset; /* where the next tensor's data begin */
};

/* One tensor of the file in this pass: n weights of the roster, stacked by rows. */
static void put_tensor(struct tensors *t, const char *name, const struct gf_param *const *parts, int n,
                       int transposed) {
    const struct gf_tensor *a = &parts[0]->t;
    int32_t rows = 0;
    uint64_t count = 0;
    for (int i = 0; i < n; i++) rows += parts[i]->t.rows, count += parts[i]->t.count;
    if (t->header) {
        gf_put_format(t->header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[", t->offset ? "," : "", name);
        if (a->rank == 1)
            gf_put_format(t->header, "%d", (int32_t)count);
        else
            gf_put_format(t->header, "%d,%d", transposed ? a->cols : rows, transposed ? rows : a->cols);
        gf_put_format(t->header, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)t->offset,
                      (unsigned long long)(t->offset + count * 4));
        t->offset += count * 4;
        return;
    }
    for (int32_t c = 0; transposed && c < a->cols; c++)
        for (int i = 0; i < n; i++)
            for (int32_t r = 0; r < parts[i]->t.rows; r++)
                gf_put(t->data, t->p->data + parts[i]->offset + (uint64_t)r * (uint64_t)a->cols + (uint64_t)c, 4);
    for (int i = 0; !transposed && i < n; i++)
        gf_put(t->data, t->p->data + parts[i]->offset, (size_t)parts[i]->t.count * 4);
}

static void put_tensors(struct tensors *t, const struct gf_config *c) {
    const enum gf_family family = names_of(c);
    for (int32_t i = 0; family == GF_FAMILY_OWN && i < t->p->n_list; i++) {
        const struct gf_param *e = &t->p->list[i];
        put_tensor(t, e->t.name, &e, 1, 0);
    }
    if (family == GF_FAMILY_OWN) return;
    for (const struct gf_family_tensor *of = gf_family_tensors(family); of->hf; of++)
        for (int32_t l = 0; l < (strstr(of->hf, "%d") ? c->n_layers : 1); l++) {
            const struct gf_param *parts[3];
            const int n = gf_family_parts(parts, t->p, of, l);
            char name[64];
            gf_name_in_layer(name, of->hf, l);
            if (n) put_tensor(t, name, parts, n, of->transposed);
        }
}

void gf_export_safetensors(const struct gf_params *p, const struct gf_config *cfg, struct gf_sink *to) {
    struct gf_memory m;
    struct gf_sink header = gf_memory_sink(&m);
    struct tensors t = {.header = &header, .p = p};
    gf_put_text(&header, "{");
    put_tensors(&t, cfg);
    gf_put_text(&header, "}");
    while (m.n % 8 && !header.bad) gf_put_text(&header, " ");
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)m.n >> 8 * i);
    gf_put(to, length, 8);
    gf_put(to, m.bytes, m.n);
    gf_memory_close(&m);
    to->bad |= header.bad;
    t.header = NULL;
    t.data = to;
    put_tensors(&t, cfg);
}
