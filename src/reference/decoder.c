/* decoder.c - a whole decoder-only transformer as in the papers, from token ids to the next token. Read it first.
 *
 *   x = E[id] + P[position]                                        embed
 *   in each block:   a = norm(x)                                   norm1
 *                    q, k, v = a Wq, a Wk, a Wv; q, k rotated      qkv
 *                    z = softmax(mask(q k^T / sqrt(d_head))) v     heads
 *                    x = x + z Wo                                  out
 *                    a = norm(x)                                   norm2
 *                    y = FFN(a)                                    ffn
 *                    x = x + y                                     resid
 *   logits = norm(x) E^T                                           final, head
 *   the next token is drawn from softmax(logits / temperature)     sample
 *
 * Plain loops and sums in double: nothing is cached, vectorised, shared among threads or observed. The engine computes
 * the same fast; CONTRIBUTING.md names its file for each stage, and the tests compare the numbers of both.
 *
 * A comment that begins with [stage: NAME ...] opens a stage of the page; it ends where the next one opens, the last at
 * the rule. Arrays are row-major. n is the number of tokens; d_model, n_heads, ... are fields of struct gf_config
 * (src/glassformer.h). */
#include "kernels/kernels.h" /* gf_mat_get_row, enum gf_rope_pairs */
#include "model/config.h"    /* struct gf_config, gf_q_width, gf_rotary_dim, gf_ffn_gated, ... */
#include "model/weights.h"   /* struct gf_weights */
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The values of one pass over n tokens; each array has a row for each token. */
struct pass {
    const struct gf_config *c;
    int64_t n, width; /* width: of a row of qkv */
    double *x;        /* [n, d_model] the residual stream */
    double *a;        /* [n, d_model] the normalised stream: what sublayers and head read */
    double *y;        /* [n, d_model] what a sublayer adds to the stream */
    double *qkv;      /* [n, (n_heads + 2 n_kv_heads) d_head] queries of all heads | keys | values */
    double *z;        /* [n, n_heads d_head] the mixed values, head beside head */
    double *hidden;   /* [n, d_ff]; with a gate [n, 2 d_ff], gate | up */
    double *pattern;  /* [n] of one query: its scores, then their softmax */
    float *row;       /* one row of a weight matrix */
};

/* y = x W^T + b, that is y_i = sum_j W_ij x_j + b_i.   x [n, cols]   W [rows, cols]   b [rows] or none   y [n, rows]
 * W can be stored in parts of several types; the rows of the parts follow each other. */
static void linear(const struct pass *p, double *y, int64_t rows, const double *x, const struct gf_linear *l) {
    int64_t i = 0;
    for (const struct gf_mat *w = &l->w; w; w = w->next)
        for (int32_t r = 0; r < w->rows; r++, i++) {
            gf_mat_get_row(p->row, w, r);
            for (int64_t t = 0; t < p->n; t++) {
                double sum = l->b ? (double)l->b[i] : 0;
                for (int64_t j = 0; j < w->cols; j++) sum += (double)p->row[j] * x[t * w->cols + j];
                y[t * rows + i] = sum;
            }
        }
}

/* x = x + y: what a sublayer computes is added to the residual stream. He et al. 2015 */
static void add(const struct pass *p) {
    for (int64_t i = 0; i < p->n * p->c->d_model; i++) p->x[i] += p->y[i];
}

/* [stage: embed] x = E[id] + P[position]: a row of the embedding for each token and, with learned positions, a row for
 * its place in the text.   ids [n], E [vocab_size, d_model], P [context_length, d_model] -> x [n, d_model]
 * Vaswani et al. 2017, section 3.4; learned positions: Radford et al. 2018 */
static void embed(const struct pass *p, const struct gf_weights *w, const int32_t *ids) {
    const int64_t d = p->c->d_model;
    for (int64_t t = 0; t < p->n; t++) {
        gf_mat_get_row(p->row, &w->embed, ids[t]);
        for (int64_t i = 0; i < d; i++)
            p->x[t * d + i] = (double)p->row[i] + (w->position ? (double)w->position[t * d + i] : 0);
    }
}

/* [stage: norm1 norm2 final] Each vector is rescaled to a standard size, then each component is multiplied by its gain.
 *   LayerNorm   a = (x - mean) / sqrt(variance + eps) * gain + bias     Ba, Kiros, Hinton 2016
 *   RMSNorm     a = x / sqrt(mean(x^2) + eps) * gain                    Zhang, Sennrich 2019
 * Before each sublayer (pre-norm: Radford et al. 2019, Xiong et al. 2020) and after the last block.
 * x [n, d_model] -> a [n, d_model] */
static void normalise(const struct pass *p, const struct gf_norm *w) {
    const int64_t d = p->c->d_model;
    for (int64_t t = 0; t < p->n; t++) {
        const double *x = p->x + t * d;
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < d && p->c->norm == GF_LAYERNORM; i++) mean += x[i] / (double)d;
        for (int64_t i = 0; i < d; i++) variance += (x[i] - mean) * (x[i] - mean) / (double)d;
        const double size = sqrt(variance + (double)p->c->norm_eps);
        for (int64_t i = 0; i < d; i++)
            p->a[t * d + i] = (x[i] - mean) / size * (double)w->gain[i] + (w->bias ? (double)w->bias[i] : 0);
    }
}

/* [stage: qkv] q = a Wq, k = a Wk, v = a Wv, each with a bias if there is one; the matrices lie one below the other.
 * Where n_kv_heads < n_heads, groups of heads share keys and values (Ainslie et al. 2023).
 * a [n, d_model] -> q [n, n_heads, d_head], k and v [n, n_kv_heads, d_head]   Vaswani et al. 2017, section 3.2.2
 *
 * Rotary positions (Su et al. 2021) turn pair j of each head of q and k by the angle t theta^(-2j / d), where t is the
 * position and d the number of components that turn. q . k then depends on the distance of two positions alone. The
 * pair is (j, j + d/2), or (2j, 2j + 1) where rope_pairs is adjacent. */
static void project_qkv(const struct pass *p, const struct gf_attn *w) {
    const struct gf_config *c = p->c;
    const int32_t d = gf_rotary_dim(c), adjacent = c->rope_pairs == GF_ROPE_ADJACENT;
    linear(p, p->qkv, p->width, p->a, &w->in);
    for (int64_t t = 0; t < p->n && c->position == GF_POS_ROPE; t++)
        for (int64_t head = 0; head < c->n_heads + c->n_kv_heads; head++)
            for (int32_t j = 0; j < d / 2; j++) {
                double *pair = p->qkv + t * p->width + head * c->d_head + (adjacent ? 2 * j : j);
                double *other = pair + (adjacent ? 1 : d / 2);
                const double angle = (double)t * pow((double)c->rope_theta, -2.0 * j / d), x = *pair, y = *other;
                *pair = x * cos(angle) - y * sin(angle);
                *other = x * sin(angle) + y * cos(angle);
            }
}

/* [stage: heads] z = softmax(mask(q k^T / sqrt(d_head))) v, in each head by itself. The mask is causal: the query at t
 * sees the keys at 0 .. t only, so its row of scores ends there.   Vaswani et al. 2017, section 3.2.1
 * q [n, n_heads, d_head], k, v -> scores and pattern [n_heads, n, n] -> z [n, n_heads, d_head] */
static void attend(const struct pass *p) {
    const int64_t d = p->c->d_head, heads = p->c->n_heads, kv_heads = p->c->n_kv_heads;
    for (int64_t t = 0; t < p->n; t++)
        for (int64_t h = 0; h < heads; h++) {
            const double *q = p->qkv + t * p->width + h * d;
            const double *k = p->qkv + (heads + h * kv_heads / heads) * d, *v = k + kv_heads * d;
            double *z = p->z + (t * heads + h) * d, largest = -INFINITY, sum = 0;
            for (int64_t s = 0; s <= t; s++) { /* scores = q k^T / sqrt(d_head) */
                double score = 0;
                for (int64_t i = 0; i < d; i++) score += q[i] * k[s * p->width + i];
                p->pattern[s] = score / sqrt((double)d);
                largest = fmax(largest, p->pattern[s]);
            }
            for (int64_t s = 0; s <= t; s++) sum += p->pattern[s] = exp(p->pattern[s] - largest); /* softmax */
            for (int64_t s = 0; s <= t; s++) p->pattern[s] /= sum;
            for (int64_t i = 0; i < d; i++) { /* z = pattern v */
                z[i] = 0;
                for (int64_t s = 0; s <= t; s++) z[i] += p->pattern[s] * v[s * p->width + i];
            }
        }
}

/* [stage: out] x = x + z Wo: the heads are joined, projected and added to the stream.
 * z [n, n_heads d_head] -> y [n, d_model], x [n, d_model]   Vaswani et al. 2017, section 3.2.2 */
static void project_out(const struct pass *p, const struct gf_attn *w) {
    linear(p, p->y, p->c->d_model, p->z, &w->o);
    add(p);
}

/* [stage: ffn] The feed-forward layer, at each position by itself.   a [n, d_model] -> [n, d_ff] -> y [n, d_model]
 *   y = act(a Wup) Wdown                  Vaswani et al. 2017, section 3.3
 *   y = (act(a Wgate) * a Wup) Wdown      Shazeer 2020: SwiGLU with silu, GEGLU with a GELU, ReGLU with relu
 * Both GELUs, and silu: Hendrycks, Gimpel 2016. 0.7978... is sqrt(2 / pi). NaN: an activation that is not here. */
static double activate(int32_t activation, double x) {
    switch (activation) {
    case GF_RELU: return fmax(x, 0);
    case GF_RELU2: return fmax(x, 0) * fmax(x, 0);
    case GF_GELU_ERF: return x * 0.5 * (1 + erf(x / sqrt(2)));
    case GF_GELU_TANH: return x * 0.5 * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case GF_SILU: return x / (1 + exp(-x));
    case GF_QUICK_GELU: return x / (1 + exp(-1.702 * x));
    case GF_MISH: return x * tanh(log1p(exp(x)));
    case GF_TANH: return tanh(x);
    }
    return NAN;
}

static void feed_forward(const struct pass *p, const struct gf_ffn *w) {
    const int64_t d_ff = p->c->d_ff, gated = gf_ffn_gated(p->c), width = gated ? 2 * d_ff : d_ff;
    linear(p, p->hidden, width, p->a, &w->up);
    for (int64_t i = 0; i < p->n * d_ff; i++) { /* in place: a row becomes shorter by its gate */
        const double *pre = p->hidden + i / d_ff * width + i % d_ff;
        p->hidden[i] = activate(gf_ffn_activation(p->c), *pre) * (gated ? pre[d_ff] : 1);
    }
    linear(p, p->y, p->c->d_model, p->hidden, &w->down);
}

/* [stage: resid] x = x + y ends a block: the stream that the next one reads.   x [n, d_model] -> x [n, d_model] */
static void block(const struct pass *p, const struct gf_block *w) {
    normalise(p, &w->norm[GF_SELF_ATTENTION]);
    project_qkv(p, &w->attn);
    attend(p);
    project_out(p, &w->attn);
    normalise(p, &w->norm[GF_FEED_FORWARD]);
    feed_forward(p, &w->ffn);
    add(p);
}

/* [stage: head] logits = a E^T: a score for each token of the vocabulary as the next one. A tied head is the embedding
 * once more (Press, Wolf 2017); another has a matrix of its own.   a [n, d_model] -> logits [n, vocab_size]
 *
 * This is the whole pass, of a model that gf_reference_covers. Returns GF_OK, or GF_ERR_MEMORY. */
int32_t gf_reference_logits(double *logits, const struct gf_weights *w, const struct gf_config *c, const int32_t *ids,
                            int32_t n) {
    const int64_t d = c->d_model, heads = gf_q_width(c), width = gf_qkv_width(c);
    const int64_t all = n * (3 * d + width + heads + 2 * c->d_ff + 1) + d + heads + c->d_ff;
    struct pass p = {.c = c, .n = n, .width = width, .x = malloc((size_t)all * sizeof(double))};
    if (!p.x) return GF_ERR_MEMORY;
    p.a = p.x + n * d, p.y = p.a + n * d, p.qkv = p.y + n * d, p.z = p.qkv + n * width, p.hidden = p.z + n * heads;
    p.pattern = p.hidden + n * 2 * c->d_ff, p.row = (float *)(void *)(p.pattern + n);
    embed(&p, w, ids);
    for (int32_t layer = 0; layer < c->n_layers; layer++) block(&p, &w->blocks[layer]);
    normalise(&p, &w->final_norm);
    const struct gf_linear head = {c->tie_word_embeddings ? w->embed : w->head.w, w->head.b};
    linear(&p, logits, c->vocab_size, p.a, &head);
    free(p.x);
    return GF_OK;
}

/* [stage: sample] p = the probabilities from which the next token is drawn, given the logits of the last position.
 *   temperature   p = softmax(logits / temperature); 0: the most likely token has it all
 *   top-k         the k most likely tokens stay, and those as likely as the k-th; 0: all          Fan et al. 2018
 *   top-p         of these stay the most likely ones, as few as sum to more than top_p; 1: all    Holtzman et al. 2020
 * logits and p [vocab_size]. Quotients and exponentials are floats, so that the same tokens tie as in the engine. */
static int ranks_before(const double *p, int32_t i, int32_t j) { return p[i] > p[j] || (p[i] == p[j] && i < j); }

void gf_reference_distribution(double *p, const float *logits, int32_t n, float temperature, int32_t top_k,
                               float top_p) {
    double least = 0, sum = 0, kept = 0;
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++) best = logits[i] > logits[best] ? i : best;
    for (int32_t i = 0; i < n; i++)
        p[i] = (double)(temperature > 0 ? (logits[i] - logits[best]) / temperature : i == best ? 0 : -INFINITY);
    for (int32_t i = 0; i < n; i++) { /* the least that stays of top-k */
        int32_t above = 0;
        for (int32_t j = 0; j < n; j++) above += p[j] > p[i];
        if (top_k == 0 || above < top_k) least = fmin(least, p[i]);
    }
    for (int32_t i = 0; i < n; i++) sum += p[i] = p[i] < least ? 0 : (double)(float)exp(p[i]);
    int32_t last = best;
    for (int32_t i = 0; i < n; i++) { /* the last that stays of top-p: those before it do not exceed it */
        double before = 0;
        for (int32_t j = 0; j < n; j++) before += ranks_before(p, j, i) ? p[j] : 0;
        if (before <= (double)top_p * sum && ranks_before(p, last, i)) last = i;
    }
    for (int32_t i = 0; i < n; i++) kept += p[i] = ranks_before(p, last, i) ? 0 : p[i];
    for (int32_t i = 0; i < n; i++) p[i] /= kept;
}

/* The token at the place u, from 0 to 1, of the probabilities laid end to end in the order of their ids. */
int32_t gf_reference_draw(const double *p, int32_t n, double u) {
    int32_t id = 0;
    for (int32_t i = 0; i < n && u >= 0; i++)
        if (p[i] > 0) id = i, u -= p[i];
    return id;
}

/* ---- what this file covers --------------------------------------------------------------------------------------- */

/* The fields of a configuration that the code above reads, directly or through src/model/config.h. */
static const int32_t fields_read[] = {GF_FIELD_vocab_size, GF_FIELD_context_length,
                                      GF_FIELD_d_model,    GF_FIELD_n_layers,
                                      GF_FIELD_n_heads,    GF_FIELD_n_kv_heads,
                                      GF_FIELD_d_head,     GF_FIELD_d_ff,
                                      GF_FIELD_ffn,        GF_FIELD_norm,
                                      GF_FIELD_norm_eps,   GF_FIELD_position,
                                      GF_FIELD_rope_theta, GF_FIELD_rope_pairs,
                                      GF_FIELD_rotary_dim, GF_FIELD_rope_original_context,
                                      GF_FIELD_bias_qkv,   GF_FIELD_bias_attn_out,
                                      GF_FIELD_bias_ffn,   GF_FIELD_bias_norm,
                                      GF_FIELD_bias_head,  GF_FIELD_tie_word_embeddings};

/* GF_OK if this file computes all that a configuration asks for: it has each of norm, activation and kind of position,
 * and the fields that it does not read have their defaults. Otherwise GF_ERR_UNSUPPORTED. */
int32_t gf_reference_covers(const struct gf_config *c) {
    const int has_position = c->position == GF_POS_NONE || c->position == GF_POS_LEARNED || c->position == GF_POS_ROPE;
    const int has_norm = c->norm == GF_LAYERNORM || c->norm == GF_RMSNORM;
    uint8_t given[GF_N_FIELDS] = {0};
    for (size_t i = 0; i < sizeof fields_read / sizeof *fields_read; i++) given[fields_read[i]] = 1;
    struct gf_config plain = *c;
    if (!has_position || !has_norm || isnan(activate(gf_ffn_activation(c), 1))) return GF_ERR_UNSUPPORTED;
    if (gf_config_complete(&plain, given, NULL) != GF_OK) return GF_ERR_UNSUPPORTED;
    return memcmp(&plain, c, sizeof plain) ? GF_ERR_UNSUPPORTED : GF_OK;
}
