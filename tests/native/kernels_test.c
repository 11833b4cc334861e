/* kernels_test.c - compares every kernel with its definition, at sizes around every lane boundary and with buffers that
 * end at an unreadable page, and with itself bit for bit where kernels.h promises equal bits.
 *
 * All outputs of the fast kernels go into one hash, which is recorded here, because the native, SIMD128 and relaxed
 * builds must have the same and cannot run in one process. It changes with the arithmetic and with the inputs of these
 * tests; the new value is then that of the native build. */
#define EVERY_BUILD 0x1bcae690e6c98c53u

#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/half.h"
#include "base/pool.h"
#include "check.h"
#include "kernels/dot.h" /* gf_dot_flip */
#include "kernels_ref.h"
#include <float.h>
#include <stdlib.h>
#if !defined(__wasm__)
#include <sys/mman.h>
#include <unistd.h>
#endif

static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 257};
#define N_SIZES   ((int)(sizeof sizes / sizeof *sizes))
#define EACH_SIZE for (int n = 0, at_ = 0; at_ < N_SIZES && (n = sizes[at_], 1); at_++)
/* Every type that weights have in memory, and those of them that are quantised. */
#define EACH_KEPT(type)                                                                                                \
    for (int type = 0; type < GF_N_DTYPES; type++)                                                                     \
        if (gf_dtype_is_kept(type))
#define EACH_QUANTIZED(type)                                                                                           \
    for (int type = 0; type < GF_N_DTYPES; type++)                                                                     \
        if (gf_dtype_is_kept(type) && gf_dtype_is_quantized(type))
#define EPS 0x1p-23 /* distance of neighbouring floats at 1: FLT_EPSILON */

/* ---- numbers, buffers, the hash ---------------------------------------------------------------------------------- */

static uint64_t state = 88172645463325252u;
static uint32_t random_u32(void) { /* xorshift64* */
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return (uint32_t)(state * 2685821657736338717u >> 32);
}
static float uniform(void) { return (float)(int32_t)random_u32() * 0x1p-31f; } /* -1 .. 1 */
static void fill(float *x, int64_t n, float range) {
    for (int64_t i = 0; i < n; i++) x[i] = uniform() * range;
}

static uint64_t hash = 14695981039346656037u; /* FNV-1a */
static void record(const void *p, int64_t n_bytes) {
    for (int64_t i = 0; i < n_bytes; i++) hash = (hash ^ ((const uint8_t *)p)[i]) * 1099511628211u;
}

/* n bytes before an unreadable page (natively). release() frees all of them. */
static struct {
    void *base;
    size_t n_bytes;
} held[64];
static int n_held;
static void *guarded(uint64_t n) {
    if (n_held == 64) abort();
#if defined(__wasm__)
    void *p = aligned_alloc(64, (n + 63) / 64 * 64 + 64);
    held[n_held].base = p, held[n_held++].n_bytes = 0;
    return p;
#else
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (n + page - 1) / page * page;
    char *p = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + whole, page, PROT_NONE)) abort();
    held[n_held].base = p, held[n_held++].n_bytes = whole + page;
    return p + whole - n;
#endif
}
static float *floats(int64_t n) { return guarded((uint64_t)n * 4); }
static void release(void) {
    while (n_held) {
        n_held--;
#if defined(__wasm__)
        free(held[n_held].base);
#else
        munmap(held[n_held].base, held[n_held].n_bytes);
#endif
    }
}

/* ---- half -------------------------------------------------------------------------------------------------------- */

/* The value of an f16 by the definition of binary16. */
static double f16_value(uint32_t h) {
    double sign = h & 0x8000 ? -1 : 1, mantissa = h & 0x3ff;
    int exponent = h >> 10 & 31;
    return exponent == 0 ? sign * ldexp(mantissa, -24) : sign * ldexp(1024 + mantissa, exponent - 25);
}

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

static struct gf_pool *pools[4]; /* by number of threads; 1 is NULL */

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

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

static void *bind(struct gf_mat *w, int type, int layout, int rows, int cols) {
    uint64_t n = gf_mat_bytes(type, layout, rows, cols);
    void *p = guarded(n);
    memset(p, 0x5a, n); /* padding may have any value */
    gf_mat_bind(w, type, layout, rows, cols, p);
    return p;
}

static void matrices_have_the_documented_sizes(void) {
    CHECK_INT(gf_mat_bytes(GF_F32, GF_PANELS, 17, 3), 2 * 16 * 3 * 4);
    CHECK_INT(gf_mat_bytes(GF_F32, GF_ROWS, 17, 3), 256); /* 204, rounded to 64 */
    CHECK_INT(gf_mat_bytes(GF_F16, GF_PANELS, 16, 3), 128);
    CHECK_INT(gf_mat_bytes(GF_Q8_0, GF_PANELS, 1, 32), 512 + 64);
    CHECK_INT(gf_mat_bytes(GF_Q4_0, GF_PANELS, 1, 64), 512 + 128);
    CHECK_INT(gf_mat_bytes(GF_Q4_1, GF_PANELS, 33, 32), 3 * (256 + 128));
    CHECK(gf_mat_bytes(GF_Q8_0, GF_PANELS, 1, 33) == UINT64_MAX);
    CHECK(gf_mat_bytes(GF_Q8_0, GF_ROWS, 1, 32) == UINT64_MAX);
    CHECK(gf_mat_bytes(GF_F16, GF_ROWS, 1, 32) == UINT64_MAX);
    CHECK(gf_mat_bytes(GF_N_DTYPES, GF_PANELS, 1, 32) == UINT64_MAX);
    CHECK(gf_mat_bytes(GF_F32, GF_PANELS, -1, 32) == UINT64_MAX);
    CHECK(gf_mat_bytes(GF_F32, GF_PANELS, INT32_MAX, INT32_MAX) == UINT64_MAX);
    CHECK(gf_mat_bytes(GF_F32, GF_PANELS, 1 << 20, 1 << 20) == 1ull << 42);
}

static void matrices_return_the_values_that_were_stored(void) {
    static const int rows_of[] = {1, 5, 16, 17, 33};
    EACH_KEPT(type)
    for (int layout = 0; layout <= (type == GF_F32); layout++)
        for (int r = 0; r < 5; r++)
            for (int c = 1; c <= 4; c++) {
                int per = gf_dtype_block_cols(type), rows = rows_of[r], cols = (per == 1 ? 7 : per) * c;
                int bytes = cols / per * gf_dtype_block_bytes(type);
                struct gf_mat w, v;
                char *blocks = guarded((uint64_t)rows * bytes);
                float *x = floats(rows * cols), *y = floats(cols), *z = floats(cols);
                uint64_t size = gf_mat_bytes(type, layout, rows, cols);
                void *p = bind(&w, type, layout, rows, cols), *q = bind(&v, type, layout, rows, cols);
                fill(x, rows * cols, 3);
                for (int i = 0; i < rows; i++) { /* in two pieces, in either order */
                    int first = cols / 2 / per * per;
                    gf_quantize(blocks + i * bytes, x + i * cols, type, cols);
                    gf_mat_put(&w, i, first, x + i * cols + first, cols - first);
                    gf_mat_put(&w, i, 0, x + i * cols, first);
                    if (!gf_dtype_is_quantized(type)) continue;
                    gf_mat_put_blocks(&v, i, 0, blocks + i * bytes, type, first);
                    gf_mat_put_blocks(&v, i, first, blocks + i * bytes + first / per * gf_dtype_block_bytes(type), type,
                                      cols - first);
                }
                if (gf_dtype_is_quantized(type)) CHECK_BITS(p, q, size);
                for (int i = 0; i < rows; i++) {
                    gf_mat_get_row(y, &w, i), gf_dequantize(z, blocks + i * bytes, type, cols);
                    CHECK_BITS(y, z, cols * 4);
                    record(y, cols * 4);
                }
                release();
            }
}

/* All properties of gf_matmul for one shape. */
static void matmul_case(int type, int rows, int cols, int n) {
    struct gf_mat w;
    bind(&w, type, GF_PANELS, rows, cols);
    float *x = floats((int64_t)n * cols), *y = floats((int64_t)n * rows), *b = floats(rows);
    float *want = floats((int64_t)n * rows), *again = floats((int64_t)n * rows);
    float *plain = floats((int64_t)rows * cols), *row = floats(cols);
    void *scratch = guarded(gf_matmul_scratch(n, cols)), *scratch_1 = guarded(gf_matmul_scratch(1, cols));
    fill(x, (int64_t)n * cols, 1), fill(b, rows, 1), fill(row, cols, 1);
    for (int i = 0; i < rows; i++) {
        fill(row, cols, 1);
        gf_mat_put(&w, i, 0, row, cols), gf_mat_get_row(plain + (int64_t)i * cols, &w, i);
    }
    gf_matmul(y, x, &w, b, n, scratch, NULL);
    gf_matmul_ref(want, x, &w, b, n, scratch, NULL);
    for (int t = 0; t < n; t++)
        for (int i = 0; i < rows; i++) {
            double sum_abs = 0, sum = b[i];
            for (int c = 0; c < cols; c++) {
                double product = (double)x[t * cols + c] * plain[(int64_t)i * cols + c];
                sum += product, sum_abs += fabs(product);
            }
            double bound = (cols + 1) * EPS * (sum_abs + fabsf(b[i]) + 1e-9);
            CHECK_NEAR(y[t * rows + i], want[t * rows + i], bound);
            /* compared with the unquantised product; int8 activations have an error of half a step of 1 / 127 */
            double step = gf_dtype_is_quantized(type) ? 0.5 / 127 : 0;
            double loss = 0;
            for (int c = 0; c < cols && step > 0; c++) loss += step * fabsf(plain[(int64_t)i * cols + c]);
            CHECK_NEAR(y[t * rows + i], sum, bound + loss);
        }
    record(y, (int64_t)n * rows * 4);
    for (int threads = 2; threads <= 3; threads++) {
        gf_matmul(again, x, &w, b, n, scratch, pools[threads]);
        CHECK_BITS(again, y, (int64_t)n * rows * 4);
    }
    for (int t = 0; t < n; t++) { /* row t by itself has the same bits */
        gf_matmul(want, x + (int64_t)t * cols, &w, b, 1, scratch_1, NULL);
        CHECK_BITS(want, y + (int64_t)t * rows, rows * 4);
    }
    if (n > 1) { /* so are the first n - 1 */
        gf_matmul(again, x, &w, b, n - 1, scratch, NULL);
        CHECK_BITS(again, y, ((int64_t)n - 1) * rows * 4);
    }
    gf_matmul(again, x, &w, NULL, n, scratch, NULL); /* b is added last */
    for (int t = 0; t < n; t++)
        for (int i = 0; i < rows; i++) CHECK(again[t * rows + i] + b[i] == y[t * rows + i]);
    release();
}

static void matmul_matches_ref_and_does_not_depend_on_the_batch(void) {
    EACH_KEPT(type) {
        int per = gf_dtype_block_cols(type);
        for (int i = 0; i < N_SIZES; i++) { /* ragged rows, cols and n, each in turn */
            int s = sizes[i];
            matmul_case(type, s, per > 1 ? per * (1 + i % 3) : 19, 1 + i % 5);
            matmul_case(type, 1 + i % 3 * 20, per > 1 ? per * (s % 9 + 1) : s, 2);
            if (s <= 65) matmul_case(type, 35, per > 32 ? per : per > 1 ? 64 : 20, s);
        }
        matmul_case(type, 40, per > 32 ? 768 : 576, 70); /* more than one chunk of columns and of tokens */
        matmul_case(type, 500, per > 32 ? 256 : 288, 1); /* several tiles */
        matmul_case(type, 500, per > 32 ? 256 : 288, 9);
    }
}

static void matmul_handles_extreme_bytes_and_values(void) {
    /* extreme bytes: weights of -128, which a file may have although no quantiser writes them; activations of +-127 */
    struct gf_mat w;
    uint8_t block[34];
    float x[64], y[2 * 3];
    char *scratch = guarded(gf_matmul_scratch(2, 32));
    bind(&w, GF_Q8_0, GF_PANELS, 3, 32);
    for (int row = 0; row < 3; row++) {
        block[0] = 0, block[1] = 0x3c; /* 1 */
        for (int i = 0; i < 32; i++) block[2 + i] = row == 0 ? 0x80 : row == 1 ? 0x7f : i % 2 ? 0x80 : 0x7f;
        gf_mat_put_blocks(&w, row, 0, block, GF_Q8_0, 32);
    }
    for (int i = 0; i < 32; i++) x[i] = 127, x[32 + i] = i % 2 ? 127 : -127;
    for (int n = 1; n <= 2; n++) {
        gf_matmul(y, x, &w, NULL, n, scratch, NULL);
        CHECK(y[0] == -128 * 127 * 32 && y[1] == 127 * 127 * 32 && y[2] == -127 * 16);
        if (n == 2) CHECK(y[3] == 0 && y[4] == 0 && y[5] == -127 * 255 * 16);
    }
    /* values that are not finite reach the result; blocks of tiny values count as 0 */
    for (int bad = 0; bad < 3; bad++) {
        x[5] = bad == 0 ? NAN : bad == 1 ? INFINITY : -INFINITY;
        gf_matmul(y, x, &w, NULL, 1, scratch, NULL);
        CHECK(isnan(y[0]) && isnan(y[1]) && isnan(y[2]));
    }
    for (int i = 0; i < 32; i++) x[i] = 0x1p-140f;
    gf_matmul(y, x, &w, NULL, 1, scratch, NULL);
    CHECK(y[0] == 0 && y[1] == 0 && y[2] == 0);
    /* f16: every finite value, subnormals included, and activations too large to be multiplied by 2^112 */
    struct gf_mat h;
    float *hx = floats(256), *hy = floats(248), *big = floats(248), *many = floats(2 * 248);
    char *hs = guarded(gf_matmul_scratch(2, 256));
    bind(&h, GF_F16, GF_PANELS, 248, 256);
    for (int i = 0; i < 248; i++) {
        uint16_t row[256];
        float values[256];
        for (int j = 0; j < 256; j++) row[j] = (uint16_t)((i < 124 ? i : i + 4) * 256 + j);
        gf_dequantize(values, row, GF_F16, 256), gf_mat_put(&h, i, 0, values, 256);
    }
    for (int large = 0; large < 2; large++) {
        float two[512];
        fill(two, 512, large ? 1e5f : 1);
        memcpy(hx, two, 1024);
        gf_matmul(hy, hx, &h, NULL, 1, hs, NULL);
        gf_matmul_ref(big, hx, &h, NULL, 1, hs, NULL);
        gf_matmul(many, two, &h, NULL, 2, hs, NULL);
        CHECK_BITS(many, hy, 248 * 4);
        for (int i = 0; i < 248; i++) { /* bound from the largest weight of the row */
            double top = fabs(f16_value((uint32_t)(i < 124 ? i : i + 4) * 256 + 255));
            CHECK_NEAR(hy[i], big[i], 256 * 256 * EPS * top * (large ? 1e5 : 1));
        }
        record(hy, 248 * 4);
    }
    gf_matmul(y, x, &w, NULL, 0, scratch, NULL); /* no token: nothing happens */
    release();
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* Position `slot` of a block as float, by the layout that kernels.h describes. */
static void kv_get(int type, const void *keys, const void *values, int slot, float *k, float *v, int d) {
    const float *k_scale = (const float *)((const char *)keys + (d + 3) / 4 * 4 * GF_KV_BLOCK);
    const float *v_scale = (const float *)((const char *)values + d * GF_KV_BLOCK);
    for (int i = 0; i < d; i++) {
        const int key = i * GF_KV_BLOCK + slot, value = slot * d + i;
        const int key_4 = (i / 4 * GF_KV_BLOCK + slot) * 4 + i % 4, value_4 = (slot / 4 * d + i) * 4 + slot % 4;
        switch (type) {
        case GF_KV_F32: k[i] = ((const float *)keys)[key], v[i] = ((const float *)values)[value]; break;
        case GF_KV_F16:
            k[i] = gf_f16_to_f32(((const uint16_t *)keys)[key]);
            v[i] = gf_f16_to_f32(((const uint16_t *)values)[value]);
            break;
        default:
            k[i] = (float)(int8_t)(((const uint8_t *)keys)[key_4] ^ gf_dot_flip(key_4 % 2)) * k_scale[slot];
            v[i] = (float)((const int8_t *)values)[value_4] * v_scale[slot];
        }
    }
}

static void attention_matches_ref(void) {
    static const int heads[] = {1, 2, 3, 4, 6, 8, 15, 16, 24, 32, 33, 48, 64, 80, 128, 256, 300};
    for (int type = 0; type < GF_N_KV_TYPES; type++)
        for (int h = 0; h < 17; h++) {
            int d = heads[h], m = 7, ldq = d + 1, lds = 70, ldz = d + 2;
            void *kb = guarded(gf_kv_key_bytes(type, d)), *vb = guarded(gf_kv_value_bytes(type, d));
            float *q = floats(m * ldq - 1), *s = floats(m * lds - 6), *sr = floats(m * lds - 6);
            float *k = floats(64 * d), *v = floats(64 * d), *kr = floats(64 * d), *vr = floats(64 * d);
            float *p = floats(m * lds - 6), *z = floats(m * ldz - 2), *zr = floats(m * ldz - 2);
            memset(kb, 0, gf_kv_key_bytes(type, d));
            memset(vb, 0xff, gf_kv_value_bytes(type, d)); /* unwritten values are NaN */
            fill(q, m * ldq - 1, 2), fill(k, 64 * d, 2), fill(v, 64 * d, 2), fill(p, m * lds - 6, 1);
            /* every second case without negative weights, like those of softmax */
            for (int i = 0; h % 2 && i < m * lds - 6; i++) p[i] = fabsf(p[i]);
            int count = 1 + (h * 7 + type * 13) % 64;
            for (int j = 0; j < 64; j++) {
                gf_kv_put(type, kb, NULL, j, k + j * d, NULL, d);
                if (j < count) gf_kv_put(type, NULL, vb, j, NULL, v + j * d, d);
                kv_get(type, kb, vb, j, kr + j * d, vr + j * d, d);
                double top_k = 0, top_v = 0;
                for (int i = 0; i < d; i++) {
                    top_k = fmax(top_k, fabsf(k[j * d + i])), top_v = fmax(top_v, fabsf(v[j * d + i]));
                }
                for (int i = 0; i < d; i++) {
                    double ek = type == GF_KV_F32   ? 0
                                : type == GF_KV_F16 ? fmax(fabsf(k[j * d + i]) * 0x1p-11, 0x1p-25)
                                                    : top_k / 127 * 0.50001;
                    double ev = type == GF_KV_F32   ? 0
                                : type == GF_KV_F16 ? fmax(fabsf(v[j * d + i]) * 0x1p-11, 0x1p-25)
                                                    : top_v / 127 * 0.50001;
                    CHECK_NEAR(kr[j * d + i], k[j * d + i], ek);
                    if (j < count) CHECK_NEAR(vr[j * d + i], v[j * d + i], ev);
                }
            }
            record(kr, 64 * d * 4), record(vr, count * d * 4);
            const void *keys[2] = {kb, kb};
            gf_attn_scores(s, lds, q, ldq, m, type, keys, 1, d, 0.3f);
            float *twice = floats(m * 134 - 6);
            gf_attn_scores(twice, 134, q, ldq, m, type, keys, 2, d, 0.3f);
            for (int t = 0; t < m; t++) {
                CHECK_BITS(twice + t * 134, s + t * lds, 256);
                CHECK_BITS(twice + t * 134 + 64, s + t * lds, 256);
            }
            gf_attn_scores_ref(sr, lds, q, ldq, m, type, kb, d, 0.3f);
            for (int t = 0; t < m; t++)
                for (int j = 0; j < 64; j++) {
                    double sum_abs = 0, sum = 0, top_q = 0, abs_k = 0;
                    for (int i = 0; i < d; i++) {
                        double product = (double)q[t * ldq + i] * kr[j * d + i];
                        sum += product, sum_abs += fabs(product), abs_k += fabsf(kr[j * d + i]);
                        top_q = fmax(top_q, fabsf(q[t * ldq + i]));
                    }
                    double loss = type == GF_KV_Q8 ? top_q / 127 * 0.50001 * abs_k : 0;
                    double bound = 0.3 * (d + 3) * EPS * (sum_abs + loss);
                    CHECK_NEAR(s[t * lds + j], sr[t * lds + j], bound);
                    CHECK_NEAR(s[t * lds + j], 0.3 * sum, bound + 0.3 * loss);
                }
            for (int t = 0; t < m; t++) record(s + t * lds, 256);
            for (int k_at_once = 1; k_at_once < 7; k_at_once++)
                for (int t = 0; t + k_at_once <= m; t++) {
                    gf_attn_scores(sr, lds, q + t * ldq, ldq, k_at_once, type, keys, 1, d, 0.3f);
                    for (int i = 0; i < k_at_once; i++) CHECK_BITS(sr + i * lds, s + (t + i) * lds, 256);
                }
            for (int zeros = 0; zeros < 3; zeros++) { /* none, a causal triangle, all of some rows */
                for (int t = 0; zeros && t < m; t++)
                    for (int j = 0; j < 64; j++)
                        if (zeros == 1 ? j > count - m + t : t % 2) p[t * lds + j] = 0;
                for (int i = 0; i < m * ldz - 2; i++) z[i] = zr[i] = (float)(i % 5) - 2;
                gf_attn_mix(z, ldz, p, lds, m, type, vb, count, d);
                gf_attn_mix_ref(zr, ldz, p, lds, m, type, vb, count, d);
                for (int t = 0; t < m; t++)
                    for (int i = 0; i < d; i++) {
                        double sum_abs = 2, sum = (double)((t * ldz + i) % 5) - 2;
                        for (int j = 0; j < count; j++) {
                            double product = (double)p[t * lds + j] * vr[j * d + i];
                            sum += product, sum_abs += fabs(product);
                        }
                        CHECK_NEAR(z[t * ldz + i], zr[t * ldz + i], (count + 3) * EPS * sum_abs);
                        /* 14-bit weights are off by half a unit each, times |V| / scale <= 127 */
                        double loss = 0, most = 0;
                        for (int j = 0; type == GF_KV_Q8 && j < count; j++) {
                            const float *scale = (const float *)((char *)vb + 64 * d);
                            most = fmax(most, fabsf(p[t * lds + j]) * scale[j]);
                        }
                        loss = 0.50001 * most / 16383 * 127 * count;
                        CHECK_NEAR(z[t * ldz + i], sum, (count + 3) * EPS * sum_abs + loss);
                    }
                record(z, (m * ldz - 2) * 4);
                for (int k_at_once = 1; k_at_once < 7; k_at_once++)
                    for (int t = 0; t + k_at_once <= m; t++) {
                        for (int i = 0; i < k_at_once * ldz - 2; i++) zr[i] = (float)((t * ldz + i) % 5) - 2;
                        gf_attn_mix(zr, ldz, p + t * lds, lds, k_at_once, type, vb, count, d);
                        CHECK_BITS(zr, z + t * ldz, (k_at_once * ldz - 2) * 4);
                    }
            }
            release();
        }
    /* p = 0 adds nothing, even if V is NaN */
    float v[8], z[8] = {-0.0f, 1, 2, 3, 4, 5, 6, 7}, p[2] = {0, 0.5f}, zs[16];
    for (int type = 0; type < GF_N_KV_TYPES; type++) {
        void *vb = guarded(gf_kv_value_bytes(type, 8));
        memset(vb, 0xff, gf_kv_value_bytes(type, 8));
        for (int i = 0; i < 8; i++) v[i] = (float)i;
        gf_kv_put(type, NULL, vb, 1, NULL, v, 8);
        memcpy(zs, z, 32);
        gf_attn_mix(zs, 8, p, 2, 1, type, vb, 1, 8);
        for (int i = 0; i < 8; i++) CHECK(zs[i] == z[i]);
        gf_attn_mix(zs, 8, p, 2, 1, type, vb, 2, 8);
        CHECK_NEAR(zs[7], 10.5, 0.03);
        CHECK_NEAR(zs[1], 1.5, 0.03);
    }
    release();
}

/* ---- the pool ---------------------------------------------------------------------------------------------------- */

struct tally {
    int32_t times[1000];
};
static void count_tile(void *ctx, int32_t tile) { ((struct tally *)ctx)->times[tile]++; }

static void pool_runs_each_tile_once(void) {
    CHECK_INT(gf_pool_threads(NULL), 1);
    CHECK(gf_pool_open(1) == NULL);
    for (int threads = 1; threads <= 3; threads++) {
        static struct tally t;
        memset(&t, 0, sizeof t);
        int jobs = 300;
        for (int job = 0; job < jobs; job++) gf_pool_run(pools[threads], count_tile, &t, job % 3 ? 1000 : 7);
        for (int i = 0; i < 1000; i++) CHECK_INT(t.times[i], i < 7 ? jobs : jobs - jobs / 3);
        gf_pool_run(pools[threads], count_tile, &t, 0);
        if (pools[threads]) CHECK_INT(gf_pool_threads(pools[threads]), threads);
    }
    for (int i = 0; i < 20; i++) { /* opened, used for one job, closed */
        static struct tally t;
        struct gf_pool *p = gf_pool_open(3);
        memset(&t, 0, sizeof t);
        gf_pool_run(p, count_tile, &t, i);
        for (int j = 0; j < i; j++) CHECK_INT(t.times[j], 1);
        gf_pool_close(p);
    }
}

static void every_build_has_the_same_bits(void) {
    printf("  hash of all outputs: 0x%016llx\n", (unsigned long long)hash);
    CHECK(hash == EVERY_BUILD);
}

int main(void) {
    gf_kernels_init();
    pools[2] = gf_pool_open(2), pools[3] = gf_pool_open(3);
    printf("kernels: %s, threads: %s\n", gf_kernels_name(), pools[2] ? "1 to 3" : "1 only");
    RUN(f16_conversion_is_exact_and_rounds_to_even);
    RUN(exp_tanh_erf_are_accurate);
    RUN(activations_are_accurate);
    RUN(elementwise_kernels_match_ref);
    RUN(norms_match_ref);
    RUN(softmax_logsumexp_and_argmax_match_ref);
    RUN(rope_matches_ref);
    RUN(block_formats_match_hand_computed_bytes);
    RUN(quantising_loses_at_most_half_a_step);
    RUN(matrices_have_the_documented_sizes);
    RUN(matrices_return_the_values_that_were_stored);
    RUN(matmul_matches_ref_and_does_not_depend_on_the_batch);
    RUN(matmul_handles_extreme_bytes_and_values);
    RUN(attention_matches_ref);
    RUN(pool_runs_each_tile_once);
    gf_pool_close(pools[2]), gf_pool_close(pools[3]);
    RUN(every_build_has_the_same_bits);
    return check_end();
}
