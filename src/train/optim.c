/* optim.c - see optim.h. */
#include "train/optim.h"
#include "base/arena.h"
#include "base/power.h"
#include "kernels/kernels.h" /* gf_scale */
#include "train/adam.h"
#include <math.h>
#include <string.h>

static int is_muon(const struct gf_tensor *t) {
    return t->rank == 2 && t->rows > 1 && t->cols > 1 &&
           (t->component == GF_C_ATTENTION || t->component == GF_C_CROSS_ATTENTION || t->component == GF_C_FFN);
}

int gf_optim_open(struct gf_optim *o, const struct gf_params *trained, gf_gemm_fn gemm) {
    memset(o, 0, sizeof *o);
    o->gemm = gemm;
    if (gf_params_like(&o->first, trained) || gf_params_like(&o->second, trained)) goto no_memory;
    uint64_t most = 0;
    for (int32_t i = 0; i < o->first.n_list; i++) {
        const struct gf_tensor *t = &o->first.list[i].t;
        const uint64_t least = (uint64_t)(t->rows < t->cols ? t->rows : t->cols);
        const uint64_t need = 2 * t->count + 2 * least * least;
        if (is_muon(t) && need > most) most = need;
    }
    for (int i = 0; i < GF_OPTIM_LANES; i++) {
        o->work[i] = gf_alloc(most * sizeof(float));
        if (!o->work[i]) goto no_memory;
    }
    return 0;
no_memory:
    gf_optim_close(o);
    return -1;
}

void gf_optim_close(struct gf_optim *o) {
    gf_params_close(&o->first);
    gf_params_close(&o->second);
    for (int i = 0; i < GF_OPTIM_LANES; i++) gf_free(o->work[i]);
    memset(o, 0, sizeof *o);
}

static double squares(const float *x, uint64_t n) {
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

/* x [r, c], r <= c, becomes nearly the nearest matrix with orthogonal rows: five steps of x = a x +
 * (b xx^T + c (xx^T)^2) x, whose coefficients drive every singular value into 0.7 .. 1.2. */
static void orthogonalise(float *x, int32_t r, int32_t c, float *next, float *gram, float *poly, gf_gemm_fn gemm) {
    const uint64_t n = (uint64_t)r * (uint64_t)c;
    const float norm = (float)sqrt(squares(x, n));
    gf_scale(x, x, 1 / (norm + 1e-7f), (int64_t)n);
    for (int i = 0; i < 5; i++) {
        gemm(0, 1, r, r, c, 1, x, c, x, c, 0, gram, r);
        memcpy(poly, gram, (size_t)r * (size_t)r * sizeof *poly);
        gemm(0, 0, r, r, r, 2.0315f, gram, r, gram, r, -4.7750f, poly, r);
        memcpy(next, x, (size_t)n * sizeof *x);
        gemm(0, 0, r, c, r, 1, poly, r, x, c, 3.4445f, next, c);
        memcpy(x, next, (size_t)n * sizeof *x);
    }
}

static void muon(float *w, const float *g, float *m, const struct gf_tensor *t, float *work, gf_gemm_fn gemm,
                 float momentum, float lr, float decay) {
    const int32_t rows = t->rows, cols = t->cols, tall = rows > cols, r = tall ? cols : rows, c = tall ? rows : cols;
    float *x = work, *next = x + t->count, *gram = next + t->count, *poly = gram + (int64_t)r * r;
    for (uint64_t i = 0; i < t->count; i++) m[i] = momentum * m[i] + (1 - momentum) * g[i];
    for (int32_t i = 0; i < rows; i++) /* Nesterov momentum, transposed if there are more rows than columns */
        for (int32_t j = 0; j < cols; j++) {
            const int64_t at = (int64_t)i * cols + j;
            x[tall ? (int64_t)j * rows + i : at] = momentum * m[at] + (1 - momentum) * g[at];
        }
    orthogonalise(x, r, c, next, gram, poly, gemm);
    const float by = lr * (tall ? sqrtf((float)rows / (float)cols) : 1);
    for (int32_t i = 0; i < rows; i++)
        for (int32_t j = 0; j < cols; j++) {
            const int64_t at = (int64_t)i * cols + j;
            w[at] -= by * x[tall ? (int64_t)j * rows + i : at] + lr * decay * w[at];
        }
}

/* Multiplications, roughly: what the parameters are shared out by. */
static double cost(const struct gf_tensor *t, int muon) {
    const double least = t->rows < t->cols ? t->rows : t->cols, n = (double)t->count;
    return muon && is_muon(t) ? 5 * least * (2 * n + least * least) : 10 * n;
}

struct step {
    struct gf_optim *o;
    struct gf_params *w;
    const struct gf_params *g;
    const struct gf_optim_options *a;
    struct gf_adam adam;
    float rate;
};

/* The parameters of one lane. Every lane shares them out anew, each to the lane with least so far. */
static void run_lane(void *ctx, int32_t lane) {
    const struct step *s = ctx;
    const struct gf_optim *o = s->o;
    const struct gf_optim_options *a = s->a;
    double load[GF_OPTIM_LANES] = {0};
    for (int32_t i = 0; i < s->w->n_list; i++) {
        const struct gf_param *e = &s->w->list[i];
        int32_t least = 0;
        for (int32_t k = 1; k < GF_OPTIM_LANES; k++)
            if (load[k] < load[least]) least = k;
        load[least] += cost(&e->t, a->muon);
        if (least != lane) continue;
        float *x = s->w->data + e->offset, *m = o->first.data + e->offset;
        const float *dx = s->g->data + e->offset, decay = e->t.rank == 2 ? a->weight_decay : 0;
        if (a->muon && is_muon(&e->t))
            muon(x, dx, m, &e->t, o->work[lane], o->gemm, a->momentum, a->muon_lr * s->rate, decay);
        else
            gf_adam(x, dx, m, o->second.data + e->offset, e->t.count, &s->adam, a->lr * s->rate, decay);
    }
}

double gf_optim_step(struct gf_optim *o, struct gf_params *w, struct gf_params *g, const struct gf_optim_options *a,
                     int64_t step, float rate, struct gf_pool *pool) {
    const double norm = sqrt(squares(g->data, g->n));
    if (!isfinite(norm)) return norm;
    if (a->clip > 0 && norm > (double)a->clip)
        gf_scale(g->data, g->data, (float)((double)a->clip / norm), (int64_t)g->n);
    const float fix1 = (float)(1 / (1 - gf_pow((double)a->beta1, (double)step))),
                fix2 = (float)(1 / (1 - gf_pow((double)a->beta2, (double)step)));
    struct step s = {o, w, g, a, {a->beta1, a->beta2, a->eps, fix1, fix2}, rate};
    gf_pool_run(pool, run_lane, &s, GF_OPTIM_LANES);
    return norm;
}
