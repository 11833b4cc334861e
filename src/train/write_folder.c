/* write_folder.c - config.json, model.safetensors (f32), tokenizer.json.
 *
 * A plain Llama and GPT-2 are written with Hugging Face's fields and names, so that its library opens
 * them; everything else as our own model_type with the roster's names. */
#include "glassformer.h"
#include "train/export.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *in(const char *folder, const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* ---- config.json ------------------------------------------------------------------------------- */

struct choice {
    const char *field, *words[8];
};
#define CHOICE(field, ...) {#field, {__VA_ARGS__}},
static const struct choice choices[] = {GF_ENUMS(CHOICE)};
#define FIELD_NAME(type, name, ...) #name,
static const char *const fields[] = {GF_CONFIG_FIELDS(FIELD_NAME)};
static const char *const flags[] = {
    "final_norm",   "qk_norm",        "bias_qkv",     "bias_attn_out", "bias_ffn",
    "bias_norm",    "bias_head",      "tie_word_embeddings",           "shared_embedding",
    "causal",       "scale_scores",   "use_position", "use_residual",  "use_norm",
    "use_final_norm"};

static void own_field(FILE *f, const struct gf_config *cfg, size_t i) {
    const double x = gf_config_get(cfg, (int32_t)i);
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++)
        if (!strcmp(choices[k].field, fields[i])) {
            fprintf(f, ",\n  \"%s\": \"%s\"", fields[i], choices[k].words[(int)x]);
            return;
        }
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (!strcmp(flags[k], fields[i])) {
            fprintf(f, ",\n  \"%s\": %s", fields[i], x != 0 ? "true" : "false");
            return;
        }
    fprintf(f, ",\n  \"%s\": %.9g", fields[i], x);
}

static int config_json(const struct gf_config *c, const char *path) {
    FILE *f = fopen(path, "wb");
    if (!f) return -1;
    fputs("{\n  \"model_type\": \"glassformer\"", f);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) own_field(f, c, i);
    fputs(",\n  \"bos_token_id\": 0,\n  \"eos_token_id\": 0", f);
    if (c->kind == GF_ENCODER_DECODER) fputs(",\n  \"decoder_start_token_id\": 0", f);
    fputs("\n}\n", f);
    return fclose(f) ? -1 : 0;
}

/* ---- model.safetensors: u64 length of the header, header, data ---------------------------------- */

static int put_header(FILE *f, const struct gf_params *p) {
    uint64_t at = 0, n = 0;
    char *header = malloc((size_t)p->n_list * 160 + 64);
    if (!header) return -1;
    n += (uint64_t)sprintf(header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int32_t i = 0; i < p->n_list; i++) {
        const struct gf_tensor *t = &p->list[i].t;
        char shape[32];
        if (t->rank == 1) snprintf(shape, sizeof shape, "%d", t->cols);
        else snprintf(shape, sizeof shape, "%d,%d", t->rows, t->cols);
        n += (uint64_t)sprintf(header + n,
                               ",\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%llu,%llu]}",
                               t->name, shape, (unsigned long long)at,
                               (unsigned long long)(at + t->count * 4));
        at += t->count * 4;
    }
    header[n++] = '}';
    while (n % 8) header[n++] = ' ';
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)(n >> 8 * i);
    const int bad = fwrite(length, 1, 8, f) != 8 || fwrite(header, 1, n, f) != n;
    free(header);
    return bad ? -1 : 0;
}

static int safetensors(const struct gf_params *p, const char *path) {
    FILE *f = fopen(path, "wb");
    if (!f) return -1;
    int bad = put_header(f, p);
    for (int32_t i = 0; !bad && i < p->n_list; i++)
        bad = fwrite(p->data + p->list[i].offset, 4, p->list[i].t.count, f) != p->list[i].t.count;
    return fclose(f) || bad ? -1 : 0;
}

int32_t gf_export_folder(const struct gf_params *p, const struct gf_config *cfg,
                         const struct gf_bpe *bpe, const char *folder, struct gf_error *err) {
    if (config_json(cfg, in(folder, "config.json")) ||
        safetensors(p, in(folder, "model.safetensors")) ||
        gf_bpe_write(bpe, cfg->kind == GF_DECODER, in(folder, "tokenizer.json")))
        return gf_fail(err, GF_ERR_STATE, "%s cannot be written", folder);
    return GF_OK;
}
