/* recipe.h - a training run as a text file of lines "key = value", # for remarks.
 *
 * Keys are the fields of gf_config by name (enumerations by their words, flags as 0, 1, false or true), the options
 * below, and the name of the run. An unknown key is refused. */
#ifndef GF_RECIPE_H
#define GF_RECIPE_H
#include "train/trainer.h"

/* X(C type, name, default, default of train() in JavaScript, least, most): the options that the trainer does not have,
 * which are members of struct gf_recipe. GF_NOT_IN_JAVASCRIPT: train() has no such option. */
#define GF_RUN_OPTIONS(X)                                                                                              \
    X(float, repeat_share, 0, GF_NOT_IN_JAVASCRIPT, 0, 1)                                                              \
    X(float, teacher_share, 0.5, 0.5, 0, 1)                                                                            \
    X(int32_t, validate_every, 200, 50, 0, INT32_MAX)                                                                  \
    X(int32_t, sample_every, 1000, GF_NOT_IN_JAVASCRIPT, 0, INT32_MAX)                                                 \
    X(int32_t, checkpoint_every, 200, GF_NOT_IN_JAVASCRIPT, 0, INT32_MAX)

struct gf_recipe {
    struct gf_config cfg;
    uint8_t given[GF_N_FIELDS]; /* the fields of cfg that were set */
    struct gf_trainer_options options;
    char name[64], groups[256], tokenizer[256], data_sha256[65];
    char teacher[256];   /* the recipe of the models that --teacher names */
    float teacher_share; /* the share of all of them together */
    float repeat_share;  /* the share of the windows of stories that repeat (text/repeat.h) */
    int32_t pairs;       /* task = pairs */
    int32_t validate_every, sample_every, checkpoint_every; /* steps */
};

void gf_recipe_defaults(struct gf_recipe *r);
/* A field or an option by its name, as a number: of an enumeration the place of the word. */
int32_t gf_recipe_set(struct gf_recipe *r, const char *key, double x, struct gf_error *err);
/* Fill in the fields of cfg that were not given, after the last key, and check the configuration. */
int32_t gf_recipe_complete(struct gf_recipe *r, struct gf_error *err);
/* Every key, with what it may be, on stdout. */
void gf_recipe_print_keys(void);
/* One "key = value" (or "key=value"); empty lines and remarks pass. */
int32_t gf_recipe_line(struct gf_recipe *r, const char *line, struct gf_error *err);
#endif
