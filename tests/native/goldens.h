/* goldens.h - every golden model, opened once for a test, and the comparison with its outputs. */
#ifndef GF_GOLDENS_H
#define GF_GOLDENS_H
#include "golden.h"
#include "status.h"
#include <stdlib.h>

static struct golden all[N_GOLDEN];

static inline struct golden *golden(const char *name) {
    for (int i = 0; i < N_GOLDEN; i++)
        if (!strcmp(all[i].name, name)) return &all[i];
    printf("no golden model %s\n", name);
    exit(1);
}

#define EACH_GOLDEN(g) for (struct golden *g = all; g < all + N_GOLDEN; g++)
#define EACH_RUN(g, r) for (struct golden_run *r = (g)->runs; r < (g)->runs + (g)->n_runs; r++)
/* Close, with the names in the message. */
#define CHECK_CLOSE(diff, bound, ...)                                                                                  \
    do {                                                                                                               \
        double diff_ = (diff), bound_ = (bound);                                                                       \
        if (check_note(diff_ <= bound_, __FILE__, __LINE__)) {                                                         \
            printf(__VA_ARGS__);                                                                                       \
            printf(": off by %.3g, allowed %.3g\n", diff_, bound_);                                                    \
        }                                                                                                              \
    } while (0)

static inline struct gf_model *model_of(const struct golden *g, const struct gf_config *cfg) {
    struct feeding how = {.dtypes = golden_dtypes(g)};
    struct gf_model *m = golden_model(g, cfg, &how, &err);
    if (check_note(m != NULL, __FILE__, __LINE__)) printf("%s: %s\n", g->name, err.text);
    return m;
}

/* The largest difference between a run's golden output and that of model m. */
static inline double off_by(const struct gf_model *m, const struct golden_run *r, const float *want) {
    if (!m) return 0;
    const int64_t n = (int64_t)r->rows * r->cols;
    float *y = malloc((size_t)n * sizeof *y);
    CHECK_OK(golden_output(m, r, y, &err));
    double d = max_diff(y, want, n);
    free(y);
    return d;
}
#endif
