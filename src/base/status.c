/* status.c - formats error sentences. */
#include "base/status.h"
#include <stdarg.h>
#include <string.h>

/* Only the conversions that error sentences use (%s, %d, %u, %lld, %%): printf would be a sixth of the wasm binary. */
struct text {
    char *at, *end;
};

static void put_char(struct text *t, char c) {
    if (t->at < t->end) *t->at++ = c;
}

static void put_number(struct text *t, uint64_t u, int negative) {
    char digits[20];
    int n = 0;
    do digits[n++] = (char)('0' + u % 10);
    while (u /= 10);
    if (negative) put_char(t, '-');
    while (n) put_char(t, digits[--n]);
}

static void put_signed(struct text *t, long long v) { put_number(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0); }

int32_t gf_fail(struct gf_error *err, int32_t status, const char *format, ...) {
    if (!err) return status;
    struct text t = {err->text, err->text + sizeof err->text - 1};
    va_list args;
    va_start(args, format);
    for (const char *f = format; *f; f++) {
        if (*f != '%') {
            put_char(&t, *f);
            continue;
        }
        f++;
        if (*f == 's') {
            const char *s = va_arg(args, const char *);
            while (*s) put_char(&t, *s++);
        } else if (*f == 'd') {
            put_signed(&t, va_arg(args, int));
        } else if (*f == 'u') {
            put_number(&t, va_arg(args, unsigned), 0);
        } else if (!strncmp(f, "lld", 3)) {
            put_signed(&t, va_arg(args, long long));
            f += 2;
        } else {
            put_char(&t, *f);
        }
    }
    va_end(args);
    *t.at = 0;
    err->status = status;
    return status;
}
