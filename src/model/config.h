/* config.h - the fields of a configuration by name, and the words of enumerated ones. */
#ifndef GF_MODEL_CONFIG_H
#define GF_MODEL_CONFIG_H
#include "glassformer.h"

const char *gf_field_name(int32_t field);
int32_t gf_field_find(const char *name); /* -1: there is none */
/* The word for the value k; NULL: no such value, or the field is a number. */
const char *gf_field_word(int32_t field, int32_t k);
int gf_field_is_flag(int32_t field); /* true or false, and no words */
/* "FIELD is FOUND, expected RANGE" into err; returns GF_ERR_CONFIG. */
int32_t gf_field_refuse(int32_t field, const char *found, struct gf_error *err);
#endif
