/* kernels.h - the arithmetic on arrays: conversions, matrix products, norms, activations, softmax, RoPE, attention.
 *
 * Functions that compute are written on the vector operations of simd.h, in rows.c (rows and single values), matmul.c
 * and matmul_int8.c (products), attend.c (scores) and attend_values.c (mixtures of values). The tests compare each with
 * its definition NAME_ref, of the same contract (ref.c: plain loops, sums in double unless it says otherwise).
 * Functions that store and convert (gf_mat_*, gf_kv_put, gf_quantize, gf_dequantize) are in mat.c, attend.c and
 * quant.c.
 *
 * Arrays are float unless said otherwise and need no alignment beyond that of their type. No
 * function allocates. Lengths may be any number >= 0; the kernels handle the tails.
 * All float sums run in one fixed order that depends on the lengths alone: never on n, on threads
 * or on the build, so that prefill equals decode and every binary gives the same bits. No fused
 * multiply-add anywhere (-ffp-contract=off). */
#ifndef GF_KERNELS_H
#define GF_KERNELS_H
#include <stdint.h>

struct gf_pool; /* base/pool.h; NULL means: this thread alone */

/* Choose the fastest integer product that this machine computes exactly (choose_int8.c). Call it before the first
 * matrix or cache is filled, because the storage of int8 weights and keys depends on it; further calls do nothing.
 * Without it the relaxed build gives the same results, more slowly. */
void gf_kernels_init(void);
/* The choice: "native", "simd128", or "relaxed, " and one of "unsigned dot", "signed dot",
 * "16-bit dot". All give the same bits. */
const char *gf_kernels_name(void);

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

/* X(id, value, name, columns and bytes of a block in a file, bits of a value in memory, zero point, has a minimum, has
 * factors, kept, exact): every type that a file's tensor can have. A quantised value is x = (q - zero) scale + minimum
 * with one scale, and one minimum if the type has it, for 32 columns of a row. A type with factors has one scale for
 * 256 columns, and an integer factor of it for 16 (layouts of files: file_blocks.c; in memory: below).
 *
 * kept: the type that weights of this type have in memory, the type itself where its row gives bits. exact: whether
 * that type holds all its values. CONTRIBUTING lists what a new type needs besides its row here. */
#define GF_DTYPES(X)                                                                                                   \
    X(GF_F32, 0, "f32", 1, 4, 32, 0, 0, 0, GF_F32, 1)                                                                  \
    /* IEEE half; in products infinity and NaN read as finite, 2^16 or more */                                         \
    X(GF_F16, 1, "f16", 1, 2, 16, 0, 0, 0, GF_F16, 1)                                                                  \
    X(GF_BF16, 2, "bf16", 1, 2, 16, 0, 0, 0, GF_BF16, 1) /* upper half of a float */                                   \
    X(GF_Q8_0, 3, "q8_0", 32, 34, 8, 0, 0, 0, GF_Q8_0, 1)                                                              \
    X(GF_Q4_0, 4, "q4_0", 32, 18, 4, 8, 0, 0, GF_Q4_0, 1)                                                              \
    X(GF_Q4_1, 5, "q4_1", 32, 20, 4, 0, 1, 0, GF_Q4_1, 1)                                                              \
    X(GF_Q4_K, 6, "q4_k", 256, 144, 4, 0, 1, 0, GF_Q4_K, 1)                                                            \
    X(GF_Q6_K, 7, "q6_k", 256, 210, 8, 0, 0, 1, GF_Q6_K, 1)                                                            \
    X(GF_Q5_0, 8, "q5_0", 32, 22, 8, 0, 0, 0, GF_Q5_0, 1)                                                              \
    X(GF_Q5_1, 9, "q5_1", 32, 24, 8, 0, 1, 0, GF_Q5_1, 1)                                                              \
    X(GF_Q5_K, 10, "q5_k", 256, 176, 0, 0, 1, 0, GF_Q5_1, 1)                                                           \
    X(GF_Q3_K, 11, "q3_k", 256, 110, 0, 0, 0, 1, GF_Q6_K, 1)                                                           \
    X(GF_Q2_K, 12, "q2_k", 256, 84, 0, 0, 1, 1, GF_Q8_0, 0)                                                            \
    X(GF_IQ4_NL, 13, "iq4_nl", 32, 18, 0, 0, 0, 0, GF_Q8_0, 1)                                                         \
    X(GF_IQ4_XS, 14, "iq4_xs", 256, 136, 0, 0, 0, 0, GF_Q8_0, 1)                                                       \
    X(GF_MXFP4, 15, "mxfp4", 32, 17, 0, 0, 0, 0, GF_Q8_0, 1)
#define GF_NUMBERED(id, value, ...) id = value,
enum gf_dtype { GF_DTYPES(GF_NUMBERED) GF_N_DTYPES };

/* GF_BLOCK_ROOM: bytes that hold one block of any type. */
#define GF_DTYPE_ROOM(id, value, name, cols, bytes, ...) uint8_t id##_block[bytes];
union gf_any_block {
    GF_DTYPES(GF_DTYPE_ROOM)
};
#undef GF_DTYPE_ROOM
enum { GF_BLOCK_ROOM = sizeof(union gf_any_block) };

/* The table, indexed by dtype. It stands in the header so that the compiler replaces its entries by constants in a
 * kernel that is compiled for one type. */
struct gf_dtype_row {
    const char *name;
    int32_t block_cols, block_bytes, bits, zero, has_minimum, has_factors, kept, exact;
};
#define GF_DTYPE_ROW(id, value, ...) [id] = {__VA_ARGS__},
static const struct gf_dtype_row gf_dtypes[] = {GF_DTYPES(GF_DTYPE_ROW)};
#undef GF_DTYPE_ROW
static inline int gf_dtype_is_quantized(int32_t dtype) { return gf_dtypes[dtype].block_cols > 1; }
/* Whether a matrix in memory can have this type; gf_quantize writes only these. */
static inline int gf_dtype_is_kept(int32_t dtype) { return gf_dtypes[dtype].kept == dtype; }
/* Whether gf_mat_put_blocks stores blocks of a file's type in a matrix of type `kept`: quantised ones, and values of 16
 * bits as they are. */
static inline int gf_dtype_fits(int32_t dtype, int32_t kept) {
    return dtype != GF_F32 && gf_dtypes[dtype].kept == kept;
}
/* Bytes of one block of a file's dtype, and its columns; 0 and 1 for a dtype that does not exist. */
int32_t gf_dtype_block_bytes(int32_t dtype);
int32_t gf_dtype_block_cols(int32_t dtype);

/* A weight W [rows = out, cols = in], in panels: 16 output rows lie side by side, so that one sequential stream feeds
 * 16 sums and each SIMD lane is an output row. Rows are padded to a multiple of 16 (their values do not matter), cols
 * of quantised types must be a multiple of the block's. In training it is plain row-major f32 instead
 * (train/params.h), which no function below reads.
 *
 *   f32, f16, bf16  [rows/16][cols][16]
 *   q8_0, q5_0      [rows/16][cols/32] of [8][16 rows][4 cols] int8, then scales [16] f32
 *   q5_1            the same, then minima [16] f32
 *   q4_0            [rows/16][cols/32] of [4][16 rows][4 bytes], then scales [16] f32
 *                   byte i of a row in group g: low nibble column 8g+i, high nibble column 8g+4+i
 *   q4_1, q4_k      the same, then minima [16] f32
 *   q6_k            [rows/16][cols/32] of [2][4][8 rows][2][4 cols] int8, in group g columns 4g .. 4g + 3 and
 *                   16 + 4g .. 19 + 4g of 8 rows, then the factors of two times 16 columns, [16 rows][2] int8
 *                   scales [rows/16][cols/256][16] f32, behind all of these
 *
 * The int8 of columns may be stored XOR 0x80, see gf_kernels_init. */
#define GF_PANEL   16
#define GF_QBLOCK  32
#define GF_FACTORS (2 * GF_PANEL) /* bytes of factors of a panel's 32 columns */
/* Blocks of 32 columns that share a scale. */
static inline int32_t gf_scale_blocks(int32_t dtype) { return gf_dtypes[dtype].has_factors ? 8 : 1; }
/* Floats of the scales of a panel's rows that belong to such blocks: scales, then minima if the type has them. */
static inline int32_t gf_panel_scales(int32_t dtype) { return GF_PANEL * (1 + gf_dtypes[dtype].has_minimum); }
/* Bytes of 32 columns of a panel: of their weights, and with factors or scales. A stream of scales apart from that of
 * the weights costs a quarter of the speed where they come from memory. */
static inline int32_t gf_weight_bytes(int32_t dtype) { return GF_PANEL * GF_QBLOCK / 8 * gf_dtypes[dtype].bits; }
static inline int32_t gf_panel_bytes(int32_t dtype) {
    return gf_weight_bytes(dtype) + (gf_dtypes[dtype].has_factors ? GF_FACTORS : 4 * gf_panel_scales(dtype));
}
/* Floats from the scales of a panel's blocks to those of the next ones. */
static inline int32_t gf_scale_step(int32_t dtype) {
    return gf_dtypes[dtype].has_factors ? GF_PANEL : gf_panel_bytes(dtype) / 4;
}
struct gf_mat {
    int32_t dtype, rows, cols;
    void *data;
    float *scale; /* the first scales; quantised types only, else NULL */
    /* The rows that follow, where they have another type (q, k and v of one product); else NULL. Only gf_matmul reads
     * it, and multiplies one part after the other. */
    struct gf_mat *next;
};

/* Bytes that W takes in memory, scales included, rounded up to 64; UINT64_MAX when cols does not
 * suit the type. */
uint64_t gf_mat_bytes(int32_t dtype, int32_t rows, int32_t cols);
/* Make W describe `memory`: 64-byte aligned, gf_mat_bytes long, owned by the caller. Its bytes are not changed. */
void gf_mat_bind(struct gf_mat *w, int32_t dtype, int32_t rows, int32_t cols, void *memory);
/* Where bf16 holds all values of a GF_F16 matrix, as it holds those of a model that was trained in bf16, store them as
 * bf16 and return 1: products with one token take two instructions for two values instead of five, with the same
 * results. gf_mat_widen: back to GF_F16. gf_bf16_to_f16: n values that both types hold. */
int gf_mat_narrow(struct gf_mat *w);
void gf_mat_widen(struct gf_mat *w);
void gf_bf16_to_f16(uint16_t *values, int64_t n);
/* n values of a file's dtype (n a multiple of the block's columns) to float. */
void gf_dequantize(float *y, const void *blocks, int32_t dtype, int32_t n);
/* The first value of the first block with a NaN or an infinity, of n values in blocks of a file's quantised dtype or of
 * 16 bits; -1: all are finite. */
int64_t gf_blocks_not_finite(const void *blocks, int32_t dtype, int64_t n);
/* n floats to a file's dtype that is kept; ties to even; q8_0 and q4_0 as ggml's reference quantizers do. */
void gf_quantize(void *blocks, const float *x, int32_t dtype, int64_t n);
/* Put n floats into row `row` from column `col` on, converting to W's dtype. Quantised types: col
 * and n multiples of 32. */
void gf_mat_put(struct gf_mat *w, int32_t row, int32_t col, const float *x, int32_t n);
/* Put n floats into a row of a matrix that is not quantised, as gf_mat_put does. */
void gf_mat_put_floats(struct gf_mat *w, int32_t row, int32_t col, const float *x, int32_t n);
/* Put n columns' worth of blocks of a file into row `row` from column `col` on. dtype, that of the blocks, fits W's
 * (gf_dtype_fits). Values of a type that is not exact are rounded to steps of max|x| / 127 of their
 * 32 columns; others do not change. */
void gf_mat_put_blocks(struct gf_mat *w, int32_t row, int32_t col, const void *blocks, int32_t dtype, int32_t n);

/* 32 columns of a quantised row as integers: x[j] = q[j] (d factor[j / 16]) + minimum[j / 16]. Types with one scale for
 * 32 columns have two equal factors and minima; types without a minimum have 0. */
struct gf_ints {
    float d, minimum[2];
    int32_t factor[2];
    int8_t q[32];
};
/* The byte of a block of a file's quantised dtype at which its f16 scale is; a minimum follows it. */
int32_t gf_block_scale_at(int32_t dtype);
/* *to = columns 32 part .. 32 part + 31 of one block of a file's quantised dtype. */
void gf_unpack_block(struct gf_ints *to, const void *block, int32_t dtype, int32_t part);
/* y [n] = columns col .. col + n - 1 of row `row` of W, dequantised. Quantised types: col and n multiples of 32. */
void gf_mat_get(float *y, const struct gf_mat *w, int32_t row, int32_t col, int32_t n);
/* All columns of row `row`. */
void gf_mat_get_row(float *y, const struct gf_mat *w, int32_t row);
/* Between how this machine stores bytes from .. from + n - 1 of W's memory, and how every machine can read them (int8
 * as they are); the same way forth and back. */
void gf_mat_flip(const struct gf_mat *w, uint8_t *bytes, uint64_t from, uint64_t n);

/* y = x W^T + b.   x [n, cols]   W [rows, cols], all its parts   b [rows] or NULL   y [n, rows]
 * y must not overlap x, W or scratch. scratch: gf_matmul_scratch(n, cols) bytes, 64-byte aligned.
 * Float types: f32 sums over columns 0, 1, 2, ... in that order, one chain for each element; b is
 * added last. Error bound against _ref: cols * 2^-23 * sum|x w| per element.
 * Quantised types: x is quantised per row to int8 blocks of 32 (scale max|x|/127, as ggml's q8_0
 * but with a float scale), products within a block are exact integers, blocks are added in order as
 * float(sum) * (scale_w * scale_x), plus, for types with a minimum, min_w * (scale_x * sum q_x). For types with factors
 * the sum is factor_0 * (sum of 16 columns) + factor_1 * (sum of the next 16), below 2^24. _ref quantises x the same
 * way. */
uint64_t gf_matmul_scratch(int32_t n, int32_t cols);
void gf_matmul(float *y, const float *x, const struct gf_mat *w, const float *b, int32_t n, void *scratch,
               struct gf_pool *pool);
/* Rows of W with all its parts. */
static inline int32_t gf_mat_rows(const struct gf_mat *w) {
    int32_t rows = 0;
    for (; w; w = w->next) rows += w->rows;
    return rows;
}

/* ---- norms: x, y [n, d] contiguous; y may be x; squares do not overflow --------------------------------------- */

/* y = (x - mean) * rstd * gain + bias, rstd = 1 / sqrt(variance + eps). gain, bias may be NULL (1,
 * 0). mean, rstd: [n] outputs or NULL. Ba, Kiros, Hinton 2016. */
void gf_layernorm(float *y, const float *x, const float *gain, const float *bias, float *mean, float *rstd, int32_t n,
                  int32_t d, float eps);
/* y = x * rstd * gain, rstd = 1 / sqrt(mean(x^2) + eps): eps inside the root. Zhang, Sennrich 2019. */
void gf_rmsnorm(float *y, const float *x, const float *gain, float *rstd, int32_t n, int32_t d, float eps);

/* ---- elementwise, n values; y may be an input -------------------------------------------------------------------- */

/* y = a + b;  y = s x;  y += s x;  y = max(x, 0) */
void gf_add(float *y, const float *a, const float *b, int64_t n);
void gf_scale(float *y, const float *x, float s, int64_t n);
void gf_axpy(float *y, const float *x, float s, int64_t n);
void gf_relu(float *y, const float *x, int64_t n);
/* y = x Phi(x) by erf; the tanh form of Hendrycks & Gimpel 2016; silu(gate) * up. Of -inf all are NaN, as -inf times 0
 * is, so that an overflow before them is not lost. */
void gf_gelu_erf(float *y, const float *x, int64_t n);
void gf_gelu_tanh(float *y, const float *x, int64_t n);
void gf_silu_mul(float *y, const float *gate, const float *up, int64_t n);
/* exp within 2 ulp, 0 below 2^-125, overflow to inf; tanh and erf */
void gf_exp(float *y, const float *x, int64_t n);
void gf_tanh(float *y, const float *x, int64_t n);
void gf_erf(float *y, const float *x, int64_t n);

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* y = softmax(x) over n values, n >= 1; y may be x. -inf gives exactly 0 (all of them -inf: NaN).
 * Padding x with -inf to a longer n leaves the first values' bits unchanged. */
void gf_softmax(float *y, const float *x, int32_t n);
/* log(sum(exp(x))), computed from the maximum. */
float gf_logsumexp(const float *x, int32_t n, struct gf_pool *pool);
/* Index of the largest value, the first of equals; -1 if any is NaN or +inf, or all are -inf. */
int32_t gf_argmax(const float *x, int32_t n);

/* The k largest values of x + bias that are above 0, of n: y and their indices, ordered by index; 0 and -1 after the
 * last. The first of equals is chosen. 1 <= k <= n. */
void gf_largest(float *y, int32_t *index, const float *x, const float *bias, int32_t n, int32_t k);

/* ---- positions --------------------------------------------------------------------------------------------------- */

enum gf_rope_pairs { GF_ROPE_HALF = 0, GF_ROPE_ADJACENT = 1 };
/* Rotate n rows of n_heads heads in place: row i starts at x + i * ldx, heads d_head apart. The
 * pair (a, b) = (x[j], x[j + d_head/2]) or (x[2j], x[2j+1]) becomes (a c - b s, a s + b c) with c =
 * table[i * d_head + j], s = table[i * d_head + d_head/2 + j]. d_head even. Su et al. 2021. */
void gf_rope(float *x, int32_t ldx, const float *table, int32_t n, int32_t n_heads, int32_t d_head, int32_t pairs);

/* ---- attention over cached keys and values ----------------------------------------------------------------------- */

/* Keys and values of one kv head lie in blocks of 64 positions, 16-byte aligned. K is kept transposed
 * so that a lane is a key:
 *
 *   f32  K [d_head][64]                         V [64][d_head]
 *   f16  the same in halves
 *   q8   K [ceil(d_head/4)][64][4] int8         V [16][d_head][4] int8, 4 positions each
 *        then scale [64] f32                    then scale [64] f32
 *
 * q8 has one scale max|x| / 127 per position; K's columns past d_head are 0, and its bytes may be
 * stored XOR 0x80, see gf_kernels_init.
 *
 * What a type holds of the values x of a head's key or value:
 *
 *   f32  x itself; NaN and infinities too, which make NaN of what is computed with them
 *   f16  x, rounded to nearest even, while |x| < 65520; other numbers, infinities and NaN it cannot hold (gf_kv_put)
 *   q8   x within max|x| / 254; where one is NaN or infinite the scale is NaN, and so are the results */
#define GF_KV_BLOCK    64
#define GF_KV_TYPES(X) X(GF_KV_F32, 0, "f32") X(GF_KV_F16, 1, "f16") X(GF_KV_Q8, 2, "q8")
enum gf_kv_type { GF_KV_TYPES(GF_NUMBERED) GF_N_KV_TYPES };
/* Bytes of one block of keys, and of values, each a multiple of 16. */
uint64_t gf_kv_key_bytes(int32_t type, int32_t d_head);
uint64_t gf_kv_value_bytes(int32_t type, int32_t d_head);
/* XOR a block of stored q8 keys with the pattern that this machine's dot product reads (kernels/int8_kind.h): from int8
 * to stored, and back. Other types are stored alike everywhere and do not change. */
void gf_kv_flip(int32_t type, void *kblock, int32_t d_head);
/* Write position `slot` (0..63) of a block. k or v may be NULL (left alone). Returns 1 where f16 cannot hold a value,
 * in whose place is then +-65504, else 0. */
int gf_kv_put(int32_t type, void *kblock, void *vblock, int32_t slot, const float *k, const float *v, int32_t d_head);
/* s[64 b + j] = scale * sum_d q[d] K_b[d][j] for the first n_keys slots of the blocks K_b = blocks[b], and perhaps for
 * more of the last one (unwritten slots give whatever lies there; the caller masks them). Sum over d in order; for q8
 * the query is quantised like a key, once for all blocks, and the sum is an exact integer. m queries: q rows ldq apart,
 * s rows lds apart; a row's bits do not depend on m or n_keys. Multiples of 4 queries are the fastest. */
void gf_attn_scores(float *s, int32_t lds, const float *q, int32_t ldq, int32_t m, int32_t type,
                    const void *const *blocks, int32_t n_keys, int32_t d_head, float scale);
/* z[d] += sum_{j < count} p[j] V[j][d], keys in order. m queries as above (p rows ldp, z rows ldz
 * apart). p[j] = 0 adds nothing, whatever lies in V[j], and what lies in slots from count on does
 * not matter. q8: p times V's scales is quantised to 14 bits (max / 16383 over these keys), the sum
 * is an exact integer and reaches z in one addition. */
void gf_attn_mix(float *z, int32_t ldz, const float *p, int32_t ldp, int32_t m, int32_t type, const void *vblock,
                 int32_t count, int32_t d_head);
#endif
