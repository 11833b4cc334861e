/* stored.c - the memory of a model's weights as bytes, for a model with the same types in another instance. */
#include "glassformer.h"
#include "kernels/kernels.h" /* gf_mat_bytes, gf_mat_flip, gf_bf16_to_f16 */
#include "model/model.h"
#include <string.h>

/* The memory that begins with entry i, *n bytes: none (NULL) where it is part of that of another entry. */
static uint8_t *memory_of(const struct gf_model *m, int32_t i, uint64_t *n) {
    *n = 0;
    if (i < 0 || i >= m->n_slots || m->slots[i].t.tied_to >= 0) return NULL;
    const struct gf_slot *s = &m->slots[i];
    if (s->mat ? s->row0 != 0 : s->offset != 0) return NULL;
    *n = s->mat ? gf_mat_bytes(s->mat->dtype, s->mat->rows, s->mat->cols) : s->vec_len * sizeof(float);
    return s->mat ? s->mat->data : (void *)*s->vec;
}

/* Bytes from `from` on, at most n, of those that there are. */
static uint32_t piece(uint64_t bytes, uint32_t from, uint32_t n) {
    if (from >= bytes) return 0;
    return bytes - from < n ? (uint32_t)(bytes - from) : n;
}

uint32_t gf_tensor_save(const struct gf_model *m, int32_t i, uint32_t from, uint32_t n, uint8_t *out) {
    uint64_t bytes;
    const uint8_t *memory = memory_of(m, i, &bytes);
    const uint32_t count = piece(bytes, from, n);
    if (!count) return 0;
    memcpy(out, memory + from, count);
    if (gf_slot_is_narrow(&m->slots[i])) gf_bf16_to_f16((uint16_t *)out, count / 2);
    if (m->slots[i].mat) gf_mat_flip(m->slots[i].mat, out, from, count);
    return count;
}

uint32_t gf_tensor_restore(struct gf_model *m, int32_t i, uint32_t from, const uint8_t *saved, uint32_t n) {
    uint64_t bytes;
    uint8_t *memory = memory_of(m, i, &bytes);
    const uint32_t count = piece(bytes, from, n);
    if (!count) return 0;
    gf_slot_widen(m, &m->slots[i]);
    memcpy(memory + from, saved, count);
    if (m->slots[i].mat) gf_mat_flip(m->slots[i].mat, memory + from, from, count);
    return count;
}
