/* session_save.c - a session's cache as bytes, block by block, and back */
#include "model/layers/position_tables.h" /* gf_rope_frequency_set */
#include "model/session/session.h"

uint64_t gf_session_block_bytes(const struct gf_session *s) { return s->kv.table_at; }

static int32_t check_size(const struct gf_session *s, size_t n_bytes, struct gf_error *err) {
    if (n_bytes == s->kv.table_at) return GF_OK;
    return gf_fail(err, GF_ERR_ARGUMENT, "a block of the cache has %lld bytes, not %lld", (long long)s->kv.table_at,
                   (long long)n_bytes);
}

int32_t gf_session_save(struct gf_session *s, int32_t block, uint8_t *out, size_t n_bytes, struct gf_error *err) {
    if (block < 0 || (int64_t)block * GF_KV_BLOCK >= s->kv.length)
        return gf_fail(err, GF_ERR_ARGUMENT, "block %d does not exist, the session holds %d positions", block,
                       s->kv.length);
    int32_t status = check_size(s, n_bytes, err);
    if (status != GF_OK) return status;
    struct gf_trace *trace = s->trace; /* that of the last pass stays */
    s->trace = NULL;
    const int short_of_memory = gf_session_rotate(s, s->kv.length);
    s->trace = trace;
    if (short_of_memory) return gf_fail(err, GF_ERR_MEMORY, "no memory to compute %d positions again", s->kv.length);
    status = gf_kv_check(&s->kv, s->kv.length, err);
    if (status != GF_OK) return status;
    gf_kv_save(&s->kv, block, out);
    return GF_OK;
}

int32_t gf_session_restore(struct gf_session *s, const int32_t *ids, int32_t n, const uint8_t *saved, size_t n_bytes,
                           struct gf_error *err) {
    int32_t status = gf_refuse_eval(s, ids, n, err);
    if (status != GF_OK) return status;
    if (n > GF_KV_BLOCK || s->kv.length % GF_KV_BLOCK)
        return gf_fail(err, GF_ERR_ARGUMENT,
                       "%d positions cannot be restored after %d, expected 1 to %d after whole blocks", n, s->kv.length,
                       GF_KV_BLOCK);
    status = check_size(s, n_bytes, err);
    if (status != GF_OK) return status;
    if (!gf_kv_is_sound(&s->kv, saved))
        return gf_fail(err, GF_ERR_NOT_FINITE, "the saved keys and values hold NaN, infinity or a number out of range");
    if (gf_kv_reserve(&s->kv, s->kv.length + n) || gf_reserve_ids(s, s->kv.length + n))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for %d more positions", n);
    s->kv.not_held = INT32_MAX; /* it was behind the length */
    const int32_t length = s->kv.length + n > s->planned ? s->kv.length + n : s->planned;
    const int32_t frequency_set = gf_rope_frequency_set(&s->model->cfg, length);
    if (frequency_set != s->kv.frequency_set) gf_kv_use_frequencies(&s->kv, frequency_set);
    gf_kv_restore(&s->kv, s->kv.length / GF_KV_BLOCK, saved);
    gf_session_advance(s, ids, n);
    s->hidden_rows = 0;
    return GF_OK;
}
