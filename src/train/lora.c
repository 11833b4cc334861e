/* lora.c - see lora.h. */
#include "train/lora.h"
#include "base/arena.h"
#include "base/rng.h"
#include "train/sha256.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The matrix that is roster entry i; NULL: there is none with values of its own. */
static const struct gf_param *matrix_at(const struct gf_params *weights, int32_t i) {
    for (int32_t k = 0; k < weights->n_list; k++)
        if (weights->list[k].index == i && weights->list[k].t.rank == 2) return &weights->list[k];
    return NULL;
}

/* List a factor of a module. Its component keeps it from Muon. Returns the offset of its first float. */
static uint64_t add_factor(struct gf_params *f, int32_t rows, int32_t cols) {
    struct gf_param *e = &f->list[f->n_list++];
    *e = (struct gf_param){.offset = f->n};
    e->t.rank = 2, e->t.rows = rows, e->t.cols = cols, e->t.component = GF_C_HEAD;
    e->t.count = (uint64_t)rows * (uint64_t)cols;
    f->n += (e->t.count + 15) / 16 * 16;
    return e->offset;
}

/* List a module's parts and factors. Returns 0, or -1 where its weights cannot be stacked. */
static int add_module(struct gf_lora *l, const struct gf_params *weights, int32_t first, int32_t n) {
    const struct gf_param *of = matrix_at(weights, first);
    if (!of || n < 1) return -1;
    const uint64_t a = add_factor(&l->factors, l->rank, of->t.cols);
    int32_t rows = 0;
    for (int32_t i = 0; i < n; i++) {
        const struct gf_param *e = matrix_at(weights, first + i);
        if (!e || e->t.cols != of->t.cols) return -1;
        l->parts[l->n_parts++] = (struct gf_lora_part){.t = e->t,
                                                       .weight = e->offset,
                                                       .base = l->n_base,
                                                       .a = a,
                                                       .b = (uint64_t)rows * (uint64_t)l->rank,
                                                       .first = i == 0};
        l->n_base += e->t.count;
        rows += e->t.rows;
    }
    const uint64_t b = add_factor(&l->factors, rows, l->rank);
    for (int32_t i = l->n_parts - n; i < l->n_parts; i++) l->parts[i].b += b;
    return 0;
}

int32_t gf_lora_open(struct gf_lora *l, const struct gf_lora_plan *plan, const struct gf_params *weights, uint64_t seed,
                     gf_gemm_fn gemm, struct gf_error *err) {
    *l = (struct gf_lora){.rank = plan->rank, .scale = plan->scale, .gemm = gemm};
    const int32_t n = plan->n_modules;
    if (plan->rank < 1 || n < 1 || n > weights->n_list || !isfinite(plan->scale))
        return gf_fail(err, GF_ERR_ARGUMENT, "an adapter of rank %d for %d modules", plan->rank, n);
    l->factors.list = gf_calloc(2 * (uint64_t)n, sizeof *l->factors.list);
    l->parts = gf_calloc((uint64_t)weights->n_list, sizeof *l->parts);
    int32_t total = 0;
    for (int32_t i = 0; l->factors.list && l->parts && i < n; i++) {
        const int32_t *m = plan->modules + 2 * i;
        if (m[1] > weights->n_list - total || add_module(l, weights, m[0], m[1]))
            return gf_fail(err, GF_ERR_ARGUMENT, "module %d is no stack of matrices: %d from roster entry %d", i, m[1],
                           m[0]);
        total += m[1];
    }
    l->factors.data = gf_alloc(l->factors.n * sizeof(float));
    l->base = gf_alloc(l->n_base * sizeof(float));
    if (!l->factors.list || !l->parts || !l->factors.data || !l->base || gf_params_like(&l->slopes, &l->factors))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for an adapter of rank %d", plan->rank);
    struct gf_rng rng;
    gf_rng_seed(&rng, seed);
    for (int32_t i = 0; i < 2 * n; i += 2) {
        const struct gf_param *e = &l->factors.list[i];
        const double most = 1 / sqrt((double)e->t.cols);
        for (uint64_t k = 0; k < e->t.count; k++)
            l->factors.data[e->offset + k] = (float)((2 * gf_rng_uniform(&rng) - 1) * most);
    }
    return GF_OK;
}

void gf_lora_close(struct gf_lora *l) {
    gf_params_close(&l->factors);
    gf_params_close(&l->slopes);
    free(l->parts);
    gf_free(l->base);
    memset(l, 0, sizeof *l);
}

void gf_lora_take(struct gf_lora *l, const struct gf_params *weights) {
    for (const struct gf_lora_part *p = l->parts; p < l->parts + l->n_parts; p++)
        memcpy(l->base + p->base, weights->data + p->weight, (size_t)p->t.count * sizeof(float));
    gf_sha256(l->sha256, l->base, (size_t)l->n_base * sizeof(float));
}

void gf_lora_merge(const struct gf_lora *l, struct gf_params *weights) {
    for (const struct gf_lora_part *p = l->parts; p < l->parts + l->n_parts; p++) {
        const float *a = l->factors.data + p->a, *b = l->factors.data + p->b;
        float *w = weights->data + p->weight;
        memcpy(w, l->base + p->base, (size_t)p->t.count * sizeof(float));
        l->gemm(0, 0, p->t.rows, p->t.cols, l->rank, l->scale, b, l->rank, a, p->t.cols, 1, w, p->t.cols);
    }
}

/* dA = scale B^T dW, summed over the parts of a module; dB = scale dW A^T */
void gf_lora_back(struct gf_lora *l, const struct gf_params *grads) {
    for (const struct gf_lora_part *p = l->parts; p < l->parts + l->n_parts; p++) {
        const float *a = l->factors.data + p->a, *b = l->factors.data + p->b, *dw = grads->data + p->weight;
        float *da = l->slopes.data + p->a, *db = l->slopes.data + p->b;
        const int32_t rows = p->t.rows, cols = p->t.cols, r = l->rank;
        l->gemm(1, 0, r, cols, rows, l->scale, b, r, dw, cols, p->first ? 0 : 1, da, cols);
        l->gemm(0, 1, rows, r, cols, l->scale, dw, cols, a, cols, 0, db, r);
    }
}
