/* log.c - the natural logarithm by its series: x = 2^e m, m in [1/sqrt2, sqrt2), log m = 2 atanh(f), f = (m-1)/(m+1);
 * |f| < 0.172, so the first term left out is below 1e-18. */
#include "base/log.h"
#include <stdint.h>
#include <string.h>

double gf_log(double x) {
    int64_t bits;
    memcpy(&bits, &x, 8);
    const int64_t e = (bits - 0x3fe6a09e60000000) >> 52; /* the bits of 1/sqrt2 as float */
    bits -= e * ((int64_t)1 << 52);
    memcpy(&x, &bits, 8);
    const double f = (x - 1) / (x + 1), z = f * f;
    double t = 0;
    for (int k = 23; k > 0; k -= 2) t = t * z + 1.0 / k;
    /* ln 2 in two parts, of which the first has few enough digits that its product is exact */
    return (double)e * 0x1.62e42fefa3800p-1 + ((double)e * 0x1.ef35793c76730p-45 + 2 * f * t);
}
