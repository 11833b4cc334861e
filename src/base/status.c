/* status.c - formats error sentences. */
#include "base/status.h"
#include "base/text.h"
#include <stdarg.h>
#include <string.h>

static void put_signed(struct gf_text *t, long long v) {
    if (v < 0) gf_append(t, "-");
    gf_append_whole(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* Has only the conversions that error sentences use. */
int32_t gf_fail(struct gf_error *err, int32_t status, const char *format, ...) {
    if (!err) return status;
    struct gf_text t = gf_text_in(err->text, sizeof err->text);
    va_list args;
    va_start(args, format);
    for (const char *f = format; *f; f++) {
        if (*f != '%') {
            gf_append_first(&t, f, 1);
            continue;
        }
        f++;
        if (*f == 's') {
            gf_append(&t, va_arg(args, const char *));
        } else if (*f == 'd') {
            put_signed(&t, va_arg(args, int));
        } else if (*f == 'u') {
            gf_append_whole(&t, va_arg(args, unsigned));
        } else if (!strncmp(f, "lld", 3)) {
            put_signed(&t, va_arg(args, long long));
            f += 2;
        } else {
            gf_append_first(&t, f, 1);
        }
    }
    va_end(args);
    err->status = status;
    return status;
}
