/* acts.c - activations as the products of quantised weights read them: 32 int8 values with one scale, in the order of
 * columns of matmul_int8.c, and what the sum of such a product starts at. */
#include "kernels/shared.h"
#include "kernels/simd.h"

/* The next `bytes` bytes of scratch, rounded up to 64. */
static void *carve(char **at, uint64_t bytes) {
    void *p = *at;
    *at += (bytes + 63) & ~(uint64_t)63;
    return p;
}

void gf_acts_bind(struct gf_acts *a, int32_t n, int32_t cols, int32_t dtype, void *scratch) {
    char *at = scratch;
    a->lanes = n == 1 ? 1 : 4, a->groups = (n + a->lanes - 1) / a->lanes, a->cols = cols;
    a->unit = gf_dot_of(gf_dtypes[dtype].bits) == GF_DOT_I16 ? 8 : 4;
    uint64_t tokens = (uint64_t)a->lanes * (uint64_t)a->groups, blocks = (uint64_t)cols / GF_QBLOCK;
    a->q = carve(&at, tokens * (uint64_t)cols / 4 * (uint64_t)a->unit);
    a->scale = carve(&at, tokens * blocks * 4);
    a->sum = carve(&at, tokens * blocks * 4);
    a->start = carve(&at, tokens * blocks * 2 * 4);
}

/* 32 floats to integers -127..127 in 8 vectors: x / scale to the nearest, scale = max|x| / 127.
 * A block with an infinity or a NaN gets scale NaN, so that it is not lost. */
static float quantize_block(v128 q[8], const float *x) {
    v128 top = i4_splat(0);
    GF_UNROLL
    for (int i = 0; i < 8; i++) q[i] = v_load(x + 4 * i), top = i4_max(top, f4_abs(q[i]));
    int32_t bits = i4_max_lane(top); /* as integers the magnitudes sort alike, with NaN above all */
    float amax;
    memcpy(&amax, &bits, 4);
    float scale = amax / 127.0f, inverse = scale < 0x1p-126f ? 0 : 1.0f / scale;
    if (bits >= 0x7f800000) scale = amax - amax, inverse = 0;
    if (inverse == 0) {
        GF_UNROLL
        for (int i = 0; i < 8; i++) q[i] = i4_splat(0);
        return bits >= 0x7f800000 ? scale : 0;
    }
    v128 k = f4_splat(inverse);
    GF_UNROLL
    for (int i = 0; i < 8; i++) q[i] = i4_nearest(f4_mul(q[i], k));
    return scale;
}

/* The sum of 8 vectors, in lanes. */
GF_INLINE v128 sum_of_8(const v128 q[8]) {
    v128 low = i4_add(i4_add(q[0], q[1]), i4_add(q[2], q[3]));
    return i4_add(low, i4_add(i4_add(q[4], q[5]), i4_add(q[6], q[7])));
}

/* 32 integers as int8, 4 columns at dst + j * step. */
static void store_bytes(char *dst, int32_t step, const v128 q[8]) {
    char packed[32];
    char *to = step == 4 ? dst : packed; /* one token: contiguous */
    GF_UNROLL
    for (int i = 0; i < 8; i += 4)
        v_store(to + 4 * i, b16_narrow(h8_narrow(q[i], q[i + 1]), h8_narrow(q[i + 2], q[i + 3])));
    for (int j = 0; to == packed && j < 8; j++) memcpy(dst + j * step, packed + 4 * j, 4);
}

/* 32 integers for i4_dot, 4 columns at dst + j * step: x1, x3, 256 x0 - x1, 256 x2 - x3. sum [2] = the sums of the even
 * ones of columns 0..15 and 16..31, in lanes. */
static void store_pairs(char *dst, int32_t step, const v128 q[8], v128 sum[2]) {
    char packed[64];
    char *to = step == 8 ? dst : packed;
    sum[0] = sum[1] = i4_splat(0);
    GF_UNROLL
    for (int i = 0; i < 8; i += 2) {
        v128 even = v_evens(q[i], q[i + 1]), odd = v_odds(q[i], q[i + 1]);
        v128 pairs = h8_narrow(odd, i4_sub(i4_shl(even, 8), odd));
        v_store(to + 8 * i, V_SHUFFLE32(pairs, pairs, 0, 2, 1, 3));
        sum[i / 4] = i4_add(sum[i / 4], even);
    }
    for (int j = 0; to == packed && j < 8; j++) memcpy(dst + j * step, packed + 8 * j, 8);
}

/* Minus what a sum of stored weights times activations is too large by. sum, evens: of the activations, and of those of
 * even columns. */
static int32_t start_of(int dtype, enum gf_dot kind, int32_t sum, int32_t evens) {
    if (gf_dtypes[dtype].bits != 8) return -gf_dtypes[dtype].zero * sum;
    return kind == GF_DOT_I16 ? -128 * evens : kind == GF_DOT_UNSIGNED ? -128 * sum : 0;
}

void gf_acts_fill(struct gf_acts *a, int32_t g, const float *x, int32_t ldx, int32_t n, int32_t dtype) {
    int32_t blocks = a->cols / GF_QBLOCK, unit = a->unit, step = unit * a->lanes;
    int bytes = gf_dtypes[dtype].bits == 8, factors = gf_dtypes[dtype].has_factors;
    enum gf_dot kind = gf_dot_of(gf_dtypes[dtype].bits);
    int64_t group_bytes = (int64_t)a->cols / 4 * step;
    for (int32_t t = 0; t < a->lanes; t++) {
        int32_t row = g * a->lanes + t;
        const float *xr = x + (int64_t)row * ldx;
        int64_t at = (int64_t)g * blocks * a->lanes + t;
        for (int32_t b = 0; b < blocks; b++, at += a->lanes) {
            v128 q[8], even[2];
            float scale = 0;
            GF_UNROLL
            for (int i = 0; i < 8; i++) q[i] = i4_splat(0);
            if (row < n) scale = quantize_block(q, xr + b * GF_QBLOCK);
            int32_t sum = i4_sum(sum_of_8(q));
            char *to = a->q + g * group_bytes + (int64_t)b * 8 * step + t * unit;
            if (kind == GF_DOT_I16)
                store_pairs(to, step, q, even);
            else
                store_bytes(to, step, q);
            a->scale[at] = scale, a->sum[at] = scale * (float)sum;
            if (!factors) {
                int32_t evens = kind == GF_DOT_I16 && bytes ? i4_sum(i4_add(even[0], even[1])) : 0;
                a->start[at] = start_of(dtype, kind, sum, evens);
                continue;
            }
            for (int h = 0; h < 2; h++) { /* 16 columns each */
                v128 half = i4_add(i4_add(q[4 * h], q[4 * h + 1]), i4_add(q[4 * h + 2], q[4 * h + 3]));
                a->start[2 * (at - t) + h * a->lanes + t] =
                    start_of(dtype, kind, i4_sum(half), kind == GF_DOT_I16 ? i4_sum(even[h]) : 0);
            }
        }
    }
}
