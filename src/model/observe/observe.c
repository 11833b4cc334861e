/* observe.c - the places of an architecture and the memory of captures and edits. */
#include "model/observe/observe.h"
#include "base/arena.h"
#include "model/config.h"  /* gf_ffn_gated, gf_has_norms, gf_has_sublayer, gf_last_sublayer, gf_layer_rotates, ... */
#include "model/weights.h" /* enum gf_sublayer */
#include <stdlib.h>

#define POINT_AXES(id, name, axes)   axes,
#define POINT_GLOBAL(id, name, axes) name[0] == '@',
static const char point_axes[] = {GF_POINTS(POINT_AXES)};
static const char point_global[] = {GF_POINTS(POINT_GLOBAL)};

int32_t gf_point_axes(int32_t point) { return point_axes[point]; }

struct gf_row_shape gf_row_shape_of(const struct gf_config *c, int32_t axes) {
    switch (axes) {
    case 'N': return (struct gf_row_shape){0, gf_narrow_width(c)};
    case 'D':
    case 'P': return (struct gf_row_shape){0, c->d_model};
    case 'F': return (struct gf_row_shape){0, c->d_ff};
    case 'E': return (struct gf_row_shape){0, c->n_experts};
    case 'C': return (struct gf_row_shape){0, c->n_experts_used};
    case 'Q': return (struct gf_row_shape){c->n_heads, c->d_head};
    case 'K': return (struct gf_row_shape){c->n_kv_heads, c->d_head};
    case 'R': return (struct gf_row_shape){c->n_heads, c->d_model};
    case 'S': return (struct gf_row_shape){c->n_heads, 1};
    default: return (struct gf_row_shape){0, 1};
    }
}

int32_t gf_stack_layers(const struct gf_config *cfg) {
    return cfg->n_layers > cfg->n_encoder_layers ? cfg->n_layers : cfg->n_encoder_layers;
}

int32_t gf_place(const struct gf_config *cfg, int32_t stack, int32_t layer, int32_t point) {
    return (stack * (gf_stack_layers(cfg) + 1) + layer + 1) * GF_N_POINTS + point;
}

const struct gf_config *gf_place_config(const struct gf_observe *o, int32_t place) {
    return &o->cfg[2 * place >= o->n_places];
}

int gf_point_cross(int32_t point) { return point >= GF_P_LN_CROSS_SCALE && point <= GF_P_RESID_MID_CROSS; }

/* Whether this architecture has the point. A component that a switch disables has no points. */
static int exists(const struct gf_config *c, int32_t stack, int32_t layer, int32_t point) {
    if (point < 0 || point >= GF_N_POINTS) return 0;
    const int two = c->kind == GF_ENCODER_DECODER;
    if (stack != gf_main_stack(c) && !(two && stack == GF_STACK_ENCODER)) return 0;
    const int32_t layers = two && stack == GF_STACK_ENCODER ? c->n_encoder_layers : c->n_layers;
    if (point_global[point] ? layer != -1 : layer < 0 || layer >= layers) return 0;
    if (gf_point_cross(point) && (!two || stack == GF_STACK_ENCODER)) return 0;
    if (point >= GF_P_LN2_SCALE && point <= GF_P_MLP_OUT && !gf_has_sublayer(c, stack, GF_FEED_FORWARD)) return 0;
    switch (point) {
    case GF_P_POS_EMBED: return c->use_position && (c->position == GF_POS_LEARNED || c->position == GF_POS_SINUSOIDAL);
    case GF_P_TYPE_EMBED: return c->n_token_types > 0;
    case GF_P_POOLED: return c->pooler;
    case GF_P_LABEL_INPUT: return gf_label_pooled(c);
    case GF_P_LN_HEAD:
    case GF_P_LN_HEAD_SCALE: return c->mlm_head && c->kind == GF_ENCODER && gf_has_norms(c);
    case GF_P_ROT_Q:
    case GF_P_ROT_K: return gf_layer_rotates(c, layer);
    case GF_P_MLP_PRE:
    case GF_P_MLP_POST: return !gf_layer_sparse(c, layer);
    case GF_P_MLP_PRE_LINEAR: return gf_ffn_gated(c) && !gf_layer_sparse(c, layer);
    case GF_P_ROUTER:
    case GF_P_EXPERT_WEIGHTS:
    case GF_P_EXPERT_CHOICE: return gf_layer_sparse(c, layer);
    case GF_P_SHARED_GATE: return c->d_shared_expert && gf_layer_sparse(c, layer);
    case GF_P_LN_EMBED:
    case GF_P_LN_EMBED_SCALE: return c->embed_norm && gf_has_norms(c);
    case GF_P_LN1_POST:
    case GF_P_LN1_POST_SCALE:
    case GF_P_LN2_POST:
    case GF_P_LN2_POST_SCALE: return c->norm_placement == GF_SANDWICH_NORM && gf_has_norms(c);
    case GF_P_RESID_MID: return !c->parallel_residual && gf_last_sublayer(c, stack) != GF_SELF_ATTENTION;
    case GF_P_RESID_MID_CROSS: return gf_last_sublayer(c, stack) != GF_CROSS_ATTENTION;
    case GF_P_LN1:
    case GF_P_LN1_SCALE: return gf_has_norms(c) && gf_layer_norm1(c, layer);
    case GF_P_LN_CROSS:
    case GF_P_LN_CROSS_SCALE: return gf_has_norms(c);
    case GF_P_LN2:
    case GF_P_LN2_SCALE: return gf_has_norms(c) && !c->shared_norm;
    case GF_P_LN_FINAL:
    case GF_P_LN_FINAL_SCALE: return c->final_norm && c->use_final_norm;
    default: return 1;
    }
}

int32_t gf_observe_need(struct gf_observe **made, const struct gf_config *cfg, struct gf_error *err) {
    if (*made) return GF_OK;
    struct gf_observe *o = calloc(1, sizeof *o);
    if (o) {
        for (int32_t stack = 0; stack < 2; stack++) o->cfg[stack] = gf_stack_config(cfg, stack);
        o->n_places = 2 * (gf_stack_layers(cfg) + 1) * GF_N_POINTS;
        o->captured = gf_calloc((uint64_t)o->n_places, sizeof *o->captured);
        o->edited = gf_calloc((uint64_t)o->n_places, 1);
    }
    if (!o || !o->captured || !o->edited) {
        gf_observe_close(o);
        return gf_fail(err, GF_ERR_MEMORY, "no memory for captures");
    }
    *made = o;
    return GF_OK;
}

int32_t gf_observe_place(const struct gf_config *cfg, int32_t stack, int32_t layer, int32_t point,
                         struct gf_error *err) {
    if (!exists(cfg, stack, layer, point))
        return gf_fail(err, GF_ERR_ARGUMENT, "this model has no point %d in layer %d of stack %d", point, layer, stack);
    return gf_place(cfg, stack, layer, point);
}

int gf_observe_reserve(struct gf_observe *o, uint64_t n) {
    if (n <= o->scratch_floats) return 0;
    gf_free(o->scratch);
    o->scratch = gf_alloc(n * sizeof(float));
    o->scratch_floats = o->scratch ? n : 0;
    return o->scratch ? 0 : -1;
}

void gf_observe_close(struct gf_observe *o) {
    if (!o) return;
    gf_free(o->scratch);
    if (o->captured)
        for (int32_t i = 0; i < o->n_places; i++) gf_free(o->captured[i].data);
    for (int32_t i = 0; i < o->n_edits; i++) {
        free(o->edits[i].values);
        gf_features_close(o->edits[i].features);
    }
    free(o->edits);
    free(o->captured);
    free(o->edited);
    free(o);
}

int gf_observing(const struct gf_observe *o) {
    for (int32_t i = 0; o && i < o->n_places; i++)
        if (o->captured[i].wanted || o->edited[i]) return 1;
    return 0;
}
