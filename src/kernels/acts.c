/* acts.c - activations as the products of quantised weights read them: 32 int8 values with one scale, in the order of
 * columns of matmul_int8.c, and what the sum of such a product starts at. */
#include "kernels/shared.h"
#include "kernels/simd.h"

/* The next `bytes` bytes of scratch, rounded up to 64. */
static void *carve(char **next, uint64_t bytes) {
    void *p = *next;
    *next += (bytes + 63) & ~(uint64_t)63;
    return p;
}

struct gf_acts gf_acts_for(const struct gf_mat *w, int32_t n, void *scratch) {
    const enum gf_dot dot = gf_dot_of(w->dtype, n);
    const int is_pair = n == 2 && gf_dtypes[w->dtype].bits == 8 && !gf_dtypes[w->dtype].has_factors;
    const int by_2 = gf_dot_in_parts(dot) || (is_pair && dot != GF_DOT_UNPACKED);
    const int32_t lanes = n == 1 ? 1 : by_2 ? 2 : 4, groups = (n + lanes - 1) / lanes;
    const uint64_t tokens = (uint64_t)lanes * (uint64_t)groups;
    struct gf_acts a = {.dot = dot, .lanes = lanes, .groups = groups, .cols = w->cols};
    a.unit_bytes = gf_dot_in_parts(dot) || dot == GF_DOT_UNPACKED ? 8 : 4;
    char *next = scratch;
    a.q = carve(&next, tokens * (uint64_t)w->cols / 4 * (uint64_t)a.unit_bytes);
    a.scale = carve(&next, tokens * (uint64_t)w->cols / GF_QBLOCK * 4);
    a.sum = carve(&next, tokens * (uint64_t)w->cols / GF_QBLOCK * 4);
    a.start = carve(&next, tokens * (uint64_t)w->cols / GF_QBLOCK * 4 * 4);
    return a;
}

/* 32 floats to integers -127..127 in 8 vectors: x / scale to the nearest, scale = max|x| / 127.
 * A block with an infinity or a NaN gets scale NaN, so that it is not lost. */
static float quantize_block(v128 q[8], const float *x) {
    v128 top = i32x4_splat(0);
    GF_UNROLL
    for (int i = 0; i < 8; i++) q[i] = v_load(x + 4 * i), top = i32x4_max(top, f4_abs(q[i]));
    int32_t bits = i32x4_max_lane(top); /* magnitudes sort alike as integers, with NaN above all */
    float amax;
    memcpy(&amax, &bits, 4);
    float scale = amax / 127.0f, inverse = scale < 0x1p-126f ? 0 : 1.0f / scale;
    if (bits >= 0x7f800000) scale = amax - amax, inverse = 0;
    if (inverse == 0) {
        GF_UNROLL
        for (int i = 0; i < 8; i++) q[i] = i32x4_splat(0);
        return bits >= 0x7f800000 ? scale : 0;
    }
    v128 k = f4_splat(inverse);
    GF_UNROLL
    for (int i = 0; i < 8; i++) q[i] = i32x4_nearest(f4_mul(q[i], k));
    return scale;
}

/* The sum of 8 vectors, in lanes. */
GF_INLINE v128 sum_of_8(const v128 q[8]) {
    v128 low = i32x4_add(i32x4_add(q[0], q[1]), i32x4_add(q[2], q[3]));
    return i32x4_add(low, i32x4_add(i32x4_add(q[4], q[5]), i32x4_add(q[6], q[7])));
}

/* 32 integers as int8, 4 columns at dst + j * step; for weights with factors 8, of which 4 are in each half of the
 * block: 4j .. 4j + 3 and 16 + 4j .. 19 + 4j. */
static void store_bytes(char *dst, int32_t step, const v128 q[8], int factors) {
    char packed[32];
    v128 a = i8x16_narrow(i16x8_narrow(q[0], q[1]), i16x8_narrow(q[2], q[3]));
    v128 b = i8x16_narrow(i16x8_narrow(q[4], q[5]), i16x8_narrow(q[6], q[7]));
    const int32_t part = factors ? 8 : 4;
    char *to = step == part ? dst : packed; /* one token: contiguous */
    v_store(to, factors ? v_zip_low(a, b) : a), v_store(to + 16, factors ? v_zip_high(a, b) : b);
    for (int j = 0; to == packed && !factors && j < 32; j += 4, dst += step) memcpy(dst, packed + j, 4);
    for (int j = 0; to == packed && factors && j < 32; j += 8, dst += step) memcpy(dst, packed + j, 8);
}

/* 32 integers of one of 4 tokens as int16, in pairs of columns: 4j and 4j + 2 at dst + 32 j, 4j + 1 and 4j + 3 behind
 * those of all tokens. */
static void store_int16(char *dst, const v128 q[8]) {
    char packed[64];
    GF_UNROLL
    for (int i = 0; i < 4; i++) {
        v128 pairs = i16x8_narrow(v_evens(q[2 * i], q[2 * i + 1]), v_odds(q[2 * i], q[2 * i + 1]));
        v_store(packed + 16 * i, V_SHUFFLE32(pairs, pairs, 0, 2, 1, 3));
    }
    for (int j = 0; j < 64; j += 4, dst += 16) memcpy(dst, packed + j, 4);
}

/* The 64 bytes of 32 integers in two parts, those of 4 columns at dst + j * step. */
static void spread(char *dst, int32_t step, const char *packed) {
    for (int j = 0; j < 64; j += 8, dst += step) memcpy(dst, packed + j, 8);
}

/* 32 integers for GF_DOT_I16, 4 columns at dst + j * step: x1, x3, 256 x0 - x1, 256 x2 - x3; for weights with factors,
 * of one token, 8 columns as above, first x1, x3 of both fours. even [4]: of the same 8 columns, or of columns 8j ..
 * 8j + 7, the even ones, in lanes. */
static void store_pairs(char *dst, int32_t step, const v128 q[8], v128 even[4], int factors) {
    char packed[64];
    GF_UNROLL
    for (int i = 0; i < 4; i++) {
        v128 u = factors ? q[i] : q[2 * i], v = factors ? q[i + 4] : q[2 * i + 1], odd = v_odds(u, v);
        even[i] = v_evens(u, v);
        v128 pairs = i16x8_narrow(odd, i32x4_sub(i32x4_shl(even[i], 8), odd));
        v_store(packed + 16 * i, factors ? pairs : V_SHUFFLE32(pairs, pairs, 0, 2, 1, 3));
    }
    spread(dst, step, packed);
}

/* 32 integers for GF_DOT_ABS, 4 columns at dst + j * step: |x|, then 0 or -1, the sign of x; for weights with factors,
 * of one token, 8 columns as above, first |x| of both fours. negative [4]: the sum of -x of the negative ones of the
 * same 8 columns, or of columns 8j .. 8j + 7, in two lanes for each four. */
static void store_abs(char *dst, int32_t step, const v128 q[8], v128 negative[4], int factors) {
    char packed[64];
    GF_UNROLL
    for (int i = 0; i < 4; i++) {
        v128 u = factors ? q[i] : q[2 * i], v = factors ? q[i + 4] : q[2 * i + 1];
        v128 u_sign = i32x4_shr(u, 31), v_sign = i32x4_shr(v, 31), zero = i32x4_splat(0);
        negative[i] = i32x4_sub(zero, i32x4_add_pairs(v_and(u, u_sign), v_and(v, v_sign)));
        v128 size = i16x8_narrow(i32x4_sub(v_xor(u, u_sign), u_sign), i32x4_sub(v_xor(v, v_sign), v_sign));
        v128 bytes = i8x16_narrow(size, i16x8_narrow(u_sign, v_sign));
        v_store(packed + 16 * i, factors ? bytes : V_SHUFFLE32(bytes, bytes, 0, 2, 1, 3));
    }
    spread(dst, step, packed);
}

/* Minus what a sum of stored weights times activations is too large by. sum: of the activations; part: for GF_DOT_I16
 * of those of even columns, for GF_DOT_ABS of the magnitudes of negative ones, whose weights w become -w - 1. */
static int32_t start_of(int dtype, enum gf_dot kind, int32_t sum, int32_t part) {
    if (kind == GF_DOT_UNPACKED) return 0;
    if (gf_dtypes[dtype].bits != 8) return -gf_dtypes[dtype].zero * sum;
    if (kind == GF_DOT_UNSIGNED) return -128 * sum;
    return GF_RELAXED ? part : -128 * part;
}

/* start [2][lanes][2]: of the first and the second 8 of both 16 columns of a block (struct gf_acts). */
static void start_factored(int32_t *start, int32_t lanes, int dtype, enum gf_dot kind, const v128 q[8],
                           const v128 parts[4]) {
    for (int p = 0; p < 2; p++, start += 2 * lanes) {
        int32_t e[4];
        v_store(e, i32x4_add(parts[2 * p], parts[2 * p + 1]));
        for (int h = 0; h < 2; h++) {
            int32_t sum = i32x4_sum(i32x4_add(q[4 * h + 2 * p], q[4 * h + 2 * p + 1]));
            start[h] = start_of(dtype, kind, sum, e[2 * h] + e[2 * h + 1]);
        }
    }
}

/* Where a block of 32 columns of one token goes. */
struct destination {
    enum gf_dot dot;
    int32_t dtype;  /* the weights' type */
    int factors;    /* whether they are multiplied with their factors */
    int32_t lanes;  /* tokens of the group */
    char *to;       /* the first unit, or pair of units where there are factors */
    int32_t step;   /* bytes from there to the next one of this token */
    int32_t *start; /* the number, or the first of the numbers, where sums of products start */
};

/* sum: of q; parts: of start_of, in lanes of the columns that store_pairs and store_abs say. */
GF_INLINE void set_start(const struct destination *p, const v128 q[8], int32_t sum, const v128 parts[4]) {
    if (p->factors) {
        start_factored(p->start, p->lanes, p->dtype, p->dot, q, parts);
        return;
    }
    const v128 all = i32x4_add(i32x4_add(parts[0], parts[1]), i32x4_add(parts[2], parts[3]));
    *p->start = start_of(p->dtype, p->dot, sum, i32x4_sum(all));
}

GF_INLINE void put_int16(const struct destination *p, const v128 q[8]) {
    store_int16(p->to, q);
    *p->start = 0;
}

GF_INLINE void put_bytes(const struct destination *p, const v128 q[8], int32_t sum) {
    const v128 none[4] = {i32x4_splat(0), i32x4_splat(0), i32x4_splat(0), i32x4_splat(0)};
    store_bytes(p->to, p->step, q, p->factors);
    set_start(p, q, sum, none);
}

GF_INLINE void put_abs(const struct destination *p, const v128 q[8], int32_t sum) {
    v128 negative[4];
    store_abs(p->to, p->step, q, negative, p->factors);
    set_start(p, q, sum, negative);
}

GF_INLINE void put_pairs(const struct destination *p, const v128 q[8], int32_t sum) {
    v128 even[4];
    store_pairs(p->to, p->step, q, even, p->factors);
    set_start(p, q, sum, even);
}

void gf_acts_fill(struct gf_acts *a, int32_t g, const float *x, int32_t n, int32_t dtype) {
    const enum gf_dot dot = a->dot;
    const int factors = gf_dtypes[dtype].has_factors && dot != GF_DOT_UNPACKED;
    const int32_t blocks = a->cols / GF_QBLOCK, block_bytes = 8 * a->unit_bytes * a->lanes,
                  lane_bytes = dot == GF_DOT_UNPACKED ? 4 : a->unit_bytes * (1 + factors),
                  step = gf_dot_in_parts(dot) ? a->unit_bytes * a->lanes : lane_bytes * a->lanes;
    for (int32_t t = 0; t < a->lanes; t++) {
        const int32_t row = g * a->lanes + t;
        for (int32_t b = 0; b < blocks; b++) {
            const int64_t block = (int64_t)g * blocks + b, first = block * a->lanes;
            const struct destination p = {.dot = dot,
                                          .dtype = dtype,
                                          .factors = factors,
                                          .lanes = a->lanes,
                                          .to = a->q + block * block_bytes + t * lane_bytes,
                                          .step = step,
                                          .start = factors ? a->start + 4 * first + 2 * t : a->start + first + t};
            v128 q[8];
            float scale = 0;
            GF_UNROLL
            for (int i = 0; i < 8; i++) q[i] = i32x4_splat(0);
            if (row < n) scale = quantize_block(q, x + (int64_t)row * a->cols + b * GF_QBLOCK);
            const int32_t sum = i32x4_sum(sum_of_8(q));
            if (dot == GF_DOT_UNPACKED)
                put_int16(&p, q);
            else if (!GF_RELAXED)
                put_pairs(&p, q, sum);
            else if (dot == GF_DOT_ABS)
                put_abs(&p, q, sum);
            else
                put_bytes(&p, q, sum);
            a->scale[first + t] = scale, a->sum[first + t] = scale * (float)sum;
        }
    }
}
