/* unicode.h - the kind of a character, by which GPT-2's pattern divides text into pieces. */
#ifndef GF_UNICODE_H
#define GF_UNICODE_H
#include <stddef.h>
#include <stdint.h>

/* Letters, digits and spaces are \p{L}, \p{N} and \s of a JavaScript regular expression. */
enum gf_char { GF_CHAR_LETTER, GF_CHAR_DIGIT, GF_CHAR_SPACE, GF_CHAR_OTHER };

/* The kind of the first character of t, n >= 1 bytes of UTF-8. *bytes: its length. A byte that starts no valid
 * character counts as one character, GF_CHAR_OTHER. */
enum gf_char gf_char_at(const char *t, size_t n, size_t *bytes);
#endif
