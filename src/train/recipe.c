/* recipe.c - see recipe.h. */
#include "train/recipe.h"
#include "model/config.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { INT32, INT64, FLOAT }; /* INT64: also of a uint64_t, whose values here are below 2^63 */
struct option {
    const char *name;
    size_t offset;
    enum type type;
    double least, most;
};
#define AT(member)    offsetof(struct gf_recipe, member)
#define TYPE_OF(type) _Generic((type)0, int32_t : INT32, int64_t : INT64, uint64_t : INT64, float : FLOAT)
#define ROW(type, name, member, least, most)                                                                           \
    {#name, AT(member), TYPE_OF(type), (double)(least), (double)(most)},
#define TRAINER_ROW(type, name, member, initial, of_train, least, most) ROW(type, name, options.member, least, most)
#define RUN_ROW(type, name, initial, of_train, least, most)             ROW(type, name, name, least, most)
static const struct option options[] = {GF_TRAINER_OPTIONS(TRAINER_ROW) GF_RUN_OPTIONS(RUN_ROW)};

/* Each member has the type of its row. */
#define SAME(type, member) _Static_assert(_Generic(((struct gf_recipe *)0)->member, type : 1, default : 0), #member);
#define TRAINER_SAME(type, name, member, ...) SAME(type, options.member)
#define RUN_SAME(type, name, ...)             SAME(type, name)
GF_TRAINER_OPTIONS(TRAINER_SAME)
GF_RUN_OPTIONS(RUN_SAME)

void gf_recipe_print_keys(void) {
    struct gf_recipe r;
    gf_recipe_defaults(&r);
    printf("the configuration's fields:\n");
    for (int32_t f = 0; f < GF_N_FIELDS; f++) {
        printf("  %s", gf_field_name(f));
        const char *word;
        for (int32_t k = 0; (word = gf_field_word(f, k)); k++) printf("%s%s", k ? ", " : ": ", word);
        printf("\n");
    }
    printf("how to train, and what happens unless it says otherwise:\n");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].offset == AT(options.schedule)) continue; /* a word */
        const void *at = (const char *)&r + options[i].offset;
        double x = 0;
        switch (options[i].type) {
        case INT32: x = *(const int32_t *)at; break;
        case INT64: x = (double)*(const int64_t *)at; break;
        case FLOAT: x = (double)*(const float *)at; break;
        }
        printf("  %s = %g\n", options[i].name, x);
    }
    printf("texts:\n  name, groups, tokenizer, data_sha256, teacher, task (stories or pairs),\n"
           "  schedule (cosine, linear, constant or wsd)\n");
}

void gf_recipe_defaults(struct gf_recipe *r) {
    memset(r, 0, sizeof *r);
    gf_config_default(&r->cfg);
    gf_trainer_defaults(&r->options);
    strcpy(r->name, "model");
#define DEFAULT(type, name, initial, ...) r->name = (type)initial;
    GF_RUN_OPTIONS(DEFAULT)
}

static int32_t set_text(char *to, size_t room, const char *key, const char *value, struct gf_error *err) {
    if (strlen(value) >= room) return gf_fail(err, GF_ERR_CONFIG, "%s: longer than %d", key, (int)room - 1);
    strcpy(to, value);
    return GF_OK;
}

static int32_t set_option(struct gf_recipe *r, const struct option *o, double x, struct gf_error *err) {
    if (!(x >= o->least && x <= o->most)) {
        char range[64];
        snprintf(range, sizeof range, "least %g, most %.10g", o->least, o->most);
        return gf_fail(err, GF_ERR_CONFIG, "%s: out of range (%s)", o->name, range);
    }
    if (o->type != FLOAT && x != floor(x)) return gf_fail(err, GF_ERR_CONFIG, "%s: not a whole number", o->name);
    void *at = (char *)r + o->offset;
    switch (o->type) {
    case INT32: *(int32_t *)at = (int32_t)x; break;
    case INT64: *(int64_t *)at = (int64_t)x; break;
    case FLOAT: *(float *)at = (float)x; break;
    }
    return GF_OK;
}

int32_t gf_recipe_set(struct gf_recipe *r, const char *key, double x, struct gf_error *err) {
    const int32_t field = gf_field_find(key);
    if (field >= 0) {
        const int32_t status = gf_config_set(&r->cfg, field, x, err);
        if (status == GF_OK) r->given[field] = 1;
        return status;
    }
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!strcmp(options[i].name, key)) return set_option(r, &options[i], x, err);
    return gf_fail(err, GF_ERR_CONFIG, "a recipe has no key %s", key);
}

int32_t gf_recipe_complete(struct gf_recipe *r, struct gf_error *err) {
    return gf_config_complete(&r->cfg, r->given, err);
}

/* A field of the configuration: a word, true, false or a number. */
static int32_t set_value(struct gf_recipe *r, int32_t field, const char *value, struct gf_error *err) {
    const char *key = gf_field_name(field), *word = gf_field_word(field, 0);
    const int flag = gf_field_is_flag(field), yes = flag && !strcmp(value, "true");
    char *end;
    for (int32_t k = 0; word; word = gf_field_word(field, ++k))
        if (!strcmp(word, value)) return gf_recipe_set(r, key, k, err);
    if (yes || (flag && !strcmp(value, "false"))) return gf_recipe_set(r, key, yes, err);
    const double x = strtod(value, &end);
    if (*value && !*end && !gf_field_word(field, 0)) return gf_recipe_set(r, key, x, err);
    char found[332];
    snprintf(found, sizeof found, "\"%s\"", value);
    return gf_field_refuse(field, found, err);
}

/* out = the text between the blanks from `from` up to `to`. One that does not fit is refused in the name of `key`. */
static int32_t trim(char *out, size_t room, const char *from, const char *to, const char *key, struct gf_error *err) {
    while (from < to && (*from == ' ' || *from == '\t')) from++;
    while (to > from && strchr(" \t\r\n", to[-1])) to--;
    const size_t n = (size_t)(to - from);
    if (n >= room)
        return gf_fail(err, GF_ERR_CONFIG, "%s: %lld characters, expected at most %d", key, (long long)n,
                       (int)room - 1);
    memcpy(out, from, n);
    out[n] = 0;
    return GF_OK;
}

/* A field, or a list of them with commas between. */
static int32_t set_field(struct gf_recipe *r, int32_t field, const char *value, struct gf_error *err) {
    if (!gf_field_is_list(field)) return set_value(r, field, value, err);
    int32_t status = GF_OK;
    for (const char *end; status == GF_OK && *value; value = *end ? end + 1 : end) {
        char one[64];
        end = value + strcspn(value, ",");
        status = trim(one, sizeof one, value, end, gf_field_name(field), err);
        if (status == GF_OK) status = set_value(r, field, one, err);
    }
    return status;
}

static int32_t set(struct gf_recipe *r, const char *key, const char *value, struct gf_error *err) {
    if (!strcmp(key, "name")) {
        if (!*value || strpbrk(value, "/\\<>&\""))
            return gf_fail(err, GF_ERR_CONFIG, "name: %s: it names files, so none of / \\ < > & \"", value);
        return set_text(r->name, sizeof r->name, key, value, err);
    }
    if (!strcmp(key, "groups")) return set_text(r->groups, sizeof r->groups, key, value, err);
    if (!strcmp(key, "tokenizer")) return set_text(r->tokenizer, sizeof r->tokenizer, key, value, err);
    if (!strcmp(key, "teacher")) return set_text(r->teacher, sizeof r->teacher, key, value, err);
    if (!strcmp(key, "data_sha256")) return set_text(r->data_sha256, sizeof r->data_sha256, key, value, err);
    if (!strcmp(key, "task")) {
        r->pairs = !strcmp(value, "pairs");
        if (r->pairs || !strcmp(value, "stories")) return GF_OK;
        return gf_fail(err, GF_ERR_CONFIG, "task: %s, expected stories or pairs", value);
    }
    if (!strcmp(key, "schedule")) {
        int32_t k = 0;
        while (k < GF_N_SCHEDULES && strcmp(value, gf_schedule_words[k])) k++;
        if (k < GF_N_SCHEDULES) return gf_recipe_set(r, key, k, err);
        return gf_fail(err, GF_ERR_CONFIG, "schedule: %s, expected cosine, linear, constant or wsd", value);
    }
    const int32_t field = gf_field_find(key);
    if (field >= 0) return set_field(r, field, value, err);
    char *end;
    const double x = strtod(value, &end);
    if (!*value || *end) return gf_fail(err, GF_ERR_CONFIG, "%s: %s is not a number", key, value);
    return gf_recipe_set(r, key, x, err);
}

int32_t gf_recipe_line(struct gf_recipe *r, const char *line, struct gf_error *err) {
    const char *end = strchr(line, '#'), *equals = strchr(line, '=');
    if (!end) end = line + strlen(line);
    const int has_value = equals && equals < end;
    char key[64], value[4096];
    int32_t status = trim(key, sizeof key, line, has_value ? equals : end, "a recipe's key", err);
    if (status != GF_OK || (!*key && !has_value)) return status;
    if (!has_value) return gf_fail(err, GF_ERR_CONFIG, "%s: no = in this line", key);
    status = trim(value, sizeof value, equals + 1, end, key, err);
    return status == GF_OK ? set(r, key, value, err) : status;
}
