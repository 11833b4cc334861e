/* names.h - whether a model is one that other programs know, and the tensors of its files under their names. */
#ifndef GF_NAMES_H
#define GF_NAMES_H
#include "train/params.h"

enum gf_family { GF_FAMILY_OWN, GF_FAMILY_LLAMA, GF_FAMILY_GPT2 };

/* GF_FAMILY_LLAMA or GF_FAMILY_GPT2 if every field that such a model's own configuration does not have is what these
 * files imply; otherwise GF_FAMILY_OWN. */
enum gf_family gf_family_of(const struct gf_config *cfg);

struct gf_stored { /* a tensor of a file: weights of the roster, stacked by rows */
    char name[64];
    const struct gf_param *parts[3];
    int32_t n_parts, rows; /* rows: of all parts; of vectors their values */
    int32_t transposed;    /* of Hugging Face: stored as [in, out] */
    int32_t rotated;       /* q or k, whose rows are rotated in pairs by RoPE */
};
/* Call fn for each tensor of a file, in the order of the file: in a GGUF, or in Hugging Face's safetensors. A family of
 * its own has the roster's weights under their own names. */
void gf_each_stored(const struct gf_params *p, const struct gf_config *cfg, enum gf_family family, int in_gguf,
                    void (*fn)(void *ctx, const struct gf_stored *s), void *ctx);
#endif
