/* power.c - powers: x^y = exp(y log x), with 106 bits in between.
 *
 * log: x = 2^e m, m in [1/sqrt2, sqrt2), log m = 2 atanh(f), f = (m-1)/(m+1), |f| < 0.172. exp: y log x = n ln 2 + r,
 * |r| < 0.35. Of both series the terms that are below 2^-18 of the sum are added in double. */
#include "base/power.h"
#include "base/double_double.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

static const struct gf_dd ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

static struct gf_dd number(double x) { return (struct gf_dd){x, 0}; }

static struct gf_dd logarithm(double x) {
    int64_t bits;
    memcpy(&bits, &x, 8);
    const int64_t e = (bits - 0x3fe6a09e60000000) >> 52; /* the bits of 1/sqrt2 as float */
    bits -= e * ((int64_t)1 << 52);
    memcpy(&x, &bits, 8);
    const struct gf_dd f = gf_dd_div(number(x - 1), gf_dd_sum(x, 1)), z = gf_dd_mul(f, f);
    double small = 0;
    for (int k = 27; k > 5; k -= 2) small = small * z.hi + 1.0 / k;
    struct gf_dd t = number(small);
    for (int k = 5; k > 0; k -= 2) t = gf_dd_add(gf_dd_mul(t, z), gf_dd_div(number(1), number(k)));
    t = gf_dd_mul(f, t);
    return gf_dd_add(gf_dd_mul(number((double)e), ln2), gf_dd_add(t, t));
}

double gf_pow(double x, double y) {
    if (x == 0 || y == 0) return y == 0;
    const struct gf_dd exponent = gf_dd_mul(number(y), logarithm(x));
    const double n = floor(exponent.hi / ln2.hi + 0.5);
    if (!(n > -1022)) return 0;
    if (n > 1023) return INFINITY;
    const struct gf_dd r = gf_dd_add(exponent, gf_dd_mul(number(-n), ln2));
    double small = 1;
    for (int k = 17; k > 6; k--) small = 1 + r.hi * small / k;
    struct gf_dd t = number(small);
    for (int k = 6; k > 0; k--) t = gf_dd_add(number(1), gf_dd_div(gf_dd_mul(r, t), number(k)));
    const int64_t bits = ((int64_t)n + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, 8);
    return t.hi * scale;
}
