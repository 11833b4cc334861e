/* export.h - trained weights as a model of the engine and as the bytes of files. */
#ifndef GF_EXPORT_H
#define GF_EXPORT_H
#include "train/text/bpe.h"
#include "train/text/data.h"
#include "train/params.h"

/* A sealed model with these weights, its matrices kept as dtype. Owned by the caller. */
struct gf_model *gf_export_model(const struct gf_params *p, const struct gf_config *cfg, int32_t dtype,
                                 struct gf_error *err);
/* Mean bits per byte of `data` by the engine that ships: as gf_trainer_validate, through a session. */
int32_t gf_export_bits(const struct gf_model *m, struct gf_data *data, double *bits, struct gf_error *err);
/* A GGUF file (llama or gpt2) whose matrices are dtype, the vocabulary within. GF_ERR_UNSUPPORTED
 * for an architecture that GGUF has no name for. */
int32_t gf_export_gguf(const struct gf_params *p, const struct gf_config *cfg, const struct gf_bpe *bpe, int32_t dtype,
                       const char *name, struct gf_sink *to, struct gf_error *err);
/* Weights out of a file that gf_export_gguf wrote with the same configuration, vocabulary and name:
 * to train on where the optimiser's state was lost. Anything else is refused; p is then not to be
 * used. */
int32_t gf_import_gguf(struct gf_params *p, const struct gf_config *cfg, const struct gf_bpe *bpe, const char *name,
                       const void *bytes, size_t n, struct gf_error *err);
/* config.json and model.safetensors (f32), which make a folder with gf_bpe_write's tokenizer.json:
 * Hugging Face's for a plain Llama or GPT-2, our own model_type and the roster's names for
 * everything else. */
void gf_export_config(const struct gf_config *cfg, struct gf_sink *to);
void gf_export_safetensors(const struct gf_params *p, const struct gf_config *cfg, struct gf_sink *to);
#endif
