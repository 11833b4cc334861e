/* depth.c - see depth.h. Shows what Xiong et al. 2020 state about pre-norm, post-norm and residual connections. */
#include "train/depth.h"
#include "base/arena.h" /* gf_calloc */
#include "base/rng.h"
#include "train/blas.h"
#include "train/graph.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double squares(const float *x, uint64_t n) {
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

static void measure(const struct gf_graph *g, const struct gf_params *grads, int32_t n, struct gf_depth *out) {
    for (int32_t l = 0; l < g->cfg.n_layers; l++) {
        double sum = 0, count = 0;
        for (int32_t i = 0; i < grads->n_list; i++) {
            const struct gf_param *e = &grads->list[i];
            if (e->t.layer != l || e->t.rank != 2) continue;
            sum += squares(grads->data + e->offset, e->t.count);
            count += (double)e->t.count;
        }
        out[l].weights = sqrt(sum / count);
        const uint64_t all = (uint64_t)n * (uint64_t)g->cfg.d_model;
        out[l].stream = sqrt(squares(g->decoder.layers[l].resid_post, all) / (double)all);
    }
}

int32_t gf_depth_measure(const struct gf_config *cfg, uint64_t seed, int32_t n, struct gf_depth *out,
                         struct gf_error *err) {
    const int32_t status = gf_graph_check(cfg, 1, err);
    if (status != GF_OK) return status;
    if (cfg->kind != GF_DECODER || n < 2 || n > GF_DEPTH_TOKENS)
        return gf_fail(err, GF_ERR_ARGUMENT, "depth is measured in decoders, on 2 to %d tokens", GF_DEPTH_TOKENS);
    struct gf_params w = {0}, grads = {0};
    struct gf_graph g = {0};
    const int32_t seqs = n / cfg->context_length + 1;
    int32_t *ids = gf_calloc((uint64_t)(2 * n + seqs), sizeof *ids);
    const int bad = !ids || gf_params_open(&w, cfg) || gf_params_open(&grads, cfg) ||
                    gf_graph_open(&g, cfg, n, 0, seqs, gf_blas_gemm());
    if (!bad) {
        struct gf_rng rng;
        gf_rng_seed(&rng, seed);
        gf_params_init(&w, cfg, gf_rng_u64(&rng), 0.02f, 0);
        int32_t *targets = ids + n, *lengths = targets + n, n_seqs = 0;
        for (int32_t i = 0; i < 2 * n; i++) ids[i] = (int32_t)(gf_rng_uniform(&rng) * cfg->vocab_size);
        for (int32_t left = n; left > 0; left -= lengths[n_seqs++])
            lengths[n_seqs] = left < cfg->context_length ? left : cfg->context_length;
        const struct gf_batch batch = {.n = n, .n_seqs = n_seqs, .lengths = lengths, .ids = ids, .targets = targets};
        gf_graph_run(&g, &w.w, &grads.w, &batch, 1 / (float)n, 0, 0);
        measure(&g, &grads, n, out);
    }
    gf_graph_close(&g);
    gf_params_close(&grads);
    gf_params_close(&w);
    free(ids);
    return bad ? gf_fail(err, GF_ERR_MEMORY, "no memory for %d layers", cfg->n_layers) : GF_OK;
}
