/* dot.c - keeps the kind of int8 products in use; see dot.h. */
#include "kernels/dot.h"
#include "kernels/simd.h" /* GF_RELAXED */

#if GF_RELAXED
static enum gf_dot dot_kind = GF_DOT_ABS;

enum gf_dot gf_dot_kind(void) { return dot_kind; }
enum gf_dot gf_dot_of(int32_t bits) { return bits == 4 && dot_kind == GF_DOT_ABS ? GF_DOT_I7 : dot_kind; }
void gf_dot_use(enum gf_dot kind) { dot_kind = kind; }
#else
enum gf_dot gf_dot_kind(void) { return GF_DOT_I16; }
enum gf_dot gf_dot_of(int32_t bits) { return (void)bits, GF_DOT_I16; }
void gf_dot_use(enum gf_dot kind) { (void)kind; }
#endif

uint8_t gf_dot_flip(int32_t column) {
    switch (gf_dot_kind()) {
    case GF_DOT_I16: return column % 2 ? 0 : 0x80;
    case GF_DOT_UNSIGNED: return 0x80;
    default: return 0;
    }
}
