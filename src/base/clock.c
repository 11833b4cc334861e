/* clock.c - see clock.h. In wasm the host gives the time: performance.now. */
#ifndef __wasm__
#define _POSIX_C_SOURCE 199309L
#endif
#include "base/clock.h"
#ifdef __wasm__
__attribute__((import_module("env"), import_name("gf_now_ms"))) double gf_host_now_ms(void);
double gf_now_ms(void) { return gf_host_now_ms(); }
#else
#include <time.h>
double gf_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
#endif
