/* ffn.c - the position-wise feed-forward layer, all variants.
 *
 *   relu, relu2, gelu, silu, mish, tanh:  y = down( act( up(x) ) )
 *   reglu, geglu, swiglu:                 y = down( act( gate(x) ) * up(x) )
 *
 * Sources: Vaswani 2017 eq. 2; Hendrycks & Gimpel 2016 (both GELUs); Shazeer 2020 (gates);
 * So et al. 2021 (relu2, the square of ReLU); Misra 2019 (mish); quick_gelu is x sigmoid(1.702 x) (CLIP). */
#include "model/layers/ffn.h"
#include "base/pool.h"
#include "kernels/kernels.h"    /* gf_relu, gf_gelu_erf, gf_gelu_tanh, gf_silu_mul */
#include "kernels/train_rows.h" /* gf_silu_mul_wide */
#include "model/config.h"       /* gf_ffn_activation, gf_ffn_gated */
#include "model/layers/linear.h"

enum {
    STEP = 256,   /* values that are computed together */
    ROW_TILE = 8, /* rows that a thread takes at a time */
};
static const float quick = 1.702f;

/* y = tanh(ln(1 + e^x)), the factor of x in mish: with e = e^x it is e (e + 2) / (e (e + 2) + 2), and 1 from x = 20
 * on. */
static void mish_factor(float *y, const float *x, int32_t n) {
    for (int32_t j = 0; j < n; j++) y[j] = x[j] < 20 ? x[j] : 20;
    gf_exp(y, y, n);
    for (int32_t j = 0; j < n; j++) y[j] = y[j] * (y[j] + 2) / (y[j] * (y[j] + 2) + 2);
}

/* y = sigmoid(scale x) = (1 + tanh(scale x / 2)) / 2 */
static void sigmoid(float *y, const float *x, float scale, int32_t n) {
    for (int32_t j = 0; j < n; j++) y[j] = 0.5f * scale * x[j];
    gf_tanh(y, y, n);
    for (int32_t j = 0; j < n; j++) y[j] = 0.5f * (1 + y[j]);
}

/* y = x times a factor that is computed from x: quick_gelu, mish. */
static void times_factor(int32_t activation, float *y, const float *x, int64_t n) {
    float t[STEP];
    for (int64_t i = 0; i < n; i += STEP) {
        const int32_t m = n - i < STEP ? (int32_t)(n - i) : STEP;
        if (activation == GF_MISH)
            mish_factor(t, x + i, m);
        else
            sigmoid(t, x + i, quick, m);
        for (int32_t j = 0; j < m; j++) y[i + j] = x[i + j] * t[j];
    }
}

void gf_activate(int32_t activation, float *y, const float *x, int64_t n) {
    switch (activation) {
    case GF_RELU: gf_relu(y, x, n); break;
    case GF_RELU2:
        for (int64_t i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] * x[i] : 0;
        break;
    case GF_TANH: gf_tanh(y, x, n); break;
    case GF_GELU_ERF: gf_gelu_erf(y, x, n); break;
    case GF_GELU_TANH: gf_gelu_tanh(y, x, n); break;
    case GF_QUICK_GELU:
    case GF_MISH: times_factor(activation, y, x, n); break;
    case GF_SILU: {
        float ones[STEP];
        for (int j = 0; j < STEP; j++) ones[j] = 1;
        for (int64_t i = 0; i < n; i += STEP) gf_silu_mul(y + i, x + i, ones, n - i < STEP ? n - i : STEP);
        break;
    }
    default: break;
    }
}

/* post = act(gate) * up for one row. */
static void activate_gated(const struct gf_pass *p, float *post, const float *gate, const float *up, int32_t n) {
    const int32_t activation = gf_ffn_activation(p->cfg);
    if (activation == GF_SILU && GF_TRAINS(p)) {
        gf_silu_mul_wide(post, gate, up, n);
    } else if (activation == GF_SILU) {
        gf_silu_mul(post, gate, up, n);
    } else {
        gf_activate(activation, post, gate, n);
        for (int32_t j = 0; j < n; j++) post[j] *= up[j];
    }
}

/* The activations of n rows, which threads share. */
struct activation {
    const struct gf_pass *p;
    float *post;
    const float *pre;
    int32_t n, width;
};

static void activate_rows(void *ctx, int32_t tile) {
    const struct activation *a = ctx;
    const int32_t width = a->width, first = tile * ROW_TILE, n = a->n - first < ROW_TILE ? a->n - first : ROW_TILE;
    const int gated = gf_ffn_gated(a->p->cfg);
    const float *pre = a->pre + (int64_t)first * width * (gated ? 2 : 1);
    float *post = a->post + (int64_t)first * width;
    if (!gated) gf_activate(a->p->cfg->ffn, post, pre, (int64_t)n * width);
    for (int32_t i = 0; gated && i < n; i++, pre += 2 * width, post += width)
        activate_gated(a->p, post, pre, pre + width, width);
}

void gf_ffn_activate(const struct gf_pass *p, float *post, const float *pre, int32_t n, int32_t width) {
    struct activation a = {p, post, pre, n, width};
    gf_pool_run(n > 4 * ROW_TILE ? p->pool : NULL, activate_rows, &a, (n + ROW_TILE - 1) / ROW_TILE);
}

void gf_ffn_forward(const struct gf_pass *p, const struct gf_ffn *w, const struct gf_bufs *b, const float *x) {
    float *pre = b->ffn_pre, *post = b->ffn_post;
    const int32_t n = p->n, d_ff = p->cfg->d_ff, gated = gf_ffn_gated(p->cfg), ld = gated ? 2 * d_ff : d_ff;
    gf_linear_forward(p, &w->up, pre, x, n);
    gf_mark(p, GF_OP_FFN_UP);
    gf_tap(p, GF_P_MLP_PRE, pre, ld, d_ff);
    if (gated) gf_tap(p, GF_P_MLP_PRE_LINEAR, pre + d_ff, ld, d_ff);
    gf_ffn_activate(p, post, pre, n, d_ff);
    gf_tap(p, GF_P_MLP_POST, post, d_ff, d_ff);
    gf_mark(p, GF_OP_FFN_ACT);
    gf_linear_forward(p, &w->down, b->sub[GF_FEED_FORWARD].out, post, n);
    gf_mark(p, GF_OP_FFN_DOWN);
}

/* x times a factor t with the derivative t': dx = dy (t + x t'). */
static void times_factor_backward(int32_t activation, float *dx, const float *dy, const float *x, int32_t n) {
    float t[STEP], s[STEP];
    if (activation == GF_MISH) { /* t' = (1 - t^2) sigmoid(x) */
        mish_factor(t, x, n);
        sigmoid(s, x, 1, n);
        for (int32_t j = 0; j < n; j++) dx[j] = dy[j] * (t[j] + x[j] * (1 - t[j] * t[j]) * s[j]);
    } else {
        sigmoid(s, x, quick, n);
        for (int32_t j = 0; j < n; j++) dx[j] = dy[j] * s[j] * (1 + quick * x[j] * (1 - s[j]));
    }
}

void gf_activate_backward(int32_t activation, float *dx, const float *dy, const float *x, int64_t n) {
    const float root_2 = 0.70710678118654752440f, to_phi = 0.39894228040143267794f; /* 1/sqrt(2 pi) */
    const float k = 0.79788456080286535588f, cubic = 0.044715f;                     /* sqrt(2/pi) */
    float t[STEP], e[STEP];
    for (int64_t i = 0; i < n; i += STEP, dx += STEP, dy += STEP, x += STEP) {
        const int32_t m = n - i < STEP ? (int32_t)(n - i) : STEP;
        switch (activation) {
        case GF_RELU:
            for (int32_t j = 0; j < m; j++) dx[j] = x[j] > 0 ? dy[j] : 0;
            break;
        case GF_RELU2:
            for (int32_t j = 0; j < m; j++) dx[j] = x[j] > 0 ? 2 * x[j] * dy[j] : 0;
            break;
        case GF_TANH:
            gf_tanh(t, x, m);
            for (int32_t j = 0; j < m; j++) dx[j] = dy[j] * (1 - t[j] * t[j]);
            break;
        case GF_QUICK_GELU:
        case GF_MISH: times_factor_backward(activation, dx, dy, x, m); break;
        case GF_GELU_ERF: /* Phi(x) + x phi(x) */
            for (int32_t j = 0; j < m; j++) t[j] = x[j] * root_2, e[j] = -0.5f * x[j] * x[j];
            gf_erf(t, t, m);
            gf_exp(e, e, m);
            for (int32_t j = 0; j < m; j++) dx[j] = dy[j] * (0.5f * (1 + t[j]) + x[j] * to_phi * e[j]);
            break;
        case GF_GELU_TANH:
            for (int32_t j = 0; j < m; j++) t[j] = k * (x[j] + cubic * x[j] * x[j] * x[j]);
            gf_tanh(t, t, m);
            for (int32_t j = 0; j < m; j++)
                dx[j] =
                    dy[j] * (0.5f * (1 + t[j]) + 0.5f * x[j] * (1 - t[j] * t[j]) * k * (1 + 3 * cubic * x[j] * x[j]));
            break;
        case GF_SILU: /* sigmoid(x) = (1 + tanh(x / 2)) / 2 */
            for (int32_t j = 0; j < m; j++) t[j] = 0.5f * x[j];
            gf_tanh(t, t, m);
            for (int32_t j = 0; j < m; j++) dx[j] = dy[j] * 0.5f * (1 + t[j]) * (1 + 0.5f * x[j] * (1 - t[j]));
            break;
        default: break;
        }
    }
}

/* Given dpost: the gradients of gate and up, whose row is dpre. */
static void gated_backward(const struct gf_pass *p, float *dpre, const float *dpost, const float *pre, int32_t n) {
    const int32_t activation = gf_ffn_activation(p->cfg);
    if (activation == GF_SILU) {
        gf_silu_mul_back_wide(dpre, dpre + n, dpost, pre, pre + n, n);
        return;
    }
    for (int32_t i = 0; i < n; i += STEP) {
        const int32_t m = n - i < STEP ? n - i : STEP;
        float t[STEP];
        for (int32_t j = 0; j < m; j++) t[j] = dpost[i + j] * pre[n + i + j];
        gf_activate_backward(activation, dpre + i, t, pre + i, m);
        gf_activate(activation, t, pre + i, m);
        for (int32_t j = 0; j < m; j++) dpre[n + i + j] = dpost[i + j] * t[j];
    }
}

void gf_ffn_activate_backward(const struct gf_pass *p, float *dpre, const float *dpost, const float *pre, int32_t n,
                              int32_t width) {
    const int32_t gated = gf_ffn_gated(p->cfg), ld = gated ? 2 * width : width;
    for (int64_t i = 0; i < n; i++) {
        if (gated)
            gated_backward(p, dpre + i * ld, dpost + i * width, pre + i * ld, width);
        else
            gf_activate_backward(p->cfg->ffn, dpre + i * width, dpost + i * width, pre + i * width, width);
    }
}

void gf_ffn_backward(const struct gf_pass *p, const struct gf_ffn *w, struct gf_ffn *dw, const struct gf_bufs *b,
                     struct gf_back *g, const float *dout, const float *x) {
    const int32_t d_ff = p->cfg->d_ff, gated = gf_ffn_gated(p->cfg), ld = gated ? 2 * d_ff : d_ff;
    gf_linear_backward(p, &w->down, &dw->down, g->ffn_post, 0, dout, b->ffn_post, p->n);
    gf_tap(p, GF_P_MLP_POST, g->ffn_post, d_ff, d_ff);
    gf_ffn_activate_backward(p, g->ffn_pre, g->ffn_post, b->ffn_pre, p->n, d_ff);
    gf_tap(p, GF_P_MLP_PRE, g->ffn_pre, ld, d_ff);
    if (gated) gf_tap(p, GF_P_MLP_PRE_LINEAR, g->ffn_pre + d_ff, ld, d_ff);
    gf_linear_backward(p, &w->up, &dw->up, g->in, 0, g->ffn_pre, x, p->n);
}
