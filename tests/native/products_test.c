/* products_test.c - compares the products with matrices and attention with their definitions, at sizes around every lane
 * boundary, and with itself bit for bit where kernels.h promises equal bits. Also compiled for each way in which
 * processors read the second operand of the relaxed dot product. */
#define EVERY_BUILD 0xc6322ad0e625584cu

#include "kernels_checks.h"

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

static void *bind(struct gf_mat *w, int type, int rows, int cols) {
    uint64_t n = gf_mat_bytes(type, rows, cols);
    void *p = guarded(n);
    memset(p, 0x5a, n); /* padding may have any value */
    gf_mat_bind(w, type, rows, cols, p);
    return p;
}

static void matrices_have_the_documented_sizes(void) {
    CHECK_INT(gf_mat_bytes(GF_F32, 17, 3), 2 * 16 * 3 * 4);
    CHECK_INT(gf_mat_bytes(GF_F16, 16, 3), 128);
    CHECK_INT(gf_mat_bytes(GF_Q8_0, 1, 32), 512 + 64);
    CHECK_INT(gf_mat_bytes(GF_Q4_0, 1, 64), 512 + 128);
    CHECK_INT(gf_mat_bytes(GF_Q4_1, 33, 32), 3 * (256 + 128));
    CHECK(gf_mat_bytes(GF_Q8_0, 1, 33) == UINT64_MAX);
    CHECK(gf_mat_bytes(GF_N_DTYPES, 1, 32) == UINT64_MAX);
    CHECK(gf_mat_bytes(GF_F32, -1, 32) == UINT64_MAX);
    CHECK(gf_mat_bytes(GF_F32, INT32_MAX, INT32_MAX) == UINT64_MAX);
    CHECK(gf_mat_bytes(GF_F32, 1 << 20, 1 << 20) == 1ull << 42);
}

static void matrices_return_the_values_that_were_stored(void) {
    static const int rows_of[] = {1, 5, 16, 17, 33};
    EACH_KEPT(type)
    for (int r = 0; r < 5; r++)
        for (int c = 1; c <= 4; c++) {
            int per = gf_dtype_block_cols(type), rows = rows_of[r], cols = (per == 1 ? 7 : per) * c;
            int bytes = cols / per * gf_dtype_block_bytes(type);
            struct gf_mat w, v;
            char *blocks = guarded((uint64_t)rows * bytes);
            float *x = floats(rows * cols), *y = floats(cols), *z = floats(cols);
            uint64_t size = gf_mat_bytes(type, rows, cols);
            void *p = bind(&w, type, rows, cols), *q = bind(&v, type, rows, cols);
            fill(x, rows * cols, 3);
            for (int i = 0; i < rows; i++) { /* in two pieces, in either order */
                int first = cols / 2 / per * per;
                gf_quantize(blocks + i * bytes, x + i * cols, type, cols);
                gf_mat_put(&w, i, first, x + i * cols + first, cols - first);
                gf_mat_put(&w, i, 0, x + i * cols, first);
                if (!gf_dtype_fits(type, type)) continue;
                gf_mat_put_blocks(&v, i, 0, blocks + i * bytes, type, first);
                gf_mat_put_blocks(&v, i, first, blocks + i * bytes + first / per * gf_dtype_block_bytes(type), type,
                                  cols - first);
            }
            if (gf_dtype_fits(type, type)) CHECK_BITS(p, q, size);
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
    bind(&w, type, rows, cols);
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

/* f16 weights that bf16 holds too, from subnormal ones on, give the same bits as bf16, and return. A matrix with one that
 * it does not hold stays as it is. */
static void narrow_case(int rows, int cols, int n) {
    struct gf_mat w;
    float *values = floats(rows * cols), *x = floats(n * cols), *y = floats(n * rows), *again = floats(n * rows);
    float *row = floats(cols), awkward = 1 + 0x1p-8f;
    char *scratch = guarded(gf_matmul_scratch(n, cols));
    bind(&w, GF_F16, rows, cols);
    fill(x, n * cols, 1);
    for (int i = 0; i < rows * cols; i++) values[i] = ldexpf((float)(i * 131 % 511 - 255), i % 32 - 24);
    for (int i = 0; i < rows; i++) gf_mat_put(&w, i, 0, values + i * cols, cols);
    gf_matmul(y, x, &w, NULL, n, scratch, NULL);
    CHECK(gf_mat_narrow(&w) && w.dtype == GF_BF16 && !gf_mat_narrow(&w));
    gf_matmul(again, x, &w, NULL, n, scratch, NULL);
    CHECK_BITS(again, y, n * rows * 4);
    for (int narrow = 1; narrow >= 0; narrow--) {
        for (int i = 0; i < rows; i++) {
            gf_mat_get_row(row, &w, i);
            CHECK_BITS(row, values + i * cols, cols * 4);
        }
        if (narrow) gf_mat_widen(&w);
    }
    gf_mat_put(&w, rows - 1, cols - 1, &awkward, 1);
    CHECK(!gf_mat_narrow(&w) && w.dtype == GF_F16);
    gf_mat_get(row, &w, rows - 1, cols - 1, 1);
    CHECK(*row == awkward);
    release();
}

static void f16_matrices_that_bf16_holds_give_the_same_bits(void) {
    for (int i = 0; i < N_SIZES; i++) narrow_case(sizes[i], 1 + i * 7, 1 + i % 5);
    narrow_case(33, 300, 1), narrow_case(33, 300, 7);
}

/* Weights of -32 with factors of -128, and activations of 127, n tokens: sums of 32 columns just below 2^24. */
static void matmul_handles_extreme_factors(int n) {
    struct gf_mat w;
    uint8_t block[210];
    float *x = floats(256 * n), *y = floats(n);
    bind(&w, GF_Q6_K, 1, 256);
    memset(block, 0, 192), memset(block + 192, 0x80, 16); /* bits of the weights, all 0: -32; factors */
    block[208] = 0, block[209] = 0x3c;                    /* 1 */
    gf_mat_put_blocks(&w, 0, 0, block, GF_Q6_K, 256);
    for (int i = 0; i < 256 * n; i++) x[i] = 127;
    gf_matmul(y, x, &w, NULL, n, guarded(gf_matmul_scratch(n, 256)), NULL);
    for (int t = 0; t < n; t++) CHECK(y[t] == 32.0f * 128 * 127 * 256);
}

static void matmul_handles_extreme_bytes_and_values(void) {
    /* extreme bytes: weights of -128, which a file may have although no quantiser writes them; activations of +-127 */
    struct gf_mat w;
    uint8_t block[34];
    float x[9 * 32], y[9 * 3];
    char *scratch = guarded(gf_matmul_scratch(9, 32));
    bind(&w, GF_Q8_0, 3, 32);
    for (int row = 0; row < 3; row++) {
        block[0] = 0, block[1] = 0x3c; /* 1 */
        for (int i = 0; i < 32; i++) block[2 + i] = row == 0 ? 0x80 : row == 1 ? 0x7f : i % 2 ? 0x80 : 0x7f;
        gf_mat_put_blocks(&w, row, 0, block, GF_Q8_0, 32);
    }
    for (int i = 0; i < 9 * 32; i++) x[i] = i / 32 % 2 == 0 || i % 2 ? 127 : -127;
    for (int n = 1; n <= 9; n++) {
        gf_matmul(y, x, &w, NULL, n, scratch, NULL);
        for (int t = 0; t < n; t++) {
            const float *at = y + 3 * t;
            CHECK(t % 2 || (at[0] == -128 * 127 * 32 && at[1] == 127 * 127 * 32 && at[2] == -127 * 16));
            CHECK(t % 2 == 0 || (at[0] == 0 && at[1] == 0 && at[2] == -127 * 255 * 16));
        }
    }
    matmul_handles_extreme_factors(1), matmul_handles_extreme_factors(9);
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
    bind(&h, GF_F16, 248, 256);
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
            gf_attn_scores(s, lds, q, ldq, m, type, keys, 64, d, 0.3f);
            float *twice = floats(m * 134 - 6);
            gf_attn_scores(twice, 134, q, ldq, m, type, keys, 64 + count, d, 0.3f);
            for (int t = 0; t < m; t++) {
                CHECK_BITS(twice + t * 134, s + t * lds, 256);
                CHECK_BITS(twice + t * 134 + 64, s + t * lds, count * 4);
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
                    gf_attn_scores(sr, lds, q + t * ldq, ldq, k_at_once, type, keys, 64, d, 0.3f);
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

/* Queries and weights times 2^17, which the f16 kernels cannot also multiply by 2^112, give results times 2^17. */
static void attention_over_f16_takes_large_factors(void) {
    enum { M = 7, D = 44 };
    const float large = 0x1p17f;
    float *x = floats(M * 64), *y = floats(M * 64), *s = floats(M * 64), *t = floats(M * 64), v[D];
    void *kb = guarded(gf_kv_key_bytes(GF_KV_F16, D)), *vb = guarded(gf_kv_value_bytes(GF_KV_F16, D));
    const void *keys = kb;
    for (int j = 0; j < 64; j++) fill(v, D, 1), gf_kv_put(GF_KV_F16, kb, vb, j, v, v, D);
    fill(x, M * 64, 1);
    for (int i = 0; i < M * 64; i++) y[i] = large * x[i], s[i] = t[i] = 0;
    gf_attn_mix(s, 64, x, 64, M, GF_KV_F16, vb, 60, D), gf_attn_mix(t, 64, y, 64, M, GF_KV_F16, vb, 60, D);
    for (int i = 0; i < M * 64; i++) CHECK(t[i] == large * s[i]);
    gf_attn_scores(s, 64, x, 64, M, GF_KV_F16, &keys, 64, D, 0.3f);
    gf_attn_scores(t, 64, y, 64, M, GF_KV_F16, &keys, 64, D, 0.3f);
    for (int i = 0; i < M * 64; i++) CHECK(t[i] == large * s[i]);
    release();
}

int main(void) {
    open_kernels();
    RUN(matrices_have_the_documented_sizes);
    RUN(matrices_return_the_values_that_were_stored);
    RUN(matmul_matches_ref_and_does_not_depend_on_the_batch);
    RUN(matmul_handles_extreme_bytes_and_values);
    RUN(attention_matches_ref);
    RUN(attention_over_f16_takes_large_factors);
    RUN(f16_matrices_that_bf16_holds_give_the_same_bits);
    return close_kernels();
}
