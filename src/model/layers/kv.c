/* kv.c - see kv.h. */
#include "model/layers/kv.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "kernels/kernels.h"              /* gf_kv_put, gf_kv_key_bytes, gf_kv_value_bytes */
#include "model/layers/position_tables.h" /* gf_position_table, gf_position_width */
#include <math.h>
#include <stdlib.h>
#include <string.h>

void gf_kv_open(struct gf_kv *kv, const struct gf_config *cfg, int32_t n_layers, int32_t type) {
    memset(kv, 0, sizeof *kv);
    kv->cfg = cfg;
    kv->type = type;
    kv->not_held = INT32_MAX;
    kv->n_layers = n_layers > 0 ? n_layers : 1;
    kv->n_kv_heads = cfg->n_kv_heads;
    kv->d_head = cfg->d_head;
    kv->table_width = gf_position_width(cfg);
    kv->key_bytes = gf_kv_key_bytes(type, cfg->d_head);
    kv->value_bytes = gf_kv_value_bytes(type, cfg->d_head);
    kv->table_at = (uint64_t)kv->n_layers * (uint64_t)kv->n_kv_heads * (kv->key_bytes + kv->value_bytes);
    kv->block_bytes = kv->table_at + (uint64_t)GF_KV_BLOCK * (uint64_t)kv->table_width * sizeof(float);
}

void gf_kv_close(struct gf_kv *kv) {
    for (int32_t i = 0; i < kv->n_blocks; i++) gf_free(kv->blocks[i]);
    free(kv->blocks);
    memset(kv, 0, sizeof *kv);
}

static void fill_table(const struct gf_kv *kv, uint8_t *block, int32_t index) {
    if (kv->table_width)
        gf_position_table(kv->cfg, (float *)(void *)(block + kv->table_at), index * GF_KV_BLOCK, GF_KV_BLOCK,
                          kv->frequency_set);
}

void gf_kv_use_frequencies(struct gf_kv *kv, int32_t frequency_set) {
    kv->frequency_set = frequency_set;
    for (int32_t i = 0; i < kv->n_blocks; i++) fill_table(kv, kv->blocks[i], i);
}

int gf_kv_reserve(struct gf_kv *kv, int32_t positions) {
    int32_t need = positions / GF_KV_BLOCK + (positions % GF_KV_BLOCK != 0);
    if (need <= kv->n_blocks) return 0;
    uint8_t **blocks = realloc(kv->blocks, (size_t)need * sizeof *blocks);
    if (!blocks) return -1;
    kv->blocks = blocks;
    while (kv->n_blocks < need) {
        uint8_t *block = gf_alloc(kv->block_bytes);
        if (!block) return -1;
        fill_table(kv, block, kv->n_blocks);
        kv->blocks[kv->n_blocks++] = block;
    }
    return 0;
}

uint64_t gf_kv_bytes(const struct gf_kv *kv) { return (uint64_t)kv->n_blocks * kv->table_at; }

uint64_t gf_kv_table_bytes(const struct gf_kv *kv) { return (uint64_t)kv->n_blocks * (kv->block_bytes - kv->table_at); }

int gf_kv_copy(struct gf_kv *to, const struct gf_kv *from) {
    gf_kv_open(to, from->cfg, from->n_layers, from->type);
    to->frequency_set = from->frequency_set;
    int32_t blocks = (from->length + GF_KV_BLOCK - 1) / GF_KV_BLOCK;
    if (gf_kv_reserve(to, blocks * GF_KV_BLOCK)) {
        gf_kv_close(to);
        return -1;
    }
    for (int32_t i = 0; i < blocks; i++) memcpy(to->blocks[i], from->blocks[i], (size_t)from->block_bytes);
    to->length = from->length;
    to->not_held = from->not_held;
    return 0;
}

void gf_kv_write(struct gf_kv *kv, int32_t layer, int32_t pos0, int32_t n, const float *k, const float *v, int32_t ld) {
    for (int32_t i = 0; i < n; i++) {
        const int32_t block = (pos0 + i) / GF_KV_BLOCK, slot = (pos0 + i) % GF_KV_BLOCK;
        for (int32_t h = 0; h < kv->n_kv_heads; h++) {
            const size_t offset = (size_t)i * (size_t)ld + (size_t)h * (size_t)kv->d_head;
            if (gf_kv_put(kv->type, gf_kv_keys(kv, layer, h, block), gf_kv_values(kv, layer, h, block), slot,
                          k + offset, v + offset, kv->d_head) &&
                pos0 + i < kv->not_held)
                kv->not_held = pos0 + i;
        }
    }
}

int32_t gf_kv_check(const struct gf_kv *kv, int32_t n, struct gf_error *err) {
    if (kv->not_held >= n) return GF_OK;
    return gf_fail(
        err, GF_ERR_NOT_FINITE,
        "position %d has a key or value that is NaN, infinite or above 65504, which an f16 cache cannot hold: "
        "use f32",
        kv->not_held);
}

/* ---- saved blocks ------------------------------------------------------------------------------------------------ */

/* Keys are rows of GF_KV_BLOCK elements of this many bytes; the scales of q8 are the last row. */
static uint64_t key_element(const struct gf_kv *kv) { return kv->type == GF_KV_F16 ? 2 : 4; }

/* Set the slots from `used` on to 0. */
static void clear_unused(const struct gf_kv *kv, uint8_t *keys, uint8_t *values, uint64_t used) {
    const uint64_t e = key_element(kv), d = (uint64_t)kv->d_head;
    for (uint64_t row = 0; row < kv->key_bytes; row += GF_KV_BLOCK * e)
        memset(keys + row + used * e, 0, (size_t)((GF_KV_BLOCK - used) * e));
    if (kv->type != GF_KV_Q8) {
        memset(values + used * d * e, 0, (size_t)((GF_KV_BLOCK - used) * d * e));
        return;
    }
    for (uint64_t slot = used; slot < GF_KV_BLOCK; slot++)
        for (uint64_t i = 0; i < d; i++) values[slot / 4 * 4 * d + 4 * i + slot % 4] = 0;
    memset(values + GF_KV_BLOCK * d + used * 4, 0, (size_t)((GF_KV_BLOCK - used) * 4));
}

void gf_kv_save(const struct gf_kv *kv, int32_t block, uint8_t *out) {
    const int32_t left = kv->length - block * GF_KV_BLOCK;
    const uint64_t used = left < 0 ? 0 : left < GF_KV_BLOCK ? (uint64_t)left : GF_KV_BLOCK;
    memcpy(out, kv->blocks[block], (size_t)kv->table_at);
    for (uint64_t offset = 0; offset < kv->table_at; offset += kv->key_bytes + kv->value_bytes) {
        gf_kv_flip(kv->type, out + offset, kv->d_head);
        clear_unused(kv, out + offset, out + offset + kv->key_bytes, used);
    }
}

static int sound_floats(const uint8_t *p, uint64_t bytes, int scales) {
    for (uint64_t i = 0; i < bytes; i += 4) {
        float x;
        memcpy(&x, p + i, 4);
        if (!isfinite(x) || (scales && x < 0)) return 0;
    }
    return 1;
}

static int sound_halves(const uint8_t *p, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i += 2)
        if ((p[i + 1] & 0x7c) == 0x7c) return 0;
    return 1;
}

/* int8, then a row of scales. */
static int sound_int8(const uint8_t *p, uint64_t bytes) {
    const uint64_t n = bytes - GF_KV_BLOCK * 4;
    for (uint64_t i = 0; i < n; i++)
        if (p[i] == 0x80) return 0;
    return sound_floats(p + n, GF_KV_BLOCK * 4, 1);
}

int gf_kv_is_sound(const struct gf_kv *kv, const uint8_t *saved) {
    if (kv->type == GF_KV_F32) return sound_floats(saved, kv->table_at, 0);
    if (kv->type == GF_KV_F16) return sound_halves(saved, kv->table_at);
    for (uint64_t offset = 0; offset < kv->table_at; offset += kv->key_bytes + kv->value_bytes)
        if (!sound_int8(saved + offset, kv->key_bytes) || !sound_int8(saved + offset + kv->key_bytes, kv->value_bytes))
            return 0;
    return 1;
}

void gf_kv_restore(struct gf_kv *kv, int32_t block, const uint8_t *saved) {
    memcpy(kv->blocks[block], saved, (size_t)kv->table_at);
    for (uint64_t offset = 0; offset < kv->table_at; offset += kv->key_bytes + kv->value_bytes)
        gf_kv_flip(kv->type, kv->blocks[block] + offset, kv->d_head);
}
