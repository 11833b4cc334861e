/* status.h - the single list of status codes, for C, JavaScript and the documentation.
 *
 * Library code returns a status and writes one sentence (what, where, expected, found) into the
 * caller's struct gf_error. It never prints and never exits. */
#ifndef GF_STATUS_H
#define GF_STATUS_H
#include <stdint.h>

/* enum name, value, stable JavaScript code, sentence for lists */
#define GF_STATUS(X)                                                                                                   \
    X(GF_OK, 0, "ok", "ok")                                                                                            \
    X(GF_ERR_ARGUMENT, -1, "bad-argument", "an argument is out of range")                                              \
    X(GF_ERR_CONFIG, -2, "bad-config", "the configuration does not describe a model")                                  \
    X(GF_ERR_SHAPE, -3, "bad-shape", "a tensor has the wrong shape")                                                   \
    X(GF_ERR_TRUNCATED, -4, "truncated", "a tensor ends early")                                                        \
    X(GF_ERR_MISSING, -5, "missing-tensor", "a tensor is missing")                                                     \
    X(GF_ERR_DUPLICATE, -6, "duplicate-tensor", "a tensor was given twice")                                            \
    X(GF_ERR_MEMORY, -7, "out-of-memory", "memory could not be allocated")                                             \
    X(GF_ERR_CONTEXT, -8, "context-full", "the context is full")                                                       \
    X(GF_ERR_TOKEN, -9, "bad-token", "a token id lies outside the vocabulary")                                         \
    X(GF_ERR_NOT_FINITE, -10, "not-finite", "a number is NaN or infinite")                                             \
    X(GF_ERR_UNSUPPORTED, -11, "unsupported", "the engine has no such feature")                                        \
    X(GF_ERR_STATE, -12, "bad-state", "the call does not fit what was done before")

#define GF_STATUS_ENUM(name, value, code, text) name = value,
enum gf_status { GF_STATUS(GF_STATUS_ENUM) };
#undef GF_STATUS_ENUM

/* Status and sentence of a failed call. Owned by the caller; a successful call does not write it. */
struct gf_error {
    int32_t status;
    char text[508];
};

/* Write status and sentence into err, unless it is NULL. Formats like printf (%s, %d, %u, %lld, %%) and cuts the
 * sentence to fit. Returns status. */
int32_t gf_fail(struct gf_error *err, int32_t status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
#endif
