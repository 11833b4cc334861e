/* base_test.c - src/base: sizes, memory, random numbers, error sentences. */
#include "base/angle.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/half.h"
#include "base/log.h"
#include "base/power.h"
#include "base/rng.h"
#include "base/status.h"
#include "check.h"
#include <stdlib.h>

static void size_arithmetic_reports_overflow(void) {
    const uint64_t half = UINT64_C(1) << 63;
    CHECK(gf_add_u64(2, 3) == 5);
    CHECK(gf_add_u64(half, half - 1) == GF_TOO_MUCH); /* the largest number means "too much" */
    CHECK(gf_add_u64(half, half - 2) == GF_TOO_MUCH - 1);
    CHECK(gf_add_u64(half, half) == GF_TOO_MUCH);
    CHECK(gf_add_u64(GF_TOO_MUCH, 0) == GF_TOO_MUCH);
    CHECK(gf_add_u64(0, GF_TOO_MUCH) == GF_TOO_MUCH);
    CHECK(gf_mul_u64(7, 6) == 42);
    CHECK(gf_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 31) == half);
    CHECK(gf_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32) == GF_TOO_MUCH);
    CHECK(gf_mul_u64(GF_TOO_MUCH, 1) == GF_TOO_MUCH);
    CHECK(gf_mul_u64(1, GF_TOO_MUCH) == GF_TOO_MUCH);
    CHECK(gf_mul_u64(0, 12345) == 0);
    CHECK(gf_round_up(0, 64) == 0);
    CHECK(gf_round_up(1, 64) == 64);
    CHECK(gf_round_up(64, 64) == 64);
    CHECK(gf_round_up(65, 64) == 128);
    CHECK(gf_round_up(GF_TOO_MUCH - 5, 64) == GF_TOO_MUCH);
    CHECK(gf_round_up(GF_TOO_MUCH, 64) == GF_TOO_MUCH);
    /* the result of a whole formula is checked once */
    CHECK(gf_add_u64(gf_mul_u64(gf_mul_u64(half, 4), 2), 1) == GF_TOO_MUCH);
}

static int all_zero(const uint8_t *p, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        if (p[i]) return 0;
    return 1;
}

static void an_arena_gives_zeroed_aligned_memory_until_it_is_full(void) {
    static const uint64_t sizes[] = {1, 63, 64, 65, 4, 1000};
    struct gf_arena a = {NULL, 0, 0};
    for (int i = 0; i < 6; i++) CHECK(gf_arena_take(&a, sizes[i]) == NULL); /* it only counts */
    const uint64_t total = a.used;
    CHECK_INT(total, 64 + 64 + 64 + 128 + 64 + 1024);
    CHECK_INT(gf_arena_open(&a, total), 0);
    CHECK(a.size == total && a.used == 0);
    uint8_t *last = NULL;
    for (int i = 0; i < 6; i++) {
        uint8_t *p = gf_arena_take(&a, sizes[i]);
        CHECK(p != NULL && (uintptr_t)p % 64 == 0);
        CHECK(all_zero(p, sizes[i]));
        CHECK(!last || p >= last); /* allocations do not overlap */
        memset(p, 0xab, (size_t)sizes[i]);
        last = p + sizes[i];
    }
    CHECK(a.used == total);
    CHECK(gf_arena_take(&a, 0) == NULL);
    gf_arena_close(&a);
    CHECK(a.memory == NULL && a.size == 0);
    gf_arena_close(&a);
    CHECK_INT(gf_arena_open(&a, 0), 0);
    gf_arena_close(&a);
}

/* Where the heap ends with freed memory, an allocation can consist of used memory and new memory. */
static void memory_is_zero_where_freed_and_new_memory_meet(void) {
    for (uint64_t n = 1 << 16; n < 1 << 23; n *= 3) {
        uint8_t *p = gf_alloc(n), *q;
        CHECK(p != NULL);
        if (p) memset(p, 0xab, (size_t)n);
        gf_free(p);
        q = gf_alloc(2 * n);
        CHECK(q != NULL && all_zero(q, 2 * n));
        if (q) memset(q, 0xab, (size_t)(2 * n));
        gf_free(q);
    }
}

static void an_allocation_that_cannot_succeed_returns_null(void) {
    struct gf_arena a = {NULL, 0, 0};
    CHECK(gf_alloc(GF_TOO_MUCH) == NULL);
    CHECK(gf_alloc(GF_TOO_MUCH - 64) == NULL);
    CHECK(gf_alloc(SIZE_MAX / 2) == NULL);
    CHECK(gf_arena_take(&a, GF_TOO_MUCH) == NULL && a.used == GF_TOO_MUCH);
    CHECK_INT(gf_arena_open(&a, a.used), -1);
    gf_free(NULL);
    for (uint64_t n = 0; n < 200; n += 33) {
        uint8_t *p = gf_alloc(n);
        CHECK(p != NULL && (uintptr_t)p % 64 == 0 && all_zero(p, n));
        if (p) memset(p, 1, (size_t)n);
        gf_free(p);
    }
}

/* First numbers of xoshiro256++ from the state 1, 2, 3, 4, and of a generator seeded by splitmix64,
 * computed with the authors' formulas in Python's integers (tests/golden/README.md). */
static void the_generator_gives_the_published_numbers(void) {
    static const uint64_t from_1234[] = {41943041u,
                                         58720359u,
                                         3588806011781223u,
                                         3591011842654386u,
                                         9228616714210784205u,
                                         9973669472204895162u,
                                         14011001112246962877u,
                                         12406186145184390807u},
                          seeded[] = {437095814655224680u, 8127161015984454572u, 18128670339019551454u,
                                      254746599813523466u};
    struct gf_rng r = {{1, 2, 3, 4}};
    for (int i = 0; i < 8; i++) CHECK(gf_rng_u64(&r) == from_1234[i]);
    gf_rng_seed(&r, 1234567);
    static const uint64_t splitmix[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                        4593380528125082431u};
    for (int i = 0; i < 4; i++) CHECK(r.s[i] == splitmix[i]);
    for (int i = 0; i < 4; i++) CHECK(gf_rng_u64(&r) == seeded[i]);
}

static void uniform_numbers_are_spread_evenly_over_the_interval(void) {
    struct gf_rng r;
    gf_rng_seed(&r, 0);
    enum { N = 100000, BINS = 50 };
    int count[BINS] = {0};
    double sum = 0, together = 0, last = 0.5;
    for (int i = 0; i < N; i++) {
        const double u = gf_rng_uniform(&r);
        if (!(u >= 0 && u < 1)) {
            CHECK(!"a number outside [0, 1)");
            return;
        }
        count[(int)(u * BINS)]++;
        sum += u;
        together += (u - 0.5) * (last - 0.5);
        last = u;
    }
    double chi2 = 0;
    for (int i = 0; i < BINS; i++) chi2 += pow(count[i] - N / BINS, 2) / (N / BINS);
    CHECK_NEAR(chi2, BINS - 1, 4 * sqrt(2.0 * (BINS - 1)));
    CHECK_NEAR(sum / N, 0.5, 4 * sqrt(1 / 12.0 / N));
    CHECK_NEAR(together / N, 0, 4 / 12.0 / sqrt(N)); /* successive numbers are not correlated */
}

static void normal_numbers_follow_the_normal_distribution(void) {
    struct gf_rng r, again;
    gf_rng_seed(&r, 42);
    gf_rng_seed(&again, 42);
    enum { N = 100000 };
    /* P(x < edge) = (i + 1) / 10, and the tails */
    static const double edges[] = {-1.2815515655, -0.8416212336, -0.5244005127, -0.2533471031, 0,
                                   0.2533471031,  0.5244005127,  0.8416212336,  1.2815515655};
    int count[10] = {0}, beyond_3 = 0;
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
    for (int i = 0; i < N; i++) {
        const double x = gf_rng_normal(&r);
        if (i < 1000) CHECK(x == gf_rng_normal(&again));
        int b = 0;
        while (b < 9 && x > edges[b]) b++;
        count[b]++;
        beyond_3 += fabs(x) > 3;
        m1 += x / N, m2 += x * x / N, m3 += x * x * x / N, m4 += x * x * x * x / N;
    }
    double chi2 = 0;
    for (int i = 0; i < 10; i++) chi2 += pow(count[i] - N / 10, 2) / (N / 10);
    CHECK_NEAR(chi2, 9, 4 * sqrt(18.0));
    CHECK_NEAR(m1, 0, 4 / sqrt(N));
    CHECK_NEAR(m2, 1, 4 * sqrt(2.0 / N));
    CHECK_NEAR(m3, 0, 4 * sqrt(15.0 / N));
    CHECK_NEAR(m4, 3, 4 * sqrt(96.0 / N));
    CHECK_NEAR(beyond_3, N * 0.0026998, 4 * sqrt(N * 0.0027));
}

/* Initial weights must have the same bits on every machine, so the generator does not use libm. The expected bits of
 * 100,000 numbers come from tests/golden/normal.py. Its logarithm differs from libm's by at most 4.4e-16,
 * relatively. */
static void normal_numbers_have_the_same_bits_on_every_machine(void) {
    struct gf_rng r;
    gf_rng_seed(&r, 7);
    static const double want[] = {1.674036445441065,   0.5378981681989655,    1.2079282540944534,
                                  0.32834061497569145, -0.012389036451004693, -0.4115374992476508};
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < 100000; i++) {
        const double x = gf_rng_normal(&r);
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
        if (i < 6) CHECK(x == want[i]);
    }
    CHECK(hash == 0x78a63d76ee52797bu);
}

static uint64_t rotr(uint64_t x, int k) { return x >> k | x << (64 - k); }

/* Points on the unit circle and its centre are rejected and drawn again. The state is computed from the two numbers
 * that it is to give next, with the formula of xoshiro256++. */
static void normal_numbers_redraw_points_on_the_circle_and_at_its_centre(void) {
    static const uint64_t edges[][2] = {{UINT64_C(1) << 63, UINT64_C(1) << 63}, /* u = v = 0 */
                                        {UINT64_C(1) << 63, 0},                 /* u = 0, v = -1 */
                                        {0, 0}};                                /* u = v = -1 */
    for (int i = 0; i < 3; i++) {
        const uint64_t next0 = 0x123456789abcdefu, a = rotr(rotr(edges[i][1] - next0, 23) - next0, 45), s0 = next0 ^ a,
                       s3 = rotr(edges[i][0] - s0, 23) - s0;
        struct gf_rng r = {{s0, s3 ^ a, 77, s3}}, after = r;
        CHECK(gf_rng_u64(&after) == edges[i][0]);
        CHECK(gf_rng_u64(&after) == edges[i][1]);
        CHECK(gf_rng_normal(&r) == gf_rng_normal(&after));
    }
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

/* kernels_test.c tests all f16 values; these are floats outside their range. */
static void floats_above_the_largest_f16_convert_to_infinity(void) {
    for (uint32_t u = 0x477fe000; u < 0x47900000; u++) { /* 65504 up to 73728 */
        const float x = float_of(u);
        const int want = x < 65520 ? 0x7bff : 0x7c00;
        if (gf_f32_to_f16(x) != want || gf_f32_to_f16(-x) != (want | 0x8000)) CHECK_INT(u, -1);
    }
    for (uint32_t u = 0x47800000; u <= 0x7f800000; u += 0x1357) {
        CHECK_INT(gf_f32_to_f16(float_of(u)), 0x7c00);
        CHECK_INT(gf_f32_to_f16(-float_of(u)), 0xfc00);
    }
    for (uint32_t h = 0; h < 0x7f80; h++) { /* between a bf16 and the next, which may be infinity */
        const uint32_t mid = h << 16 | 0x8000;
        CHECK_INT(gf_f32_to_bf16(float_of(mid)), h + (h & 1));
        CHECK_INT(gf_f32_to_bf16(float_of(mid - 1)), h);
        CHECK_INT(gf_f32_to_bf16(-float_of(mid + 1)), (h + 1) | 0x8000);
    }
    static const uint32_t nans[] = {0x7f800001, 0x7fc00000, 0xff800001, 0xffffffff, 0x7f801fff};
    for (int i = 0; i < 5; i++) { /* also NaN whose upper 16 bits are those of infinity */
        CHECK(isnan(gf_f16_to_f32(gf_f32_to_f16(float_of(nans[i])))));
        CHECK(isnan(gf_bf16_to_f32(gf_f32_to_bf16(float_of(nans[i])))));
        CHECK_INT(gf_f32_to_f16(float_of(nans[i])) >> 15, nans[i] >> 31);
        CHECK_INT(gf_f32_to_bf16(float_of(nans[i])) >> 15, nans[i] >> 31);
    }
}

static void error_sentences_are_formatted_and_cut_to_the_buffer(void) {
    struct gf_error err = {0, "as before"};
    CHECK_INT(gf_fail(&err, GF_ERR_SHAPE, "%s: [%d, %u], %lld%% of %d", "a.weight", INT32_MIN, UINT32_MAX,
                      (long long)INT64_MIN, 0),
              GF_ERR_SHAPE);
    CHECK_INT(err.status, GF_ERR_SHAPE);
    CHECK_TEXT(err.text, "a.weight: [-2147483648, 4294967295], -9223372036854775808% of 0");
    CHECK_INT(gf_fail(NULL, GF_ERR_MEMORY, "nobody reads %s", "this"), GF_ERR_MEMORY);
    CHECK_INT(gf_fail(&err, GF_ERR_TOKEN, "%s", ""), GF_ERR_TOKEN);
    CHECK_TEXT(err.text, "");
    char longer[2000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    struct {
        struct gf_error err;
        char after[8];
    } fenced;
    memset(&fenced, '#', sizeof fenced);
    gf_fail(&fenced.err, GF_ERR_STATE, "%s %d", longer, 5);
    CHECK_INT(strlen(fenced.err.text), sizeof fenced.err.text - 1);
    CHECK(!memcmp(fenced.after, "########", 8));
}

static void status_codes_are_stable_and_distinct(void) {
    static const struct {
        int value;
        const char *code, *text;
    } all[] = {
#define ROW(name, value, code, text) {value, code, text},
        GF_STATUS(ROW)
#undef ROW
    };
    const int n = sizeof all / sizeof *all;
    CHECK_INT(GF_OK, 0);
    for (int i = 0; i < n; i++) {
        CHECK_INT(all[i].value, -i);
        CHECK(all[i].code[0] && all[i].text[0]);
        for (int k = 0; k < i; k++) CHECK(strcmp(all[i].code, all[k].code) != 0);
    }
    CHECK_TEXT(all[-GF_ERR_TRUNCATED].code, "truncated");
    CHECK_TEXT(all[-GF_ERR_NOT_FINITE].code, "not-finite");
}

/* The number with these 64 bits. */
static double of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

/* libm's is correct within 1 ulp. */
static void the_logarithm_is_accurate(void) {
    struct gf_rng rng;
    gf_rng_seed(&rng, 1);
    CHECK(gf_log(1) == 0 && gf_log(2) == log(2.0) && gf_log(0.5) == -log(2.0));
    for (int i = 0; i < 100000; i++) {
        /* every exponent of a normal number, every second one near 1 */
        const uint64_t e = i % 2 ? 1020 + (uint64_t)i / 2 % 7 : 1 + (uint64_t)i / 2 % 2046;
        const double x = of_bits(e << 52 | gf_rng_u64(&rng) >> 12), want = log(x);
        CHECK_NEAR(gf_log(x), want, 4 * fabs(nextafter(want, INFINITY) - want));
    }
}

/* Frequencies as models have them; the references are libm's, in long double where that is longer. */
static void powers_and_angles_are_accurate(void) {
    struct gf_rng rng;
    gf_rng_seed(&rng, 2);
    CHECK(gf_pow(0, 3) == 0 && gf_pow(0, 0) == 1 && gf_pow(7, 0) == 1 && gf_pow(0.9, 1e6) == 0);
    for (int e = -1021; e < 1024; e++) CHECK(gf_pow(2, e) == ldexp(1, e));
    for (int i = 0; i < 100000; i++) {
        const double theta = exp(60 * gf_rng_uniform(&rng) - 20), y = -gf_rng_uniform(&rng),
                     f = (double)powl((long double)theta, (long double)y),
                     angle = f * (double)(gf_rng_u64(&rng) >> (40 + i % 20));
        const struct gf_direction at = gf_direction_of(angle);
        CHECK_NEAR(gf_pow(theta, y), f, fabs(nextafter(f, INFINITY) - f));
        CHECK_NEAR(at.cos, cos(angle), 0x1p-52 * fabs(cos(angle)));
        CHECK_NEAR(at.sin, sin(angle), 0x1p-52 * fabs(sin(angle)));
    }
    CHECK(isnan(gf_direction_of(INFINITY).cos) && isnan(gf_direction_of(NAN).sin));
    CHECK(isnan(gf_direction_of(1e308).sin));
}

/* In 32 bits such products wrapped, and calloc gave what was left of them. */
static void an_array_whose_size_wraps_is_refused(void) {
    CHECK(gf_calloc((uint64_t)1 << 32, (uint64_t)1 << 32) == NULL);
    CHECK(gf_calloc(((uint64_t)1 << 61) + 1, 8) == NULL);
    CHECK(gf_calloc(SIZE_MAX / 2 + 1, 1) == NULL);
    uint8_t *p = gf_calloc(3, 5), *none = gf_calloc(0, 8);
    for (int i = 0; i < 15; i++) CHECK_INT(p[i], 0);
    CHECK(none != NULL);
    free(p);
    free(none);
}

int main(void) {
    RUN(an_array_whose_size_wraps_is_refused);
    RUN(size_arithmetic_reports_overflow);
    RUN(an_arena_gives_zeroed_aligned_memory_until_it_is_full);
    RUN(memory_is_zero_where_freed_and_new_memory_meet);
    RUN(an_allocation_that_cannot_succeed_returns_null);
    RUN(the_generator_gives_the_published_numbers);
    RUN(uniform_numbers_are_spread_evenly_over_the_interval);
    RUN(normal_numbers_follow_the_normal_distribution);
    RUN(normal_numbers_have_the_same_bits_on_every_machine);
    RUN(normal_numbers_redraw_points_on_the_circle_and_at_its_centre);
    RUN(floats_above_the_largest_f16_convert_to_infinity);
    RUN(the_logarithm_is_accurate);
    RUN(powers_and_angles_are_accurate);
    RUN(error_sentences_are_formatted_and_cut_to_the_buffer);
    RUN(status_codes_are_stable_and_distinct);
    return check_end();
}
