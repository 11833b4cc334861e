/* stream.h - reads a fuzzer's input as a stream of decisions. After its end every decision is 0. */
#ifndef GF_STREAM_H
#define GF_STREAM_H
#include "failing_allocator.h"
#include "targets.h"
#include <math.h>

struct stream {
    const uint8_t *at, *end;
};

static inline uint32_t byte(struct stream *s) { return s->at < s->end ? *s->at++ : 0; }
static inline uint64_t word(struct stream *s) {
    uint64_t w = 0;
    for (int i = 0; i < 8; i++) w = w << 8 | byte(s);
    return w;
}
static inline int32_t below(struct stream *s, int32_t n) { return (int32_t)((byte(s) << 8 | byte(s)) % (uint32_t)n); }
/* Usually a number in -1 ... n, sometimes one far outside. */
static inline int32_t about(struct stream *s, int32_t n) {
    static const int32_t far[] = {INT32_MIN, -2, 1 << 16, 1 << 30, INT32_MAX - 1, INT32_MAX};
    return byte(s) < 12 ? far[below(s, 6)] : below(s, n + 2) - 1;
}
static inline float number(struct stream *s) {
    static const float far[] = {0, -0.0f, 1e-38f, 3e38f, -3e38f, INFINITY, NAN, -1, 0.5f, 1};
    return byte(s) < 40 ? far[below(s, 10)] : (float)below(s, 2001) / 1000 - 1;
}
/* A value for a field of a configuration or an option: small integers, limits and numbers beyond them. */
static inline double setting(struct stream *s) {
    static const double far[] = {-1,      0,         1,   2,   3,     7,    8,    64,     90,    4096,    1 << 16,
                                 1 << 20, INT32_MAX, 0.5, NAN, 1e-30, 1e12, 1e15, 0x1p53, 1e300, INFINITY};
    return below(s, 3) ? below(s, 4) : far[below(s, sizeof far / sizeof *far)];
}
/* In one of 16 cases, let one of the next 24 allocations and all later ones fail, until allow_allocations. */
static inline int maybe_fail_allocations(struct stream *s) {
    const int32_t k = byte(s) < 16 ? 1 + below(s, 24) : 0;
    fail_allocations(k);
    return k != 0;
}
/* n zeroed values in an allocation of their own, so that the sanitizer detects reads beyond them. */
static inline void *values(size_t n, size_t size) {
    void *p = test_calloc(n ? n : 1, size);
    PROMISE(p);
    return p;
}
/* n random floats. */
static inline float *numbers(struct stream *s, int32_t n) {
    float *x = values((size_t)n, sizeof *x);
    for (int32_t i = 0; i < n; i++) x[i] = number(s);
    return x;
}
#endif
