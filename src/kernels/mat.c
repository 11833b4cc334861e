/* mat.c - stores weights in their memory layout (panels of 16 rows) and reads rows back. The layouts: kernels.h. */
#include "base/half.h"
#include "kernels/int8_kind.h" /* gf_dot_flip */
#include "kernels/kernels.h"
#include "kernels/simd.h"
#include <float.h> /* FLT_MIN */
#include <math.h>  /* fabsf, nearbyintf */
#include <string.h>

/* *data, *scale = bytes of the values and of the scales. Returns 0 when the shape or the type is not possible. */
static int sizes(int32_t dtype, int32_t rows, int32_t cols, uint64_t *data, uint64_t *scale) {
    if (rows < 0 || cols < 0 || dtype < 0 || dtype >= GF_N_DTYPES || !gf_dtype_is_kept(dtype)) return 0;
    if (cols % gf_dtype_block_cols(dtype) != 0) return 0;
    *scale = 0;
    uint64_t values = ((uint64_t)rows + GF_PANEL - 1) / GF_PANEL * GF_PANEL * (uint64_t)cols;
    if (values > UINT64_MAX / 8) return 0;
    *data = values * (uint64_t)gf_dtypes[dtype].bits / 8;
    if (!gf_dtype_is_quantized(dtype)) return 1;
    values /= GF_PANEL * GF_QBLOCK;
    *data = values * (uint64_t)gf_panel_bytes(dtype);
    if (gf_dtypes[dtype].has_factors) *scale = values / (uint64_t)gf_scale_blocks(dtype) * GF_PANEL * sizeof(float);
    return 1;
}

static uint64_t round64(uint64_t n) { return (n + 63) & ~(uint64_t)63; }

uint64_t gf_mat_bytes(int32_t dtype, int32_t rows, int32_t cols) {
    uint64_t data, scale;
    if (!sizes(dtype, rows, cols, &data, &scale)) return UINT64_MAX;
    return round64(data) + round64(scale);
}

void gf_mat_bind(struct gf_mat *w, int32_t dtype, int32_t rows, int32_t cols, void *memory) {
    uint64_t data = 0, scale = 0;
    sizes(dtype, rows, cols, &data, &scale);
    *w = (struct gf_mat){dtype, rows, cols, memory, NULL, NULL};
    if (gf_dtype_is_quantized(dtype))
        w->scale = (float *)((char *)memory + (scale ? round64(data) : (uint64_t)gf_weight_bytes(dtype)));
}

/* Index of (row, col) among the values of a float matrix; neighbouring columns are GF_PANEL apart. */
static int64_t place(const struct gf_mat *w, int32_t row, int32_t col) {
    return ((int64_t)(row / GF_PANEL) * w->cols + col) * GF_PANEL + row % GF_PANEL;
}

/* The first byte of a panel's block in a quantised matrix. */
static uint8_t *panel_block(const struct gf_mat *w, int32_t row, int32_t block) {
    return (uint8_t *)w->data + ((int64_t)(row / GF_PANEL) * (w->cols / GF_QBLOCK) + block) * gf_panel_bytes(w->dtype);
}
/* The first byte of a row's part of it, and where columns 4j .. 4j + 3 of 8 bits are from there. The row's two factors,
 * and its scale. */
static uint8_t *block_data(const struct gf_mat *w, int32_t row, int32_t block) {
    const int32_t lane = row % GF_PANEL, factors = gf_dtypes[w->dtype].has_factors;
    return panel_block(w, row, block) + (factors ? lane / 8 * 256 + lane % 8 * 8 : lane * 4);
}
static int32_t four_columns(int has_factors, int32_t j) { return has_factors ? j % 4 * 64 + j / 4 * 4 : j * 64; }
static int8_t *block_factors(const struct gf_mat *w, int32_t row, int32_t block) {
    return (int8_t *)panel_block(w, row, block) + GF_PANEL * GF_QBLOCK + row % GF_PANEL * 2;
}
static float *block_scale(const struct gf_mat *w, int32_t row, int32_t block) {
    const int32_t per = gf_scale_blocks(w->dtype);
    const int64_t index = (int64_t)(row / GF_PANEL) * (w->cols / GF_QBLOCK / per) + block / per;
    return w->scale + index * gf_scale_step(w->dtype) + row % GF_PANEL;
}

/* What 4 columns of 8 bits are stored XOR. */
static uint32_t flip_of_four(void) { return (gf_dot_flip(0) | (uint32_t)gf_dot_flip(1) << 8) * 0x00010001u; }

/* Store 32 bytes as a row's part of a block. */
GF_INLINE void put_bytes(uint8_t *to, const void *q, uint32_t flip, int has_factors) {
    GF_UNROLL
    for (int j = 0; j < 8; j++) { /* 4 columns */
        uint32_t four;
        memcpy(&four, (const uint8_t *)q + 4 * j, 4);
        four ^= flip;
        memcpy(to + four_columns(has_factors, j), &four, 4);
    }
}

/* Store 32 columns as block `block` of a row, whose part of it begins at `to`. */
static void put_ints(const struct gf_mat *w, int32_t row, int32_t block, uint8_t *to, const struct gf_ints *from) {
    const struct gf_dtype_row *type = &gf_dtypes[w->dtype];
    float *scale = block_scale(w, row, block);
    *scale = type->has_factors ? from->d : from->d * (float)from->factor[0];
    for (int i = 0; i < 2 && type->has_factors; i++) block_factors(w, row, block)[i] = (int8_t)from->factor[i];
    if (type->has_minimum) scale[GF_PANEL] = from->minimum[0];
    if (type->bits == 8) {
        put_bytes(to, from->q, flip_of_four(), type->has_factors);
        return;
    }
    for (int g = 0; g < 4; g++) { /* 8 columns; q + 8 is the low nibble of q with its highest bit flipped */
        uint64_t eight;
        memcpy(&eight, from->q + 8 * g, 8);
        eight = (eight & 0x0f0f0f0f0f0f0f0fu) ^ (uint64_t)type->zero * 0x0101010101010101u;
        const uint32_t pairs = (uint32_t)(eight | eight >> 28);
        memcpy(to + 64 * g, &pairs, 4);
    }
}

/* The same of n blocks of q8_0 in a file, whose bytes are stored as they are. */
static void put_q8_0(uint8_t *to, float *scale, const uint8_t *p, int32_t n) {
    const uint32_t flip = flip_of_four();
    for (; n > 0; n--, p += 34, to += gf_panel_bytes(GF_Q8_0), scale += gf_scale_step(GF_Q8_0)) {
        *scale = gf_f16_to_f32((uint16_t)(p[0] | p[1] << 8));
        put_bytes(to, p + 2, flip, 0);
    }
}

/* Round 32 columns of a type that is kept as q8_0 to its steps, with a scale that is not rounded. */
static void round_to_q8(struct gf_ints *b) {
    float x[32], top = 0;
    for (int j = 0; j < 32; j++) {
        x[j] = (float)b->q[j] * (b->d * (float)b->factor[j / 16]) + b->minimum[j / 16];
        top = fabsf(x[j]) > top ? fabsf(x[j]) : top;
    }
    const float d = top / 127, inverse = d >= FLT_MIN ? 1 / d : 0;
    for (int j = 0; j < 32; j++) b->q[j] = (int8_t)nearbyintf(x[j] * inverse);
    b->d = inverse == 0 ? 0 : d, b->factor[0] = b->factor[1] = 1;
}

void gf_mat_put_blocks(struct gf_mat *w, int32_t row, int32_t col, const void *blocks, int32_t dtype, int32_t n) {
    const uint8_t *p = blocks;
    if (!gf_dtype_is_quantized(dtype)) { /* 16 bits, in an array of bytes of any address */
        uint8_t *to16 = (uint8_t *)((uint16_t *)w->data + place(w, row, col));
        for (int32_t i = 0; i < n; i++, to16 += 2 * GF_PANEL, p += 2) memcpy(to16, p, 2);
        return;
    }
    const int32_t cols = gf_dtype_block_cols(dtype), bytes = gf_dtype_block_bytes(dtype);
    int32_t block = col / GF_QBLOCK;
    uint8_t *to = block_data(w, row, block);
    if (dtype == GF_Q8_0) {
        put_q8_0(to, block_scale(w, row, block), p, n / GF_QBLOCK);
        return;
    }
    for (int32_t i = 0; i < n; i += cols, p += bytes)
        for (int32_t part = 0; part < cols / GF_QBLOCK; part++, block++, to += gf_panel_bytes(w->dtype)) {
            struct gf_ints b;
            gf_unpack_block(&b, p, dtype, part);
            if (!gf_dtypes[dtype].exact) round_to_q8(&b);
            put_ints(w, row, block, to, &b);
        }
}

void gf_mat_put_floats(struct gf_mat *w, int32_t row, int32_t col, const float *x, int32_t n) {
    const int64_t index = place(w, row, col);
    if (w->dtype == GF_F32) {
        float *p = (float *)w->data + index;
        for (int64_t i = 0; i < n; i++) p[i * GF_PANEL] = x[i];
        return;
    }
    uint16_t *p = (uint16_t *)w->data + index;
    for (int64_t i = 0; i < n; i++) p[i * GF_PANEL] = w->dtype == GF_F16 ? gf_f32_to_f16(x[i]) : gf_f32_to_bf16(x[i]);
}

void gf_mat_put(struct gf_mat *w, int32_t row, int32_t col, const float *x, int32_t n) {
    if (gf_dtype_is_quantized(w->dtype)) {
        uint8_t block[GF_BLOCK_ROOM];
        const int32_t cols = gf_dtype_block_cols(w->dtype);
        for (int32_t i = 0; i < n; i += cols) {
            gf_quantize(block, x + i, w->dtype, cols);
            gf_mat_put_blocks(w, row, col + i, block, w->dtype, cols);
        }
        return;
    }
    gf_mat_put_floats(w, row, col, x, n);
}

/* Columns of a float matrix, as gf_mat_get. */
static void get_floats(float *y, const struct gf_mat *w, int32_t row, int32_t col, int32_t n) {
    const int64_t index = place(w, row, col);
    if (w->dtype == GF_F32) {
        const float *p = (const float *)w->data + index;
        for (int64_t i = 0; i < n; i++) y[i] = p[i * GF_PANEL];
        return;
    }
    const uint16_t *p = (const uint16_t *)w->data + index;
    if (w->dtype == GF_F16)
        for (int64_t i = 0; i < n; i++) y[i] = gf_f16_to_f32(p[i * GF_PANEL]);
    else
        for (int64_t i = 0; i < n; i++) y[i] = gf_bf16_to_f32(p[i * GF_PANEL]);
}

/* y [32] = a row's part of a block of 8 bits, which begins at p. */
static void get_bytes(float *y, const struct gf_mat *w, int32_t row, int32_t block, const uint8_t *p) {
    const uint8_t flip[2] = {gf_dot_flip(0), gf_dot_flip(1)};
    const float *s = block_scale(w, row, block);
    float scale[2] = {*s, *s};
    for (int i = 0; i < 2 && gf_dtypes[w->dtype].has_factors; i++) scale[i] *= (float)block_factors(w, row, block)[i];
    for (int j = 0; j < 8; j++) { /* 4 columns */
        const uint8_t *four = p + four_columns(gf_dtypes[w->dtype].has_factors, j);
        for (int k = 0; k < 4; k++) y[4 * j + k] = (float)(int8_t)(four[k] ^ flip[k % 2]) * scale[j / 4];
    }
    for (int j = 0; j < 32 && gf_dtypes[w->dtype].has_minimum; j++) y[j] += s[GF_PANEL];
}

void gf_mat_get(float *y, const struct gf_mat *w, int32_t row, int32_t col, int32_t n) {
    if (!gf_dtype_is_quantized(w->dtype)) {
        get_floats(y, w, row, col, n);
        return;
    }
    const int zero = gf_dtypes[w->dtype].zero, minimum = gf_dtypes[w->dtype].has_minimum;
    for (int32_t b = col / GF_QBLOCK; b < (col + n) / GF_QBLOCK; b++, y += GF_QBLOCK) {
        const uint8_t *p = block_data(w, row, b);
        if (gf_dtypes[w->dtype].bits == 8) {
            get_bytes(y, w, row, b, p);
            continue;
        }
        const float *s = block_scale(w, row, b);
        for (int j = 0; j < 16; j++) {
            const int q = p[j / 4 * 64 + j % 4], c = j / 4 * 8 + j % 4;
            y[c] = (float)((q & 15) - zero) * *s;
            y[c + 4] = (float)((q >> 4) - zero) * *s;
            if (minimum) y[c] += s[GF_PANEL], y[c + 4] += s[GF_PANEL];
        }
    }
}

void gf_mat_get_row(float *y, const struct gf_mat *w, int32_t row) { gf_mat_get(y, w, row, 0, w->cols); }

/* Values of a float matrix, with the padding rows. */
static int64_t padded_count(const struct gf_mat *w) {
    return ((int64_t)w->rows + GF_PANEL - 1) / GF_PANEL * GF_PANEL * w->cols;
}

/* Set the padding rows of a matrix of 16 bits to 0. */
static void clear_padding(struct gf_mat *w) {
    uint16_t *end = (uint16_t *)w->data + padded_count(w);
    const int32_t rest = (GF_PANEL - w->rows % GF_PANEL) % GF_PANEL;
    for (int32_t i = 0; rest && i < w->cols; i++, end -= GF_PANEL) memset(end - rest, 0, 2 * (size_t)rest);
}

/* Whether bf16 holds all values of a GF_F16 matrix: the lower halves of the floats are 0. */
static int fits_bf16(const struct gf_mat *w) {
    const uint16_t *p = w->data, *end = p + padded_count(w);
    const v128 low = I32X4(0xffff);
    v128 lost = i32x4_splat(0);
    while (p < end && !v_any(lost))
        for (int i = 0; i < GF_PANEL * 16 && p < end; i += 8, p += 8)
            lost = v_or(lost, v_and(v_or(f4_load_f16(p), f4_load_f16(p + 4)), low));
    return !v_any(lost);
}

int gf_mat_narrow(struct gf_mat *w) {
    if (w->dtype != GF_F16) return 0;
    clear_padding(w);
    if (!fits_bf16(w)) return 0;
    for (uint16_t *p = w->data, *end = p + padded_count(w); p < end; p += 8)
        v_store(p, i16x8_narrow(i32x4_shr(f4_load_f16(p), 16), i32x4_shr(f4_load_f16(p + 4), 16)));
    w->dtype = GF_BF16;
    return 1;
}

/* Four f16 for the bf16 at p, in int32 lanes with their sign. */
static v128 f16_of_bf16(const uint16_t *p) { return i32x4_shr(i32x4_shl(i32x4_f16_from_f4(f4_load_bf16(p)), 16), 16); }

void gf_bf16_to_f16(uint16_t *p, int64_t n) {
    for (; n >= 8; n -= 8, p += 8) v_store(p, i16x8_narrow(f16_of_bf16(p), f16_of_bf16(p + 4)));
    for (; n > 0; n--, p++) *p = gf_f32_to_f16(gf_bf16_to_f32(*p));
}

void gf_mat_widen(struct gf_mat *w) {
    gf_bf16_to_f16(w->data, padded_count(w));
    w->dtype = GF_F16;
}

void gf_mat_flip(const struct gf_mat *w, uint8_t *bytes, uint64_t from, uint64_t n) {
    const uint8_t flip[2] = {gf_dot_flip(0), gf_dot_flip(1)};
    uint64_t data, scale;
    if (gf_dtypes[w->dtype].bits != 8 || !sizes(w->dtype, w->rows, w->cols, &data, &scale)) return;
    const uint64_t panel = (uint64_t)gf_panel_bytes(w->dtype), values = (uint64_t)gf_weight_bytes(w->dtype);
    for (uint64_t i = from; i < from + n && i < data; i++)
        if (i % panel < values) bytes[i - from] ^= flip[i % 2];
}
