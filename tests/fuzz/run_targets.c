/* run_targets.c - calls the trainer's WebAssembly interface in random order with random arguments, and reads changed
 * loss.csv files. */
#include "stream.h"
#include "model/config.h"
#include "train/report.h"
#include "train/text/synthetic.h"
#include "../../src/wasm/train_abi.c" /* no header: only JavaScript calls it */
#include "golden.h"                   /* test_config */
#include <string.h>
#include <unistd.h>

static const char *const option_names[] = {
    "steps",    "batch_tokens", "micro_tokens", "warmup",        "final_rate",     "dropout", "average",      "seed",
    "init_std", "init_scaled",  "lr",           "beta1",         "beta2",          "eps",     "weight_decay", "clip",
    "muon",     "muon_lr",      "momentum",     "teacher_share", "validate_every", "d_modell"};
#define COUNT(list) (int32_t)(sizeof(list) / sizeof *(list))

static char *copy_of(const void *text, size_t n) {
    char *copy = values(n + 1, 1); /* followed by a 0 */
    memcpy(copy, text, n);
    return copy;
}

/* Stories, pairs, random bytes or an empty text, of a few hundred bytes. */
static char *any_text(struct stream *s, int pairs, uint32_t *n) {
    static const char lines[] = "one two\tun deux\nthree\ttrois\nfour five\tquatre cinq\n";
    const int what = below(s, 16);
    if (what > 1 && pairs) return *n = sizeof lines - 1, copy_of(lines, sizeof lines - 1);
    if (what > 1) {
        size_t m;
        char *text = gf_synthetic_stories(word(s), 1 + below(s, 5), &m);
        PROMISE(text);
        return *n = (uint32_t)m, text;
    }
    *n = what ? (uint32_t)below(s, 200) : 0;
    char *text = values(*n + 1, 1);
    for (uint32_t i = 0; i < *n; i++) text[i] = (char)byte(s);
    return text;
}

static void configure(struct stream *s, struct gf_run *r) {
    uint64_t seed = word(s);
    struct gf_config cfg = test_config(&seed);
    if (cfg.kind == GF_ENCODER) cfg.kind = GF_DECODER, cfg.n_encoder_layers = 0;
    if (cfg.n_layers > 2) cfg.n_layers = 2;
    if (cfg.context_length > 40) cfg.context_length = 40;
    const int family = below(s, 4); /* below 2: a Llama or GPT-2, which GGUF and Hugging Face have names for */
    if (family < 2) {
        gf_config_default(&cfg);
        cfg.d_model = 16, cfg.n_layers = 1 + below(s, 2), cfg.n_heads = cfg.n_kv_heads = 2;
        cfg.d_head = 8, cfg.d_ff = 24, cfg.context_length = 16 + below(s, 20);
        if (family) {
            cfg.norm = cfg.final_norm_kind = GF_LAYERNORM, cfg.ffn = GF_GELU_TANH, cfg.position = GF_POS_LEARNED;
            cfg.bias_qkv = cfg.bias_attn_out = cfg.bias_ffn = cfg.bias_norm = 1;
        }
    }
    cfg.vocab_size = 257 + below(s, 12);
    for (int32_t f = 0; f < GF_N_FIELDS; f++) {
        struct gf_error err = {0};
        STATUS(gf_train_set(r, gf_field_name(f), gf_config_get(&cfg, f, 0), &err), err);
    }
    const double micro = 40 + below(s, 30);
    struct gf_error err = {0};
    STATUS(gf_train_set(r, "micro_tokens", micro, &err), err);
    STATUS(gf_train_set(r, "batch_tokens", micro * (1 + below(s, 4)), &err), err);
    for (int32_t i = below(s, 5); i > 0; i--) {
        struct gf_error none = {0};
        const int field = below(s, 2);
        const char *name = field ? gf_field_name(below(s, GF_N_FIELDS)) : option_names[below(s, COUNT(option_names))];
        const double x = below(s, 2) ? setting(s) : (double)number(s);
        STATUS(gf_train_set(r, name, x, &none), none);
    }
}

/* Whether a run is small enough to be opened here. Larger ones would only take time and memory. */
static int is_small(const struct gf_run *r) {
    struct gf_error err;
    const struct gf_trainer_options *o = &r->recipe.options;
    struct gf_config c = r->recipe.cfg;
    if (gf_config_complete(&c, r->recipe.given, &err) != GF_OK) return 1; /* gf_train_open refuses it */
    return o->batch_tokens <= 512 && c.vocab_size <= 512 && gf_count_parameters(&c) <= 1 << 14;
}

static void open_run(struct stream *s, struct gf_run *r) {
    struct gf_error err = {0};
    uint32_t n, m = 0;
    const int pairs = (r->recipe.cfg.kind == GF_ENCODER_DECODER) ^ (below(s, 20) == 0);
    char *text = any_text(s, pairs, &n), *valid = below(s, 2) ? any_text(s, pairs, &m) : NULL;
    maybe_fail_allocations(s);
    STATUS(gf_train_open(r, text, n, valid, m, &err), err);
    allow_allocations();
}

/* Load the run's own state, sometimes changed or cut off, or random bytes. */
static void load(struct stream *s, struct gf_run *r) {
    struct gf_error err = {0}, none = {0};
    uint32_t n = 0;
    uint8_t *state = gf_train_file(r, GF_FILE_STATE, &n, &none);
    if (!state) n = (uint32_t)below(s, 300), state = values(n, 1);
    for (int32_t i = below(s, 4); n && i > 0; i--) {
        const uint64_t x = below(s, 2) ? word(s) : (uint64_t)(int64_t)about(s, 50);
        const uint32_t at = (below(s, 2) ? (uint32_t)word(s) : (uint32_t)below(s, 320)) % n / 4 * 4;
        memcpy(state + at, &x, n - at < 8 ? n - at : 8);
    }
    if (n && below(s, 16) == 0) n = (uint32_t)word(s) % n;
    maybe_fail_allocations(s);
    const int32_t status = gf_train_load(r, state, n, &err);
    STATUS(status, err);
    allow_allocations();
    if (status == GF_OK) { /* an accepted state is accepted again after saving */
        uint8_t *again = gf_train_file(r, GF_FILE_STATE, &n, &none);
        PROMISE(again && gf_train_load(r, again, n, &none) == GF_OK);
        free(again);
    }
    free(state);
}

static void file(struct stream *s, struct gf_run *r) {
    struct gf_error err = {0}, none = {0};
    uint32_t n = 0;
    const int32_t kind = about(s, GF_FILE_STATE + 1);
    maybe_fail_allocations(s);
    uint8_t *bytes = gf_train_file(r, kind, &n, &err);
    allow_allocations();
    PROMISE(!bytes == !!err.text[0] && (!bytes || n > 0));
    struct gf_params p;
    if (bytes && kind == GF_FILE_WEIGHTS && !gf_params_open(&p, &r->trainer.cfg)) {
        const int32_t status = gf_import_weights(&p, &r->bpe, bytes, n, &none);
        PROMISE(status == GF_OK || status == GF_ERR_NOT_FINITE); /* training may diverge */
        gf_params_close(&p);
    }
    free(bytes);
}

static void vocabulary(struct stream *s, struct gf_run *r) {
    static const char json[] = "\"merges\":[\"a b\",\"ab c\",\"\xc4\xa0 t\",\"\\\" \\\\\"]";
    struct gf_error err = {0};
    char *text = copy_of(json, sizeof json - 1);
    for (int32_t i = below(s, 3); i > 0; i--) text[below(s, sizeof json - 1)] = (char)byte(s);
    maybe_fail_allocations(s);
    STATUS(gf_train_vocabulary(r, text, sizeof json - 1, &err), err);
    allow_allocations();
    free(text);
}

static void depth(struct stream *s, const struct gf_run *r) {
    static const int32_t far[] = {INT32_MIN, -1, 0, 1, GF_DEPTH_TOKENS + 1, 1 << 30, INT32_MAX};
    struct gf_error err = {0};
    if (!is_small(r)) return;
    const int32_t n_layers = r->recipe.cfg.n_layers, n = below(s, 3) ? below(s, 99) : far[below(s, 7)];
    struct gf_depth *out = values(n_layers > 0 ? (size_t)n_layers : 0, sizeof *out);
    const double seed = below(s, 2) ? setting(s) : (double)number(s);
    maybe_fail_allocations(s);
    STATUS(gf_train_depth(r, seed, n, out, &err), err);
    allow_allocations();
    free(out);
}

/* Make a model of the trained weights and compute the bits per byte of the validation text with it. */
static void export(struct stream *s, struct gf_run *r) {
    struct gf_error err = {0}, none = {0};
    double bits;
    if (!r->is_open) return;
    const int32_t dtype = below(s, GF_N_DTYPES);
    maybe_fail_allocations(s);
    struct gf_model *m = gf_export_model(gf_trainer_best(&r->trainer), &r->trainer.cfg, dtype, &err);
    PROMISE(!m == !!err.text[0]);
    if (m && r->valid.n_texts && !r->recipe.pairs) STATUS(gf_export_bits(m, &r->valid, &bits, &none), none);
    allow_allocations();
    gf_model_close(m);
}

/* Add a teacher of the run's own configuration with other weights. */
static void teach(struct stream *s, struct gf_run *r, struct gf_params *teacher) {
    struct gf_error err = {0};
    struct gf_config cfg = r->trainer.cfg;
    if (!r->is_open || teacher->data || gf_params_open(teacher, &cfg)) return;
    gf_params_init(teacher, &cfg, word(s), 0.1f, 0);
    if (below(s, 8) == 0) cfg.vocab_size++; /* refused */
    maybe_fail_allocations(s);
    STATUS(gf_trainer_teach(&r->trainer, &cfg, teacher, 0.3f, &err), err);
    allow_allocations();
}

static void run(const uint8_t *bytes, size_t n) {
    struct stream s = {bytes, bytes + (n < 160 ? n : 160)};
    struct gf_params teacher = {0};
    struct gf_run *r = gf_train_new();
    PROMISE(r);
    configure(&s, r);
    const int small = is_small(r);
    while (s.at < s.end) {
        struct gf_error err = {0};
        double out[7];
        switch (below(&s, 13)) {
        case 0: vocabulary(&s, r); break;
        case 1:
        case 2:
        case 3:
            if (small) open_run(&s, r);
            break;
        case 4: load(&s, r); break;
        case 5: file(&s, r); break;
        case 6:
            maybe_fail_allocations(&s);
            STATUS(gf_train_validate(r, out, &err), err);
            allow_allocations();
            break;
        case 7:
            if (below(&s, 4) == 0) depth(&s, r);
            break;
        case 8: teach(&s, r, &teacher); break;
        case 9: export(&s, r); break;
        default: {
            const double before = gf_train_steps(r);
            maybe_fail_allocations(&s);
            const int32_t status = gf_train_step(r, out, &err);
            STATUS(status, err);
            allow_allocations();
            PROMISE(gf_train_steps(r) == before + (status == GF_OK));
        }
        }
    }
    PROMISE(gf_train_vocab_size(r) >= 0);
    gf_train_close(r);
    gf_params_close(&teacher);
}

/* ---- loss.csv ---------------------------------------------------------------------------------------------------- */

static int curve_seeds(struct gf_memory seeds[MAX_SEEDS]) {
    static const char csv[] = "step,tokens,loss,norm,valid_nats,valid_bits_per_byte\n"
                              "1,64,5.598422,1.0211,,\n2,128,5.5,0.9876,5.51234,2.34567\n"
                              "3,192,5.4,0.9,,\n100,6400,0.125,0.1,0.25,0.5\n";
    struct gf_sink to = gf_memory_sink(&seeds[0]);
    gf_put(&to, csv, sizeof csv - 1);
    return 1;
}

static char curve_path[64];
static void remove_curve(void) { remove(curve_path); }

/* A curve that was read is written, read again and drawn; the SVG has a bounded size. */
static void curve(const uint8_t *bytes, size_t n) {
    struct gf_error err = {0};
    struct gf_curve c = {0}, again = {0};
    if (!curve_path[0]) {
        snprintf(curve_path, sizeof curve_path, "build/fuzz-curve.%ld", (long)getpid());
        atexit(remove_curve);
    }
    FILE *f = fopen(curve_path, "wb");
    PROMISE(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
    const int64_t steps = n ? 1 + bytes[n - 1] : 9;
    STATUS(gf_curve_read_csv(&c, curve_path, steps, &err), err);
    for (int64_t i = 0; i < c.n; i++) PROMISE(c.points[i].step >= 1 && c.points[i].step <= steps);
    STATUS(gf_curve_write_csv(&c, curve_path, &err), err);
    STATUS(gf_curve_read_csv(&again, curve_path, steps, &err), err);
    PROMISE(again.n >= c.n); /* a number of more than 255 digits is read as two lines */
    STATUS(gf_curve_write_svg(&c, curve_path, "m", &err), err);
    f = fopen(curve_path, "rb");
    PROMISE(f && fseek(f, 0, SEEK_END) == 0 && ftell(f) < 8000 + 1500 * (long)(c.n + 1));
    fclose(f);
    gf_curve_close(&again);
    gf_curve_close(&c);
}

const struct target run_targets[] = {{"run", NULL, run}, {"curve", curve_seeds, curve}, {NULL, NULL, NULL}};
