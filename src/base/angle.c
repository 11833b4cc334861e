/* angle.c - cosines and sines: angle = n pi/2 + r, |r| < 0.8, with pi/2 as the sum of three doubles; then the series of
 * r, to r^18 / 18!. */
#include "base/angle.h"
#include "base/double_double.h"
#include <math.h>

/* 1 / ((k + 1) (k + 2)): a term of a series divided by the term before it is x^2 times every second of these */
#define SHARE(k) 1.0 / ((k + 1) * (k + 2))
static const double share[] = {SHARE(0),  SHARE(1),  SHARE(2),  SHARE(3),  SHARE(4),  SHARE(5),
                               SHARE(6),  SHARE(7),  SHARE(8),  SHARE(9),  SHARE(10), SHARE(11),
                               SHARE(12), SHARE(13), SHARE(14), SHARE(15), SHARE(16), SHARE(17)};

/* r - n pi/2 */
static struct gf_dd without_quarters(struct gf_dd r, double n) {
    const struct gf_dd rest = {0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
    r = gf_dd_add(r, gf_dd_product(-n, 0x1.921fb54442d18p+0));
    return gf_dd_add(r, gf_dd_mul((struct gf_dd){-n, 0}, rest));
}

struct gf_direction gf_direction_of(double angle) {
    struct gf_dd r = {angle, 0};
    double quarters = 0;
    while (fabs(r.hi) > 0.8 && fabs(r.hi) < INFINITY) {
        const double n = floor(r.hi * 0x1.45f306dc9c883p-1 + 0.5);
        r = without_quarters(r, n);
        quarters += n - 4 * floor(n / 4);
    }
    const double x = r.hi, z = x * x;
    double c = 1, s = 1;
    for (int k = 16; k > 0; k -= 2) {
        c = 1 - z * c * share[k];
        s = 1 - z * s * share[k + 1];
    }
    c = 1 - (z * c * share[0] + x * r.lo);
    s = x + (r.lo * c - x * (z * s * share[1]));
    switch ((int)quarters % 4) {
    case 1: return (struct gf_direction){-s, c};
    case 2: return (struct gf_direction){-c, -s};
    case 3: return (struct gf_direction){s, -c};
    default: return (struct gf_direction){c, s};
    }
}
