/* embed.c - the token embedding, read by row (a tied one is the head's matrix too), positions and token types that are
 * added (Devlin et al. 2019), and where the architecture has them a projection to d_model before and a norm after. */
#include "model/layers/embed.h"
#include "kernels/kernels.h" /* gf_mat_get_row, gf_scale, gf_add */
#include "model/config.h"
#include "model/layers/linear.h"
#include "model/layers/norm.h"
#include <string.h>

/* The position of row r of a sequence. Tokens of position_pad_id are not counted, except in *pads, and have position -1
 * (Liu et al. 2019). */
static int32_t position_of(const struct gf_pass *p, const struct gf_seg *seg, int32_t r, int32_t id, int32_t *pads) {
    if (id != p->cfg->position_pad_id) return seg->pos0 + r - *pads;
    ++*pads;
    return -1;
}

/* x += the positions' rows, of d floats. */
static void add_positions(const struct gf_pass *p, const struct gf_weights *w, float *x, float *pos,
                          const int32_t *ids) {
    const struct gf_config *c = p->cfg;
    const int32_t d = gf_narrow_width(c);
    const int encoder = p->stack == GF_STACK_ENCODER && c->kind == GF_ENCODER_DECODER;
    const float *learned = encoder ? w->encoder_position : w->position;
    float *to = pos;
    for (int32_t i = 0; i < p->n_segs; i++)
        for (int32_t r = 0, pads = 0; r < p->segs[i].n; r++, to += d) {
            const int32_t position = position_of(p, &p->segs[i], r, *ids++, &pads);
            const float *from = learned        ? learned + (int64_t)(c->position_offset + position) * d
                                : GF_TRAINS(p) ? p->training->table + (int64_t)position * d
                                               : gf_kv_table(p->segs[i].kv, position, 0);
            memcpy(to, from, (size_t)d * sizeof *to);
        }
    gf_tap(p, GF_P_POS_EMBED, pos, d, d);
    gf_add(x, x, pos, (int64_t)p->n * d);
}

/* x += the rows of the token types. */
static void add_types(const struct gf_pass *p, const struct gf_weights *w, float *x, float *rows) {
    const int32_t d = gf_narrow_width(p->cfg);
    float *to = rows;
    for (int32_t i = 0; i < p->n_segs; i++)
        for (int32_t r = 0; r < p->segs[i].n; r++, to += d) {
            const int32_t type = p->segs[i].types ? p->segs[i].types[r] : 0;
            memcpy(to, w->token_type + (int64_t)type * d, (size_t)d * sizeof *to);
        }
    gf_tap(p, GF_P_TYPE_EMBED, rows, d, d);
    gf_add(x, x, rows, (int64_t)p->n * d);
}

/* rows [n, gf_embed_width] = the rows of the table, scaled. */
static void look_up(const struct gf_pass *p, const struct gf_weights *w, float *rows, const int32_t *ids) {
    const struct gf_config *c = p->cfg;
    const int encoder = p->stack == GF_STACK_ENCODER && c->kind == GF_ENCODER_DECODER;
    const struct gf_mat *embed = encoder && !c->shared_embedding ? &w->encoder_embed : &w->embed;
    const int64_t width = gf_embed_width(c);
    for (int32_t i = 0; i < p->n; i++)
        if (GF_TRAINS(p) && !p->training->by_panels)
            memcpy(rows + i * width, (const float *)embed->data + ids[i] * width, (size_t)width * sizeof *rows);
        else
            gf_mat_get_row(rows + i * width, embed, ids[i]);
    if (c->embedding_scale != 1) gf_scale(rows, rows, c->embedding_scale, p->n * width);
}

void gf_embed_forward(const struct gf_pass *p, const struct gf_weights *w, const struct gf_embedded *e, float *x,
                      const int32_t *ids) {
    const struct gf_config *c = p->cfg;
    const int encoder = p->stack == GF_STACK_ENCODER && c->kind == GF_ENCODER_DECODER, narrow = gf_embed_narrow(c);
    const int32_t d = gf_narrow_width(c);
    float *sum = narrow ? e->rows : x;
    look_up(p, w, gf_embed_projected(c) ? e->rows : x, ids);
    if (gf_embed_projected(c) && !narrow) gf_linear_forward(p, &w->embed_project, x, e->rows, p->n);
    gf_tap(p, GF_P_EMBED, sum, d, d);
    if (c->use_position && (c->position == GF_POS_LEARNED || c->position == GF_POS_SINUSOIDAL))
        add_positions(p, w, sum, e->pos, ids);
    if (c->n_token_types) add_types(p, w, sum, e->pos);
    if (c->embed_norm) {
        const float *from = narrow ? sum : e->sum; /* the gradient of a narrow sum is not implemented */
        if (from != sum) memcpy(e->sum, sum, (size_t)p->n * (size_t)d * sizeof *sum);
        gf_norm_forward(p, encoder ? &w->encoder_embed_norm : &w->embed_norm, GF_P_LN_EMBED, sum, from, e->mean,
                        e->rstd);
    }
    if (narrow) gf_linear_forward(p, &w->embed_project, x, sum, p->n);
}

void gf_embed_backward(const struct gf_pass *p, const struct gf_weights *w, struct gf_weights *dw,
                       const struct gf_embedded *e, float *drows, float *dx, const int32_t *ids) {
    const struct gf_config *c = p->cfg;
    const int32_t d = c->d_model;
    const int encoder = p->stack == GF_STACK_ENCODER && c->kind == GF_ENCODER_DECODER;
    float *embed = encoder && !c->shared_embedding ? dw->encoder_embed.data : dw->embed.data;
    float *learned = encoder ? dw->encoder_position : dw->position;
    if (c->embed_norm)
        gf_norm_backward(p, encoder ? &w->encoder_embed_norm : &w->embed_norm,
                         encoder ? &dw->encoder_embed_norm : &dw->embed_norm, GF_P_LN_EMBED, dx, 0, dx, e->sum, e->mean,
                         e->rstd);
    gf_tap(p, GF_P_POS_EMBED, dx, d, d);
    const float *from = dx;
    const int32_t *id = ids;
    if (learned && c->use_position && c->position == GF_POS_LEARNED)
        for (int32_t i = 0; i < p->n_segs; i++)
            for (int32_t r = 0, pads = 0; r < p->segs[i].n; r++, from += d) {
                const int32_t position = position_of(p, &p->segs[i], r, *id++, &pads);
                float *to = learned + (int64_t)(c->position_offset + position) * d;
                gf_add(to, to, from, d);
            }
    if (c->n_token_types) { /* all tokens have type 0 */
        gf_tap(p, GF_P_TYPE_EMBED, dx, d, d);
        for (int64_t i = 0; dw->token_type && i < p->n; i++) gf_add(dw->token_type, dw->token_type, dx + i * d, d);
    }
    gf_tap(p, GF_P_EMBED, dx, d, d);
    from = dx;
    if (gf_embed_projected(c)) {
        gf_linear_backward(p, &w->embed_project, &dw->embed_project, drows, 0, dx, e->rows, p->n);
        from = drows;
    }
    for (int64_t i = 0; embed && i < p->n; i++)
        gf_axpy(embed + (int64_t)ids[i] * gf_embed_width(c), from + i * gf_embed_width(c), c->embedding_scale,
                gf_embed_width(c));
}
