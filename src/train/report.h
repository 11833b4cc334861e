/* report.h - the losses of a run as files: loss.csv and loss.svg. */
#ifndef GF_REPORT_H
#define GF_REPORT_H
#include "base/status.h"
#include <stdint.h>

struct gf_measure { /* one line of loss.csv; NAN: not measured in this step */
    int64_t step, tokens;
    double loss, norm, valid, bits;
};

struct gf_curve {
    struct gf_measure *points;
    int64_t n, capacity;
};
void gf_curve_close(struct gf_curve *c);
int32_t gf_curve_add(struct gf_curve *c, struct gf_measure p, struct gf_error *err);
/* Read the lines up to `step` of a file that gf_curve_write_csv has written. A missing file is an empty curve. */
int32_t gf_curve_read_csv(struct gf_curve *c, const char *path, int64_t step, struct gf_error *err);
int32_t gf_curve_write_csv(const struct gf_curve *c, const char *path, struct gf_error *err);
/* Draw training loss (means over neighbouring steps) and validation loss over tokens. */
int32_t gf_curve_write_svg(const struct gf_curve *c, const char *path, const char *title, struct gf_error *err);
#endif
