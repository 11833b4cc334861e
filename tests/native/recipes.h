/* recipes.h - sets fields and options of a training run from lines "key = value" with a number or a word. */
#ifndef RECIPES_H
#define RECIPES_H
#include "model/config.h"
#include "train/recipe.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line without a key is skipped. */
static inline int32_t recipe_line(struct gf_recipe *r, const char *line, struct gf_error *err) {
    char key[64], value[64];
    if (sscanf(line, " %63[a-z0-9_] = %63[^# \r\n]", key, value) != 2) return GF_OK;
    const int32_t field = gf_field_find(key);
    const char *word;
    for (int32_t k = 0; field >= 0 && (word = gf_field_word(field, k)); k++)
        if (!strcmp(word, value)) return gf_recipe_set(r, key, k, err);
    return gf_recipe_set(r, key, strtod(value, NULL), err);
}
#endif
