/* refusal_test.c - calls with wrong arguments or in a wrong state are refused in sentences and change nothing. */
#include "status.h"
#include <stdlib.h>

static int32_t entry(const struct gf_config *c, const char *name) {
    struct gf_tensor t;
    for (int32_t i = 0; gf_roster_tensor(c, i, &t) == GF_OK; i++)
        if (!strcmp(t.name, name)) return i;
    printf("no entry %s\n", name);
    return -1;
}

/* Position tables are f32 whatever the matrices beside them are kept as. The fuzzer stacked one with a matrix: their
 * formats were compared although a table has none. */
static void a_matrix_and_a_position_table_load_as_one_stack(void) {
    struct gf_config c = decoder_config(5, 32, 1, 4, 32, 3);
    c.position = GF_POS_LEARNED;
    uint8_t blocks[(5 + 3) * 34]; /* rows of 32 numbers at the scale 1, which is 0x3c00 in f16 */
    for (int row = 0; row < 5 + 3; row++) {
        uint8_t *b = blocks + 34 * row;
        b[0] = 0, b[1] = 0x3c;
        for (int i = 0; i < 32; i++) b[2 + i] = (uint8_t)(row + i);
    }
    uint8_t dtypes[256];
    struct gf_model *m = gf_model_open(&c, (const uint8_t *)memset(dtypes, GF_Q8_0, sizeof dtypes), &err);
    const int32_t embed = 0, table = 1;
    CHECK_INT(entry(&c, "embed.weight"), embed);
    CHECK_INT(entry(&c, "position.weight"), table);
    CHECK_OK(gf_tensor_begin(m, embed, 2, GF_Q8_0, 0, &err));
    CHECK_OK(gf_tensor_write(m, blocks, sizeof blocks, &err));
    CHECK_OK(gf_tensor_end(m, &err));
    for (int row = 0; row < 5 + 3; row++) {
        float x[32];
        CHECK_OK(gf_tensor_read(m, row < 5 ? embed : table, row < 5 ? row : row - 5, x, &err));
        for (int i = 0; i < 32; i++) CHECK_NEAR(x[i], row + i, row < 5 ? 38 / 127.0 / 2 : 0);
    }
    gf_model_close(m);
}

static void tensors_of_wrong_shape_order_or_length_are_refused(void) {
    struct gf_config c = decoder_config(50, 24, 1, 4, 40, 96);
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    const int32_t n = gf_roster_count(&c), embed = 0, q = entry(&c, "blocks.0.attn.q.weight"),
                  norm = entry(&c, "blocks.0.norm1.weight"), head = n - 1;
    float x[50 * 24];
    for (int i = 0; i < 50 * 24; i++) x[i] = 0.25f;

    CHECK_REFUSED(gf_tensor_begin(m, -1, 1, GF_F32, 0, &err), GF_ERR_ARGUMENT, "-1");
    CHECK_REFUSED(gf_tensor_begin(m, n, 1, GF_F32, 0, &err), GF_ERR_ARGUMENT, "do not exist");
    CHECK_REFUSED(gf_tensor_begin(m, 5, INT32_MAX, GF_F32, 0, &err), GF_ERR_ARGUMENT, "exist");
    CHECK_REFUSED(gf_tensor_begin(m, 0, 1, GF_N_DTYPES, 0, &err), GF_ERR_ARGUMENT, "dtype");
    CHECK_REFUSED(gf_tensor_begin(m, head, 1, GF_F32, 0, &err), GF_ERR_DUPLICATE, "head.weight", "tied",
                  "embed.weight");
    CHECK_REFUSED(gf_tensor_begin(m, embed, 2, GF_F32, 0, &err), GF_ERR_SHAPE, "stacked", "embed.weight");
    CHECK_REFUSED(gf_tensor_begin(m, embed, 1, GF_Q8_0, 0, &err), GF_ERR_SHAPE, "embed.weight", "24", "32");
    CHECK_REFUSED(gf_tensor_write(m, x, 4, &err), GF_ERR_STATE, "no tensor");
    CHECK_REFUSED(gf_tensor_end(m, &err), GF_ERR_STATE, "no tensor");

    CHECK_OK(gf_tensor_begin(m, embed, 1, GF_F32, 0, &err));
    CHECK_REFUSED(gf_tensor_begin(m, q, 1, GF_F32, 0, &err), GF_ERR_STATE, "still being loaded");
    CHECK_REFUSED(gf_model_seal(m, &err), GF_ERR_STATE, "still being loaded");
    CHECK_REFUSED(gf_model_randomize(m, 1, 0.02f, &err), GF_ERR_STATE, "already");
    CHECK_REFUSED(gf_tensor_write(m, x, 6, &err), GF_ERR_ARGUMENT, "embed.weight", "6", "4");
    CHECK_REFUSED(gf_tensor_write(m, x, 4, &err), GF_ERR_STATE, "no tensor"); /* the failed write has discarded it */

    CHECK_OK(gf_tensor_begin(m, embed, 1, GF_F32, 0, &err));
    CHECK_OK(gf_tensor_write(m, x, sizeof x - 4, &err));
    CHECK_REFUSED(gf_tensor_end(m, &err), GF_ERR_TRUNCATED, "embed.weight", "1199", "1200");
    CHECK_OK(gf_tensor_begin(m, embed, 1, GF_F32, 0, &err));
    CHECK_OK(gf_tensor_write(m, x, 8, &err));
    CHECK_REFUSED(gf_tensor_write(m, x, sizeof x, &err), GF_ERR_SHAPE, "embed.weight", "1200");

    static const float odd[] = {NAN, INFINITY, -INFINITY};
    static const int places[] = {0, 7, 199};
    static const char *const named[] = {"element 100 ", "element 107 ", "element 299 "};
    for (int transposed = 0; transposed < 2; transposed++)
        for (int i = 0; i < 9; i++) {
            CHECK_OK(gf_tensor_begin(m, embed, 1, GF_F32, transposed, &err));
            CHECK_OK(gf_tensor_write(m, x, 400, &err));
            x[places[i / 3]] = odd[i % 3];
            CHECK_REFUSED(gf_tensor_write(m, x, 800, &err), GF_ERR_NOT_FINITE, "embed.weight", named[i / 3]);
            x[places[i / 3]] = 0.25f;
        }
    uint8_t halves[64];
    memset(halves, GF_F16, sizeof halves);
    struct gf_model *half = gf_model_open(&c, halves, &err);
    CHECK_OK(gf_tensor_begin(half, embed, 1, GF_F32, 0, &err));
    x[7] = 65519, x[8] = -65520; /* becomes 65504; became -infinity */
    CHECK_REFUSED(gf_tensor_write(half, x, sizeof x, &err), GF_ERR_NOT_FINITE,
                  "embed.weight: element 8 is too large for f16");
    x[7] = x[8] = 0.25f;
    gf_model_close(half);
    CHECK_OK(gf_tensor_begin(m, embed, 1, GF_F32, 0, &err));
    CHECK_OK(gf_tensor_write(m, x, sizeof x, &err));
    CHECK_OK(gf_tensor_end(m, &err));
    CHECK_REFUSED(gf_tensor_begin(m, embed, 1, GF_F32, 0, &err), GF_ERR_DUPLICATE, "embed.weight", "before");
    CHECK_REFUSED(gf_model_seal(m, &err), GF_ERR_MISSING, "blocks.0.norm1.weight", "missing");
    CHECK_REFUSED(STATUS_OF(gf_session_open(m, 0, GF_KV_F32, &err)), GF_ERR_STATE, "sealed");
    float row[64];
    CHECK_REFUSED(gf_tensor_read(m, embed, 50, row, &err), GF_ERR_ARGUMENT, "row 50");
    CHECK_REFUSED(gf_tensor_read(m, n, 0, row, &err), GF_ERR_ARGUMENT, "entry");
    CHECK_OK(gf_tensor_read(m, norm, 0, row, &err));
    CHECK_REFUSED(gf_tensor_products(m, embed, 49, 2, row, 1, row, &err), GF_ERR_ARGUMENT, "row 50");
    CHECK_REFUSED(gf_tensor_products(m, embed, 0, 0, row, 1, row, &err), GF_ERR_ARGUMENT, "0 rows");
    struct gf_tensor t;
    CHECK_INT(gf_model_tensor(m, n, &t), GF_ERR_ARGUMENT);
    CHECK_INT(gf_roster_tensor(&c, n, &t), GF_ERR_ARGUMENT);
    CHECK_INT(gf_roster_tensor(&c, -1, &t), GF_ERR_ARGUMENT);
    gf_model_close(m);

    m = gf_model_open(&c, NULL, &err);
    CHECK_REFUSED(gf_model_randomize(m, 1, NAN, &err), GF_ERR_ARGUMENT, "finite");
    CHECK_REFUSED(gf_model_randomize(m, 1, -0.02f, &err), GF_ERR_ARGUMENT, "finite");
    CHECK_OK(gf_model_randomize(m, 1, 0.02f, &err));
    CHECK_REFUSED(gf_model_randomize(m, 1, 0.02f, &err), GF_ERR_STATE, "already");
    CHECK_REFUSED(gf_tensor_begin(m, embed, 1, GF_F32, 0, &err), GF_ERR_STATE, "sealed");
    gf_model_close(m);
    gf_model_close(NULL);
}

/* Values whose block has an infinite scale were NaN in memory. */
static void weights_are_finite_in_memory_or_refused(void) {
    struct gf_config c = decoder_config(2, 256, 1, 4, 256, 8);
    for (int32_t dtype = 0; dtype < GF_N_DTYPES; dtype++) {
        if (!gf_dtype_is_kept(dtype)) continue;
        uint8_t dtypes[64];
        memset(dtypes, dtype, sizeof dtypes);
        int refused = 0;
        for (int i = 0; i < 2 * 120; i++) {
            float x[2 * 256], row[256];
            for (int j = 0; j < 2 * 256; j++) x[j] = 0.25f;
            x[100] = (i % 2 ? -1.9f : 1.9f) * ldexpf(1, 7 + i / 2);
            struct gf_model *m = gf_model_open(&c, dtypes, &err);
            CHECK_OK(gf_tensor_begin(m, 0, 1, GF_F32, 0, &err));
            const int32_t status = gf_tensor_write(m, x, sizeof x, &err);
            CHECK(status == GF_OK || status == GF_ERR_NOT_FINITE);
            CHECK(status == GF_OK || fabsf(x[100]) > 65504);
            refused += status != GF_OK;
            if (status == GF_OK) {
                CHECK_OK(gf_tensor_end(m, &err));
                CHECK_OK(gf_tensor_read(m, 0, 0, row, &err));
                for (int j = 0; j < 256; j++) CHECK(isfinite(row[j]));
            }
            gf_model_close(m);
        }
        CHECK_INT(refused > 0, dtype != GF_F32 && dtype != GF_BF16);
    }
}

static void session_calls_with_wrong_arguments_or_state_are_refused(void) {
    struct gf_config c = decoder_config(50, 24, 1, 4, 40, 20);
    c.position = GF_POS_LEARNED;
    struct gf_model *m = random_model(&c, 1, 0.3f);
    CHECK_REFUSED(STATUS_OF(gf_session_open(m, 21, GF_KV_F32, &err)), GF_ERR_ARGUMENT, "21", "20");
    CHECK_REFUSED(STATUS_OF(gf_session_open(m, -1, GF_KV_F32, &err)), GF_ERR_ARGUMENT, "-1");
    CHECK_REFUSED(STATUS_OF(gf_session_open(m, 0, GF_N_KV_TYPES, &err)), GF_ERR_ARGUMENT, "type");
    struct gf_session *s = gf_session_open(m, 10, GF_KV_F32, &err);
    CHECK_INT(gf_session_context(s), 10);
    int32_t ids[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, bad[3] = {1, 50, 2}, worse[1] = {-1};

    CHECK_REFUSED(STATUS_OF(gf_session_logits(s, 0, 1, &err)), GF_ERR_ARGUMENT, "0..0", "left 0");
    struct gf_choice choice;
    struct gf_sampling plain = SAMPLER();
    CHECK_REFUSED(gf_session_sample(s, &plain, NULL, &choice, &err), GF_ERR_ARGUMENT, "left 0");
    CHECK_REFUSED(gf_session_eval(s, ids, 0, &err), GF_ERR_ARGUMENT, "at least one");
    CHECK_REFUSED(gf_session_eval(s, ids, -5, &err), GF_ERR_ARGUMENT, "at least one");
    CHECK_REFUSED(gf_session_eval(s, ids, 11, &err), GF_ERR_CONTEXT, "11", "10");
    CHECK_REFUSED(gf_session_eval(s, bad, 3, &err), GF_ERR_TOKEN, "token 1", "50");
    CHECK_REFUSED(gf_session_eval(s, worse, 1, &err), GF_ERR_TOKEN, "-1");
    CHECK_REFUSED(gf_session_encode(s, ids, NULL, NULL, 3, &err), GF_ERR_STATE, "no encoder");
    CHECK_REFUSED(gf_session_rewind(s, 1, &err), GF_ERR_ARGUMENT, "1 of 0");
    CHECK_REFUSED(gf_session_rewind(s, -1, &err), GF_ERR_ARGUMENT, "-1");
    CHECK_INT(gf_session_length(s), 0);

    CHECK_OK(gf_session_eval(s, ids, 4, &err));
    float before[50], after[50];
    memcpy(before, gf_session_logits(s, 3, 1, &err), sizeof before);
    CHECK_REFUSED(gf_session_eval(s, ids, 7, &err), GF_ERR_CONTEXT, "7", "after 4");
    CHECK_REFUSED(gf_session_eval(s, bad, 3, &err), GF_ERR_TOKEN, "50");
    CHECK_REFUSED(STATUS_OF(gf_session_logits(s, 4, 1, &err)), GF_ERR_ARGUMENT, "4..4", "left 4");
    CHECK_REFUSED(STATUS_OF(gf_session_logits(s, -1, 1, &err)), GF_ERR_ARGUMENT, "-1");
    CHECK_REFUSED(STATUS_OF(gf_session_logits(s, 0, 0, &err)), GF_ERR_ARGUMENT, "rows");
    CHECK_REFUSED(STATUS_OF(gf_session_logits(s, 3, INT32_MAX, &err)), GF_ERR_ARGUMENT, "rows");
    CHECK_INT(gf_session_length(s), 4); /* the session is unchanged */
    memcpy(after, gf_session_logits(s, 3, 1, &err), sizeof after);
    CHECK_BITS(after, before, sizeof after);

    const float one = 1, nan = NAN;
    int32_t dims[3];
    CHECK_REFUSED(gf_session_capture(s, 0, 1, GF_P_Q, 1, &err), GF_ERR_ARGUMENT, "layer 1");
    CHECK_REFUSED(gf_session_capture(s, 0, 0, GF_N_POINTS, 1, &err), GF_ERR_ARGUMENT, "no point");
    CHECK_REFUSED(gf_session_capture(s, 0, 0, GF_P_EMBED, 1, &err), GF_ERR_ARGUMENT, "no point");
    CHECK_REFUSED(gf_session_capture(s, 0, 0, GF_P_ROT_Q, 1, &err), GF_ERR_ARGUMENT, "no point");
    CHECK_REFUSED(gf_session_capture(s, 0, 0, GF_P_CROSS_Q, 1, &err), GF_ERR_ARGUMENT, "no point");
    CHECK_REFUSED(gf_session_capture(s, 1, 0, GF_P_Q, 1, &err), GF_ERR_ARGUMENT, "stack 1");
    CHECK_REFUSED(gf_session_capture(s, 9, 0, GF_P_Q, 1, &err), GF_ERR_ARGUMENT, "stack 9");
    CHECK(gf_session_captured(s, 0, 0, GF_P_Q, dims) == NULL);
    CHECK(gf_session_captured(s, 0, 7, GF_P_Q, dims) == NULL);
#define EDIT(...) gf_session_edit(s, 0, 0, __VA_ARGS__, &err)
    CHECK_REFUSED(EDIT(GF_P_Q, 4, -1, -1, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "head 4", "4 heads");
    CHECK_REFUSED(EDIT(GF_P_Q, -2, -1, -1, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "head -2");
    CHECK_REFUSED(EDIT(GF_P_MLP_POST, 0, -1, -1, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "0 heads");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, -2, -1, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "position -2");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, -1, 0, NAN, NULL, 0), GF_ERR_ARGUMENT, "scale");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, -1, 4, 1, &one, 1), GF_ERR_ARGUMENT, "edit 4");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, -1, GF_EDIT_SET, 1, NULL, 0), GF_ERR_ARGUMENT, "0 values", "6");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, -1, GF_EDIT_SET, 1, &one, 5), GF_ERR_ARGUMENT, "5 values", "6");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, -1, GF_EDIT_ADD, 1, &nan, 1), GF_ERR_ARGUMENT, "value 0");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, 6, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "index 6", "6");
    CHECK_REFUSED(EDIT(GF_P_Q, 0, 0, -2, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "index -2");
    CHECK_REFUSED(EDIT(GF_P_LN_FINAL, -1, 0, -1, 0, 1, NULL, 0), GF_ERR_ARGUMENT, "no point");
#undef EDIT
    gf_session_close(s);
    gf_session_close(NULL);
    gf_model_close(m);

    c.kind = GF_ENCODER_DECODER, c.n_encoder_layers = 1;
    m = random_model(&c, 1, 0.3f);
    s = gf_session_open(m, 0, GF_KV_F32, &err);
    const uint8_t blind[3] = {0, 0, 0};
    CHECK_REFUSED(gf_session_eval(s, ids, 1, &err), GF_ERR_STATE, "source");
    CHECK_REFUSED(gf_session_encode(s, ids, NULL, NULL, 0, &err), GF_ERR_ARGUMENT, "at least one");
    CHECK_REFUSED(gf_session_encode(s, ids, NULL, NULL, 21, &err), GF_ERR_CONTEXT, "21", "20");
    CHECK_REFUSED(gf_session_encode(s, bad, NULL, NULL, 3, &err), GF_ERR_TOKEN, "50");
    CHECK_REFUSED(gf_session_encode(s, ids, NULL, blind, 3, &err), GF_ERR_ARGUMENT, "hides every");
    gf_session_close(s);
    gf_model_close(m);

    c.kind = GF_ENCODER, c.n_encoder_layers = 0, c.causal = 0;
    m = random_model(&c, 1, 0.3f);
    s = gf_session_open(m, 0, GF_KV_F32, &err);
    CHECK_REFUSED(gf_session_eval(s, ids, 1, &err), GF_ERR_STATE, "encode");
    int32_t n = 1;
    CHECK(gf_session_hidden(s, GF_STACK_ENCODER, &n) == NULL && n == 0);
    gf_session_close(s);
    gf_model_close(m);
}

static void sampling_from_overflowing_logits_returns_a_status(void) {
    struct gf_config c = decoder_config(50, 24, 1, 4, 40, 20);
    c.final_norm = 0; /* a norm would divide the infinities away */
    struct gf_model *m = random_model(&c, 1, 1e30f);
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    struct gf_choice choice;
    struct gf_sampling plain = SAMPLER(), greedy = SAMPLER(.temperature = 0);
    const int32_t ids[2] = {1, 2};
    CHECK_OK(gf_session_eval(s, ids, 2, &err));
    CHECK_REFUSED(gf_session_sample(s, &plain, NULL, &choice, &err), GF_ERR_NOT_FINITE, "NaN");
    CHECK_REFUSED(gf_session_sample(s, &greedy, NULL, &choice, &err), GF_ERR_NOT_FINITE, "NaN");
    gf_session_close(s);
    gf_model_close(m);
}

/* The start of a pass stayed after an eval of several sessions. The next eval read its rows, which the caller had freed. */
static void a_start_is_refused_where_several_sessions_are_evaluated_and_is_forgotten(void) {
    const struct gf_config c = decoder_config(37, 12, 2, 2, 10, 40);
    struct gf_model *m = random_model(&c, 5, 0.5f);
    struct gf_session *s[2] = {gf_session_open(m, 0, GF_KV_F32, &err), gf_session_open(m, 0, GF_KV_F32, &err)};
    const int32_t ids[] = {3, 4};
    float *rows = malloc(12 * sizeof *rows);
    for (int i = 0; i < 12; i++) rows[i] = (float)i;
    CHECK_OK(gf_session_start(s[1], 1, rows, 0, &err));
    CHECK_REFUSED(gf_eval_batch(s, ids, 2, &err), GF_ERR_STATE, "evaluate it alone");
    free(rows);
    CHECK_OK(gf_eval_batch(s, (int32_t[]){3, 3}, 2, &err));
    CHECK_BITS(gf_session_logits(s[0], 0, 1, &err), gf_session_logits(s[1], 0, 1, &err), 37 * sizeof(float));
    gf_session_close(s[0]), gf_session_close(s[1]);
    gf_model_close(m);
}

/* After a draw that failed, the token of the highest logit had the probability 1. */
static void after_a_draw_that_failed_no_token_has_a_probability(void) {
    const struct gf_config c = decoder_config(37, 12, 2, 2, 10, 40);
    struct gf_model *m = random_model(&c, 5, 0.5f);
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    const int32_t id = 3;
    const struct gf_sampling plain = SAMPLER(.top_k = 3);
    const uint32_t none[2] = {0, 0};
    const struct gf_adjustment nothing = {0, NULL, NULL, none};
    struct gf_choice choice;
    CHECK_OK(gf_session_eval(s, &id, 1, &err));
    CHECK_OK(gf_session_sample(s, &plain, NULL, &choice, &err));
    CHECK(gf_session_probability(s, choice.id) > 0);
    CHECK_REFUSED(gf_session_sample(s, &plain, &nothing, &choice, &err), GF_ERR_ARGUMENT, "exclude every token");
    for (int32_t i = 0; i < 37; i++) CHECK(gf_session_probability(s, i) == 0);
    gf_session_close(s);
    gf_model_close(m);
}

int main(void) {
    RUN(a_start_is_refused_where_several_sessions_are_evaluated_and_is_forgotten);
    RUN(after_a_draw_that_failed_no_token_has_a_probability);
    RUN(a_matrix_and_a_position_table_load_as_one_stack);
    RUN(tensors_of_wrong_shape_order_or_length_are_refused);
    RUN(weights_are_finite_in_memory_or_refused);
    RUN(session_calls_with_wrong_arguments_or_state_are_refused);
    RUN(sampling_from_overflowing_logits_returns_a_status);
    return check_end();
}
