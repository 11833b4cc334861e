/* config.c - fills in, checks and names the fields of a configuration, by the tables in glassformer.h. */
#include "model/config.h"
#include "base/text.h"
#include "model/weights.h" /* enum gf_sublayer */
#include <math.h>
#include <stddef.h>
#include <string.h>

struct field {
    const char *name;
    size_t offset;
    int is_float, is_list;
    double least, most;
};
#define IS_FLOAT(t) _Generic((t)0, int32_t: 0, float: 1)
#define FIELD_ROW(type, name, initial, least, most, meaning)                                                           \
    {#name, offsetof(struct gf_config, name), IS_FLOAT(type), 0, least, most},
/* A list of flags has the range 0 .. 1; other lists hold floats. */
#define LIST_ROW(name, least, most, meaning) {#name, offsetof(struct gf_config, name), (most) != 1, 1, least, most},
static const struct field fields[] = {GF_CONFIG_FIELDS(FIELD_ROW) GF_CONFIG_LISTS(LIST_ROW)};
struct choice {
    int32_t field, n;
    const char *const *words; /* [n] */
};
#define WORDS(name, ...) static const char *const name##_words[] = {__VA_ARGS__};
GF_ENUMS(WORDS)
#define CHOICE(name, ...) {GF_FIELD_##name, GF_WORDS_##name, name##_words},
static const struct choice choices[] = {GF_ENUMS(CHOICE)};

/* ---- names and values -------------------------------------------------------------------------------------------- */

const char *gf_field_name(int32_t field) { return fields[field].name; }

int32_t gf_field_find(const char *name) {
    for (int32_t i = 0; i < GF_N_FIELDS; i++)
        if (!strcmp(fields[i].name, name)) return i;
    return -1;
}

const char *gf_field_word(int32_t field, int32_t k) {
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (choices[i].field == field) return k >= 0 && k < choices[i].n ? choices[i].words[k] : NULL;
    return NULL;
}

int gf_field_is_flag(int32_t field) {
    return !fields[field].is_float && fields[field].most == 1 && !gf_field_word(field, 0);
}

int gf_field_is_list(int32_t field) { return fields[field].is_list; }

static struct gf_list *list_of(const struct gf_config *cfg, int32_t field) {
    return fields[field].is_list ? (struct gf_list *)(void *)((char *)(uintptr_t)cfg + fields[field].offset) : NULL;
}

static void put(struct gf_config *cfg, int32_t field, double value) {
    void *at = (char *)cfg + fields[field].offset;
    if (fields[field].is_float)
        *(float *)at = (float)value;
    else
        *(int32_t *)at = (int32_t)value;
}

int32_t gf_config_count(const struct gf_config *cfg, int32_t field) {
    if (field < 0 || field >= GF_N_FIELDS) return 0;
    const struct gf_list *list = list_of(cfg, field);
    return list ? list->n : 1;
}

double gf_config_get(const struct gf_config *cfg, int32_t field, int32_t i) {
    if (i < 0 || i >= gf_config_count(cfg, field)) return NAN;
    const struct gf_list *list = list_of(cfg, field);
    if (list) return (double)list->at[i];
    const void *at = (const char *)cfg + fields[field].offset;
    return fields[field].is_float ? (double)*(const float *)at : (double)*(const int32_t *)at;
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

int32_t gf_field_refuse(int32_t field, const char *found, struct gf_error *err) {
    const struct field *f = &fields[field];
    char memory[320];
    struct gf_text expected = gf_text_in(memory, sizeof memory);
    const char *word = gf_field_word(field, 0);
    if (word) {
        gf_append(&expected, "one of ");
        for (int32_t k = 1; word; word = gf_field_word(field, k++)) {
            if (k > 1) gf_append(&expected, ", ");
            gf_append(&expected, word);
        }
    } else if (gf_field_is_flag(field)) {
        gf_append(&expected, "true or false");
    } else {
        gf_append(&expected, f->is_float ? "a number from " : "a whole number from ");
        gf_append_decimal(&expected, f->least, 0);
        gf_append(&expected, " to ");
        gf_append_decimal(&expected, f->most, 0);
    }
    return gf_fail(err, GF_ERR_CONFIG, "%s is %s, expected %s", f->name, found, memory);
}

/* The limits of a float count as floats too: 1e12 is not below 1e12f, nor 1e-6f below 1e-6. */
static int32_t check_range(int32_t field, double value, struct gf_error *err) {
    const struct field *f = &fields[field];
    if (f->is_float ? (float)value >= (float)f->least && (float)value <= (float)f->most
                    : value >= f->least && value <= f->most && value == floor(value))
        return GF_OK;
    char memory[32];
    struct gf_text found = gf_text_in(memory, sizeof memory);
    gf_append_decimal(&found, value, f->is_float && (double)(float)value == value);
    return gf_field_refuse(field, memory, err);
}

#ifndef GF_RULES_IN_JS
static void put_value(struct gf_text *t, const struct gf_config *cfg, int32_t field) {
    const double x = gf_config_get(cfg, field, 0);
    gf_append(t, fields[field].name);
    gf_append(t, " ");
    if (gf_field_word(field, 0))
        gf_append(t, gf_field_word(field, (int32_t)x));
    else
        gf_append_decimal(t, x, fields[field].is_float);
}

/* The sentence of a rule, {field} replaced by name and value. */
static int32_t refuse(const struct gf_config *cfg, const char *sentence, struct gf_error *err) {
    char memory[320], name[40];
    struct gf_text line = gf_text_in(memory, sizeof memory);
    for (const char *s = sentence; *s; s++) {
        if (*s != '{') {
            gf_append_first(&line, s, 1);
            continue;
        }
        const size_t n = strcspn(++s, "}");
        struct gf_text word = gf_text_in(name, sizeof name);
        gf_append_first(&word, s, n);
        put_value(&line, cfg, gf_field_find(name));
        s += n;
    }
    return gf_fail(err, GF_ERR_CONFIG, "%s", memory);
}
#endif

/* ---- defaults and rules ------------------------------------------------------------------------------------------ */

#define GF_NO_DEFAULT     0 /* below the least value of every field that has it */
#define GF_CEIL_DIV(a, b) ceil_div(a, b)
#define GF_GIVEN(field)   (!given || given[GF_FIELD_##field])

static int32_t ceil_div(int32_t a, int32_t b) { return b > 0 ? (a + b - 1) / b : 0; }

static double default_of(const struct gf_config *c, int32_t field) {
    switch (field) {
#define DEFAULT(type, name, initial, ...)                                                                              \
    case GF_FIELD_##name: return initial;
        GF_CONFIG_FIELDS(DEFAULT)
    default: break;
    }
    return NAN;
}

void gf_config_default(struct gf_config *cfg) {
    memset(cfg, 0, sizeof *cfg);
    for (int32_t i = 0; i < GF_N_FIELDS; i++)
        if (!fields[i].is_list) put(cfg, i, default_of(cfg, i));
}

int32_t gf_config_set(struct gf_config *cfg, int32_t field, double value, struct gf_error *err) {
    if (field < 0 || field >= GF_N_FIELDS)
        return gf_fail(err, GF_ERR_CONFIG, "configuration field %d does not exist", field);
    const int32_t status = check_range(field, value, err);
    struct gf_list *list = list_of(cfg, field);
    if (status != GF_OK) return status;
    if (list && (list->n < 0 || list->n >= GF_LIST_MOST))
        return gf_fail(err, GF_ERR_CONFIG, "%s has more than %d values", fields[field].name, GF_LIST_MOST);
    if (list)
        list->at[list->n++] = (float)value;
    else
        put(cfg, field, value);
    return status;
}

/* The range of a field, of a list of each of its values. */
static int32_t check_field(const struct gf_config *cfg, int32_t field, struct gf_error *err) {
    const struct gf_list *list = list_of(cfg, field);
    if (list && (list->n < 0 || list->n > GF_LIST_MOST))
        return gf_fail(err, GF_ERR_CONFIG, "%s has %d values, expected 0 to %d", fields[field].name, list->n,
                       GF_LIST_MOST);
    int32_t status = GF_OK;
    for (int32_t i = 0; status == GF_OK && i < gf_config_count(cfg, field); i++)
        status = check_range(field, gf_config_get(cfg, field, i), err);
    return status;
}

/* The rules for fields that are each in range. given: as of gf_config_complete, or NULL: all of them.
 *
 * GF_RULES_IN_JS: in the binaries that run models, whose configurations completeConfig of engine/config/config.js has
 * checked. It has the sentences, which would be 2 KB of the download. */
static int32_t check_rules(const struct gf_config *c, const uint8_t *given, struct gf_error *err) {
#ifdef GF_RULES_IN_JS
#define RULE(condition, sentence) &&(condition)
    if (1 GF_CONFIG_RULES(RULE)) return GF_OK;
    return gf_fail(err, GF_ERR_CONFIG, "the configuration breaks a rule of GF_CONFIG_RULES");
#else
#define RULE(condition, sentence)                                                                                      \
    if (!(condition)) return refuse(c, sentence, err);
    GF_CONFIG_RULES(RULE)
    return GF_OK;
#endif
}

int32_t gf_config_complete(struct gf_config *cfg, const uint8_t *given, struct gf_error *err) {
    for (int32_t i = 0; i < GF_N_FIELDS; i++) {
        if (!given[i] && fields[i].is_list) {
            memset(list_of(cfg, i), 0, sizeof(struct gf_list));
        } else if (!given[i]) {
            put(cfg, i, default_of(cfg, i));
            if (gf_config_get(cfg, i, 0) < fields[i].least) /* GF_NO_DEFAULT */
                return gf_fail(err, GF_ERR_CONFIG, "%s is missing", fields[i].name);
        }
        const int32_t status = check_field(cfg, i, err);
        if (status != GF_OK) return status;
    }
    const struct gf_config *c = cfg;
#define UNUSED(condition, flag)                                                                                        \
    if (condition) cfg->flag = 0;
    GF_CONFIG_UNUSED(UNUSED)
    return check_rules(cfg, given, err);
}

int32_t gf_config_check(const struct gf_config *cfg, struct gf_error *err) {
    for (int32_t i = 0; i < GF_N_FIELDS; i++) {
        const int32_t status = check_field(cfg, i, err);
        if (status != GF_OK) return status;
    }
    if (cfg->kind != GF_ENCODER && cfg->pooler) /* gf_config_complete clears these flags */
        return gf_fail(err, GF_ERR_CONFIG, "pooler needs kind encoder");
    if (cfg->n_labels > 0 && cfg->tie_word_embeddings)
        return gf_fail(err, GF_ERR_CONFIG, "n_labels does not fit tie_word_embeddings");
    if (cfg->kind == GF_ENCODER_DECODER && cfg->mlm_head)
        return gf_fail(err, GF_ERR_CONFIG, "mlm_head does not fit kind encoder_decoder");
    return check_rules(cfg, NULL, err);
}

/* ---- what follows from several fields ---------------------------------------------------------------------------- */

int gf_has_sublayer(const struct gf_config *c, int32_t stack, int32_t kind) {
    switch (kind) {
    case GF_CROSS_ATTENTION: return c->kind == GF_ENCODER_DECODER && stack == GF_STACK_DECODER;
    case GF_FEED_FORWARD: return c->ffn != GF_NO_FFN;
    default: return 1;
    }
}

int32_t gf_last_sublayer(const struct gf_config *c, int32_t stack) {
    int32_t kind = GF_N_SUBLAYERS - 1;
    while (!gf_has_sublayer(c, stack, kind)) kind--;
    return kind;
}

struct gf_config gf_stack_config(const struct gf_config *c, int32_t stack) {
    struct gf_config of = *c;
    if (stack == GF_STACK_ENCODER && c->n_encoder_heads > 0) {
        of.n_heads = of.n_kv_heads = c->n_encoder_heads;
        of.d_head = gf_q_width(c) / c->n_encoder_heads;
    }
    if (stack == GF_STACK_ENCODER && c->d_encoder_ff > 0) of.d_ff = c->d_encoder_ff;
    if (stack == GF_STACK_ENCODER && c->encoder_vocab_size > 0) of.vocab_size = c->encoder_vocab_size;
    return of;
}

float gf_score_scale(const struct gf_config *c, int32_t layer) {
    if (!c->scale_scores) return 1;
    const double scale = c->score_scale > 0 ? (double)c->score_scale : 1 / sqrt((double)c->d_head);
    return (float)(c->scores_by_layer ? scale / (layer + 1) : scale);
}
