/* kernels_checks.h - numbers, buffers that end at an unreadable page, and one hash of all outputs for tests of kernels.
 *
 * All outputs of the fast kernels go into the hash, which a test records as EVERY_BUILD, because the native, SIMD128 and
 * relaxed builds must have the same and cannot run in one process. It changes with the arithmetic and with the inputs of
 * the tests; the new value is then that of the native build. */
#ifndef GF_KERNELS_CHECKS_H
#define GF_KERNELS_CHECKS_H
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/half.h"
#include "base/pool.h"
#include "check.h"
#include "kernels/int8_kind.h" /* gf_dot_flip */
#include "kernels/ref.h"
#include <float.h>
#include <stdlib.h>
#if !defined(__wasm__)
#include <sys/mman.h>
#include <unistd.h>
#endif

static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 257};
#define N_SIZES   ((int)(sizeof sizes / sizeof *sizes))
#define EACH_SIZE for (int n = 0, at_ = 0; at_ < N_SIZES && (n = sizes[at_], 1); at_++)
/* Every type that weights have in memory, and those of them that are quantised. */
#define EACH_KEPT(type)                                                                                                \
    for (int type = 0; type < GF_N_DTYPES; type++)                                                                     \
        if (gf_dtype_is_kept(type))
#define EACH_QUANTIZED(type)                                                                                           \
    for (int type = 0; type < GF_N_DTYPES; type++)                                                                     \
        if (gf_dtype_is_kept(type) && gf_dtype_is_quantized(type))
#define EPS 0x1p-23 /* distance of neighbouring floats at 1: FLT_EPSILON */

static uint64_t state = 88172645463325252u;
static inline uint32_t random_u32(void) { /* xorshift64* */
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return (uint32_t)(state * 2685821657736338717u >> 32);
}
static inline float uniform(void) { return (float)(int32_t)random_u32() * 0x1p-31f; } /* -1 .. 1 */
static inline void fill(float *x, int64_t n, float range) {
    for (int64_t i = 0; i < n; i++) x[i] = uniform() * range;
}

static uint64_t hash = 14695981039346656037u; /* FNV-1a */
static inline void record(const void *p, int64_t n_bytes) {
    for (int64_t i = 0; i < n_bytes; i++) hash = (hash ^ ((const uint8_t *)p)[i]) * 1099511628211u;
}

/* n bytes before an unreadable page (natively). release() frees all of them. */
static struct {
    void *base;
    size_t n_bytes;
} held[64];
static int n_held;
static inline void *guarded(uint64_t n) {
    if (n_held == 64) abort();
#if defined(__wasm__)
    void *p = aligned_alloc(64, (n + 63) / 64 * 64 + 64);
    held[n_held].base = p, held[n_held++].n_bytes = 0;
    return p;
#else
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (n + page - 1) / page * page;
    char *p = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + whole, page, PROT_NONE)) abort();
    held[n_held].base = p, held[n_held++].n_bytes = whole + page;
    return p + whole - n;
#endif
}
static inline float *floats(int64_t n) { return guarded((uint64_t)n * 4); }
static inline void release(void) {
    while (n_held) {
        n_held--;
#if defined(__wasm__)
        free(held[n_held].base);
#else
        munmap(held[n_held].base, held[n_held].n_bytes);
#endif
    }
}

/* The value of an f16 by the definition of binary16. */
static inline double f16_value(uint32_t h) {
    double sign = h & 0x8000 ? -1 : 1, mantissa = h & 0x3ff;
    int exponent = h >> 10 & 31;
    return exponent == 0 ? sign * ldexp(mantissa, -24) : sign * ldexp(1024 + mantissa, exponent - 25);
}

static struct gf_pool *pools[4]; /* by number of threads; 1 is NULL */

static inline void every_build_has_the_same_bits(void) {
    printf("  hash of all outputs: 0x%016llx\n", (unsigned long long)hash);
    CHECK(hash == EVERY_BUILD);
}

/* Before the first kernel; close_kernels checks the hash. */
static inline void open_kernels(void) {
    gf_kernels_init();
    pools[2] = gf_pool_open(2), pools[3] = gf_pool_open(3);
    printf("kernels: %s, threads: %s\n", gf_kernels_name(), pools[2] ? "1 to 3" : "1 only");
}
static inline int close_kernels(void) {
    gf_pool_close(pools[2]), gf_pool_close(pools[3]);
    RUN(every_build_has_the_same_bits);
    return check_end();
}
#endif
