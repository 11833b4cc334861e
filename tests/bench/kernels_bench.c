/* kernels_bench.c - how near the kernels come to what the machine can do.
 *
 * Prints, for each kernel and size, the best of many short repeats (neighbours on the same machine
 * only ever make it slower) and its share of a limit that is measured in the same run by the
 * simplest loop that could be: reading memory for products with one token, multiplying and adding
 * in registers for products with many. The same program runs natively, in Node and in a page; every
 * kernel is first called for a while, since V8 replaces a function's code only between its calls.
 *
 *   kernels_bench [FILTER]    rows whose name contains FILTER */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include "kernels/int8_kind.h"  /* gf_dot_kind */
#include "kernels/kernels.h"
#include "kernels/simd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REPEATS 40

static double now(void) { /* ms */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

struct work {
    void (*run)(struct work *w);
    const char *name;
    struct gf_mat *mats; /* taken in turn, so that together they fill a level of the caches */
    int32_t n_mats, next, n, cols, rows, type, count;
    float *x, *y;
    void *scratch, *memory;
    uint64_t bytes;
};

/* Milliseconds of one w->run, the best of REPEATS averages over 2 ms and more (a page's clock may
 * stand still for 0.1 ms). */
static double measure(struct work *w) {
    double best = INFINITY, start = now();
    int batch = 1;
    while (now() - start < 100) w->run(w);
    for (int i = 0; i < REPEATS;) {
        start = now();
        for (int j = 0; j < batch; j++) w->run(w);
        double ms = now() - start;
        if (ms < 2) {
            batch *= 2;
            continue;
        }
        if (ms / batch < best) best = ms / batch;
        i++;
    }
    return best;
}

static void *take(uint64_t bytes) {
    void *p = aligned_alloc(64, (size_t)((bytes + 63) / 64 * 64));
    if (!p) exit((puts("out of memory"), 1));
    return p;
}

static const char *filter = "";
static int wanted(const char *name) { return strstr(name, filter) != NULL; }

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static volatile float sink;

__attribute__((noinline)) static void read_all(struct work *w) {
    const char *p = w->memory, *end = p + w->bytes;
    v128 s[8];
    GF_UNROLL
    for (int i = 0; i < 8; i++) s[i] = i32x4_splat(0);
    GF_ROLLED
    for (; p < end; p += 128) {
        GF_UNROLL
        for (int i = 0; i < 8; i++) s[i] = i32x4_add(s[i], v_load(p + 16 * i));
    }
    GF_UNROLL
    for (int i = 1; i < 8; i++) s[0] = i32x4_add(s[0], s[i]);
    sink = (float)i32x4_sum(s[0]);
}

__attribute__((noinline)) static void multiply_add(struct work *w) {
    v128 s[12], k = v_load(w->x), l = v_load(w->x + 4); /* 12: both latencies are in each chain */
    GF_UNROLL
    for (int i = 0; i < 12; i++) s[i] = v_load(w->x + i);
    GF_ROLLED
    for (int i = 0; i < w->count; i++) {
        GF_UNROLL
        for (int j = 0; j < 12; j++) s[j] = f4_add(f4_mul(s[j], k), l);
    }
    GF_UNROLL
    for (int i = 1; i < 12; i++) s[0] = f4_add(s[0], s[i]);
    sink = f4_sum(s[0]);
}

/* Products of int16 and their sums in int32: i32x4_dot and an addition. The factor k changes in each round. With constant
 * factors the compiler would move the products out of the loop and leave only the additions. An addition every 6
 * products is the price; 6 sums, 6 factors, k and the product fill 14 of V8's 15 registers. */
#define DOT_I16 6
__attribute__((noinline)) static void dot_i16_add(struct work *w) {
    v128 s[DOT_I16], l[DOT_I16], k = v_load(w->x);
    GF_UNROLL
    for (int i = 0; i < DOT_I16; i++) s[i] = i32x4_splat(i), l[i] = v_load(w->x + i);
    GF_ROLLED
    for (int i = 0; i < w->count; i++) {
        GF_UNROLL
        for (int j = 0; j < DOT_I16; j++) s[j] = i32x4_add(s[j], i32x4_dot(k, l[j]));
        k = i32x4_add(k, l[0]);
    }
    GF_UNROLL
    for (int i = 1; i < DOT_I16; i++) s[0] = i32x4_add(s[0], s[i]);
    sink = (float)i32x4_sum(s[0]);
}

#if GF_RELAXED
/* Products of int8 and their sums in int32: i32x4_rdot. Each product has the sum as operand and cannot leave the loop. 12
 * sums, because vpdpbusd has a latency of 5 cycles and two start in each. */
#define DOT_I8 12
__attribute__((noinline)) static void dot_i8_add(struct work *w) {
    v128 s[DOT_I8], k = v_load(w->x), l = v_load(w->x + 4);
    GF_UNROLL
    for (int i = 0; i < DOT_I8; i++) s[i] = i32x4_splat(i);
    GF_ROLLED
    for (int i = 0; i < w->count; i++) {
        GF_UNROLL
        for (int j = 0; j < DOT_I8; j++) s[j] = i32x4_rdot(k, l, s[j]);
    }
    GF_UNROLL
    for (int i = 1; i < DOT_I8; i++) s[0] = i32x4_add(s[0], s[i]);
    sink = (float)i32x4_sum(s[0]);
}
#endif

/* GOPS of the integer products that the kernels of this build use here. Prints every kind that the build has. For
 * GF_DOT_I16 each int16 factor of i32x4_dot holds one int8. */
static double limit_int8(struct work *l) {
    l->run = dot_i16_add;
    double best = DOT_I16 * 16.0 * l->count / measure(l) * 1e-6;
    printf("%-34s %7.1f GOPS\n", "int16 dot, add", best);
#if GF_RELAXED
    l->run = dot_i8_add;
    double relaxed = DOT_I8 * 32.0 * l->count / measure(l) * 1e-6;
    printf("%-34s %7.1f GOPS\n", "int8 relaxed dot", relaxed);
    if (gf_dot_kind() != GF_DOT_I16) best = relaxed;
#endif
    return best;
}

static double limit_read(uint64_t bytes) { /* GB/s */
    struct work w = {.run = read_all, .bytes = bytes, .memory = take(bytes)};
    memset(w.memory, 1, bytes);
    double ms = measure(&w);
    free(w.memory);
    return (double)bytes / ms * 1e-6;
}

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

static void run_matmul(struct work *w) {
    gf_matmul(w->y, w->x, &w->mats[w->next], NULL, w->n, w->scratch, NULL);
    if (++w->next == w->n_mats) w->next = 0;
}

static struct work matrices(int type, int rows, int cols, int n, uint64_t bytes) {
    struct work w = {.run = run_matmul, .rows = rows, .cols = cols, .n = n, .type = type};
    uint64_t each = gf_mat_bytes(type, rows, cols);
    w.n_mats = (int32_t)(bytes / each > 0 ? bytes / each : 1);
    w.mats = take(sizeof *w.mats * (size_t)w.n_mats);
    w.memory = take(each * (uint64_t)w.n_mats);
    w.bytes = each;
    w.x = take((uint64_t)n * cols * 4), w.y = take((uint64_t)n * rows * 4);
    w.scratch = take(gf_matmul_scratch(n, cols));
    for (int i = 0; i < n * cols; i++) w.x[i] = sinf((float)i);
    float *row = take((uint64_t)cols * 4);
    for (int i = 0; i < cols; i++) row[i] = cosf((float)i);
    for (int m = 0; m < w.n_mats; m++) {
        gf_mat_bind(&w.mats[m], type, rows, cols, (char *)w.memory + each * (uint64_t)m);
        if (m == 0)
            for (int r = 0; r < rows; r++) gf_mat_put(&w.mats[0], r, 0, row, cols);
        else
            memcpy(w.mats[m].data, w.mats[0].data, each);
    }
    free(row);
    return w;
}

static void done(struct work *w) { free(w->mats), free(w->memory), free(w->x), free(w->y), free(w->scratch); }

/* The nearest width that is whole blocks of the type. */
static int whole_blocks(int cols, int type) {
    const int per = gf_dtypes[type].block_cols;
    return (cols + per / 2) / per * per;
}

static void one_token(void) {
    static const struct {
        uint64_t bytes;
        int rows, cols;
        const char *level;
    } at[] = {{40 << 10, 48, 288, "40 KB"},  {1 << 20, 288, 288, "1 MB"},       {1 << 20, 768, 288, "1 MB"},
              {16 << 20, 768, 768, "16 MB"}, {256 << 20, 4096, 2048, "256 MB"}, {256 << 20, 8192, 640, "256 MB"}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        char name[64];
        double limit = 0;
        for (int type = 0; type < GF_N_DTYPES; type++) {
            snprintf(name, sizeof name, "gemv %s %s", gf_dtypes[type].name, at[i].level);
            if (!wanted(name) || !gf_dtype_is_kept(type)) continue;
            if (limit == 0) {
                limit = limit_read(at[i].bytes);
                printf("%-34s %7.1f GB/s\n", at[i].level, limit);
            }
            struct work w = matrices(type, at[i].rows, whole_blocks(at[i].cols, type), 1, at[i].bytes);
            double ms = measure(&w), rate = (double)w.bytes / ms * 1e-6;
            printf("%-18s %5d x %-5d     %7.1f GB/s  %3.0f %%  %8.2f G weights/s\n", name, w.rows, w.cols, rate,
                   100 * rate / limit, (double)w.rows * w.cols / ms * 1e-6);
            fflush(stdout);
            done(&w);
        }
    }
}

/* Blocks of a file into a matrix, row by row, as a load does. */
static void run_store(struct work *w) {
    for (int r = 0; r < w->rows; r++) gf_mat_put_blocks(w->mats, r, 0, w->scratch, w->type, w->cols);
}

static void store(void) {
    for (int type = 0; type < GF_N_DTYPES; type++) {
        char name[64];
        snprintf(name, sizeof name, "store %s", gf_dtypes[type].name);
        if (!wanted(name) || !gf_dtype_is_quantized(type)) continue;
        struct work w = matrices(gf_dtypes[type].kept, 768, 768, 1, 1);
        const uint64_t bytes = (uint64_t)(768 / gf_dtypes[type].block_cols * gf_dtypes[type].block_bytes);
        free(w.scratch), w.scratch = take(bytes);
        memset(w.scratch, 0x2a, bytes);
        w.run = run_store, w.type = type;
        printf("%-18s %5d x %-5d     %7.2f GB/s of the file\n", name, 768, 768, 768 * bytes / measure(&w) * 1e-6);
        fflush(stdout);
        done(&w);
    }
}

static void many_tokens(void) {
    struct work l = {.run = multiply_add, .count = 4096, .x = take(64)};
    for (int i = 0; i < 16; i++) l.x[i] = 0.5f + 0.01f * (float)i;
    double flops = 0, ops = 0;
    static const int shapes[][3] = {{288, 288, 128}, {768, 768, 128}, {768, 768, 4}, {768, 768, 3}};
    for (int s = 0; s < 4; s++)
        for (int type = 0; type < GF_N_DTYPES; type++) {
            char name[64];
            snprintf(name, sizeof name, "gemm %s x %d", gf_dtypes[type].name, shapes[s][2]);
            if (!wanted(name) || !gf_dtype_is_kept(type)) continue;
            if (flops == 0) {
                flops = 12 * 8.0 * l.count / measure(&l) * 1e-6;
                printf("%-34s %7.1f GFLOPS\n", "multiply, add", flops);
                ops = limit_int8(&l);
            }
            struct work w = matrices(type, shapes[s][0], whole_blocks(shapes[s][1], type), shapes[s][2], 1);
            double n = 2.0 * w.rows * w.cols * w.n, ms = measure(&w);
            printf("%-18s %5d x %-5d     %7.1f %s %3.0f %%\n", name, w.rows, w.cols, n / ms * 1e-6,
                   !gf_dtype_is_quantized(type) ? "GFLOPS" : "GOPS  ",
                   100 * n / ms * 1e-6 / (!gf_dtype_is_quantized(type) ? flops : ops));
            fflush(stdout);
            done(&w);
        }
    free(l.x);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

static void run_scores(struct work *w) { /* n queries against count blocks */
    const void *blocks[16];
    for (int i = 0; i < w->count; i++) blocks[i] = (const char *)w->memory + w->bytes * (uint64_t)i;
    gf_attn_scores(w->y, w->rows, w->x, w->cols, w->n, w->type, blocks, 64 * w->count, w->cols, 0.1f);
}
static void run_mix(struct work *w) {
    char *v = w->memory;
    for (int i = 0; i < w->count; i++, v += w->bytes)
        gf_attn_mix(w->x, w->cols, w->y + 64 * i, w->rows, w->n, w->type, v, 64, w->cols);
}
static void run_put(struct work *w) {
    for (int j = 0; j < 64; j++)
        gf_kv_put(w->type, w->memory, (char *)w->memory + gf_kv_key_bytes(w->type, w->cols), j, w->x, w->x, w->cols);
}

static void attention(void) {
    static const char *const kv[] = {"f32", "f16", "q8"};
    int blocks = 16;
    for (int type = 0; type < GF_N_KV_TYPES; type++)
        for (int d = 48; d <= 64; d += 16)
            for (int n = 1; n <= 4; n += 3)
                for (int mix = 0; mix < 2; mix++) {
                    struct work w = {.run = mix ? run_mix : run_scores, .n = n, .cols = d, .type = type};
                    char name[64];
                    snprintf(name, sizeof name, "%s %s, %d quer%s", mix ? "mix" : "scores", kv[type], n,
                             n > 1 ? "ies" : "y");
                    if (!wanted(name)) continue;
                    w.count = blocks, w.rows = blocks * 64;
                    w.bytes = mix ? gf_kv_value_bytes(type, d) : gf_kv_key_bytes(type, d);
                    w.memory = take(w.bytes * (uint64_t)blocks);
                    w.x = take((uint64_t)d * 16), w.y = take((uint64_t)w.rows * 16);
                    for (int i = 0; i < 4 * w.rows; i++) w.y[i] = 1e-3f;
                    for (int i = 0; i < 4 * d; i++) w.x[i] = sinf((float)i);
                    for (int i = 0; i < blocks; i++)
                        for (int j = 0; j < 64; j++) {
                            char *block = (char *)w.memory + w.bytes * (uint64_t)i;
                            gf_kv_put(type, block, block, j, mix ? NULL : w.x, mix ? w.x : NULL, d);
                        }
                    double ms = measure(&w);
                    printf("%-18s d_head %-3d         %7.1f GB/s  %6.1f GFLOPS  %6.2f ns per key "
                           "and query\n",
                           name, d, (double)w.bytes * blocks / ms * 1e-6, 2.0 * blocks * 64 * d * n / ms * 1e-6,
                           ms * 1e6 / (blocks * 64 * n));
                    fflush(stdout);
                    done(&w);
                }
    for (int type = 0; type < GF_N_KV_TYPES; type++) {
        struct work w = {.run = run_put, .cols = 48, .type = type};
        if (!wanted("put")) continue;
        w.memory = take(gf_kv_key_bytes(type, 48) + gf_kv_value_bytes(type, 48));
        w.x = take(48 * 4);
        for (int i = 0; i < 48; i++) w.x[i] = sinf((float)i);
        printf("put %-14s d_head 48          %7.1f ns per position\n", kv[type], measure(&w) * 1e6 / 64);
        done(&w);
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void run_exp(struct work *w) { gf_exp(w->y, w->x, w->n); }
static void run_tanh(struct work *w) { gf_tanh(w->y, w->x, w->n); }
static void run_erf(struct work *w) { gf_erf(w->y, w->x, w->n); }
static void run_gelu_tanh(struct work *w) { gf_gelu_tanh(w->y, w->x, w->n); }
static void run_gelu_erf(struct work *w) { gf_gelu_erf(w->y, w->x, w->n); }
static void run_silu_mul(struct work *w) { gf_silu_mul(w->y, w->x, w->x, w->n); }
static void run_softmax(struct work *w) { gf_softmax(w->y, w->x, w->n); }
static void run_rmsnorm(struct work *w) { gf_rmsnorm(w->y, w->x, w->x, NULL, 1, w->n, 1e-5f); }
static void run_layernorm(struct work *w) { gf_layernorm(w->y, w->x, w->x, w->x, NULL, NULL, 1, w->n, 1e-5f); }
static void run_quantize(struct work *w) { /* a matrix of one row: what is left is its activations */
    gf_matmul(w->y, w->x, w->mats, NULL, 1, w->scratch, NULL);
}
static void run_logsumexp(struct work *w) { w->y[0] = gf_logsumexp(w->x, w->n, NULL); }
static void run_argmax(struct work *w) { w->next = gf_argmax(w->x, w->n); }

static void rows(void) {
    struct work at[] = {{.run = run_exp, .name = "exp"},
                        {.run = run_tanh, .name = "tanh"},
                        {.run = run_erf, .name = "erf"},
                        {.run = run_gelu_tanh, .name = "gelu_tanh"},
                        {.run = run_gelu_erf, .name = "gelu_erf"},
                        {.run = run_silu_mul, .name = "silu_mul"},
                        {.run = run_softmax, .name = "softmax"},
                        {.run = run_rmsnorm, .name = "rmsnorm"},
                        {.run = run_layernorm, .name = "layernorm"},
                        {.run = run_logsumexp, .name = "logsumexp"},
                        {.run = run_argmax, .name = "argmax"},
                        {.run = run_quantize, .name = "quantize x"}};
    for (int i = 0; i < 12; i++) {
        struct work *w = &at[i];
        if (!wanted(w->name)) continue;
        w->n = 768, w->x = take(768 * 4), w->y = take(768 * 4);
        w->scratch = take(gf_matmul_scratch(1, 768)), w->mats = take(sizeof *w->mats);
        w->memory = take(gf_mat_bytes(GF_Q8_0, 1, 768));
        memset(w->memory, 0, gf_mat_bytes(GF_Q8_0, 1, 768));
        gf_mat_bind(w->mats, GF_Q8_0, 1, 768, w->memory);
        for (int j = 0; j < 768; j++) w->x[j] = 3 * sinf((float)j);
        printf("%-18s %5d             %7.3f ns per value\n", w->name, w->n, measure(w) * 1e6 / w->n);
        done(w);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) filter = argv[1];
    gf_kernels_init();
    printf("kernels: %s\n", gf_kernels_name());
    one_token();
    store();
    many_tokens();
    attention();
    rows();
    return 0;
}
