/* relative.c - see relative.h. */
#include "model/layers/relative.h"
#include "base/log.h"
#include <math.h>
#include <stdlib.h>

/* Half of the buckets are for one distance each; the others grow in width by a constant factor up to
 * relative_max_distance. The small addend keeps a distance at a limit in its own bucket on every machine. */
int32_t gf_relative_bucket(const struct gf_config *c, int two_sided, int32_t distance) {
    const int32_t n = two_sided ? c->relative_buckets / 2 : c->relative_buckets, single = n / 2,
                  first = two_sided && distance > 0 ? n : 0,
                  away = two_sided      ? abs(distance)
                         : distance < 0 ? -distance
                                        : 0;
    if (away < single) return first + away;
    const double share = gf_log((double)away / single) / gf_log((double)c->relative_max_distance / single);
    const int32_t bucket = single + (int32_t)(share * (n - single) + 1e-6);
    return first + (bucket < n ? bucket : n - 1);
}

int32_t gf_relative_width(const struct gf_config *c) {
    return c->relative_buckets ? 2 * c->relative_max_distance + 1 : 0;
}

void gf_relative_spread(const struct gf_config *c, int two_sided, float *biases, const float *table) {
    const int32_t width = gf_relative_width(c);
    for (int32_t i = 0; i < width; i++) {
        const float *row = table + (int64_t)gf_relative_bucket(c, two_sided, i - c->relative_max_distance) * c->n_heads;
        for (int32_t h = 0; h < c->n_heads; h++) biases[(int64_t)h * width + i] = row[h];
    }
}

/* The place of a distance in a head's biases. */
static int32_t place_of(const struct gf_config *c, int32_t distance) {
    const int32_t most = c->relative_max_distance;
    return distance < -most ? 0 : distance > most ? 2 * most : distance + most;
}

void gf_relative_add(const struct gf_config *c, const float *biases, int32_t head, float *scores, int32_t query,
                     int32_t from, int32_t to) {
    const float *of_head = biases + (int64_t)head * gf_relative_width(c);
    for (int32_t j = from; j < to; j++) scores[j] += of_head[place_of(c, j - query)];
}

void gf_relative_gather(const struct gf_config *c, float *dbiases, int32_t head, const float *dscores, int32_t query,
                        int32_t from, int32_t to) {
    float *of_head = dbiases + (int64_t)head * gf_relative_width(c);
    for (int32_t j = from; j < to; j++) of_head[place_of(c, j - query)] += dscores[j];
}

void gf_relative_fold(const struct gf_config *c, int two_sided, float *dtable, const float *dbiases) {
    const int32_t width = gf_relative_width(c);
    for (int32_t i = 0; i < width; i++) {
        float *row = dtable + (int64_t)gf_relative_bucket(c, two_sided, i - c->relative_max_distance) * c->n_heads;
        for (int32_t h = 0; h < c->n_heads; h++) row[h] += dbiases[(int64_t)h * width + i];
    }
}
