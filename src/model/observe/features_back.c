/* features_back.c - the derivative of edits of features, backward: what flows from the changed values of a row to those
 * before.
 *
 *   y = x + sum over edits of ((scale - 1) z(x') + add) unit d      x' and unit: of the row's norm (features.c)
 *
 * z of an active feature is gain W x' + magnitude, and its derivative by x' is gain times its row of W; that of a
 * feature that is not active is 0. Where a feature begins or ends to be active z has no derivative: with TopK, and with
 * a threshold above 0, it jumps there, and this counts as if the same features stayed active. */
#include "model/observe/features.h"
#include <math.h>
#include <string.h>

/* g += what flows from the slopes v by x', and the slope `units` by unit, through the norm. With c = the row less its
 * token's mean:
 *   norm 1   unit = |c| / sqrt(d)                           x' = c / unit
 *   norm 2   unit = |c - mean| / sqrt(d - 1), by = unit + 1e-5    x' = (c - mean) / by */
static void through_norm(const struct gf_features *f, const float *x, float unit, double units, const float *v,
                         float *g) {
    const int32_t d = f->spec.d;
    double along = 0, mean = 0, slope = 1.0 / d, share = 1;
    if (!f->spec.norm) {
        gf_axpy(g, v, 1, d);
        return;
    }
    if (!(unit > 0)) return; /* a row of equal values: its direction is not defined */
    for (int32_t c = 0; c < d; c++) along += (double)v[c] * (double)x[c];
    if (f->spec.norm == 2) {
        const double by = (double)unit + 1e-5;
        for (int32_t c = 0; c < d; c++) mean += (double)v[c] / d;
        slope = by / ((d - 1) * (double)unit); /* d unit / d c = slope x' */
        share = (double)unit / by;
    }
    for (int32_t c = 0; c < d; c++)
        g[c] += (float)(share * ((double)v[c] - mean) + slope * (double)x[c] * (units - share * along));
}

void gf_features_back(struct gf_features *f, const struct gf_edit *edits, int32_t n, int32_t position, int32_t row,
                      float *g) {
    const int32_t d = f->spec.d;
    const float *z = f->z + (int64_t)row * f->spec.size;
    float *v = f->slope, *w = v + d;
    double units = 0;
    int32_t changed = 0;
    if (position < f->spec.from) return;
    memset(v, 0, (size_t)d * sizeof *v);
    for (int32_t k = 0; k < n; k++) {
        const struct gf_edit *e = &edits[k];
        if (e->position >= 0 && e->position != position) continue;
        const double by = (double)e->scale - 1;
        double along = 0;
        for (int32_t c = 0; c < d; c++) along += (double)e->values[c] * (double)g[c];
        units += along * (by * (double)z[e->index] + (double)e->add);
        changed = 1;
        if (z[e->index] == 0 || by == 0) continue;
        gf_mat_get_row(w, &f->w, e->index);
        gf_axpy(v, w, (float)(along * by) * (f->spec.k ? 1 : f->gain[e->index]), d);
    }
    if (changed) through_norm(f, f->x + (int64_t)row * d, f->scale[row], units, v, g);
}
