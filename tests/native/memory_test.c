/* memory_test.c - a call for which there is not enough memory fails with a sentence and changes nothing.
 *
 * An eval once showed zeros for hook_result, and left out an edit of it, where its workspace could not be allocated. */
#include "check.h"
#include "failing_allocator.h"
#include "glassformer.h"
#include "model/observe/observe.h"
#include "train/gradients.h"

enum { TOKENS = 5, MOST_ALLOCATIONS = 100 };
static const int32_t ids[TOKENS] = {1, 2, 3, 4, 5};

static struct gf_config decoder(void) {
    struct gf_config c;
    gf_config_default(&c);
    c.vocab_size = 11;
    c.d_model = 12;
    c.n_layers = 2;
    c.n_heads = 2;
    c.n_kv_heads = 1;
    c.d_head = 6;
    c.d_ff = 16;
    c.context_length = 32;
    return c;
}

static struct gf_model *model(void) {
    struct gf_error err = {0};
    const struct gf_config c = decoder();
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    CHECK(m && gf_model_randomize(m, 7, 0.5f, &err) == GF_OK);
    return m;
}

/* A session that captures hook_result of layer 1 and, with `edit`, scales its first head. */
static struct gf_session *observing(const struct gf_model *m, int edit) {
    struct gf_error err = {0};
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    CHECK(s && gf_session_capture(s, GF_STACK_DECODER, 1, GF_P_RESULT, 1, &err) == GF_OK);
    if (edit)
        CHECK_INT(gf_session_edit(s, GF_STACK_DECODER, 1, GF_P_RESULT, 0, -1, -1, GF_EDIT_SCALE, 3, NULL, 0, &err),
                  GF_OK);
    return s;
}

static void an_eval_for_which_memory_is_missing_fails_and_captures_nothing(void) {
    struct gf_model *m = model();
    for (int edit = 0; edit <= 1; edit++) {
        struct gf_error err = {0};
        struct gf_session *want = observing(m, edit);
        CHECK_INT(gf_session_eval(want, ids, TOKENS, &err), GF_OK);
        int k = 1;
        for (; k < MOST_ALLOCATIONS; k++) {
            struct gf_session *s = observing(m, edit);
            memset(&err, 0, sizeof err);
            fail_allocations(k);
            const int32_t status = gf_session_eval(s, ids, TOKENS, &err);
            allow_allocations();
            int32_t dims[3], want_dims[3];
            if (status == GF_OK) { /* enough memory: the same captures and logits as without a limit */
                const float *got = gf_session_captured(s, GF_STACK_DECODER, 1, GF_P_RESULT, dims),
                            *want_captured = gf_session_captured(want, GF_STACK_DECODER, 1, GF_P_RESULT, want_dims);
                CHECK_INT(dims[0] * dims[1] * dims[2], TOKENS * 2 * 12);
                CHECK_BITS(got, want_captured, TOKENS * 2 * 12 * sizeof *got);
                CHECK_BITS(gf_session_logits(s, 0, TOKENS, &err), gf_session_logits(want, 0, TOKENS, &err),
                           TOKENS * 11 * sizeof(float));
            } else {
                CHECK_INT(status, GF_ERR_MEMORY);
                CHECK_TEXT(err.text, "no memory for 5 more positions");
                CHECK_INT(gf_session_length(s), 0);
                CHECK_INT(gf_session_eval(s, ids, TOKENS, &err), GF_OK); /* the session still works */
            }
            gf_session_close(s);
            if (status == GF_OK) break;
        }
        CHECK(k > 5 && k < MOST_ALLOCATIONS); /* some evals failed, and one did not */
        gf_session_close(want);
    }
    gf_model_close(m);
}

/* The encoder's output was that of the new source, the keys and values those of the one before. */
static void a_source_for_which_memory_is_missing_leaves_the_one_before(void) {
    struct gf_error err = {0};
    struct gf_config c = decoder();
    c.kind = GF_ENCODER_DECODER, c.n_encoder_layers = 1;
    struct gf_model *m = gf_model_open(&c, NULL, &err);
    CHECK(m && gf_model_randomize(m, 7, 0.5f, &err) == GF_OK);
    static const uint8_t mask[] = {1, 0, 1};
    int32_t n, k = 1;
    for (; k < MOST_ALLOCATIONS; k++) {
        struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err), *want = gf_session_open(m, 0, GF_KV_F32, &err);
        CHECK_INT(gf_session_encode(s, ids, NULL, NULL, TOKENS, &err), GF_OK);
        CHECK_INT(gf_session_encode(want, ids, NULL, NULL, TOKENS, &err), GF_OK);
        CHECK_INT(gf_session_eval(s, ids, 2, &err), GF_OK);
        memset(&err, 0, sizeof err);
        fail_allocations(k);
        const int32_t status = gf_session_encode(s, ids + 1, NULL, mask, 3, &err);
        allow_allocations();
        if (status != GF_OK) {
            CHECK_INT(status, GF_ERR_MEMORY);
            CHECK_INT(gf_session_length(s), 2);
            const float *hidden = gf_session_hidden(s, GF_STACK_ENCODER, &n);
            CHECK_INT(n, TOKENS);
            CHECK_BITS(hidden, gf_session_hidden(want, GF_STACK_ENCODER, &n), TOKENS * 12 * sizeof *hidden);
            CHECK_INT(gf_session_eval(s, ids + 2, 1, &err), GF_OK);
            CHECK_INT(gf_session_eval(want, ids, 3, &err), GF_OK);
            CHECK_BITS(gf_session_logits(s, 0, 1, &err), gf_session_logits(want, 2, 1, &err), 11 * sizeof(float));
        }
        gf_session_close(s), gf_session_close(want);
        if (status == GF_OK) break;
    }
    CHECK(k > 3 && k < MOST_ALLOCATIONS);
    gf_model_close(m);
}

/* Gradients at every point, of a decoder or an encoder_decoder. */
static struct gf_gradients every_point(const struct gf_config *c) {
    struct gf_error err = {0};
    struct gf_gradients g;
    CHECK_INT(gf_gradients_open(&g, c, NULL, &err), GF_OK);
    CHECK_INT(gf_model_randomize(g.model, 5, 0.3f, &err), GF_OK);
    memset(g.wanted, 1, (size_t)gf_roster_count(c));
    for (int32_t stack = 0; stack < 2; stack++)
        for (int32_t layer = -1; layer < gf_stack_layers(c); layer++)
            for (int32_t point = 0; point < GF_N_POINTS; point++) {
                const int32_t place = gf_observe_place(c, stack, layer, point, NULL);
                if (place >= 0) g.observe->captured[place].wanted = 1;
            }
    return g;
}

static void gradients_for_which_memory_is_missing_fail_and_can_be_asked_again(void) {
    for (int two = 0; two <= 1; two++) {
        struct gf_error err = {0};
        struct gf_config c = decoder();
        if (two) c.kind = GF_ENCODER_DECODER, c.n_encoder_layers = 1, c.norm = GF_LAYERNORM;
        const struct gf_question q = {
            .ids = ids, .source = ids, .n = TOKENS, .n_source = two ? 3 : 0, .embedding = 0.5f};
        double want = 0, value = 0;
        struct gf_gradients first = every_point(&c), g = every_point(&c);
        CHECK_INT(gf_gradients_run(&first, &q, &want, &err), GF_OK);
        int k = 1;
        for (; k < 10 * MOST_ALLOCATIONS; k++) {
            memset(&err, 0, sizeof err);
            fail_allocations(k);
            const int32_t status = gf_gradients_run(&g, &q, &value, &err);
            allow_allocations();
            if (status == GF_OK) break;
            CHECK_INT(status, GF_ERR_MEMORY);
            CHECK(strstr(err.text, "no memory") != NULL);
        }
        CHECK(k > 1 && k < 10 * MOST_ALLOCATIONS);
        CHECK(want == value);
        CHECK_BITS(g.grads.data, first.grads.data, g.grads.n * sizeof(float));
        gf_gradients_close(&first);
        gf_gradients_close(&g);
    }
}

int main(void) {
    RUN(gradients_for_which_memory_is_missing_fail_and_can_be_asked_again);
    RUN(a_source_for_which_memory_is_missing_leaves_the_one_before);
    RUN(an_eval_for_which_memory_is_missing_fails_and_captures_nothing);
    return check_end();
}
