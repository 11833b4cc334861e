/* gradients.c - see gradients.h. A training pass without an update: its taps capture gradients (pass.h). */
#include "train/gradients.h"
#include "base/arena.h" /* gf_calloc */
#include "train/gemm.h"
#include <stdlib.h>
#include <string.h>

int32_t gf_gradients_open(struct gf_gradients *g, const struct gf_config *cfg, const uint8_t *dtypes,
                          struct gf_error *err) {
    memset(g, 0, sizeof *g);
    int32_t status = gf_graph_check(cfg, 0, err);
    if (status != GF_OK) return status;
    g->cfg = *cfg;
    g->model = gf_model_open(cfg, dtypes, err);
    if (!g->model) return GF_ERR_MEMORY;
    g->wanted = gf_calloc((uint64_t)gf_roster_count(cfg), 1);
    if (g->wanted && gf_observe_need(&g->observe, cfg, NULL) == GF_OK) return GF_OK;
    gf_gradients_close(g);
    return gf_fail(err, GF_ERR_MEMORY, "no memory for the gradients at the points of a pass");
}

void gf_gradients_close(struct gf_gradients *g) {
    gf_model_close(g->model);
    gf_params_close(&g->grads);
    gf_observe_close(g->observe);
    gf_observe_close(g->changes);
    free(g->wanted);
    memset(g, 0, sizeof *g);
}

/* Points whose gradient, in place, is what flows on from them. */
static int has_editable_gradient(int32_t point) {
    switch (point) {
    case GF_P_EMBED:
    case GF_P_RESID_PRE:
    case GF_P_RESID_MID:
    case GF_P_RESID_POST:
    case GF_P_ATTN_OUT:
    case GF_P_MLP_OUT:
    case GF_P_Q:
    case GF_P_K:
    case GF_P_V:
    case GF_P_ROT_Q:
    case GF_P_ROT_K:
    case GF_P_Z:
    case GF_P_MLP_PRE:
    case GF_P_MLP_PRE_LINEAR:
    case GF_P_MLP_POST: return 1;
    default: return 0;
    }
}

int32_t gf_gradients_edit(struct gf_gradients *g, int32_t stack, int32_t layer, const struct gf_edit *edit,
                          int32_t point, const float *values, struct gf_error *err) {
    struct gf_edit e = *edit;
    e.place = gf_observe_place(&g->cfg, stack, layer, point, err);
    if (e.place < 0) return e.place;
    if (stack != gf_main_stack(&g->cfg) || !has_editable_gradient(point))
        return gf_fail(err, GF_ERR_UNSUPPORTED, "gradients with an edit at this point are not implemented");
    const int32_t status = gf_observe_need(&g->changes, &g->cfg, err);
    return status != GF_OK ? status : gf_observe_edit(g->changes, &e, values, err);
}

/* The edits of both passes of a question: those of the forward pass, after the factor of the embedding; those of the
 * backward pass are their transposes, the last one first. They share their values with g->changes. */
struct edits {
    struct gf_edit *forward, *backward;
    float *seen; /* rows that edits of features have read */
    int32_t n;
};

/* Give edits of features memory for n_rows rows each. Those that are applied together share it (gf_edit_rows). */
static int keep_rows(struct edits *e, int32_t n_rows) {
    uint64_t floats = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass && !(e->seen = gf_calloc(floats + 1, sizeof *e->seen))) return -1;
        floats = 0;
        for (int32_t i = 0; i < e->n; i++) {
            struct gf_edit *own = &e->forward[i], *before = i ? own - 1 : NULL;
            if (!own->features) continue;
            const int together = before && before->features == own->features && before->place == own->place;
            if (pass) own->seen = together ? before->seen : e->seen + floats;
            if (!together) floats += (uint64_t)n_rows * (uint64_t)own->n_values;
        }
    }
    return 0;
}

static int gather_edits(const struct gf_gradients *g, float embedding, int32_t n_rows, struct edits *e) {
    const int32_t own = embedding != 1, given = g->changes ? g->changes->n_edits : 0;
    e->n = own + given;
    e->forward = gf_calloc(2 * (uint64_t)e->n + 1, sizeof *e->forward);
    if (!e->forward) return -1;
    e->backward = e->forward + e->n;
    if (own)
        e->forward[0] = (struct gf_edit){.place = gf_place(&g->cfg, gf_main_stack(&g->cfg), -1, GF_P_EMBED),
                                         .head = -1,
                                         .position = -1,
                                         .index = -1,
                                         .op = GF_EDIT_SCALE,
                                         .scale = embedding};
    if (given) memcpy(e->forward + own, g->changes->edits, (size_t)given * sizeof *e->forward);
    if (keep_rows(e, n_rows)) return -1;
    for (int32_t i = 0; i < e->n; i++) {
        struct gf_edit *t = &e->backward[e->n - 1 - i];
        *t = e->forward[i];
        if (t->op == GF_EDIT_SET || t->op == GF_EDIT_ADD) {
            t->scale = t->op == GF_EDIT_ADD;
            t->op = GF_EDIT_SCALE;
        }
    }
    return 0;
}

/* Edits that belong to others, and the tokens of the rows: put them there, or with n = 0 take them away. */
static void lend_edits(struct gf_observe *o, struct gf_edit *edits, int32_t n, const int32_t *ids) {
    memset(o->edited, 0, (size_t)o->n_places);
    o->edits = n ? edits : NULL, o->n_edits = n, o->ids = ids;
    for (int32_t i = 0; i < n; i++) o->edited[edits[i].place] = 1;
}

/* The pass of a question. */
static int32_t run(struct gf_gradients *g, struct gf_graph *graph, const struct gf_question *q, double *value,
                   struct gf_error *err) {
    const int two = g->cfg.kind == GF_ENCODER_DECODER;
    const int32_t stack = gf_main_stack(&g->cfg);
    const int32_t longest = q->n > q->n_source ? q->n : q->n_source;
    int32_t *targets = gf_calloc((uint64_t)q->n, sizeof *targets);
    struct gf_observe *changes = NULL;
    struct gf_observe *o = g->observe;
    struct edits edits = {0};
    int bad = !targets || gather_edits(g, q->embedding, q->n, &edits) ||
              gf_observe_need(&changes, &g->cfg, NULL) != GF_OK ||
              gf_observe_reserve(o, gf_results_floats(&g->cfg) + (uint64_t)longest) ||
              gf_observe_begin(o, stack, q->n, 0, q->n, q->n_source) ||
              (two && (gf_observe_begin(o, GF_STACK_ENCODER, q->n_source, 0, q->n_source, 0) ||
                       gf_observe_begin_cross(o, q->n_source)));
    if (!bad) {
        for (int32_t i = 0; i < q->n; i++) targets[i] = i + 1 < q->n ? q->ids[i + 1] : -1;
        lend_edits(changes, edits.forward, edits.n, q->ids);
        lend_edits(o, edits.backward, edits.n, q->ids);
        changes->pool = o->pool = g->pool;
        o->backward = 1;
        graph->changes = changes;
        graph->observe = o;
        graph->metric = q->metric.n ? &q->metric : NULL;
        const struct gf_batch batch = {.n = q->n,
                                       .n_seqs = 1,
                                       .lengths = &q->n,
                                       .ids = q->ids,
                                       .targets = targets,
                                       .n_source = q->n_source,
                                       .source_lengths = &q->n_source,
                                       .source_ids = q->source};
        const float scale = graph->metric ? 1 : 1 / (float)(q->n - 1);
        *value = (double)scale * gf_graph_run(graph, &g->model->w, &g->grads.w, &batch, scale, 0, 0);
        lend_edits(changes, NULL, 0, NULL);
        lend_edits(o, NULL, 0, NULL);
    }
    gf_observe_close(changes);
    free(edits.forward);
    free(edits.seen);
    free(targets);
    return bad ? gf_fail(err, GF_ERR_MEMORY, "no memory for the gradients of %d tokens", q->n) : GF_OK;
}

int32_t gf_gradients_run(struct gf_gradients *g, const struct gf_question *q, double *value, struct gf_error *err) {
    const int32_t most = g->cfg.context_length;
    if (q->n < 1 || q->n > most || q->n_source > most)
        return gf_fail(err, GF_ERR_CONTEXT, "%d tokens and %d of the source do not fit the context of %d", q->n,
                       q->n_source, most);
    if (g->cfg.n_labels && !q->metric.n) return gf_graph_check(&g->cfg, 1, err);
    struct gf_graph graph;
    if (gf_graph_open(&graph, &g->cfg, q->n, q->n_source, 1, gf_gemm))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for the activations of %d tokens", q->n);
    graph.by_panels = gf_gemm_by_panels, graph.pool = g->pool;
    gf_params_close(&g->grads);
    const int32_t status = gf_params_open_some(&g->grads, &g->cfg, g->wanted)
                               ? gf_fail(err, GF_ERR_MEMORY, "no memory for the gradients of the weights")
                               : run(g, &graph, q, value, err);
    gf_graph_close(&graph);
    return status;
}
