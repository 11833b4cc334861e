/* recipe.c - see recipe.h. */
#include "train/recipe.h"
#include "model/config.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum type { INT32, INT64, UINT64, FLOAT };
struct option {
    const char *name;
    size_t offset;
    enum type type;
    double least, most;
};
#define AT(member) offsetof(struct gf_recipe, member)
static const struct option options[] = {
    {"steps", AT(options.steps), INT64, 0, (double)GF_STEPS_MOST},
    {"batch_tokens", AT(options.batch_tokens), INT32, 1, 1 << 30},
    {"micro_tokens", AT(options.micro_tokens), INT32, 1, 1 << 30},
    {"warmup", AT(options.warmup), FLOAT, 0, 1},
    {"schedule", AT(options.schedule), INT32, 0, GF_N_SCHEDULES - 1},
    {"final_rate", AT(options.final_rate), FLOAT, 0, 1},
    {"dropout", AT(options.dropout), FLOAT, 0, 0.99},
    {"average", AT(options.average), FLOAT, 0, 1},
    {"seed", AT(options.seed), UINT64, 0, 0x1p53},
    {"init_std", AT(options.init_std), FLOAT, 0, 1e3},
    {"init_scaled", AT(options.init_scaled), INT32, 0, 1},
    {"lr", AT(options.optim.lr), FLOAT, 0, 1e3},
    {"beta1", AT(options.optim.beta1), FLOAT, 0, 0.99999},
    {"beta2", AT(options.optim.beta2), FLOAT, 0, 0.99999},
    {"eps", AT(options.optim.eps), FLOAT, 0, 1},
    {"weight_decay", AT(options.optim.weight_decay), FLOAT, 0, 1e3},
    {"clip", AT(options.optim.clip), FLOAT, 0, 1e9},
    {"muon", AT(options.optim.muon), INT32, 0, 1},
    {"muon_lr", AT(options.optim.muon_lr), FLOAT, 0, 1e3},
    {"momentum", AT(options.optim.momentum), FLOAT, 0, 1},
    {"repeat_share", AT(repeat_share), FLOAT, 0, 1},
};

void gf_recipe_defaults(struct gf_recipe *r) {
    memset(r, 0, sizeof *r);
    gf_config_default(&r->cfg);
    gf_trainer_defaults(&r->options);
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
    case UINT64: *(uint64_t *)at = (uint64_t)x; break;
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
