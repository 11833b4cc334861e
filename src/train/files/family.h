/* family.h - which published architecture a configuration is. */
#ifndef GF_TRAIN_FILES_FAMILY_H
#define GF_TRAIN_FILES_FAMILY_H
#include "glassformer.h"

enum gf_family { GF_FAMILY_OWN, GF_FAMILY_LLAMA, GF_FAMILY_GPT2 };

/* GF_FAMILY_LLAMA: RMSNorm, SwiGLU, RoPE without scaling, no biases. GF_FAMILY_GPT2: LayerNorm, GELU-tanh, learned
 * positions, all biases, tied. Both pre-norm decoders with no part removed. GF_FAMILY_OWN: neither, so that only this
 * engine computes it. */
enum gf_family gf_family_of(const struct gf_config *cfg);
#endif
