/* file_blocks.c - reads the block formats of checkpoint files as integers and scales (gf_unpack_block).
 *
 * d and m are f16, S holds scales, other numbers are counts of bytes; q is the stored number. ggml's layouts:
 *
 *   q8_0    | d | 32 int8 |                           x = q d
 *   q4_0    | d | 16 nibbles |                        x = (q - 8) d
 *   q4_1    | d | m | 16 nibbles |                    x = q d + m
 *   q5_0    | d | 4 fifth bits | 16 nibbles |         x = (q - 16) d
 *   q5_1    | d | m | 4 fifth bits | 16 nibbles |     x = q d + m
 *   iq4_nl  | d | 16 nibbles |                        x = iq4_values[q] d
 *   mxfp4   | e uint8 | 16 nibbles |                  x = fp4_values[q] / 2 * 2^(e - 127)
 *   q4_k    | d | m | 12 S | 128 |                    x = q S d - S' m
 *   q5_k    | d | m | 12 S | 32 fifth bits | 128 |    x = q S d - S' m
 *   q6_k    | 128 | 64 high bits | 16 S int8 | d |    x = (q - 32) S d
 *   q3_k    | 32 third bits | 64 | 12 S | d |         x = (q - 4) (S - 32) d
 *   q2_k    | 16 S | 64 | d | m |                     x = q S d - S' m
 *   iq4_xs  | d | 2 high bits of S | 4 S | 128 |      x = iq4_values[q] (S - 32) d
 *
 * 16 nibbles: byte j has column j in its low half and column j + 16 in its high half. The types of 256 columns have a
 * scale, and a minimum S', for 32 columns (q4_k, q5_k, iq4_xs) or for 16 (q6_k, q3_k, q2_k); "part" is 32 columns. */
#include "base/half.h"
#include "kernels/kernels.h"
#include <math.h> /* isfinite */
#include <string.h>

static float read_f16(const uint8_t *p) { return gf_f16_to_f32((uint16_t)(p[0] | p[1] << 8)); }

static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int8_t fp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* Blocks are unpacked eight values at a time, a byte of a word each. eight: the bits of eight bytes from bit `shift`
 * on, as many as `most` has. put_minus: eight values below 128, minus z. */
static uint64_t eight(const uint8_t *p, int shift, int most) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x >> shift & (uint64_t)most * 0x0101010101010101u;
}
static void put_minus(int8_t *q, uint64_t x, int z) {
    const uint64_t top = 0x8080808080808080u; /* set, so that nothing is borrowed from the next byte */
    x = ((x | top) - (uint64_t)z * 0x0101010101010101u) ^ top;
    memcpy(q, &x, 8);
}

/* q [32] = 16 bytes of nibbles, as columns j and j + 16, minus `zero`; a fifth bit, which counts 16, is bit j of the 4
 * bytes at `fifth`, if not NULL. */
static void nibbles(int8_t *q, const uint8_t *p, const uint8_t *fifth, int zero) {
    for (int i = 0; i < 4; i++) {
        uint64_t bits = 0;
        if (fifth) /* byte j gets bit j, which the addition carries to the byte's highest bit */
            bits = ((fifth[i] * 0x0101010101010101u & 0x8040201008040201u) + 0x7f7f7f7f7f7f7f7fu) >> 3;
        put_minus(q + 8 * i, eight(p + i % 2 * 8, i / 2 * 4, 15) | (bits & 0x1010101010101010u), zero);
    }
}

static void nibbles_of_table(int8_t *q, const uint8_t *p, const int8_t *table) {
    for (int j = 0; j < 16; j++) q[j] = table[p[j] & 15], q[j + 16] = table[p[j] >> 4];
}

static void set_scale(struct gf_ints *to, float d, int factor, float minimum) {
    to->d = d, to->factor[0] = to->factor[1] = factor, to->minimum[0] = to->minimum[1] = minimum;
}

/* Scale and minimum of part k of a q4_k or q5_k block: six bits each, in 12 bytes. */
static void set_packed_scale(struct gf_ints *to, const uint8_t *block, int k) {
    const uint8_t *s = block + 4;
    int scale = k < 4 ? s[k] & 63 : (s[k + 4] & 15) | s[k - 4] >> 6 << 4;
    int minimum = k < 4 ? s[k + 4] & 63 : s[k + 4] >> 4 | s[k] >> 6 << 4;
    set_scale(to, read_f16(block), scale, -(read_f16(block + 2) * (float)minimum));
}

/* q [32] = part k of a q4_k or q5_k block: of each pair of parts the first is in the low halves of 32 bytes. Fifth bits
 * are bit k of the 32 bytes at `fifth`, if not NULL. */
static void nibbles_of_part(int8_t *q, const uint8_t *p, const uint8_t *fifth, int k) {
    for (int j = 0; j < 32; j += 8) {
        const uint64_t bits = fifth ? eight(fifth + j, k, 1) << 4 : 0;
        put_minus(q + j, eight(p + k / 2 * 32 + j, k % 2 * 4, 15) | bits, 0);
    }
}

static void unpack_q6_k(struct gf_ints *to, const uint8_t *p, int k) {
    const uint8_t *low = p + k / 4 * 64 + k % 2 * 32, *high = p + 128 + k / 4 * 32;
    for (int j = 0; j < 32; j += 8)
        put_minus(to->q + j, eight(low + j, k % 4 / 2 * 4, 15) | eight(high + j, k % 4 * 2, 3) << 4, 32);
    set_scale(to, read_f16(p + 208), 0, 0);
    for (int i = 0; i < 2; i++) to->factor[i] = (int8_t)p[192 + 2 * k + i];
}

static void unpack_q3_k(struct gf_ints *to, const uint8_t *p, int k) {
    const uint8_t *low = p + 32 + k / 4 * 32, *s = p + 96;
    for (int j = 0; j < 32; j += 8) put_minus(to->q + j, eight(low + j, k % 4 * 2, 3) | eight(p + j, k, 1) << 2, 4);
    set_scale(to, read_f16(p + 108), 0, 0);
    for (int i = 0; i < 2; i++) {
        int at = 2 * k + i, four = at < 8 ? s[at] & 15 : s[at - 8] >> 4;
        to->factor[i] = (four | (s[8 + at % 4] >> at / 4 * 2 & 3) << 4) - 32;
    }
}

static void unpack_q2_k(struct gf_ints *to, const uint8_t *p, int k) {
    const uint8_t *low = p + 16 + k / 4 * 32;
    for (int j = 0; j < 32; j += 8) put_minus(to->q + j, eight(low + j, k % 4 * 2, 3), 0);
    to->d = read_f16(p + 80);
    for (int i = 0; i < 2; i++) {
        int s = p[2 * k + i];
        to->factor[i] = s & 15, to->minimum[i] = -(read_f16(p + 82) * (float)(s >> 4));
    }
}

static void unpack_iq4_xs(struct gf_ints *to, const uint8_t *p, int k) {
    int high = (p[2] | p[3] << 8) >> 2 * k & 3, low = p[4 + k / 2] >> k % 2 * 4 & 15;
    nibbles_of_table(to->q, p + 8 + 16 * k, iq4_values);
    set_scale(to, read_f16(p), (low | high << 4) - 32, 0);
}

/* 2^(e - 128), for e of mxfp4: half of its scale, because fp4_values are twice the values. */
static float half_of_power(int e) {
    uint32_t bits = e < 2 ? 0x200000u << e : (uint32_t)(e - 1) << 23; /* below 2^-126 a float is subnormal */
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

void gf_unpack_block(struct gf_ints *to, const void *block, int32_t dtype, int32_t part) {
    const uint8_t *p = block;
    switch (dtype) {
    case GF_Q8_0: set_scale(to, read_f16(p), 1, 0), memcpy(to->q, p + 2, 32); break;
    case GF_Q4_0: set_scale(to, read_f16(p), 1, 0), nibbles(to->q, p + 2, NULL, 8); break;
    case GF_Q4_1: set_scale(to, read_f16(p), 1, read_f16(p + 2)), nibbles(to->q, p + 4, NULL, 0); break;
    case GF_Q5_0: set_scale(to, read_f16(p), 1, 0), nibbles(to->q, p + 6, p + 2, 16); break;
    case GF_Q5_1: set_scale(to, read_f16(p), 1, read_f16(p + 2)), nibbles(to->q, p + 8, p + 4, 0); break;
    case GF_IQ4_NL: set_scale(to, read_f16(p), 1, 0), nibbles_of_table(to->q, p + 2, iq4_values); break;
    case GF_MXFP4: set_scale(to, half_of_power(p[0]), 1, 0), nibbles_of_table(to->q, p + 1, fp4_values); break;
    case GF_Q4_K: set_packed_scale(to, p, part), nibbles_of_part(to->q, p + 16, NULL, part); break;
    case GF_Q5_K: set_packed_scale(to, p, part), nibbles_of_part(to->q, p + 48, p + 16, part); break;
    case GF_Q6_K: unpack_q6_k(to, p, part); break;
    case GF_Q3_K: unpack_q3_k(to, p, part); break;
    case GF_Q2_K: unpack_q2_k(to, p, part); break;
    case GF_IQ4_XS: unpack_iq4_xs(to, p, part); break;
    }
}

int32_t gf_block_scale_at(int32_t dtype) {
    switch (dtype) {
    case GF_Q6_K: return 208;
    case GF_Q3_K: return 108;
    case GF_Q2_K: return 80;
    default: return 0;
    }
}

/* Whether an mxfp4 block has a value that is not finite: exponent 255 stands for NaN, and values of 2^128 and more are
 * no floats. */
static int mxfp4_overflows(const uint8_t *p) {
    struct gf_ints b;
    int found = p[0] == 255;
    if (p[0] < 252) return 0; /* at most 6 * 2^124 */
    gf_unpack_block(&b, p, GF_MXFP4, 0);
    for (int j = 0; j < 32; j++) found |= !isfinite((float)b.q[j] * b.d);
    return found;
}

int64_t gf_blocks_not_finite(const void *blocks, int32_t dtype, int64_t n) {
    const struct gf_dtype_row *type = &gf_dtypes[dtype];
    const uint8_t *p = blocks;
    const int exponent = dtype == GF_BF16 ? 0x7f80 : 0x7c00; /* all ones: infinite or NaN */
    for (int64_t i = 0; i < n && !gf_dtype_is_quantized(dtype); i++, p += 2)
        if (((p[0] | p[1] << 8) & exponent) == exponent) return i;
    for (int64_t i = 0; i < n && gf_dtype_is_quantized(dtype); i += type->block_cols, p += type->block_bytes) {
        if (dtype == GF_MXFP4) {
            if (mxfp4_overflows(p)) return i;
            continue;
        }
        const uint8_t *half = p + gf_block_scale_at(dtype); /* exponent 31: infinite or NaN */
        if ((half[1] & 0x7c) == 0x7c || (type->has_minimum && (half[3] & 0x7c) == 0x7c)) return i;
    }
    return -1;
}
