/* golden.c - see golden.h; the layout of the files is in tests/golden/make_golden.py. */
#include "golden.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const golden_names[N_GOLDEN] = {"modern_untied_gqa",
                                            "modern_tied",
                                            "rope_adjacent_mqa",
                                            "rope_llama3",
                                            "qk_norm",
                                            "sliding_window",
                                            "swiglu_biases",
                                            "qkv_bias",
                                            "gpt2",
                                            "plain_gpt",
                                            "tiny_block",
                                            "classic_post_norm",
                                            "post_norm_bare",
                                            "attention_only",
                                            "rotary_kv_heads",
                                            "encoder_decoder_2017",
                                            "encoder_decoder_modern",
                                            "encoder_decoder_learned",
                                            "encoder_decoder_attention",
                                            "encoder_decoder_heads",
                                            "encoder_learned",
                                            "encoder_post_norm",
                                            "q8_0",
                                            "q4_0",
                                            "q4_1"};

#define NAME(id, name, axes)     name,
#define FIELD_NAME(t, name, ...) #name,
static const char *const point_names[] = {GF_POINTS(NAME)};
static const char *const field_names[] = {GF_CONFIG_FIELDS(FIELD_NAME)};

const char *point_name(int32_t point) { return point_names[point] + (*point_names[point] == '@'); }

int32_t point_by_name(const char *name) {
    for (int32_t i = 0; i < GF_N_POINTS; i++)
        if (!strcmp(point_name(i), name)) return i;
    return -1;
}

uint64_t test_random(uint64_t *state) {
    *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
    return *state * 2685821657736338717u;
}

static int32_t below(uint64_t *state, int32_t n) { return (int32_t)(test_random(state) >> 33) % n; }

struct gf_config test_config(uint64_t *state) {
#define ANY(n) below(state, n)
    struct gf_config c;
    gf_config_default(&c);
    c.vocab_size = 1 + ANY(90), c.d_model = 1 + ANY(40), c.n_layers = 1 + ANY(3);
    c.d_ff = 1 + ANY(70), c.context_length = 90;
    c.kind = ANY(3);
    c.n_encoder_layers = c.kind == GF_ENCODER_DECODER ? 1 + ANY(3) : 0;
    c.n_kv_heads = 1 + ANY(3), c.n_heads = c.n_kv_heads * (1 + ANY(3));
    c.norm = c.final_norm_kind = ANY(2), c.norm_placement = ANY(2), c.final_norm = ANY(2), c.qk_norm = ANY(2);
    c.ffn = ANY(4), c.position = ANY(4), c.rope_pairs = ANY(2), c.rope_scaling = ANY(3);
    if (!ANY(6)) c.norm = GF_NO_NORM, c.norm_placement = GF_PRE_NORM, c.final_norm = 0;
    if (!ANY(6)) c.ffn = GF_NO_FFN, c.d_ff = 0;
    c.d_head = 1 + ANY(13), c.rotary_kv_heads = ANY(2);
    if (c.position == GF_POS_ROPE) c.d_head += c.d_head % 2;
    if (c.kind == GF_ENCODER_DECODER && c.n_kv_heads == c.n_heads && !c.qk_norm && c.position != GF_POS_ROPE)
        c.n_encoder_heads = (int32_t[]){0, 1, c.d_head, c.n_heads * c.d_head}[ANY(4)];
    c.rope_factor = 2;
    c.bias_qkv = ANY(2), c.bias_attn_out = ANY(2), c.bias_ffn = ANY(2);
    c.bias_norm = ANY(2), c.bias_head = c.kind == GF_ENCODER ? 0 : ANY(2);
    c.tie_word_embeddings = ANY(2), c.sliding_window = ANY(2) * (1 + ANY(20));
    c.shared_embedding = c.kind == GF_ENCODER_DECODER ? ANY(2) : 1;
    c.causal = c.kind != GF_ENCODER, c.rope_original_context = 8192;
    if (c.kind == GF_DECODER && c.ffn != GF_NO_FFN && !c.bias_ffn && ANY(2)) {
        c.n_experts = 1 + ANY(5), c.n_experts_used = 1 + ANY(c.n_experts), c.d_expert = 1 + ANY(70);
        c.norm_expert_weights = ANY(2), c.d_shared_expert = ANY(2) * (1 + ANY(40));
        c.expert_layers.n = 2, c.expert_layers.at[ANY(2)] = 1;
    }
    return c;
#undef ANY
}

double max_diff(const float *a, const float *b, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        if (a[i] == b[i]) continue; /* equal infinities too */
        double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= most)) most = isnan(d) ? INFINITY : d;
    }
    return most;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void stop(const char *path, const char *why) {
    printf("%s: %s\n", path, why);
    exit(1);
}

struct reader {
    const char *path;
    const uint8_t *at, *end;
};

static const void *take(struct reader *r, size_t n) {
    if (n > (size_t)(r->end - r->at)) stop(r->path, "ends early");
    const void *p = r->at;
    r->at += n;
    return p;
}

static int32_t number(struct reader *r) {
    int32_t v;
    memcpy(&v, take(r, 4), 4);
    return v;
}

static void text(struct reader *r, char out[64]) {
    size_t n = *(const uint8_t *)take(r, 1);
    if (n > 63) stop(r->path, "a name is too long");
    memcpy(out, take(r, n), n);
    out[n] = 0;
}

/* n values of 4 bytes, aligned: copied. */
static void *words(struct reader *r, int64_t n) {
    void *p = malloc((size_t)n * 4 + 4);
    if (!p) stop(r->path, "no memory");
    memcpy(p, take(r, (size_t)n * 4), (size_t)n * 4);
    return p;
}

static void *list(struct reader *r, int32_t n, size_t size) {
    void *p = calloc((size_t)n + 1, size);
    if (!p) stop(r->path, "no memory");
    return p;
}

static void fields(struct reader *r, struct gf_config *cfg) {
    for (int32_t left = number(r); left > 0; left--) {
        char name[64];
        double value;
        struct gf_error err;
        int32_t i = 0, n = sizeof field_names / sizeof *field_names;
        text(r, name);
        memcpy(&value, take(r, 8), 8);
        while (i < n && strcmp(field_names[i], name)) i++;
        if (gf_config_set(cfg, i, value, &err) != GF_OK) stop(r->path, err.text);
    }
}

static void read_point(struct reader *r, struct golden_point *p) {
    text(r, p->name);
    p->stack = number(r);
    p->layer = number(r);
    p->point = point_by_name(p->name);
    for (int i = 0; i < 3; i++) p->dims[i] = number(r);
    p->data = words(r, (int64_t)p->dims[0] * p->dims[1] * p->dims[2]);
}

static void read_edit(struct reader *r, struct golden_edit *e, int64_t output) {
    text(r, e->name);
    e->stack = number(r);
    e->layer = number(r);
    e->point = point_by_name(e->name);
    e->head = number(r);
    e->position = number(r);
    e->op = number(r);
    memcpy(&e->scale, take(r, 4), 4);
    e->n_values = number(r);
    e->values = words(r, e->n_values);
    e->output = words(r, output);
}

static void read_run(struct reader *r, struct golden_run *run, const struct gf_config *cfg) {
    text(r, run->name);
    run->cfg = *cfg;
    fields(r, &run->cfg);
    run->n = number(r);
    run->ids = words(r, run->n);
    run->n_source = number(r);
    run->source = words(r, run->n_source);
    run->n_mask = number(r);
    if (run->n_mask) run->mask = take(r, (size_t)run->n_mask);
    run->full = number(r);
    memcpy(&run->tolerance, take(r, 4), 4);
    run->rows = number(r);
    run->cols = number(r);
    const int64_t output = (int64_t)run->rows * run->cols;
    run->output = words(r, output);
    run->n_points = number(r);
    run->points = list(r, run->n_points, sizeof *run->points);
    for (int32_t i = 0; i < run->n_points; i++) read_point(r, &run->points[i]);
    run->n_decoys = number(r);
    run->decoys = list(r, run->n_decoys, sizeof *run->decoys);
    for (int32_t i = 0; i < run->n_decoys; i++) {
        text(r, run->decoys[i].name);
        run->decoys[i].output = words(r, output);
    }
    run->n_edits = number(r);
    run->edits = list(r, run->n_edits, sizeof *run->edits);
    for (int32_t i = 0; i < run->n_edits; i++) read_edit(r, &run->edits[i], output);
}

void golden_open(struct golden *g, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "tests/golden/models/%s.gold", name);
    FILE *f = fopen(path, "rb");
    if (!f) stop(path, "cannot be opened (tests run in the project's root)");
    memset(g, 0, sizeof *g);
    size_t n = 0, room = 1 << 20;
    uint8_t *bytes = g->memory = malloc(room);
    if (bytes) n = fread(bytes, 1, room, f);
    fclose(f);
    if (n < 8 || n == room) stop(path, "has a strange size");
    struct reader r = {path, bytes, bytes + n};
    if (memcmp(take(&r, 8), "GFGOLD1\n", 8)) stop(path, "is no golden file");
    text(&r, g->name);
    gf_config_default(&g->cfg); /* then DEFAULTS of make_golden.py, where they differ */
    g->cfg.norm_eps = 1e-5f, g->cfg.rope_original_context = 8192, g->cfg.bias_norm = 1;
    fields(&r, &g->cfg);
    g->cfg.causal = g->cfg.kind != GF_ENCODER;
    g->cfg.final_norm_kind = g->cfg.norm == GF_LAYERNORM ? GF_LAYERNORM : GF_RMSNORM;
    g->n_weights = number(&r);
    g->weights = list(&r, g->n_weights, sizeof *g->weights);
    for (int32_t i = 0; i < g->n_weights; i++) {
        struct golden_weight *w = &g->weights[i];
        text(&r, w->name);
        w->rank = number(&r);
        w->rows = number(&r);
        w->cols = number(&r);
        w->data = words(&r, (int64_t)w->rows * w->cols);
    }
    g->n_runs = number(&r);
    g->runs = list(&r, g->n_runs, sizeof *g->runs);
    for (int32_t i = 0; i < g->n_runs; i++) read_run(&r, &g->runs[i], &g->cfg);
    if (r.at != r.end) stop(path, "goes on after its end");
}

static void drop(const void *p) { free((void *)(uintptr_t)p); }

void golden_close(struct golden *g) {
    for (int32_t i = 0; i < g->n_weights; i++) drop(g->weights[i].data);
    for (int32_t i = 0; i < g->n_runs; i++) {
        struct golden_run *r = &g->runs[i];
        for (int32_t k = 0; k < r->n_points; k++) drop(r->points[k].data);
        for (int32_t k = 0; k < r->n_decoys; k++) drop(r->decoys[k].output);
        for (int32_t k = 0; k < r->n_edits; k++) drop(r->edits[k].values), drop(r->edits[k].output);
        drop(r->ids), drop(r->source), drop(r->output);
        free(r->points), free(r->decoys), free(r->edits);
    }
    free(g->weights), free(g->runs), free(g->memory);
    memset(g, 0, sizeof *g);
}

/* ---- loading the weights ----------------------------------------------------------------------------------------- */

static int ends(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n >= m && !strcmp(name + n - m, end);
}

/* The weight for roster entry i. */
static const struct golden_weight *weight_for(const struct golden *g, const struct gf_tensor *t,
                                              const struct feeding *how) {
    char name[64];
    snprintf(name, sizeof name, "%s", t->name);
    for (int k = 0; how->a && k < 2; k++) {
        const char *from = k ? how->b : how->a, *to = k ? how->a : how->b;
        if (!ends(t->name, from)) continue;
        snprintf(name, sizeof name, "%.*s%s", (int)(strlen(t->name) - strlen(from)), t->name, to);
        break;
    }
    for (int32_t i = 0; i < g->n_weights; i++)
        if (!strcmp(g->weights[i].name, name)) return &g->weights[i];
    return NULL;
}

/* Load roster entries first ... first + n - 1 as one tensor. */
static int32_t feed(struct gf_model *m, const struct golden *g, const struct feeding *how, int32_t first, int32_t n,
                    uint64_t *random, struct gf_error *err) {
    const int32_t dtype = how->file_dtype, block = gf_dtype_block_bytes(dtype), per = gf_dtype_block_cols(dtype);
    int32_t rows = 0, cols = 0, rank = 0;
    struct gf_tensor t;
    for (int32_t i = first; i < first + n; i++) {
        gf_model_tensor(m, i, &t);
        rank = t.rank;
        rows = rank == 1 ? 1 : rows + t.rows;
        cols = rank == 1 ? cols + t.cols : t.cols;
    }
    const int64_t count = (int64_t)rows * cols;
    float *x = malloc((size_t)count * 8), *transposed = x + count, *to = x;
    uint8_t *bytes = malloc((size_t)(count / per) * (size_t)block + 1);
    int32_t status = x && bytes ? GF_OK : GF_ERR_MEMORY;
    for (int32_t i = first; i < first + n && status == GF_OK; i++) {
        gf_model_tensor(m, i, &t);
        const struct golden_weight *w = weight_for(g, &t, how);
        if (!w) {
            status = gf_fail(err, GF_ERR_MISSING, "no golden weight for %s", t.name);
            break;
        }
        memcpy(to, w->data, (size_t)t.count * sizeof *to);
        if (how->zero_head && t.layer == 0 && ends(t.name, ".attn.o.weight"))
            for (int32_t r = 0; r < t.rows; r++)
                memset(to + (int64_t)r * t.cols + (how->zero_head - 1) * g->cfg.d_head, 0,
                       (size_t)g->cfg.d_head * sizeof *to);
        to += t.count;
    }
    const int transpose = rank == 2 && (how->transposed || how->claim_transposed);
    if (transpose && !how->claim_transposed) {
        for (int32_t r = 0; r < rows; r++)
            for (int32_t c = 0; c < cols; c++) transposed[(int64_t)c * rows + r] = x[(int64_t)r * cols + c];
        memcpy(x, transposed, (size_t)count * sizeof *x);
    }
    if (status == GF_OK) {
        gf_quantize(bytes, x, dtype, count);
        status = gf_tensor_begin(m, first, n, dtype, transpose, err);
    }
    for (int64_t at = 0, blocks = count / per; at < blocks && status == GF_OK;) {
        int64_t piece = (int64_t)(test_random(random) % 97); /* sometimes an empty one */
        if (piece > blocks - at) piece = blocks - at;
        status = gf_tensor_write(m, bytes + at * block, (uint32_t)(piece * block), err);
        at += piece;
    }
    if (status == GF_OK) status = gf_tensor_end(m, err);
    free(x);
    free(bytes);
    return status;
}

struct gf_model *golden_model(const struct golden *g, const struct gf_config *cfg, const struct feeding *how,
                              struct gf_error *err) {
    static const struct feeding plain = {.file_dtype = GF_F32};
    if (!how) how = &plain;
    uint64_t random = how->seed + 88172645463325252u;
    struct gf_model *m = gf_model_open(cfg, how->dtypes, err);
    if (!m) return NULL;
    const int32_t n = gf_roster_count(cfg);
    int32_t status = GF_OK;
    for (int32_t i = 0, run; i < n && status == GF_OK; i += run) {
        struct gf_tensor t;
        gf_model_tensor(m, i, &t);
        run = how->stacked && (ends(t.name, ".q.weight") || ends(t.name, ".q.bias")) ? 3 : 1;
        if (t.tied_to < 0) status = feed(m, g, how, i, run, &random, err);
    }
    if (status == GF_OK) status = gf_model_seal(m, err);
    if (status == GF_OK) return m;
    gf_model_close(m);
    return NULL;
}

const float *golden_eval(struct gf_session *s, const struct golden_run *r, struct gf_error *err) {
    if (r->n_source && gf_session_encode(s, r->source, NULL, r->mask, r->n_source, err) != GF_OK) return NULL;
    if (r->n) {
        if (gf_session_eval(s, r->ids, r->n, err) != GF_OK) return NULL;
        return gf_session_logits(s, 0, r->n, err);
    }
    int32_t n;
    return gf_session_hidden(s, GF_STACK_ENCODER, &n);
}

int32_t golden_output(const struct gf_model *m, const struct golden_run *r, float *out, struct gf_error *err) {
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, err);
    if (!s) return err->status;
    const float *y = golden_eval(s, r, err);
    if (y) memcpy(out, y, (size_t)r->rows * (size_t)r->cols * sizeof *out);
    gf_session_close(s);
    return y ? GF_OK : err->status;
}

const uint8_t *all_kept_as(int dtype) {
    static uint8_t dtypes[256];
    memset(dtypes, dtype, sizeof dtypes);
    return dtypes;
}
const uint8_t *golden_dtypes(const struct golden *g) {
    return all_kept_as(!strcmp(g->name, "q8_0")   ? GF_Q8_0
                       : !strcmp(g->name, "q4_0") ? GF_Q4_0
                       : !strcmp(g->name, "q4_1") ? GF_Q4_1
                                                  : GF_F32);
}
