/* fields.h - the configuration's fields by name, and the words of those that are choices. */
#ifndef GF_FIELDS_H
#define GF_FIELDS_H
#include <stdint.h>

int32_t gf_field_count(void);
const char *gf_field_name(int32_t field);
int32_t gf_field_find(const char *name); /* -1: there is none */
/* The word for the value k; NULL: no such value, or the field is a number. */
const char *gf_field_word(int32_t field, int32_t k);
int gf_field_is_flag(int32_t field); /* true or false, and no words */
#endif
