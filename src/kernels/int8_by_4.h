/* int8_by_4.h - a panel of quantised weights times four tokens at a time. */
#ifndef GF_INT8_BY_4_H
#define GF_INT8_BY_4_H
#include "kernels/int8_sums.h"

/* Weights that are not multiplied as they are stored are first unpacked, and one unpacking serves up to 64 tokens:
 * those of 4 bits to bytes, [cols/4][16 rows][4], the layout of 8-bit weights; for GF_DOT_UNPACKED all to int16,
 * [cols/4][2][16 rows][2], columns 4j and 4j + 2, then 4j + 1 and 4j + 3. A block of int16 has 1 KB. */
#define CHUNK 8 /* blocks that all groups are multiplied with before the next ones; unpacked, 8 KB on the stack */

/* Blocks of 4 bits as bytes. step: bytes from a stored block to the next one */
static __attribute__((noinline)) void unpack_nibbles(char *to, const char *from, int32_t blocks, int32_t step) {
    v128 low = I32X4(0x0f0f0f0f);
    for (; blocks > 0; blocks--, from += step) {
        const char *w = from;
        for (int i = 0; i < 4; i++, to += 128) /* 8 columns */
            for (int j = 0; j < 4; j++, w += 16) {
                v128 q = v_load(w);
                v_store(to + 16 * j, v_and(q, low)), v_store(to + 64 + 16 * j, v_and(i16x8_shr_u(q, 4), low));
            }
    }
}

/* Even and odd columns of 4 rows x 4 columns of bytes as int16. */
GF_INLINE v128 even_columns(v128 bytes) { return i16x8_shr(i32x4_shl(bytes, 8), 8); }
GF_INLINE v128 odd_columns(v128 bytes) { return i16x8_shr(bytes, 8); }
/* Weights as int8, of which GF_DOT_I16 stores even columns as w + 128. */
GF_INLINE v128 load_bytes(const char *w) { return GF_RELAXED ? v_load(w) : v_xor(v_load(w), I32X4(0x00800080)); }

/* A block of a type without factors as int16. */
GF_INLINE void unpack_bytes(char *to, const char *w, int32_t dtype) {
    char bytes[GF_PANEL * GF_QBLOCK];
    const int is_small = !GF_RELAXED && gf_dtypes[dtype].bits == 4;
    const v128 minus_zero = i32x4_splat((int32_t)(is_small ? (uint16_t)-gf_dtypes[dtype].zero * 0x10001u : 0));
    if (is_small) unpack_nibbles(bytes, w, 1, 0), w = bytes;
    for (int i = 0; i < 8; i++, to += 128) /* 4 columns */
        for (int j = 0; j < 4; j++, w += 16) {
            v128 v = is_small ? v_load(w) : load_bytes(w);
            v_store(to + 16 * j, i16x8_add(even_columns(v), minus_zero));
            v_store(to + 64 + 16 * j, i16x8_add(odd_columns(v), minus_zero));
        }
}

/* The same of a type with factors, each weight times its factor: at most 32 * 128. */
GF_INLINE void unpack_factored(char *to, const char *w) {
    const v128 low = I32X4(0x0000ffff);
    for (int i = 0; i < 4; i++, to += 16) { /* 4 rows */
        const char *from = w + i / 2 * 256 + i % 2 * 32;
        const v128 f = i16x8_load8(w + GF_PANEL * GF_QBLOCK + 8 * i); /* those of both halves of the block */
        const v128 k = v_or(v_and(f, low), i32x4_shl(f, 16)), l = v_or(v_andnot(f, low), i32x4_shr_u(f, 16));
        for (int j = 0; j < 4; j++, from += 64) { /* 4 columns of both halves */
            v128 a = load_bytes(from), b = load_bytes(from + 16), u = v_evens(a, b), v = v_odds(a, b);
            char *first = to + 128 * j, *second = first + 4 * 128;
            v_store(first, i16x8_mul(even_columns(u), k)), v_store(first + 64, i16x8_mul(odd_columns(u), k));
            v_store(second, i16x8_mul(even_columns(v), l)), v_store(second + 64, i16x8_mul(odd_columns(v), l));
        }
    }
}

/* s [4 tokens][2] = 8 rows of a block times 4 tokens, plus starts; w, x and start advance. A loop that adds to s by an
 * instruction of its own begins with the second columns, so that the first are added to nothing. bytes: of the block's
 * activations; where the compiler knows them, it counts the loop's turns beside its pointers, one instruction more. */
GF_INLINE void block_by_4(v128 s[8], struct operands *in, int32_t bytes, enum gf_dot dot) {
    const char *w = in->w, *x = in->x, *end = x + bytes;
    if (dot == GF_DOT_UNPACKED) {
        GF_UNROLL
        for (int j = 0; j < 8; j++) s[j] = i32x4_dot(v_load(w + j % 2 * 16), v_splat32(x + j / 2 * 4));
        GF_ROLLED
        for (x += 16, w += 64; x != end; x += 16, w += 64) {
            v128 u = v_load(w), v = v_load(w + 16);
            GF_UNROLL
            for (int t = 0; t < 4; t++) {
                v128 k = v_splat32(x + 4 * t);
                s[2 * t] = i32x4_add(s[2 * t], i32x4_dot(u, k));
                s[2 * t + 1] = i32x4_add(s[2 * t + 1], i32x4_dot(v, k));
            }
        }
    }
#if GF_RELAXED
    else if (dot == GF_DOT_I7) {
        GF_UNROLL
        for (int j = 0; j < 8; j++) s[j] = i16x8_rdot(v_splat32(x + j / 2 * 4), v_load(w + j % 2 * 16));
        GF_ROLLED
        for (x += 16, w += 64; x != end; x += 16, w += 64) {
            v128 u = v_load(w), v = v_load(w + 16);
            GF_UNROLL
            for (int t = 0; t < 4; t++) {
                v128 k = v_splat32(x + 4 * t);
                s[2 * t] = i16x8_add(s[2 * t], i16x8_rdot(k, u));
                s[2 * t + 1] = i16x8_add(s[2 * t + 1], i16x8_rdot(k, v));
            }
        }
        GF_UNROLL
        for (int j = 0; j < 8; j++) s[j] = i32x4_add(i32x4_dot(s[j], I32X4(0x00010001)), v_splat32(in->start + j / 2));
    } else {
        GF_UNROLL
        for (int j = 0; j < 8; j++) s[j] = v_splat32(in->start + j / 2);
        GF_ROLLED
        for (; x != end; x += 16, w += 64) {
            v128 u = v_load(w), v = v_load(w + 16);
            GF_UNROLL
            for (int t = 0; t < 4; t++) {
                v128 k = v_splat32(x + 4 * t);
                s[2 * t] = i32x4_rdot(k, u, s[2 * t]), s[2 * t + 1] = i32x4_rdot(k, v, s[2 * t + 1]);
            }
        }
    }
#endif
    in->w = w, in->x = x, in->start += 4;
}

#if GF_RELAXED
/* s [4 tokens][2] = 8 rows of a block times 4 tokens, of a type with factors, by i32x4_rdot. w is at the 8 rows, of
 * which the first is `row`. */
GF_INLINE void factored_by_4(v128 s[8], struct operands *in, int row) {
    const char *factors = in->w + GF_PANEL * GF_QBLOCK - 30 * row;
    GF_UNROLL
    for (int i = 0; i < 2; i++, factors += 8) { /* 4 rows */
        const char *w = in->w + 32 * i, *x = in->x;
        v128 k = i16x8_load8(factors);
        GF_UNROLL
        for (int t = 0; t < 4; t++) s[2 * t + i] = i32x4_splat(0);
        GF_ROLLED
        for (int p = 0; p < 16; p += 8) { /* 8 columns of both halves */
            v128 t[8];
            GF_UNROLL
            for (int j = 0; j < 8; j++) t[j] = v_splat64(in->start + p + j / 2 * 2);
            GF_ROLLED
            for (const char *end = x + 64; x < end; x += 32, w += 64) {
                GF_UNROLL
                for (int j = 0; j < 8; j++) t[j] = i32x4_rdot(v_splat64(x + j / 2 * 8), v_load(w + j % 2 * 16), t[j]);
            }
            GF_UNROLL
            for (int j = 0; j < 8; j += 2) s[j + i] = i32x4_add(s[j + i], i32x4_dot(i16x8_narrow(t[j], t[j + 1]), k));
        }
    }
    in->w += GF_PANEL * GF_QBLOCK + GF_FACTORS, in->x += 128, in->start += 16;
}
#else
GF_INLINE void factored_by_4(v128 s[8], struct operands *in, int row) { (void)s, (void)in, (void)row; }
#endif

/* How weights of a type, and the activations that they are multiplied with, lie in memory. */
struct layout_by_4 {
    enum gf_dot dot;
    int factored;         /* blocks have factors, as stored */
    int has_minimum;      /* scales are followed by minima */
    int unpacks;          /* the weights of a chunk are unpacked first */
    int32_t stored_bytes; /* bytes of a stored block of weights */
    int32_t scale_floats; /* floats of the scales that gf_scale_blocks blocks have */
    int32_t gap_bytes;    /* bytes behind the weights of a block that is multiplied */
    int32_t scale_step;   /* floats from a block's scales to the next ones, where factored of 8 blocks */
    int32_t activation_bytes, start_count; /* bytes and starts of a block of 4 tokens */
};

GF_INLINE struct layout_by_4 layout_by_4(const struct gf_acts *a, int32_t dtype, int factored, enum gf_dot dot) {
    const struct gf_dtype_row *type = &gf_dtypes[dtype];
    struct layout_by_4 l = {.dot = dot, .factored = factored, .has_minimum = type->has_minimum};
    l.unpacks = dot == GF_DOT_UNPACKED || type->bits == 4;
    l.stored_bytes = gf_panel_bytes(dtype), l.scale_floats = gf_scale_step(dtype);
    l.gap_bytes = l.unpacks || factored ? 0 : l.stored_bytes - GF_PANEL * GF_QBLOCK;
    l.scale_step = type->has_factors && !factored ? 0 : l.scale_floats; /* a chunk has one scale */
    l.activation_bytes = 32 * a->unit_bytes, l.start_count = factored ? 16 : 4;
    return l;
}

/* sums [4][16], 8 rows from `row` on, += `blocks` blocks; = them where they are the first */
GF_INLINE void part_by_4(float *sums, struct operands in, int row, int32_t blocks, int is_first,
                         const struct layout_by_4 *l) {
    v128 f[8]; /* [4 tokens][2] */
    const int per = l->factored ? 8 : 1;
    in.w += (l->factored ? 32 : 4) * row, in.ws += row, sums += row;
    GF_UNROLL
    for (int j = 0; j < 8; j++) f[j] = is_first ? f4_splat(0) : v_load(sums + j / 2 * GF_PANEL + j % 2 * 4);
    GF_ROLLED
    for (; blocks > 0; blocks -= per) {
        GF_ROLLED
        for (int i = 0; i < per; i++) {
            v128 s[8];
            if (l->factored)
                factored_by_4(s, &in, row);
            else
                block_by_4(s, &in, l->activation_bytes, l->dot);
            GF_UNROLL
            for (int j = 0; j < 8; j++) {
                int t = j / 2;
                f[j] = add_block(f[j], s[j], 0, in.ws + j % 2 * 4, in.xs + t, in.sum + t);
            }
            if (l->has_minimum) {
                GF_UNROLL
                for (int j = 0; j < 8; j++)
                    f[j] = f4_add(f[j], f4_mul(v_load(in.ws + GF_PANEL + j % 2 * 4), v_splat32(in.sum + j / 2)));
            }
            in.xs += 4, in.sum += 4, in.w += l->gap_bytes;
        }
        in.ws += l->scale_step;
    }
    GF_UNROLL
    for (int j = 0; j < 8; j++) v_store(sums + j / 2 * GF_PANEL + j % 2 * 4, f[j]);
}

/* n blocks of weights from w on, unpacked */
GF_INLINE void unpack(char *to, const char *w, int32_t n, int32_t dtype, const struct layout_by_4 *l) {
    if (l->dot != GF_DOT_UNPACKED) {
        unpack_nibbles(to, w, n, l->stored_bytes);
        return;
    }
    for (; n > 0; n--, to += 1024, w += l->stored_bytes)
        if (gf_dtypes[dtype].has_factors)
            unpack_factored(to, w);
        else
            unpack_bytes(to, w, dtype);
}

/* Move to the activations of the same tokens `blocks` blocks further on, which may be the next group's. */
GF_INLINE void skip_activations(struct operands *in, int32_t blocks, const struct layout_by_4 *l) {
    in->x += (int64_t)blocks * l->activation_bytes, in->start += l->start_count * blocks;
    in->xs += 4 * blocks, in->sum += 4 * blocks;
}

/* sums [groups * 4][16] = a panel times groups of 4 tokens, the first of them at `first` */
GF_INLINE void panel_by_4(float *sums, struct operands first, const struct gf_acts *a, int32_t groups, int32_t dtype,
                          int factored, enum gf_dot dot) {
    char unpacked[CHUNK * 1024];
    const struct layout_by_4 l = layout_by_4(a, dtype, factored, dot);
    const int32_t blocks = a->cols / GF_QBLOCK;
    for (int32_t b = 0; b < blocks; b += CHUNK) {
        const int32_t n = blocks - b < CHUNK ? blocks - b : CHUNK;
        struct operands in = first;
        in.w += (int64_t)b * l.stored_bytes, in.ws += (int64_t)(b / gf_scale_blocks(dtype)) * l.scale_floats;
        skip_activations(&in, b, &l);
        if (l.unpacks) unpack(unpacked, in.w, n, dtype, &l), in.w = unpacked;
        for (int32_t g = 0; g < groups; g++, skip_activations(&in, blocks, &l))
            for (int32_t row = 0; row < GF_PANEL; row += 8) part_by_4(sums + g * 4 * GF_PANEL, in, row, n, b == 0, &l);
    }
}
#endif
