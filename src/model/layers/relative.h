/* relative.h - relative position bias: a learned number for each head and each bucket of distances between query and
 * key, which is added to the scores of self-attention after their scale (Raffel et al. 2020, T5; MPNet). All layers of
 * a stack share one table. Cross-attention has none. */
#ifndef GF_RELATIVE_H
#define GF_RELATIVE_H
#include "glassformer.h"

/* The bucket of `distance`, key position minus query position. two_sided (encoders): keys after the query have the
 * upper half of the buckets; otherwise (decoders) all of them share the bucket of distance 0. */
int32_t gf_relative_bucket(const struct gf_config *cfg, int two_sided, int32_t distance);

/* The biases by distance, [n_heads, 2 relative_max_distance + 1]: of distance d at d + relative_max_distance. Larger
 * distances have the bias of the last one. gf_relative_width: the numbers of a head; 0 in models without such a
 * bias. */
int32_t gf_relative_width(const struct gf_config *cfg);
/* table: [relative_buckets, n_heads], the weights. */
void gf_relative_spread(const struct gf_config *cfg, int two_sided, float *biases, const float *table);
/* Adds the biases of a head to the scores of the keys from .. to - 1 of the query at position `query`. */
void gf_relative_add(const struct gf_config *cfg, const float *biases, int32_t head, float *scores, int32_t query,
                     int32_t from, int32_t to);

/* The backward of gf_relative_add: dbiases, [n_heads, width], += the gradients of the scores. */
void gf_relative_gather(const struct gf_config *cfg, float *dbiases, int32_t head, const float *dscores, int32_t query,
                        int32_t from, int32_t to);
/* The backward of gf_relative_spread: dtable += the gradients of the biases. */
void gf_relative_fold(const struct gf_config *cfg, int two_sided, float *dtable, const float *dbiases);
#endif
