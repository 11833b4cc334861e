/* ref.c - the definition of every kernel: plain loops, sums in double.
 *
 * The tests compare the fast kernels with it, so it stays simple and slow. It reads the packed layouts by the
 * formulas in kernels.h and shares no code with the files that write them, except gf_dot_flip, which says how q8
 * bytes are stored on this machine. */
#include "kernels/ref.h"
#include "base/half.h"
#include "kernels/int8_kind.h" /* gf_dot_flip */
#include <math.h>
#include <string.h>

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

static double q_int8(const void *p, int64_t i) { return (int8_t)(((const uint8_t *)p)[i] ^ gf_dot_flip(i % 2)); }

/* W[r][c], for quantised types times its factor, before scale and minimum. */
static double entry(const struct gf_mat *w, int64_t r, int64_t c) {
    int64_t panel = r / 16, lane = r % 16, block = panel * (w->cols / 32) + c / 32, k = c % 32;
    int64_t index = (panel * w->cols + c) * 16 + lane;
    switch (w->dtype) {
    case GF_F32: return ((const float *)w->data)[index];
    case GF_F16: return gf_f16_to_f32(((const uint16_t *)w->data)[index]);
    case GF_BF16: return gf_bf16_to_f32(((const uint16_t *)w->data)[index]);
    case GF_Q8_0:
    case GF_Q5_0:
    case GF_Q5_1: return q_int8(w->data, block * gf_panel_bytes(w->dtype) + k / 4 * 64 + lane * 4 + k % 4);
    case GF_Q6_K: {
        const int8_t *factors = (const int8_t *)w->data + block * 544 + 512;
        int64_t in_block = lane / 8 * 256 + k % 16 / 4 * 64 + lane % 8 * 8 + k / 16 * 4 + k % 4;
        return q_int8(w->data, block * 544 + in_block) * factors[2 * lane + k / 16];
    }
    default: {
        int byte = ((const uint8_t *)w->data)[block * gf_panel_bytes(w->dtype) + k / 8 * 64 + lane * 4 + k % 4];
        int nibble = k % 8 < 4 ? byte & 15 : byte >> 4;
        return nibble - gf_dtypes[w->dtype].zero;
    }
    }
}

/* The scale of row r in block b (which = 0), or its minimum (1). */
static double scale_of(const struct gf_mat *w, int64_t r, int64_t b, int which) {
    if (w->dtype == GF_Q6_K) return w->scale[(r / 16 * (w->cols / 256) + b / 8) * 16 + r % 16];
    return w->scale[(r / 16 * (w->cols / 32) + b) * (gf_panel_bytes(w->dtype) / 4) + which * 16 + r % 16];
}

/* q [n] = x / scale to the nearest integer, ties to even; returns scale = max|x| / 127, computed in float. */
static float quantize_row(int8_t *q, const float *x, int32_t n) {
    float amax = 0;
    for (int32_t i = 0; i < n; i++) amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
    float scale = amax / 127.0f, inverse = scale < 0x1p-126f ? 0 : 1.0f / scale;
    for (int32_t i = 0; i < n; i++) q[i] = (int8_t)nearbyintf(x[i] * inverse);
    return inverse == 0 ? 0 : scale;
}

/* One part of W, whose first row is `first` of `rows`. */
static void matmul_part(float *y, int64_t rows, int64_t first, const float *x, const struct gf_mat *w, const float *b,
                        int32_t n) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t r = 0; r < w->rows; r++) {
            const float *xt = x + t * w->cols;
            double sum = 0;
            if (!w->scale) {
                for (int64_t c = 0; c < w->cols; c++) sum += entry(w, r, c) * xt[c];
            } else {
                for (int64_t k = 0; k < w->cols / 32; k++) {
                    int8_t q[32];
                    double scale = quantize_row(q, xt + 32 * k, 32), dot = 0, all = 0;
                    for (int j = 0; j < 32; j++) dot += entry(w, r, 32 * k + j) * q[j], all += q[j];
                    sum += dot * scale_of(w, r, k, 0) * scale;
                    if (gf_dtypes[w->dtype].has_minimum) sum += all * scale_of(w, r, k, 1) * scale;
                }
            }
            y[t * rows + first + r] = (float)(b ? sum + b[first + r] : sum);
        }
}

void gf_matmul_ref(float *y, const float *x, const struct gf_mat *w, const float *b, int32_t n, void *scratch,
                   struct gf_pool *pool) {
    (void)scratch, (void)pool;
    const int32_t rows = gf_mat_rows(w);
    for (int32_t first = 0; w; first += w->rows, w = w->next) matmul_part(y, rows, first, x, w, b, n);
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

void gf_layernorm_ref(float *y, const float *x, const float *gain, const float *bias, float *mean, float *rstd,
                      int32_t n, int32_t d, float eps) {
    for (int32_t i = 0; i < n; i++, x += d, y += d) {
        double m = 0, v = 0;
        for (int32_t j = 0; j < d; j++) m += x[j];
        m /= d;
        for (int32_t j = 0; j < d; j++) v += (x[j] - m) * (x[j] - m);
        double r = 1 / sqrt(v / d + eps);
        for (int32_t j = 0; j < d; j++) y[j] = (float)((x[j] - m) * r * (gain ? gain[j] : 1) + (bias ? bias[j] : 0));
        if (mean) mean[i] = (float)m;
        if (rstd) rstd[i] = (float)r;
    }
}

void gf_rmsnorm_ref(float *y, const float *x, const float *gain, float *rstd, int32_t n, int32_t d, float eps) {
    for (int32_t i = 0; i < n; i++, x += d, y += d) {
        double s = 0;
        for (int32_t j = 0; j < d; j++) s += (double)x[j] * x[j];
        double r = 1 / sqrt(s / d + eps);
        for (int32_t j = 0; j < d; j++) y[j] = (float)(x[j] * r * (gain ? gain[j] : 1));
        if (rstd) rstd[i] = (float)r;
    }
}

/* ---- elementwise ------------------------------------------------------------------------------------------------- */

void gf_add_ref(float *y, const float *a, const float *b, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}
void gf_scale_ref(float *y, const float *x, float s, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = s * x[i];
}
void gf_axpy_ref(float *y, const float *x, float s, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] += s * x[i];
}
void gf_relu_ref(float *y, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i];
}
void gf_gelu_erf_ref(float *y, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = (float)(0.5 * x[i] * erfc(-x[i] * 0.70710678118654752440));
}
void gf_gelu_tanh_ref(float *y, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double v = x[i], u = 0.79788456080286535588 * (v + 0.044715 * v * v * v);
        y[i] = (float)(v / (1 + exp(-2 * u))); /* = v (1 + tanh u) / 2 */
    }
}
void gf_silu_mul_ref(float *y, const float *gate, const float *up, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = (float)(gate[i] / (1 + exp(-(double)gate[i])) * up[i]);
}
void gf_exp_ref(float *y, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = (float)exp(x[i]);
}
void gf_tanh_ref(float *y, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = (float)tanh(x[i]);
}
void gf_erf_ref(float *y, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = (float)erf(x[i]);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

void gf_softmax_ref(float *y, const float *x, int32_t n) {
    double top = x[0], sum = 0;
    for (int32_t i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
    for (int32_t i = 0; i < n; i++) sum += exp(x[i] - top);
    for (int32_t i = 0; i < n; i++) y[i] = (float)(exp(x[i] - top) / sum);
}

float gf_logsumexp_ref(const float *x, int32_t n) {
    double top = -INFINITY, sum = 0;
    for (int32_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
    if (isinf(top)) return (float)top;
    for (int32_t i = 0; i < n; i++) sum += exp(x[i] - top);
    return (float)(top + log(sum));
}

int32_t gf_argmax_ref(const float *x, int32_t n) {
    int32_t best = -1;
    for (int32_t i = 0; i < n; i++) {
        if (isnan(x[i]) || x[i] == INFINITY) return -1;
        if (x[i] > (best < 0 ? -INFINITY : x[best])) best = i;
    }
    return best;
}

/* ---- rope -------------------------------------------------------------------------------------------------------- */

void gf_rope_ref(float *x, int32_t ldx, const float *table, int32_t n, int32_t n_heads, int32_t d_head, int32_t pairs) {
    int32_t half = d_head / 2;
    for (int32_t i = 0; i < n; i++)
        for (int32_t h = 0; h < n_heads; h++)
            for (int32_t j = 0; j < half; j++) {
                float *head = x + (int64_t)i * ldx + h * d_head;
                float *a = head + (pairs == GF_ROPE_HALF ? j : 2 * j);
                float *b = head + (pairs == GF_ROPE_HALF ? j + half : 2 * j + 1);
                double c = table[i * d_head + j], s = table[i * d_head + half + j], u = *a, v = *b;
                *a = (float)(u * c - v * s), *b = (float)(u * s + v * c);
            }
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

static const float *scales_after(const void *block, int64_t bytes) {
    return (const float *)((const char *)block + bytes);
}

void gf_attn_scores_ref(float *s, int32_t lds, const float *q, int32_t ldq, int32_t m, int32_t type, const void *kblock,
                        int32_t d_head, float scale) {
    int64_t groups = (d_head + 3) / 4;
    for (int64_t t = 0; t < m; t++)
        for (int64_t j = 0; j < 64; j++) {
            const float *qt = q + t * ldq;
            double sum = 0, top = 0;
            if (type != GF_KV_Q8) {
                for (int64_t d = 0; d < d_head; d++)
                    sum += qt[d] * (double)(type == GF_KV_F32 ? ((const float *)kblock)[d * 64 + j]
                                                              : gf_f16_to_f32(((const uint16_t *)kblock)[d * 64 + j]));
            } else {
                for (int64_t d = 0; d < d_head; d++) top = fabs(qt[d]) > top ? fabs(qt[d]) : top;
                float scale_q = (float)top / 127.0f;
                float inverse = scale_q < 0x1p-126f ? 0 : 1.0f / scale_q;
                for (int64_t d = 0; d < d_head; d++)
                    sum += nearbyintf(qt[d] * inverse) * q_int8(kblock, (d / 4 * 64 + j) * 4 + d % 4);
                sum *= inverse == 0 ? 0 : (double)scale_q * scales_after(kblock, groups * 256)[j];
            }
            s[t * lds + j] = (float)(scale * sum);
        }
}

/* In steps of max|p scale| / 16383 over the block, ties to even; the step is returned. */
static float quantize_weights(int32_t *w, const float *p, const float *scales, int32_t count) {
    float top = 0;
    for (int32_t j = 0; j < count; j++)
        if (p[j] != 0 && fabsf(p[j] * scales[j]) > top) top = fabsf(p[j] * scales[j]);
    float step = top / 16383.0f, inverse = step < 0x1p-126f ? 0 : 1.0f / step;
    for (int32_t j = 0; j < count; j++) w[j] = p[j] == 0 ? 0 : (int32_t)nearbyintf(p[j] * scales[j] * inverse);
    return inverse == 0 ? 0 : step;
}

void gf_attn_mix_ref(float *z, int32_t ldz, const float *p, int32_t ldp, int32_t m, int32_t type, const void *vblock,
                     int32_t count, int32_t d_head) {
    for (int64_t t = 0; t < m; t++)
        for (int64_t d = 0; d < d_head; d++) {
            const float *pt = p + t * ldp;
            int32_t w[64];
            double sum = 0, step = 1;
            if (type == GF_KV_Q8) step = quantize_weights(w, pt, scales_after(vblock, (int64_t)d_head * 64), count);
            for (int64_t j = 0; j < count; j++) {
                if (pt[j] == 0) continue;
                if (type == GF_KV_F32)
                    sum += (double)pt[j] * ((const float *)vblock)[j * d_head + d];
                else if (type == GF_KV_F16)
                    sum += (double)pt[j] * gf_f16_to_f32(((const uint16_t *)vblock)[j * d_head + d]);
                else
                    sum += w[j] * ((const int8_t *)vblock)[(j / 4 * d_head + d) * 4 + j % 4];
            }
            z[t * ldz + d] = (float)(z[t * ldz + d] + step * sum);
        }
}
