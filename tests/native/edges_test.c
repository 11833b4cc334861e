/* edges_test.c - kernels with values that models rarely have: infinities and tiny numbers. */
#include "check.h"
#include "kernels/kernels.h"
#include "kernels/train_rows.h"

static void logsumexp_handles_infinities(void) {
    float x[5000];
    for (int i = 0; i < 5000; i++) x[i] = (float)(i % 7);
    CHECK(gf_logsumexp(x, 0, NULL) == -INFINITY);
    x[4321] = INFINITY; /* after the first part of 2,048 */
    CHECK(gf_logsumexp(x, 5000, NULL) == INFINITY);
    CHECK(isfinite(gf_logsumexp(x, 4321, NULL)));
    x[4321] = NAN;
    CHECK(isnan(gf_logsumexp(x, 5000, NULL)));
    for (int i = 0; i < 5000; i++) x[i] = -INFINITY;
    CHECK(gf_logsumexp(x, 5000, NULL) == -INFINITY);
    x[3000] = 2.5f; /* the only finite value */
    CHECK(gf_logsumexp(x, 5000, NULL) == 2.5f);
}

/* The largest value plus the logarithm of a sum is rounded once, from double: n equal values have the sum n, exactly. */
static void logsumexp_is_rounded_once(void) {
    static const float values[] = {0, 1.5f, -0.7f, 23.4f, -81.3f};
    float x[2048];
    int32_t wrong = 0;
    for (int32_t v = 0; v < 5; v++)
        for (int32_t n = 1; n <= 2048; n++) {
            x[n - 1] = values[v];
            wrong += gf_logsumexp(x, n, NULL) != (float)((double)values[v] + log((double)n));
        }
    CHECK_INT(wrong, 0);
}

/* The training kernels have their documented relative error, against libm in double, down to their documented limit. */
static void training_kernels_are_accurate_for_tiny_numbers(void) {
    enum { N = 173 }; /* a remainder of 13 */
    float x[N], y[N], up[N], dy[N], dg[N], du[N];
    double sum = 0;
    for (int i = 0; i < N; i++) x[i] = -0.5f * (float)((i * 37) % N); /* 0 down to -86 */
    for (int i = 0; i < N; i++) sum += exp((double)x[i]);
    gf_softmax_wide(y, x, N);
    for (int i = 0; i < N; i++) {
        const double want = exp((double)x[i]) / sum;
        CHECK_NEAR(y[i], want, 1e-5 * want);
    }
    for (int i = 0; i < N; i++) {
        x[i] = ((float)((i * 37) % N) - 86) / 2; /* gates from -43 to 43 */
        up[i] = (float)(i % 9) / 4 - 1.1f;
        dy[i] = (float)(i % 5) - 1.7f;
    }
    gf_silu_mul_wide(y, x, up, N);
    gf_silu_mul_back_wide(dg, du, dy, x, up, N);
    for (int i = 0; i < N; i++) {
        const double g = (double)x[i], u = (double)up[i], s = 1 / (1 + exp(-g)), d = (double)dy[i];
        CHECK_NEAR(y[i], g * s * u, 1e-5 * fabs(g * s * u));
        CHECK_NEAR(du[i], d * g * s, 1e-5 * fabs(d * g * s));
        /* 1 - s is rounded where s is near 1, and 1 + g (1 - s) where g is near -1.28 */
        CHECK_NEAR(dg[i], d * u * s * (1 + g * (1 - s)), 1e-5 * fabs(d * u * s * (1 + fabs(g))));
    }
}

/* Squares from 1.9e19 on are infinite in float: the norms were 0, or NaN. */
static void norms_of_large_values_are_those_of_small_ones(void) {
    enum { D = 21 };
    float x[D], gain[D], bias[D], small[D], large[D], parts[D], want[D];
    for (int i = 0; i < D; i++) {
        x[i] = (float)((i * 37) % D) / 8 - 1.3f;
        gain[i] = (float)(i % 5) - 1.7f;
        bias[i] = (float)(i % 3) - 1;
    }
    static const float sizes[] = {0x1p60f, 0x1p64f, 0x1p100f, 0x1p126f};
    for (int s = 0; s < 4; s++)
        for (int centred = 0; centred <= 1; centred++) {
            float rstd, mean = 0, y[D];
            for (int i = 0; i < D; i++) large[i] = x[i] * sizes[s];
            if (centred) {
                gf_layernorm(small, x, gain, bias, NULL, NULL, 1, D, 0);
                gf_layernorm(y, large, gain, bias, &mean, &rstd, 1, D, 1e-5f);
                gf_layernorm(parts, large, NULL, NULL, NULL, NULL, 1, D, 1e-5f);
            } else {
                gf_rmsnorm(small, x, gain, NULL, 1, D, 0);
                gf_rmsnorm(y, large, gain, &rstd, 1, D, 1e-5f);
                gf_rmsnorm(parts, large, NULL, NULL, 1, D, 1e-5f);
            }
            for (int i = 0; i < D; i++) {
                CHECK_NEAR(y[i], small[i], 4e-6 * (1 + fabs((double)small[i])));
                want[i] = parts[i] * gain[i] + (centred ? bias[i] : 0); /* the order of a pass with captures */
            }
            CHECK_BITS(y, want, sizeof y);
            double squares = 0;
            for (int i = 0; i < D; i++) squares += pow((double)large[i] - (double)mean, 2);
            CHECK_NEAR((double)rstd * sqrt(squares / D), 1, 1e-6);
        }
}

static void an_infinity_before_an_activation_is_not_lost(void) {
    const float x[] = {-INFINITY, INFINITY, NAN, -1e30f}, ones[] = {1, 1, 1, 1};
    for (int kind = 0; kind < 3; kind++) {
        float y[4];
        if (kind == 0) gf_silu_mul(y, x, ones, 4);
        if (kind == 1) gf_gelu_erf(y, x, 4);
        if (kind == 2) gf_gelu_tanh(y, x, 4);
        CHECK(isnan(y[0]) && y[1] == INFINITY && isnan(y[2]) && y[3] == 0);
    }
}

int main(void) {
    RUN(norms_of_large_values_are_those_of_small_ones);
    RUN(an_infinity_before_an_activation_is_not_lost);
    RUN(logsumexp_handles_infinities);
    RUN(logsumexp_is_rounded_once);
    RUN(training_kernels_are_accurate_for_tiny_numbers);
    return check_end();
}
