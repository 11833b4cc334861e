/* kernels_test.c - compares every kernel on numbers, rows and blocks with its definition, at sizes around every lane
 * boundary, and with itself bit for bit where kernels.h promises equal bits. */
#define EVERY_BUILD 0x3f035829458a0be9u

#include "kernels_checks.h"

/* ---- half -------------------------------------------------------------------------------------------------------- */

static void f16_conversion_is_exact_and_rounds_to_even(void) {
    for (uint32_t h = 0; h < 65536; h++) {
        float x = gf_f16_to_f32((uint16_t)h), b = gf_bf16_to_f32((uint16_t)h);
        uint32_t bits = h << 16;
        if ((h & 0x7fff) > 0x7c00)
            CHECK(isnan(x) && isnan(gf_f16_to_f32(gf_f32_to_f16(x))));
        else if ((h & 0x7fff) == 0x7c00)
            CHECK(isinf(x) && gf_f32_to_f16(x) == h);
        else
            CHECK(x == f16_value(h) && !signbit(x) == !(h >> 15) && gf_f32_to_f16(x) == h);
        CHECK_BITS(&b, &bits, 4);
        if (isnan(b))
            CHECK(isnan(gf_bf16_to_f32(gf_f32_to_bf16(b))));
        else
            CHECK_INT(gf_f32_to_bf16(b), h);
        if ((h & 0x7fff) >= 0x7bff) continue;
        /* halfway to the next f16: rounds to the even one; one float less or more: to the nearer one */
        float mid = (float)((f16_value(h) + f16_value(h + 1)) / 2);
        CHECK_INT(gf_f32_to_f16(mid), h + (h & 1));
        CHECK_INT(gf_f32_to_f16(nextafterf(mid, x)), h);
        CHECK_INT(gf_f32_to_f16(nextafterf(mid, 2 * mid - x)), h + 1);
        uint32_t half_way = (h << 16) + 0x8000;
        memcpy(&mid, &half_way, 4);
        CHECK_INT(gf_f32_to_bf16(mid), h + (h & 1));
    }
    CHECK_INT(gf_f32_to_f16(65519.0f), 0x7bff);
    CHECK_INT(gf_f32_to_f16(65520.0f), 0x7c00);
    CHECK_INT(gf_f32_to_f16(0x1p-25f), 0);
    CHECK_INT(gf_f32_to_f16(nextafterf(0x1p-25f, 1)), 1);
}

/* ---- functions of one number ------------------------------------------------------------------------------------- */

/* The error of got in units of the last place of the float nearest to the true value. */
static double ulps(float got, double want) {
    float w = (float)want;
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    if (isinf(w) || isinf(got)) return got == w ? 0 : INFINITY;
    int e;
    frexp(fabs((double)w), &e);
    return fabs(got - want) / ldexp(1, e - 24 < -149 ? -149 : e - 24);
}

typedef void unary(float *y, const float *x, int64_t n);

/* The largest error over every 1009th float of magnitude below `limit`. */
static double worst_ulps(unary *f, double (*truth)(double), float limit, float *where) {
    double worst = 0;
    for (uint64_t u = 0; u < 1ull << 32; u += 4 * 1009) {
        float x[4], y[4];
        for (int i = 0; i < 4; i++) {
            uint32_t bits = (uint32_t)(u + (uint64_t)i * 1009);
            memcpy(x + i, &bits, 4);
        }
        f(y, x, 4);
        for (int i = 0; i < 4; i++) {
            if (!(fabsf(x[i]) < limit)) continue;
            double want = truth(x[i]), d = ulps(y[i], want);
            if (y[i] == 0 && fabs(want) < 0x1p-125) d = 0; /* may be flushed to 0 */
            if (d > worst) worst = d, *where = x[i];
        }
    }
    return worst;
}

static void exp_tanh_erf_are_accurate(void) {
    static const struct {
        const char *name;
        unary *fast;
        double (*truth)(double);
        double limit;
    } f[] = {{"exp", gf_exp, exp, 2}, {"tanh", gf_tanh, tanh, 2}, {"erf", gf_erf, erf, 2}};
    for (int i = 0; i < 3; i++) {
        float x = 0;
        double worst = worst_ulps(f[i].fast, f[i].truth, INFINITY, &x);
        printf("  %s: %.3f ulp at %g\n", f[i].name, worst, x);
        CHECK_NEAR(worst, 0, f[i].limit);
    }
    float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 88.72283f, 88.72284f, -103.97f, -104.1f};
    float y[9];
    gf_exp(y, special, 9);
    CHECK(y[0] == 1 && y[1] == 1 && y[2] == INFINITY && y[3] == 0 && isnan(y[4]));
    CHECK(y[5] < INFINITY && y[6] == INFINITY && y[7] == 0 && y[8] == 0 && !signbit(y[8]));
    gf_tanh(y, special, 5);
    CHECK(y[0] == 0 && signbit(y[1]) && y[2] == 1 && y[3] == -1 && isnan(y[4]));
    gf_erf(y, special, 5);
    CHECK(y[0] == 0 && signbit(y[1]) && y[2] == 1 && y[3] == -1 && isnan(y[4]));
    record(y, 16);
}

static double silu(double x) { return x / (1 + exp(-x)); }
static double gelu_erf(double x) { return 0.5 * x * erfc(-x / sqrt(2)); }
static double gelu_tanh(double x) { return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x))); }
static void silu_of(float *y, const float *x, int64_t n) {
    static const float ones[4] = {1, 1, 1, 1};
    gf_silu_mul(y, x, ones, n);
}

static void activations_are_accurate(void) {
    static const struct {
        const char *name;
        unary *fast;
        double (*truth)(double);
        double bound; /* of |error| / max(|x|, |x|^4 where x is negative): see below */
    } f[] = {{"silu", silu_of, silu, 3 * EPS},
             {"gelu_erf", gf_gelu_erf, gelu_erf, 2 * EPS},
             {"gelu_tanh", gf_gelu_tanh, gelu_tanh, 4 * EPS}};
    for (int i = 0; i < 3; i++) {
        double worst = 0, worst_absolute = 0;
        for (float x = -12; x <= 12; x += 0x1p-14f) {
            float y;
            f[i].fast(&y, &x, 1);
            double d = fabs(y - f[i].truth(x));
            if (fabsf(x) > 0 && d / fabsf(x) > worst) worst = d / fabsf(x);
            if (d > worst_absolute) worst_absolute = d;
            record(&y, 4);
        }
        printf("  %s: |error| <= %.3g |x|, %.3g on -12 .. 12\n", f[i].name, worst, worst_absolute);
        CHECK_NEAR(worst, 0, f[i].bound);
    }
    float x[] = {0, -200, 200, NAN}, y[4];
    for (int i = 0; i < 3; i++) {
        f[i].fast(y, x, 4);
        CHECK(y[0] == 0 && y[1] == 0 && y[2] == 200 && isnan(y[3]));
    }
}

static void elementwise_kernels_match_ref(void) {
    EACH_SIZE {
        float *a = floats(n), *b = floats(n), *y = floats(n), *z = floats(n);
        fill(a, n, 8), fill(b, n, 3);
#define BOTH(call, call_ref, bound)                                                                                    \
    do {                                                                                                               \
        memcpy(y, b, (size_t)n * 4), memcpy(z, b, (size_t)n * 4);                                                      \
        call, call_ref;                                                                                                \
        for (int i = 0; i < n; i++) CHECK_NEAR(y[i], z[i], bound);                                                     \
        record(y, n * 4);                                                                                              \
    } while (0)
        BOTH(gf_add(y, a, b, n), gf_add_ref(z, a, b, n), 0);
        BOTH(gf_scale(y, a, 0.3f, n), gf_scale_ref(z, a, 0.3f, n), 0);
        BOTH(gf_axpy(y, a, 0.3f, n), gf_axpy_ref(z, a, 0.3f, n), 0);
        BOTH(gf_relu(y, a, n), gf_relu_ref(z, a, n), 0);
        BOTH(gf_gelu_erf(y, a, n), gf_gelu_erf_ref(z, a, n), 3 * EPS * fabsf(a[i]));
        BOTH(gf_gelu_tanh(y, a, n), gf_gelu_tanh_ref(z, a, n), 4 * EPS * fabsf(a[i]));
        BOTH(gf_silu_mul(y, a, b, n), gf_silu_mul_ref(z, a, b, n), 4 * EPS * fabsf(a[i] * b[i]));
        BOTH(gf_exp(y, a, n), gf_exp_ref(z, a, n), 2 * EPS * z[i]);
        BOTH(gf_tanh(y, a, n), gf_tanh_ref(z, a, n), 2 * EPS);
        BOTH(gf_erf(y, a, n), gf_erf_ref(z, a, n), 2 * EPS);
        /* in place, and each value by itself: the bits do not depend on its position */
        gf_exp(y, a, n), memcpy(z, a, (size_t)n * 4), gf_exp(z, z, n);
        CHECK_BITS(z, y, n * 4);
        for (int i = 0; i < n; i++) gf_exp(z + i, a + i, 1);
        CHECK_BITS(z, y, n * 4);
        for (int i = 0; i < n; i++) gf_silu_mul(z + i, a + i, b + i, 1);
        gf_silu_mul(y, a, b, n);
        CHECK_BITS(z, y, n * 4);
        release();
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void norms_match_ref(void) {
    EACH_SIZE for (int rows = 1; rows <= 3; rows += 2) {
        float *x = floats(rows * n), *y = floats(rows * n), *z = floats(rows * n);
        float *gain = floats(n), *bias = floats(n), *m = floats(rows), *r = floats(rows);
        float *mr = floats(rows), *rr = floats(rows);
        fill(x, rows * n, 2), fill(gain, n, 2), fill(bias, n, 1);
        for (int with = 0; with < 4; with++) {
            const float *g = with & 1 ? gain : NULL, *b = with & 2 ? bias : NULL;
            gf_layernorm(y, x, g, b, m, r, rows, n, 1e-5f);
            gf_layernorm_ref(z, x, g, b, mr, rr, rows, n, 1e-5f);
            for (int i = 0; i < rows; i++) {
                CHECK_NEAR(m[i], mr[i], n * EPS * 2);
                CHECK_NEAR(r[i], rr[i], (n + 4) * EPS * rr[i]);
                for (int j = 0; j < n; j++) {
                    double scale = (fabsf(x[i * n + j]) + 2) * rr[i] * (g ? fabsf(g[j]) : 1);
                    CHECK_NEAR(y[i * n + j], z[i * n + j], (n + 6) * EPS * (scale + (b ? fabsf(b[j]) : 0)));
                }
            }
            record(y, rows * n * 4);
            gf_layernorm(z, x + (rows - 1) * n, g, b, NULL, NULL, 1, n, 1e-5f); /* one row by itself */
            CHECK_BITS(z, y + (rows - 1) * n, n * 4);
            memcpy(z, x, (size_t)(rows * n) * 4), gf_layernorm(z, z, g, b, NULL, NULL, rows, n, 1e-5f);
            CHECK_BITS(z, y, rows * n * 4);
        }
        for (int with = 0; with < 2; with++) {
            const float *g = with ? gain : NULL;
            gf_rmsnorm(y, x, g, r, rows, n, 1e-6f), gf_rmsnorm_ref(z, x, g, rr, rows, n, 1e-6f);
            for (int i = 0; i < rows * n; i++) {
                CHECK_NEAR(r[i / n], rr[i / n], (n + 4) * EPS * rr[i / n]);
                CHECK_NEAR(y[i], z[i], (n + 6) * EPS * fabsf(z[i]));
            }
            record(y, rows * n * 4);
            memcpy(z, x, (size_t)(rows * n) * 4), gf_rmsnorm(z, z, g, NULL, rows, n, 1e-6f);
            CHECK_BITS(z, y, rows * n * 4);
        }
        release();
    }
}

static void softmax_logsumexp_and_argmax_match_ref(void) {
    EACH_SIZE {
        float *x = floats(n), *y = floats(n), *z = floats(n);
        fill(x, n, 10);
        gf_softmax(y, x, n), gf_softmax_ref(z, x, n);
        for (int i = 0; i < n; i++) CHECK_NEAR(y[i], z[i], (n + 25) * EPS * z[i] + 0x1p-126);
        record(y, n * 4);
        float sum = gf_logsumexp(x, n, NULL);
        CHECK_NEAR(sum, gf_logsumexp_ref(x, n), (n + 4) * EPS + EPS * fabsf(sum));
        record(&sum, 4);
        memcpy(z, x, (size_t)n * 4), gf_softmax(z, z, n);
        CHECK_BITS(z, y, n * 4);
        /* padded with -inf: the same bits for the first values, exact zeros for the others */
        for (int more = 1; more <= 70; more += 23) {
            float *p = floats(n + more), *q = floats(n + more);
            memcpy(p, x, (size_t)n * 4);
            for (int i = n; i < n + more; i++) p[i] = -INFINITY;
            gf_softmax(q, p, n + more);
            CHECK_BITS(q, y, n * 4);
            for (int i = n; i < n + more; i++) CHECK(q[i] == 0 && !signbit(q[i]));
            CHECK(gf_logsumexp(p, n + more, NULL) == sum);
        }
        /* argmax: at any position, the first of equals, -1 for values that are not finite */
        for (int at = 0; at < n; at++) {
            float old = x[at];
            x[at] = 11;
            CHECK_INT(gf_argmax(x, n), at);
            CHECK_INT(gf_argmax_ref(x, n), at);
            if (at + 2 < n) {
                float other = x[n - 1];
                x[n - 1] = 11;
                CHECK_INT(gf_argmax(x, n), at);
                x[n - 1] = other;
            }
            x[at] = NAN;
            CHECK_INT(gf_argmax(x, n), -1);
            CHECK_INT(gf_argmax_ref(x, n), -1);
            x[at] = INFINITY;
            CHECK_INT(gf_argmax(x, n), -1);
            x[at] = -INFINITY;
            CHECK_INT(gf_argmax(x, n), gf_argmax_ref(x, n));
            x[at] = old;
        }
        for (int i = 0; i < n; i++) x[i] = -INFINITY;
        CHECK_INT(gf_argmax(x, n), -1);
        CHECK(gf_logsumexp(x, n, NULL) == -INFINITY);
        for (int i = 0; i < n; i++) x[i] = -FLT_MAX;
        CHECK_INT(gf_argmax(x, n), 0);
        release();
    }
    static const int vocabularies[] = {2047, 2048, 2049, 32000, 50257, 128256, 131072, 262144};
    for (size_t v = 0; v < sizeof vocabularies / sizeof *vocabularies; v++) { /* in parts */
        const int n = vocabularies[v];
        float *x = floats(n);
        fill(x, n, 10);
        const float sum = gf_logsumexp(x, n, NULL);
        CHECK_NEAR(sum, gf_logsumexp_ref(x, n), 100 * EPS);
        record(&sum, 4);
        for (int threads = 2; threads <= 3; threads++) CHECK(gf_logsumexp(x, n, pools[threads]) == sum);
        for (int i = 0; i < n / 2; i++) x[i] = -INFINITY; /* whole parts of -inf */
        CHECK_NEAR(gf_logsumexp(x, n, NULL), gf_logsumexp_ref(x, n), 100 * EPS);
        x[n - 1] = NAN;
        CHECK(isnan(gf_logsumexp(x, n, NULL)));
        release();
    }
    for (float big = 1e-30f; big < 1e30f; big *= 1.7f) { /* logsumexp's own logarithm */
        float x[2] = {0, logf(big)};
        CHECK_NEAR(gf_logsumexp(x, 2, NULL), gf_logsumexp_ref(x, 2), 2 * EPS * (1 + fabsf(x[1])));
    }
}

static void rope_matches_ref(void) {
    static const int heads[] = {2, 4, 6, 8, 10, 16, 24, 48, 64, 66, 128};
    for (int pairs = 0; pairs < 2; pairs++)
        for (int h = 0; h < 11; h++) {
            int d = heads[h], n = 3, n_heads = 2, ld = n_heads * d + 3;
            float *x = floats(n * ld - 3), *y = floats(n * ld - 3), *t = floats(n * d);
            fill(x, n * ld - 3, 2);
            for (int i = 0; i < n * d; i++) {
                double angle = (i / d) * pow(10000, -(double)(i % (d / 2)) / (d / 2));
                t[i] = (float)(i % d < d / 2 ? cos(angle) : sin(angle));
            }
            memcpy(y, x, (size_t)(n * ld - 3) * 4);
            gf_rope(x, ld, t, n, n_heads, d, pairs), gf_rope_ref(y, ld, t, n, n_heads, d, pairs);
            for (int i = 0; i < n * ld - 3; i++) CHECK_NEAR(x[i], y[i], 3 * EPS * 4);
            release();
        }
}

/* ---- block formats ----------------------------------------------------------------------------------------------- */

static void block_formats_match_hand_computed_bytes(void) {
    float x[256] = {0}, y[256];
    uint8_t b[GF_BLOCK_ROOM];
    for (int i = 0; i < 32; i++) x[i] = (float)(i - 16);
    x[0] = -127, x[31] = 2.5f; /* d = 1; 2.5 rounds away from zero in ggml's q8_0 */
    gf_quantize(b, x, GF_Q8_0, 32);
    CHECK_INT(b[0] | b[1] << 8, 0x3c00);
    for (int i = 1; i < 31; i++) CHECK_INT((int8_t)b[2 + i], i - 16);
    CHECK_INT((int8_t)b[2], -127);
    CHECK_INT(b[33], 3);
    gf_dequantize(y, b, GF_Q8_0, 32);
    CHECK(y[0] == -127 && y[31] == 3 && y[20] == 4);
    for (int i = 0; i < 32; i++) x[i] = (float)((i * 7) % 16 - 8) * 0.5f; /* extreme -4: d = 0.5 */
    gf_quantize(b, x, GF_Q4_0, 32);
    CHECK_INT(b[0] | b[1] << 8, 0x3800);
    for (int i = 0; i < 16; i++) CHECK_INT(b[2 + i], (i * 7) % 16 | ((i + 16) * 7 % 16) << 4);
    gf_dequantize(y, b, GF_Q4_0, 32);
    CHECK_BITS(y, x, 128);
    for (int i = 0; i < 32; i++) x[i] = 3 + (float)((i * 5) % 16) * 0.25f; /* m = 3, d = 0.25 */
    gf_quantize(b, x, GF_Q4_1, 32);
    CHECK_INT(b[0] | b[1] << 8, 0x3400);
    CHECK_INT(b[2] | b[3] << 8, 0x4200);
    for (int i = 0; i < 16; i++) CHECK_INT(b[4 + i], (i * 5) % 16 | ((i + 16) * 5 % 16) << 4);
    gf_dequantize(y, b, GF_Q4_1, 32);
    CHECK_BITS(y, x, 128);
    memset(x, 0, sizeof x);
    EACH_QUANTIZED(type) {
        const int cols = gf_dtype_block_cols(type);
        gf_quantize(b, x, type, cols), gf_dequantize(y, b, type, cols);
        for (int i = 0; i < cols; i++) CHECK(y[i] == 0);
    }
    /* 1 divided by so small a step is infinite, and infinity was once converted to int8. */
    for (int i = 0; i < 256; i++) x[i] = i % 3 ? 1e-40f : -1e-41f * (float)i;
    EACH_QUANTIZED(type) {
        const int cols = gf_dtype_block_cols(type);
        gf_quantize(b, x, type, cols), gf_dequantize(y, b, type, cols);
        for (int i = 0; i < cols; i++) CHECK(y[i] == 0);
    }
}

static void quantising_loses_at_most_half_a_step(void) {
    for (int round = 0; round < 200; round++) {
        float x[256], y[256], range = ldexpf(1, round % 20 - 10);
        uint8_t b[1024];
        fill(x, 256, range);
        EACH_KEPT(type) {
            const int n = gf_dtype_block_cols(type) > 64 ? gf_dtype_block_cols(type) : 64;
            for (int i = 0; i < n; i++) y[i] = NAN; /* which a type without conversion leaves */
            gf_quantize(b, x, type, n), gf_dequantize(y, b, type, n);
            record(b, n / gf_dtype_block_cols(type) * gf_dtype_block_bytes(type));
            for (int i = 0; i < n; i++) {
                float least = x[i & ~31], most = least, top = 0;
                for (int j = i & ~31; j < (i & ~31) + 32; j++) {
                    least = fminf(least, x[j]), most = fmaxf(most, x[j]);
                    top = fmaxf(top, fabsf(x[j]));
                }
                double bound = 0, span = most - least, depth = fmax(-least, 0), height = fmax(most, 0);
                /* half a step, and the rounding of the scale to f16 (2^-11 of it, or of the whole) */
                switch (type) {
                case GF_F16: bound = fmax(fabsf(x[i]) * 0x1p-11, 0x1p-25); break;
                case GF_BF16: bound = fabsf(x[i]) * 0x1p-8; break;
                case GF_Q8_0: bound = top / 127 * 0.5 + top * 0x1p-11; break;
                case GF_Q4_0: bound = top / 8 * 0.5 + top * 0x1p-11; break;
                case GF_Q5_0: bound = top / 16 * 0.5 + top * 0x1p-11; break;
                case GF_Q4_1: bound = span / 15 * 0.5 + 2 * top * 0x1p-10; break;
                case GF_Q5_1: bound = span / 31 * 0.5 + 2 * top * 0x1p-10; break;
                /* scales and minima are rounded to 63rds of the largest of the block, which is at most 2 range / 15 and
                 * range here; a scale that is too small by half of that loses 15 times as much at the ends */
                case GF_Q4_K:
                    bound = (depth + height) / 15 * 0.5 + (2 * range + range) / 63 * 0.5 + range * 0x1p-9;
                    break;
                /* scales are rounded to 128ths of the largest, which is at most range / 32; 32 of them at the end */
                case GF_Q6_K: bound = top / 32 * 0.5 + range / 128 * 0.5 + range * 0x1p-10; break;
                }
                if (gf_dtype_is_quantized(type)) bound += 128 * 0x1p-24; /* scales below f16's normal range */
                if (type == GF_Q4_K) bound += 15 * 63 * 0x1p-24;
                if (type == GF_Q6_K) bound += 32 * 128 * 0x1p-24;
                /* at the positive end the error may be a whole step: q4_0 has -8 to +7 steps */
                if (type == GF_Q4_0 && fabsf(x[i]) > top * 0.9) bound += top / 8 * 0.5;
                if (type == GF_Q5_0 && fabsf(x[i]) > top * 0.9) bound += top / 16 * 0.5;
                if (type == GF_Q6_K) bound += top / 32 * 0.5;
                CHECK_NEAR(y[i], x[i], bound);
            }
        }
    }
}

int main(void) {
    open_kernels();
    RUN(f16_conversion_is_exact_and_rounds_to_even);
    RUN(exp_tanh_erf_are_accurate);
    RUN(activations_are_accurate);
    RUN(elementwise_kernels_match_ref);
    RUN(norms_match_ref);
    RUN(softmax_logsumexp_and_argmax_match_ref);
    RUN(rope_matches_ref);
    RUN(block_formats_match_hand_computed_bytes);
    RUN(quantising_loses_at_most_half_a_step);
    return close_kernels();
}
