/* family.h - which published architecture a configuration is, and which tensors the files of that family have. */
#ifndef GF_TRAIN_FILES_FAMILY_H
#define GF_TRAIN_FILES_FAMILY_H
#include "train/params.h"

enum gf_family { GF_FAMILY_OWN, GF_FAMILY_LLAMA, GF_FAMILY_GPT2 };

/* GF_FAMILY_LLAMA: RMSNorm, SwiGLU, RoPE without scaling, no biases. GF_FAMILY_GPT2: LayerNorm, GELU-tanh, learned
 * positions, all biases, tied. Both pre-norm decoders with no part removed. GF_FAMILY_OWN: neither, so that only this
 * engine computes it. */
enum gf_family gf_family_of(const struct gf_config *cfg);

/* A tensor of the files, in all of which %d is the layer. */
struct gf_family_tensor {
    const char *roster[3]; /* the weights of which it consists, stacked by rows */
    const char *hf;        /* its name in Hugging Face's library */
    int transposed;        /* [in, out] in its file */
};
/* The tensors of a family that is not GF_FAMILY_OWN, those of the whole model first; the last one has no name. */
const struct gf_family_tensor *gf_family_tensors(enum gf_family family);
/* The weights of a tensor in a layer. Returns their number; 0 if this architecture does not have them. */
int gf_family_parts(const struct gf_param *parts[3], const struct gf_params *p, const struct gf_family_tensor *t,
                    int32_t layer);
#endif
