/* dot.h - which instructions compute products of int8 weights and int8 activations, and how the weights are stored
 * for them.
 *
 * The products are exact integers, so every kind gives the same result. gf_kernels_init (probe.c) chooses the fastest
 * kind that is exact on this machine. */
#ifndef GF_DOT_H
#define GF_DOT_H
#include <stdint.h>

enum gf_dot {
    GF_DOT_I16,      /* i4_dot on pairs of columns; even columns are stored as w + 128: SIMD128, native, and
                        processors where i4_rdot saturates or is not exact (x86 without AVX-VNNI) */
    GF_DOT_UNSIGNED, /* i4_rdot, b unsigned; all columns are stored as w + 128 */
    GF_DOT_SIGNED,   /* i4_rdot, b signed; stored as they are */
    GF_DOT_I7,       /* h8_rdot, exact everywhere: instead of GF_DOT_I16 for weights of 4 bits, where there is one */
};

/* The kind in use: GF_DOT_I16 until gf_dot_use is called. Weights and keys stored before a change must be stored
 * again. */
enum gf_dot gf_dot_kind(void);
/* The kind for weights of 4 or 8 bits. */
enum gf_dot gf_dot_of(int32_t bits);
/* Set the kind; builds without i4_rdot keep GF_DOT_I16. Called by probe.c and tests. */
void gf_dot_use(enum gf_dot kind);
/* The byte to XOR with an int8 weight or key of this column when it is stored or read: 0x80 where it is stored as
 * w + 128, else 0. */
uint8_t gf_dot_flip(int32_t column);
#endif
