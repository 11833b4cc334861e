/* mat.c - stores weights in their memory layout (panels of 16 rows) and reads rows back. The layouts: kernels.h. */
#include "base/half.h"
#include "kernels/dot.h" /* gf_dot_flip */
#include "kernels/kernels.h"
#include <string.h>

/* Floats of a block in memory: its scale, and its minimum if it has one. */
static int32_t scales_of(int32_t dtype) { return 1 + gf_dtypes[dtype].has_minimum; }

/* *data, *scale = bytes of the values and of the scales. Returns 0 when the shape or the type is not possible. */
static int sizes(int32_t dtype, int32_t layout, int32_t rows, int32_t cols, uint64_t *data, uint64_t *scale) {
    if (rows < 0 || cols < 0 || dtype < 0 || dtype >= GF_N_DTYPES) return 0;
    uint64_t values = (uint64_t)rows * (uint64_t)cols;
    *scale = 0;
    if (layout == GF_ROWS) {
        *data = values * 4;
        return dtype == GF_F32 && values <= UINT64_MAX / 8;
    }
    if (layout != GF_PANELS || cols % gf_dtype_block_cols(dtype) != 0) return 0;
    values = ((uint64_t)rows + GF_PANEL - 1) / GF_PANEL * GF_PANEL * (uint64_t)cols;
    if (values > UINT64_MAX / 8) return 0;
    *data = values * (uint64_t)gf_dtypes[dtype].bits / 8;
    if (gf_dtype_is_quantized(dtype)) *scale = values / GF_QBLOCK * (uint64_t)scales_of(dtype) * sizeof(float);
    return 1;
}

static uint64_t round64(uint64_t n) { return (n + 63) & ~(uint64_t)63; }

uint64_t gf_mat_bytes(int32_t dtype, int32_t layout, int32_t rows, int32_t cols) {
    uint64_t data, scale;
    if (!sizes(dtype, layout, rows, cols, &data, &scale)) return UINT64_MAX;
    return round64(data) + round64(scale);
}

void gf_mat_bind(struct gf_mat *w, int32_t dtype, int32_t layout, int32_t rows, int32_t cols, void *memory) {
    uint64_t data = 0, scale = 0;
    sizes(dtype, layout, rows, cols, &data, &scale);
    *w = (struct gf_mat){dtype, layout, rows, cols, memory, NULL};
    if (scale) w->scale = (float *)((char *)memory + round64(data));
}

/* Index of (row, col) among the values of a float matrix. */
static int64_t place(const struct gf_mat *w, int32_t row, int32_t col) {
    if (w->layout == GF_ROWS) return (int64_t)row * w->cols + col;
    return ((int64_t)(row / GF_PANEL) * w->cols + col) * GF_PANEL + row % GF_PANEL;
}
/* Distance of neighbouring columns of a row in a float matrix, in values. */
static int64_t col_stride(const struct gf_mat *w) { return w->layout == GF_ROWS ? 1 : GF_PANEL; }

/* The first byte of a row's part of a block of a quantised matrix, and the row's scale in that block. */
static uint8_t *block_data(const struct gf_mat *w, int32_t row, int32_t block) {
    int64_t blocks = w->cols / GF_QBLOCK, bytes = GF_PANEL * GF_QBLOCK * gf_dtypes[w->dtype].bits / 8;
    return (uint8_t *)w->data + ((row / GF_PANEL) * blocks + block) * bytes + row % GF_PANEL * 4;
}
static float *block_scale(const struct gf_mat *w, int32_t row, int32_t block) {
    int64_t blocks = w->cols / GF_QBLOCK, n = GF_PANEL * scales_of(w->dtype);
    return w->scale + ((row / GF_PANEL) * blocks + block) * n + row % GF_PANEL;
}

/* Store one block of a file, p, as block `block` of a row. */
static void put_block(struct gf_mat *w, int32_t row, int32_t block, const uint8_t *p) {
    uint8_t *to = block_data(w, row, block);
    float *scale = block_scale(w, row, block);
    *scale = gf_f16_to_f32((uint16_t)(p[0] | p[1] << 8));
    p += 2;
    if (gf_dtypes[w->dtype].has_minimum) {
        scale[GF_PANEL] = gf_f16_to_f32((uint16_t)(p[0] | p[1] << 8));
        p += 2;
    }
    if (gf_dtypes[w->dtype].bits == 8) { /* 4 columns at a time */
        const uint32_t flip = (gf_dot_flip(0) | (uint32_t)gf_dot_flip(1) << 8) * 0x00010001u;
        for (int j = 0; j < 8; j++) {
            uint32_t four;
            memcpy(&four, p + 4 * j, 4);
            four ^= flip;
            memcpy(to + 64 * j, &four, 4);
        }
        return;
    }
    for (int j = 0; j < 2; j++) { /* of 8 bytes the low nibbles are columns 8j .., the high ones columns 16 + 8j .. */
        uint32_t a, b;
        memcpy(&a, p + 8 * j, 4);
        memcpy(&b, p + 8 * j + 4, 4);
        const uint32_t low = (a & 0x0f0f0f0fu) | (b & 0x0f0f0f0fu) << 4;
        const uint32_t high = (a >> 4 & 0x0f0f0f0fu) | (b & 0xf0f0f0f0u);
        memcpy(to + 64 * j, &low, 4);
        memcpy(to + 64 * (j + 2), &high, 4);
    }
}

void gf_mat_put_blocks(struct gf_mat *w, int32_t row, int32_t col, const void *blocks, int32_t n) {
    const uint8_t *p = blocks;
    if (gf_dtype_is_quantized(w->dtype)) {
        int32_t bytes = gf_dtype_block_bytes(w->dtype);
        for (int32_t i = 0; i < n; i += GF_QBLOCK, p += bytes) put_block(w, row, (col + i) / GF_QBLOCK, p);
        return;
    }
    int64_t at = place(w, row, col), step = col_stride(w);
    if (w->dtype == GF_F32) {
        char *to = (char *)w->data + at * 4;
        for (int32_t i = 0; i < n; i++) memcpy(to + i * step * 4, p + 4 * (int64_t)i, 4);
    } else {
        char *to = (char *)w->data + at * 2;
        for (int32_t i = 0; i < n; i++) memcpy(to + i * step * 2, p + 2 * (int64_t)i, 2);
    }
}

/* Write one number of a float matrix. */
static void put_one(struct gf_mat *w, int64_t at, float x) {
    if (w->dtype == GF_F32)
        ((float *)w->data)[at] = x;
    else
        ((uint16_t *)w->data)[at] = w->dtype == GF_F16 ? gf_f32_to_f16(x) : gf_f32_to_bf16(x);
}

void gf_mat_put(struct gf_mat *w, int32_t row, int32_t col, const float *x, int32_t n) {
    if (gf_dtype_is_quantized(w->dtype)) {
        uint8_t block[GF_BLOCK_ROOM];
        for (int32_t i = 0; i < n; i += GF_QBLOCK) {
            gf_quantize(block, x + i, w->dtype, GF_QBLOCK);
            put_block(w, row, (col + i) / GF_QBLOCK, block);
        }
        return;
    }
    int64_t at = place(w, row, col), step = col_stride(w);
    for (int32_t i = 0; i < n; i++) put_one(w, at + i * step, x[i]);
}

void gf_mat_get_row(float *y, const struct gf_mat *w, int32_t row) {
    if (!gf_dtype_is_quantized(w->dtype)) {
        int64_t at = place(w, row, 0), step = col_stride(w);
        if (w->dtype == GF_F32) {
            const float *p = (const float *)w->data + at;
            for (int32_t i = 0; i < w->cols; i++) y[i] = p[i * step];
        } else {
            const uint16_t *p = (const uint16_t *)w->data + at;
            if (w->dtype == GF_F16)
                for (int32_t i = 0; i < w->cols; i++) y[i] = gf_f16_to_f32(p[i * step]);
            else
                for (int32_t i = 0; i < w->cols; i++) y[i] = gf_bf16_to_f32(p[i * step]);
        }
        return;
    }
    const uint8_t even = gf_dot_flip(0), odd = gf_dot_flip(1);
    for (int32_t b = 0; b < w->cols / GF_QBLOCK; b++, y += GF_QBLOCK) {
        const uint8_t *p = block_data(w, row, b);
        const float *s = block_scale(w, row, b);
        if (gf_dtypes[w->dtype].bits == 8) {
            for (int j = 0; j < 32; j++) y[j] = (float)(int8_t)(p[j / 4 * 64 + j % 4] ^ (j % 2 ? odd : even)) * *s;
            continue;
        }
        const int zero = gf_dtypes[w->dtype].zero, minimum = gf_dtypes[w->dtype].has_minimum;
        for (int j = 0; j < 16; j++) {
            const int q = p[j / 4 * 64 + j % 4], c = j / 4 * 8 + j % 4;
            y[c] = (float)((q & 15) - zero) * *s;
            y[c + 4] = (float)((q >> 4) - zero) * *s;
            if (minimum) y[c] += s[GF_PANEL], y[c + 4] += s[GF_PANEL];
        }
    }
}
