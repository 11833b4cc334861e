/* norm.c - LayerNorm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019), epsilon inside the root.
 *
 *   layernorm:  y = (x - mean) / sqrt(var + eps) * gain + bias
 *   rmsnorm:    y = x / sqrt(mean(x^2) + eps) * gain */
#include "model/norm.h"
#include "kernels/kernels.h" /* gf_layernorm, gf_rmsnorm */
#include <string.h>

static void normalise(const struct gf_config *c, float *y, const float *x, const float *gain,
                      const float *bias, float *mean, float *rstd, int32_t n) {
    switch (c->norm) {
    case GF_LAYERNORM:
        gf_layernorm(y, x, gain, bias, mean, rstd, n, c->d_model, c->norm_eps);
        break;
    case GF_RMSNORM: gf_rmsnorm(y, x, gain, rstd, n, c->d_model, c->norm_eps); break;
    }
}

/* The same in two steps with the taps between: the same bits, because the kernels multiply in this
 * order too. */
static void watched(const struct gf_pass *p, const struct gf_norm *w, int32_t layer,
                    int32_t scale_point, int32_t norm_point, float *y, const float *x, float *mean,
                    float *rstd, int32_t n) {
    const int32_t d = p->cfg->d_model;
    normalise(p->cfg, y, x, NULL, NULL, mean, rstd, n);
    for (int32_t i = 0; i < n; i++) {
        const float scale = 1 / rstd[i];
        float tapped = scale;
        p->observe->row0 += i;
        gf_tap_rows(p->observe, p->stack, layer, scale_point, &tapped, 1, 1, 1);
        p->observe->row0 -= i;
        if (tapped != scale)
            for (int32_t j = 0; j < d; j++) y[(size_t)i * (size_t)d + (size_t)j] *= scale / tapped;
    }
    gf_tap_rows(p->observe, p->stack, layer, norm_point, y, d, n, d);
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < d; j++) {
            float *v = &y[(size_t)i * (size_t)d + (size_t)j];
            *v = *v * w->gain[j] + (w->bias ? w->bias[j] : 0);
        }
}

void gf_norm_forward(const struct gf_pass *p, const struct gf_norm *w, int32_t layer,
                     int32_t scale_point, int32_t norm_point, float *y, const float *x, float *mean,
                     float *rstd, int32_t n) {
    const int on = layer < 0 ? p->cfg->use_final_norm : p->cfg->use_norm;
    if (!on) {
        if (y != x) memcpy(y, x, (size_t)n * (size_t)p->cfg->d_model * sizeof *y);
    } else if (gf_watched(p->observe, p->stack, layer, scale_point) ||
               gf_watched(p->observe, p->stack, layer, norm_point)) {
        watched(p, w, layer, scale_point, norm_point, y, x, mean, rstd, n);
    } else {
        normalise(p->cfg, y, x, w->gain, w->bias, mean, rstd, n);
    }
}

void gf_head_norm_forward(const struct gf_config *cfg, const float *gain, float *x, int32_t ld,
                          int32_t n, int32_t n_heads) {
    for (int32_t i = 0; i < n; i++) {
        float *row = x + (size_t)i * (size_t)ld;
        gf_rmsnorm(row, row, gain, NULL, n_heads, cfg->d_head, cfg->norm_eps);
    }
}
