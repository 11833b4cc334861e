/* recipes.h - sets fields and options of a training run from lines "key = value" with a number or a word. */
#ifndef RECIPES_H
#define RECIPES_H
#include "model/config.h"
#include "train/recipe.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What train() passes unless its caller says otherwise, with steps of other sizes. */
static inline struct gf_trainer_options usual_options(void) {
    return (struct gf_trainer_options){
        .steps = 1000,
        .batch_tokens = 4096,
        .micro_tokens = 2048,
        .warmup = 0.02f,
        .final_rate = 0.02f,
        .init_std = 0.02f,
        .init_scaled = 1,
        .seed = 1,
        .optim = {.lr = 0.003f,
                  .beta1 = 0.9f,
                  .beta2 = 0.95f,
                  .eps = 1e-8f,
                  .weight_decay = 0.1f,
                  .clip = 1,
                  .muon = 1,
                  .muon_lr = 0.02f,
                  .momentum = 0.95f},
    };
}

static inline void recipe_defaults(struct gf_recipe *r) {
    memset(r, 0, sizeof *r);
    gf_config_default(&r->cfg);
    r->options = usual_options();
}

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
