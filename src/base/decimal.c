/* decimal.c - see decimal.h. A product or quotient of a whole number below 2^53 and a power of ten up to 10^22 is
 * rounded once, so comparing it with x decides whether the digits read back as x (Clinger 1990). */
#include "base/decimal.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

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

/* Digits of the whole number d into out, most significant first; returns how many. */
static int put_digits(char *out, uint64_t d) {
    char reversed[20];
    int n = 0;
    do reversed[n++] = (char)('0' + d % 10);
    while (d /= 10);
    for (int i = 0; i < n; i++) out[i] = reversed[n - 1 - i];
    return n;
}

void gf_decimal(char out[32], double x, int is_float) {
    if (isnan(x)) {
        memcpy(out, "NaN", 4);
        return;
    }
    if (x < 0) *out++ = '-', x = -x;
    if (isinf(x)) {
        memcpy(out, "Infinity", 9);
        return;
    }
    if (x == 0) {
        memcpy(out, "0", 2);
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
    char text[20];
    const int n = put_digits(text, d), point = n + k; /* 0.text * 10^point */
    if (point > 21 || point <= -6) {
        *out++ = text[0];
        if (n > 1) *out++ = '.', memcpy(out, text + 1, (size_t)n - 1), out += n - 1;
        *out++ = 'e', *out++ = point > 0 ? '+' : '-';
        out += put_digits(out, (uint64_t)(point > 0 ? point - 1 : 1 - point));
    } else if (point <= 0) {
        memcpy(out, "0.00000", 7);
        out += 2 - point;
        memcpy(out, text, (size_t)n), out += n;
    } else {
        for (int i = 0; i < n || i < point; i++) {
            if (i == point) *out++ = '.';
            *out++ = i < n ? text[i] : '0';
        }
    }
    *out = 0;
}
