/* position_tables.h - tables of sinusoidal and rotary positions, and the slopes of ALiBi. */
#ifndef GF_POSITION_TABLES_H
#define GF_POSITION_TABLES_H
#include "glassformer.h"

/* Planes of the table: 2 where rope_local_theta gives rotary layers with a window frequencies of their own. */
static inline int32_t gf_position_planes(const struct gf_config *c) {
    return c->position == GF_POS_ROPE && c->rope_local_theta > 0 ? 2 : 1;
}
/* Floats per position of the table that gf_position_table fills; 0 for none, learned and alibi. */
int32_t gf_position_width(const struct gf_config *cfg);
/* The set of rotary frequencies of a sequence of `length` positions. 0: those of sequences up to
 * rope_original_context, and of all models whose frequencies do not depend on the length. Beyond it longrope has set 1,
 * the long factors, and dynamic a set for each length, which is its number. A set has one table. */
int32_t gf_rope_frequency_set(const struct gf_config *cfg, int32_t length);
/* Rows of positions pos0 .. pos0 + n - 1. rope: [planes][n][rotary_dim], each row the cosines of every pair, then the
 * sines; the second plane, where rope_local_theta gives one, is that of the layers with a window. sinusoidal: [n,
 * d_model]. */
void gf_position_table(const struct gf_config *cfg, float *table, int32_t pos0, int32_t n, int32_t frequency_set);
/* ALiBi (Press et al. 2022): what a head subtracts from a score for each position between query and key. */
float gf_alibi_slope(const struct gf_config *cfg, int32_t layer, int32_t head);
#endif
