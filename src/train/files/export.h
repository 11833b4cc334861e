/* export.h - trained weights as model files. */
#ifndef GF_EXPORT_H
#define GF_EXPORT_H
#include "train/text/bpe.h"
#include "train/params.h"
#include "train/sink.h"

/* Write a GGUF file (llama or gpt2) with the vocabulary, its matrices as dtype. GF_ERR_UNSUPPORTED for an architecture
 * that GGUF has no name for. */
int32_t gf_export_gguf(const struct gf_params *p, const struct gf_config *cfg, const struct gf_bpe *bpe, int32_t dtype,
                       const char *name, struct gf_sink *to, struct gf_error *err);
/* Write config.json and model.safetensors (f32); with the tokenizer.json of gf_bpe_write they make a folder that `load`
 * reads. A Llama or GPT-2 gets Hugging Face's fields and names, any other architecture the model_type "glassformer" and
 * the roster's names. */
void gf_export_config(const struct gf_config *cfg, struct gf_sink *to);
void gf_export_safetensors(const struct gf_params *p, const struct gf_config *cfg, struct gf_sink *to);
#endif
