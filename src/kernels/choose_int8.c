/* choose_int8.c - gf_kernels_init: chooses the kind of int8 products (int8_kind.h) that this machine computes exactly.
 *
 * Three products show whether i32x4_rdot reads its second operand as signed or unsigned. Then all int8 kernels are run
 * on a few numbers and must give the same bits as with GF_DOT_ABS, because Node 20 (V8 11.3, relaxed SIMD behind a
 * flag) compiles some of them wrongly in its baseline compiler. A new int8 kernel needs a call in take_sample. */
#include "kernels/int8_kind.h"
#include "kernels/kernels.h"
#include "kernels/simd.h"

#if GF_RELAXED
static int32_t product(int32_t a, int32_t b) {
    uint32_t four = 0x01010101u;
    v128 x = i32x4_splat((int32_t)((a & 255) * four)), w = i32x4_splat((int32_t)((b & 255) * four));
    return i32x4_first(i32x4_rdot(x, w, i32x4_splat(0)));
}

static enum gf_dot operand_kind(void) {
    /* volatile: the products are computed at run time and not folded by the compiler */
    volatile int32_t a[3] = {127, -128, 1}, b[3] = {255, 255, 128};
    int32_t p = product(a[0], b[0]), q = product(a[1], b[1]), r = product(a[2], b[2]);
    if (p == 4 * 127 * 255 && q == 4 * -128 * 255 && r == 4 * 128) return GF_DOT_UNSIGNED;
    if (p == 4 * -127 && q == 4 * 128 && r == 4 * -128) return GF_DOT_SIGNED;
    return GF_DOT_ABS;
}

#define COLS   256
#define D_HEAD 28 /* whole vectors and a rest, for 4, 2 and 1 queries */
struct sample {
    float y[GF_N_DTYPES][3][5 * GF_PANEL], s[7 * GF_KV_BLOCK], z[7 * D_HEAD];
};

/* The results of the int8 kernels on fixed numbers, with the current gf_dot_kind(): products with 1, 2 and 5 tokens,
 * and attention with 7 queries, which runs the code for 4, 2 and 1. */
static void take_sample(struct sample *to) {
    _Alignas(64) char memory[10240], scratch[10240];
    float x[7 * COLS], p[7 * GF_KV_BLOCK];
    uint8_t block[GF_BLOCK_ROOM];
    uint32_t random = 1;
    memset(to, 0, sizeof *to);
    for (int i = 0; i < 7 * COLS; i++) x[i] = (float)((i * 37) % 101 - 50);
    for (int i = 0; i < 7 * GF_KV_BLOCK; i++) p[i] = (float)((i * 29) % 97);
    for (int type = 0; type < GF_N_DTYPES; type++) {
        if (!gf_dtype_is_quantized(type) || !gf_dtype_is_kept(type)) continue;
        struct gf_mat w;
        gf_mat_bind(&w, type, GF_PANEL, COLS, memory);
        for (int r = 0; r < GF_PANEL; r++) {
            for (size_t i = 0; i < sizeof block; i++)
                random = random * 1664525u + 1013904223u, block[i] = (uint8_t)(random >> 24);
            uint8_t *half = block + gf_block_scale_at(type); /* scale, and minimum if any, 1 */
            half[0] = 0, half[1] = 0x3c;
            if (gf_dtypes[type].has_minimum) half[2] = 0, half[3] = 0x3c;
            for (int c = 0; c < COLS; c += gf_dtypes[type].block_cols)
                gf_mat_put_blocks(&w, r, c, block, type, gf_dtypes[type].block_cols);
        }
        static const int32_t tokens[] = {1, 2, 5};
        for (int i = 0; i < 3; i++) gf_matmul(to->y[type][i], x, &w, NULL, tokens[i], scratch, NULL);
    }
    for (int j = 0; j < GF_KV_BLOCK; j++) gf_kv_put(GF_KV_Q8, memory, NULL, j, p + 3 * j, NULL, D_HEAD);
    const void *keys = memory;
    gf_attn_scores(to->s, GF_KV_BLOCK, x, D_HEAD, 7, GF_KV_Q8, &keys, GF_KV_BLOCK, D_HEAD, 1);
    for (int j = 0; j < GF_KV_BLOCK; j++) gf_kv_put(GF_KV_Q8, NULL, memory, j, NULL, x + 2 * j, D_HEAD);
    gf_attn_mix(to->z, D_HEAD, p, GF_KV_BLOCK, 7, GF_KV_Q8, memory, GF_KV_BLOCK, D_HEAD);
}

void gf_kernels_init(void) {
    static int known;
    if (known) return;
    struct sample relaxed, exact;
    enum gf_dot kind = operand_kind();
    known = 1;
    if (kind == GF_DOT_ABS) return;
    take_sample(&exact);
    gf_dot_use(kind);
    take_sample(&relaxed);
    if (memcmp(&relaxed, &exact, sizeof exact) != 0) gf_dot_use(GF_DOT_ABS);
}

const char *gf_kernels_name(void) {
    switch (gf_dot_kind()) {
    case GF_DOT_UNSIGNED: return "relaxed, unsigned dot";
    case GF_DOT_SIGNED: return "relaxed, signed dot";
    default: return "relaxed, 16-bit dot";
    }
}
#else
void gf_kernels_init(void) {}
const char *gf_kernels_name(void) {
#if defined(__wasm_simd128__)
    return "simd128";
#else
    return "native";
#endif
}
#endif
