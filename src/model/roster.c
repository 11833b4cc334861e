/* roster.c - see roster.h. The order of the entries is that in memory, in tables and in files of our own format. */
#include "model/roster.h"
#include "model/config.h" /* gf_ffn_gated, gf_layer_sparse */
#include <stdlib.h>
#include <string.h>

struct walk {
    const struct gf_config *cfg;
    gf_roster_fn fn;
    void *ctx;
    char prefix[32]; /* "blocks.3." */
    int32_t component, stack, layer;
    int32_t at, only; /* entries so far; only: the index of the only entry that fn is called for, -1: all */
};

/* Whether the next of the entries is not reported; counts it. */
static int passed_over(struct walk *k) { return k->at++ != k->only && k->only >= 0; }

static void join(char *out, size_t size, const char *a, const char *b) {
    size_t n = 0;
    for (; *a && n + 1 < size; a++) out[n++] = *a;
    for (; *b && n + 1 < size; b++) out[n++] = *b;
    out[n] = 0;
}

static struct gf_slot describe(const struct walk *k, const char *name, int32_t rank, int32_t rows, int32_t cols) {
    struct gf_slot s;
    memset(&s, 0, sizeof s);
    join(s.t.name, sizeof s.t.name, k->prefix, name);
    s.t.component = k->component;
    s.t.stack = k->stack;
    s.t.layer = k->layer;
    s.t.rank = rank;
    s.t.rows = rows;
    s.t.cols = cols;
    s.t.tied_to = -1;
    s.t.count = (uint64_t)rows * (uint64_t)cols;
    return s;
}

/* A matrix entry: rows row0 .. of a matrix of mat_rows rows. */
static void mat(struct walk *k, const char *name, struct gf_mat *m, int32_t row0, int32_t rows, int32_t mat_rows,
                int32_t cols) {
    if (passed_over(k)) return;
    struct gf_slot s = describe(k, name, 2, rows, cols);
    s.mat = m;
    s.row0 = row0;
    s.mat_rows = mat_rows;
    k->fn(k->ctx, &s);
}

/* A vector entry: n floats from `offset` on, of a vector of `len`. */
static void vec(struct walk *k, const char *name, float **v, int32_t offset, int32_t n, int32_t len) {
    if (passed_over(k)) return;
    struct gf_slot s = describe(k, name, 1, 1, n);
    s.is_vec = 1;
    s.vec = v;
    s.offset = (uint64_t)offset;
    s.vec_len = (uint64_t)len;
    k->fn(k->ctx, &s);
}

/* A table whose rows are read by index and never multiplied. */
static void table(struct walk *k, const char *name, float **v, int32_t rows, int32_t cols) {
    if (passed_over(k)) return;
    struct gf_slot s = describe(k, name, 2, rows, cols);
    s.is_vec = 1;
    s.vec = v;
    s.vec_len = s.t.count;
    k->fn(k->ctx, &s);
}

/* Address of a member, or NULL when walking without weights. */
#define AT(base, member) ((base) ? &(base)->member : NULL)

static void norm(struct walk *k, const char *name, struct gf_norm *n, int32_t component) {
    const struct gf_config *c = k->cfg;
    char text[32];
    k->component = component;
    join(text, sizeof text, name, ".weight");
    if (c->norm_gain) vec(k, text, AT(n, gain), 0, c->d_model, c->d_model);
    if ((component == GF_C_FINAL_NORM ? c->final_norm_kind : c->norm) == GF_LAYERNORM && c->bias_norm) {
        join(text, sizeof text, name, ".bias");
        vec(k, text, AT(n, bias), 0, c->d_model, c->d_model);
    }
}

/* "attn.q_norm." and 3 become "attn.q_norm.3.weight". */
static void numbered(char *out, size_t size, const char *name, int32_t i, const char *end) {
    char digits[12], *d = digits + sizeof digits, part[40];
    uint32_t u = (uint32_t)i;
    *--d = 0;
    do *--d = (char)('0' + u % 10);
    while (u /= 10);
    join(part, sizeof part, name, d);
    join(out, size, part, end);
}

/* The norm of q or k; name ends with a dot. */
static void head_norm(struct walk *k, const char *name, struct gf_norm *n, int32_t heads) {
    const struct gf_config *c = k->cfg;
    const int each = c->qk_norm_span == GF_SPAN_EACH_HEAD;
    const int32_t width = c->qk_norm_span == GF_SPAN_PROJECTION ? heads * c->d_head : c->d_head,
                  count = each ? heads : 1;
    char text[48];
    for (int bias = 0; bias <= c->bias_qk_norm; bias++)
        for (int32_t h = 0; h < count; h++) {
            if (each)
                numbered(text, sizeof text, name, h, bias ? ".bias" : ".weight");
            else
                join(text, sizeof text, name, bias ? "bias" : "weight");
            vec(k, text, bias ? AT(n, bias) : AT(n, gain), h * width, width, count * width);
        }
}

static void self_attention(struct walk *k, struct gf_attn *a) {
    const struct gf_config *c = k->cfg;
    const int32_t q = c->n_heads * c->d_head, kv = c->n_kv_heads * c->d_head, all = q + 2 * kv, d = c->d_model;
    k->component = GF_C_ATTENTION;
    mat(k, "attn.q.weight", AT(a, in.w), 0, q, all, d);
    mat(k, "attn.k.weight", AT(a, in.w), q, kv, all, d);
    mat(k, "attn.v.weight", AT(a, in.w), q + kv, kv, all, d);
    if (c->bias_qkv) {
        vec(k, "attn.q.bias", AT(a, in.b), 0, q, all);
        vec(k, "attn.k.bias", AT(a, in.b), q, kv, all);
        vec(k, "attn.v.bias", AT(a, in.b), q + kv, kv, all);
    }
    if (c->qk_norm) {
        head_norm(k, "attn.q_norm.", AT(a, q_norm), c->n_heads);
        head_norm(k, "attn.k_norm.", AT(a, k_norm), c->n_kv_heads);
    }
    mat(k, "attn.o.weight", AT(a, o.w), 0, d, d, q);
    if (c->bias_attn_out) vec(k, "attn.o.bias", AT(a, o.b), 0, d, d);
}

static void cross_attention(struct walk *k, struct gf_attn *a) {
    const struct gf_config *c = k->cfg;
    const int32_t q = c->n_heads * c->d_head, kv = c->n_kv_heads * c->d_head, d = c->d_model;
    k->component = GF_C_CROSS_ATTENTION;
    mat(k, "cross_attn.q.weight", AT(a, in.w), 0, q, q, d);
    mat(k, "cross_attn.k.weight", AT(a, kv.w), 0, kv, 2 * kv, d);
    mat(k, "cross_attn.v.weight", AT(a, kv.w), kv, kv, 2 * kv, d);
    if (c->bias_qkv) {
        vec(k, "cross_attn.q.bias", AT(a, in.b), 0, q, q);
        vec(k, "cross_attn.k.bias", AT(a, kv.b), 0, kv, 2 * kv);
        vec(k, "cross_attn.v.bias", AT(a, kv.b), kv, kv, 2 * kv);
    }
    mat(k, "cross_attn.o.weight", AT(a, o.w), 0, d, d, q);
    if (c->bias_attn_out) vec(k, "cross_attn.o.bias", AT(a, o.b), 0, d, d);
}

/* The weights of a feed-forward layer of width `wide`; the names begin with k->prefix and "ffn.". */
static void ffn(struct walk *k, struct gf_ffn *f, int32_t wide) {
    const struct gf_config *c = k->cfg;
    const int32_t d = c->d_model, gated = gf_ffn_gated(c), all = gated ? 2 * wide : wide, up0 = all - wide;
    if (gated) mat(k, "gate.weight", AT(f, up.w), 0, wide, all, d);
    mat(k, "up.weight", AT(f, up.w), up0, wide, all, d);
    if (gated && c->bias_ffn) vec(k, "gate.bias", AT(f, up.b), 0, wide, all);
    if (c->bias_ffn) vec(k, "up.bias", AT(f, up.b), up0, wide, all);
    mat(k, "down.weight", AT(f, down.w), 0, d, d, wide);
    if (c->bias_ffn) vec(k, "down.bias", AT(f, down.b), 0, d, d);
}

/* The router, the experts, and the shared one with its gate: "blocks.3.ffn.router.weight",
 * "blocks.3.ffn.experts.0.gate.weight", "blocks.3.ffn.shared_expert.gate.weight", "blocks.3.ffn.shared_gate.weight". */
static void experts(struct walk *k, struct gf_experts *x) {
    const struct gf_config *c = k->cfg;
    const int32_t n = c->n_experts, routed = n + gf_shared_experts(c), entries = n * (gf_ffn_gated(c) ? 3 : 2);
    char before[sizeof k->prefix], stem[sizeof k->prefix];
    memcpy(before, k->prefix, sizeof before);
    mat(k, "router.weight", AT(x, router.w), 0, n, routed, c->d_model);
    if (routed > n) mat(k, "shared_gate.weight", AT(x, router.w), n, 1, routed, c->d_model);
    join(stem, sizeof stem, before, "experts.");
    if (k->only >= 0 && (k->only < k->at || k->only >= k->at + entries))
        k->at += entries; /* so that finding one entry of a model with thousands of experts is quick */
    else
        for (int32_t e = 0; e < n; e++) {
            numbered(k->prefix, sizeof k->prefix, stem, e, ".");
            ffn(k, x ? &x->each[e] : NULL, c->d_expert);
        }
    if (routed == n) return;
    join(k->prefix, sizeof k->prefix, before, "shared_expert.");
    ffn(k, x ? &x->each[n] : NULL, c->d_shared_expert);
}

/* What stands after the attention: the feed-forward layer, or experts. */
static void feed_forward(struct walk *k, struct gf_block *b) {
    char before[sizeof k->prefix];
    memcpy(before, k->prefix, sizeof before);
    join(k->prefix, sizeof k->prefix, before, "ffn.");
    k->component = GF_C_FFN;
    if (gf_layer_sparse(k->cfg, k->layer))
        experts(k, AT(b, experts));
    else
        ffn(k, AT(b, ffn), k->cfg->d_ff);
    memcpy(k->prefix, before, sizeof before);
}

/* "blocks." and 3 become "blocks.3." */
static void set_prefix(struct walk *k, const char *stack_name, int32_t layer) {
    numbered(k->prefix, sizeof k->prefix, stack_name, layer, ".");
    k->layer = layer;
}

static void stack(struct walk *k, const char *name, int32_t which, struct gf_block *blocks, int32_t n_layers,
                  int cross) {
    for (int32_t l = 0; l < n_layers; l++) {
        struct gf_block *b = blocks ? &blocks[l] : NULL;
        set_prefix(k, name, l);
        k->stack = which;
        norm(k, "norm1", AT(b, norm1), GF_C_NORM);
        self_attention(k, AT(b, attn));
        if (k->cfg->norm_placement == GF_SANDWICH_NORM) norm(k, "norm1_post", AT(b, norm1_post), GF_C_NORM);
        if (cross) {
            norm(k, "norm2", AT(b, norm_cross), GF_C_NORM);
            cross_attention(k, AT(b, cross));
        }
        if (!k->cfg->shared_norm) norm(k, cross ? "norm3" : "norm2", AT(b, norm2), GF_C_NORM);
        feed_forward(k, b);
        if (k->cfg->norm_placement == GF_SANDWICH_NORM) norm(k, "norm2_post", AT(b, norm2_post), GF_C_NORM);
    }
    k->prefix[0] = 0;
    k->stack = GF_STACK_NONE;
    k->layer = -1;
}

/* A linear layer of d_model rows and columns outside the blocks, with a bias. */
static void dense(struct walk *k, const char *name, struct gf_linear *l) {
    const int32_t d = k->cfg->d_model;
    char text[32];
    k->component = GF_C_HEAD;
    join(text, sizeof text, name, ".weight");
    mat(k, text, AT(l, w), 0, d, d, d);
    join(text, sizeof text, name, ".bias");
    vec(k, text, AT(l, b), 0, d, d);
}

/* only: the index of the entry that is reported; -1: all. */
static void walk(const struct gf_config *c, struct gf_weights *w, gf_roster_fn fn, void *ctx, int32_t only) {
    const int two = c->kind == GF_ENCODER_DECODER;
    struct walk k = {c, fn, ctx, "", GF_C_EMBEDDING, GF_STACK_NONE, -1, 0, only};

    const int projected = gf_embed_projected(c);
    const int32_t positions = c->position_offset + c->context_length;

    if (two && !c->shared_embedding)
        mat(&k, "encoder.embed.weight", AT(w, encoder_embed), 0, c->vocab_size, c->vocab_size, c->d_model);
    mat(&k, "embed.weight", AT(w, embed), 0, c->vocab_size, c->vocab_size, gf_embed_width(c));
    if (projected)
        mat(&k, "embed_project.weight", AT(w, embed_project.w), 0, c->d_model, c->d_model, gf_embed_width(c));
    k.component = GF_C_POSITION;
    if (c->position == GF_POS_LEARNED) {
        if (two) table(&k, "encoder.position.weight", AT(w, encoder_position), positions, c->d_model);
        table(&k, "position.weight", AT(w, position), positions, c->d_model);
    }
    if (c->relative_buckets) {
        if (two) table(&k, "encoder.relative_bias.weight", AT(w, encoder_relative), c->relative_buckets, c->n_heads);
        table(&k, "relative_bias.weight", AT(w, relative), c->relative_buckets, c->n_heads);
    }
    if (c->embed_norm && two) norm(&k, "encoder.embed_norm", AT(w, encoder_embed_norm), GF_C_NORM);
    k.component = GF_C_EMBEDDING;
    if (c->n_token_types) table(&k, "token_type.weight", AT(w, token_type), c->n_token_types, c->d_model);
    if (c->embed_norm) norm(&k, "embed_norm", AT(w, embed_norm), GF_C_NORM);
    if (two) {
        stack(&k, "encoder.", GF_STACK_ENCODER, w ? w->encoder_blocks : NULL, c->n_encoder_layers, 0);
        if (c->final_norm) norm(&k, "encoder.final_norm", AT(w, encoder_final_norm), GF_C_FINAL_NORM);
    }
    stack(&k, two ? "decoder." : "blocks.", c->kind == GF_ENCODER ? GF_STACK_ENCODER : GF_STACK_DECODER,
          w ? w->blocks : NULL, c->n_layers, two);
    if (c->final_norm) norm(&k, "final_norm", AT(w, final_norm), GF_C_FINAL_NORM);
    if (c->pooler) dense(&k, "pooler", AT(w, pooler));
    if (c->kind == GF_ENCODER && !c->mlm_head) return;
    if (c->mlm_head) {
        dense(&k, "head_transform", AT(w, head_transform));
        norm(&k, "head_norm", AT(w, head_norm), GF_C_HEAD);
    }
    k.component = GF_C_HEAD;
    if (projected)
        mat(&k, "head_project.weight", AT(w, head_project.w), 0, gf_embed_width(c), gf_embed_width(c), c->d_model);
    if (c->tie_word_embeddings) {
        struct gf_slot s = describe(&k, "head.weight", 2, c->vocab_size, gf_embed_width(c));
        s.t.tied_to = two && !c->shared_embedding;
        s.t.count = 0;
        if (!passed_over(&k)) fn(ctx, &s);
    } else {
        mat(&k, "head.weight", AT(w, head.w), 0, c->vocab_size, c->vocab_size, gf_embed_width(c));
    }
    if (c->bias_head) vec(&k, "head.bias", AT(w, head.b), 0, c->vocab_size, c->vocab_size);
}

void gf_roster_walk(const struct gf_config *cfg, struct gf_weights *w, gf_roster_fn fn, void *ctx) {
    walk(cfg, w, fn, ctx, -1);
}

int gf_weights_open(struct gf_weights *w, const struct gf_config *c) {
    size_t n = 0;
    const size_t each = (size_t)(c->n_experts + gf_shared_experts(c));
    for (int32_t l = 0; l < c->n_layers; l++) n += gf_layer_sparse(c, l) ? each : 0;
    w->blocks = calloc((size_t)c->n_layers + 1, sizeof *w->blocks);
    w->encoder_blocks = calloc((size_t)c->n_encoder_layers + 1, sizeof *w->encoder_blocks);
    w->experts = calloc(n + 1, sizeof *w->experts);
    if (!w->blocks || !w->encoder_blocks || !w->experts) return -1;
    n = 0;
    for (int32_t l = 0; l < c->n_layers; l++) {
        w->blocks[l].experts.each = w->experts + n;
        n += gf_layer_sparse(c, l) ? each : 0;
    }
    return 0;
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
