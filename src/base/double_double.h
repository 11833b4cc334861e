/* double_double.h - numbers of about 106 bits: the sum of two doubles, of which the second is at most half a unit in
 * the last place of the first (Dekker 1971). The compiler must not contract products and sums (-ffp-contract=off). */
#ifndef GF_DOUBLE_DOUBLE_H
#define GF_DOUBLE_DOUBLE_H

struct gf_dd {
    double hi, lo;
};

/* a + b, exact */
static inline struct gf_dd gf_dd_sum(double a, double b) {
    const double s = a + b, t = s - a;
    return (struct gf_dd){s, (a - (s - t)) + (b - t)};
}

/* a b, exact: each factor is split into two of 26 bits */
static inline struct gf_dd gf_dd_product(double a, double b) {
    const double p = a * b, s = 134217729 * a, t = 134217729 * b, ah = s - (s - a), bh = t - (t - b), al = a - ah,
                 bl = b - bh;
    return (struct gf_dd){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static inline struct gf_dd gf_dd_add(struct gf_dd a, struct gf_dd b) {
    const struct gf_dd s = gf_dd_sum(a.hi, b.hi);
    return gf_dd_sum(s.hi, s.lo + (a.lo + b.lo));
}

static inline struct gf_dd gf_dd_mul(struct gf_dd a, struct gf_dd b) {
    const struct gf_dd p = gf_dd_product(a.hi, b.hi);
    return gf_dd_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static inline struct gf_dd gf_dd_div(struct gf_dd a, struct gf_dd b) {
    const double q = a.hi / b.hi;
    const struct gf_dd qb = gf_dd_mul((struct gf_dd){q, 0}, b);
    return gf_dd_sum(q, ((a.hi - qb.hi) - qb.lo + a.lo) / b.hi);
}
#endif
