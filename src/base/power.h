/* power.h - powers. */
#ifndef GF_POWER_H
#define GF_POWER_H

/* x^y, rounded correctly but for one case in millions. x: positive, finite and normal, or 0 with y at least 0; y:
 * finite. What is below the normal numbers is 0. libm's differs from one C library to the next in the last bit, and
 * brings tables of 6 KB. */
double gf_pow(double x, double y);
#endif
