/* roster.h - every weight, enumerated once.
 *
 * Loader, parameter table, writer, gradient and optimiser buffers and many tests loop over this one
 * list. A new tensor is one line in roster.c; a tensor that is not listed cannot exist. */
#ifndef GF_ROSTER_H
#define GF_ROSTER_H
#include "glassformer.h"
#include "model/weights.h"

struct gf_slot {
    struct gf_tensor t;
    /* Its place: rows row0 .. row0 + t.rows - 1 of a matrix that may hold several entries (q,
     * k, v; gate, up), or `offset` floats into a vector. Pointers are NULL when the roster is
     * walked without weights. */
    struct gf_mat *mat;
    int32_t row0, mat_rows;
    float **vec;
    uint64_t offset, vec_len;
};

typedef void (*gf_roster_fn)(void *ctx, const struct gf_slot *slot);
/* Call fn for every entry in order. w: whose blocks are allocated, or NULL. */
void gf_roster_walk(const struct gf_config *cfg, struct gf_weights *w, gf_roster_fn fn, void *ctx);
/* Allocate the blocks and experts of *w, which is all 0. Returns 0, or -1 without memory; close it in both cases. */
int gf_weights_open(struct gf_weights *w, const struct gf_config *cfg);
/* Give the blocks of each group (n_layer_groups) the weights of its first block, once these are laid out. */
void gf_weights_share(struct gf_weights *w, const struct gf_config *cfg);
void gf_weights_close(struct gf_weights *w);
#endif
