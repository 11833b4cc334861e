/* kv.c - see kv.h. */
#include "model/kv.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "kernels/kernels.h" /* gf_kv_put, gf_kv_key_bytes, gf_kv_value_bytes */
#include "model/position.h"  /* gf_position_table, gf_position_width */
#include <stdlib.h>
#include <string.h>

void gf_kv_open(struct gf_kv *kv, const struct gf_config *cfg, int32_t n_layers, int32_t type) {
    memset(kv, 0, sizeof *kv);
    kv->cfg = *cfg;
    kv->type = type;
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
    for (int32_t i = 0; i < kv->n_blocks; i++) gf_give(kv->blocks[i]);
    free(kv->blocks);
    memset(kv, 0, sizeof *kv);
}

int gf_kv_reserve(struct gf_kv *kv, int32_t positions) {
    int32_t need = positions / GF_KV_BLOCK + (positions % GF_KV_BLOCK != 0);
    if (need <= kv->n_blocks) return 0;
    uint8_t **blocks = realloc(kv->blocks, (size_t)need * sizeof *blocks);
    if (!blocks) return -1;
    kv->blocks = blocks;
    while (kv->n_blocks < need) {
        uint8_t *block = gf_take(kv->block_bytes);
        if (!block) return -1;
        if (kv->table_width)
            gf_position_table(&kv->cfg, (float *)(void *)(block + kv->table_at), kv->n_blocks * GF_KV_BLOCK,
                              GF_KV_BLOCK);
        kv->blocks[kv->n_blocks++] = block;
    }
    return 0;
}

uint64_t gf_kv_bytes(const struct gf_kv *kv) { return (uint64_t)kv->n_blocks * kv->table_at; }

uint64_t gf_kv_table_bytes(const struct gf_kv *kv) { return (uint64_t)kv->n_blocks * (kv->block_bytes - kv->table_at); }

int gf_kv_copy(struct gf_kv *to, const struct gf_kv *from) {
    gf_kv_open(to, &from->cfg, from->n_layers, from->type);
    int32_t blocks = (from->length + GF_KV_BLOCK - 1) / GF_KV_BLOCK;
    if (gf_kv_reserve(to, blocks * GF_KV_BLOCK)) {
        gf_kv_close(to);
        return -1;
    }
    for (int32_t i = 0; i < blocks; i++) memcpy(to->blocks[i], from->blocks[i], (size_t)from->block_bytes);
    to->length = from->length;
    return 0;
}

void gf_kv_write(struct gf_kv *kv, int32_t layer, int32_t pos0, int32_t n, const float *k, const float *v, int32_t ld) {
    for (int32_t i = 0; i < n; i++) {
        const int32_t block = (pos0 + i) / GF_KV_BLOCK, slot = (pos0 + i) % GF_KV_BLOCK;
        for (int32_t h = 0; h < kv->n_kv_heads; h++) {
            const size_t at = (size_t)i * (size_t)ld + (size_t)h * (size_t)kv->d_head;
            gf_kv_put(kv->type, gf_kv_keys(kv, layer, h, block), gf_kv_values(kv, layer, h, block), slot, k + at,
                      v + at, kv->d_head);
        }
    }
}
