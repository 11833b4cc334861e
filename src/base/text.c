/* text.c - see text.h. Decimals: a product or quotient of a whole number below 2^53 and a power of ten up to 10^22 is
 * rounded once, so comparing it with x decides whether the digits read back as x (Clinger 1990). */
#include "base/text.h"
#include <math.h>
#include <string.h>

void gf_append_first(struct gf_text *t, const char *s, size_t n) {
    const size_t room = (size_t)(t->end - t->at), fits = n < room ? n : room;
    memcpy(t->at, s, fits);
    t->at += fits;
    *t->at = 0;
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

void gf_append_decimal(struct gf_text *t, double x, int is_float) {
    if (x < 0) gf_append(t, "-"), x = -x;
    if (isnan(x) || isinf(x) || x == 0) {
        gf_append(t, isnan(x) ? "NaN" : x == 0 ? "0" : "Infinity");
        return;
    }
    int e = 0; /* 10^e <= x < 10^(e + 1) */
    while (e < 308 && scaled(x, -e) >= 10) e++;
    while (e > -323 && scaled(x, -e) < 1) e--;
    const int whole = x < 0x1p53 && x == floor(x);
    uint64_t d = whole ? (uint64_t)x : 0; /* x = d * 10^k */
    int k = 0;
    for (int digits = 1; !whole && digits <= 17; digits++) {
        k = e + 1 - digits;
        d = (uint64_t)(scaled(x, -k) + 0.5);
        const double back = scaled((double)d, k);
        if (is_float ? (float)back == (float)x : back == x) break;
    }
    for (; d % 10 == 0; d /= 10) k++;
    char text[21];
    struct gf_text digits = gf_text_in(text, sizeof text);
    gf_append_whole(&digits, d);
    const int n = (int)(digits.at - text), point = n + k; /* 0.text * 10^point */
    if (point > 21 || point <= -6) {
        gf_append_first(t, text, 1);
        if (n > 1) gf_append(t, "."), gf_append(t, text + 1);
        gf_append(t, point > 0 ? "e+" : "e-");
        gf_append_whole(t, (uint64_t)(point > 0 ? point - 1 : 1 - point));
    } else if (point <= 0) {
        gf_append_first(t, "0.00000", (size_t)(2 - point));
        gf_append(t, text);
    } else if (point >= n) {
        gf_append(t, text);
        gf_append_first(t, "000000000000000000000", (size_t)(point - n));
    } else {
        gf_append_first(t, text, (size_t)point);
        gf_append(t, "."), gf_append(t, text + point);
    }
}
