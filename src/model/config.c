/* config.c - the numbers that say which transformer this is. */
#include "glassformer.h"
#include <math.h>
#include <stddef.h>

enum field_type { FIELD_I32, FIELD_F32 };
struct field {
    const char *name;
    size_t offset;
    enum field_type type;
    double standard, least, most;
};
#define TYPE_OF(t) _Generic((t)0, int32_t : FIELD_I32, float : FIELD_F32)
#define FIELD_ROW(type, name, standard, least, most)                                                                   \
    {#name, offsetof(struct gf_config, name), TYPE_OF(type), standard, least, most},
static const struct field fields[] = {GF_CONFIG_FIELDS(FIELD_ROW)};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static void put(struct gf_config *cfg, const struct field *f, double value) {
    void *at = (char *)cfg + f->offset;
    if (f->type == FIELD_I32)
        *(int32_t *)at = (int32_t)value;
    else
        *(float *)at = (float)value;
}

double gf_config_get(const struct gf_config *cfg, int32_t field) {
    if (field < 0 || field >= N_FIELDS) return NAN;
    const void *at = (const char *)cfg + fields[field].offset;
    return fields[field].type == FIELD_I32 ? (double)*(const int32_t *)at : (double)*(const float *)at;
}

void gf_config_default(struct gf_config *cfg) {
    for (int i = 0; i < N_FIELDS; i++) put(cfg, &fields[i], fields[i].standard);
}

int32_t gf_config_set(struct gf_config *cfg, int32_t field, double value, struct gf_error *err) {
    if (field < 0 || field >= N_FIELDS)
        return gf_fail(err, GF_ERR_CONFIG, "configuration field %d does not exist", field);
    const struct field *f = &fields[field];
    if (f->type == FIELD_F32) value = (double)(float)value; /* 1e12 is not above 1e12f */
    if (!(value >= f->least && value <= f->most))
        return gf_fail(err, GF_ERR_CONFIG, "%s: out of range (least %lld, most %lld)", f->name, (long long)f->least,
                       (long long)f->most);
    if (f->type == FIELD_I32 && value != floor(value))
        return gf_fail(err, GF_ERR_CONFIG, "%s: not a whole number", f->name);
    put(cfg, f, value);
    return GF_OK;
}

#define REFUSE(...) return gf_fail(err, GF_ERR_CONFIG, __VA_ARGS__)

int32_t gf_config_check(const struct gf_config *c, struct gf_error *err) {
    for (int i = 0; i < N_FIELDS; i++) {
        double v = gf_config_get(c, i);
        if (!(v >= fields[i].least && v <= fields[i].most))
            REFUSE("%s: out of range (least %lld, most %lld)", fields[i].name, (long long)fields[i].least,
                   (long long)fields[i].most);
    }
    if (c->n_heads % c->n_kv_heads) REFUSE("n_heads %d is not a multiple of n_kv_heads %d", c->n_heads, c->n_kv_heads);
    if ((int64_t)c->n_heads * c->d_head > 1 << 16)
        REFUSE("n_heads %d x d_head %d is more than %d", c->n_heads, c->d_head, 1 << 16);
    if (c->position == GF_POS_ROPE && c->d_head % 2)
        REFUSE("d_head %d is odd: rotary positions rotate pairs", c->d_head);
    if (c->position == GF_POS_ROPE && !(c->rope_theta > 0)) REFUSE("rope_theta must be above 0");
    if (c->position == GF_POS_ROPE && c->rope_scaling != GF_ROPE_SCALING_NONE) {
        if (!(c->rope_factor > 0)) REFUSE("rope_factor must be above 0");
        if (c->rope_scaling == GF_ROPE_SCALING_LLAMA3 &&
            !(c->rope_low_freq_factor > 0 && c->rope_high_freq_factor > c->rope_low_freq_factor &&
              c->rope_original_context > 0))
            REFUSE("llama3 rope scaling needs 0 < rope_low_freq_factor < rope_high_freq_factor and "
                   "rope_original_context above 0");
    }
    if (c->position == GF_POS_LEARNED && c->context_length > 1 << 24)
        REFUSE("context_length %d is too long for a table of learned positions", c->context_length);
    if (c->kind == GF_ENCODER_DECODER && c->n_encoder_layers < 1)
        REFUSE("an encoder_decoder needs n_encoder_layers of at least 1");
    if (c->kind != GF_ENCODER_DECODER && c->n_encoder_layers)
        REFUSE("n_encoder_layers belongs to kind encoder_decoder only");
    if (c->kind != GF_ENCODER_DECODER && !c->shared_embedding)
        REFUSE("shared_embedding false belongs to kind encoder_decoder only");
    if (c->kind == GF_ENCODER && c->bias_head) REFUSE("an encoder has no head, so no bias_head");
    return GF_OK;
}
