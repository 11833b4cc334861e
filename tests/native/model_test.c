/* model_test.c - compares models with tests/golden: outputs of every variant, capture points, edits, all ways to load
 * weights. */
#include "goldens.h"

static double largest(const float *x, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i]) && fabs((double)x[i]) > most) most = fabs((double)x[i]);
    return most;
}

/* ---- the roster -------------------------------------------------------------------------------------------------- */

static void roster_lists_the_golden_weights(void) {
    EACH_GOLDEN(g) {
        const int32_t n = gf_roster_count(&g->cfg);
        uint64_t sum = 0, golden_sum = 0;
        int32_t at = 0;
        for (int32_t i = 0; i < n; i++) {
            struct gf_tensor t;
            CHECK_INT(gf_roster_tensor(&g->cfg, i, &t), GF_OK);
            sum += t.count;
            if (t.tied_to >= 0) {
                CHECK_TEXT(t.name, "head.weight");
                CHECK_INT(t.count, 0);
                struct gf_tensor table;
                CHECK_INT(gf_roster_tensor(&g->cfg, t.tied_to, &table), GF_OK);
                CHECK_TEXT(table.name, "embed.weight");
                continue;
            }
            CHECK(at < g->n_weights);
            if (at == g->n_weights) break;
            const struct golden_weight *w = &g->weights[at++];
            CHECK_TEXT(t.name, w->name);
            CHECK_INT(t.rank, w->rank);
            CHECK_INT(t.rows, w->rows);
            CHECK_INT(t.cols, w->cols);
            CHECK_INT(t.count, (int64_t)w->rows * w->cols);
            golden_sum += t.count;
        }
        CHECK_INT(at, g->n_weights);
        CHECK_INT(gf_count_parameters(&g->cfg), sum);
        CHECK_INT(sum, golden_sum);
    }
}

/* ---- outputs and points ------------------------------------------------------------------------------------------ */

static void outputs_match_the_golden_models(void) {
    EACH_GOLDEN(g) EACH_RUN(g, r) {
        struct gf_model *m = model_of(g, &r->cfg);
        CHECK_CLOSE(off_by(m, r, r->output), (double)r->tolerance, "%s, %s", g->name, r->name);
        gf_model_close(m);
    }
}

/* Cells that the mask forbids are never computed: -inf at every stage before the softmax. */
static void hide_what_is_masked(const struct golden_run *r, const struct golden_point *p, float *want) {
    const int cross = !strncmp(p->name, "cross", 5);
    const struct golden_point *masked = NULL;
    for (int32_t i = 0; i < r->n_points; i++)
        if (r->points[i].stack == p->stack && r->points[i].layer == p->layer &&
            r->points[i].point == (cross ? GF_P_CROSS_SCORES : GF_P_SCORES))
            masked = &r->points[i];
    const int64_t n = (int64_t)p->dims[0] * p->dims[1] * p->dims[2];
    for (int64_t i = 0; masked && i < n; i++)
        if (isinf(masked->data[i])) want[i] = -INFINITY;
}

static void check_point(const struct golden *g, const struct golden_run *r, const struct golden_point *p,
                        struct gf_session *s) {
    int32_t dims[3] = {0, 0, 0};
    const float *got = gf_session_captured(s, p->stack, p->layer, p->point, dims);
    if (check_note(got && !memcmp(dims, p->dims, sizeof dims), __FILE__, __LINE__))
        printf("%s, %s: %s of layer %d, stack %d: [%d, %d, %d], expected [%d, %d, %d]\n", g->name, r->name, p->name,
               p->layer, p->stack, dims[0], dims[1], dims[2], p->dims[0], p->dims[1], p->dims[2]);
    if (!got || memcmp(dims, p->dims, sizeof dims)) return;
    const int64_t n = (int64_t)dims[0] * dims[1] * dims[2];
    float *want = malloc((size_t)n * sizeof *want);
    memcpy(want, p->data, (size_t)n * sizeof *want);
    if (strstr(p->name, "scores_")) hide_what_is_masked(r, p, want);
    const double most = largest(want, n);
    CHECK_CLOSE(max_diff(got, want, n), strstr(p->name, "pattern") ? 2e-5 : 2e-5 * fmax(1, most),
                "%s, %s: %s of layer %d, stack %d", g->name, r->name, p->name, p->layer, p->stack);
    free(want);
}

static void every_capture_point_matches_the_golden_models(void) {
    EACH_GOLDEN(g) EACH_RUN(g, r) {
        struct gf_model *m = model_of(g, &r->cfg);
        struct gf_session *s = m ? gf_session_open(m, 0, GF_KV_F32, &err) : NULL;
        CHECK(s != NULL);
        if (!s) continue;
        int32_t there = 0;
        for (int32_t stack = 0; stack < 2; stack++)
            for (int32_t layer = -1; layer < 3; layer++)
                for (int32_t point = 0; point < GF_N_POINTS; point++)
                    there += gf_session_capture(s, stack, layer, point, 1, &err) == GF_OK;
        CHECK(golden_eval(s, r, &err) != NULL);
        for (int32_t i = 0; i < r->n_points; i++) check_point(g, r, &r->points[i], s);
        /* every point that the engine captures is checked, and every point of the architecture exists */
        if (r->full) CHECK_INT(there, r->n_points);
        gf_session_close(s);
        gf_model_close(m);
    }
}

static void apply(struct gf_session *s, const struct golden_edit *e) {
    CHECK_OK(gf_session_edit(s, e->stack, e->layer, e->point, e->head, e->position, -1, e->op, e->scale, e->values,
                             e->n_values, &err));
}

static void an_edit_at_every_point_matches_the_golden_models(void) {
    int n = 0;
    EACH_GOLDEN(g) EACH_RUN(g, r) {
        if (!r->n_edits) continue;
        struct gf_model *m = model_of(g, &r->cfg);
        for (int32_t i = 0; m && i < r->n_edits; i++, n++) {
            const struct golden_edit *e = &r->edits[i];
            struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, &err);
            apply(s, e);
            const float *y = golden_eval(s, r, &err);
            CHECK(y != NULL);
            if (!y) break;
            CHECK_CLOSE(max_diff(y, e->output, (int64_t)r->rows * r->cols), (double)r->tolerance,
                        "%s: edit %d at %s, layer %d, stack %d, head %d, position %d", g->name, e->op, e->name,
                        e->layer, e->stack, e->head, e->position);
            gf_session_close(s);
        }
        gf_model_close(m);
    }
    CHECK(n > 100);
}

/* ---- how weights arrive ------------------------------------------------------------------------------------------ */

/* Weights that f32, f16 and bf16 represent exactly give the same bits for every type in the file and in memory,
 * transposed or not, stacked or not, in pieces of any size. */
static void float_types_layouts_and_piece_sizes_give_the_same_bits(void) {
    static const char *const names[] = {"modern_tied", "gpt2"};
    static const uint8_t formats[] = {GF_F32, GF_F16, GF_BF16};
    uint8_t mixed[256];
    for (int i = 0; i < 256; i++) mixed[i] = formats[i % 3];
    for (int k = 0; k < 2; k++) {
        const struct golden *g = golden(names[k]);
        const struct golden_run *r = &g->runs[0];
        const size_t n_bytes = (size_t)r->rows * (size_t)r->cols * sizeof(float);
        float *first = malloc(n_bytes), *y = malloc(n_bytes);
        struct gf_model *m = model_of(g, &r->cfg);
        CHECK_OK(golden_output(m, r, first, &err));
        gf_model_close(m);
        for (uint64_t way = 0; way < 48; way++) {
            struct feeding how = {.dtypes = way / 3 % 4 == 3 ? mixed : all_kept_as(formats[way / 3 % 4]),
                                  .file_dtype = formats[way % 3],
                                  .transposed = way / 12 % 2,
                                  .stacked = way / 24 % 2,
                                  .seed = way * 7919};
            m = golden_model(g, &r->cfg, &how, &err);
            CHECK(m != NULL);
            if (!m) continue;
            CHECK_OK(golden_output(m, r, y, &err));
            CHECK_BITS(y, first, n_bytes);
            gf_model_close(m);
        }
        free(first);
        free(y);
    }
}

/* Weights that a block format represents exactly are loaded as floats and read back unchanged. */
static void block_formats_keep_weights_that_they_represent_exactly(void) {
    for (int dtype = GF_Q8_0; dtype <= GF_Q4_1; dtype++) {
        const struct golden *g = golden(dtype == GF_Q8_0 ? "q8_0" : dtype == GF_Q4_0 ? "q4_0" : "q4_1");
        const struct golden_run *r = &g->runs[0];
        const size_t n_bytes = (size_t)r->rows * (size_t)r->cols * sizeof(float);
        float *first = malloc(n_bytes), *y = malloc(n_bytes);
        for (int way = 0; way < 2; way++) { /* quantised while loading; the second time transposed */
            struct feeding how = {
                .dtypes = all_kept_as(dtype), .transposed = way, .stacked = way, .seed = (uint64_t)way};
            struct gf_model *m = golden_model(g, &r->cfg, &how, &err);
            CHECK(m != NULL);
            if (!m) continue;
            CHECK_OK(golden_output(m, r, way ? y : first, &err));
            CHECK_CLOSE(max_diff(way ? y : first, r->output, (int64_t)r->rows * r->cols), (double)r->tolerance,
                        "%s, way %d", g->name, way);
            if (way) CHECK_BITS(y, first, n_bytes);
            int32_t kept = 0;
            for (int32_t i = 0; i < gf_roster_count(&r->cfg); i++) {
                struct gf_tensor t;
                gf_model_tensor(m, i, &t);
                kept += t.dtype == dtype;
                float row[64];
                for (int32_t k = 0; k < t.rows; k++) { /* read back */
                    CHECK_OK(gf_tensor_read(m, i, k, row, &err));
                    const struct golden_weight *w = NULL;
                    for (int32_t j = 0; j < g->n_weights; j++)
                        if (!strcmp(g->weights[j].name, t.tied_to < 0 ? t.name : "embed.weight")) w = &g->weights[j];
                    CHECK(w != NULL);
                    if (w) CHECK_BITS(row, w->data + (int64_t)k * t.cols, (size_t)t.cols * 4);
                }
            }
            CHECK(kept >= 8);
            gf_model_close(m);
        }
        free(first);
        free(y);
    }
}

/* Load one matrix block by block and store it as `kept`. */
static void check_blocks(const struct golden *from, int32_t entry, int dtype, int kept) {
    struct gf_model *m = gf_model_open(&from->cfg, all_kept_as(kept), &err);
    CHECK(m != NULL);
    if (!m) return;
    const struct golden_weight *w = &from->weights[entry];
    const int64_t n = (int64_t)w->rows * w->cols;
    const int32_t block = gf_dtype_block_bytes(dtype);
    uint8_t bytes[41 * 64 / 32 * 34];
    CHECK(n / 32 * block <= (int64_t)sizeof bytes);
    gf_quantize(bytes, w->data, dtype, n);
    CHECK_OK(gf_tensor_begin(m, entry, 1, dtype, 0, &err));
    for (int32_t i = 0; i < n / 32; i++) CHECK_OK(gf_tensor_write(m, bytes + i * block, (uint32_t)block, &err));
    CHECK_OK(gf_tensor_end(m, &err));
    float row[64];
    for (int32_t i = 0; i < w->rows; i++) {
        const float *want = w->data + (int64_t)i * w->cols;
        CHECK_OK(gf_tensor_read(m, entry, i, row, &err));
        if (kept == dtype || kept == GF_F32)
            CHECK_BITS(row, want, (size_t)w->cols * sizeof *row);
        else /* the others round; q4_0 most, because its positive side ends at 7/8 of the negative one */
            CHECK_CLOSE(max_diff(row, want, w->cols), 0.126 * largest(want, w->cols), "%s: dtype %d kept as %d",
                        w->name, dtype, kept);
    }
    gf_model_close(m);
}

static void blocks_from_a_file_are_stored_unchanged(void) {
    static const char *const names[] = {"q8_0", "q4_0", "q4_1"};
    for (int k = 0; k < 3; k++) {
        const struct golden *from = golden(names[k]);
        for (int32_t i = 0; i < from->n_weights; i++)
            for (int kept = 0; kept <= GF_Q4_1; kept++)
                if (from->weights[i].rank == 2 && !strstr(from->weights[i].name, "head"))
                    check_blocks(from, i, GF_Q8_0 + k, kept);
    }
}

int main(void) {
    for (int i = 0; i < N_GOLDEN; i++) golden_open(&all[i], golden_names[i]);
    RUN(roster_lists_the_golden_weights);
    RUN(outputs_match_the_golden_models);
    RUN(every_capture_point_matches_the_golden_models);
    RUN(an_edit_at_every_point_matches_the_golden_models);
    RUN(float_types_layouts_and_piece_sizes_give_the_same_bits);
    RUN(block_formats_keep_weights_that_they_represent_exactly);
    RUN(blocks_from_a_file_are_stored_unchanged);
    for (int i = 0; i < N_GOLDEN; i++) golden_close(&all[i]);
    return check_end();
}
