/* report.c - see report.h. */
#include "train/report.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gf_curve_close(struct gf_curve *c) {
    free(c->points);
    memset(c, 0, sizeof *c);
}

int32_t gf_curve_add(struct gf_curve *c, struct gf_measure p, struct gf_error *err) {
    if (c->n == c->capacity) {
        const int64_t capacity = c->capacity * 2 + 256;
        struct gf_measure *more = realloc(c->points, (size_t)capacity * sizeof *more);
        if (!more) return gf_fail(err, GF_ERR_MEMORY, "no memory for %lld points", (long long)capacity);
        c->points = more;
        c->capacity = capacity;
    }
    /* Rounded as in the CSV, so that a curve that is read back is the same to the last digit. */
    p.loss = round(p.loss * 1e6) / 1e6;
    p.valid = round(p.valid * 1e5) / 1e5;
    c->points[c->n++] = p;
    return GF_OK;
}

int32_t gf_curve_read_csv(struct gf_curve *c, const char *path, int64_t step, struct gf_error *err) {
    FILE *f = fopen(path, "rb");
    if (!f) return GF_OK;
    char line[256];
    int32_t status = GF_OK;
    while (status == GF_OK && fgets(line, sizeof line, f)) {
        struct gf_measure p = {0, 0, NAN, NAN, NAN, NAN};
        double *const numbers[] = {&p.loss, &p.norm, &p.valid, &p.bits};
        char *at = line;
        p.step = strtoll(at, &at, 10);
        if (*at != ',' || p.step < 1) continue; /* the heading */
        p.tokens = strtoll(at + 1, &at, 10);
        for (int i = 0; i < 4 && *at == ','; i++) {
            char *end;
            const double x = strtod(at + 1, &end);
            if (end != at + 1) *numbers[i] = x;
            at = end;
        }
        if (p.step <= step) status = gf_curve_add(c, p, err);
    }
    fclose(f);
    return status;
}

int32_t gf_curve_write_csv(const struct gf_curve *c, const char *path, struct gf_error *err) {
    FILE *f = fopen(path, "wb");
    if (!f) return gf_fail(err, GF_ERR_STATE, "%s cannot be written", path);
    fputs("step,tokens,loss,norm,valid_nats,valid_bits_per_byte\n", f);
    for (int64_t i = 0; i < c->n; i++) {
        const struct gf_measure *p = &c->points[i];
        fprintf(f, "%lld,%lld,%.6f,%.4f,", (long long)p->step, (long long)p->tokens, p->loss, p->norm);
        if (isnan(p->valid))
            fputs(",\n", f);
        else
            fprintf(f, "%.5f,%.5f\n", p->valid, p->bits);
    }
    return fclose(f) ? gf_fail(err, GF_ERR_STATE, "%s cannot be written", path) : GF_OK;
}

enum { WIDTH = 720, HEIGHT = 360, LEFT = 56, RIGHT = 16, TOP = 34, BOTTOM = 44 };

struct frame {
    double tokens, low, high;
};
static double x_of(const struct frame *f, double tokens) { return LEFT + (WIDTH - LEFT - RIGHT) * tokens / f->tokens; }
static double y_of(const struct frame *f, double loss) {
    const double y = TOP + (HEIGHT - TOP - BOTTOM) * (f->high - loss) / (f->high - f->low);
    return y < TOP ? TOP : y;
}

/* Draw one line: means of the training loss over 1/200 of the run each, or each validation loss. */
static void draw(FILE *out, const struct gf_curve *c, const struct frame *f, int valid, const char *colour) {
    const int64_t group = valid ? 1 : c->n / 200 + 1;
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", colour);
    for (int64_t i = 0; i < c->n; i += group) {
        double sum = 0, n = 0;
        for (int64_t j = i; j < i + group && j < c->n; j++) {
            const double x = valid ? c->points[j].valid : c->points[j].loss;
            if (!isnan(x)) sum += x, n++;
        }
        if (n > 0) fprintf(out, "%.1f,%.1f ", x_of(f, (double)c->points[i].tokens), y_of(f, sum / n));
    }
    fputs("\"/>\n", out);
}

int32_t gf_curve_write_svg(const struct gf_curve *c, const char *path, const char *title, struct gf_error *err) {
    if (!c->n) return GF_OK;
    FILE *out = fopen(path, "wb");
    if (!out) return gf_fail(err, GF_ERR_STATE, "%s cannot be written", path);
    struct frame f = {(double)c->points[c->n - 1].tokens, INFINITY, 0};
    for (int64_t i = 0; i < c->n; i++) f.low = fmin(f.low, c->points[i].loss);
    /* Losses may come from a file: without a usable one the scale begins at 0. */
    f.low = fabs(f.low) < 1e6 ? floor(f.low * 2) / 2 : 0;
    f.high = f.low + 3; /* the first steps, near ln V, lie along the upper edge */
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n<text x=\"%d\" "
            "y=\"20\" "
            "font-size=\"14\">%s: loss in nats a token over tokens seen</text>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, title);
    for (int i = 0; i <= 6; i++) {
        const double y = f.low + i * 0.5;
        fprintf(out,
                "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" "
                "text-anchor=\"end\">%.1f</text>\n",
                LEFT, y_of(&f, y), WIDTH - RIGHT, LEFT - 6, y_of(&f, y) + 4, y);
    }
    for (int i = 0; i <= 4; i++)
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.1fM</text>\n", x_of(&f, f.tokens * i / 4),
                HEIGHT - BOTTOM + 18, f.tokens * i / 4 / 1e6);
    draw(out, c, &f, 0, "#2563eb");
    draw(out, c, &f, 1, "#dc2626");
    fprintf(out,
            "<text x=\"%d\" y=\"%d\" fill=\"#2563eb\">training</text><text x=\"%d\" y=\"%d\" "
            "fill=\"#dc2626\">validation</text>\n</svg>\n",
            WIDTH - 190, TOP + 14, WIDTH - 110, TOP + 14);
    return fclose(out) ? gf_fail(err, GF_ERR_STATE, "%s cannot be written", path) : GF_OK;
}
