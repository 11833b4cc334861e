/* feature_gradients_test.c - what flows back through edits of features, against central differences of plain loops in
 * double. */
#include "plain_dictionaries.h"
#include <float.h>
#include "train/gradients.h"

enum { N_EDITS = 5 };
static const struct gf_edit edits[N_EDITS] = {
    /* a group of one encoder: all positions, a feature twice, one position alone; then the same encoder again */
    {.position = -1, .index = 4, .op = GF_EDIT_FEATURE, .scale = 0},
    {.position = -1, .index = 9, .op = GF_EDIT_FEATURE, .scale = 2.5f, .add = 0.5f},
    {.position = 7, .index = 4, .op = GF_EDIT_FEATURE, .scale = -1, .add = 3},
    {.position = -1, .index = -1, .op = GF_EDIT_SCALE, .scale = 0.5f},
    {.position = -1, .index = 20, .op = GF_EDIT_FEATURE, .scale = 3},
};

/* y = the row after all edits, in double. */
static void edit_plainly(const struct dictionary *y, float directions[N_EDITS][D], const double *x, int32_t position,
                         double *out) {
    double z[SIZE], unit = 0;
    memcpy(out, x, D * sizeof *out);
    for (int32_t k = 0; k < N_EDITS; k++) {
        if (k == 0 || k == 4) unit = encode_plainly(y, out, ids[position], position, z);
        for (int32_t c = 0; c < D && edits[k].op == GF_EDIT_SCALE; c++) out[c] *= (double)edits[k].scale;
        if (edits[k].op == GF_EDIT_SCALE || position < y->spec.from) continue;
        if (edits[k].position >= 0 && edits[k].position != position) continue;
        const double by = ((double)edits[k].scale - 1) * z[edits[k].index] + (double)edits[k].add;
        for (int32_t c = 0; c < D; c++) out[c] += unit * by * (double)directions[k][c];
    }
}

/* The gradients at the edited point and at the output of the MLP below it, by which that point's values change alike:
 * `after` and `before` [TOKENS][D]. */
static void run_gradients(const struct dictionary *y, float directions[N_EDITS][D], float *after, float *before) {
    const struct gf_config c = small_config();
    struct gf_gradients g;
    CHECK_INT(gf_gradients_open(&g, &c, NULL, &err), GF_OK);
    fill(g.model);
    for (int32_t k = 0; k < N_EDITS; k++) {
        struct gf_edit e = edits[k];
        e.head = -1;
        e.features = e.op == GF_EDIT_FEATURE ? y->f : NULL;
        CHECK_INT(gf_gradients_edit(&g, GF_STACK_DECODER, 1, &e, GF_P_RESID_POST, directions[k], &err), GF_OK);
    }
    const int32_t points[2] = {GF_P_RESID_POST, GF_P_MLP_OUT};
    float *to[2] = {after, before};
    for (int i = 0; i < 2; i++) g.observe->captured[gf_place(&c, GF_STACK_DECODER, 1, points[i])].wanted = 1;
    double loss;
    const struct gf_question q = {.ids = ids, .n = TOKENS, .embedding = 1};
    CHECK_INT(gf_gradients_run(&g, &q, &loss, &err), GF_OK);
    for (int i = 0; i < 2; i++)
        memcpy(to[i], g.observe->captured[gf_place(&c, GF_STACK_DECODER, 1, points[i])].data,
               TOKENS * D * sizeof(float));
    gf_gradients_close(&g);
}

static void gradients_flow_through_the_values_of_features(void) {
    struct gf_model *m = model();
    static float rows[TOKENS][D], after[TOKENS][D], before[TOKENS][D], directions[N_EDITS][D];
    int32_t dims[3];
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
    gf_session_capture(s, GF_STACK_DECODER, 1, GF_P_RESID_POST, 1, &err);
    CHECK_INT(gf_session_eval(s, ids, TOKENS, &err), GF_OK);
    memcpy(rows, gf_session_captured(s, GF_STACK_DECODER, 1, GF_P_RESID_POST, dims), sizeof rows);
    gf_session_close(s);
    EACH_SPEC(i) {
        static struct dictionary y;
        open_dictionary(&y, specs[i]);
        for (int32_t k = 0; k < N_EDITS; k++)
            for (int32_t c = 0; c < D; c++) directions[k][c] = y.table[k][c];
        run_gradients(&y, directions, after[0], before[0]);
        double worst = 0, changed = 0;
        for (int32_t t = 0; t < TOKENS; t++) {
            double x[D], up[D], down[D], most = 0;
            widen(x, rows[t]);
            for (int32_t c = 0; c < D; c++) most = fmax(most, fabs((double)after[t][c]));
            for (int32_t c = 0; c < D; c++) {
                const double h = 1e-6;
                double want = 0;
                x[c] += h, edit_plainly(&y, directions, x, t, up);
                x[c] -= 2 * h, edit_plainly(&y, directions, x, t, down);
                x[c] += h;
                for (int32_t j = 0; j < D; j++) want += (double)after[t][j] * (up[j] - down[j]) / (2 * h);
                changed = fmax(changed, fabs(want - 0.5 * (double)after[t][c]) / most);
                worst = fmax(worst, fabs((double)before[t][c] - want) / most);
            }
        }
        CHECK_NEAR(worst, 0, D * (double)FLT_EPSILON);
        CHECK(changed > 0.5); /* the features matter */
        gf_features_close(y.f);
    }
    gf_model_close(m);
}

int main(void) {
    RUN(gradients_flow_through_the_values_of_features);
    return check_end();
}
