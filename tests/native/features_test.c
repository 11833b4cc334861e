/* features_test.c - encoders of sparse dictionaries, their edits, and passes that end at a layer, compared with plain
 * loops in double. */
#include "plain_dictionaries.h"

static void values_are_those_of_plain_loops(void) {
    struct gf_rng rng;
    gf_rng_seed(&rng, 5);
    EACH_SPEC(i) {
        static struct dictionary y;
        static float x[GF_FEATURE_ROWS][D];
        open_dictionary(&y, specs[i]);
        for (int32_t r = 0; r < GF_FEATURE_ROWS; r++)
            for (int32_t c = 0; c < D; c++) x[r][c] = (float)gf_rng_normal(&rng);
        const float *z = gf_features_encode(y.f, x[0], ids, 0, GF_FEATURE_ROWS, NULL);
        double want[SIZE], row[D];
        for (int32_t r = 0; r < GF_FEATURE_ROWS; r++) {
            widen(row, x[r]);
            encode_plainly(&y, row, ids[r], r, want);
            for (int32_t f = 0; f < SIZE; f++) CHECK_NEAR((double)z[r * SIZE + f], want[f], 1e-4);
        }
        gf_features_close(y.f);
    }
}

static const float *captured(struct gf_session *s, int32_t layer) {
    int32_t dims[3];
    return gf_session_captured(s, GF_STACK_DECODER, layer, GF_P_RESID_POST, dims);
}

/* In one pass and token by token: two features at every position, and one at position 40. */
static void edits_change_the_stream_by_what_the_features_change(void) {
    struct gf_model *m = model();
    EACH_SPEC(i) {
        static struct dictionary y;
        static float before[TOKENS][D], directions[3][D];
        open_dictionary(&y, specs[i]);
        static const int32_t feature[3] = {4, 9, 4}, position[3] = {-1, -1, 40};
        static const float scale[3] = {0, 2.5f, 1}, add[3] = {0, 0.5f, 3};
        for (int32_t k = 0; k < 3; k++)
            for (int32_t c = 0; c < D; c++) directions[k][c] = y.table[k][c];
        struct gf_session *plain = gf_session_open(m, 0, GF_KV_F32, &err);
        gf_session_capture(plain, GF_STACK_DECODER, 1, GF_P_RESID_POST, 1, &err);
        CHECK_INT(gf_session_eval(plain, ids, TOKENS, &err), GF_OK);
        memcpy(before, captured(plain, 1), sizeof before);
        for (int32_t step = 1; step <= TOKENS; step += TOKENS - 1) {
            struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
            gf_session_capture(s, GF_STACK_DECODER, 1, GF_P_RESID_POST, 1, &err);
            for (int32_t k = 0; k < 3; k++)
                CHECK_INT(gf_session_edit_feature(s, GF_STACK_DECODER, 1, GF_P_RESID_POST, position[k], y.f, feature[k],
                                                  scale[k], add[k], directions[k], &err),
                          GF_OK);
            for (int32_t at = 0; at < TOKENS; at += step) {
                CHECK_INT(gf_session_eval(s, ids + at, step, &err), GF_OK);
                const float *got = captured(s, 1);
                for (int32_t r = 0; r < step; r++) {
                    double z[SIZE], row[D];
                    const int32_t here = at + r;
                    widen(row, before[here]);
                    const double unit = encode_plainly(&y, row, ids[here], here, z);
                    for (int32_t c = 0; c < D; c++) {
                        double want = (double)before[here][c];
                        for (int32_t k = 0; here >= specs[i].from && k < 3; k++)
                            if (position[k] < 0 || position[k] == here)
                                want += unit * (double)directions[k][c] *
                                        (((double)scale[k] - 1) * z[feature[k]] + (double)add[k]);
                        CHECK_NEAR((double)got[r * D + c], want, 2e-4 * (1 + fabs(want)));
                    }
                }
            }
            gf_session_close(s);
        }
        gf_session_close(plain);
        gf_features_close(y.f);
    }
    gf_model_close(m);
}

/* The encoder is freed by the last that holds it: here by the session (the sanitizers watch). */
static void an_edit_keeps_its_encoder(void) {
    struct gf_model *m = model();
    static struct dictionary y;
    open_dictionary(&y, specs[1]);
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    CHECK_INT(gf_session_edit_feature(s, GF_STACK_DECODER, 0, GF_P_MLP_OUT, -1, y.f, 0, 0, 0, y.w[0], &err), GF_OK);
    gf_features_close(y.f);
    CHECK_INT(gf_session_eval(s, ids, TOKENS, &err), GF_OK);
    gf_session_close(s);
    gf_model_close(m);
}

static void what_does_not_fit_is_refused(void) {
    struct gf_model *m = model();
    static struct dictionary y;
    open_dictionary(&y, specs[0]);
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    const struct {
        int32_t point, position, feature;
        float scale;
    } wrong[] = {{GF_P_MLP_POST, -1, 0, 0},      {GF_P_PATTERN, -1, 0, 0},     {GF_P_RESID_POST, -2, 0, 0},
                 {GF_P_RESID_POST, -1, SIZE, 0}, {GF_P_RESID_POST, -1, -1, 0}, {GF_P_RESID_POST, -1, 0, NAN}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_INT(gf_session_edit_feature(s, GF_STACK_DECODER, 0, wrong[i].point, wrong[i].position, y.f,
                                          wrong[i].feature, wrong[i].scale, 0, y.w[0], &err),
                  GF_ERR_ARGUMENT);
    CHECK_INT(gf_session_edit_feature(s, GF_STACK_DECODER, 0, GF_P_Z, -1, y.f, 0, 0, 0, y.w[0], &err), GF_OK);
    struct gf_features_spec bad = specs[0];
    bad.k = SIZE + 1;
    CHECK(!gf_features_open(&bad, &err));
    bad = specs[0];
    bad.dtype = GF_Q8_0, bad.d = 33;
    CHECK(!gf_features_open(&bad, &err));
    gf_session_close(s);
    gf_features_close(y.f);
    gf_model_close(m);
}

static void a_pass_that_ends_at_a_layer_captures_the_same_and_has_no_logits(void) {
    struct gf_model *m = model();
    struct gf_session *whole = gf_session_open(m, 0, GF_KV_F32, &err), *s = gf_session_open(m, 0, GF_KV_F32, &err);
    gf_session_capture(whole, GF_STACK_DECODER, 1, GF_P_RESID_POST, 1, &err);
    gf_session_capture(s, GF_STACK_DECODER, 1, GF_P_RESID_POST, 1, &err);
    CHECK_INT(gf_session_stop(s, 2, &err), GF_OK);
    CHECK_INT(gf_session_eval(whole, ids, TOKENS, &err), GF_OK);
    CHECK_INT(gf_session_eval(s, ids, TOKENS, &err), GF_OK);
    CHECK_BITS(captured(s, 1), captured(whole, 1), TOKENS * D * sizeof(float));
    CHECK(!gf_session_logits(s, 0, 1, &err));
    CHECK_INT(gf_session_stop(s, LAYERS + 1, &err), GF_ERR_ARGUMENT);
    CHECK_INT(gf_session_rewind(s, 0, &err), GF_OK);
    CHECK_INT(gf_session_stop(s, LAYERS, &err), GF_OK);
    CHECK_INT(gf_session_eval(s, ids, TOKENS, &err), GF_OK);
    CHECK_BITS(gf_session_logits(s, 0, 1, &err), gf_session_logits(whole, 0, 1, &err), VOCAB * sizeof(float));
    gf_session_close(s);
    gf_session_close(whole);
    gf_model_close(m);
}

int main(void) {
    RUN(values_are_those_of_plain_loops);
    RUN(edits_change_the_stream_by_what_the_features_change);
    RUN(an_edit_keeps_its_encoder);
    RUN(what_does_not_fit_is_refused);
    RUN(a_pass_that_ends_at_a_layer_captures_the_same_and_has_no_logits);
    return check_end();
}
