/* angle.h - cosines and sines. */
#ifndef GF_ANGLE_H
#define GF_ANGLE_H

struct gf_direction {
    double cos, sin;
};

/* Cosine and sine of a finite angle in radians, within 1 ulp up to angles of 2^52; what is larger is taken modulo a
 * circle with 106 bits. libm's brings a table of 3 KB for angles up to 2^16384. */
struct gf_direction gf_direction_of(double angle);
#endif
