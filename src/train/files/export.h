/* export.h - trained weights as a model of the engine and as files; reads weights back. */
#ifndef GF_EXPORT_H
#define GF_EXPORT_H
#include "train/trainer.h"

/* A sealed model with these weights, its matrices stored as dtype. Owned by the caller; NULL on failure. */
struct gf_model *gf_export_model(const struct gf_params *p, const struct gf_config *cfg, int32_t dtype,
                                 struct gf_error *err);
/* Mean bits per byte of `data` as gf_trainer_validate, but computed by a session of the engine. */
int32_t gf_export_bits(const struct gf_model *m, struct gf_data *data, double *bits, struct gf_error *err);
/* Write the weights for JavaScript, which makes a GGUF of them: weights.c. */
int32_t gf_export_weights(const struct gf_params *p, const struct gf_bpe *bpe, struct gf_sink *to,
                          struct gf_error *err);
/* Read weights in the form of gf_export_weights, to continue training without the optimiser's state. Those of other
 * names, sizes or of another vocabulary are refused; the values of p are undefined after a failure. */
int32_t gf_import_weights(struct gf_params *p, const struct gf_bpe *bpe, const void *bytes, size_t n,
                          struct gf_error *err);
/* Write config.json and model.safetensors (f32); with the tokenizer.json of gf_bpe_write they make a folder that `load`
 * reads. A Llama or GPT-2 gets Hugging Face's fields and names, any other architecture the model_type "glassformer" and
 * the roster's names. */
void gf_export_config(const struct gf_config *cfg, struct gf_sink *to);
void gf_export_safetensors(const struct gf_params *p, const struct gf_config *cfg, struct gf_sink *to);

enum gf_file_kind { GF_FILE_WEIGHTS, GF_FILE_CONFIG, GF_FILE_SAFETENSORS, GF_FILE_TOKENIZER, GF_FILE_STATE };
/* Write a file of a run's present state: one of those above, or the state of gf_trainer_save. */
int32_t gf_export_file(enum gf_file_kind kind, struct gf_trainer *t, const struct gf_bpe *bpe, struct gf_sink *to,
                       struct gf_error *err);
#endif
