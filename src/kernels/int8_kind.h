/* int8_kind.h - which instructions compute products of int8 weights and int8 activations, and how the weights are
 * stored for them.
 *
 * The products are exact integers, so every kind gives the same result. gf_kernels_init (choose_int8.c) chooses the
 * fastest kind that is exact on this machine. */
#ifndef GF_INT8_KIND_H
#define GF_INT8_KIND_H
#include <stdint.h>

enum gf_dot {
    GF_DOT_I16, /* i32x4_dot on pairs of columns; even columns are stored as w + 128: builds without relaxed SIMD */
    GF_DOT_ABS, /* i16x8_rdot of the weights, with the sign of x, and |x|; stored as they are: exact everywhere, for
                        processors where i32x4_rdot is not (x86 without AVX-VNNI) */
    GF_DOT_UNSIGNED, /* i32x4_rdot, b unsigned; all columns are stored as w + 128 */
    GF_DOT_SIGNED,   /* i32x4_rdot, b signed; stored as they are */
    GF_DOT_I7,       /* i16x8_rdot of x and the weights: instead of GF_DOT_ABS for weights of 4 bits */
    GF_DOT_UNPACKED, /* i32x4_dot of weights unpacked to int16: with more than a few tokens instead of GF_DOT_I16, and
                        of GF_DOT_ABS for weights of 8 bits */
};

/* The kind in use: until gf_dot_use is called, GF_DOT_ABS in builds with relaxed SIMD, else GF_DOT_I16. Weights and
 * keys stored before a change must be stored again. */
enum gf_dot gf_dot_kind(void);
/* Whether 4 activations are stored in two parts of 4 bytes. */
static inline int gf_dot_in_parts(enum gf_dot dot) { return dot == GF_DOT_I16 || dot == GF_DOT_ABS; }
/* The kind for weights of a quantised type times n tokens. */
enum gf_dot gf_dot_of(int32_t dtype, int32_t n);
/* Set the kind; builds without relaxed SIMD keep GF_DOT_I16. Called by choose_int8.c and tests. */
void gf_dot_use(enum gf_dot kind);
/* The byte to XOR with an int8 weight or key of this column when it is stored or read: 0x80 where it is stored as
 * w + 128, else 0. */
uint8_t gf_dot_flip(int32_t column);
#endif
