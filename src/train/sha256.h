/* sha256.h - SHA-256 (FIPS 180-4), to check that a corpus is the one that a recipe names. */
#ifndef GF_SHA256_H
#define GF_SHA256_H
#include <stddef.h>

/* 64 hexadecimal digits and a 0. */
void gf_sha256(char digits[65], const void *bytes, size_t n);
#endif
