/* int8_kind.c - keeps the kind of int8 products in use; see int8_kind.h. */
#include "kernels/int8_kind.h"
#include "kernels/kernels.h" /* gf_dtypes */
#include "kernels/simd.h"    /* GF_RELAXED */

#if GF_RELAXED
static enum gf_dot dot_kind = GF_DOT_ABS;

enum gf_dot gf_dot_kind(void) { return dot_kind; }
void gf_dot_use(enum gf_dot kind) { dot_kind = kind; }
#else
enum gf_dot gf_dot_kind(void) { return GF_DOT_I16; }
void gf_dot_use(enum gf_dot kind) { (void)kind; }
#endif

/* For up to 8 tokens, unpacking costs more time than it saves. */
enum gf_dot gf_dot_of(int32_t dtype, int32_t n) {
    const enum gf_dot kind = gf_dot_kind();
    const int small = gf_dtypes[dtype].bits == 4;
    if (kind != GF_DOT_ABS && kind != GF_DOT_I16) return kind;
    if (small && kind == GF_DOT_ABS) return GF_DOT_I7;
    return n == 1 || (n <= 8 && !small && !gf_dtypes[dtype].has_factors) ? kind : GF_DOT_UNPACKED;
}

uint8_t gf_dot_flip(int32_t column) {
    switch (gf_dot_kind()) {
    case GF_DOT_I16: return column % 2 ? 0 : 0x80;
    case GF_DOT_UNSIGNED: return 0x80;
    default: return 0;
    }
}
