/* write_gguf.c - writes GGUF version 3, as llama.cpp reads it (ggml's docs/gguf.md), and reads such a file back.
 *
 *   "GGUF" u32 version  u64 tensors  u64 keys  keys...  tensor infos...  padding to 32  data
 *
 * llama: the rows of q and k are permuted so that RoPE rotates adjacent pairs, (i, i + d/2) -> (2i, 2i + 1).
 * gpt2: q, k and v are one matrix. Matrices whose columns do not divide into blocks of 32 are f16.
 *
 * The same code writes and reads: when reading, everything but the weights must equal what would be written. */
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

struct gguf {
    struct gf_sink *to;
    const uint8_t *from;                      /* [n] the file that is read */
    uint64_t n, n_keys, at;                   /* at: bytes written or read so far */
    enum { WRITING, COUNTING, READING } mode; /* COUNTING: only n_keys and the tensors are counted */
    int differs;                              /* READING: the file is not one that would be written */
    int not_finite;                           /* READING: a weight is NaN or infinite */
};

/* READING: the next n bytes of the file; NULL if there are fewer or the file differs. */
static const uint8_t *next(struct gguf *g, uint64_t n) {
    if (g->differs || g->at > g->n || n > g->n - g->at) g->differs = 1;
    const uint8_t *at = g->differs ? NULL : g->from + g->at;
    g->at += n;
    return at;
}

/* Write n bytes; READING: compare them with the next n bytes of the file. */
static void put(struct gguf *g, const void *bytes, uint64_t n) {
    if (g->mode == READING) {
        const uint8_t *found = next(g, n);
        if (found && memcmp(found, bytes, (size_t)n)) g->differs = 1;
        return;
    }
    if (g->mode == WRITING) gf_put(g->to, bytes, (size_t)n);
    g->at += n;
}
static void put_u32(struct gguf *g, uint32_t x) {
    const uint8_t b[4] = {(uint8_t)x, (uint8_t)(x >> 8), (uint8_t)(x >> 16), (uint8_t)(x >> 24)};
    put(g, b, 4);
}
static void put_u64(struct gguf *g, uint64_t x) {
    put_u32(g, (uint32_t)x);
    put_u32(g, (uint32_t)(x >> 32));
}
static void put_string(struct gguf *g, const char *s) {
    put_u64(g, strlen(s));
    put(g, s, strlen(s));
}
static void put_key(struct gguf *g, const char *name, uint32_t type) {
    g->n_keys++;
    put_string(g, name);
    put_u32(g, type);
}
static void put_key_u32(struct gguf *g, const char *name, int32_t x) {
    put_key(g, name, U32);
    put_u32(g, (uint32_t)x);
}
static void put_key_f32(struct gguf *g, const char *name, float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    put_key(g, name, F32);
    put_u32(g, bits);
}
static void put_key_string(struct gguf *g, const char *name, const char *s) {
    put_key(g, name, STRING);
    put_string(g, s);
}

static void put_vocabulary(struct gguf *g, const struct gf_bpe *b) {
    static char text[GF_BPE_SPELLING_MOST], pair[2 * sizeof text];
    put_key_string(g, "tokenizer.ggml.model", "gpt2");
    put_key_string(g, "tokenizer.ggml.pre", "gpt-2");
    put_key(g, "tokenizer.ggml.tokens", ARRAY);
    put_u32(g, STRING);
    put_u64(g, (uint64_t)b->vocab_size);
    for (int32_t i = 0; i < b->vocab_size; i++) {
        gf_bpe_spell(b, i, text, sizeof text);
        put_string(g, text);
    }
    put_key(g, "tokenizer.ggml.token_type", ARRAY); /* 1 normal, 3 control */
    put_u32(g, INT32);
    put_u64(g, (uint64_t)b->vocab_size);
    for (int32_t i = 0; i < b->vocab_size; i++) put_u32(g, i ? 1 : 3);
    put_key(g, "tokenizer.ggml.merges", ARRAY);
    put_u32(g, STRING);
    put_u64(g, (uint64_t)b->n_merges);
    for (int32_t i = 0; i < b->n_merges; i++) {
        gf_bpe_spell(b, b->merges[i][0], text, sizeof text);
        const size_t n = strlen(text);
        memcpy(pair, text, n);
        pair[n] = ' ';
        gf_bpe_spell(b, b->merges[i][1], pair + n + 1, sizeof text);
        put_string(g, pair);
    }
    put_key_u32(g, "tokenizer.ggml.bos_token_id", 0);
    put_key_u32(g, "tokenizer.ggml.eos_token_id", 0);
    put_key(g, "tokenizer.ggml.add_bos_token", BOOL);
    const uint8_t yes = 1;
    put(g, &yes, 1);
}

static void put_keys(struct gguf *g, const struct gf_config *c, const struct gf_bpe *bpe, int32_t dtype,
                     const char *name) {
    const int llama = c->norm == GF_RMSNORM;
    char k[64];
#define KEY(text) (snprintf(k, sizeof k, "%s." text, llama ? "llama" : "gpt2"), k)
    put_key_string(g, "general.architecture", llama ? "llama" : "gpt2");
    put_key_string(g, "general.name", name);
    put_key_u32(g, "general.file_type", dtype == GF_F32 ? 0 : dtype == GF_F16 ? 1 : dtype == GF_Q4_0 ? 2 : 7);
    put_key_u32(g, "general.quantization_version", 2);
    put_key_u32(g, KEY("context_length"), c->context_length);
    put_key_u32(g, KEY("embedding_length"), c->d_model);
    put_key_u32(g, KEY("block_count"), c->n_layers);
    put_key_u32(g, KEY("feed_forward_length"), c->d_ff);
    put_key_u32(g, KEY("attention.head_count"), c->n_heads);
    if (llama) {
        put_key_u32(g, KEY("vocab_size"), c->vocab_size);
        put_key_u32(g, KEY("attention.head_count_kv"), c->n_kv_heads);
        put_key_u32(g, KEY("attention.key_length"), c->d_head);
        put_key_u32(g, KEY("attention.value_length"), c->d_head);
        put_key_u32(g, KEY("rope.dimension_count"), c->d_head);
        put_key_f32(g, KEY("rope.freq_base"), c->rope_theta);
        put_key_f32(g, KEY("attention.layer_norm_rms_epsilon"), c->norm_eps);
    } else {
        put_key_f32(g, KEY("attention.layer_norm_epsilon"), c->norm_eps);
    }
#undef KEY
    put_vocabulary(g, bpe);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

struct row { /* a tensor of the file: the roster's weights of which it consists, stacked by rows; %d is the layer */
    const char *gguf, *roster[3];
    int rotated; /* q or k, whose rows are rotated in pairs by RoPE */
};
static const struct row llama_block[] = {{"blk.%d.attn_norm.weight", {"blocks.%d.norm1.weight"}, 0},
                                         {"blk.%d.attn_q.weight", {"blocks.%d.attn.q.weight"}, 1},
                                         {"blk.%d.attn_k.weight", {"blocks.%d.attn.k.weight"}, 1},
                                         {"blk.%d.attn_v.weight", {"blocks.%d.attn.v.weight"}, 0},
                                         {"blk.%d.attn_output.weight", {"blocks.%d.attn.o.weight"}, 0},
                                         {"blk.%d.ffn_norm.weight", {"blocks.%d.norm2.weight"}, 0},
                                         {"blk.%d.ffn_gate.weight", {"blocks.%d.ffn.gate.weight"}, 0},
                                         {"blk.%d.ffn_up.weight", {"blocks.%d.ffn.up.weight"}, 0},
                                         {"blk.%d.ffn_down.weight", {"blocks.%d.ffn.down.weight"}, 0},
                                         {NULL, {NULL}, 0}};
#define QKV(what) "blocks.%d.attn.q." what, "blocks.%d.attn.k." what, "blocks.%d.attn.v." what
static const struct row gpt2_block[] = {{"blk.%d.attn_norm.weight", {"blocks.%d.norm1.weight"}, 0},
                                        {"blk.%d.attn_norm.bias", {"blocks.%d.norm1.bias"}, 0},
                                        {"blk.%d.attn_qkv.weight", {QKV("weight")}, 0},
                                        {"blk.%d.attn_qkv.bias", {QKV("bias")}, 0},
                                        {"blk.%d.attn_output.weight", {"blocks.%d.attn.o.weight"}, 0},
                                        {"blk.%d.attn_output.bias", {"blocks.%d.attn.o.bias"}, 0},
                                        {"blk.%d.ffn_norm.weight", {"blocks.%d.norm2.weight"}, 0},
                                        {"blk.%d.ffn_norm.bias", {"blocks.%d.norm2.bias"}, 0},
                                        {"blk.%d.ffn_up.weight", {"blocks.%d.ffn.up.weight"}, 0},
                                        {"blk.%d.ffn_up.bias", {"blocks.%d.ffn.up.bias"}, 0},
                                        {"blk.%d.ffn_down.weight", {"blocks.%d.ffn.down.weight"}, 0},
                                        {"blk.%d.ffn_down.bias", {"blocks.%d.ffn.down.bias"}, 0},
                                        {NULL, {NULL}, 0}};
static const struct row outer[] = {{"token_embd.weight", {"embed.weight"}, 0},
                                   {"position_embd.weight", {"position.weight"}, 0},
                                   {"output_norm.weight", {"final_norm.weight"}, 0},
                                   {"output_norm.bias", {"final_norm.bias"}, 0},
                                   {"output.weight", {"head.weight"}, 0},
                                   {NULL, {NULL}, 0}};

struct writer {
    struct gguf *g;
    const struct gf_params *p;
    const struct gf_config *cfg;
    int32_t dtype;
    uint64_t n_tensors, offset;          /* offset: of the next tensor in the data section */
    enum { COUNT, INFOS, DATA } section; /* of the file; COUNT: none, n_tensors is counted */
    uint8_t *blocks;                     /* one row as dtype */
};

/* Write a weight's values, or read them into the weight. */
static void put_rows(struct writer *w, const struct gf_param *e, int32_t dtype, int rotated) {
    const int32_t cols = e->t.cols, half = w->cfg->d_head / 2;
    const uint64_t bytes = (uint64_t)(cols / gf_dtype_block_cols(dtype)) * (uint64_t)gf_dtype_block_bytes(dtype);
    for (int32_t r = 0; r < e->t.rows; r++) {
        int32_t from = r;
        if (rotated && w->cfg->rope_pairs == GF_ROPE_HALF) {
            const int32_t in = r % w->cfg->d_head;
            from = r - in + in / 2 + in % 2 * half;
        }
        float *row = w->p->data + e->offset + (uint64_t)from * (uint64_t)cols;
        if (w->g->mode == READING) {
            const uint8_t *found = next(w->g, bytes);
            if (!found) continue;
            gf_dequantize(row, found, dtype, cols);
            for (int32_t c = 0; c < cols; c++) w->g->not_finite |= !isfinite(row[c]);
        } else {
            gf_quantize(w->blocks, row, dtype, cols);
            put(w->g, w->blocks, bytes);
        }
    }
}

/* Zeros up to the next multiple of ALIGN. */
static void pad(struct gguf *g) {
    static const uint8_t zeros[ALIGN];
    put(g, zeros, (ALIGN - g->at % ALIGN) % ALIGN);
}

/* One tensor's part of the current section. A tensor that this architecture does not have is left out. */
static void put_tensor(struct writer *w, const struct row *row, int32_t layer) {
    const struct gf_param *parts[3];
    int32_t n = 0, rows = 0;
    for (; n < 3 && row->roster[n]; n++) {
        parts[n] = gf_params_find(w->p, row->roster[n], layer);
        if (!parts[n]) return;
        rows += parts[n]->t.rank == 1 ? parts[n]->t.cols : parts[n]->t.rows;
    }
    const struct gf_tensor *t = &parts[0]->t;
    int32_t dtype = t->rank == 1 || t->component == GF_C_POSITION ? GF_F32 : w->dtype;
    if (t->cols % gf_dtype_block_cols(dtype)) dtype = GF_F16;
    const uint64_t values = t->rank == 1 ? (uint64_t)rows : (uint64_t)rows * (uint64_t)t->cols,
                   bytes = values / (uint64_t)gf_dtype_block_cols(dtype) * (uint64_t)gf_dtype_block_bytes(dtype);
    w->n_tensors++;
    if (w->section == INFOS) {
        static const uint32_t ggml_types[] = {[GF_F32] = 0, [GF_F16] = 1, [GF_Q8_0] = 8, [GF_Q4_0] = 2};
        char name[64];
        const char *mark = strstr(row->gguf, "%d");
        snprintf(name, sizeof name, mark ? "%.*s%d%s" : "%.*s", mark ? (int)(mark - row->gguf) : 63, row->gguf, layer,
                 mark ? mark + 2 : "");
        put_string(w->g, name);
        put_u32(w->g, (uint32_t)t->rank);
        put_u64(w->g, (uint64_t)(t->rank == 1 ? rows : t->cols)); /* the fastest varying first */
        if (t->rank == 2) put_u64(w->g, (uint64_t)rows);
        put_u32(w->g, ggml_types[dtype]);
        put_u64(w->g, w->offset);
    } else if (w->section == DATA) {
        for (int32_t i = 0; i < n; i++) put_rows(w, parts[i], dtype, row->rotated);
        pad(w->g);
    }
    w->offset += (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void put_tensors(struct writer *w, int section) {
    const struct row *block = w->cfg->norm == GF_RMSNORM ? llama_block : gpt2_block;
    w->section = section;
    w->n_tensors = w->offset = 0;
    for (const struct row *r = outer; r->gguf; r++) put_tensor(w, r, 0);
    for (int32_t l = 0; l < w->cfg->n_layers; l++)
        for (const struct row *r = block; r->gguf; r++) put_tensor(w, r, l);
}

/* Write the whole file, or read it. */
static void put_file(struct gguf *g, struct writer *w, const struct gf_bpe *bpe, const char *name) {
    const struct gguf start = *g;
    *g = (struct gguf){.mode = COUNTING};
    put_keys(g, w->cfg, bpe, w->dtype, name);
    put_tensors(w, COUNT);
    const uint64_t n_keys = g->n_keys;
    *g = start;
    put(g, "GGUF", 4);
    put_u32(g, 3);
    put_u64(g, w->n_tensors);
    put_u64(g, n_keys);
    put_keys(g, w->cfg, bpe, w->dtype, name);
    put_tensors(w, INFOS);
    pad(g);
    if (!g->differs) put_tensors(w, DATA);
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
    struct gguf g = {.to = to};
    struct writer w = {.g = &g, .p = p, .cfg = cfg, .dtype = dtype, .blocks = open_row(p, cfg)};
    if (!w.blocks) return gf_fail(err, GF_ERR_MEMORY, "no memory for a row of weights");
    put_file(&g, &w, bpe, name);
    free(w.blocks);
    return GF_OK;
}

int32_t gf_import_gguf(struct gf_params *p, const struct gf_config *cfg, const struct gf_bpe *bpe, const char *name,
                       const void *bytes, size_t n, struct gf_error *err) {
    static const int32_t dtypes[] = {GF_Q8_0, GF_F32, GF_F16, GF_Q4_0};
    const int32_t status = check_exportable(cfg, bpe, err);
    if (status != GF_OK) return status;
    for (int i = 0; i < 4; i++) {
        struct gguf g = {.from = bytes, .n = n, .mode = READING};
        struct writer w = {.g = &g, .p = p, .cfg = cfg, .dtype = dtypes[i]};
        put_file(&g, &w, bpe, name);
        if (g.differs || g.at != n) continue;
        return g.not_finite ? gf_fail(err, GF_ERR_NOT_FINITE, "the file holds NaN or infinite weights") : GF_OK;
    }
    return gf_fail(err, GF_ERR_SHAPE, "the file was not written by this program for this recipe and corpus");
}
