/* simd.h - the vector operations that the kernels use.
 *
 * One type, v128: 128 bits, read as four floats, four int32, eight int16 or sixteen int8. The prefix of an operation
 * says how it reads them:
 *
 *   v_   any lanes    f4_  4 floats    i32x4_  4 int32    i16x8_  8 int16    i8x16_  16 int8
 *
 * For WebAssembly an operation of the first section is one instruction. Natively it is written with the vector
 * extensions of GCC and Clang, so that sanitizers and fuzzers run the same kernels. Every operation gives the same bits
 * on every machine, except the relaxed i32x4_rdot at the end. */
#ifndef GF_SIMD_H
#define GF_SIMD_H
#include <stdint.h>
#include <string.h>

/* Clang's AddressSanitizer takes minutes to instrument kernels that are inlined this deeply, so it gets plain calls. */
#define GF_INLINE static inline __attribute__((always_inline, unused))
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#undef GF_INLINE
#define GF_INLINE static inline __attribute__((unused))
#define GF_UNROLL
#endif
#endif

/* GF_ROLLED, before a hot loop, forbids unrolling: LLVM would move all loads of an unrolled loop to its front, and V8,
 * which does not reorder loads and has 15 vector registers, would spill them.
 * GF_UNROLL, before a loop of a small constant count over an array of accumulators, unrolls it completely, so that the
 * accumulators stay in registers. */
#if defined(__clang__)
#define GF_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define GF_ROLLED _Pragma("GCC unroll 1")
#endif
#if defined(__clang__) && !defined(GF_UNROLL)
#define GF_UNROLL _Pragma("clang loop unroll(full)")
#elif !defined(GF_UNROLL)
#define GF_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__wasm_simd128__)
/* ---- WebAssembly ------------------------------------------------------------------------------------------------- */
#include <wasm_simd128.h>
typedef v128_t v128;

GF_INLINE v128 v_load(const void *p) { return wasm_v128_load(p); }
GF_INLINE void v_store(void *p, v128 a) { wasm_v128_store(p, a); }
GF_INLINE v128 v_splat32(const void *p) { return wasm_v128_load32_splat(p); }
GF_INLINE v128 v_splat64(const void *p) { return wasm_v128_load64_splat(p); }
GF_INLINE v128 v_and(v128 a, v128 b) { return wasm_v128_and(a, b); }
GF_INLINE v128 v_or(v128 a, v128 b) { return wasm_v128_or(a, b); }
GF_INLINE v128 v_xor(v128 a, v128 b) { return wasm_v128_xor(a, b); }
GF_INLINE v128 v_andnot(v128 a, v128 b) { return wasm_v128_andnot(a, b); }
GF_INLINE int v_any(v128 a) { return wasm_v128_any_true(a); }

GF_INLINE v128 f4_splat(float x) { return wasm_f32x4_splat(x); }
GF_INLINE v128 f4_add(v128 a, v128 b) { return wasm_f32x4_add(a, b); }
GF_INLINE v128 f4_sub(v128 a, v128 b) { return wasm_f32x4_sub(a, b); }
GF_INLINE v128 f4_mul(v128 a, v128 b) { return wasm_f32x4_mul(a, b); }
GF_INLINE v128 f4_div(v128 a, v128 b) { return wasm_f32x4_div(a, b); }
GF_INLINE v128 f4_min(v128 a, v128 b) { return wasm_f32x4_pmin(a, b); } /* b < a ? b : a */
GF_INLINE v128 f4_max(v128 a, v128 b) { return wasm_f32x4_pmax(a, b); } /* a < b ? b : a */
GF_INLINE v128 f4_lt(v128 a, v128 b) { return wasm_f32x4_lt(a, b); }
GF_INLINE v128 f4_eq(v128 a, v128 b) { return wasm_f32x4_eq(a, b); }
GF_INLINE v128 f4_from_i4(v128 a) { return wasm_f32x4_convert_i32x4(a); }

GF_INLINE v128 i32x4_splat(int32_t x) { return wasm_i32x4_splat(x); }
GF_INLINE v128 i32x4_make(int32_t a, int32_t b, int32_t c, int32_t d) { return wasm_i32x4_make(a, b, c, d); }
GF_INLINE v128 i32x4_add(v128 a, v128 b) { return wasm_i32x4_add(a, b); }
GF_INLINE v128 i32x4_sub(v128 a, v128 b) { return wasm_i32x4_sub(a, b); }
GF_INLINE v128 i32x4_max(v128 a, v128 b) { return wasm_i32x4_max(a, b); }
GF_INLINE v128 i32x4_gt(v128 a, v128 b) { return wasm_i32x4_gt(a, b); }
GF_INLINE v128 i32x4_shl(v128 a, int k) { return wasm_i32x4_shl(a, (uint32_t)k); }
GF_INLINE v128 i32x4_shr(v128 a, int k) { return wasm_i32x4_shr(a, (uint32_t)k); }   /* arithmetic */
GF_INLINE v128 i32x4_shr_u(v128 a, int k) { return wasm_u32x4_shr(a, (uint32_t)k); } /* logical */
GF_INLINE v128 i16x8_shr(v128 a, int k) { return wasm_i16x8_shr(a, (uint32_t)k); }   /* arithmetic */
GF_INLINE v128 i16x8_shr_u(v128 a, int k) { return wasm_u16x8_shr(a, (uint32_t)k); } /* logical */
GF_INLINE v128 i16x8_add(v128 a, v128 b) { return wasm_i16x8_add(a, b); }
GF_INLINE v128 i16x8_mul(v128 a, v128 b) { return wasm_i16x8_mul(a, b); }
GF_INLINE v128 i32x4_load16(const void *p) { return wasm_i32x4_load16x4(p); }         /* 4 int16 -> int32 */
GF_INLINE v128 i16x8_load8(const void *p) { return wasm_i16x8_load8x8(p); }           /* 8 int8 -> int16 */
GF_INLINE v128 i16x8_narrow(v128 a, v128 b) { return wasm_i16x8_narrow_i32x4(a, b); } /* saturates */
GF_INLINE v128 i8x16_narrow(v128 a, v128 b) { return wasm_i8x16_narrow_i16x8(a, b); } /* saturates */
/* Lane i: a[2i] b[2i] + a[2i+1] b[2i+1], products of int16, sums in int32. */
GF_INLINE v128 i32x4_dot(v128 a, v128 b) { return wasm_i32x4_dot_i16x8(a, b); }

#define V_SHUFFLE32(a, b, i, j, k, l) wasm_i32x4_shuffle(a, b, i, j, k, l)
#else
/* ---- native ------------------------------------------------------------------------------------------------------ */
typedef int32_t v128 __attribute__((vector_size(16)));
typedef float v_f4 __attribute__((vector_size(16)));
typedef uint32_t v_u4 __attribute__((vector_size(16)));
typedef int16_t v_h8 __attribute__((vector_size(16)));
typedef uint16_t v_uh8 __attribute__((vector_size(16)));
typedef int8_t v_b16 __attribute__((vector_size(16)));
typedef int8_t v_b8 __attribute__((vector_size(8)));
typedef int16_t v_h4 __attribute__((vector_size(8)));
#if defined(__SSE2__)
#include <emmintrin.h> /* pmaddwd, packssdw, packsswb: compilers find them in no vector expression */
#endif

#define V_SHUFFLE32(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
GF_INLINE v128 v_load(const void *p) {
    v128 a;
    memcpy(&a, p, 16);
    return a;
}
GF_INLINE void v_store(void *p, v128 a) { memcpy(p, &a, 16); }
GF_INLINE v128 v_splat32(const void *p) {
    int32_t x;
    memcpy(&x, p, 4);
    return (v128){x, x, x, x};
}
GF_INLINE v128 v_splat64(const void *p) {
    int32_t x[2];
    memcpy(x, p, 8);
    return (v128){x[0], x[1], x[0], x[1]};
}
GF_INLINE v128 v_and(v128 a, v128 b) { return a & b; }
GF_INLINE v128 v_or(v128 a, v128 b) { return a | b; }
GF_INLINE v128 v_xor(v128 a, v128 b) { return a ^ b; }
GF_INLINE v128 v_andnot(v128 a, v128 b) { return a & ~b; }
GF_INLINE int v_any(v128 a) { return (a[0] | a[1] | a[2] | a[3]) != 0; }

GF_INLINE v128 f4_splat(float x) { return (v128)(v_f4){x, x, x, x}; }
GF_INLINE v128 f4_add(v128 a, v128 b) { return (v128)((v_f4)a + (v_f4)b); }
GF_INLINE v128 f4_sub(v128 a, v128 b) { return (v128)((v_f4)a - (v_f4)b); }
GF_INLINE v128 f4_mul(v128 a, v128 b) { return (v128)((v_f4)a * (v_f4)b); }
GF_INLINE v128 f4_div(v128 a, v128 b) { return (v128)((v_f4)a / (v_f4)b); }
GF_INLINE v128 f4_lt(v128 a, v128 b) { return (v128)((v_f4)a < (v_f4)b); }
GF_INLINE v128 f4_eq(v128 a, v128 b) { return (v128)((v_f4)a == (v_f4)b); }
GF_INLINE v128 f4_min(v128 a, v128 b) {
    v128 m = f4_lt(b, a);
    return (b & m) | (a & ~m);
}
GF_INLINE v128 f4_max(v128 a, v128 b) {
    v128 m = f4_lt(a, b);
    return (b & m) | (a & ~m);
}
GF_INLINE v128 f4_from_i4(v128 a) { return (v128) __builtin_convertvector(a, v_f4); }

GF_INLINE v128 i32x4_splat(int32_t x) { return (v128){x, x, x, x}; }
GF_INLINE v128 i32x4_make(int32_t a, int32_t b, int32_t c, int32_t d) { return (v128){a, b, c, d}; }
GF_INLINE v128 i32x4_add(v128 a, v128 b) { return (v128)((v_u4)a + (v_u4)b); }
GF_INLINE v128 i32x4_sub(v128 a, v128 b) { return (v128)((v_u4)a - (v_u4)b); }
GF_INLINE v128 i32x4_gt(v128 a, v128 b) { return (v128)(a > b); }
GF_INLINE v128 i32x4_max(v128 a, v128 b) {
    v128 m = i32x4_gt(a, b);
    return (a & m) | (b & ~m);
}
GF_INLINE v128 i32x4_shl(v128 a, int k) { return (v128)((v_u4)a << k); }
GF_INLINE v128 i32x4_shr(v128 a, int k) { return a >> k; }
GF_INLINE v128 i32x4_shr_u(v128 a, int k) { return (v128)((v_u4)a >> k); }
GF_INLINE v128 i16x8_shr(v128 a, int k) { return (v128)((v_h8)a >> (int16_t)k); }
GF_INLINE v128 i16x8_shr_u(v128 a, int k) { return (v128)((v_uh8)a >> (uint16_t)k); }
GF_INLINE v128 i16x8_add(v128 a, v128 b) { return (v128)((v_uh8)a + (v_uh8)b); }
GF_INLINE v128 i16x8_mul(v128 a, v128 b) { return (v128)((v_uh8)a * (v_uh8)b); }
GF_INLINE v128 i32x4_load16(const void *p) {
    v_h4 a;
    memcpy(&a, p, 8);
    return __builtin_convertvector(a, v128);
}
GF_INLINE v128 i16x8_load8(const void *p) {
    v_b8 a;
    memcpy(&a, p, 8);
    return (v128) __builtin_convertvector(a, v_h8);
}
#if defined(__SSE2__)
GF_INLINE v128 i16x8_narrow(v128 a, v128 b) { return (v128)_mm_packs_epi32((__m128i)a, (__m128i)b); }
GF_INLINE v128 i8x16_narrow(v128 a, v128 b) { return (v128)_mm_packs_epi16((__m128i)a, (__m128i)b); }
GF_INLINE v128 i32x4_dot(v128 a, v128 b) { return (v128)_mm_madd_epi16((__m128i)a, (__m128i)b); }
#else
GF_INLINE v128 i16x8_narrow(v128 a, v128 b) {
    v_h8 r;
    for (int i = 0; i < 8; i++) {
        int32_t x = i < 4 ? a[i & 3] : b[i & 3];
        r[i] = (int16_t)(x < -32768 ? -32768 : x > 32767 ? 32767 : x);
    }
    return (v128)r;
}
GF_INLINE v128 i8x16_narrow(v128 a, v128 b) {
    v_b16 r;
    for (int i = 0; i < 16; i++) {
        int16_t x = i < 8 ? ((v_h8)a)[i & 7] : ((v_h8)b)[i & 7];
        r[i] = (int8_t)(x < -128 ? -128 : x > 127 ? 127 : x);
    }
    return (v128)r;
}
GF_INLINE v128 i32x4_dot(v128 a, v128 b) {
    v128 even = ((a << 16) >> 16) * ((b << 16) >> 16), odd = (a >> 16) * (b >> 16);
    return i32x4_add(even, odd);
}
#endif
#endif

/* ---- operations composed of those above -------------------------------------------------------------------------- */

/* mask ? a : b, for each bit */
GF_INLINE v128 v_select(v128 mask, v128 a, v128 b) { return v_or(v_and(a, mask), v_andnot(b, mask)); }
/* The first n (1..3) floats at p, then zeros. Reads nothing beyond those n. */
GF_INLINE v128 v_load_first(const float *p, int64_t n) {
    float t[4] = {p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, 0};
    return v_load(t);
}
/* x[i] ... x[i + 3], with zeros in place of x[n] and later ones; i < n. */
GF_INLINE v128 v_load_to(const float *x, int64_t i, int64_t n) {
    return i + 4 <= n ? v_load(x + i) : v_load_first(x + i, n - i);
}
/* Store the first n (1..3) floats of a at p, and nothing beyond them. */
GF_INLINE void v_store_first(float *p, v128 a, int64_t n) {
    float t[4];
    v_store(t, a);
    p[0] = t[0];
    if (n > 1) p[1] = t[1];
    if (n > 2) p[2] = t[2];
}
/* The mask of the first k lanes of four: all bits set in those lanes, none in the others. */
GF_INLINE v128 i32x4_mask_first(int64_t k) { return i32x4_gt(i32x4_splat((int32_t)k), i32x4_make(0, 1, 2, 3)); }

GF_INLINE v128 v_evens(v128 a, v128 b) { return V_SHUFFLE32(a, b, 0, 2, 4, 6); }
GF_INLINE v128 v_odds(v128 a, v128 b) { return V_SHUFFLE32(a, b, 1, 3, 5, 7); }
GF_INLINE v128 v_zip_low(v128 a, v128 b) { return V_SHUFFLE32(a, b, 0, 4, 1, 5); }
GF_INLINE v128 v_zip_high(v128 a, v128 b) { return V_SHUFFLE32(a, b, 2, 6, 3, 7); }
/* a[0]+a[1], a[2]+a[3], b[0]+b[1], b[2]+b[3] */
GF_INLINE v128 i32x4_add_pairs(v128 a, v128 b) { return i32x4_add(v_evens(a, b), v_odds(a, b)); }
GF_INLINE float f4_first(v128 a) {
    float t[4];
    v_store(t, a);
    return t[0];
}
GF_INLINE int32_t i32x4_first(v128 a) {
    int32_t t[4];
    v_store(t, a);
    return t[0];
}
/* (a[0] + a[2]) + (a[1] + a[3]) */
GF_INLINE float f4_sum(v128 a) {
    a = f4_add(a, V_SHUFFLE32(a, a, 2, 3, 0, 1));
    return f4_first(f4_add(a, V_SHUFFLE32(a, a, 1, 0, 3, 2)));
}
/* The largest lane. */
GF_INLINE float f4_max_lane(v128 a) {
    a = f4_max(a, V_SHUFFLE32(a, a, 2, 3, 0, 1));
    return f4_first(f4_max(a, V_SHUFFLE32(a, a, 1, 0, 3, 2)));
}
GF_INLINE int32_t i32x4_sum(v128 a) {
    a = i32x4_add(a, V_SHUFFLE32(a, a, 2, 3, 0, 1));
    return i32x4_first(i32x4_add(a, V_SHUFFLE32(a, a, 1, 0, 3, 2)));
}
GF_INLINE int32_t i32x4_max_lane(v128 a) {
    a = i32x4_max(a, V_SHUFFLE32(a, a, 2, 3, 0, 1));
    return i32x4_first(i32x4_max(a, V_SHUFFLE32(a, a, 1, 0, 3, 2)));
}

/* F4(x), I32X4(x): the constant x in all four lanes, for hot loops. One instruction reads it from memory.
 * f4_splat(3.14f) would become a vector literal, which V8 builds with four instructions at each use; the empty assembly
 * keeps the compiler from seeing that the memory is constant and making it a literal again. */
GF_INLINE v128 v_splat_from_memory(const void *p) {
    __asm__("" : "+r"(p));
    return v_splat32(p);
}
#define F4(x)                                                                                                          \
    __extension__({                                                                                                    \
        static const float f4_ = x;                                                                                    \
        v_splat_from_memory(&f4_);                                                                                     \
    })
#define I32X4(x)                                                                                                       \
    __extension__({                                                                                                    \
        static const uint32_t bits_ = x;                                                                               \
        v_splat_from_memory(&bits_);                                                                                   \
    })

/* The nearest integer, ties to even, for |x| < 2^22. Floats from 2^23 to 2^24 are 1 apart, so adding 1.5 * 2^23 rounds
 * x to an integer; the bits of 1.5 * 2^23 are 0x4b400000, and each step of 1 adds 1 to them. */
GF_INLINE v128 i32x4_nearest(v128 x) { return i32x4_sub(f4_add(x, F4(12582912.0f)), I32X4(0x4b400000)); }
GF_INLINE v128 f4_abs(v128 x) { return v_and(x, I32X4(0x7fffffff)); }

/* Four finite f16 at p, as float times 2^-112: their bits, shifted into a float, are those of that value, because the
 * exponent biases differ by 127 - 15 = 112. */
GF_INLINE v128 f4_load_f16_low(const void *p) { return v_and(i32x4_shl(i32x4_load16(p), 13), I32X4(0x8fffe000)); }
GF_INLINE v128 f4_load_f16(const void *p) { return f4_mul(f4_load_f16_low(p), F4(0x1p112f)); }
GF_INLINE v128 f4_load_bf16(const void *p) { return i32x4_shl(i32x4_load16(p), 16); }
/* How weights, keys or values are stored, and what load_form makes of them. F16_LOW: f16, loaded as float times 2^-112.
 * Its caller multiplies the other factor of the product by 2^112, which is exact, so the product is the same. */
enum form { F32, F16, F16_LOW, BF16 };
/* Four values at p as floats. */
GF_INLINE v128 load_form(const void *p, enum form form) {
    return form == F32 ? v_load(p) : form == F16 ? f4_load_f16(p) : form == BF16 ? f4_load_bf16(p) : f4_load_f16_low(p);
}
/* Float to f16 bits in int32 lanes, rounded to nearest, ties to even. A magnitude above 65504, and NaN, gives 65504
 * with the sign of x. */
GF_INLINE v128 i32x4_f16_from_f4(v128 x) {
    v128 sign = v_and(i32x4_shr_u(x, 16), i32x4_splat(0x8000));
    v128 a = f4_min(f4_splat(65504.0f), f4_abs(x));
    v128 odd = v_and(i32x4_shr_u(a, 13), i32x4_splat(1));
    v128 normal = i32x4_shr_u(i32x4_add(i32x4_add(a, odd), i32x4_splat(0xfff - 0x38000000)), 13);
    v128 tiny = i32x4_sub(f4_add(a, f4_splat(0.5f)), i32x4_splat(0x3f000000));
    return v_or(sign, v_select(i32x4_gt(i32x4_splat(0x38800000), a), tiny, normal));
}

/* Eight values at p as floats, in two vectors. F32: values 0..3 and 4..7. The others: values 0 2 4 6 and 1 3 5 7,
 * because separating the two halves of each 32-bit lane takes fewer instructions than widening eight 16-bit lanes. */
GF_INLINE void load_form_8(v128 u[2], const void *p, enum form form) {
    v128 h = v_load(p), keep = I32X4(0x8fffe000);
    if (form == F32) {
        u[0] = h, u[1] = v_load((const char *)p + 16);
    } else if (form == BF16) {
        u[0] = i32x4_shl(h, 16), u[1] = v_and(h, I32X4(0xffff0000));
    } else {
        u[0] = v_and(i32x4_shr(i32x4_shl(h, 16), 3), keep), u[1] = v_and(i32x4_shr(h, 3), keep);
        if (form == F16) u[0] = f4_mul(u[0], F4(0x1p112f)), u[1] = f4_mul(u[1], F4(0x1p112f));
    }
}
/* Bring eight lanes in the order of load_form_8 into memory order, and back. */
GF_INLINE void merge_8(v128 s[2], enum form form) {
    v128 a = s[0], b = s[1];
    if (form != F32) s[0] = v_zip_low(a, b), s[1] = v_zip_high(a, b);
}
GF_INLINE void split_8(v128 s[2], enum form form) {
    v128 a = s[0], b = s[1];
    if (form != F32) s[0] = v_evens(a, b), s[1] = v_odds(a, b);
}

/* ---- the relaxed operations -------------------------------------------------------------------------------------- */

/* GF_RELAXED: whether these exist. a: int8; b: signed int8.
 *
 *   i16x8_rdot   lane i: a[2i] b[2i] + a[2i+1] b[2i+1]
 *   i32x4_rdot   lane i: acc[i] + the sum of the four products a[4i+j] b[4i+j]
 *
 * With b in 0..127 the results are exact. Otherwise they depend on the processor: b is signed or unsigned, and the sum
 * of two products may saturate at 16 bits. Natively -DGF_EMULATE_RELAXED_DOT=0 (signed), 1 (unsigned) or 2 (unsigned,
 * saturating) emulates the three kinds of processor, so that tests and sanitizers run each path. */
#if defined(__wasm_relaxed_simd__)
#define GF_RELAXED 1
GF_INLINE v128 i16x8_rdot(v128 a, v128 b) { return wasm_i16x8_relaxed_dot_i8x16_i7x16(a, b); }
GF_INLINE v128 i32x4_rdot(v128 a, v128 b, v128 acc) { return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, b, acc); }
#elif defined(GF_EMULATE_RELAXED_DOT)
#define GF_RELAXED 1
/* A call: inline in each of its uses, under sanitizers, it takes longer to compile than all else of matmul_int8.c. */
#define EMULATED   static __attribute__((noinline, unused))
/* a[j] b[j] + a[j+1] b[j+1] */
GF_INLINE int emulated_pair(const int8_t *a, const int8_t *b, int saturates) {
    int u = GF_EMULATE_RELAXED_DOT ? (uint8_t)b[0] : b[0], v = GF_EMULATE_RELAXED_DOT ? (uint8_t)b[1] : b[1];
    int pair = a[0] * u + a[1] * v;
    return !saturates ? pair : pair > 32767 ? 32767 : pair < -32768 ? -32768 : pair;
}
EMULATED v128 i16x8_rdot(v128 a, v128 b) {
    int8_t x[16], w[16];
    int16_t sum[8];
    v_store(x, a), v_store(w, b);
    for (int i = 0; i < 8; i++) sum[i] = (int16_t)emulated_pair(x + 2 * i, w + 2 * i, 1);
    return v_load(sum);
}
EMULATED v128 i32x4_rdot(v128 a, v128 b, v128 acc) {
    int8_t x[16], w[16];
    int32_t sum[4];
    v_store(x, a), v_store(w, b), v_store(sum, acc);
    for (int i = 0; i < 16; i += 2) sum[i / 4] += emulated_pair(x + i, w + i, GF_EMULATE_RELAXED_DOT == 2);
    return v_load(sum);
}
#else
#define GF_RELAXED 0
#endif
#endif
