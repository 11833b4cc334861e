/* write_folder.c - writes config.json and model.safetensors (f32).
 *
 * A Llama or GPT-2 is written with Hugging Face's fields and names, so that its transformers library opens it; any
 * other architecture with model_type "glassformer" and the names of the roster. */
#include "glassformer.h"
#include "train/files/export.h"
#include "train/files/names.h"
#include "model/config.h"
#include <math.h>

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

struct writer {
    const struct gf_params *p;
    struct gf_sink header, *data;
    uint64_t offset; /* of the next tensor's data */
};

static void put_entry(void *ctx, const struct gf_stored *s) {
    struct writer *w = ctx;
    const struct gf_tensor *t = &s->parts[0]->t;
    const int32_t cols = t->cols, rows = s->rows;
    const uint64_t end = w->offset + 4 * (uint64_t)rows * (t->rank == 1 ? 1 : (uint64_t)cols);
    gf_put_format(&w->header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[", w->offset ? "," : "{", s->name);
    if (t->rank == 2) gf_put_format(&w->header, "%d,", s->transposed ? cols : rows);
    gf_put_format(&w->header, "%d],\"data_offsets\":[%llu,%llu]}", t->rank == 2 && !s->transposed ? cols : rows,
                  (unsigned long long)w->offset, (unsigned long long)end);
    w->offset = end;
}

static void put_data(void *ctx, const struct gf_stored *s) {
    struct writer *w = ctx;
    const int32_t cols = s->parts[0]->t.cols;
    for (int32_t c = 0; s->transposed && c < cols; c++)
        for (int32_t i = 0; i < s->n_parts; i++)
            for (int32_t r = 0; r < s->parts[i]->t.rows; r++)
                gf_put(w->data, w->p->data + s->parts[i]->offset + (uint64_t)r * (uint64_t)cols + (uint64_t)c, 4);
    for (int32_t i = 0; !s->transposed && i < s->n_parts; i++)
        gf_put(w->data, w->p->data + s->parts[i]->offset, (size_t)s->parts[i]->t.count * 4);
}

void gf_export_safetensors(const struct gf_params *p, const struct gf_config *cfg, struct gf_sink *to) {
    struct writer w = {.p = p, .data = to};
    gf_each_stored(p, cfg, names_of(cfg), 0, put_entry, &w);
    gf_put_text(&w.header, "}");
    while (w.header.n % 8 && !w.header.bad) gf_put_text(&w.header, " ");
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)w.header.n >> 8 * i);
    gf_put(to, length, 8);
    gf_put(to, w.header.bytes, w.header.n);
    to->bad |= w.header.bad;
    gf_sink_close(&w.header);
    gf_each_stored(p, cfg, names_of(cfg), 0, put_data, &w);
}
