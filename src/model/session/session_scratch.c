/* session_scratch.c - the memory of a session's passes: one arena that all layers share, and rows that grow */
#include "model/session/session.h"
#include "base/bytes.h"
#include "kernels/kernels.h" /* gf_matmul_scratch */
#include "model/config.h"    /* gf_qkv_width, gf_ffn_gated, gf_widest_ffn */
#include "model/layers/attend.h" /* gf_attend_parts */
#include "model/layers/embed.h"
#include <stdlib.h>
#include <string.h>

/* The most tiles of one attention, of stacks with so many kv heads; b may be 0. */
static uint64_t most_tiles(int32_t a, int32_t b) {
    const int32_t of_a = a * gf_attend_parts(a), of_b = b > 0 ? b * gf_attend_parts(b) : 0;
    return (uint64_t)(of_a > of_b ? of_a : of_b);
}

/* Take all buffers of a pass of `rows` rows over `keys` keys from the arena; before it is open only their sizes are
 * summed. */
static void plan_scratch(struct gf_session *s, int32_t rows, int32_t keys) {
    const struct gf_config *c = &s->model->cfg;
    const int32_t d = c->d_model, wq = gf_q_width(c), gated = gf_ffn_gated(c), d_ff = gf_widest_ffn(c),
                  wide = gated ? 2 * d_ff : d_ff, experts = c->n_experts, shared = gf_shared_experts(c),
                  used = c->n_experts_used + shared;
    int32_t widest = d > wq ? d : wq;
    if (d_ff > widest) widest = d_ff;
    if (gf_embed_width(c) > widest) widest = gf_embed_width(c);
#define BUF(field, width)                                                                                              \
    field = gf_arena_take(&s->scratch, gf_mul_u64(gf_mul_u64((uint64_t)rows, (uint64_t)(width)), sizeof(float)))
    struct gf_bufs *b = &s->bufs;
    struct gf_sublayer_bufs *sub = &b->sub[GF_SELF_ATTENTION];
    BUF(b->resid_pre, d);
    BUF(sub->normed, d);
    BUF(sub->mean, 1);
    BUF(sub->rstd, 1);
    BUF(b->qkv, gf_qkv_width(c));
    BUF(b->z, wq);
    BUF(sub->out, d);
    BUF(b->ffn_pre, wide);
    if (gated)
        BUF(b->ffn_post, d_ff);
    else
        b->ffn_post = b->ffn_pre;
    BUF(b->routed, experts + shared);
    BUF(b->chosen, used);
    BUF(b->expert_weights, used);
    BUF(b->expert_in, experts ? d : 0);
    BUF(b->expert_out, experts ? d : 0);
    float *ffn_out = sub->out;
    if (c->parallel_residual) BUF(ffn_out, d);
    /* also of the hidden states before the head: projected, or behind the transform of a decoder's mlm_head */
    BUF(s->embedded.rows, gf_embed_projected(c) ? gf_embed_width(c) : c->mlm_head && c->kind == GF_DECODER ? d : 0);
    const int added = c->position == GF_POS_SINUSOIDAL || c->position == GF_POS_LEARNED || c->n_token_types;
    BUF(s->embedded.pos, added ? gf_narrow_width(c) : 0);
#undef BUF
    const uint64_t tiles = most_tiles(c->n_kv_heads, c->n_encoder_heads);
    s->scores = gf_arena_take(&s->scratch, gf_mul_u64(tiles * 4 * sizeof(float), (uint64_t)keys));
    s->matmul_scratch = gf_arena_take(&s->scratch, gf_matmul_scratch(rows, widest));
    /* all layers, and all sublayers, share one set: see gf_bufs */
    sub->mean_out = sub->mean, sub->rstd_out = sub->rstd;
    sub->added = sub->out, sub->sum = sub->after = b->resid_post = b->resid_pre;
    b->sub[GF_CROSS_ATTENTION] = b->sub[GF_FEED_FORWARD] = *sub;
    b->sub[GF_FEED_FORWARD].out = b->sub[GF_FEED_FORWARD].added = ffn_out;
    b->cross_q = b->qkv, b->cross_z = b->z;
    s->embedded.sum = b->resid_pre, s->embedded.mean = sub->mean, s->embedded.rstd = sub->rstd;
}

int gf_reserve_scratch(struct gf_session *s, int32_t rows, int32_t keys) {
    if (rows <= s->scratch_rows && keys <= s->scores_ld) return 0;
    /* a quarter in reserve, so that a cache that grows block by block does not move the scratch each time */
    int64_t ld = keys;
    if (keys > s->scores_ld && s->scores_ld) ld = (int64_t)keys + keys / 4;
    ld = (ld + GF_KV_BLOCK - 1) / GF_KV_BLOCK * GF_KV_BLOCK;
    if (ld < s->scores_ld) ld = s->scores_ld;
    if (rows < s->scratch_rows) rows = s->scratch_rows;
    if (ld > INT32_MAX) return -1;
    struct gf_session larger = *s;
    larger.scratch = (struct gf_arena){NULL, 0, 0};
    larger.scratch_rows = rows;
    larger.scores_ld = (int32_t)ld;
    plan_scratch(&larger, rows, (int32_t)ld);
    if (gf_arena_open(&larger.scratch, larger.scratch.used)) return -1;
    plan_scratch(&larger, rows, (int32_t)ld);
    gf_arena_close(&s->scratch);
    *s = larger;
    return 0;
}

int gf_reserve_rows(float **rows, int32_t *room, int32_t need, int32_t width) {
    if (need <= *room) return 0;
    float *more = gf_alloc((uint64_t)need * (uint64_t)width * sizeof *more);
    if (!more) return -1;
    if (*room) memcpy(more, *rows, (size_t)*room * (size_t)width * sizeof *more);
    gf_free(*rows);
    *rows = more;
    *room = need;
    return 0;
}

int gf_reserve_ids(struct gf_session *s, int32_t n) {
    if (n <= s->ids_room) return 0;
    int32_t room = n > INT32_MAX - 256 ? n : n + 256;
    int32_t *ids = realloc(s->ids, (size_t)room * sizeof *ids);
    if (!ids) return -1;
    s->ids = ids;
    s->ids_room = room;
    return 0;
}
