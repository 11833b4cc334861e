/* write_gguf.c - writes GGUF version 3, as llama.cpp reads it (ggml's docs/gguf.md).
 *
 *   "GGUF" u32 version  u64 tensors  u64 keys  keys...  tensor infos...  padding to 32  data
 *
 * llama: the rows of q and k are permuted so that RoPE rotates adjacent pairs, (i, i + d/2) -> (2i, 2i + 1).
 * gpt2: q, k and v are one matrix. Matrices whose columns do not divide into blocks of 32 are f16. */
#include "train/files/export.h"
#include "train/files/names.h"
#include "train/files/tokenizer_json.h" /* gf_bpe_spell */
#include "glassformer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 32 };
enum { INT32 = 5, U32 = 4, F32 = 6, BOOL = 7, STRING = 8, ARRAY = 9 }; /* GGUF's types of values */

struct writer {
    const struct gf_params *p;
    const struct gf_config *cfg;
    int32_t dtype;                      /* of the matrices */
    struct gf_sink keys, infos, *data;  /* the parts of the file; data: the file, whose header is complete */
    uint64_t n_keys, n_tensors, offset; /* offset: of the next tensor in the data section */
    uint8_t *blocks;                    /* one row as dtype */
};

static void put_u32(struct gf_sink *to, uint32_t x) {
    const uint8_t b[4] = {(uint8_t)x, (uint8_t)(x >> 8), (uint8_t)(x >> 16), (uint8_t)(x >> 24)};
    gf_put(to, b, 4);
}
static void put_u64(struct gf_sink *to, uint64_t x) {
    put_u32(to, (uint32_t)x);
    put_u32(to, (uint32_t)(x >> 32));
}
static void put_string(struct gf_sink *to, const char *s) {
    put_u64(to, strlen(s));
    gf_put_text(to, s);
}
/* Zeros up to the next multiple of ALIGN. */
static void pad(struct gf_sink *to) {
    static const uint8_t zeros[ALIGN];
    gf_put(to, zeros, (ALIGN - to->n % ALIGN) % ALIGN);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static void put_key(struct writer *w, const char *name, uint32_t type) {
    w->n_keys++;
    put_string(&w->keys, name);
    put_u32(&w->keys, type);
}
static void put_key_u32(struct writer *w, const char *name, int32_t x) {
    put_key(w, name, U32);
    put_u32(&w->keys, (uint32_t)x);
}
static void put_key_f32(struct writer *w, const char *name, float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    put_key(w, name, F32);
    put_u32(&w->keys, bits);
}
static void put_key_string(struct writer *w, const char *name, const char *s) {
    put_key(w, name, STRING);
    put_string(&w->keys, s);
}
static void put_key_array(struct writer *w, const char *name, uint32_t type, int32_t n) {
    put_key(w, name, ARRAY);
    put_u32(&w->keys, type);
    put_u64(&w->keys, (uint64_t)n);
}

static void put_vocabulary(struct writer *w, const struct gf_bpe *b) {
    static char text[GF_BPE_SPELLING_MOST], pair[2 * sizeof text];
    put_key_string(w, "tokenizer.ggml.model", "gpt2");
    put_key_string(w, "tokenizer.ggml.pre", "gpt-2");
    put_key_array(w, "tokenizer.ggml.tokens", STRING, b->vocab_size);
    for (int32_t i = 0; i < b->vocab_size; i++) {
        gf_bpe_spell(b, i, text, sizeof text);
        put_string(&w->keys, text);
    }
    put_key_array(w, "tokenizer.ggml.token_type", INT32, b->vocab_size);
    for (int32_t i = 0; i < b->vocab_size; i++) put_u32(&w->keys, i ? 1 : 3); /* 1 normal, 3 control */
    put_key_array(w, "tokenizer.ggml.merges", STRING, b->n_merges);
    for (int32_t i = 0; i < b->n_merges; i++) {
        gf_bpe_spell(b, b->merges[i][0], text, sizeof text);
        const size_t n = strlen(text);
        memcpy(pair, text, n);
        pair[n] = ' ';
        gf_bpe_spell(b, b->merges[i][1], pair + n + 1, sizeof text);
        put_string(&w->keys, pair);
    }
    put_key_u32(w, "tokenizer.ggml.bos_token_id", 0);
    put_key_u32(w, "tokenizer.ggml.eos_token_id", 0);
    put_key(w, "tokenizer.ggml.add_bos_token", BOOL);
    const uint8_t yes = 1;
    gf_put(&w->keys, &yes, 1);
}

static void put_keys(struct writer *w, const struct gf_config *c, const struct gf_bpe *bpe, int32_t dtype,
                     const char *name) {
    const int llama = c->norm == GF_RMSNORM;
    char k[64];
#define KEY(text) (snprintf(k, sizeof k, "%s." text, llama ? "llama" : "gpt2"), k)
    put_key_string(w, "general.architecture", llama ? "llama" : "gpt2");
    put_key_string(w, "general.name", name);
    put_key_u32(w, "general.file_type", dtype == GF_F32 ? 0 : dtype == GF_F16 ? 1 : dtype == GF_Q4_0 ? 2 : 7);
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
    put_vocabulary(w, bpe);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static int32_t dtype_of(const struct writer *w, const struct gf_tensor *t) {
    const int32_t dtype = t->rank == 1 || t->component == GF_C_POSITION ? GF_F32 : w->dtype;
    return t->cols % gf_dtype_block_cols(dtype) ? GF_F16 : dtype;
}

static void put_info(void *ctx, const struct gf_stored *s) {
    static const uint32_t ggml_types[] = {[GF_F32] = 0, [GF_F16] = 1, [GF_Q8_0] = 8, [GF_Q4_0] = 2};
    struct writer *w = ctx;
    const struct gf_tensor *t = &s->parts[0]->t;
    const int32_t dtype = dtype_of(w, t);
    const uint64_t values = (uint64_t)s->rows * (t->rank == 1 ? 1 : (uint64_t)t->cols),
                   bytes = values / (uint64_t)gf_dtype_block_cols(dtype) * (uint64_t)gf_dtype_block_bytes(dtype);
    w->n_tensors++;
    put_string(&w->infos, s->name);
    put_u32(&w->infos, (uint32_t)t->rank);
    if (t->rank == 2) put_u64(&w->infos, (uint64_t)t->cols); /* the fastest varying first */
    put_u64(&w->infos, (uint64_t)s->rows);
    put_u32(&w->infos, ggml_types[dtype]);
    put_u64(&w->infos, w->offset);
    w->offset += (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void put_rows(struct writer *w, const struct gf_param *e, int32_t dtype, int rotated) {
    const int32_t cols = e->t.cols, half = w->cfg->d_head / 2;
    const uint64_t bytes = (uint64_t)(cols / gf_dtype_block_cols(dtype)) * (uint64_t)gf_dtype_block_bytes(dtype);
    for (int32_t r = 0; r < e->t.rows; r++) {
        int32_t from = r;
        if (rotated && w->cfg->rope_pairs == GF_ROPE_HALF) {
            const int32_t in = r % w->cfg->d_head;
            from = r - in + in / 2 + in % 2 * half;
        }
        gf_quantize(w->blocks, w->p->data + e->offset + (uint64_t)from * (uint64_t)cols, dtype, cols);
        gf_put(w->data, w->blocks, (size_t)bytes);
    }
}

static void put_data(void *ctx, const struct gf_stored *s) {
    struct writer *w = ctx;
    for (int32_t i = 0; i < s->n_parts; i++) put_rows(w, s->parts[i], dtype_of(w, &s->parts[0]->t), s->rotated);
    pad(w->data);
}

/* Memory for the widest row in any dtype. */
static void *open_row(const struct gf_params *p) {
    int32_t widest = 0;
    for (int32_t i = 0; i < p->n_list; i++)
        if (p->list[i].t.cols > widest) widest = p->list[i].t.cols;
    return malloc((size_t)widest * 4);
}

int32_t gf_export_gguf(const struct gf_params *p, const struct gf_config *cfg, const struct gf_bpe *bpe, int32_t dtype,
                       const char *name, struct gf_sink *to, struct gf_error *err) {
    const enum gf_family family = gf_family_of(cfg);
    if (family == GF_FAMILY_OWN)
        return gf_fail(err, GF_ERR_UNSUPPORTED, "GGUF has no architecture for this configuration");
    if (bpe->vocab_size != cfg->vocab_size)
        return gf_fail(err, GF_ERR_CONFIG, "the vocabulary has %d tokens, the model expects %d", bpe->vocab_size,
                       cfg->vocab_size);
    struct writer w = {.p = p, .cfg = cfg, .dtype = dtype, .data = to, .blocks = open_row(p)};
    if (!w.blocks) return gf_fail(err, GF_ERR_MEMORY, "no memory for a row of weights");
    put_keys(&w, cfg, bpe, dtype, name);
    gf_each_stored(p, cfg, family, 1, put_info, &w);
    gf_put_text(to, "GGUF");
    put_u32(to, 3);
    put_u64(to, w.n_tensors);
    put_u64(to, w.n_keys);
    gf_put(to, w.keys.bytes, w.keys.n);
    gf_put(to, w.infos.bytes, w.infos.n);
    to->bad |= w.keys.bad | w.infos.bad;
    pad(to);
    gf_each_stored(p, cfg, family, 1, put_data, &w);
    gf_sink_close(&w.keys);
    gf_sink_close(&w.infos);
    free(w.blocks);
    return GF_OK;
}
