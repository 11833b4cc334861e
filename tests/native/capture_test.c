/* capture_test.c - captures and traces change no bit, and what they show adds up. */
#include "sessions.h"

static int32_t capture_all(struct gf_session *s) {
    int32_t n = 0;
    for (int32_t stack = 0; stack < 2; stack++)
        for (int32_t layer = -1; layer < 3; layer++)
            for (int32_t point = 0; point < GF_N_POINTS; point++)
                n += gf_session_capture(s, stack, layer, point, 1, &err) == GF_OK;
    return n;
}

/* The rows from row0 on of a point captured in a shorter pass equal those rows of the whole pass. Later keys are 0 in a
 * pattern and -inf in scores. */
static void check_rows(const struct golden *g, struct gf_session *part, struct gf_session *whole, int32_t layer,
                       int32_t point, int32_t row0) {
    int32_t a[3], b[3];
    const float *x = gf_session_captured(part, 0, layer, point, a), *y = gf_session_captured(whole, 0, layer, point, b);
    if (!x && !y) return;
    CHECK(x && y);
    if (!x || !y || point == GF_P_CROSS_K || point == GF_P_CROSS_V) return;
    const char *name = point_name(point);
    if (!strstr(name, "pattern") && !strstr(name, "scores")) {
        const int64_t width = (int64_t)a[1] * a[2];
        CHECK_SAME(x, y + row0 * width, a[0] * width, g->name, "%s of layer %d from row %d", name, layer, row0);
        return;
    }
    int same = 1, empty = 1;
    for (int32_t h = 0; h < a[0]; h++)
        for (int32_t i = 0; i < a[1]; i++) {
            const float *p = x + ((int64_t)h * a[1] + i) * a[2], *q = y + ((int64_t)h * b[1] + row0 + i) * b[2];
            same &= !memcmp(p, q, (size_t)a[2] * sizeof *p);
            for (int32_t j = a[2]; j < b[2]; j++) empty &= strstr(name, "pattern") ? q[j] == 0 : q[j] == -INFINITY;
        }
    CHECK(same);
    CHECK(empty);
}

/* The rows of a causal pattern sum to 1. After the diagonal and before the window they are 0, and the scores -inf. */
static void check_patterns(const struct golden *g, struct gf_session *s, int32_t layer, int32_t n) {
    const int32_t window = g->cfg.sliding_window;
    int32_t dims[3];
    const float *pattern = gf_session_captured(s, 0, layer, GF_P_PATTERN, dims),
                *scores = gf_session_captured(s, 0, layer, GF_P_SCORES, dims);
    CHECK(pattern && scores && dims[1] == n && dims[2] == n);
    for (int32_t h = 0; pattern && scores && h < dims[0]; h++)
        for (int32_t i = 0; i < n; i++) {
            const int64_t row = ((int64_t)h * n + i) * n;
            double sum = 0;
            int hidden = 1;
            for (int32_t j = 0; j < n; j++) {
                sum += (double)pattern[row + j];
                if (j > i || (window && j <= i - window))
                    hidden &= pattern[row + j] == 0 && scores[row + j] == -INFINITY;
            }
            CHECK_NEAR(sum, 1, 1e-5);
            CHECK(hidden);
        }
}

static void captured_rows_do_not_depend_on_the_pass(void) {
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, n = 71;
        float *want = floats((int64_t)n * v), *got = floats((int64_t)n * v);
        struct gf_session *plain = open_session(g, m, GF_KV_F32), *whole = gf_session_open(m, 0, GF_KV_F32, &err),
                          *part = gf_session_open(m, 0, GF_KV_F32, &err);
        CHECK(capture_all(whole) > 20);
        capture_all(part);
        if (is_double(g)) {
            CHECK_OK(gf_session_encode(whole, source, NULL, source_mask, 11, &err));
            CHECK_OK(gf_session_encode(part, source, NULL, source_mask, 11, &err));
        }
        eval(plain, v, ids, 0, n, AT_ONCE, want);
        eval(whole, v, ids, 0, n, AT_ONCE, got);
        CHECK_SAME(got, want, (int64_t)n * v, g->name, "captured");
        for (int32_t at = 0, k = 0, step; at < n; at += step, k++) {
            step = piece(k < 4 ? ONE_BY_ONE : ODD, k, n - at);
            eval(part, v, ids, at, at + step, AT_ONCE, got + (int64_t)at * v);
            for (int32_t layer = -1; layer < g->cfg.n_layers; layer++)
                for (int32_t point = 0; point < GF_N_POINTS; point++) check_rows(g, part, whole, layer, point, at);
        }
        CHECK_SAME(got, want, (int64_t)n * v, g->name, "captured piece by piece");
        for (int32_t layer = 0; layer < g->cfg.n_layers; layer++) check_patterns(g, whole, layer, n);
        free(want), free(got);
        gf_session_close(plain), gf_session_close(whole), gf_session_close(part);
    }
}

static void capturing_any_single_point_changes_no_bit(void) {
    EACH_MODEL(g, m)
    for (int32_t kv = 0; kv < GF_N_KV_TYPES; kv++) {
        const struct golden_run *r = &g->runs[0];
        const int64_t n = (int64_t)r->rows * r->cols;
        float *want = floats(n);
        struct gf_session *s = gf_session_open(m, 0, kv, &err);
        const float *plain = golden_eval(s, r, &err);
        CHECK(plain != NULL);
        if (plain) memcpy(want, plain, (size_t)n * sizeof *want);
        for (int32_t stack = 0; stack < 2; stack++)
            for (int32_t layer = -1; layer < 2; layer++)
                for (int32_t point = 0; point < GF_N_POINTS; point++) {
                    if (gf_session_capture(s, stack, layer, point, 1, &err) != GF_OK) continue;
                    CHECK_OK(gf_session_rewind(s, 0, &err));
                    const float *y = golden_eval(s, r, &err);
                    int32_t dims[3];
                    CHECK(y && gf_session_captured(s, stack, layer, point, dims));
                    if (y) CHECK_SAME(y, want, n, g->name, "%s captured, cache %d", point_name(point), kv);
                    CHECK_OK(gf_session_capture(s, stack, layer, point, 0, &err));
                    CHECK(!gf_session_captured(s, stack, layer, point, dims));
                }
        free(want);
        gf_session_close(s);
    }
}

static const float *weight(const struct golden *g, const char *name, int32_t layer) {
    char full[64];
    snprintf(full, sizeof full, "%s.%d.%s", is_double(g) ? "decoder" : "blocks", layer, name);
    for (int32_t i = 0; i < g->n_weights; i++)
        if (!strcmp(g->weights[i].name, full)) return g->weights[i].data;
    return NULL;
}

static void captured_parts_add_up_to_the_residual_stream(void) {
    EACH_DECODER(g, m) {
        if (has_blocks(g)) continue;
        const struct gf_config *c = &g->cfg;
        const int32_t n = 9, d = c->d_model, v = c->vocab_size;
        struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
        capture_all(s);
        if (is_double(g)) CHECK_OK(gf_session_encode(s, source, NULL, source_mask, 11, &err));
        float *y = floats((int64_t)n * v), *sum = floats((int64_t)n * d);
        eval(s, v, ids, 0, n, AT_ONCE, y);
        /* heads' results and the bias make the attention's output; pattern rows sum to 1 */
        for (int32_t layer = 0; layer < c->n_layers; layer++)
            for (int cross = 0; cross <= is_double(g); cross++) {
                const float *result = seen(s, layer, cross ? GF_P_CROSS_RESULT : GF_P_RESULT),
                            *out = seen(s, layer, cross ? GF_P_CROSS_OUT : GF_P_ATTN_OUT),
                            *pattern = seen(s, layer, cross ? GF_P_CROSS_PATTERN : GF_P_PATTERN),
                            *bias = weight(g, cross ? "cross_attn.o.bias" : "attn.o.bias", layer);
                for (int32_t i = 0; i < n * d; i++) {
                    double total = bias ? (double)bias[i % d] : 0;
                    for (int32_t h = 0; h < c->n_heads; h++)
                        total += (double)result[(i / d * c->n_heads + h) * d + i % d];
                    CHECK_NEAR((double)out[i], total, 1e-5);
                }
                const int32_t keys = cross ? 11 : n;
                for (int32_t i = 0; i < c->n_heads * n; i++) {
                    double total = 0;
                    for (int32_t j = 0; j < keys; j++) total += (double)pattern[i * keys + j];
                    CHECK_NEAR(total, 1, 1e-6);
                }
            }
        /* the residual stream at any depth is the sum of the embedding and all contributions before it */
        if (c->norm_placement == GF_PRE_NORM) {
            const float *embed = seen(s, -1, GF_P_EMBED),
                        *pos = c->position == GF_POS_LEARNED || c->position == GF_POS_SINUSOIDAL
                                   ? seen(s, -1, GF_P_POS_EMBED)
                                   : NULL;
            for (int32_t i = 0; i < n * d; i++) sum[i] = embed[i] + (pos ? pos[i] : 0);
            for (int32_t layer = 0; layer < c->n_layers; layer++) {
                static const int parts[][2] = {{GF_P_ATTN_OUT, GF_P_RESID_MID},
                                               {GF_P_CROSS_OUT, GF_P_RESID_MID_CROSS},
                                               {GF_P_MLP_OUT, GF_P_RESID_POST}};
                CHECK_NEAR(max_diff(seen(s, layer, GF_P_RESID_PRE), sum, n * d), 0, 1e-5);
                for (int k = 0; k < 3; k++) {
                    const int alone = c->ffn == GF_NO_FFN; /* of one sublayer, in the golden models */
                    if ((k == 1 && !is_double(g)) || (k == 2 && alone)) continue;
                    const float *part = seen(s, layer, parts[k][0]);
                    for (int32_t i = 0; i < n * d; i++) sum[i] += part[i];
                    CHECK_NEAR(max_diff(seen(s, layer, alone ? GF_P_RESID_POST : parts[k][1]), sum, n * d), 0, 1e-5);
                }
            }
        }
        /* mean square = variance + mean squared, on live activations */
        if (c->norm == GF_RMSNORM) {
            const float *x = seen(s, 0, c->norm_placement == GF_PRE_NORM ? GF_P_RESID_PRE : GF_P_ATTN_OUT),
                        *pre = seen(s, 0, GF_P_RESID_PRE), *scale = seen(s, 0, GF_P_LN1_SCALE);
            for (int32_t i = 0; i < n; i++) {
                double mean = 0, var = 0;
                for (int pass = 0; pass < 2; pass++)
                    for (int32_t j = 0; j < d; j++) {
                        double a = (double)x[i * d + j];
                        if (x != pre) a += (double)pre[i * d + j];
                        if (pass)
                            var += (a - mean) * (a - mean) / d;
                        else
                            mean += a / d;
                    }
                const double want = sqrt(var + mean * mean + (double)c->norm_eps);
                CHECK_NEAR((double)scale[i], want, 1e-5 * want);
            }
        }
        free(y), free(sum);
        gf_session_close(s);
    }
}

static void tracing_changes_no_bit(void) {
    EACH_DECODER(g, m) {
        const int32_t v = g->cfg.vocab_size, two = is_double(g);
        float *want = floats(5 * v), *got = floats(5 * v);
        struct gf_session *plain = open_session(g, m, 0), *s = open_session(g, m, 0);
        CHECK_OK(gf_session_trace(s, 1, &err));
        eval(plain, v, ids, 0, 5, AT_ONCE, want);
        eval(s, v, ids, 0, 5, AT_ONCE, got);
        CHECK_SAME(got, want, 5 * v, g->name, "traced");
        int32_t n = 0, at_layer[3] = {0, 0, 0}, others = 0;
        const struct gf_op_time *t = gf_session_traced(s, &n);
        CHECK(t != NULL && n > 0);
        for (int32_t i = 0; t && i < n; i++) {
            CHECK(t[i].ms >= 0 && t[i].ms < 60000);
            CHECK_INT(t[i].stack, GF_STACK_DECODER);
            if (t[i].layer >= 0 && t[i].layer < 3)
                at_layer[t[i].layer]++;
            else
                others++;
        }
        CHECK(t && t[0].op == GF_OP_EMBED && t[n - 1].op == GF_OP_HEAD);
        CHECK_INT(others, 2 + g->cfg.final_norm); /* embed, final norm, head */
        /* per block: norms, qkv, attend, o, residual, up, act, down, residual, perhaps rope; and
         * for a cross-attention norm, q, attend, o, residual */
        const int32_t least = 4 + (g->cfg.norm != GF_NO_NORM) + (g->cfg.ffn != GF_NO_FFN ? 4 : 0) + 5 * two;
        for (int32_t l = 0; l < g->cfg.n_layers; l++) CHECK(at_layer[l] >= least && at_layer[l] <= least + 2);
        CHECK_OK(gf_session_trace(s, 0, &err));
        CHECK(gf_session_traced(s, &n) == NULL && n == 0);
        free(want), free(got);
        gf_session_close(plain), gf_session_close(s);
    }
}

int main(void) {
    open_models();
    RUN(captured_rows_do_not_depend_on_the_pass);
    RUN(capturing_any_single_point_changes_no_bit);
    RUN(captured_parts_add_up_to_the_residual_stream);
    RUN(tracing_changes_no_bit);
    close_models();
    return check_end();
}
