/* norm.c - LayerNorm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019), epsilon inside the root.
 *
 *   layernorm:  y = (x - mean) / sqrt(var + eps) * gain + bias
 *   rmsnorm:    y = x / sqrt(mean(x^2) + eps) * gain */
#include "model/layers/norm.h"
#include "kernels/kernels.h" /* gf_layernorm, gf_rmsnorm */
#include "model/config.h"    /* gf_has_norms */
#include <math.h>
#include <string.h>

/* The final norm can be of another kind than those of the blocks (tutorial 1's Transformer). */
static int32_t kind_of(const struct gf_config *c, int32_t point) {
    return point == GF_P_LN_FINAL ? c->final_norm_kind : c->norm;
}

/* The width of the rows: the norms of a narrow embedding and of the head behind it have its width. */
static int32_t width_of(const struct gf_config *c, int32_t point) {
    return point == GF_P_LN_EMBED ? gf_narrow_width(c) : point == GF_P_LN_HEAD ? gf_head_width(c) : c->d_model;
}

static void normalise(const struct gf_pass *p, int32_t point, float *y, const float *x, const float *gain,
                      const float *bias, float *mean, float *rstd) {
    const struct gf_config *c = p->cfg;
    const float eps = point == GF_P_LN_FINAL && c->final_norm_eps > 0 ? c->final_norm_eps : c->norm_eps;
    switch (kind_of(c, point)) {
    case GF_LAYERNORM: gf_layernorm(y, x, gain, bias, mean, rstd, p->n, width_of(c, point), eps); break;
    case GF_RMSNORM: gf_rmsnorm(y, x, gain, rstd, p->n, width_of(c, point), eps); break;
    }
}

/* normalise in two steps, with the taps between them. The bits are the same, because the kernels multiply in the same
 * order. */
static void normalise_tapped(const struct gf_pass *p, const struct gf_norm *w, int32_t point, float *y, const float *x,
                             float *mean, float *rstd) {
    const int32_t d = width_of(p->cfg, point);
    normalise(p, point, y, x, NULL, NULL, mean, rstd);
    for (int32_t i = 0; i < p->n; i++) {
        const float scale = 1 / rstd[i];
        float tapped = scale;
        gf_tap_rows(p->observe, p->stack, p->layer, point - 1, i, &tapped, 1, 1, 1);
        if (tapped != scale)
            for (int32_t j = 0; j < d; j++) y[(size_t)i * (size_t)d + (size_t)j] *= scale / tapped;
    }
    gf_tap(p, point, y, d, d);
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t j = 0; j < d; j++) {
            const int64_t index = (int64_t)i * d + j;
            y[index] = y[index] * (w->gain ? w->gain[j] : 1) + (w->bias ? w->bias[j] : 0);
        }
}

static int switched_on(const struct gf_config *c, int32_t point) {
    return point == GF_P_LN_FINAL ? c->use_final_norm : gf_has_norms(c);
}

void gf_norm_forward(const struct gf_pass *p, const struct gf_norm *w, int32_t point, float *y, const float *x,
                     float *mean, float *rstd) {
    if (!switched_on(p->cfg, point)) {
        if (y != x) memcpy(y, x, (size_t)p->n * (size_t)width_of(p->cfg, point) * sizeof *y);
    } else if (gf_tapped(p, point - 1) || gf_tapped(p, point)) {
        normalise_tapped(p, w, point, y, x, mean, rstd);
    } else {
        normalise(p, point, y, x, w->gain, w->bias, mean, rstd);
    }
}

enum { LANES = 16 }; /* partial sums, added in order at the end, so that the compiler can vectorise */

/* One row, with u = dy gain and xhat = (x - mean) rstd:
 *   layernorm  dx = rstd (u - avg(u) - xhat avg(u xhat))      rmsnorm  the same without avg(u) */
static void row_backward(float *dx, int add, const float *dy, const float *x, const float *gain, float *dgain,
                         float *dbias, float mean, float rstd, int centred, int32_t d) {
    float su[LANES] = {0}, sx[LANES] = {0}, sum_u = 0, sum_ux = 0;
    const int32_t whole = d / LANES * LANES;
#define GAIN(i) (gain ? gain[i] : 1)
    for (int32_t i = 0; i < whole; i += LANES)
        for (int32_t j = 0; j < LANES; j++) {
            const float u = dy[i + j] * GAIN(i + j);
            su[j] += u;
            sx[j] += u * ((x[i + j] - mean) * rstd);
        }
    for (int32_t i = whole; i < d; i++) {
        su[i - whole] += dy[i] * GAIN(i);
        sx[i - whole] += dy[i] * GAIN(i) * ((x[i] - mean) * rstd);
    }
    for (int32_t j = 0; j < LANES; j++) sum_u += su[j], sum_ux += sx[j];
    const float a = centred ? sum_u / (float)d : 0, b = sum_ux / (float)d;
    if (dgain)
        for (int32_t i = 0; i < d; i++) dgain[i] += dy[i] * ((x[i] - mean) * rstd);
    if (dbias)
        for (int32_t i = 0; i < d; i++) dbias[i] += dy[i];
    if (add)
        for (int32_t i = 0; i < d; i++) dx[i] += rstd * (dy[i] * GAIN(i) - a - (x[i] - mean) * rstd * b);
    else
        for (int32_t i = 0; i < d; i++) dx[i] = rstd * (dy[i] * GAIN(i) - a - (x[i] - mean) * rstd * b);
#undef GAIN
}

/* The gradients before the gain, and that of the scale: with y = (x - mean) / scale, dscale = -sum(dy y) / scale. */
static void tap_backward(const struct gf_pass *p, const struct gf_norm *w, int32_t point, const float *dy,
                         const float *x, const float *mean, const float *rstd) {
    const int64_t d = p->cfg->d_model;
    float *u = p->observe->scratch;
    for (int32_t i = 0; i < p->n; i++, dy += d, x += d) {
        double sum = 0;
        for (int64_t j = 0; j < d; j++) {
            u[j] = dy[j] * (w->gain ? w->gain[j] : 1);
            sum -= (double)u[j] * (double)(x[j] - (mean ? mean[i] : 0));
        }
        float dscale = (float)(sum * (double)rstd[i] * (double)rstd[i]);
        gf_tap_rows(p->observe, p->stack, p->layer, point - 1, i, &dscale, 1, 1, 1);
        gf_tap_rows(p->observe, p->stack, p->layer, point, i, u, (int32_t)d, 1, (int32_t)d);
    }
}

void gf_norm_backward(const struct gf_pass *p, const struct gf_norm *w, struct gf_norm *dw, int32_t point, float *dx,
                      int add, const float *dy, const float *x, const float *mean, const float *rstd) {
    const struct gf_config *c = p->cfg;
    const int centred = kind_of(c, point) == GF_LAYERNORM;
    const int64_t n = p->n, d = c->d_model;
    if (!switched_on(c, point)) {
        if (add)
            gf_add(dx, dx, dy, n * d);
        else if (dx != dy)
            memcpy(dx, dy, (size_t)(n * d) * sizeof *dx);
        return;
    }
    if (gf_tapped(p, point - 1) || gf_tapped(p, point)) tap_backward(p, w, point, dy, x, centred ? mean : NULL, rstd);
    for (int64_t i = 0; i < n; i++)
        row_backward(dx + i * d, add, dy + i * d, x + i * d, w->gain, dw->gain, dw->bias, centred ? mean[i] : 0,
                     rstd[i], centred, c->d_model);
}

/* ---- norms of q and k -------------------------------------------------------------------------------------------- */

/* A row of n_heads heads is `count` vectors of `width`, whose weights are `step` apart. */
struct span {
    int32_t count, width, step;
};
static struct span span_of(const struct gf_config *c, int32_t n_heads) {
    switch (c->qk_norm_span) {
    case GF_SPAN_EACH_HEAD: return (struct span){n_heads, c->d_head, c->d_head};
    case GF_SPAN_PROJECTION: return (struct span){1, n_heads * c->d_head, 0};
    default: return (struct span){n_heads, c->d_head, 0};
    }
}

/* n vectors of the same weights, in place. */
static void normalise_vectors(const struct gf_config *c, float *x, const float *gain, const float *bias, int32_t n,
                              int32_t width) {
    if (c->qk_norm_kind == GF_QK_LAYERNORM)
        gf_layernorm(x, x, gain, bias, NULL, NULL, n, width, c->norm_eps);
    else
        gf_rmsnorm(x, x, gain, NULL, n, width, c->norm_eps);
}

/* The gains or biases of head h; NULL where the norm has none. */
static float *of_head(float *weights, int32_t h, const struct span *s) {
    return weights ? weights + (int64_t)h * s->step : NULL;
}

void gf_head_norm_forward(const struct gf_config *cfg, const struct gf_norm *w, float *x, int32_t ld, int32_t n,
                          int32_t n_heads) {
    const struct span s = span_of(cfg, n_heads);
    for (int32_t i = 0; i < n; i++) {
        float *row = x + (size_t)i * (size_t)ld;
        if (s.step)
            for (int32_t h = 0; h < s.count; h++)
                normalise_vectors(cfg, row + h * s.width, of_head(w->gain, h, &s), of_head(w->bias, h, &s), 1, s.width);
        else
            normalise_vectors(cfg, row, w->gain, w->bias, s.count, s.width);
    }
}

void gf_head_norm_backward(const struct gf_config *cfg, const struct gf_norm *w, struct gf_norm *dw, float *dy,
                           int32_t ld, const float *x, int32_t ldx, int32_t n, int32_t n_heads) {
    const struct span s = span_of(cfg, n_heads);
    const int32_t d = s.width;
    const int centred = cfg->qk_norm_kind == GF_QK_LAYERNORM;
    for (int32_t i = 0; i < n; i++)
        for (int32_t h = 0; h < s.count; h++) {
            float *g = dy + (int64_t)i * ld + h * d;
            const float *row = x + (int64_t)i * ldx + h * d;
            float mean = 0, squares = 0;
            for (int32_t j = 0; centred && j < d; j++) mean += row[j];
            mean /= (float)d;
            for (int32_t j = 0; j < d; j++) squares += (row[j] - mean) * (row[j] - mean);
            row_backward(g, 0, g, row, of_head(w->gain, h, &s), of_head(dw->gain, h, &s), of_head(dw->bias, h, &s),
                         mean, 1 / sqrtf(squares / (float)d + cfg->norm_eps), centred, d);
        }
}
