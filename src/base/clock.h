/* clock.h - milliseconds from some fixed moment, for measuring operations. */
#ifndef GF_CLOCK_H
#define GF_CLOCK_H
double gf_now_ms(void);
#endif
