/* recipe.h - what a training run is told: the configuration and the options, each by its name. */
#ifndef GF_RECIPE_H
#define GF_RECIPE_H
#include "train/trainer.h"

struct gf_recipe {
    struct gf_config cfg;
    uint8_t given[GF_N_FIELDS]; /* the fields of cfg that were set */
    struct gf_trainer_options options;
    float repeat_share; /* of the windows of stories (text/repeat.h) */
};

void gf_recipe_defaults(struct gf_recipe *r);
/* A field of the configuration or an option by its name, as a number: of an enumeration the place of the word. */
int32_t gf_recipe_set(struct gf_recipe *r, const char *key, double x, struct gf_error *err);
/* Fill in the fields of cfg that were not given, after the last key, and check the configuration. */
int32_t gf_recipe_complete(struct gf_recipe *r, struct gf_error *err);
#endif
