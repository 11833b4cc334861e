/* unicode.h - what a character is, for cutting text as GPT-2's pattern does. */
#ifndef GF_UNICODE_H
#define GF_UNICODE_H
#include <stddef.h>
#include <stdint.h>

/* \p{L}, \p{N}, and \s of a JavaScript pattern. */
enum gf_char { GF_CHAR_LETTER, GF_CHAR_DIGIT, GF_CHAR_SPACE, GF_CHAR_OTHER };

/* Of the character that begins at t, n >= 1 bytes of UTF-8; *bytes: its length. A byte that begins
 * none is one of its own. */
enum gf_char gf_char_at(const char *t, size_t n, size_t *bytes);
#endif
