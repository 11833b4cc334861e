/* position.h - tables of sinusoidal and rotary positions. */
#ifndef GF_POSITION_H
#define GF_POSITION_H
#include "glassformer.h"

/* Floats per position of the table that gf_position_table fills; 0 for none and learned. */
int32_t gf_position_width(const struct gf_config *cfg);
/* Rows of positions pos0 .. pos0 + n - 1. rope: [d_head], cos of every pair, then sin. sinusoidal:
 * [d_model]. */
void gf_position_table(const struct gf_config *cfg, float *table, int32_t pos0, int32_t n);
#endif
