/* quant.c - converts values between the types of checkpoint files and float (gf_dequantize, gf_quantize).
 *
 * The layouts of blocks are described and read in file_blocks.c, memory layouts of weights are in mat.c. The quantizers
 * follow ggml's quantize_row_*_ref, whose rounding they must share to give the same bytes. */
#include "base/half.h"
#include "kernels/kernels.h"
#include <math.h> /* roundf, fabsf */
#include <string.h>

static int exists(int32_t dtype) { return dtype >= 0 && dtype < GF_N_DTYPES; }
int32_t gf_dtype_block_cols(int32_t dtype) { return exists(dtype) ? gf_dtypes[dtype].block_cols : 1; }
int32_t gf_dtype_block_bytes(int32_t dtype) { return exists(dtype) ? gf_dtypes[dtype].block_bytes : 0; }

static float read_f16(const uint8_t *p) { return gf_f16_to_f32((uint16_t)(p[0] | p[1] << 8)); }

static void write_f16(uint8_t *p, float x) {
    uint16_t h = gf_f32_to_f16(x);
    p[0] = (uint8_t)h, p[1] = (uint8_t)(h >> 8);
}

/* y [32] = the values of one part of a block. The product of scale and factor is exact. */
static void values_of(float *y, const struct gf_ints *b, int has_minimum) {
    for (int i = 0; i < 32; i += 16) {
        const float scale = b->d * (float)b->factor[i / 16], minimum = b->minimum[i / 16];
        for (int j = i; j < i + 16; j++) y[j] = (float)b->q[j] * scale;
        for (int j = i; j < i + 16 && has_minimum; j++) y[j] += minimum;
    }
}

void gf_dequantize(float *y, const void *blocks, int32_t dtype, int32_t n) {
    const uint8_t *p = blocks;
    const int32_t bytes = gf_dtype_block_bytes(dtype), cols = gf_dtype_block_cols(dtype);
    if (dtype == GF_F32) {
        memcpy(y, p, (size_t)n * 4);
    } else if (dtype == GF_F16) {
        for (int32_t i = 0; i < n; i++, p += 2) y[i] = read_f16(p);
    } else if (dtype == GF_BF16) {
        for (int32_t i = 0; i < n; i++, p += 2) y[i] = gf_bf16_to_f32((uint16_t)(p[0] | p[1] << 8));
    } else {
        for (int32_t i = 0; i < n; i += cols, p += bytes)
            for (int32_t part = 0; part < cols / GF_QBLOCK; part++, y += GF_QBLOCK) {
                struct gf_ints b;
                gf_unpack_block(&b, p, dtype, part);
                values_of(y, &b, gf_dtypes[dtype].has_minimum);
            }
    }
}

/* x truncated to an integer; 0 where it is NaN or outside -128..127, which happens where the scale has underflowed or
 * overflowed. */
static int steps(float x) { return x > -129 && x < 128 ? (int)x : 0; }

static void quantize_q8_0(uint8_t *p, const float *x) {
    float amax = 0;
    for (int j = 0; j < 32; j++) amax = fabsf(x[j]) > amax ? fabsf(x[j]) : amax;
    float d = amax / 127, inverse = d != 0 ? 1 / d : 0;
    write_f16(p, d);
    for (int j = 0; j < 32; j++) p[2 + j] = (uint8_t)steps(roundf(x[j] * inverse));
}

static int least(int a, int b) { return a < b ? a : b; }

/* q [32] = steps of a scale, which is returned: the value of largest magnitude becomes step 0, whatever its sign, and 0
 * becomes step `half`. */
static float signed_steps(uint8_t *q, const float *x, int half) {
    float amax = 0, extreme = 0;
    for (int j = 0; j < 32; j++)
        if (fabsf(x[j]) > amax) amax = fabsf(x[j]), extreme = x[j];
    float d = extreme / (float)-half, inverse = d != 0 ? 1 / d : 0;
    for (int j = 0; j < 32; j++) q[j] = (uint8_t)least(2 * half - 1, steps(x[j] * inverse + ((float)half + 0.5f)));
    return d;
}

/* The same from *low, the least value, which becomes step 0; the largest becomes step `top`. */
static float steps_from(float *low, uint8_t *q, const float *x, int top) {
    float most = *low = x[0];
    for (int j = 1; j < 32; j++) *low = x[j] < *low ? x[j] : *low, most = x[j] > most ? x[j] : most;
    float d = (most - *low) / (float)top, inverse = d != 0 ? 1 / d : 0;
    for (int j = 0; j < 32; j++) q[j] = (uint8_t)least(top, steps((x[j] - *low) * inverse + 0.5f));
    return d;
}

/* Write the low four bits of 32 numbers as 16 nibbles, and with `fifth` their fifth bits there. */
static void write_steps(uint8_t *low, uint8_t *fifth, const uint8_t *q) {
    for (int j = 0; j < 16; j++) low[j] = (uint8_t)((q[j] & 15) | (q[j + 16] & 15) << 4);
    if (!fifth) return;
    memset(fifth, 0, 4);
    for (int j = 0; j < 32; j++) fifth[j / 8] |= (uint8_t)((q[j] >> 4) << j % 8);
}

/* q4_0, q5_0 */
static void quantize_signed(uint8_t *p, const float *x, int five) {
    uint8_t q[32];
    write_f16(p, signed_steps(q, x, five ? 16 : 8));
    write_steps(p + (five ? 6 : 2), five ? p + 2 : NULL, q);
}

/* q4_1, q5_1 */
static void quantize_from_least(uint8_t *p, const float *x, int five) {
    uint8_t q[32];
    float low;
    write_f16(p, steps_from(&low, q, x, five ? 31 : 15)), write_f16(p + 2, low);
    write_steps(p + (five ? 8 : 4), five ? p + 4 : NULL, q);
}

/* x / scale to the nearest of low ... high; 0 where the scale is 0. */
static int nearest_step(float x, float scale, int low, int high) {
    const float q = scale != 0 ? nearbyintf(x / scale) : 0;
    return q >= (float)high ? high : q > (float)low ? (int)q : low;
}

/* Scale and minimum of each 32 columns from their range, which contains 0, in 63rds of the largest. ggml searches for
 * better ones. */
static void quantize_q4_k(uint8_t *p, const float *x) {
    float range[8], low[8], most = 0, deepest = 0;
    for (int k = 0; k < 8; k++) {
        float top = 0, bottom = 0;
        for (int j = 32 * k; j < 32 * k + 32; j++)
            top = x[j] > top ? x[j] : top, bottom = x[j] < bottom ? x[j] : bottom;
        range[k] = (top - bottom) / 15, low[k] = -bottom;
        most = range[k] > most ? range[k] : most, deepest = low[k] > deepest ? low[k] : deepest;
    }
    memset(p, 0, 144);
    write_f16(p, most / 63), write_f16(p + 2, deepest / 63);
    const float d = read_f16(p), m = read_f16(p + 2);
    for (int k = 0; k < 8; k++) {
        const int scale = nearest_step(range[k], d, 0, 63), minimum = nearest_step(low[k], m, 0, 63), at = k % 4;
        uint8_t *s = p + 4;
        if (k < 4)
            s[at] = (uint8_t)scale, s[at + 4] = (uint8_t)minimum;
        else {
            s[at + 8] = (uint8_t)((scale & 15) | (minimum & 15) << 4);
            s[at] |= (uint8_t)(scale >> 4 << 6), s[at + 4] |= (uint8_t)(minimum >> 4 << 6);
        }
        for (int j = 0; j < 32; j++) {
            const int q = nearest_step(x[32 * k + j] + m * (float)minimum, d * (float)scale, 0, 15);
            p[16 + k / 2 * 32 + j] |= (uint8_t)(q << k % 2 * 4);
        }
    }
}

/* The value of largest magnitude of each 16 columns becomes -32, and the largest of their scales -128. ggml searches
 * for better ones. */
static void quantize_q6_k(uint8_t *p, const float *x) {
    float scale[16], widest = 0;
    for (int k = 0; k < 16; k++) {
        float extreme = 0;
        for (int j = 16 * k; j < 16 * k + 16; j++) extreme = fabsf(x[j]) > fabsf(extreme) ? x[j] : extreme;
        scale[k] = extreme / -32, widest = fabsf(scale[k]) > fabsf(widest) ? scale[k] : widest;
    }
    memset(p, 0, 210);
    write_f16(p + 208, widest / -128);
    const float d = read_f16(p + 208);
    for (int k = 0; k < 16; k++) {
        const int factor = nearest_step(scale[k], d, -128, 127);
        p[192 + k] = (uint8_t)factor;
        for (int j = 16 * k; j < 16 * k + 16; j++) {
            const int q = nearest_step(x[j], d * (float)factor, -32, 31) + 32, g = j / 32 % 4, l = j % 32;
            p[j / 128 * 64 + g % 2 * 32 + l] |= (uint8_t)((q & 15) << g / 2 * 4);
            p[128 + j / 128 * 32 + l] |= (uint8_t)(q >> 4 << g * 2);
        }
    }
}

void gf_quantize(void *blocks, const float *x, int32_t dtype, int64_t n) {
    uint8_t *p = blocks;
    int32_t bytes = gf_dtype_block_bytes(dtype), cols = gf_dtype_block_cols(dtype);
    if (dtype == GF_F32) {
        memcpy(p, x, (size_t)n * 4);
        return;
    }
    for (int64_t i = 0; i < n; i += cols, p += bytes, x += cols) switch (dtype) {
        case GF_F16: write_f16(p, x[0]); break;
        case GF_BF16: {
            uint16_t h = gf_f32_to_bf16(x[0]);
            p[0] = (uint8_t)h, p[1] = (uint8_t)(h >> 8);
            break;
        }
        case GF_Q8_0: quantize_q8_0(p, x); break;
        case GF_Q4_0: quantize_signed(p, x, 0); break;
        case GF_Q4_1: quantize_from_least(p, x, 0); break;
        case GF_Q5_0: quantize_signed(p, x, 1); break;
        case GF_Q5_1: quantize_from_least(p, x, 1); break;
        case GF_Q4_K: quantize_q4_k(p, x); break;
        case GF_Q6_K: quantize_q6_k(p, x); break;
        }
}
