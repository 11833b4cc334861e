/* kv.h - the kv cache: keys and values of every layer, in blocks of 64 positions that are allocated when they are
 * needed.
 *
 * One block holds 64 positions of all layers and kv heads, head-major, and the table of these positions (rotary cos |
 * sin, or sinusoids), which all layers share. Keys are stored after rotation, so rewinding recomputes nothing. */
#ifndef GF_KV_H
#define GF_KV_H
#include "glassformer.h"
#include "model/layers/position_tables.h" /* gf_position_planes */

struct gf_kv {
    int32_t type, n_layers, n_kv_heads, d_head;
    int32_t length;        /* positions written in every layer */
    int32_t n_blocks;      /* allocated */
    int32_t table_width;   /* floats of position table per position; 0: none */
    int32_t not_held;      /* the first position with a value that the type cannot hold; INT32_MAX: none */
    int32_t frequency_set; /* what tables and keys were computed with: gf_rope_frequency_set */
    uint64_t key_bytes, value_bytes, table_at, block_bytes;
    uint8_t **blocks;
    const struct gf_config *cfg; /* outlives the cache */
};

/* An encoder passes n_layers 1: it keeps no cache, and each layer overwrites the keys and values of the one before. */
void gf_kv_open(struct gf_kv *kv, const struct gf_config *cfg, int32_t n_layers, int32_t type);
void gf_kv_close(struct gf_kv *kv);
/* Blocks for `positions` positions. 0, or -1 without memory (existing blocks stay). */
int gf_kv_reserve(struct gf_kv *kv, int32_t positions);
uint64_t gf_kv_bytes(const struct gf_kv *kv);       /* keys and values */
uint64_t gf_kv_table_bytes(const struct gf_kv *kv); /* the blocks' share of position tables */
/* Copy of everything up to length. 0, or -1 without memory. */
int gf_kv_copy(struct gf_kv *to, const struct gf_kv *from);

/* Copy the keys and values of one block, table_at bytes, as every machine stores them: q8 keys are int8, and positions
 * from kv->length on are 0. */
void gf_kv_save(const struct gf_kv *kv, int32_t block, uint8_t *out);
/* Whether saved bytes of a block hold only values that the cache can hold: finite numbers; q8: -127 .. 127 with scales
 * >= 0. */
int gf_kv_is_sound(const struct gf_kv *kv, const uint8_t *saved);
/* Fill a block that is reserved with saved bytes. */
void gf_kv_restore(struct gf_kv *kv, int32_t block, const uint8_t *saved);

static inline uint8_t *gf_kv_head(const struct gf_kv *kv, int32_t layer, int32_t head, int32_t block) {
    int32_t l = layer % kv->n_layers;
    return kv->blocks[block] + (uint64_t)(l * kv->n_kv_heads + head) * (kv->key_bytes + kv->value_bytes);
}
static inline void *gf_kv_keys(const struct gf_kv *kv, int32_t layer, int32_t head, int32_t block) {
    return gf_kv_head(kv, layer, head, block);
}
static inline void *gf_kv_values(const struct gf_kv *kv, int32_t layer, int32_t head, int32_t block) {
    return gf_kv_head(kv, layer, head, block) + kv->key_bytes;
}
/* Row of the positions' table. A block has a plane of all its positions after the other; local: the second plane. */
static inline const float *gf_kv_table(const struct gf_kv *kv, int32_t pos, int local) {
    const float *t = (const float *)(const void *)(kv->blocks[pos / GF_KV_BLOCK] + kv->table_at);
    const int32_t width = kv->table_width / gf_position_planes(kv->cfg);
    return t + (int64_t)(pos % GF_KV_BLOCK + (local ? GF_KV_BLOCK : 0)) * width;
}
/* GF_OK, or GF_ERR_NOT_FINITE where one of the first n positions has a value that the type cannot hold. */
int32_t gf_kv_check(const struct gf_kv *kv, int32_t n, struct gf_error *err);
/* Compute the tables of all blocks for another set of frequencies. Keys in the cache are not rotated again. */
void gf_kv_use_frequencies(struct gf_kv *kv, int32_t frequency_set);
/* Write n rows from position pos0 on: k and v rows of all kv heads, ld apart. Room must be reserved. Sets
 * kv->not_held. */
void gf_kv_write(struct gf_kv *kv, int32_t layer, int32_t pos0, int32_t n, const float *k, const float *v, int32_t ld);
#endif
