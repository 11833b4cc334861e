/* params.c - see params.h. */
#include "train/params.h"
#include "base/arena.h"
#include "base/rng.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

struct bind {
    struct gf_params *p;
    uint64_t used, start;  /* floats; start: of the matrix or vector that contains the entry */
    int32_t index, first;  /* first: the first entry of that matrix or vector */
    const uint8_t *wanted; /* of the entries; NULL: all */
    uint8_t *kept;         /* by first entries: whether one that shares theirs is wanted */
};

static int begins(const struct gf_slot *s) { return s->vec ? s->offset == 0 : s->row0 == 0; }

/* Note which matrices and vectors are kept. */
static void keep(void *ctx, const struct gf_slot *s) {
    struct bind *b = ctx;
    const int32_t index = b->index++;
    if (s->t.tied_to >= 0) return;
    if (begins(s)) b->first = index;
    b->kept[b->first] |= !b->wanted || b->wanted[index];
}

/* One roster entry. The first walk, without data, sums the sizes; the second sets the addresses. */
static void visit(void *ctx, const struct gf_slot *s) {
    struct bind *b = ctx;
    struct gf_params *p = b->p;
    const int32_t index = b->index++;
    if (s->t.tied_to >= 0) return;
    if (begins(s)) b->first = index;
    if (!b->kept[b->first]) return;
    if (begins(s)) {
        const uint64_t floats = s->vec ? s->vec_len : (uint64_t)s->mat_rows * (uint64_t)s->t.cols;
        b->start = b->used;
        b->used += (floats + 15) / 16 * 16;
        if (p->data && s->vec) *s->vec = p->data + b->start;
        if (p->data && s->mat)
            *s->mat = (struct gf_mat){.rows = s->mat_rows, .cols = s->t.cols, .data = p->data + b->start};
    }
    if (p->data) {
        p->list[p->n_list].t = s->t;
        p->list[p->n_list].index = index;
        p->list[p->n_list].offset = b->start + (s->vec ? s->offset : (uint64_t)s->row0 * (uint64_t)s->t.cols);
    }
    p->n_list++;
}

/* The parts of a matrix (q, k, v; gate, up) follow each other in the roster, and so do those of a vector. Therefore
 * b->start changes only at a first part. */
int gf_params_open_some(struct gf_params *p, const struct gf_config *cfg, const uint8_t *wanted) {
    memset(p, 0, sizeof *p);
    struct bind b = {.p = p, .wanted = wanted, .kept = gf_calloc((uint64_t)gf_roster_count(cfg), 1)};
    uint8_t *kept = b.kept;
    if (!kept || gf_weights_open(&p->w, cfg)) goto no_memory;
    gf_roster_walk(cfg, &p->w, keep, &b);
    b.index = 0;
    gf_roster_walk(cfg, &p->w, visit, &b);
    p->n = b.used;
    p->data = gf_alloc(p->n * sizeof *p->data);
    p->list = gf_calloc((uint64_t)p->n_list + 1, sizeof *p->list);
    if (!p->data || !p->list) goto no_memory;
    p->n_list = 0;
    b = (struct bind){.p = p, .kept = kept};
    gf_roster_walk(cfg, &p->w, visit, &b);
    free(kept);
    gf_weights_share(&p->w, cfg);
    return 0;
no_memory:
    free(kept);
    gf_params_close(p);
    return -1;
}

int gf_params_open(struct gf_params *p, const struct gf_config *cfg) { return gf_params_open_some(p, cfg, NULL); }

int gf_params_like(struct gf_params *p, const struct gf_params *like) {
    *p = (struct gf_params){.n = like->n, .n_list = like->n_list};
    p->data = gf_alloc(p->n * sizeof *p->data);
    p->list = gf_calloc((uint64_t)p->n_list + 1, sizeof *p->list);
    if (!p->data || !p->list) {
        gf_params_close(p);
        return -1;
    }
    memcpy(p->list, like->list, (size_t)p->n_list * sizeof *p->list);
    return 0;
}

void gf_params_close(struct gf_params *p) {
    gf_free(p->data);
    free(p->list);
    gf_weights_close(&p->w);
    memset(p, 0, sizeof *p);
}

static int ends(const char *name, const char *with) {
    const size_t n = strlen(name), m = strlen(with);
    return n >= m && !strcmp(name + n - m, with);
}

void gf_params_init(struct gf_params *p, const struct gf_config *cfg, uint64_t seed, float std, int scaled) {
    struct gf_rng rng;
    gf_rng_seed(&rng, seed);
    for (int32_t i = 0; i < p->n_list; i++) {
        const struct gf_param *e = &p->list[i];
        float *x = p->data + e->offset;
        const int out = ends(e->t.name, "attn.o.weight") || ends(e->t.name, ".down.weight");
        const int32_t layers =
            e->t.stack == GF_STACK_ENCODER && cfg->kind == GF_ENCODER_DECODER ? cfg->n_encoder_layers : cfg->n_layers;
        const float s = scaled && out ? std / sqrtf(2.0f * (float)layers) : std;
        for (uint64_t j = 0; j < e->t.count; j++)
            x[j] = e->t.rank == 2 ? s * (float)gf_rng_normal(&rng) : ends(e->t.name, ".weight") ? 1 : 0;
    }
}

void gf_name_in_layer(char name[64], const char *pattern, int32_t layer) {
    const char *mark = strstr(pattern, "%d"); /* at most one, and it is the layer */
    snprintf(name, 64, mark ? "%.*s%d%s" : "%.*s", mark ? (int)(mark - pattern) : 63, pattern, layer,
             mark ? mark + 2 : "");
}

const struct gf_param *gf_params_find(const struct gf_params *p, const char *pattern, int32_t layer) {
    char name[64];
    gf_name_in_layer(name, pattern, layer);
    for (int32_t i = 0; i < p->n_list; i++)
        if (!strcmp(p->list[i].t.name, name)) return &p->list[i];
    return NULL;
}
