/* load_test.c - loads tensors in every layout, stack and piece size, and reads them back.
 *
 * Widths exceed the 32 columns that a transposed tensor gathers, and are multiples of 32 only if a block format needs
 * it. The golden models are narrower and do not detect a column in the wrong place. */
#include "status.h"
#include <stdlib.h>

static struct gf_config wide_config(int blocks_of_32) {
    struct gf_config c;
    gf_config_default(&c);
    c.vocab_size = blocks_of_32 ? 64 : 70, c.d_model = blocks_of_32 ? 96 : 75, c.n_layers = 1;
    c.n_heads = 4, c.n_kv_heads = blocks_of_32 ? 4 : 2, c.d_head = blocks_of_32 ? 24 : 18,
    c.d_ff = blocks_of_32 ? 64 : 83;
    c.context_length = blocks_of_32 ? 32 : 37, c.position = GF_POS_LEARNED, c.tie_word_embeddings = 0;
    c.norm = c.final_norm_kind = GF_LAYERNORM,
    c.bias_norm = c.bias_qkv = c.bias_attn_out = c.bias_ffn = c.bias_head = 1;
    return c;
}

/* Entry e's value at (row, col): an integer that every format represents exactly. In each 32 columns of a row and in
 * each 32 rows of a column one value is 127, so that the scale of q8_0 is 1. */
static float value(int32_t e, int32_t row, int32_t col) {
    if ((row + col) % 32 == e % 32) return 127;
    return (float)((e * 7919 + row * 131 + col * 17) % 253 - 126);
}

struct way {
    int32_t transposed, stacked, kept, piece; /* piece: values written at a time, whole blocks */
    int32_t file;                             /* dtype of matrices in the file */
};

/* Load entries first ... first + n - 1 as one tensor. */
static void load(struct gf_model *m, int32_t first, int32_t n, const struct way *how) {
    struct gf_tensor t;
    int32_t rows = 0, cols = 0;
    for (int32_t i = 0; i < n; i++) {
        CHECK_OK(gf_model_tensor(m, first + i, &t));
        rows = t.rank == 2 ? rows + t.rows : 1;
        cols = t.rank == 2 ? t.cols : cols + t.cols;
    }
    float *file = malloc((size_t)rows * (size_t)cols * sizeof *file);
    for (int32_t i = 0, row0 = 0, col0 = 0; i < n; i++) {
        CHECK_OK(gf_model_tensor(m, first + i, &t));
        for (int32_t r = 0; r < t.rows; r++)
            for (int32_t c = 0; c < t.cols; c++)
                file[how->transposed && t.rank == 2 ? (size_t)c * (size_t)rows + (size_t)(row0 + r)
                                                    : (size_t)(row0 + r) * (size_t)cols + (size_t)(col0 + c)] =
                    value(first + i, r, c);
        if (t.rank == 2)
            row0 += t.rows;
        else
            col0 += t.cols;
    }
    const int32_t dtype = t.rank == 2 ? how->file : GF_F32, per = gf_dtype_block_cols(dtype),
                  bytes = gf_dtype_block_bytes(dtype), all = rows * cols;
    uint8_t *blocks = malloc((size_t)(all / per) * (size_t)bytes);
    gf_quantize(blocks, file, dtype, all);
    CHECK_OK(gf_tensor_begin(m, first, n, dtype, how->transposed, &err));
    for (int32_t at = 0; at < all; at += how->piece) {
        const int32_t some = all - at < how->piece ? all - at : how->piece;
        CHECK_OK(gf_tensor_write(m, blocks + (size_t)(at / per) * (size_t)bytes, (uint32_t)(some / per * bytes), &err));
    }
    free(blocks);
    CHECK_OK(gf_tensor_end(m, &err));
    free(file);
}

static int ends(const struct gf_tensor *t, const char *with) {
    const size_t n = strlen(t->name), m = strlen(with);
    return n >= m && !strcmp(t->name + n - m, with);
}

static void a_tensor_loads_equally_in_every_layout_stack_and_piece_size(void) {
    for (int i = 0; i < 32; i++) { /* stored as f32, f16, q8_0, and q8_0 in the file too */
        const int form = i / 4 % 4;
        const struct way how = {i % 2, i / 2 % 2, form < 3 ? form : 2,
                                i < 16     ? 1 << 20
                                : form < 3 ? 29
                                           : 32,
                                form < 3 ? GF_F32 : GF_Q8_0};
        static const uint8_t kept[] = {GF_F32, GF_F16, GF_Q8_0};
        const struct gf_config c = wide_config(how.kept == 2);
        const int32_t n = gf_roster_count(&c);
        uint8_t dtypes[64];
        memset(dtypes, kept[how.kept], sizeof dtypes);
        struct gf_model *m = gf_model_open(&c, dtypes, &err);
        CHECK(m != NULL && n < 64);
        if (!m) return;
        for (int32_t e = 0, some; e < n; e += some) {
            struct gf_tensor t;
            CHECK_OK(gf_model_tensor(m, e, &t));
            some = 1; /* q, k, v, and their biases, which differ in length */
            if (how.stacked && (ends(&t, "attn.q.weight") || ends(&t, "attn.q.bias"))) some = 3;
            if (how.stacked && ends(&t, "ffn.gate.weight")) some = 2;
            load(m, e, some, &how);
        }
        CHECK_OK(gf_model_seal(m, &err));
        for (int32_t e = 0; e < n; e++) {
            struct gf_tensor t;
            float row[96];
            int32_t wrong = 0;
            CHECK_OK(gf_model_tensor(m, e, &t));
            if (t.rank == 2 && !ends(&t, "position.weight")) CHECK_INT(t.dtype, kept[how.kept]);
            for (int32_t r = 0; r < t.rows; r++) {
                CHECK(t.cols <= 96);
                CHECK_OK(gf_tensor_read(m, e, r, row, &err));
                for (int32_t k = 0; k < t.cols; k++) wrong += row[k] != value(e, r, k);
            }
            if (wrong) printf("  %s, way %d: %d values differ\n", t.name, i, wrong);
            CHECK_INT(wrong, 0);
        }
        gf_model_close(m);
    }
}

/* Entries that differ in columns or in rank cannot be stacked. */
static void stacks_of_unequal_columns_or_rank_are_refused(void) {
    struct gf_config c = wide_config(0);
    c.bias_qkv = c.bias_ffn = 0; /* v is followed by o, of other columns; up by down */
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    int32_t refused = 0;
    const int32_t n = gf_roster_count(&c);
    for (int32_t e = 0; e + 1 < n; e++) {
        struct gf_tensor a, b;
        CHECK_OK(gf_model_tensor(m, e, &a));
        CHECK_OK(gf_model_tensor(m, e + 1, &b));
        const int fits = a.rank == b.rank && (a.rank == 1 || a.cols == b.cols);
        const int32_t status = gf_tensor_begin(m, e, 2, GF_F32, 0, &err);
        CHECK_INT(status, fits ? GF_OK : GF_ERR_SHAPE);
        refused += !fits;
        if (status == GF_OK) gf_tensor_end(m, &err); /* nothing was written: it is discarded */
    }
    CHECK(refused > 5);
    gf_model_close(m);
}

/* Two matrices in one stack: the blocks of one are stored unchanged, those of the other as floats. */
static void a_stack_may_be_stored_in_two_weight_types(void) {
    struct gf_config c = wide_config(1);
    c.position = GF_POS_ROPE, c.bias_qkv = 0;
    enum { V = 5, O }; /* embed, norm1 and its bias, q, k, v, o */
    for (int i = 0; i < 2; i++) {
        uint8_t dtypes[32] = {0};
        dtypes[V - 2] = dtypes[V - 1] = dtypes[V] = i ? GF_F32 : GF_Q8_0, dtypes[O] = i ? GF_Q8_0 : GF_F32;
        const struct way how = {.piece = 1 << 20, .file = GF_Q8_0};
        struct gf_model *m = gf_model_open(&c, dtypes, &err);
        CHECK(m != NULL);
        if (!m) return;
        load(m, V, 2, &how);
        for (int32_t e = V; e <= O; e++) {
            struct gf_tensor t;
            CHECK_OK(gf_model_tensor(m, e, &t));
            CHECK(ends(&t, e == V ? "attn.v.weight" : "attn.o.weight"));
            CHECK_INT(t.dtype, dtypes[e]);
            for (int32_t r = 0; r < t.rows; r++) {
                float row[96];
                int32_t wrong = 0;
                CHECK_OK(gf_tensor_read(m, e, r, row, &err));
                for (int32_t k = 0; k < c.d_model; k++) wrong += row[k] != value(e, r, k);
                CHECK_INT(wrong, 0);
            }
        }
        gf_model_close(m);
    }
}

/* Blocks that are stored bit for bit are not dequantised while they load: their scales and minima are checked. */
static void a_scale_or_minimum_that_is_not_finite_is_refused_with_the_first_element_of_its_block(void) {
    static const struct {
        int32_t dtype, at; /* byte of a half in the block */
    } halves[] = {{GF_Q8_0, 0}, {GF_Q4_0, 0}, {GF_Q4_1, 0}, {GF_Q4_1, 2}, {GF_Q5_0, 0}, {GF_Q5_1, 0}, {GF_Q5_1, 2}};
    static const uint16_t odd[] = {0x7c00, 0xfc00, 0x7e00, 0xffff}; /* infinities and NaNs */
    const struct gf_config c = wide_config(1);                      /* rows of 3 blocks */
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        for (int k = 0; k < 4; k++) {
            uint8_t dtypes[64], rows[6 * 34] = {0};
            memset(dtypes, halves[i].dtype, sizeof dtypes);
            struct gf_model *m = gf_model_open(&c, dtypes, &err);
            CHECK(m != NULL);
            const int32_t block = gf_dtype_block_bytes(halves[i].dtype);
            for (int b = 0; b < 6; b++) rows[b * block + 1] = 0x3c; /* scale 1, minimum 0 */
            CHECK_OK(gf_tensor_begin(m, 0, 1, halves[i].dtype, 0, &err));
            CHECK_OK(gf_tensor_write(m, rows, (uint32_t)(6 * block), &err));
            uint8_t *half = rows + 4 * block + halves[i].at;
            half[0] = (uint8_t)odd[k], half[1] = (uint8_t)(odd[k] >> 8);
            CHECK_INT(gf_tensor_write(m, rows, (uint32_t)(6 * block), &err), GF_ERR_NOT_FINITE);
            CHECK(strstr(err.text, "embed.weight: element 320 ") != NULL); /* 6 + 4 blocks before it */
            gf_model_close(m);
        }
}

/* What a matrix of f16 values returns, and its bytes, do not show that it is stored as bf16; a value that only f16 holds
 * can be put into it. */
static void f16_entries_that_are_stored_as_bf16_stay_f16(void) {
    const struct gf_config c = wide_config(0);
    const struct way how = {0, 0, 1, 1 << 20, GF_F16};
    uint8_t dtypes[64], saved[2][16 * 75 * 2 * 5];
    memset(dtypes, GF_F16, sizeof dtypes);
    struct gf_model *m = gf_model_open(&c, dtypes, &err);
    for (int32_t e = 0; e < gf_roster_count(&c); e++) load(m, e, 1, &how);
    struct gf_tensor t;
    float row[75], back[75];
    for (int sealed = 0; sealed < 2; sealed++) {
        CHECK_INT(gf_tensor_save(m, 0, 0, sizeof *saved, saved[sealed]), sizeof *saved);
        CHECK_OK(gf_model_seal(m, &err));
    }
    CHECK_BITS(saved[1], saved[0], sizeof *saved);
    CHECK_OK(gf_model_tensor(m, 0, &t));
    CHECK_INT(t.dtype, GF_F16);
    for (int i = 0; i < 75; i++) row[i] = 1 + (float)i * 0x1p-10f;
    for (int restored = 0; restored < 2; restored++) {
        CHECK_OK(gf_tensor_put(m, 0, 1, row, &err));
        CHECK_OK(gf_tensor_read(m, 0, 1, back, &err));
        CHECK_BITS(back, row, sizeof row);
        CHECK_INT(gf_tensor_restore(m, 0, 0, saved[0], sizeof *saved), sizeof *saved);
        CHECK_OK(gf_tensor_read(m, 0, 1, back, &err));
        for (int i = 0; i < 75; i++) CHECK(back[i] == value(0, 1, i));
        CHECK_OK(gf_model_seal(m, &err));
    }
    gf_model_close(m);
}

/* The products of some rows of an entry with vectors are the sums of products of the rows that are read, column after
 * column in f32: the definition in glassformer.h. */
static void check_products(const struct gf_model *m, int32_t entry, int32_t first, int32_t n, int32_t count) {
    enum { COLS = 256, ROWS = 300, MOST = 5 };
    float x[MOST * COLS], row[COLS], got[ROWS * MOST], want[ROWS * MOST];
    for (int32_t i = 0; i < count * COLS; i++) x[i] = (float)((i * 7919 + 13) % 509 - 254) * 0x1p-7f;
    for (int32_t r = 0; r < n; r++) {
        CHECK_OK(gf_tensor_read(m, entry, first + r, row, &err));
        for (int32_t v = 0; v < count; v++) {
            float sum = 0;
            for (int32_t c = 0; c < COLS; c++) sum += row[c] * x[v * COLS + c];
            want[v * n + r] = sum;
        }
    }
    CHECK_OK(gf_tensor_products(m, entry, first, n, x, count, got, &err));
    CHECK_BITS(got, want, (size_t)(n * count) * sizeof *got);
}

static void products_with_rows_of_every_type_are_sums_in_order(void) {
    static const int32_t ranges[][3] = {{0, 70, 1},  {0, 70, 4},   {3, 1, 1},  {15, 1, 5}, {1, 15, 2},
                                        {0, 16, 3},  {5, 17, 1},   {2, 31, 2}, {7, 32, 5}, {9, 33, 1},
                                        {0, 300, 2}, {16, 284, 5}, {3, 290, 1}};
    struct gf_config c = wide_config(1);
    c.vocab_size = 300, c.d_model = c.d_ff = 256, c.d_head = 64;
    for (int32_t dtype = 0; dtype < GF_N_DTYPES; dtype++) {
        if (!gf_dtype_is_kept(dtype)) continue;
        uint8_t dtypes[64];
        memset(dtypes, dtype, sizeof dtypes);
        struct gf_model *m = gf_model_open(&c, dtypes, &err);
        CHECK_OK(gf_model_randomize(m, 3, 0.3f, &err));
        for (int32_t e = 0; e < gf_roster_count(&c); e++) {
            struct gf_tensor t;
            CHECK_OK(gf_model_tensor(m, e, &t));
            for (size_t i = 0; t.cols == 256 && i < sizeof ranges / sizeof *ranges; i++)
                if (ranges[i][0] + ranges[i][1] <= t.rows)
                    check_products(m, e, ranges[i][0], ranges[i][1], ranges[i][2]);
        }
        gf_model_close(m);
    }
}

int main(void) {
    RUN(a_scale_or_minimum_that_is_not_finite_is_refused_with_the_first_element_of_its_block);
    RUN(a_stack_may_be_stored_in_two_weight_types);
    RUN(f16_entries_that_are_stored_as_bf16_stay_f16);
    RUN(products_with_rows_of_every_type_are_sums_in_order);
    RUN(a_tensor_loads_equally_in_every_layout_stack_and_piece_size);
    RUN(stacks_of_unequal_columns_or_rank_are_refused);
    return check_end();
}
