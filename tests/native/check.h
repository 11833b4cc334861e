/* check.h - checks and their report for native tests.
 *
 *   static void softmax_sums_to_one(void) { ... CHECK_NEAR(sum, 1, 1e-6); }
 *   int main(void) { RUN(softmax_sums_to_one); return check_end(); }
 *
 * Most tests are one program, tests/native/every.c, in which each `main` has the name of its file.
 *
 * A failed check prints its place and its values, and the test continues. check_end returns 1 if a check failed or none
 * was made. */
#ifndef GF_CHECK_H
#define GF_CHECK_H
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static long check_count, check_failures, check_failures_here;

/* Count a check. Returns 1 if its failure is to be printed: the first ten of a test are. */
static inline int check_note(int ok, const char *file, int line) {
    check_count++;
    if (ok) return 0;
    check_failures++;
    if (++check_failures_here > 10) return 0;
    printf("  %s:%d: ", file, line);
    return 1;
}

#define CHECK(cond)                                                                                                    \
    do {                                                                                                               \
        if (check_note(!!(cond), __FILE__, __LINE__)) printf("not so: %s\n", #cond);                                   \
    } while (0)

#define CHECK_INT(got, want)                                                                                           \
    do {                                                                                                               \
        long long got_ = (long long)(got), want_ = (long long)(want);                                                  \
        if (check_note(got_ == want_, __FILE__, __LINE__)) printf("%s: %lld, expected %lld\n", #got, got_, want_);     \
    } while (0)

/* |got - want| <= bound. Fails if a value is NaN. */
#define CHECK_NEAR(got, want, bound)                                                                                   \
    do {                                                                                                               \
        double got_ = (got), want_ = (want), bound_ = (bound);                                                         \
        if (check_note(fabs(got_ - want_) <= bound_, __FILE__, __LINE__))                                              \
            printf("%s: %.9g, expected %.9g +- %.3g\n", #got, got_, want_, bound_);                                    \
    } while (0)

/* The bytes are equal. A failure prints the first float that differs. */
#define CHECK_BITS(got, want, n_bytes)                                                                                 \
    do {                                                                                                               \
        const void *got_ = (got), *want_ = (want);                                                                     \
        size_t n_ = (size_t)(n_bytes), i_ = 0;                                                                         \
        while (i_ + 4 <= n_ && !memcmp((const char *)got_ + i_, (const char *)want_ + i_, 4)) i_ += 4;                 \
        if (check_note(!memcmp(got_, want_, n_), __FILE__, __LINE__)) {                                                \
            float g_ = 0, w_ = 0;                                                                                      \
            memcpy(&g_, (const char *)got_ + i_, n_ - i_ < 4 ? n_ - i_ : 4);                                           \
            memcpy(&w_, (const char *)want_ + i_, n_ - i_ < 4 ? n_ - i_ : 4);                                          \
            printf("%s: at float %zu of %zu: %.9g, expected %.9g\n", #got, i_ / 4, n_ / 4, g_, w_);                    \
        }                                                                                                              \
    } while (0)

#define CHECK_TEXT(got, want)                                                                                          \
    do {                                                                                                               \
        const char *got_ = (got), *want_ = (want);                                                                     \
        if (check_note(strcmp(got_, want_) == 0, __FILE__, __LINE__))                                                  \
            printf("%s: \"%s\", expected \"%s\"\n", #got, got_, want_);                                                \
    } while (0)

/* Initialises a struct gf_sampling: SAMPLER(.top_k = 5) turns every other option off. */
#pragma GCC diagnostic ignored "-Woverride-init" /* an argument replaces the value of GF_SAMPLING_OFF */
#define SAMPLER(...) {GF_SAMPLING_OFF __VA_ARGS__}

#define RUN(test)                                                                                                      \
    do {                                                                                                               \
        long before_ = check_count;                                                                                    \
        check_failures_here = 0;                                                                                       \
        test();                                                                                                        \
        printf("%s %s (%ld checks)\n", check_failures_here ? "FAIL" : "ok  ", #test, check_count - before_);           \
        if (check_count == before_) {                                                                                  \
            printf("  nothing was checked\n");                                                                         \
            check_failures++;                                                                                          \
        }                                                                                                              \
        fflush(stdout);                                                                                                \
    } while (0)

static inline int check_end(void) {
    printf("%ld passed, %ld failed\n", check_count - check_failures, check_failures);
    return check_failures || !check_count;
}
#endif
