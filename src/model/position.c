/* position.c - none, sinusoidal, learned and rotary positions.
 *
 * Sinusoidal: Vaswani 2017, section 3.5. Rotary: Su et al. 2021; frequencies scaled as in Hugging
 * Face's "linear" and "llama3" rope types (Meta's Llama 3.1 reference). Learned tables are weights
 * (weights.h) and are added in embed.c; rotary angles are applied in attention.c by gf_rope. Angles
 * in double: at position 100,000 a float angle would be off by 0.004. */
#include "model/position.h"
#include <math.h>

int32_t gf_position_width(const struct gf_config *cfg) {
    switch (cfg->position) {
    case GF_POS_ROPE: return cfg->d_head;
    case GF_POS_SINUSOIDAL: return cfg->d_model;
    default: return 0;
    }
}

static double rope_frequency(const struct gf_config *c, int32_t pair) {
    const double f = pow((double)c->rope_theta, -2.0 * pair / c->d_head);
    switch (c->rope_scaling) {
    case GF_ROPE_SCALING_LINEAR: return f / (double)c->rope_factor;
    case GF_ROPE_SCALING_LLAMA3: {
        const double wavelength = 2 * 3.14159265358979323846 / f, old = c->rope_original_context,
                     low = (double)c->rope_low_freq_factor, high = (double)c->rope_high_freq_factor;
        if (wavelength < old / high) return f;
        if (wavelength > old / low) return f / (double)c->rope_factor;
        const double smooth = (old / wavelength - low) / (high - low);
        return (1 - smooth) * f / (double)c->rope_factor + smooth * f;
    }
    default: return f;
    }
}

void gf_position_table(const struct gf_config *c, float *table, int32_t pos0, int32_t n) {
    const int32_t width = gf_position_width(c);
    if (c->position == GF_POS_ROPE) {
        const int32_t half = c->d_head / 2;
        for (int32_t j = 0; j < half; j++) {
            const double f = rope_frequency(c, j);
            for (int32_t i = 0; i < n; i++) {
                float *row = table + (int64_t)i * width;
                row[j] = (float)cos(f * (pos0 + i));
                row[half + j] = (float)sin(f * (pos0 + i));
            }
        }
    } else if (c->position == GF_POS_SINUSOIDAL) {
        for (int32_t j = 0; j < width; j++) {
            const double f = pow(10000.0, -(double)(j - j % 2) / width);
            for (int32_t i = 0; i < n; i++)
                table[(int64_t)i * width + j] = (float)(j % 2 ? cos(f * (pos0 + i)) : sin(f * (pos0 + i)));
        }
    }
}
