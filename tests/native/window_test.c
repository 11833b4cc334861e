/* window_test.c - sliding windows and masks: which keys a row sees, rows that see none, NaN, edits of masked scores. */
#include "status.h"
#include "glassformer.h"
#include <math.h>
#include <stdlib.h> /* abs */

enum { N = 11, WINDOW = 4, HEADS = 2 };

static struct gf_config small(int32_t kind) {
    struct gf_config c = decoder_config(37, 12, 2, HEADS, 10, 200);
    c.kind = kind, c.causal = kind != GF_ENCODER, c.sliding_window = WINDOW;
    return c;
}

static const int32_t ids[N] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
static int32_t stack_of(const struct gf_session *s) { return gf_session_context(s) == 50; } /* 1: an encoder's */

/* A session that captures scores and patterns of block 0. */
static struct gf_session *watched(const struct gf_model *m) {
    const int encoder = gf_model_config(m)->kind == GF_ENCODER;
    struct gf_session *s = gf_session_open(m, encoder ? 50 : 0, GF_KV_F32, &err);
    CHECK(s != NULL);
    CHECK_OK(gf_session_capture(s, encoder, 0, GF_P_SCORES, 1, &err));
    CHECK_OK(gf_session_capture(s, encoder, 0, GF_P_PATTERN, 1, &err));
    return s;
}

static void run(struct gf_session *s, const uint8_t *mask) {
    if (stack_of(s))
        CHECK_OK(gf_session_encode(s, ids, NULL, mask, N, &err));
    else
        CHECK_OK(gf_session_eval(s, ids, N, &err));
}

static const float *seen(struct gf_session *s, int32_t point) {
    int32_t dims[3];
    const float *x = gf_session_captured(s, stack_of(s), 0, point, dims);
    CHECK(x && dims[0] == HEADS && dims[1] == N && dims[2] == N);
    return x;
}

/* A window of w: |i - j| < w, as in transformers 5.24.0 (ModernBertAttention: sliding_window is half of local_attention,
 * plus 1). Row 4 of a window of 4 saw 11 keys. */
static void without_the_causal_mask_a_window_has_two_sides(void) {
    struct gf_config c = small(GF_ENCODER);
    struct gf_model *m = random_model(&c, 5, 0.5f);
    c.sliding_window = 0;
    struct gf_model *wide = random_model(&c, 5, 0.5f);
    static const uint8_t mask[N] = {1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1};
    for (int masked = 0; masked <= 1; masked++) {
        struct gf_session *s = watched(m), *all = watched(wide);
        run(s, masked ? mask : NULL);
        run(all, NULL);
        const float *pattern = seen(s, GF_P_PATTERN), *scores = seen(all, GF_P_SCORES);
        for (int row = 0; row < HEADS * N; row++) {
            double sum = 0;
#define SEES(j) (abs((j)-row % N) < WINDOW && !(masked && !mask[j]))
            for (int j = 0; j < N; j++) sum += SEES(j) ? exp((double)scores[row * N + j]) : 0;
            for (int j = 0; j < N; j++)
                CHECK_NEAR(pattern[row * N + j], SEES(j) ? exp((double)scores[row * N + j]) / sum : 0, 1e-6);
        }
        gf_session_close(s);
        gf_session_close(all);
    }
    gf_model_close(m);
    gf_model_close(wide);
}

/* NaN meant that a row sees nothing, so that NaN among its scores was hidden. */
static void a_row_that_sees_nothing_is_zero_and_nan_is_not(void) {
    const struct gf_config c = small(GF_ENCODER);
    struct gf_model *m = random_model(&c, 5, 0.5f);
    static const uint8_t mask[N] = {1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1}; /* row 5 sees 2 .. 8 */
    struct gf_session *s = watched(m);
    run(s, mask);
    const float *x = seen(s, GF_P_PATTERN);
    for (int j = 0; j < N; j++) CHECK(x[5 * N + j] == 0);
    CHECK(x[4 * N + 1] == 1);
    for (int k = 0; k < 2; k++) /* infinite queries: differences of infinities */
        CHECK_OK(gf_session_edit(s, GF_STACK_ENCODER, 0, GF_P_Q, -1, -1, -1, GF_EDIT_SCALE, 1e38f, NULL, 0, &err));
    run(s, mask);
    x = seen(s, GF_P_PATTERN);
    CHECK(isnan(x[0]));
    for (int j = 0; j < N; j++) CHECK(x[5 * N + j] == 0);
    int32_t n;
    CHECK(isnan(gf_session_hidden(s, GF_STACK_ENCODER, &n)[0]));
    gf_session_close(s);
    gf_model_close(m);
}

/* The direction was multiplied by scores of -inf. */
static void a_direction_is_removed_from_the_scores_that_a_row_sees(void) {
    const struct gf_config c = small(GF_DECODER);
    struct gf_model *m = random_model(&c, 5, 0.5f);
    struct gf_session *s = watched(m), *plain = watched(m);
    float d[N];
    for (int j = 0; j < N; j++) d[j] = (float)(j % 3) - 0.5f;
    CHECK_OK(gf_session_edit(s, 0, 0, GF_P_SCORES, 1, -1, -1, GF_EDIT_PROJECT, 0, d, N, &err));
    run(s, NULL);
    run(plain, NULL);
    const float *x = seen(s, GF_P_SCORES), *before = seen(plain, GF_P_SCORES);
    for (int i = 0; i < N; i++) {
        const int first = i < WINDOW ? 0 : i - WINDOW + 1, row = (N + i) * N;
        double along = 0, square = 0;
        for (int j = first; j <= i; j++) along += (double)(before[row + j] * d[j]), square += (double)(d[j] * d[j]);
        for (int j = 0; j < N; j++) {
            CHECK(x[i * N + j] == before[i * N + j]); /* head 0 */
            if (j < first || j > i)
                CHECK(x[row + j] == -INFINITY);
            else
                CHECK_NEAR(x[row + j], (double)before[row + j] - along / square * (double)d[j], 1e-5);
        }
    }
    gf_session_close(s);
    gf_session_close(plain);
    gf_model_close(m);
}

/* rope_local_theta above 0 halved the width of the rows of any table. */
static void frequencies_of_rotary_layers_do_not_change_sinusoids(void) {
    struct gf_config c = small(GF_DECODER);
    c.position = GF_POS_SINUSOIDAL;
    struct gf_model *m = random_model(&c, 5, 0.5f);
    c.rope_local_theta = 500;
    struct gf_model *local = random_model(&c, 5, 0.5f);
    struct gf_session *a = watched(m), *b = watched(local);
    run(a, NULL);
    run(b, NULL);
    CHECK_BITS(gf_session_logits(a, 0, N, &err), gf_session_logits(b, 0, N, &err), N * 37 * sizeof(float));
    gf_session_close(a);
    gf_session_close(b);
    gf_model_close(m);
    gf_model_close(local);
}

int main(void) {
    RUN(without_the_causal_mask_a_window_has_two_sides);
    RUN(a_row_that_sees_nothing_is_zero_and_nan_is_not);
    RUN(a_direction_is_removed_from_the_scores_that_a_row_sees);
    RUN(frequencies_of_rotary_layers_do_not_change_sinusoids);
    return check_end();
}
