/* sample.c - from logits to a token.
 *
 * Order: repetition penalty (Keskar et al. 2019, section 4.1: positive logits divided, negative
 * multiplied), temperature, top-k (Fan et al. 2018; all that tie with the k-th stay), top-p
 * (Holtzman et al. 2020; the token that crosses p stays), min-p (Nguyen et al. 2024), draw. Sorting
 * the vocabulary is never needed: only what top-p can keep. */
#include "kernels/kernels.h" /* gf_argmax, gf_exp, gf_logsumexp */
#include "model/session.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The tokens that can still be drawn, in the order of their ids, with weights that are not normalised. */
struct candidates {
    int32_t n;
    int32_t *id;
    float *weight;
    int32_t *order; /* workspace for top-p */
    double sum;
};

static int room(struct candidates *c, void **memory, int32_t n) {
    void *m = *memory ? *memory : malloc((size_t)n * (2 * sizeof(int32_t) + sizeof(float)));
    if (!m) return -1;
    *memory = m;
    c->weight = m;
    c->id = (int32_t *)(void *)(c->weight + n);
    c->order = c->id + n;
    return 0;
}

int32_t gf_sampling_check(const struct gf_sampling *p, struct gf_error *err) {
    if (!(p->temperature >= 0 && p->temperature <= 1e6f))
        return gf_fail(err, GF_ERR_ARGUMENT, "temperature must be at least 0 and at most 1000000");
    if (!(p->top_p > 0 && p->top_p <= 1)) return gf_fail(err, GF_ERR_ARGUMENT, "top-p must be above 0 and at most 1");
    if (!(p->min_p >= 0 && p->min_p <= 1)) return gf_fail(err, GF_ERR_ARGUMENT, "min-p must be from 0 to 1");
    if (!(p->repetition_penalty > 0 && p->repetition_penalty <= 1e6f))
        return gf_fail(err, GF_ERR_ARGUMENT, "the repetition penalty must be above 0");
    if (p->top_k < 0) return gf_fail(err, GF_ERR_ARGUMENT, "top-k must not be negative");
    return GF_OK;
}

/* logits with the penalty for the ids seen, each once. */
static void penalise(float *out, const float *logits, int32_t n, float penalty, const int32_t *seen, int32_t n_seen) {
    memcpy(out, logits, (size_t)n * sizeof *out);
    if (penalty == 1) return;
    for (int32_t i = 0; i < n_seen; i++) {
        if (seen[i] < 0 || seen[i] >= n) continue;
        const float l = logits[seen[i]], v = l > 0 ? l / penalty : l * penalty;
        out[seen[i]] = isinf(v) && !isinf(l) ? copysignf(FLT_MAX, v) : v;
    }
}

static void sift_down(float *heap, int32_t k) { /* smallest on top */
    for (int32_t i = 0, child; (child = 2 * i + 1) < k; i = child) {
        if (child + 1 < k && heap[child + 1] < heap[child]) child++;
        if (heap[i] <= heap[child]) return;
        const float t = heap[i];
        heap[i] = heap[child];
        heap[child] = t;
    }
}

/* The k-th largest of x [n]; heap: room for k floats. */
static float kth_largest(const float *x, int32_t n, int32_t k, float *heap) {
    for (int32_t i = 0; i < k; i++) heap[i] = -INFINITY;
    for (int32_t i = 0; i < n; i++)
        if (x[i] > heap[0]) {
            heap[0] = x[i];
            sift_down(heap, k);
        }
    return heap[0];
}

static void keep_all(struct candidates *c, const float *logits, int32_t n, float least) {
    c->n = 0; /* weight and logits may be one array: what is read lies at or after what is written */
    for (int32_t i = 0; i < n; i++)
        if (logits[i] >= least && logits[i] > -INFINITY) {
            c->id[c->n] = i;
            c->weight[c->n++] = logits[i];
        }
}

static void to_weights(struct candidates *c) {
    float most = -INFINITY;
    for (int32_t i = 0; i < c->n; i++)
        if (c->weight[i] > most) most = c->weight[i];
    for (int32_t i = 0; i < c->n; i++) c->weight[i] -= most;
    gf_exp(c->weight, c->weight, c->n);
    c->sum = 0;
    for (int32_t i = 0; i < c->n; i++) c->sum += (double)c->weight[i];
}

static void keep_at_least(struct candidates *c, float least) {
    int32_t n = 0;
    c->sum = 0;
    for (int32_t i = 0; i < c->n; i++)
        if (c->weight[i] >= least) {
            c->id[n] = c->id[i];
            c->weight[n] = c->weight[i];
            c->sum += (double)c->weight[n++];
        }
    c->n = n;
}

/* More likely first, of equals the smaller id. */
static int before(const struct candidates *c, int32_t a, int32_t b) {
    return c->weight[a] > c->weight[b] || (c->weight[a] == c->weight[b] && a < b);
}

static void sort_order(const struct candidates *c, int32_t *v, int32_t n) { /* heapsort */
    for (int32_t end = n, start = n / 2; end > 1;) {
        if (start)
            start--;
        else {
            const int32_t t = v[--end];
            v[end] = v[0];
            v[0] = t;
        }
        for (int32_t i = start, child; (child = 2 * i + 1) < end; i = child) {
            if (child + 1 < end && before(c, v[child], v[child + 1])) child++;
            if (!before(c, v[i], v[child])) break;
            const int32_t t = v[i];
            v[i] = v[child];
            v[child] = t;
        }
    }
}

static void top_p(struct candidates *c, float p) {
    /* A token below (1 - p) / n of the mass cannot belong: all such together weigh less than 1 - p.
     * With n - 1 for n, as one often reads, equal weights would all be thrown out. */
    const double cut = (1 - (double)p) / c->n * c->sum;
    int32_t n = 0;
    for (int32_t i = 0; i < c->n; i++)
        if ((double)c->weight[i] >= cut) c->order[n++] = i;
    sort_order(c, c->order, n);
    double mass = 0;
    int32_t kept = 0;
    while (kept < n) {
        mass += (double)c->weight[c->order[kept++]];
        if (mass > (double)p * c->sum) break;
    }
    /* back to the order of ids */
    float *weight = c->weight;
    for (int32_t i = kept; i < n; i++) weight[c->order[i]] = -1;
    for (int32_t i = 0; i < c->n; i++)
        if ((double)weight[i] < cut) weight[i] = -1;
    keep_at_least(c, 0);
}

/* What can be drawn, given logits [n] that are finite or -inf. */
static void choose_from(struct candidates *c, const float *logits, int32_t n, const struct gf_sampling *p,
                        const int32_t *seen, int32_t n_seen) {
    float *x = c->weight;
    penalise(x, logits, n, p->repetition_penalty, seen, n_seen);
    if (p->temperature == 0) {
        int32_t best = gf_argmax(x, n);
        c->n = 1;
        c->id[0] = best < 0 ? 0 : best;
        c->weight[0] = 1;
        c->sum = 1;
        return;
    }
    /* from the largest down, so that no temperature makes an infinity of it */
    float most = -INFINITY;
    for (int32_t i = 0; i < n; i++)
        if (x[i] > most) most = x[i];
    for (int32_t i = 0; i < n; i++) x[i] = (x[i] - most) / p->temperature;
    float least = -INFINITY;
    if (p->top_k > 0 && p->top_k < n) least = kth_largest(x, n, p->top_k, (float *)(void *)c->order);
    keep_all(c, x, n, least);
    to_weights(c);
    if (p->top_p < 1) top_p(c, p->top_p);
    if (p->min_p > 0) keep_at_least(c, p->min_p); /* the largest weight is 1 */
}

/* Whether a row of logits can be sampled from; -inf is a token that cannot come. */
static int32_t check_logits(const float *logits, int32_t n, struct gf_error *err) {
    if (gf_argmax(logits, n) >= 0) return GF_OK;
    return gf_fail(err, GF_ERR_NOT_FINITE, "the logits hold NaN or infinity: weights or activations are out of range");
}

void gf_session_seed(struct gf_session *s, uint64_t seed) { gf_rng_seed(&s->rng, seed); }

int32_t gf_session_sample(struct gf_session *s, const struct gf_sampling *p, struct gf_choice *out,
                          struct gf_error *err) {
    const int32_t n = s->model->cfg.vocab_size;
    int32_t status = gf_sampling_check(p, err);
    if (status != GF_OK) return status;
    const float *logits = gf_session_logits(s, s->hidden_rows - 1, 1, err);
    if (!logits) return err ? err->status : GF_ERR_STATE;
    const int32_t best = gf_argmax(logits, n);
    if (best < 0) return check_logits(logits, n, err);
    if (p->temperature == 0 && p->repetition_penalty == 1) {
        *out = (struct gf_choice){best, logits[best] - gf_logsumexp(logits, n, s->model->pool)};
        return GF_OK;
    }
    struct candidates c;
    if (room(&c, &s->sampling, n)) return gf_fail(err, GF_ERR_MEMORY, "no memory for a distribution over %d tokens", n);
    choose_from(&c, logits, n, p, s->ids, s->kv.length);
    int32_t at = 0;
    if (c.n > 1) {
        double left = gf_rng_uniform(&s->rng) * c.sum;
        while (at < c.n - 1 && (left -= (double)c.weight[at]) >= 0) at++;
    }
    out->id = c.id[at];
    out->logprob = logits[out->id] - gf_logsumexp(logits, n, s->model->pool);
    return GF_OK;
}

int32_t gf_distribution(float *probs, const float *logits, int32_t n, const struct gf_sampling *p, const int32_t *seen,
                        int32_t n_seen, struct gf_error *err) {
    if (n < 1) return gf_fail(err, GF_ERR_ARGUMENT, "at least one logit is needed");
    int32_t status = gf_sampling_check(p, err);
    if (status == GF_OK) status = check_logits(logits, n, err);
    if (status != GF_OK) return status;
    struct candidates c;
    void *memory = NULL;
    if (room(&c, &memory, n)) return gf_fail(err, GF_ERR_MEMORY, "no memory for a distribution over %d tokens", n);
    choose_from(&c, logits, n, p, seen, n_seen);
    memset(probs, 0, (size_t)n * sizeof *probs);
    for (int32_t i = 0; i < c.n; i++) probs[c.id[i]] = (float)((double)c.weight[i] / c.sum);
    free(memory);
    return GF_OK;
}

int32_t gf_top(const float *logits, int32_t n, int32_t k, struct gf_choice *out, struct gf_error *err) {
    if (n < 1 || k < 1) return gf_fail(err, GF_ERR_ARGUMENT, "nothing to rank");
    if (k > n) k = n;
    int32_t status = check_logits(logits, n, err);
    if (status != GF_OK) return status;
    const float all = gf_logsumexp(logits, n, NULL);
    int32_t have = 0; /* sorted insertion: k is small */
    for (int32_t i = 0; i < n; i++) {
        if (have == k && !(logits[i] > out[k - 1].logprob)) continue;
        int32_t at = have < k ? have++ : k - 1;
        while (at > 0 && logits[i] > out[at - 1].logprob) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = (struct gf_choice){i, logits[i]};
    }
    for (int32_t i = 0; i < k; i++) out[i].logprob -= all;
    return k;
}
