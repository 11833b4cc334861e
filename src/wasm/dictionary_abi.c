/* dictionary_abi.c - the functions that the training binary exports for one sparse dictionary.
 *
 * Their caller is dictionary_trainer.js of web/lib/engine. The life of a dictionary: gf_dictionary_new, then the caller
 * fills the parts with the rows, gf_dictionary_prepare, steps. JavaScript drops the whole instance at the end. */
#include "train/dictionary.h"
#include <stdlib.h>

/* options: as in GF_DICTIONARY_OPTIONS. pool: of gf_pool_open, or NULL; it outlives the dictionary. NULL on failure. */
struct gf_dictionary *gf_dictionary_new(const double *options, struct gf_pool *pool, struct gf_error *err) {
    struct gf_dictionary_options o;
    const double *from = options;
#define READ(type, name, least, most)                                                                                  \
    if (!(*from >= (double)(least) && *from <= (double)(most))) {                                                      \
        gf_fail(err, GF_ERR_ARGUMENT, #name " of the dictionary is out of range");                                     \
        return NULL;                                                                                                   \
    }                                                                                                                  \
    o.name = (type) * from++;
    GF_DICTIONARY_OPTIONS(READ)
#undef READ
    struct gf_dictionary *d = malloc(sizeof *d);
    if (!d) {
        gf_fail(err, GF_ERR_MEMORY, "no memory for a dictionary");
        return NULL;
    }
    if (gf_dictionary_open(d, &o, err) != GF_OK) {
        free(d);
        return NULL;
    }
    d->pool = pool;
    return d;
}

/* The address of a part: PARTS in dictionary_trainer.js. NULL for one that this dictionary does not have. */
void *gf_dictionary_part(struct gf_dictionary *d, int32_t part) {
    void *parts[] = {d->x, d->y, d->tokens, d->table_in, d->table_out, d->enc.w, d->b_enc.w, d->dec.w, d->b_dec.w};
    return part >= 0 && part < (int32_t)(sizeof parts / sizeof *parts) ? parts[part] : NULL;
}
