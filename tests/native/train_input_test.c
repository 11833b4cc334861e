/* train_input_test.c - wrong numbers from outside: in checkpoints, files, curves and calls of the WebAssembly
 * interface, whose source is included here. */
#include "check.h"
#include "copied.h"
#include "train/report.h"
#include "train/text/synthetic.h"
#include "../../src/wasm/train_abi.c" /* no header: only JavaScript calls it */
#include <math.h>
#include <unistd.h>

static const struct {
    const char *key;
    double value;
} small[] = {{"vocab_size", 270},    {"d_model", 16},      {"n_layers", 1},       {"n_heads", 2},
             {"n_kv_heads", 2},      {"d_head", 8},        {"d_ff", 32},          {"average", 0.9},
             {"context_length", 32}, {"micro_tokens", 64}, {"batch_tokens", 128}, {"steps", 9}};

static struct gf_run *small_run(void) {
    struct gf_error err = {0};
    struct gf_run *r = gf_train_new();
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        CHECK_INT(gf_train_set(r, small[i].key, small[i].value, &err), GF_OK);
    return r;
}

static int32_t open_run(struct gf_run *r, struct gf_error *err) {
    size_t n;
    char *text = gf_synthetic_stories(3, 12, &n);
    return gf_train_open(r, text, (uint32_t)n, copy_of(text, n), (uint32_t)n, err);
}

static void *state_of(struct gf_run *r, uint32_t *n) {
    struct gf_error err = {0};
    void *state = gf_train_file(r, GF_FILE_STATE, n, &err);
    CHECK(state != NULL);
    return state;
}

/* The start of a checkpoint (trainer.c). */
struct head {
    char magic[8];
    struct gf_config cfg;
    uint64_t n, seed;
    int64_t step, tokens, epoch, next, window;
    int32_t averaged, lanes;
    char data[64];
};

/* A step count near 2^63 was once accepted, and its product overflowed. */
static void checkpoints_with_impossible_counts_are_refused(void) {
    static const int64_t steps[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX / 2, GF_STEPS_MOST + 1};
    static const int64_t tokens[] = {-1, INT64_MIN, INT64_MAX, GF_TOKENS_MOST + 1};
    struct gf_error err = {0};
    struct gf_run *r = small_run();
    double out[7];
    uint32_t n, m;
    CHECK_INT(open_run(r, &err), GF_OK);
    for (int i = 0; i < 2; i++) CHECK_INT(gf_train_step(r, out, &err), GF_OK);
    uint8_t *good = state_of(r, &n), *bad = (uint8_t *)copy_of((char *)good, n);
    struct head h;
    memcpy(&h, good, sizeof h);
    CHECK_INT(h.step, 2);
    CHECK(h.tokens == (int64_t)out[4] && h.lanes == GF_LANES && h.averaged == 1);
    for (int i = 0; i < 9; i++) {
        struct head other = h;
        if (i < 5)
            other.step = steps[i];
        else
            other.tokens = tokens[i - 5];
        memcpy(bad, &other, sizeof other);
        CHECK_INT(gf_train_load(r, bad, n, &err), GF_ERR_CONFIG);
        CHECK(strstr(err.text, "steps") && strstr(err.text, "tokens"));
    }
    uint8_t *still = state_of(r, &m);
    CHECK_INT(m, n);
    CHECK_BITS(still, good, n);
    free(still);
    h.step = GF_STEPS_MOST; /* the largest that is accepted: training continues */
    h.tokens = GF_TOKENS_MOST;
    memcpy(bad, &h, sizeof h);
    CHECK_INT(gf_train_load(r, bad, n, &err), GF_OK);
    CHECK_INT(gf_train_step(r, out, &err), GF_OK);
    CHECK(out[0] == (double)(GF_STEPS_MOST + 1) && isfinite(out[1]) && isfinite(out[3]));
    CHECK_INT(gf_train_load(r, good, n, &err), GF_OK);
    free(bad);
    free(good);
    gf_train_close(r);
}

static void checkpoints_with_impossible_floats_are_refused(void) {
    enum { WEIGHTS, FIRST, SECOND, AVERAGED };
    static const struct {
        int part;
        float x;
        int taken;
    } cases[] = {{WEIGHTS, NAN, 0},
                 {WEIGHTS, INFINITY, 0},
                 {FIRST, -INFINITY, 0},
                 {FIRST, NAN, 0},
                 {SECOND, NAN, 0},
                 {SECOND, -1e-9f, 0},
                 {SECOND, INFINITY, 1} /* a square may overflow */,
                 {AVERAGED, NAN, 0},
                 {AVERAGED, 1e30f, 1},
                 {WEIGHTS, -3e38f, 1}};
    struct gf_error err = {0};
    struct gf_run *r = small_run();
    double out[7];
    uint32_t n, m;
    CHECK_INT(open_run(r, &err), GF_OK);
    CHECK_INT(gf_train_step(r, out, &err), GF_OK);
    uint8_t *good = state_of(r, &n), *bad = (uint8_t *)copy_of((char *)good, n);
    struct head h;
    memcpy(&h, good, sizeof h);
    CHECK_INT(n, sizeof h + 4 * h.n * sizeof(float));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int last = 0; last < 2; last++) {
            const uint64_t at = (uint64_t)cases[i].part * h.n + (last ? h.n - 1 : 0);
            memcpy(bad, good, n);
            memcpy(bad + sizeof h + at * sizeof(float), &cases[i].x, sizeof(float));
            CHECK_INT(gf_train_load(r, bad, n, &err), cases[i].taken ? GF_OK : GF_ERR_NOT_FINITE);
            if (cases[i].taken) {
                CHECK_INT(gf_train_load(r, good, n, &err), GF_OK);
                continue;
            }
            uint8_t *still = state_of(r, &m);
            CHECK_BITS(still, good, n);
            free(still);
        }
    free(bad);
    free(good);
    gf_train_close(r);
}

static void files_with_weights_that_are_not_finite_are_refused(void) {
    struct gf_error err = {0};
    struct gf_run *r = small_run();
    uint32_t n;
    CHECK_INT(open_run(r, &err), GF_OK);
    uint8_t *file = gf_train_file(r, GF_FILE_WEIGHTS, &n, &err);
    CHECK(file != NULL);
    struct gf_params p;
    CHECK_INT(gf_params_open(&p, &r->trainer.cfg), 0);
    CHECK_INT(gf_import_weights(&p, &r->bpe, file, n, &err), GF_OK);
    const float nan_ = NAN;
    memcpy(file + n - sizeof nan_, &nan_, sizeof nan_);
    CHECK_INT(gf_import_weights(&p, &r->bpe, file, n, &err), GF_ERR_NOT_FINITE);
    gf_params_close(&p);
    free(file);
    gf_train_close(r);
}

static void calls_in_the_wrong_order_are_refused(void) {
    struct gf_error err = {0};
    struct gf_depth depth[1];
    double out[7];
    uint32_t n;
    struct gf_run *r = small_run();
    CHECK_INT(gf_train_step(r, out, &err), GF_ERR_STATE);
    CHECK_INT(gf_train_validate(r, out, &err), GF_ERR_STATE);
    CHECK_INT(gf_train_load(r, "", 0, &err), GF_ERR_STATE);
    CHECK(!gf_train_file(r, GF_FILE_STATE, &n, &err) && err.status == GF_ERR_STATE);
    CHECK_INT(gf_train_vocabulary(r, "{}", 2, &err), GF_ERR_MISSING);
    CHECK(gf_train_steps(r) == 0);
    CHECK_INT(gf_train_set(r, "width", 3, &err), GF_ERR_CONFIG);
    /* opening fails (a pass is shorter than the context): a second gf_train_open is refused */
    CHECK_INT(gf_train_set(r, "micro_tokens", 16, &err), GF_OK);
    CHECK_INT(open_run(r, &err), GF_ERR_ARGUMENT);
    CHECK_INT(gf_train_set(r, "micro_tokens", 64, &err), GF_OK);
    CHECK_INT(open_run(r, &err), GF_ERR_STATE);
    CHECK_INT(gf_train_vocabulary(r, "{}", 2, &err), GF_ERR_STATE);
    CHECK_INT(gf_train_step(r, out, &err), GF_ERR_STATE);
    gf_train_close(r);

    r = small_run();
    CHECK_INT(open_run(r, &err), GF_OK);
    CHECK_INT(open_run(r, &err), GF_ERR_STATE);
    CHECK_INT(gf_train_step(r, out, &err), GF_OK);
    CHECK(!gf_train_file(r, 9, &n, &err) && err.status == GF_ERR_ARGUMENT);
    CHECK(!gf_train_file(r, -1, &n, &err) && err.status == GF_ERR_ARGUMENT);
    /* seeds and lengths for which a conversion or a product would overflow */
    static const double seeds[] = {NAN, -1, 1e300, INFINITY};
    static const int32_t lengths[] = {-1, 0, 1, GF_DEPTH_TOKENS + 1, 1 << 30, INT32_MAX};
    for (int i = 0; i < 4; i++) CHECK_INT(gf_train_depth(r, seeds[i], 8, depth, &err), GF_ERR_ARGUMENT);
    for (int i = 0; i < 6; i++) CHECK_INT(gf_train_depth(r, 1, lengths[i], depth, &err), GF_ERR_ARGUMENT);
    CHECK_INT(gf_train_depth(r, 0x1p53, 70, depth, &err), GF_OK);
    CHECK(depth->weights > 0 && depth->stream > 0);
    gf_train_close(r);
}

static void the_learning_rate_is_finite_at_every_step(void) {
    static const float warm[] = {0, 0.02f, 1};
    static const int64_t steps[] = {0, 1, 10, GF_STEPS_MOST};
    struct gf_trainer_options o;
    gf_trainer_defaults(&o);
    for (int i = 0; i < 12; i++) {
        o.warmup = warm[i % 3];
        o.steps = steps[i / 3];
        const int64_t at[] = {0, 1, 2, o.steps, GF_STEPS_MOST, INT64_MAX};
        for (int k = 0; k < 6; k++) {
            const float rate = gf_trainer_rate(&o, at[k]);
            CHECK(rate >= 0 && rate <= 1.0000001f);
        }
    }
}

static void a_tokenizer_with_too_many_tokens_is_refused(void) {
    static const char head[] = "\"merges\":[";
    enum { MERGES = (1 << 22) - 256 }; /* and 257 tokens without a merge */
    const size_t n = sizeof head - 1 + 2 * (size_t)MERGES;
    struct gf_error err = {0};
    struct gf_bpe b;
    char *json = malloc(n);
    memcpy(json, head, sizeof head - 1);
    for (size_t i = sizeof head - 1; i < n; i++) json[i] = '"';
    CHECK_INT(gf_bpe_read(&b, json, n, &err), GF_ERR_CONFIG);
    CHECK_INT(gf_bpe_read(&b, json, n - 2, &err), GF_ERR_SHAPE);
    free(json);
}

/* For a loss.csv without a loss the scale once started at infinity, and drawing its labels did not end. */
static void a_loss_curve_of_any_numbers_is_drawn(void) {
    static const char *const lines[] = {"5,100\n",
                                        "5,100,-1e300,0,,\n",
                                        "5,-3,1e300,1e300,1,1\n",
                                        "5,0,inf,nan,nan,nan\n",
                                        "5,9223372036854775808,2,1,2,3\n",
                                        "5,100,2.5,1,,\n6,200,2,1,2.25,1.5\n"};
    char csv[64], svg[64];
    snprintf(csv, sizeof csv, "build/train_input_test.%ld.csv", (long)getpid());
    snprintf(svg, sizeof svg, "build/train_input_test.%ld.svg", (long)getpid());
    for (int i = 0; i < 6; i++) {
        struct gf_error err = {0};
        struct gf_curve c = {0}, again = {0};
        FILE *f = fopen(csv, "wb");
        CHECK(f != NULL);
        if (!f) return;
        fprintf(f, "step,tokens,loss,norm,valid_nats,valid_bits_per_byte\n%s", lines[i]);
        fclose(f);
        CHECK_INT(gf_curve_read_csv(&c, csv, 9, &err), GF_OK);
        CHECK_INT(c.n, i < 5 ? 1 : 2);
        CHECK_INT(gf_curve_write_svg(&c, svg, "m", &err), GF_OK);
        f = fopen(svg, "rb");
        CHECK(f && fseek(f, 0, SEEK_END) == 0);
        if (f) {
            CHECK(ftell(f) > 1000 && ftell(f) < 8000);
            fclose(f);
        }
        CHECK_INT(gf_curve_write_csv(&c, csv, &err), GF_OK);
        CHECK_INT(gf_curve_read_csv(&again, csv, 5, &err), GF_OK);
        CHECK_INT(again.n, 1);
        CHECK_INT(again.points[0].step, 5);
        gf_curve_close(&again);
        gf_curve_close(&c);
    }
    remove(csv);
    remove(svg);
}

int main(void) {
    RUN(checkpoints_with_impossible_counts_are_refused);
    RUN(checkpoints_with_impossible_floats_are_refused);
    RUN(files_with_weights_that_are_not_finite_are_refused);
    RUN(calls_in_the_wrong_order_are_refused);
    RUN(the_learning_rate_is_finite_at_every_step);
    RUN(a_tokenizer_with_too_many_tokens_is_refused);
    RUN(a_loss_curve_of_any_numbers_is_drawn);
    return check_end();
}
