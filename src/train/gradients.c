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
    free(g->wanted);
    memset(g, 0, sizeof *g);
}

/* The pass of a question, with the factor of the embedding as an edit. */
static int32_t run(struct gf_gradients *g, struct gf_graph *graph, const struct gf_question *q, double *value,
                   struct gf_error *err) {
    const int two = g->cfg.kind == GF_ENCODER_DECODER;
    const int32_t stack = gf_main_stack(&g->cfg);
    const int32_t longest = q->n > q->n_source ? q->n : q->n_source;
    int32_t *targets = gf_calloc((uint64_t)q->n, sizeof *targets);
    struct gf_observe *changes = NULL;
    struct gf_observe *o = g->observe;
    struct gf_edit edit = {.place = gf_place(&g->cfg, stack, -1, GF_P_EMBED),
                           .head = -1,
                           .position = -1,
                           .index = -1,
                           .op = GF_EDIT_SCALE,
                           .scale = q->embedding};
    int bad = !targets || gf_observe_need(&changes, &g->cfg, NULL) != GF_OK ||
              gf_observe_reserve(o, gf_results_floats(&g->cfg) + (uint64_t)longest) ||
              gf_observe_begin(o, stack, q->n, 0, q->n, q->n_source) ||
              (two && (gf_observe_begin(o, GF_STACK_ENCODER, q->n_source, 0, q->n_source, 0) ||
                       gf_observe_begin_cross(o, q->n_source)));
    if (!bad) {
        for (int32_t i = 0; i < q->n; i++) targets[i] = i + 1 < q->n ? q->ids[i + 1] : -1;
        changes->edits = &edit, changes->n_edits = 1;
        changes->edited[edit.place] = q->embedding != 1;
        graph->changes = changes;
        graph->observe = o;
        graph->metric = q->metric.row < 0 ? NULL : &q->metric;
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
        changes->edits = NULL, changes->n_edits = 0; /* on the stack */
    }
    gf_observe_close(changes);
    free(targets);
    return bad ? gf_fail(err, GF_ERR_MEMORY, "no memory for the gradients of %d tokens", q->n) : GF_OK;
}

int32_t gf_gradients_run(struct gf_gradients *g, const struct gf_question *q, double *value, struct gf_error *err) {
    const int32_t most = g->cfg.context_length;
    if (q->n < 1 || q->n > most || q->n_source > most)
        return gf_fail(err, GF_ERR_CONTEXT, "%d tokens and %d of the source do not fit the context of %d", q->n,
                       q->n_source, most);
    if (g->cfg.n_labels && q->metric.row < 0) return gf_graph_check(&g->cfg, 1, err);
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
