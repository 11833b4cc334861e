/* decimal.h - numbers as text, without printf. */
#ifndef GF_DECIMAL_H
#define GF_DECIMAL_H

/* The shortest decimal that reads back as x, written as JavaScript writes numbers: "0.1", "1e+21", "NaN". is_float: the
 * shortest that reads back as the float x. Up to 15 digits and powers of ten to 22 the digits are exact; beyond, the
 * last may differ from JavaScript's. */
void gf_decimal(char out[32], double x, int is_float);
#endif
