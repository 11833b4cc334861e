/* log.h - the natural logarithm. */
#ifndef GF_LOG_H
#define GF_LOG_H

/* log(x) of a positive, finite and normal number, within 3 ulp. libm's differs from one C library to the next in the
 * last bit, and brings tables of 4 KB. */
double gf_log(double x);
#endif
