/* position_tables.c - none, sinusoidal, learned, rotary and ALiBi positions.
 *
 * Sinusoidal: Vaswani 2017, section 3.5. Rotary: Su et al. 2021; frequencies scaled as in Hugging Face's rope types
 * "linear", "llama3" (Meta's Llama 3.1 reference), "yarn" (Peng et al. 2023), "dynamic" (theta grows with the length)
 * and "longrope" (Ding et al. 2024). Learned tables are weights (weights.h) and are added in embed.c; rotary angles are
 * applied in attention.c by gf_rope, ALiBi's slopes to the scores. Angles in double: at position 100,000 a float angle
 * would be off by 0.004. */
#include "model/layers/position_tables.h"
#include "base/angle.h"
#include "base/log.h"
#include "base/power.h"
#include "model/config.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

int32_t gf_position_width(const struct gf_config *cfg) {
    switch (cfg->position) {
    case GF_POS_ROPE: return gf_position_planes(cfg) * gf_rotary_dim(cfg);
    case GF_POS_SINUSOIDAL: return cfg->d_model;
    default: return 0;
    }
}

int32_t gf_rope_frequency_set(const struct gf_config *c, int32_t length) {
    if (c->position != GF_POS_ROPE || length <= c->rope_original_context) return 0;
    switch (c->rope_scaling) {
    case GF_ROPE_SCALING_DYNAMIC: return length;
    case GF_ROPE_SCALING_LONGROPE: return 1;
    default: return 0;
    }
}

static double llama3_frequency(const struct gf_config *c, double f) {
    const double wavelength = 2 * pi / f, old = c->rope_original_context, low = (double)c->rope_low_freq_factor,
                 high = (double)c->rope_high_freq_factor;
    if (wavelength < old / high) return f;
    if (wavelength > old / low) return f / (double)c->rope_factor;
    const double smooth = (old / wavelength - low) / (high - low);
    return (1 - smooth) * f / (double)c->rope_factor + smooth * f;
}

/* Pairs that turn beta_fast times or more within the original context keep their frequency, those of beta_slow turns or
 * fewer are divided by the factor, and a ramp over the pairs joins them. */
static double yarn_frequency(const struct gf_config *c, double f, int32_t pair) {
    const double d = gf_rotary_dim(c), theta = (double)c->rope_theta, old = c->rope_original_context;
    double low = d * gf_log(old / (2 * pi * (double)c->rope_beta_fast)) / (2 * gf_log(theta)),
           high = d * gf_log(old / (2 * pi * (double)c->rope_beta_slow)) / (2 * gf_log(theta));
    if (c->rope_truncate) low = floor(low), high = ceil(high);
    if (low < 0) low = 0;
    if (high > d - 1) high = d - 1;
    if (high == low) high += 0.001;
    double ramp = (pair - low) / (high - low);
    ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
    return f * (1 - ramp) + f / (double)c->rope_factor * ramp;
}

static double rope_frequency(const struct gf_config *c, int32_t pair, int32_t frequency_set) {
    const double d = gf_rotary_dim(c), factor = (double)c->rope_factor;
    double theta = (double)c->rope_theta;
    if (c->rope_scaling == GF_ROPE_SCALING_DYNAMIC && frequency_set)
        theta *= gf_pow(factor * frequency_set / c->rope_original_context - (factor - 1), d / (d - 2));
    const double f = gf_pow(theta, -2.0 * pair / d);
    switch (c->rope_scaling) {
    case GF_ROPE_SCALING_LINEAR: return f / factor;
    case GF_ROPE_SCALING_LLAMA3: return llama3_frequency(c, f);
    case GF_ROPE_SCALING_YARN: return yarn_frequency(c, f, pair);
    case GF_ROPE_SCALING_LONGROPE:
        return f / (double)(frequency_set ? c->rope_long_factors.at[pair] : c->rope_short_factors.at[pair]);
    default: return f;
    }
}

/* One pair's column of a plane: cosines and sines of the angles, times `size`. */
static void fill_pair(float *plane, int32_t d, int32_t pair, double frequency, double size, int32_t pos0, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        float *row = plane + (int64_t)i * d;
        const struct gf_direction at = gf_direction_of(frequency * (pos0 + i));
        row[pair] = (float)(size * at.cos);
        row[d / 2 + pair] = (float)(size * at.sin);
    }
}

void gf_position_table(const struct gf_config *c, float *table, int32_t pos0, int32_t n, int32_t frequency_set) {
    const int32_t width = gf_position_width(c), d = gf_rotary_dim(c);
    if (c->position == GF_POS_ROPE) {
        const double local = (double)c->rope_local_theta;
        for (int32_t j = 0; j < d / 2; j++) {
            fill_pair(table, d, j, rope_frequency(c, j, frequency_set), (double)c->rope_attention_factor, pos0, n);
            if (width > d) fill_pair(table + (int64_t)n * d, d, j, gf_pow(local, -2.0 * j / d), 1, pos0, n);
        }
    } else if (c->position == GF_POS_SINUSOIDAL) {
        for (int32_t j = 0; j < width; j++) {
            const int32_t inclusive = c->sinusoid_pairs == GF_SINUSOID_HALF_INCLUSIVE,
                          sines = inclusive ? width / 2 : (width + 1) / 2, first = pos0 + c->position_offset,
                          halves = c->sinusoid_pairs != GF_SINUSOID_ADJACENT, cosine = halves ? j >= sines : j % 2,
                          pair = halves ? j - cosine * sines : j / 2;
            const double f = gf_pow(10000.0, inclusive ? -(double)pair / (sines - 1) : -2.0 * pair / width);
            for (int32_t i = 0; i < n; i++) {
                const struct gf_direction at = gf_direction_of(f * (first + i));
                table[(int64_t)i * width + j] = (float)(cosine ? at.cos : at.sin);
            }
        }
    }
}

float gf_alibi_slope(const struct gf_config *c, int32_t layer, int32_t head) {
    const double most = (double)c->alibi_max, scale = c->alibi_scaled ? (double)gf_score_scale(c, layer) : 1;
    int32_t power = 1;
    while (2 * power <= c->n_heads) power *= 2;
    const double exponent = head < power ? most * (head + 1) / power : most * (2 * (head - power) + 1) / (2 * power);
    return (float)(scale * gf_pow(2, -exponent));
}
