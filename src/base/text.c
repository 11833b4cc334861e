/* text.c - see text.h. Decimals: a product or quotient of a whole number below 2^53 and a power of ten up to 10^22 is
 * rounded once, so comparing it with x decides whether the digits read back as x (Clinger 1990). */
#include "base/text.h"
#include <math.h>
#include <string.h>

void gf_append_first(struct gf_text *t, const char *s, size_t n) {
    const size_t room = (size_t)(t->limit - t->end), fits = n < room ? n : room;
    memcpy(t->end, s, fits);
    t->end += fits;
    *t->end = 0;
}

void gf_append(struct gf_text *t, const char *s) { gf_append_first(t, s, strlen(s)); }

void gf_append_whole(struct gf_text *t, uint64_t number) {
    char digits[20], *d = digits + sizeof digits;
    do *--d = (char)('0' + number % 10);
    while (number /= 10);
    gf_append_first(t, d, (size_t)(digits + sizeof digits - d));
}

/* x * 10^k, in steps of exact powers of ten. */
static double scaled(double x, int k) {
    const int up = k > 0;
    for (int left = up ? k : -k; left > 0; left -= 22) {
        double power = 1;
        for (int i = 0; i < 22 && i < left; i++) power *= 10;
        x = up ? x * power : x / power;
    }
    return x;
}

/* The e with 10^e <= x < 10^(e + 1), for x > 0. */
static int exponent_of(double x) {
    int e = 0;
    while (e < 308 && scaled(x, -e) >= 10) e++;
    while (e > -323 && scaled(x, -e) < 1) e--;
    return e;
}

struct decimal { /* digits * 10^exponent */
    uint64_t digits;
    int exponent;
};

/* The shortest decimal that reads back as x > 0; is_float: as the float x. Its last digit is not 0. */
static struct decimal shortest(double x, int is_float) {
    struct decimal d = {0, 0};
    if (x < 0x1p53 && x == floor(x)) {
        d.digits = (uint64_t)x;
    } else {
        const int e = exponent_of(x);
        for (int n = 1; n <= 17; n++) {
            d.exponent = e + 1 - n;
            d.digits = (uint64_t)(scaled(x, -d.exponent) + 0.5);
            const double back = scaled((double)d.digits, d.exponent);
            if (is_float ? (float)back == (float)x : back == x) break;
        }
    }
    for (; d.digits % 10 == 0; d.digits /= 10) d.exponent++;
    return d;
}

/* Append 0.DIGITS * 10^point as JavaScript writes it; n: the number of the digits. */
static void append_digits(struct gf_text *t, const char *digits, int n, int point) {
    if (point > 21 || point <= -6) { /* 1.5e+21 */
        gf_append_first(t, digits, 1);
        if (n > 1) gf_append(t, "."), gf_append(t, digits + 1);
        gf_append(t, point > 0 ? "e+" : "e-");
        gf_append_whole(t, (uint64_t)(point > 0 ? point - 1 : 1 - point));
    } else if (point <= 0) { /* 0.0015 */
        gf_append_first(t, "0.00000", (size_t)(2 - point));
        gf_append(t, digits);
    } else if (point >= n) { /* 1500 */
        gf_append(t, digits);
        gf_append_first(t, "000000000000000000000", (size_t)(point - n));
    } else { /* 1.5 */
        gf_append_first(t, digits, (size_t)point);
        gf_append(t, "."), gf_append(t, digits + point);
    }
}

void gf_append_decimal(struct gf_text *t, double x, int is_float) {
    if (x < 0) gf_append(t, "-"), x = -x;
    if (isnan(x) || isinf(x) || x == 0) {
        gf_append(t, isnan(x) ? "NaN" : x == 0 ? "0" : "Infinity");
        return;
    }
    const struct decimal d = shortest(x, is_float);
    char memory[21];
    struct gf_text digits = gf_text_in(memory, sizeof memory);
    gf_append_whole(&digits, d.digits);
    const int n = (int)(digits.end - memory);
    append_digits(t, memory, n, n + d.exponent);
}
