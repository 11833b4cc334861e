/* rows.c - the fast kernels on rows and single values: exp, tanh, erf, activations, norms, softmax, logsumexp, argmax,
 * rope. Products are in matmul.c and matmul_int8.c, attention over cached keys and values in attend.c and
 * attend_values.c, training's wider versions in train_rows.c.
 *
 * Tails run through the same vector operations with unused lanes, so that a value's bits do not depend on its
 * position. Sums over a row put value i into one of 16 chains, chain i mod 16, and add the chains
 * up in a fixed tree: appending zeros changes nothing. */
#include "base/log.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "kernels/ref.h" /* gf_layernorm_ref, gf_rmsnorm_ref */
#include "kernels/simd.h"
#include <math.h> /* sqrtf, correctly rounded everywhere */

/* ---- exp, tanh, erf ---------------------------------------------------------------------------------------------- */

/* exp(x) = 2^k exp(r), x = k ln2 + r, |r| <= ln2 / 2. Returns exp(r); k is in the low bits of *z. ln2 in two parts, the
 * first of 12 bits so that k times it is exact; the polynomial is Cephes' expf (Moshier 1989). */
GF_INLINE v128 exp_reduced(v128 x, v128 *z) {
    *z = f4_add(f4_mul(x, F4(1.44269504f)), F4(12582912.0f)); /* see i32x4_nearest */
    v128 k = f4_sub(*z, F4(12582912.0f));
    v128 r = f4_sub(x, f4_mul(k, F4(0.693359375f)));
    r = f4_sub(r, f4_mul(k, F4(-2.12194440e-4f)));
    v128 p = f4_add(f4_mul(F4(1.9875691500e-4f), r), F4(1.3981999507e-3f));
    p = f4_add(f4_mul(p, r), F4(8.3334519073e-3f));
    p = f4_add(f4_mul(p, r), F4(4.1665795894e-2f));
    p = f4_add(f4_mul(p, r), F4(1.6666665459e-1f));
    p = f4_add(f4_mul(p, r), F4(5.0000001201e-1f));
    return f4_add(f4_add(f4_mul(f4_mul(r, r), p), r), F4(1.0f));
}

/* The last factor 2 is taken apart, so that 2^128 can be passed. Results below 2^-125.5 become 0. */
GF_INLINE v128 f4_exp(v128 x) {
    v128 zero = f4_lt(x, F4(-86.98f)), z;
    v128 p = exp_reduced(f4_min(v_andnot(x, zero), F4(89.0f)), &z); /* lanes to be 0 stay clear of subnormals: slow */
    v128 half = f4_mul(p, i32x4_add(i32x4_shl(z, 23), I32X4(126 << 23))); /* 2^(k-1) */
    return v_andnot(f4_add(half, half), zero);
}

/* The same where -86 <= x <= 1, or x is NaN. */
GF_INLINE v128 f4_exp_in_range(v128 x) {
    v128 z, p = exp_reduced(x, &z);
    return f4_mul(p, i32x4_add(i32x4_shl(z, 23), I32X4(127 << 23)));
}

/* exp(x) for x <= 0, with at least exp(-86), 4e-38: for sums that are 1 or more, where so little is lost in rounding.
 * exp(x) = 2^k 2^r, x log2(e) = k + r, |r| <= 1/2; the polynomial is that of Cephes' exp2f. The rounding of x log2(e)
 * is a relative error of up to 4e-8 |x|. NaN stays NaN. A third less work than f4_exp. */
GF_INLINE v128 f4_exp_share(v128 x) {
    v128 t = f4_mul(f4_max(x, F4(-86.0f)), F4(1.44269504f)), z = f4_add(t, F4(12582912.0f)); /* see i32x4_nearest */
    v128 r = f4_sub(t, f4_sub(z, F4(12582912.0f)));
    v128 p = f4_add(f4_mul(F4(1.535336188319500e-4f), r), F4(1.339887440266574e-3f));
    p = f4_add(f4_mul(p, r), F4(9.618437357674640e-3f));
    p = f4_add(f4_mul(p, r), F4(5.550332471162809e-2f));
    p = f4_add(f4_mul(p, r), F4(2.402264791363012e-1f));
    p = f4_add(f4_mul(p, r), F4(6.931472028550421e-1f));
    p = f4_add(f4_mul(p, r), F4(1.0f));
    return f4_mul(p, i32x4_add(i32x4_shl(z, 23), I32X4(127 << 23)));
}

/* Below 0.625 Cephes' odd polynomial, from there 1 - 2 / (exp(2|x|) + 1). */
GF_INLINE v128 f4_tanh(v128 x) {
    v128 a = f4_abs(x), sign = v_and(x, I32X4(0x80000000)), z = f4_mul(x, x);
    v128 e = f4_exp(f4_add(a, a)), one = F4(1.0f);
    v128 big = f4_sub(one, f4_div(F4(2.0f), f4_add(e, one)));
    v128 p = F4(-5.70498872745e-3f);
    p = f4_add(f4_mul(p, z), F4(2.06390887954e-2f));
    p = f4_add(f4_mul(p, z), F4(-5.37397155531e-2f));
    p = f4_add(f4_mul(p, z), F4(1.33314422036e-1f));
    p = f4_add(f4_mul(p, z), F4(-3.33332819422e-1f));
    v128 small = f4_add(f4_mul(f4_mul(p, z), a), a);
    return v_or(sign, v_select(f4_lt(a, F4(0.625f)), small, big));
}

/* Up to 475/512 an odd polynomial, beyond it 1 - exp of one; the coefficients are N. Juffa's. From
 * 4 on erf is 1 in float. The exponent is -18 or more. */
GF_INLINE v128 f4_erf(v128 x) {
    v128 a = f4_min(f4_abs(x), F4(4.0f)), sign = v_and(x, I32X4(0x80000000));
    v128 s = f4_mul(a, a);
    v128 r = f4_add(f4_mul(F4(-1.72853470e-5f), a), F4(3.83197126e-4f));
    v128 u = f4_add(f4_mul(F4(-3.88396438e-3f), a), F4(2.42546219e-2f));
    r = f4_add(f4_mul(r, s), u);
    r = f4_add(f4_mul(r, a), F4(-1.06777877e-1f));
    r = f4_add(f4_mul(r, a), F4(-6.34846687e-1f));
    r = f4_add(f4_mul(r, a), F4(-1.28717512e-1f));
    r = f4_sub(f4_mul(r, a), a);
    v128 big = f4_sub(F4(1.0f), f4_exp_in_range(r));
    v128 p = F4(-5.96761703e-4f);
    p = f4_add(f4_mul(p, s), F4(4.99119423e-3f));
    p = f4_add(f4_mul(p, s), F4(-2.67681349e-2f));
    p = f4_add(f4_mul(p, s), F4(1.12819925e-1f));
    p = f4_add(f4_mul(p, s), F4(-3.76125336e-1f));
    p = f4_add(f4_mul(p, s), F4(1.28379166e-1f));
    v128 small = f4_add(f4_mul(p, a), a);
    return v_or(sign, v_select(f4_lt(F4(0.927734375f), a), big, small));
}

/* x / (1 + exp(-x)) */
GF_INLINE v128 f4_silu(v128 x) {
    v128 e = f4_exp(v_xor(x, I32X4(0x80000000)));
    return f4_div(x, f4_add(F4(1.0f), e));
}

/* (1 + tanh u) / 2 = 1 / (1 + exp(-2u)), which keeps its digits where tanh is near -1. */
GF_INLINE v128 f4_gelu_tanh(v128 x) {
    v128 cube = f4_mul(f4_mul(f4_mul(x, x), x), F4(0.044715f));
    v128 e = f4_exp(f4_mul(f4_add(x, cube), F4(-1.5957691216f))); /* -2 sqrt(2/pi) */
    return f4_div(x, f4_add(F4(1.0f), e));
}

GF_INLINE v128 f4_gelu_erf(v128 x) {
    v128 e = f4_erf(f4_mul(x, F4(0.70710678f)));
    return f4_mul(f4_mul(x, F4(0.5f)), f4_add(F4(1.0f), e));
}

/* ---- elementwise ------------------------------------------------------------------------------------------------- */

/* A loop over i < n: y[i] = EXPR, an expression of a = A[i] and b = B[i]. MAP_4: four at a time. MAP_8: eight, for long
 * expressions, so that two independent chains hide each other's latency and share the loads of constants. */
#define MAP_4(y, A, B, n, EXPR)                                                                                        \
    do {                                                                                                               \
        int64_t i = 0;                                                                                                 \
        MAP_REST(y, A, B, n, EXPR);                                                                                    \
    } while (0)
#define MAP_8(y, A, B, n, EXPR)                                                                                        \
    do {                                                                                                               \
        int64_t i = 0;                                                                                                 \
        for (; i + 8 <= (n); i += 8) {                                                                                 \
            v128 r[2];                                                                                                 \
            GF_UNROLL                                                                                                  \
            for (int j = 0; j < 2; j++) {                                                                              \
                v128 a = v_load((A) + i + 4 * j), b = v_load((B) + i + 4 * j);                                         \
                (void)b;                                                                                               \
                r[j] = EXPR;                                                                                           \
            }                                                                                                          \
            v_store((y) + i, r[0]), v_store((y) + i + 4, r[1]);                                                        \
        }                                                                                                              \
        MAP_REST(y, A, B, n, EXPR);                                                                                    \
    } while (0)
#define MAP_REST(y, A, B, n, EXPR)                                                                                     \
    do {                                                                                                               \
        for (; i + 4 <= (n); i += 4) {                                                                                 \
            v128 a = v_load((A) + i), b = v_load((B) + i);                                                             \
            (void)b;                                                                                                   \
            v_store((y) + i, EXPR);                                                                                    \
        }                                                                                                              \
        if (i < (n)) {                                                                                                 \
            v128 a = v_load_first((A) + i, (n)-i), b = v_load_first((B) + i, (n)-i);                                   \
            (void)b;                                                                                                   \
            v_store_first((y) + i, EXPR, (n)-i);                                                                       \
        }                                                                                                              \
    } while (0)

void gf_add(float *y, const float *p, const float *q, int64_t n) { MAP_4(y, p, q, n, f4_add(a, b)); }
void gf_scale(float *y, const float *x, float s, int64_t n) {
    v128 k = f4_splat(s);
    MAP_4(y, x, x, n, f4_mul(k, a));
}
void gf_axpy(float *y, const float *x, float s, int64_t n) {
    v128 k = f4_splat(s);
    MAP_4(y, x, y, n, f4_add(b, f4_mul(k, a)));
}
void gf_relu(float *y, const float *x, int64_t n) { /* NaN stays NaN */
    MAP_4(y, x, x, n, v_andnot(a, f4_lt(a, f4_splat(0))));
}
void gf_gelu_erf(float *y, const float *x, int64_t n) { MAP_8(y, x, x, n, f4_gelu_erf(a)); }
void gf_gelu_tanh(float *y, const float *x, int64_t n) { MAP_8(y, x, x, n, f4_gelu_tanh(a)); }
void gf_silu_mul(float *y, const float *gate, const float *up, int64_t n) {
    MAP_8(y, gate, up, n, f4_mul(f4_silu(a), b));
}
void gf_exp(float *y, const float *x, int64_t n) { MAP_8(y, x, x, n, f4_exp(a)); }
void gf_tanh(float *y, const float *x, int64_t n) { MAP_4(y, x, x, n, f4_tanh(a)); }
void gf_erf(float *y, const float *x, int64_t n) { MAP_4(y, x, x, n, f4_erf(a)); }

/* ---- sums over a row --------------------------------------------------------------------------------------------- */

enum term { TERM_X, TERM_SQUARE, TERM_DEVIATION, TERM_EXP, TERM_EXP_SHARE };

GF_INLINE v128 term(enum term kind, v128 x, v128 centre) {
    if (kind == TERM_X) return x;
    if (kind == TERM_SQUARE) return f4_mul(x, x);
    x = f4_sub(x, centre);
    if (kind == TERM_EXP_SHARE) return f4_exp_share(x);
    return kind == TERM_EXP ? f4_exp(x) : f4_mul(x, x);
}

/* Sum of the terms of x[0..n); each term is also written to y unless that is NULL. */
GF_INLINE float row_sum(enum term kind, float *y, const float *x, int64_t n, float c) {
    v128 s[4] = {f4_splat(0), f4_splat(0), f4_splat(0), f4_splat(0)}, centre = f4_splat(c);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        GF_UNROLL
        for (int j = 0; j < 4; j++) {
            v128 t = term(kind, v_load(x + i + 4 * j), centre);
            if (y) v_store(y + i + 4 * j, t);
            s[j] = f4_add(s[j], t);
        }
    }
    GF_UNROLL
    for (int j = 0; j < 4; j++) {
        int64_t left = n - i - 4 * j;
        if (left >= 4) {
            v128 t = term(kind, v_load(x + i + 4 * j), centre);
            if (y) v_store(y + i + 4 * j, t);
            s[j] = f4_add(s[j], t);
        } else if (left > 0) {
            v128 t = v_and(term(kind, v_load_first(x + i + 4 * j, left), centre), i32x4_mask_first(left));
            if (y) v_store_first(y + i + 4 * j, t, left);
            s[j] = f4_add(s[j], t);
        }
    }
    return f4_sum(f4_add(f4_add(s[0], s[1]), f4_add(s[2], s[3])));
}

/* Largest of x[0..n), n >= 1; NaN is skipped. */
static float row_max(const float *x, int64_t n) {
    v128 m = v_splat32(x), m2 = m;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) m = f4_max(m, v_load(x + i)), m2 = f4_max(m2, v_load(x + i + 4));
    m = f4_max(m, m2);
    for (; i < n; i++) m = f4_max(m, v_splat32(x + i));
    return f4_max_lane(m);
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

/* Where the squares of a row overflow, from 1.9e19 on, the definitions compute it in double, before the gain. */

void gf_layernorm(float *y, const float *x, const float *gain, const float *bias, float *mean, float *rstd, int32_t n,
                  int32_t d, float eps) {
    for (int32_t row = 0; row < n; row++, x += d, y += d) {
        float mu = row_sum(TERM_X, NULL, x, d, 0) / (float)d;
        float r = 1.0f / sqrtf(row_sum(TERM_DEVIATION, NULL, x, d, mu) / (float)d + eps);
        v128 m = f4_splat(mu), k = f4_splat(r);
        if (!(r > 0)) {
            gf_layernorm_ref(y, x, NULL, NULL, &mu, &r, 1, d, eps);
            if (gain) MAP_4(y, y, gain, d, f4_mul(a, b));
        } else if (gain)
            MAP_4(y, x, gain, d, f4_mul(f4_mul(f4_sub(a, m), k), b));
        else
            MAP_4(y, x, x, d, f4_mul(f4_sub(a, m), k));
        if (bias) MAP_4(y, y, bias, d, f4_add(a, b));
        if (mean) mean[row] = mu;
        if (rstd) rstd[row] = r;
    }
}

void gf_rmsnorm(float *y, const float *x, const float *gain, float *rstd, int32_t n, int32_t d, float eps) {
    for (int32_t row = 0; row < n; row++, x += d, y += d) {
        float r = 1.0f / sqrtf(row_sum(TERM_SQUARE, NULL, x, d, 0) / (float)d + eps);
        v128 k = f4_splat(r);
        if (!(r > 0)) {
            gf_rmsnorm_ref(y, x, NULL, &r, 1, d, eps);
            if (gain) MAP_4(y, y, gain, d, f4_mul(a, b));
        } else if (gain)
            MAP_4(y, x, gain, d, f4_mul(f4_mul(a, k), b));
        else
            MAP_4(y, x, x, d, f4_mul(a, k));
        if (rstd) rstd[row] = r;
    }
}

/* ---- softmax, logsumexp, argmax ---------------------------------------------------------------------------------- */

void gf_softmax(float *y, const float *x, int32_t n) {
    v128 sum = f4_splat(row_sum(TERM_EXP, y, x, n, row_max(x, n)));
    MAP_4(y, y, y, n, f4_div(a, sum));
}

/* The row is divided into pieces of fixed length, which threads compute, each relative to its own maximum. The results
 * are added in the order of the pieces. */
enum { LSE_PARTS = 64, LSE_LEAST = 2048 };
struct lse {
    const float *x;
    int32_t n, step;
    float top[LSE_PARTS], sum[LSE_PARTS];
};
static void lse_part(void *ctx, int32_t i) {
    struct lse *s = ctx;
    const float *x = s->x + (int64_t)i * s->step;
    const int32_t left = s->n - i * s->step, n = left < s->step ? left : s->step;
    const float top = s->top[i] = row_max(x, n);
    s->sum[i] = top == -INFINITY ? 0 : row_sum(TERM_EXP_SHARE, NULL, x, n, top);
}

float gf_logsumexp(const float *x, int32_t n, struct gf_pool *pool) {
    if (n <= 0) return -INFINITY;
    const int32_t even = (n / LSE_PARTS + 15) / 16 * 16 + 16;
    struct lse s = {.x = x, .n = n, .step = even > LSE_LEAST ? even : LSE_LEAST};
    const int32_t parts = (n - 1) / s.step + 1;
    gf_pool_run(pool, lse_part, &s, parts);
    const float top = row_max(s.top, parts);
    if (top == -INFINITY || top == INFINITY) return top;
    float sum = 0;
    for (int32_t i = 0; i < parts; i++) s.top[i] -= top;
    gf_exp(s.top, s.top, parts);
    for (int32_t i = 0; i < parts; i++) sum += s.sum[i] * s.top[i];
    return sum >= 1 ? (float)((double)top + gf_log(sum)) : sum; /* else NaN */
}

/* First the largest value and the group of 64 that holds it, then its index in that group. */
int32_t gf_argmax(const float *x, int32_t n) {
    float top = -INFINITY;
    int32_t from = 0;
    v128 number = i32x4_splat(-1); /* lanes without a NaN so far */
    for (int32_t i = 0; i < n; i += 64) {
        v128 m = f4_splat(-INFINITY), l = m;
        int32_t j = i, end = n - i < 64 ? n : i + 64;
        for (; j + 8 <= end; j += 8) {
            v128 a = v_load(x + j), b = v_load(x + j + 4);
            number = v_and(number, v_and(f4_eq(a, a), f4_eq(b, b)));
            m = f4_max(m, a), l = f4_max(l, b);
        }
        for (; j < end; j++) {
            v128 a = v_splat32(x + j);
            number = v_and(number, f4_eq(a, a)), m = f4_max(m, a);
        }
        float here = f4_max_lane(f4_max(m, l));
        if (here > top) top = here, from = i;
    }
    if (v_any(v_xor(number, i32x4_splat(-1))) || !(top < INFINITY) || top == -INFINITY) return -1;
    while (x[from] != top) from++;
    return from;
}

/* ---- rope -------------------------------------------------------------------------------------------------------- */

static void rope_half(float *x, const float *c, const float *s, int32_t half) {
    float *z = x + half;
    int32_t j = 0;
    for (; j + 4 <= half; j += 4) {
        v128 a = v_load(x + j), b = v_load(z + j), cv = v_load(c + j), sv = v_load(s + j);
        v_store(x + j, f4_sub(f4_mul(a, cv), f4_mul(b, sv)));
        v_store(z + j, f4_add(f4_mul(a, sv), f4_mul(b, cv)));
    }
    for (; j < half; j++) {
        float a = x[j], b = z[j];
        x[j] = a * c[j] - b * s[j], z[j] = a * s[j] + b * c[j];
    }
}

static void rope_adjacent(float *x, const float *c, const float *s, int32_t half) {
    int32_t j = 0;
    for (; j + 4 <= half; j += 4) {
        v128 p = v_load(x + 2 * j), q = v_load(x + 2 * j + 4), cv = v_load(c + j), sv = v_load(s + j);
        v128 a = v_evens(p, q), b = v_odds(p, q);
        v128 u = f4_sub(f4_mul(a, cv), f4_mul(b, sv)), v = f4_add(f4_mul(a, sv), f4_mul(b, cv));
        v_store(x + 2 * j, v_zip_low(u, v)), v_store(x + 2 * j + 4, v_zip_high(u, v));
    }
    for (; j < half; j++) {
        float a = x[2 * j], b = x[2 * j + 1];
        x[2 * j] = a * c[j] - b * s[j], x[2 * j + 1] = a * s[j] + b * c[j];
    }
}

void gf_rope(float *x, int32_t ldx, const float *table, int32_t n, int32_t n_heads, int32_t d_head, int32_t pairs) {
    int32_t half = d_head / 2;
    for (int32_t i = 0; i < n; i++, x += ldx, table += d_head)
        for (int32_t h = 0; h < n_heads; h++) {
            if (pairs == GF_ROPE_HALF)
                rope_half(x + h * d_head, table, table + half, half);
            else
                rope_adjacent(x + h * d_head, table, table + half, half);
        }
}
