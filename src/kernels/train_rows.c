/* train_rows.c - softmax and SiLU for training, see train_rows.h. Sixteen values at a time, in vectors that the
 * compiler splits into registers of the machine's width. */
#include "kernels/train_rows.h"
#include <math.h>
#include <string.h>

enum { W = 16 };
typedef float lanes __attribute__((vector_size(W * sizeof(float))));

/* v = values i .. i + 15 of x; `fill` where there are only n. */
static inline void load(lanes *v, const float *x, int32_t i, int32_t n, float fill) {
    if (i + W <= n) {
        memcpy(v, x + i, sizeof *v);
        return;
    }
    const lanes zero = {0};
    *v = zero + fill;
    memcpy(v, x + i, (size_t)(n - i) * sizeof *x);
}
static inline void store(float *y, const lanes *v, int32_t i, int32_t n) {
    if (i + W <= n)
        memcpy(y + i, v, sizeof *v);
    else
        memcpy(y + i, v, (size_t)(n - i) * sizeof *y);
}

#if defined(GF_IN_DOUBLE) /* gradient_test.c checks the formulas below in double */
static inline void exp_w(lanes *y) {
    for (int i = 0; i < W; i++) (*y)[i] = exp((*y)[i]);
}
static inline void larger(lanes *a, const lanes *b) {
    for (int i = 0; i < W; i++) (*a)[i] = (*b)[i] > (*a)[i] ? (*b)[i] : (*a)[i];
}
#else
typedef int32_t whole __attribute__((vector_size(W * sizeof(int32_t))));

/* a where the mask is set, else b. A macro, because compilers warn about the calling convention of functions that
 * return such wide vectors. */
#define SELECT(mask, a, b) (lanes)(((mask) & (whole)(a)) | (~(mask) & (whole)(b)))
static inline void larger(lanes *a, const lanes *b) { *a = SELECT(*b > *a, *b, *a); }

/* e^x = 2^k e^r, k = round(x / ln 2), |r| <= ln 2 / 2, e^r by the polynomial of Cephes' expf. Below
 * -87 the result is 0, above 88 it is e^88: softmax and the sigmoid need no more. */
static inline void exp_w(lanes *y) {
    const lanes zero = {0}, low = zero - 87.0f, high = zero + 88.0f, x = *y;
    lanes v = SELECT(x > high, high, x), k, p;
    v = SELECT(v < low, low, v);
    k = v * 1.44269504f + 12582912.0f - 12582912.0f; /* adding 1.5 2^23 rounds */
    const lanes r = v - k * 0.693359375f + k * 2.12194440e-4f;
    p = zero + 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const whole power = (__builtin_convertvector(k, whole) + 127) << 23;
    *y = SELECT(x < low, zero, p * (lanes)power);
}
#endif

void gf_softmax_wide(float *y, const float *x, int32_t n) {
    const lanes zero = {0};
    lanes top = zero - INFINITY, sum = zero, v;
    for (int32_t i = 0; i < n; i += W) {
        load(&v, x, i, n, -INFINITY);
        larger(&top, &v);
    }
    float m = top[0], all = 0;
    for (int j = 1; j < W; j++) m = top[j] > m ? top[j] : m;
    for (int32_t i = 0; i < n; i += W) {
        load(&v, x, i, n, -INFINITY);
        v -= m;
        exp_w(&v);
        sum += v;
        store(y, &v, i, n);
    }
    for (int j = 0; j < W; j++) all += sum[j];
    const float by = 1 / all;
    for (int32_t i = 0; i < n; i++) y[i] *= by;
}

void gf_silu_mul_wide(float *y, const float *gate, const float *up, int32_t n) {
    for (int32_t i = 0; i < n; i += W) {
        lanes g, u, e;
        load(&g, gate, i, n, 0);
        load(&u, up, i, n, 0);
        e = -g;
        exp_w(&e);
        e = g / (1 + e) * u;
        store(y, &e, i, n);
    }
}

void gf_silu_mul_back_wide(float *dg, float *du, const float *dy, const float *gate, const float *up, int32_t n) {
    for (int32_t i = 0; i < n; i += W) {
        lanes g, u, y, e;
        load(&g, gate, i, n, 0);
        load(&u, up, i, n, 0);
        load(&y, dy, i, n, 0);
        e = -g;
        exp_w(&e);
        const lanes s = 1 / (1 + e), a = y * u * s * (1 + g * (1 - s)), b = y * g * s;
        store(dg, &a, i, n);
        store(du, &b, i, n);
    }
}
