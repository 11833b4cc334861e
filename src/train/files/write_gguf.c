/* write_gguf.c - writes GGUF version 3, as llama.cpp reads it (ggml's docs/gguf.md), and reads such a file back.
 *
 *   "GGUF" u32 version  u64 tensors  u64 keys  keys...  tensor infos...  padding to 32  data
 *
 * llama: the rows of q and k are permuted so that RoPE rotates adjacent pairs, (i, i + d/2) -> (2i, 2i + 1).
 * gpt2: q, k and v are one matrix. Matrices whose columns do not divide into blocks of 32 are f16.
 *
 * The same code writes and reads: when reading, everything but the weights is compared with the file. */
#include "train/files/export.h"
#include "train/files/family.h"
#include "train/files/tokenizer_json.h" /* gf_bpe_spell */
#include "glassformer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 32 };
enum { INT32 = 5, U32 = 4, F32 = 6, BOOL = 7, STRING = 8, ARRAY = 9 }; /* GGUF's types of values */

struct source {           /* the file that is read */
    const uint8_t *bytes; /* [n] */
    size_t n, at;
    int not_finite; /* a weight is NaN or infinite */
};

struct writer {
    struct gf_sink *to;
    struct source *from; /* NULL: the file is written */
    const struct gf_params *p;
    const struct gf_config *cfg;
    const struct gf_bpe *bpe;
    const char *name;
    int32_t dtype;
    uint8_t *blocks;            /* to write: one row as dtype */
    uint64_t at;                /* bytes so far */
    uint64_t n_keys, n_tensors; /* so far; of the tensors each section counts anew */
    uint64_t offset;            /* where the next tensor begins in the data section */
};

/* The next n bytes of the file; NULL if there are fewer. */
static const uint8_t *next(struct source *from, size_t n) {
    if (n > from->n - from->at) return NULL;
    from->at += n;
    return from->bytes + from->at - n;
}

/* Sinks that compare what is written with the file, and that drop it. */
static int compare(void *ctx, const void *bytes, size_t n) {
    const uint8_t *found = next(ctx, n);
    return found && !memcmp(found, bytes, n) ? 0 : -1;
}
static int drop(void *ctx, const void *bytes, size_t n) {
    (void)ctx, (void)bytes, (void)n;
    return 0;
}

static void put(struct writer *w, const void *bytes, size_t n) {
    gf_put(w->to, bytes, n);
    w->at += n;
}
static void put_u32(struct writer *w, uint32_t x) {
    const uint8_t b[4] = {(uint8_t)x, (uint8_t)(x >> 8), (uint8_t)(x >> 16), (uint8_t)(x >> 24)};
    put(w, b, 4);
}
static void put_u64(struct writer *w, uint64_t x) {
    put_u32(w, (uint32_t)x);
    put_u32(w, (uint32_t)(x >> 32));
}
static void put_string(struct writer *w, const char *s) {
    put_u64(w, strlen(s));
    put(w, s, strlen(s));
}
static void put_key(struct writer *w, const char *name, uint32_t type) {
    w->n_keys++;
    put_string(w, name);
    put_u32(w, type);
}
static void put_key_u32(struct writer *w, const char *name, int32_t x) {
    put_key(w, name, U32);
    put_u32(w, (uint32_t)x);
}
static void put_key_f32(struct writer *w, const char *name, float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    put_key(w, name, F32);
    put_u32(w, bits);
}
static void put_key_string(struct writer *w, const char *name, const char *s) {
    put_key(w, name, STRING);
    put_string(w, s);
}

static void put_vocabulary(struct writer *w) {
    static char text[GF_BPE_SPELLING_MOST], pair[2 * sizeof text];
    const struct gf_bpe *b = w->bpe;
    put_key_string(w, "tokenizer.ggml.model", "gpt2");
    put_key_string(w, "tokenizer.ggml.pre", "gpt-2");
    put_key(w, "tokenizer.ggml.tokens", ARRAY);
    put_u32(w, STRING);
    put_u64(w, (uint64_t)b->vocab_size);
    for (int32_t i = 0; i < b->vocab_size; i++) {
        gf_bpe_spell(b, i, text, sizeof text);
        put_string(w, text);
    }
    put_key(w, "tokenizer.ggml.token_type", ARRAY); /* 1 normal, 3 control */
    put_u32(w, INT32);
    put_u64(w, (uint64_t)b->vocab_size);
    for (int32_t i = 0; i < b->vocab_size; i++) put_u32(w, i ? 1 : 3);
    put_key(w, "tokenizer.ggml.merges", ARRAY);
    put_u32(w, STRING);
    put_u64(w, (uint64_t)b->n_merges);
    for (int32_t i = 0; i < b->n_merges; i++) {
        gf_bpe_spell(b, b->merges[i][0], text, sizeof text);
        const size_t n = strlen(text);
        memcpy(pair, text, n);
        pair[n] = ' ';
        gf_bpe_spell(b, b->merges[i][1], pair + n + 1, sizeof text);
        put_string(w, pair);
    }
    put_key_u32(w, "tokenizer.ggml.bos_token_id", 0);
    put_key_u32(w, "tokenizer.ggml.eos_token_id", 0);
    put_key(w, "tokenizer.ggml.add_bos_token", BOOL);
    const uint8_t yes = 1;
    put(w, &yes, 1);
}

static void put_keys(struct writer *w) {
    const struct gf_config *c = w->cfg;
    const int llama = c->norm == GF_RMSNORM;
    char k[64];
#define KEY(text) (snprintf(k, sizeof k, "%s." text, llama ? "llama" : "gpt2"), k)
    put_key_string(w, "general.architecture", llama ? "llama" : "gpt2");
    put_key_string(w, "general.name", w->name);
    put_key_u32(w, "general.file_type", w->dtype == GF_F32 ? 0 : w->dtype == GF_F16 ? 1 : w->dtype == GF_Q4_0 ? 2 : 7);
    put_key_u32(w, "general.quantization_version", 2);
    put_key_u32(w, KEY("context_length"), c->context_length);
    put_key_u32(w, KEY("embedding_length"), c->d_model);
    put_key_u32(w, KEY("block_count"), c->n_layers);
    put_key_u32(w, KEY("feed_forward_length"), c->d_ff);
    put_key_u32(w, KEY("attention.head_count"), c->n_heads);
    if (llama) {
        put_key_u32(w, KEY("vocab_size"), c->vocab_size);
        put_key_u32(w, KEY("attention.head_count_kv"), c->n_kv_heads);
        put_key_u32(w, KEY("attention.key_length"), c->d_head);
        put_key_u32(w, KEY("attention.value_length"), c->d_head);
        put_key_u32(w, KEY("rope.dimension_count"), c->d_head);
        put_key_f32(w, KEY("rope.freq_base"), c->rope_theta);
        put_key_f32(w, KEY("attention.layer_norm_rms_epsilon"), c->norm_eps);
    } else {
        put_key_f32(w, KEY("attention.layer_norm_epsilon"), c->norm_eps);
    }
#undef KEY
    put_vocabulary(w);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* Write a weight's values, or read them into the weight. */
static void put_rows(struct writer *w, const struct gf_param *e, int32_t dtype, int rotated) {
    const int32_t cols = e->t.cols, half = w->cfg->d_head / 2;
    const size_t bytes = (size_t)(cols / gf_dtype_block_cols(dtype)) * (size_t)gf_dtype_block_bytes(dtype);
    for (int32_t r = 0; r < e->t.rows; r++) {
        int32_t at = r;
        if (rotated && w->cfg->rope_pairs == GF_ROPE_HALF) {
            const int32_t in = r % w->cfg->d_head;
            at = r - in + in / 2 + in % 2 * half;
        }
        float *row = w->p->data + e->offset + (uint64_t)at * (uint64_t)cols;
        if (!w->from) {
            gf_quantize(w->blocks, row, dtype, cols);
            put(w, w->blocks, bytes);
            continue;
        }
        const uint8_t *found = w->to->bad ? NULL : next(w->from, bytes);
        w->to->bad = !found;
        w->at += bytes;
        if (found) gf_dequantize(row, found, dtype, cols);
        for (int32_t c = 0; found && c < cols; c++) w->from->not_finite |= !isfinite(row[c]);
    }
}

/* Zeros up to the next multiple of ALIGN. */
static void pad(struct writer *w) {
    static const uint8_t zeros[ALIGN];
    put(w, zeros, (ALIGN - w->at % ALIGN) % ALIGN);
}

/* One tensor in the section of their descriptions or, with `data`, of their values. A tensor that this architecture
 * does not have is left out. */
static void put_tensor(struct writer *w, const struct gf_family_tensor *of, int32_t layer, int data) {
    const struct gf_param *parts[3];
    const int n = gf_family_parts(parts, w->p, of, layer);
    int32_t rows = 0;
    if (!n) return;
    for (int i = 0; i < n; i++) rows += parts[i]->t.rank == 1 ? parts[i]->t.cols : parts[i]->t.rows;
    const struct gf_tensor *t = &parts[0]->t;
    int32_t dtype = t->rank == 1 || t->component == GF_C_POSITION ? GF_F32 : w->dtype;
    if (t->cols % gf_dtype_block_cols(dtype)) dtype = GF_F16;
    const uint64_t values = t->rank == 1 ? (uint64_t)rows : (uint64_t)rows * (uint64_t)t->cols,
                   bytes = values / (uint64_t)gf_dtype_block_cols(dtype) * (uint64_t)gf_dtype_block_bytes(dtype);
    w->n_tensors++;
    if (data) {
        for (int i = 0; i < n; i++) put_rows(w, parts[i], dtype, of->rotated);
        pad(w);
    } else {
        static const uint32_t ggml_types[] = {[GF_F32] = 0, [GF_F16] = 1, [GF_Q8_0] = 8, [GF_Q4_0] = 2};
        char name[64];
        gf_name_in_layer(name, of->gguf, layer);
        put_string(w, name);
        put_u32(w, (uint32_t)t->rank);
        put_u64(w, (uint64_t)(t->rank == 1 ? rows : t->cols)); /* the fastest varying first */
        if (t->rank == 2) put_u64(w, (uint64_t)rows);
        put_u32(w, ggml_types[dtype]);
        put_u64(w, w->offset);
    }
    w->offset += (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void put_tensors(struct writer *w, int data) {
    const struct gf_family_tensor *of = gf_family_tensors(gf_family_of(w->cfg));
    w->n_tensors = w->offset = 0;
    for (; !strstr(of->gguf, "%d"); of++) put_tensor(w, of, 0, data);
    for (int32_t l = 0; l < w->cfg->n_layers; l++)
        for (const struct gf_family_tensor *t = of; t->gguf; t++) put_tensor(w, t, l, data);
}

/* Write the whole file, or read it. */
static void put_file(struct writer *w) {
    struct gf_sink *to = w->to, counted = {.write = drop};
    w->to = &counted;
    put_keys(w);
    put_tensors(w, 0);
    w->to = to;
    w->at = 0;
    put(w, "GGUF", 4);
    put_u32(w, 3);
    put_u64(w, w->n_tensors);
    put_u64(w, w->n_keys);
    put_keys(w);
    put_tensors(w, 0);
    pad(w);
    if (!to->bad) put_tensors(w, 1);
}

static int32_t check_exportable(const struct gf_config *cfg, const struct gf_bpe *bpe, struct gf_error *err) {
    if (gf_family_of(cfg) == GF_FAMILY_OWN)
        return gf_fail(err, GF_ERR_UNSUPPORTED, "GGUF has no architecture for this configuration");
    if (bpe->vocab_size != cfg->vocab_size)
        return gf_fail(err, GF_ERR_CONFIG, "the vocabulary has %d tokens, the model expects %d", bpe->vocab_size,
                       cfg->vocab_size);
    return GF_OK;
}

/* Memory for the widest row in any dtype. */
static void *open_row(const struct gf_params *p, const struct gf_config *cfg) {
    int32_t widest = cfg->context_length;
    for (int32_t i = 0; i < p->n_list; i++)
        if (p->list[i].t.cols > widest) widest = p->list[i].t.cols;
    return malloc((size_t)widest * 4);
}

int32_t gf_export_gguf(const struct gf_params *p, const struct gf_config *cfg, const struct gf_bpe *bpe, int32_t dtype,
                       const char *name, struct gf_sink *to, struct gf_error *err) {
    const int32_t status = check_exportable(cfg, bpe, err);
    if (status != GF_OK) return status;
    struct writer w = {.to = to, .p = p, .cfg = cfg, .bpe = bpe, .name = name, .dtype = dtype};
    w.blocks = open_row(p, cfg);
    if (!w.blocks) return gf_fail(err, GF_ERR_MEMORY, "no memory for a row of weights");
    put_file(&w);
    free(w.blocks);
    return GF_OK;
}

int32_t gf_import_gguf(struct gf_params *p, const struct gf_config *cfg, const struct gf_bpe *bpe, const char *name,
                       const void *bytes, size_t n, struct gf_error *err) {
    static const int32_t dtypes[] = {GF_Q8_0, GF_F32, GF_F16, GF_Q4_0};
    const int32_t status = check_exportable(cfg, bpe, err);
    if (status != GF_OK) return status;
    for (int i = 0; i < 4; i++) {
        struct source from = {.bytes = bytes, .n = n};
        struct gf_sink to = {.write = compare, .ctx = &from};
        struct writer w = {.to = &to, .from = &from, .p = p, .cfg = cfg, .bpe = bpe, .name = name, .dtype = dtypes[i]};
        put_file(&w);
        if (to.bad || from.at != n) continue;
        return from.not_finite ? gf_fail(err, GF_ERR_NOT_FINITE, "the file holds NaN or infinite weights") : GF_OK;
    }
    return gf_fail(err, GF_ERR_SHAPE, "the file was not written by this program for this recipe and corpus");
}
