/* experts.c - a mixture of experts: a router chooses k of the feed-forward layers for each token.
 *
 *   p = softmax(router x);  y = sum over the k largest p_e of w_e expert_e(x)
 *   w_e = p_e, or with norm_expert_weights p_e / (sum of these k)
 *
 * Ties go to the expert with the lower index. Every expert runs once, over the rows that chose it. A row
 * adds its experts in the order of their numbers, so that its bits do not depend on the other rows. A shared expert is
 * the last one: every row chooses it, with the weight sigmoid(gate x).
 *
 * Sources: Shazeer et al. 2017; Jiang et al. 2024 (Mixtral); Qwen3 2025; shared experts, Dai et al. 2024 (DeepSeekMoE),
 * with a gate Yang et al. 2024 (Qwen2-MoE). */
#include "model/layers/experts.h"
#include "kernels/kernels.h"  /* gf_axpy, gf_scale, gf_softmax, gf_tanh */
#include "model/config.h"     /* gf_expert_width, gf_ffn_gated, gf_shared_experts */
#include "model/layers/ffn.h" /* gf_ffn_activate */
#include "model/layers/linear.h"
#include <string.h>

/* chosen [k] = the numbers of the k largest of p [n], the largest first. NaN is larger than nothing. */
static void choose(float *chosen, const float *p, int32_t n, int32_t k) {
    for (int32_t j = 0; j < k; j++) {
        int32_t best = -1;
        for (int32_t e = 0; e < n; e++) {
            int taken = 0;
            for (int32_t i = 0; i < j && !taken; i++) taken = chosen[i] == (float)e;
            if (!taken && (best < 0 || p[e] > p[best])) best = e;
        }
        chosen[j] = (float)best;
    }
}

/* b->routed, chosen and expert_weights of the rows of x. */
static void route(const struct gf_pass *p, const struct gf_experts *w, const struct gf_bufs *b, const float *x) {
    const struct gf_config *c = p->cfg;
    const int32_t n = p->n, all = c->n_experts, k = c->n_experts_used, shared = gf_shared_experts(c), ld = all + shared;
    gf_linear_forward(p, &w->router, b->routed, x, n);
    gf_tap(p, GF_P_ROUTER, b->routed, ld, all);
    if (shared) gf_tap(p, GF_P_SHARED_GATE, b->routed + all, ld, 1);
    for (int64_t i = 0; i < n; i++) gf_softmax(b->routed + i * ld, b->routed + i * ld, all);
    gf_tap(p, GF_P_EXPERT_WEIGHTS, b->routed, ld, all);
    for (int64_t i = 0; i < n; i++) {
        const float *probs = b->routed + i * ld;
        float *chosen = b->chosen + i * (k + shared), *weights = b->expert_weights + i * (k + shared), sum = 0;
        choose(chosen, probs, all, k);
        if (shared) { /* sigmoid(x) = (1 + tanh(x / 2)) / 2 */
            chosen[k] = (float)all;
            weights[k] = 0.5f * probs[all];
            gf_tanh(weights + k, weights + k, 1);
            weights[k] = 0.5f * (1 + weights[k]);
        }
        for (int32_t j = 0; j < k; j++) weights[j] = probs[(int32_t)chosen[j]], sum += weights[j];
        for (int32_t j = 0; c->norm_expert_weights && sum != 0 && j < k; j++) weights[j] /= sum;
    }
    gf_tap(p, GF_P_EXPERT_CHOICE, b->chosen, k + shared, k);
    gf_mark(p, GF_OP_ROUTER);
}

/* The next row from `from` on that chose expert e; n: there is none. *choice: its place in [n, k]. */
static int32_t next_row(const struct gf_pass *p, const struct gf_bufs *b, int32_t e, int32_t from, int64_t *choice) {
    const int32_t k = p->cfg->n_experts_used + gf_shared_experts(p->cfg);
    for (; from < p->n; from++)
        for (*choice = (int64_t)from * k; *choice < (int64_t)(from + 1) * k; ++*choice)
            if (b->chosen[*choice] == (float)e) return from;
    return from;
}

void gf_experts_forward(const struct gf_pass *p, const struct gf_experts *w, const struct gf_bufs *b, const float *x) {
    const struct gf_config *c = p->cfg;
    const int32_t n = p->n, d = c->d_model, gated = gf_ffn_gated(c);
    route(p, w, b, x);
    float *sum = b->sub[GF_FEED_FORWARD].out;
    memset(sum, 0, (size_t)n * (size_t)d * sizeof *sum);
    float *in = b->expert_in, *out = b->expert_out, *pre = b->ffn_pre, *post = b->ffn_post;
    int64_t choice = 0;
    for (int32_t e = 0; e < c->n_experts + gf_shared_experts(c); e++) {
        const int32_t width = gf_expert_width(c, e);
        int32_t m = 0;
        for (int32_t i = 0; (i = next_row(p, b, e, i, &choice)) < n; i++, m++)
            memcpy(in + (int64_t)m * d, x + (int64_t)i * d, (size_t)d * sizeof *x);
        if (!m) continue;
        gf_linear_forward(p, &w->each[e].up, pre, in, m);
        gf_ffn_activate(p, post, pre, m, width);
        gf_linear_forward(p, &w->each[e].down, out, post, m);
        const float *y = out;
        for (int32_t i = 0; (i = next_row(p, b, e, i, &choice)) < n; i++, y += d)
            gf_axpy(sum + (int64_t)i * d, y, b->expert_weights[choice], d);
        if (!GF_TRAINS(p)) continue;
        in += (int64_t)m * d, out += (int64_t)m * d;
        pre += ((int64_t)m * width) << gated, post += (int64_t)m * width;
    }
    gf_mark(p, GF_OP_EXPERTS);
}

/* g->routed = the gradient of the router's logits, from that of the expert_weights. */
static void route_backward(const struct gf_pass *p, const struct gf_bufs *b, struct gf_back *g) {
    const struct gf_config *c = p->cfg;
    const int32_t all = c->n_experts, k = c->n_experts_used, shared = gf_shared_experts(c);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t row = i * (all + shared), place = i * (k + shared);
        const float *probs = b->routed + row, *chosen = b->chosen + place, *weights = b->expert_weights + place;
        float *dlogits = g->routed + row, *dweights = g->expert_weights + place, sum = 0, mean = 0, dot = 0;
        for (int32_t j = 0; j < k; j++) {
            sum += probs[(int32_t)chosen[j]];
            mean += dweights[j] * weights[j];
        }
        if (c->norm_expert_weights)
            for (int32_t j = 0; j < k; j++) dweights[j] = sum != 0 ? (dweights[j] - mean) / sum : 0;
        for (int32_t j = 0; j < k; j++) dot += dweights[j] * probs[(int32_t)chosen[j]];
        for (int32_t e = 0; e < all; e++) dlogits[e] = -probs[e] * dot;
        for (int32_t j = 0; j < k; j++) dlogits[(int32_t)chosen[j]] += probs[(int32_t)chosen[j]] * dweights[j];
        if (shared) dlogits[all] = dweights[k] * weights[k] * (1 - weights[k]);
    }
}

void gf_experts_backward(const struct gf_pass *p, const struct gf_experts *w, struct gf_experts *dw,
                         const struct gf_bufs *b, struct gf_back *g, const float *dout, const float *x) {
    const struct gf_config *c = p->cfg;
    const int32_t n = p->n, d = c->d_model, gated = gf_ffn_gated(c);
    const float *x_of = b->expert_in, *y_of = b->expert_out, *pre = b->ffn_pre, *post = b->ffn_post;
    memset(g->in, 0, (size_t)n * (size_t)d * sizeof *g->in);
    int64_t choice = 0;
    for (int32_t e = 0; e < c->n_experts + gf_shared_experts(c); e++) {
        const int32_t width = gf_expert_width(c, e);
        const float *out = y_of;
        int32_t m = 0;
        for (int32_t i = 0; (i = next_row(p, b, e, i, &choice)) < n; i++, m++, out += d) {
            const float *dy = dout + (int64_t)i * d;
            float dot = 0;
            for (int32_t j = 0; j < d; j++) dot += dy[j] * out[j];
            g->expert_weights[choice] = dot;
            gf_scale(g->expert_out + (int64_t)m * d, dy, b->expert_weights[choice], d);
        }
        if (!m) continue;
        gf_linear_backward(p, &w->each[e].down, &dw->each[e].down, g->ffn_post, 0, g->expert_out, post, m);
        gf_ffn_activate_backward(p, g->ffn_pre, g->ffn_post, pre, m, width);
        gf_linear_backward(p, &w->each[e].up, &dw->each[e].up, g->expert_in, 0, g->ffn_pre, x_of, m);
        const float *in = g->expert_in;
        for (int32_t i = 0; (i = next_row(p, b, e, i, &choice)) < n; i++, in += d)
            gf_add(g->in + (int64_t)i * d, g->in + (int64_t)i * d, in, d);
        x_of += (int64_t)m * d, y_of += (int64_t)m * d;
        pre += ((int64_t)m * width) << gated, post += (int64_t)m * width;
    }
    route_backward(p, b, g);
    gf_linear_backward(p, &w->router, &dw->router, g->in, 1, g->routed, x, n);
}
