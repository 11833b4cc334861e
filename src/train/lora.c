/* lora.c - see lora.h. */
#include "train/lora.h"
#include "base/arena.h"
#include "base/rng.h"
#include "train/sha256.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The matrix that is roster entry i; NULL: there is none with values of its own. */
static const struct gf_slot *matrix_at(const struct gf_model *m, int32_t i) {
    if (i < 0 || i >= m->n_slots) return NULL;
    const struct gf_slot *s = &m->slots[i];
    return s->mat && s->t.rank == 2 && s->t.tied_to < 0 ? s : NULL;
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
static int add_module(struct gf_lora *l, int32_t first, int32_t n) {
    const struct gf_slot *of = matrix_at(l->model, first);
    if (!of || n < 1) return -1;
    const uint64_t a = add_factor(&l->factors, l->rank, of->t.cols);
    int32_t rows = 0;
    for (int32_t i = 0; i < n; i++) {
        const struct gf_slot *s = matrix_at(l->model, first + i);
        if (!s || s->t.cols != of->t.cols) return -1;
        l->parts[l->n_parts++] = (struct gf_lora_part){first + i, a, (uint64_t)rows * (uint64_t)l->rank};
        rows += s->t.rows;
    }
    const uint64_t b = add_factor(&l->factors, rows, l->rank);
    for (int32_t i = l->n_parts - n; i < l->n_parts; i++) l->parts[i].b += b;
    return 0;
}

/* A of each module as PEFT begins; B stays 0. */
static void begin(struct gf_lora *l, uint64_t seed) {
    struct gf_rng rng;
    gf_rng_seed(&rng, seed);
    for (int32_t i = 0; i < l->factors.n_list; i += 2) {
        const struct gf_param *e = &l->factors.list[i];
        const double most = 1 / sqrt((double)e->t.cols);
        for (uint64_t k = 0; k < e->t.count; k++)
            l->factors.data[e->offset + k] = (float)((2 * gf_rng_uniform(&rng) - 1) * most);
    }
}

int32_t gf_lora_open(struct gf_lora *l, const struct gf_lora_plan *plan, const struct gf_config *cfg, uint64_t seed,
                     struct gf_error *err) {
    *l = (struct gf_lora){.rank = plan->rank, .scale = plan->scale};
    const int32_t n = plan->n_modules, entries = gf_roster_count(cfg);
    if (plan->rank < 1 || n < 1 || n > entries || !isfinite(plan->scale))
        return gf_fail(err, GF_ERR_ARGUMENT, "an adapter of rank %d for %d modules", plan->rank, n);
    l->model = gf_model_open(cfg, plan->dtypes, err);
    if (!l->model) return GF_ERR_MEMORY;
    l->factors.list = gf_calloc(2 * (uint64_t)n, sizeof *l->factors.list);
    l->parts = gf_calloc((uint64_t)entries, sizeof *l->parts);
    int32_t total = 0;
    for (int32_t i = 0; l->factors.list && l->parts && i < n; i++) {
        const int32_t *m = plan->modules + 2 * i;
        if (m[1] > entries - total || add_module(l, m[0], m[1]))
            return gf_fail(err, GF_ERR_ARGUMENT, "module %d is no stack of matrices: %d from roster entry %d", i, m[1],
                           m[0]);
        total += m[1];
    }
    l->factors.data = gf_alloc(l->factors.n * sizeof(float));
    if (!l->factors.list || !l->parts || !l->factors.data)
        return gf_fail(err, GF_ERR_MEMORY, "no memory for an adapter of rank %d", plan->rank);
    begin(l, seed);
    return GF_OK;
}

void gf_lora_close(struct gf_lora *l) {
    gf_model_close(l->model);
    gf_params_close(&l->factors);
    free(l->parts);
    memset(l, 0, sizeof *l);
}

/* The hash of the hashes of all rows. */
int32_t gf_lora_take(struct gf_lora *l, struct gf_error *err) {
    enum { DIGITS = 64 };
    uint64_t rows = 0, done = 0;
    int32_t widest = 0;
    for (int32_t i = 0; i < l->n_parts; i++) {
        const struct gf_tensor *t = &l->model->slots[l->parts[i].entry].t;
        rows += (uint64_t)t->rows;
        if (t->cols > widest) widest = t->cols;
    }
    float *row = gf_calloc((uint64_t)widest, sizeof *row);
    char *digits = gf_calloc(rows * DIGITS + 1, 1);
    int32_t status = row && digits ? GF_OK : gf_fail(err, GF_ERR_MEMORY, "no memory for the hashes of an adapter");
    for (int32_t i = 0; i < l->n_parts && status == GF_OK; i++) {
        const struct gf_tensor *t = &l->model->slots[l->parts[i].entry].t;
        for (int32_t r = 0; r < t->rows && status == GF_OK; r++) {
            status = gf_tensor_read(l->model, l->parts[i].entry, r, row, err);
            gf_sha256(digits + DIGITS * done++, row, (size_t)t->cols * sizeof *row);
        }
    }
    if (status == GF_OK) gf_sha256(l->sha256, digits, (size_t)(DIGITS * done));
    free(row);
    free(digits);
    return status;
}

void gf_lora_adapters(const struct gf_lora *l, const struct gf_params *gradients, struct gf_adapter *to) {
    for (int32_t i = 0; i < l->n_parts; i++) {
        const struct gf_lora_part *p = &l->parts[i];
        const struct gf_slot *s = &l->model->slots[p->entry];
        to[i] = (struct gf_adapter){.data = s->mat->data,
                                    .row0 = s->row0,
                                    .rows = s->t.rows,
                                    .rank = l->rank,
                                    .scale = l->scale,
                                    .a = l->factors.data + p->a,
                                    .b = l->factors.data + p->b,
                                    .da = gradients->data + p->a,
                                    .db = gradients->data + p->b};
    }
}

int32_t gf_lora_merge(const struct gf_lora *l, struct gf_params *to, gf_gemm_fn gemm, struct gf_error *err) {
    if (gf_params_open(to, &l->model->cfg))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for %lld parameters in f32",
                       (long long)gf_count_parameters(&l->model->cfg));
    int32_t status = GF_OK;
    for (const struct gf_param *e = to->list; e < to->list + to->n_list; e++)
        for (int32_t r = 0; r < e->t.rows && status == GF_OK; r++)
            status =
                gf_tensor_read(l->model, e->index, r, to->data + e->offset + (uint64_t)r * (uint64_t)e->t.cols, err);
    for (int32_t i = 0; i < l->n_parts; i++) {
        const struct gf_lora_part *p = &l->parts[i];
        const struct gf_param *e = to->list;
        while (e->index != p->entry) e++;
        gemm(0, 0, e->t.rows, e->t.cols, l->rank, l->scale, l->factors.data + p->b, l->rank, l->factors.data + p->a,
             e->t.cols, 1, to->data + e->offset, e->t.cols);
    }
    return status;
}
