/* sample.c - choose the next token from logits.
 *
 * In this order:
 *   repetition penalty   Keskar et al. 2019, section 4.1: positive logits divided, negative ones multiplied
 *   bias, allowed tokens presence and frequency penalties, grammars (run/logit_controls.js): see struct gf_adjustment
 *   temperature          logits divided
 *   top-k                Fan et al. 2018; tokens that tie with the k-th stay
 *   top-p                Holtzman et al. 2020; the token at which the sum exceeds p stays
 *   min-p                Nguyen et al. 2024
 *   a random draw from what is left
 *
 * Only the tokens that top-p can keep are sorted, never the whole vocabulary. */
#include "kernels/kernels.h" /* gf_argmax, gf_exp, gf_logsumexp */
#include "model/session/session.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The tokens that can still be drawn, in the order of their ids. */
struct candidates {
    int32_t n;
    int32_t *id;
    float *weight;  /* proportional to the probability; logits until to_weights */
    int32_t *order; /* scratch of top_p and kth_largest */
    double sum;     /* the sum of the weights */
};

/* Place the arrays of c, n elements each, in *memory, which is allocated if it is NULL. The owner of *memory frees it.
 * Returns 0, or -1 if memory is missing. */
static int place_candidates(struct candidates *c, void **memory, int32_t n) {
    if (!*memory) *memory = malloc((size_t)n * (2 * sizeof(int32_t) + sizeof(float)));
    if (!*memory) return -1;
    c->weight = *memory;
    c->id = (int32_t *)(void *)(c->weight + n);
    c->order = c->id + n;
    return 0;
}

/* out [n] = logits, with the repetition penalty applied to each id in `seen`. An id that occurs twice is penalised
 * once; ids outside the vocabulary are skipped. A product that overflows becomes the largest float. */
static void penalise(float *out, const float *logits, int32_t n, float penalty, const int32_t *seen, int32_t n_seen) {
    memcpy(out, logits, (size_t)n * sizeof *out);
    if (penalty == 1) return;
    for (int32_t i = 0; i < n_seen; i++) {
        if (seen[i] < 0 || seen[i] >= n) continue;
        const float l = logits[seen[i]], v = l > 0 ? l / penalty : l * penalty;
        out[seen[i]] = isinf(v) && !isinf(l) ? copysignf(FLT_MAX, v) : v;
    }
}

/* GF_OK unless a number of `a` is out of range. */
static int32_t check_adjustment(const struct gf_adjustment *a, struct gf_error *err) {
    for (int32_t i = 0; a && i < a->n_bias; i++) {
        const float b = a->bias[i];
        if (!(b <= 1e6f && (b >= -1e6f || b == -INFINITY)))
            return gf_fail(err, GF_ERR_ARGUMENT, "a bias must be from -1000000 to 1000000, or -infinity");
    }
    return GF_OK;
}

/* Change the logits x [n] by `a`. Ids outside the vocabulary are skipped. */
static void adjust(float *x, int32_t n, const struct gf_adjustment *a) {
    for (int32_t i = 0; i < a->n_bias; i++)
        if (a->bias_id[i] >= 0 && a->bias_id[i] < n) x[a->bias_id[i]] += a->bias[i];
    for (int32_t i = 0; a->allowed && i < n; i++)
        if (!(a->allowed[i / 32] >> (i % 32) & 1)) x[i] = -INFINITY;
}

/* Restore the order of a heap [k] with its smallest value at the top, after the top has been replaced. */
static void sift_down(float *heap, int32_t k) {
    for (int32_t i = 0, child; (child = 2 * i + 1) < k; i = child) {
        if (child + 1 < k && heap[child + 1] < heap[child]) child++;
        if (heap[i] <= heap[child]) return;
        const float t = heap[i];
        heap[i] = heap[child];
        heap[child] = t;
    }
}

/* The k-th largest of x [n], k <= n. heap [k] is scratch. */
static float kth_largest(const float *x, int32_t n, int32_t k, float *heap) {
    for (int32_t i = 0; i < k; i++) heap[i] = -INFINITY;
    for (int32_t i = 0; i < n; i++)
        if (x[i] > heap[0]) {
            heap[0] = x[i];
            sift_down(heap, k);
        }
    return heap[0];
}

/* Make candidates of all tokens whose logit is at least `least`, except those of -inf. logits may be c->weight itself:
 * each value is read before its place is written. */
static void collect(struct candidates *c, const float *logits, int32_t n, float least) {
    c->n = 0;
    for (int32_t i = 0; i < n; i++)
        if (logits[i] >= least && logits[i] > -INFINITY) {
            c->id[c->n] = i;
            c->weight[c->n++] = logits[i];
        }
}

/* Turn the candidates' logits into weights exp(logit - largest logit). */
static void to_weights(struct candidates *c) {
    float largest = -INFINITY;
    for (int32_t i = 0; i < c->n; i++)
        if (c->weight[i] > largest) largest = c->weight[i];
    for (int32_t i = 0; i < c->n; i++) c->weight[i] -= largest;
    gf_exp(c->weight, c->weight, c->n);
    c->sum = 0;
    for (int32_t i = 0; i < c->n; i++) c->sum += (double)c->weight[i];
}

/* Drop the candidates whose weight is less than `least`. */
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

/* Whether candidate a comes before b: the larger weight first, then the smaller id. */
static int ranks_before(const struct candidates *c, int32_t a, int32_t b) {
    return c->weight[a] > c->weight[b] || (c->weight[a] == c->weight[b] && a < b);
}

/* Sort the candidate indices v [n] by rank, with heapsort: it needs no memory and no recursion. */
static void sort_by_rank(const struct candidates *c, int32_t *v, int32_t n) {
    for (int32_t end = n, start = n / 2; end > 1;) {
        if (start)
            start--;
        else {
            const int32_t t = v[--end];
            v[end] = v[0];
            v[0] = t;
        }
        for (int32_t i = start, child; (child = 2 * i + 1) < end; i = child) {
            if (child + 1 < end && ranks_before(c, v[child], v[child + 1])) child++;
            if (!ranks_before(c, v[i], v[child])) break;
            const int32_t t = v[i];
            v[i] = v[child];
            v[child] = t;
        }
    }
}

/* Keep the smallest set of most likely candidates whose probabilities sum to more than p. */
static void top_p(struct candidates *c, float p) {
    /* A candidate with less than (1 - p) / n of the sum is never kept: all such candidates together have less than
     * 1 - p, so the others exceed p. The division is by n; by n - 1, as some implementations have it, n equal weights
     * would all be dropped. */
    const double cut = (1 - (double)p) / c->n * c->sum;
    int32_t n = 0;
    for (int32_t i = 0; i < c->n; i++)
        if ((double)c->weight[i] >= cut) c->order[n++] = i;
    sort_by_rank(c, c->order, n);
    double mass = 0;
    int32_t kept = 0;
    while (kept < n) {
        mass += (double)c->weight[c->order[kept++]];
        if (mass > (double)p * c->sum) break;
    }
    /* Mark what is dropped with a negative weight; the rest stays in the order of ids. */
    float *weight = c->weight;
    for (int32_t i = kept; i < n; i++) weight[c->order[i]] = -1;
    for (int32_t i = 0; i < c->n; i++)
        if ((double)weight[i] < cut) weight[i] = -1;
    keep_at_least(c, 0);
}

/* Set c to the tokens that can be drawn and their weights. logits [n] are finite or -inf. Temperature 0 leaves one, the
 * most likely. Fails when `a` excludes every token. */
static int32_t find_candidates(struct candidates *c, const float *logits, int32_t n, const struct gf_sampling *p,
                               const struct gf_adjustment *a, const int32_t *seen, int32_t n_seen,
                               struct gf_error *err) {
    float *x = c->weight;
    penalise(x, logits, n, p->repetition_penalty, seen, n_seen);
    if (a) adjust(x, n, a);
    const int32_t best = gf_argmax(x, n);
    if (best < 0) return gf_fail(err, GF_ERR_ARGUMENT, "bias and grammar exclude every token");
    if (p->temperature == 0) {
        c->n = 1;
        c->id[0] = best;
        c->weight[0] = 1;
        c->sum = 1;
        return GF_OK;
    }
    /* The largest logit becomes 0, so that division by a small temperature overflows to -inf only. */
    const float largest = x[best];
    for (int32_t i = 0; i < n; i++) x[i] = (x[i] - largest) / p->temperature;
    float least = -INFINITY;
    if (p->top_k > 0 && p->top_k < n) least = kth_largest(x, n, p->top_k, (float *)(void *)c->order);
    collect(c, x, n, least);
    to_weights(c);
    if (p->top_p < 1) top_p(c, p->top_p);
    if (p->min_p > 0) keep_at_least(c, p->min_p); /* the largest weight is 1 */
    return c->n ? GF_OK : gf_fail(err, GF_ERR_ARGUMENT, "the settings of the sampler exclude every token");
}

/* GF_OK unless a logit is NaN or +inf, or all are -inf. A logit of -inf has probability 0. */
static int32_t check_logits(const float *logits, int32_t n, struct gf_error *err) {
    if (gf_argmax(logits, n) >= 0) return GF_OK;
    return gf_fail(err, GF_ERR_NOT_FINITE, "the logits hold NaN or infinity: weights or activations are out of range");
}

void gf_session_seed(struct gf_session *s, uint64_t seed) { gf_rng_seed(&s->rng, seed); }

int32_t gf_session_sample(struct gf_session *s, const struct gf_sampling *p, const struct gf_adjustment *a,
                          struct gf_choice *out, struct gf_error *err) {
    const int32_t n = s->model->cfg.vocab_size;
    s->drawn = (struct gf_drawn){0, 0, 0};
    if (s->model->cfg.n_labels) return gf_fail(err, GF_ERR_STATE, "a classifier has no next token");
    int32_t status = check_adjustment(a, err);
    if (status != GF_OK) return status;
    const float *logits = gf_session_logits(s, s->hidden_rows - 1, 1, err);
    if (!logits) return err ? err->status : GF_ERR_STATE;
    const int32_t best = gf_argmax(logits, n);
    if (best < 0) return check_logits(logits, n, err);
    if (p->temperature == 0 && p->repetition_penalty == 1 && !a) {
        s->drawn = (struct gf_drawn){1, best, 1};
        *out = (struct gf_choice){best, logits[best] - gf_logsumexp(logits, n, s->model->pool)};
        return GF_OK;
    }
    struct candidates c;
    if (place_candidates(&c, &s->sampling, n))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for a distribution over %d tokens", n);
    status = find_candidates(&c, logits, n, p, a, s->ids, s->kv.length, err);
    if (status != GF_OK) return status;
    s->drawn = (struct gf_drawn){c.n, c.id[0], c.sum};
    int32_t chosen = 0;
    if (c.n > 1) {
        double left = gf_rng_uniform(&s->rng) * c.sum;
        while (chosen < c.n - 1 && (left -= (double)c.weight[chosen]) >= 0) chosen++;
    }
    out->id = c.id[chosen];
    out->logprob = logits[out->id] - gf_logsumexp(logits, n, s->model->pool);
    return GF_OK;
}

float gf_session_probability(struct gf_session *s, int32_t id) {
    struct candidates c;
    if (s->drawn.n <= 1 || place_candidates(&c, &s->sampling, s->model->cfg.vocab_size))
        return s->drawn.n == 1 && id == s->drawn.first;
    int32_t from = 0, to = s->drawn.n; /* the ids ascend */
    while (to - from > 1) {
        const int32_t middle = from + (to - from) / 2;
        *(c.id[middle] <= id ? &from : &to) = middle;
    }
    return c.id[from] == id ? (float)((double)c.weight[from] / s->drawn.sum) : 0;
}

int32_t gf_distribution(float *probs, const float *logits, int32_t n, const struct gf_sampling *p,
                        const struct gf_adjustment *a, const int32_t *seen, int32_t n_seen, struct gf_error *err) {
    if (n < 1) return gf_fail(err, GF_ERR_ARGUMENT, "at least one logit is needed");
    int32_t status = check_adjustment(a, err);
    if (status == GF_OK) status = check_logits(logits, n, err);
    if (status != GF_OK) return status;
    struct candidates c;
    void *memory = NULL;
    if (place_candidates(&c, &memory, n))
        return gf_fail(err, GF_ERR_MEMORY, "no memory for a distribution over %d tokens", n);
    status = find_candidates(&c, logits, n, p, a, seen, n_seen, err);
    if (status == GF_OK) {
        memset(probs, 0, (size_t)n * sizeof *probs);
        for (int32_t i = 0; i < c.n; i++) probs[c.id[i]] = (float)((double)c.weight[i] / c.sum);
    }
    free(memory);
    return status;
}

int32_t gf_top(const float *logits, int32_t n, int32_t k, struct gf_choice *out, struct gf_error *err) {
    if (n < 1 || k < 1)
        return gf_fail(err, GF_ERR_ARGUMENT, "at least one logit and k of at least 1 are needed, found %d and %d", n,
                       k);
    if (k > n) k = n;
    int32_t status = check_logits(logits, n, err);
    if (status != GF_OK) return status;
    const float log_sum = gf_logsumexp(logits, n, NULL);
    int32_t have = 0; /* sorted in out so far; insertion, because k is small */
    for (int32_t i = 0; i < n; i++) {
        if (have == k && !(logits[i] > out[k - 1].logprob)) continue;
        int32_t rank = have < k ? have++ : k - 1;
        while (rank > 0 && logits[i] > out[rank - 1].logprob) {
            out[rank] = out[rank - 1];
            rank--;
        }
        out[rank] = (struct gf_choice){i, logits[i]};
    }
    for (int32_t i = 0; i < k; i++) out[i].logprob -= log_sum;
    return k;
}
