/* fields.c - see fields.h. */
#include "train/fields.h"
#include "glassformer.h"
#include <stddef.h>
#include <string.h>

enum { MOST_WORDS = 8 };
struct field {
    const char *name, *type;
    double most;
};
#define FIELD(type, name, initial, least, most) {#name, #type, (double)(most)},
static const struct field fields[] = {GF_CONFIG_FIELDS(FIELD)};
struct choice {
    const char *field, *words[MOST_WORDS];
};
#define CHOICE(field, ...) {#field, {__VA_ARGS__}},
static const struct choice choices[] = {GF_ENUMS(CHOICE)};

int32_t gf_field_count(void) { return (int32_t)(sizeof fields / sizeof *fields); }
const char *gf_field_name(int32_t field) { return fields[field].name; }

int32_t gf_field_find(const char *name) {
    for (int32_t i = 0; i < gf_field_count(); i++)
        if (!strcmp(fields[i].name, name)) return i;
    return -1;
}

const char *gf_field_word(int32_t field, int32_t k) {
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (!strcmp(choices[i].field, fields[field].name)) return k >= 0 && k < MOST_WORDS ? choices[i].words[k] : NULL;
    return NULL;
}

int gf_field_is_flag(int32_t field) {
    return !strcmp(fields[field].type, "int32_t") && fields[field].most == 1 && !gf_field_word(field, 0);
}
