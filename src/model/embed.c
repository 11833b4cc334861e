/* embed.c - the token embedding, read by row (a tied one is the head's matrix too), and positions
 * that are added. */
#include "model/embed.h"
#include "kernels/kernels.h" /* gf_mat_get_row, gf_scale, gf_add */
#include <string.h>

void gf_embed_forward(const struct gf_pass *p, const struct gf_weights *w, float *x, float *pos, const int32_t *ids) {
    const struct gf_config *c = p->cfg;
    const int32_t d = c->d_model;
    const size_t row_bytes = (size_t)d * sizeof *x;
    const int encoder = p->stack == GF_STACK_ENCODER && c->kind == GF_ENCODER_DECODER;
    const struct gf_mat *embed = encoder && !c->shared_embedding ? &w->encoder_embed : &w->embed;
    const float *learned = encoder ? w->encoder_position : w->position;

    for (int32_t i = 0; i < p->n; i++) gf_mat_get_row(x + (int64_t)i * d, embed, ids[i]);
    if (c->embedding_scale != 1) gf_scale(x, x, c->embedding_scale, (int64_t)p->n * d);
    gf_tap(p->observe, p->stack, -1, GF_P_EMBED, x, d, p->n, d);

    if (!c->use_position || (c->position != GF_POS_LEARNED && c->position != GF_POS_SINUSOIDAL)) return;
    float *to = pos;
    for (int32_t i = 0; i < p->n_segs; i++)
        for (int32_t r = 0; r < p->segs[i].n; r++, to += d) {
            const int32_t at = p->segs[i].pos0 + r;
            const float *from = learned        ? learned + (int64_t)at * d
                                : GF_TRAINS(p) ? p->training->table + (int64_t)at * d
                                               : gf_kv_table(p->segs[i].kv, at);
            memcpy(to, from, row_bytes);
        }
    gf_tap(p->observe, p->stack, -1, GF_P_POS_EMBED, pos, d, p->n, d);
    gf_add(x, x, pos, (int64_t)p->n * d);
}

void gf_embed_backward(const struct gf_pass *p, struct gf_weights *dw, const float *dx, const int32_t *ids) {
    const struct gf_config *c = p->cfg;
    const int32_t d = c->d_model;
    const int encoder = p->stack == GF_STACK_ENCODER && c->kind == GF_ENCODER_DECODER;
    float *embed = encoder && !c->shared_embedding ? dw->encoder_embed.data : dw->embed.data;
    float *learned = encoder ? dw->encoder_position : dw->position;
    const float *from = dx;
    if (c->use_position && c->position == GF_POS_LEARNED)
        for (int32_t i = 0; i < p->n_segs; i++)
            for (int32_t r = 0; r < p->segs[i].n; r++, from += d) {
                float *to = learned + (int64_t)(p->segs[i].pos0 + r) * d;
                gf_add(to, to, from, d);
            }
    for (int64_t i = 0; i < p->n; i++) gf_axpy(embed + (int64_t)ids[i] * d, dx + i * d, c->embedding_scale, d);
}
