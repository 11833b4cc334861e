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
    a->start = carve(&at, tokens * blocks * 4 * 4);
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

/* 32 integers as int8, 4 columns at dst + j * step; for weights with factors 8, of which 4 are in each half of the
 * block: 4j .. 4j + 3 and 16 + 4j .. 19 + 4j. */
static void store_bytes(char *dst, int32_t step, const v128 q[8], int factors) {
    char packed[32];
    v128 a = b16_narrow(h8_narrow(q[0], q[1]), h8_narrow(q[2], q[3]));
    v128 b = b16_narrow(h8_narrow(q[4], q[5]), h8_narrow(q[6], q[7]));
    const int32_t part = factors ? 8 : 4;
    char *to = step == part ? dst : packed; /* one token: contiguous */
    v_store(to, factors ? v_zip_low(a, b) : a), v_store(to + 16, factors ? v_zip_high(a, b) : b);
    for (int j = 0; to == packed && !factors && j < 32; j += 4, dst += step) memcpy(dst, packed + j, 4);
    for (int j = 0; to == packed && factors && j < 32; j += 8, dst += step) memcpy(dst, packed + j, 8);
}

/* 32 integers for i4_dot, 4 columns at dst + j * step: x1, x3, 256 x0 - x1, 256 x2 - x3; for weights with factors 8
 * columns as above, first x1, x3 of both fours. even [4]: of the same 8 columns, or of columns 8j .. 8j + 7, the even
 * ones, in lanes. */
static void store_pairs(char *dst, int32_t step, const v128 q[8], v128 even[4], int factors) {
    char packed[64];
    const int32_t part = factors ? 16 : 8;
    char *to = step == part ? dst : packed;
    GF_UNROLL
    for (int i = 0; i < 4; i++) {
        v128 u = factors ? q[i] : q[2 * i], v = factors ? q[i + 4] : q[2 * i + 1], odd = v_odds(u, v);
        even[i] = v_evens(u, v);
        v128 pairs = h8_narrow(odd, i4_sub(i4_shl(even[i], 8), odd));
        v_store(to + 16 * i, factors ? pairs : V_SHUFFLE32(pairs, pairs, 0, 2, 1, 3));
    }
    for (int j = 0; to == packed && !factors && j < 64; j += 8, dst += step) memcpy(dst, packed + j, 8);
    for (int j = 0; to == packed && factors && j < 64; j += 16, dst += step) memcpy(dst, packed + j, 16);
}

/* Minus what a sum of stored weights times activations is too large by. sum, evens: of the activations, and of those of
 * even columns. */
static int32_t start_of(int dtype, enum gf_dot kind, int32_t sum, int32_t evens) {
    if (gf_dtypes[dtype].bits != 8) return -gf_dtypes[dtype].zero * sum;
    return kind == GF_DOT_I16 ? -128 * evens : kind == GF_DOT_UNSIGNED ? -128 * sum : 0;
}

/* start [2][lanes][2]: of the first and the second 8 of both 16 columns of a block (struct gf_acts). */
static void start_factored(int32_t *start, int32_t lanes, int dtype, enum gf_dot kind, const v128 q[8],
                           const v128 even[4]) {
    for (int p = 0; p < 2; p++, start += 2 * lanes) {
        v128 evens = kind == GF_DOT_I16 ? i4_add(even[2 * p], even[2 * p + 1]) : i4_splat(0);
        int32_t e[4];
        v_store(e, evens);
        for (int h = 0; h < 2; h++) {
            int32_t sum = i4_sum(i4_add(q[4 * h + 2 * p], q[4 * h + 2 * p + 1]));
            start[h] = start_of(dtype, kind, sum, e[2 * h] + e[2 * h + 1]);
        }
    }
}

void gf_acts_fill(struct gf_acts *a, int32_t g, const float *x, int32_t ldx, int32_t n, int32_t dtype) {
    int bytes = gf_dtypes[dtype].bits == 8, factors = gf_dtypes[dtype].has_factors;
    enum gf_dot kind = gf_dot_of(gf_dtypes[dtype].bits);
    int32_t blocks = a->cols / GF_QBLOCK, part = a->unit * (1 + factors), step = part * a->lanes;
    int64_t group_bytes = (int64_t)a->cols / 4 * a->unit * a->lanes;
    for (int32_t t = 0; t < a->lanes; t++) {
        int32_t row = g * a->lanes + t;
        const float *xr = x + (int64_t)row * ldx;
        int64_t at = (int64_t)g * blocks * a->lanes + t;
        for (int32_t b = 0; b < blocks; b++, at += a->lanes) {
            v128 q[8], even[4];
            float scale = 0;
            GF_UNROLL
            for (int i = 0; i < 8; i++) q[i] = i4_splat(0);
            if (row < n) scale = quantize_block(q, xr + b * GF_QBLOCK);
            int32_t sum = i4_sum(sum_of_8(q));
            char *to = a->q + g * group_bytes + (int64_t)b * 8 * a->unit * a->lanes + t * part;
            if (kind == GF_DOT_I16)
                store_pairs(to, step, q, even, factors);
            else
                store_bytes(to, step, q, factors);
            a->scale[at] = scale, a->sum[at] = scale * (float)sum;
            if (factors) {
                start_factored(a->start + 4 * (at - t) + 2 * t, a->lanes, dtype, kind, q, even);
                continue;
            }
            v128 evens = kind == GF_DOT_I16 ? i4_add(i4_add(even[0], even[1]), i4_add(even[2], even[3])) : i4_splat(0);
            a->start[at] = start_of(dtype, kind, sum, bytes ? i4_sum(evens) : 0);
        }
    }
}
