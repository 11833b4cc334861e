/* roster.c - see roster.h. The order of the entries is that in memory, in tables and in files of our own format.
 *
 * The tables below are the list of all weights: C expands them into a walk over a model's structs, and
 * scripts/roster_rows.js makes web/lib/engine/config/roster_rows.js from them. A condition (when), a count and a size
 * are expressions over c, the configuration, and `at`, the scope in the walk; see glassformer.h for what they may
 * contain.
 *
 *   MATRIX(when, name, rows, cols, to)                   a matrix of its own
 *   ROWS(when, name, rows, cols, to, first, all)         rows `first` .. of a matrix of `all` rows
 *   TABLE(when, name, rows, cols, to)                    a table whose rows are read by index and never multiplied
 *   VECTOR(when, name, n, to), SLICE(when, name, n, to, first, all)
 *   HEADS(when, name, end, heads, to)                    of the norm of q or k, for each head or for all: see heads()
 *   TIED(when, name, to)                                 the matrix named `to` under another name
 *   PART(when, name, part, component, to)                the weights of another table
 *   EACH(when, name, count, part, component, to)         those for each of `count` things
 *   BLOCKS(when, name, stack, count, to, cross)          those of a stack's blocks; cross: with cross-attention
 *   COMPONENT(component), WIDTH(width)                   of the rows that follow; `width`: of the feed-forward layers
 *
 * to: where the weights are kept, in the struct w. */
#include "model/roster.h"
#include "base/arena.h" /* gf_calloc */
#include "base/text.h"
#include "model/config.h" /* gf_embed_narrow, gf_embed_width, gf_layer_owner, gf_layer_sparse, ... */
#include <stdlib.h>
#include <string.h>

#define MODEL_WEIGHTS                                                                                                  \
    COMPONENT(GF_C_EMBEDDING)                                                                                          \
    MATRIX(c->kind == GF_ENCODER_DECODER && !c->shared_embedding && c->encoder_vocab_size == 0,                        \
           "encoder.embed.weight", c->vocab_size, c->d_model, w->encoder_embed)                                        \
    MATRIX(c->encoder_vocab_size > 0, "encoder.embed.weight", c->encoder_vocab_size, c->d_model, w->encoder_embed)     \
    MATRIX(c->d_embed == 0, "embed.weight", c->vocab_size, c->d_model, w->embed)                                       \
    MATRIX(c->d_embed > 0, "embed.weight", c->vocab_size, c->d_embed, w->embed)                                        \
    MATRIX(c->d_embed > 0, "embed_project.weight", c->d_model, c->d_embed, w->embed_project.w)                         \
    VECTOR(gf_embed_narrow(c), "embed_project.bias", c->d_model, w->embed_project.b)                                   \
    COMPONENT(GF_C_POSITION)                                                                                           \
    TABLE(c->position == GF_POS_LEARNED && c->kind == GF_ENCODER_DECODER, "encoder.position.weight",                   \
          c->position_offset + c->context_length, c->d_model, w->encoder_position)                                     \
    TABLE(c->position == GF_POS_LEARNED && !gf_embed_narrow(c), "position.weight",                                     \
          c->position_offset + c->context_length, c->d_model, w->position)                                             \
    TABLE(c->position == GF_POS_LEARNED && gf_embed_narrow(c), "position.weight",                                      \
          c->position_offset + c->context_length, c->d_embed, w->position)                                             \
    TABLE(c->relative_buckets > 0 && c->kind == GF_ENCODER_DECODER, "encoder.relative_bias.weight",                    \
          c->relative_buckets, c->n_heads, w->encoder_relative)                                                        \
    TABLE(c->relative_buckets > 0, "relative_bias.weight", c->relative_buckets, c->n_heads, w->relative)               \
    PART(c->embed_norm && c->kind == GF_ENCODER_DECODER, "encoder.embed_norm.", norm, GF_C_NORM,                       \
         w->encoder_embed_norm)                                                                                        \
    COMPONENT(GF_C_EMBEDDING)                                                                                          \
    TABLE(c->n_token_types > 0 && !gf_embed_narrow(c), "token_type.weight", c->n_token_types, c->d_model,              \
          w->token_type)                                                                                               \
    TABLE(c->n_token_types > 0 && gf_embed_narrow(c), "token_type.weight", c->n_token_types, c->d_embed,               \
          w->token_type)                                                                                               \
    PART(c->embed_norm && !gf_embed_narrow(c), "embed_norm.", norm, GF_C_NORM, w->embed_norm)                          \
    PART(c->embed_norm &&gf_embed_narrow(c), "embed_norm.", narrow_norm, GF_C_NORM, w->embed_norm)                     \
    BLOCKS(c->kind == GF_ENCODER_DECODER, "encoder.", GF_STACK_ENCODER, c->n_encoder_layers, w->encoder_blocks, 0)     \
    PART(c->kind == GF_ENCODER_DECODER && c->final_norm, "encoder.final_norm.", final_norm, GF_C_FINAL_NORM,           \
         w->encoder_final_norm)                                                                                        \
    BLOCKS(c->kind == GF_ENCODER_DECODER, "decoder.", GF_STACK_DECODER, c->n_layers, w->blocks, 1)                     \
    BLOCKS(c->kind == GF_ENCODER, "blocks.", GF_STACK_ENCODER, c->n_layers, w->blocks, 0)                              \
    BLOCKS(c->kind == GF_DECODER, "blocks.", GF_STACK_DECODER, c->n_layers, w->blocks, 0)                              \
    PART(c->final_norm, "final_norm.", final_norm, GF_C_FINAL_NORM, w->final_norm)                                     \
    PART(c->pooler, "pooler.", dense, GF_C_HEAD, w->pooler)                                                            \
    PART(c->mlm_head || c->label_transform != GF_LABEL_NONE, "head_transform.", transform, GF_C_HEAD,                  \
         w->head_transform)                                                                                            \
    PART((c->mlm_head && !gf_embed_narrow(c)) || c->label_norm, "head_norm.", norm, GF_C_HEAD, w->head_norm)           \
    PART(c->mlm_head &&gf_embed_narrow(c), "head_norm.", narrow_norm, GF_C_HEAD, w->head_norm)                         \
    COMPONENT(GF_C_HEAD)                                                                                               \
    MATRIX(c->d_embed > 0 && !gf_embed_narrow(c), "head_project.weight", c->d_embed, c->d_model, w->head_project.w)    \
    TIED(c->tie_word_embeddings, "head.weight", "embed.weight")                                                        \
    MATRIX(!c->tie_word_embeddings && c->d_embed > 0 && c->n_labels == 0 && (c->kind != GF_ENCODER || c->mlm_head),    \
           "head.weight", c->vocab_size, c->d_embed, w->head.w)                                                        \
    MATRIX(!c->tie_word_embeddings && c->d_embed == 0 && c->n_labels == 0 && (c->kind != GF_ENCODER || c->mlm_head),   \
           "head.weight", c->vocab_size, c->d_model, w->head.w)                                                        \
    MATRIX(c->n_labels > 0 && c->d_embed > 0 && c->kind != GF_ENCODER, "head.weight", c->n_labels, c->d_embed,         \
           w->head.w)                                                                                                  \
    MATRIX(c->n_labels > 0 && (c->d_embed == 0 || c->kind == GF_ENCODER), "head.weight", c->n_labels, c->d_model,      \
           w->head.w)                                                                                                  \
    VECTOR(c->bias_head && c->n_labels == 0, "head.bias", c->vocab_size, w->head.b)                                    \
    VECTOR(c->bias_head && c->n_labels > 0, "head.bias", c->n_labels, w->head.b)

#define BLOCK_WEIGHTS                                                                                                  \
    PART(gf_layer_norm1(c, at->layer), "norm1.", norm, GF_C_NORM, w->norm[GF_SELF_ATTENTION])                          \
    PART(1, "attn.", qkv, GF_C_ATTENTION, w->attn)                                                                     \
    PART(c->qk_norm, "attn.", qk_norm, GF_C_ATTENTION, w->attn)                                                        \
    PART(1, "attn.", attention_output, GF_C_ATTENTION, w->attn)                                                        \
    PART(c->norm_placement == GF_SANDWICH_NORM, "norm1_post.", norm, GF_C_NORM, w->norm_out[GF_SELF_ATTENTION])        \
    PART(at->cross, "norm2.", norm, GF_C_NORM, w->norm[GF_CROSS_ATTENTION])                                            \
    PART(at->cross, "cross_attn.", qkv, GF_C_CROSS_ATTENTION, w->cross)                                                \
    PART(at->cross, "cross_attn.", attention_output, GF_C_CROSS_ATTENTION, w->cross)                                   \
    PART(c->ffn != GF_NO_FFN, "", feed_forward, GF_C_FFN, *w)

#define FEED_FORWARD_WEIGHTS                                                                                           \
    PART(at->cross && !c->shared_norm, "norm3.", norm, GF_C_NORM, w->norm[GF_FEED_FORWARD])                            \
    PART(!at->cross && !c->shared_norm, "norm2.", norm, GF_C_NORM, w->norm[GF_FEED_FORWARD])                           \
    WIDTH(c->d_ff)                                                                                                     \
    PART(gf_layer_sparse(c, at->layer), "ffn.", experts, GF_C_FFN, w->experts)                                         \
    PART(!gf_layer_sparse(c, at->layer) && !(c->d_encoder_ff > 0 && !at->cross), "ffn.", ffn, GF_C_FFN, w->ffn)        \
    WIDTH(c->d_encoder_ff)                                                                                             \
    PART(c->d_encoder_ff > 0 && !at->cross, "ffn.", ffn, GF_C_FFN, w->ffn)                                             \
    PART(c->norm_placement == GF_SANDWICH_NORM, "norm2_post.", norm, GF_C_NORM, w->norm_out[GF_FEED_FORWARD])

#define QKV_WEIGHTS                                                                                                    \
    ROWS(1, "q.weight", c->n_heads * c->d_head, c->d_model, w->in.w, 0, q_all)                                         \
    ROWS(1, "k.weight", c->n_kv_heads * c->d_head, c->d_model, from->w, key, all)                                      \
    ROWS(1, "v.weight", c->n_kv_heads * c->d_head, c->d_model, from->w, value, all)                                    \
    SLICE(c->bias_qkv, "q.bias", c->n_heads * c->d_head, w->in.b, 0, q_all)                                            \
    SLICE(c->bias_qkv, "k.bias", c->n_kv_heads * c->d_head, from->b, key, all)                                         \
    SLICE(c->bias_qkv, "v.bias", c->n_kv_heads * c->d_head, from->b, value, all)

#define QK_NORM_WEIGHTS                                                                                                \
    HEADS(c->norm_gain, "q_norm.", "weight", c->n_heads, w->q_norm.gain)                                               \
    HEADS(c->bias_qk_norm, "q_norm.", "bias", c->n_heads, w->q_norm.bias)                                              \
    HEADS(c->norm_gain, "k_norm.", "weight", c->n_kv_heads, w->k_norm.gain)                                            \
    HEADS(c->bias_qk_norm, "k_norm.", "bias", c->n_kv_heads, w->k_norm.bias)

#define ATTENTION_OUTPUT_WEIGHTS                                                                                       \
    MATRIX(1, "o.weight", c->d_model, c->n_heads * c->d_head, w->o.w)                                                  \
    VECTOR(c->bias_attn_out, "o.bias", c->d_model, w->o.b)

#define FFN_WEIGHTS                                                                                                    \
    ROWS(gf_ffn_gated(c), "gate.weight", at->width, c->d_model, w->up.w, 0, all)                                       \
    ROWS(1, "up.weight", at->width, c->d_model, w->up.w, up, all)                                                      \
    SLICE(gf_ffn_gated(c) && c->bias_ffn, "gate.bias", at->width, w->up.b, 0, all)                                     \
    SLICE(c->bias_ffn, "up.bias", at->width, w->up.b, up, all)                                                         \
    MATRIX(1, "down.weight", c->d_model, at->width, w->down.w)                                                         \
    VECTOR(c->bias_ffn, "down.bias", c->d_model, w->down.b)

#define EXPERTS_WEIGHTS                                                                                                \
    ROWS(1, "router.weight", c->n_experts, c->d_model, w->router.w, 0, all)                                            \
    ROWS(c->d_shared_expert > 0, "shared_gate.weight", 1, c->d_model, w->router.w, c->n_experts, all)                  \
    WIDTH(c->d_expert)                                                                                                 \
    EACH(1, "experts.", c->n_experts, ffn, GF_C_FFN, w->each)                                                          \
    WIDTH(c->d_shared_expert)                                                                                          \
    PART(c->d_shared_expert > 0, "shared_expert.", ffn, GF_C_FFN, w->each[c->n_experts])

#define NORM_WEIGHTS                                                                                                   \
    VECTOR(c->norm_gain && c->norm != GF_NO_NORM, "weight", c->d_model, w->gain)                                       \
    VECTOR(c->bias_norm && c->norm == GF_LAYERNORM, "bias", c->d_model, w->bias)

#define NARROW_NORM_WEIGHTS                                                                                            \
    VECTOR(c->norm_gain && c->norm != GF_NO_NORM, "weight", c->d_embed, w->gain)                                       \
    VECTOR(c->bias_norm && c->norm == GF_LAYERNORM, "bias", c->d_embed, w->bias)

#define FINAL_NORM_WEIGHTS                                                                                             \
    VECTOR(c->norm_gain, "weight", c->d_model, w->gain)                                                                \
    VECTOR(c->bias_norm && c->final_norm_kind == GF_LAYERNORM, "bias", c->d_model, w->bias)

#define DENSE_WEIGHTS                                                                                                  \
    MATRIX(1, "weight", c->d_model, c->d_model, w->w)                                                                  \
    VECTOR(1, "bias", c->d_model, w->b)

#define TRANSFORM_WEIGHTS                                                                                              \
    MATRIX(!gf_embed_narrow(c) || !c->mlm_head, "weight", c->d_model, c->d_model, w->w)                                \
    MATRIX(gf_embed_narrow(c) && c->mlm_head, "weight", c->d_embed, c->d_model, w->w)                                  \
    VECTOR(c->bias_head_transform && (!gf_embed_narrow(c) || !c->mlm_head), "bias", c->d_model, w->b)                  \
    VECTOR(c->bias_head_transform && gf_embed_narrow(c) && c->mlm_head, "bias", c->d_embed, w->b)

struct walk {
    const struct gf_config *cfg;
    gf_roster_fn fn;
    void *ctx;
    int32_t seen, only; /* entries so far; only: the index of the only entry that fn is called for, -1: all */
};

/* A scope of the walk: the part that `name` and `number` (-1: none) add to the names of the part around it. */
struct scope {
    const struct scope *outer; /* NULL: the model */
    const char *name;          /* "blocks.", "attn." */
    int32_t number, component, stack, layer, cross, width;
    int32_t back; /* how many entries before each one is that whose memory it shares; 0: it has its own */
};

static struct scope inside(const struct scope *outer, const char *name, int32_t number, int32_t component) {
    struct scope at = *outer;
    at.outer = outer;
    at.name = name;
    at.number = number;
    at.component = component;
    return at;
}

/* Whether the next of the entries is not reported; counts it. */
static int passed_over(struct walk *k) { return k->seen++ != k->only && k->only >= 0; }

/* The part that is walked after part i of `count` equal ones, of which the first began at entry `first`. Parts without
 * an entry to report are passed over and their entries counted, so that finding one entry of a model with thousands of
 * experts is quick. */
static int32_t next_part(struct walk *k, int32_t i, int32_t count, int32_t first) {
    const int32_t left = count - ++i, size = (k->seen - first) / i;
    if (k->only < 0) return i;
    const int32_t before = k->only < k->seen ? left : (k->only - k->seen) / size, n = before < left ? before : left;
    k->seen += n * size;
    return i + n;
}

/* The names of the parts around a scope, the outermost first. */
static void put_names(struct gf_text *to, const struct scope *at) {
    if (!at) return;
    put_names(to, at->outer);
    gf_append(to, at->name);
    if (at->number < 0) return;
    gf_append_whole(to, (uint64_t)at->number);
    gf_append(to, ".");
}

static struct gf_slot describe(const struct walk *k, const struct scope *at, const char *name, int32_t rank,
                               int32_t rows, int32_t cols) {
    struct gf_slot s;
    memset(&s, 0, sizeof s);
    struct gf_text full = gf_text_in(s.t.name, sizeof s.t.name);
    put_names(&full, at);
    gf_append(&full, name);
    s.t.component = at->component;
    s.t.stack = at->stack;
    s.t.layer = at->layer;
    s.t.rank = rank;
    s.t.rows = rows;
    s.t.cols = cols;
    s.t.tied_to = at->back > 0 ? k->seen - 1 - at->back : -1;
    s.t.count = at->back > 0 ? 0 : (uint64_t)rows * (uint64_t)cols;
    return s;
}

/* Rows first .. first + rows - 1 of a matrix of `all` rows. */
static void matrix(struct walk *k, const struct scope *at, const char *name, int32_t rows, int32_t cols,
                   struct gf_mat *to, int32_t first, int32_t all) {
    if (passed_over(k)) return;
    struct gf_slot s = describe(k, at, name, 2, rows, cols);
    s.mat = to;
    s.row0 = first;
    s.mat_rows = all;
    k->fn(k->ctx, &s);
}

/* n floats from `first` on, of a vector of `all`. */
static void vector(struct walk *k, const struct scope *at, const char *name, int32_t n, float **to, int32_t first,
                   int32_t all) {
    if (passed_over(k)) return;
    struct gf_slot s = describe(k, at, name, 1, 1, n);
    s.vec = to;
    s.offset = (uint64_t)first;
    s.vec_len = (uint64_t)all;
    k->fn(k->ctx, &s);
}

static void table(struct walk *k, const struct scope *at, const char *name, int32_t rows, int32_t cols, float **to) {
    if (passed_over(k)) return;
    struct gf_slot s = describe(k, at, name, 2, rows, cols);
    s.vec = to;
    s.vec_len = s.t.count;
    k->fn(k->ctx, &s);
}

/* The embedding of a decoder, as its head. An encoder's own embedding stands before it. */
static void tied(struct walk *k, const struct scope *at, const char *name) {
    const struct gf_config *c = k->cfg;
    if (passed_over(k)) return;
    struct gf_slot s = describe(k, at, name, 2, c->vocab_size, gf_embed_width(c));
    s.t.tied_to = c->kind == GF_ENCODER_DECODER && !c->shared_embedding;
    s.t.count = 0;
    k->fn(k->ctx, &s);
}

/* Gains or biases of the norm of q or k: of one head, which all share; of each head; or of all as one vector. */
static void heads(struct walk *k, const struct scope *at, const char *name, const char *end, int32_t n, float **to) {
    const struct gf_config *c = k->cfg;
    const int each = c->qk_norm_span == GF_SPAN_EACH_HEAD;
    const int32_t width = c->qk_norm_span == GF_SPAN_PROJECTION ? n * c->d_head : c->d_head, count = each ? n : 1;
    for (int32_t h = 0; h < count; h++) {
        const struct scope inner = inside(at, name, each ? h : -1, at->component);
        vector(k, &inner, end, width, to, h * width, count * width);
    }
}

/* Address of an element of w, or NULL when walking without weights. */
#define AT(element) (w ? &(element) : NULL)

#define ROWS(when, name, rows, cols, to, first, all)                                                                   \
    if (when) matrix(k, at, name, rows, cols, AT(to), first, all);
#define MATRIX(when, name, rows, cols, to) ROWS(when, name, rows, cols, to, 0, rows)
#define TABLE(when, name, rows, cols, to)                                                                              \
    if (when) table(k, at, name, rows, cols, AT(to));
#define SLICE(when, name, n, to, first, all)                                                                           \
    if (when) vector(k, at, name, n, AT(to), first, all);
#define VECTOR(when, name, n, to) SLICE(when, name, n, to, 0, n)
#define HEADS(when, name, end, n, to)                                                                                  \
    if (when) heads(k, at, name, end, n, AT(to));
#define TIED(when, name, to)                                                                                           \
    if (when) tied(k, at, name);
#define COMPONENT(of) at->component = of;
#define WIDTH(of)     at->width = of;
#define PART(when, name, part, component, to)                                                                          \
    if (when) {                                                                                                        \
        struct scope inner = inside(at, name, -1, component);                                                          \
        part(k, &inner, AT(to));                                                                                       \
    }
#define EACH(when, name, count, part, component, to)                                                                   \
    for (int32_t i = 0, first = k->seen; (when) && i < (count); i = next_part(k, i, count, first)) {                   \
        struct scope inner = inside(at, name, i, component);                                                           \
        part(k, &inner, AT((to)[i]));                                                                                  \
    }
#define BLOCKS(when, name, of_stack, count, to, with_cross)                                                            \
    for (int32_t l = 0, first = k->seen; (when) && l < (count); l++) {                                                 \
        struct scope inner = inside(at, name, l, GF_C_NORM);                                                           \
        inner.back = l > 0 ? (l - gf_layer_owner(c, l)) * ((k->seen - first) / l) : 0;                                 \
        inner.stack = of_stack;                                                                                        \
        inner.layer = l;                                                                                               \
        inner.cross = with_cross;                                                                                      \
        block(k, &inner, AT((to)[l]));                                                                                 \
    }

/* A function that walks over the weights of a table. */
#define WALK(part, type, WEIGHTS)                                                                                      \
    static void part(struct walk *k, struct scope *at, struct type *w) {                                               \
        const struct gf_config *c = k->cfg;                                                                            \
        WEIGHTS                                                                                                        \
    }

WALK(norm, gf_norm, NORM_WEIGHTS)
WALK(narrow_norm, gf_norm, NARROW_NORM_WEIGHTS)
WALK(final_norm, gf_norm, FINAL_NORM_WEIGHTS)
WALK(dense, gf_linear, DENSE_WEIGHTS)
WALK(transform, gf_linear, TRANSFORM_WEIGHTS)
WALK(qk_norm, gf_attn, QK_NORM_WEIGHTS)
WALK(attention_output, gf_attn, ATTENTION_OUTPUT_WEIGHTS)

/* Self-attention has q, k and v in one matrix, cross-attention has k and v in a second one. */
static void qkv(struct walk *k, struct scope *at, struct gf_attn *w) {
    const struct gf_config *c = k->cfg;
    const int cross = at->component == GF_C_CROSS_ATTENTION;
    const int32_t q = gf_q_width(c), kv = gf_kv_width(c), key = cross ? 0 : q, value = key + kv, all = value + kv,
                  q_all = cross ? q : all;
    struct gf_linear *from = !w ? NULL : cross ? &w->kv : &w->in;
    QKV_WEIGHTS
}

static void ffn(struct walk *k, struct scope *at, struct gf_ffn *w) {
    const struct gf_config *c = k->cfg;
    const int32_t up = gf_ffn_gated(c) ? at->width : 0, all = up + at->width;
    FFN_WEIGHTS
}

static void experts(struct walk *k, struct scope *at, struct gf_experts *w) {
    const struct gf_config *c = k->cfg;
    const int32_t all = c->n_experts + gf_shared_experts(c);
    EXPERTS_WEIGHTS
}

WALK(feed_forward, gf_block, FEED_FORWARD_WEIGHTS)
WALK(block, gf_block, BLOCK_WEIGHTS)
WALK(model, gf_weights, MODEL_WEIGHTS)

/* only: the index of the entry that is reported; -1: all. */
static void walk(const struct gf_config *c, struct gf_weights *w, gf_roster_fn fn, void *ctx, int32_t only) {
    struct walk k = {c, fn, ctx, 0, only};
    struct scope at = {.name = "", .number = -1, .stack = GF_STACK_NONE, .layer = -1};
    model(&k, &at, w);
}

void gf_roster_walk(const struct gf_config *cfg, struct gf_weights *w, gf_roster_fn fn, void *ctx) {
    walk(cfg, w, fn, ctx, -1);
}

int gf_weights_open(struct gf_weights *w, const struct gf_config *c) {
    size_t n = 0;
    const size_t each = (size_t)(c->n_experts + gf_shared_experts(c));
    for (int32_t l = 0; l < c->n_layers; l++) n += gf_layer_sparse(c, l) ? each : 0;
    w->blocks = gf_calloc((uint64_t)c->n_layers + 1, sizeof *w->blocks);
    w->encoder_blocks = gf_calloc((uint64_t)c->n_encoder_layers + 1, sizeof *w->encoder_blocks);
    w->experts = gf_calloc(n + 1, sizeof *w->experts);
    if (!w->blocks || !w->encoder_blocks || !w->experts) return -1;
    n = 0;
    for (int32_t l = 0; l < c->n_layers; l++) {
        w->blocks[l].experts.each = w->experts + n;
        n += gf_layer_sparse(c, l) ? each : 0;
    }
    return 0;
}

void gf_weights_share(struct gf_weights *w, const struct gf_config *c) {
    for (int32_t l = 0; c->n_layer_groups > 0 && l < c->n_layers; l++) w->blocks[l] = w->blocks[gf_layer_owner(c, l)];
}

void gf_weights_close(struct gf_weights *w) {
    free(w->blocks);
    free(w->encoder_blocks);
    free(w->experts);
}

struct pick {
    int32_t n; /* entries seen */
    struct gf_tensor *out;
    uint64_t sum;
};

static void pick(void *ctx, const struct gf_slot *s) {
    struct pick *p = ctx;
    p->n++;
    if (p->out) *p->out = s->t;
    p->sum += s->t.count;
}

int32_t gf_roster_count(const struct gf_config *cfg) {
    struct pick p = {0, NULL, 0};
    gf_roster_walk(cfg, NULL, pick, &p);
    return p.n;
}

uint64_t gf_count_parameters(const struct gf_config *cfg) {
    struct pick p = {0, NULL, 0};
    gf_roster_walk(cfg, NULL, pick, &p);
    return p.sum;
}

int32_t gf_roster_tensor(const struct gf_config *cfg, int32_t i, struct gf_tensor *out) {
    struct pick p = {0, out, 0};
    if (i >= 0) walk(cfg, NULL, pick, &p, i);
    return p.n ? GF_OK : GF_ERR_ARGUMENT;
}
