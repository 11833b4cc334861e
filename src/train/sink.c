/* sink.c - see sink.h. */
#include "train/sink.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gf_put(struct gf_sink *to, const void *bytes, size_t n) {
    if (!to->bad && n) to->bad = to->write(to->ctx, bytes, n) != 0;
}

void gf_put_text(struct gf_sink *to, const char *text) { gf_put(to, text, strlen(text)); }

void gf_put_format(struct gf_sink *to, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || n >= (int)sizeof text)
        to->bad = 1;
    else
        gf_put(to, text, (size_t)n);
}

static int grow(void *ctx, const void *bytes, size_t n) {
    struct gf_memory *m = ctx;
    if (n > m->capacity - m->n) {
        size_t room = m->capacity ? m->capacity : 4096;
        while (room - m->n < n) {
            if (room > SIZE_MAX / 2) return -1;
            room *= 2;
        }
        uint8_t *more = realloc(m->bytes, room);
        if (!more) return -1;
        m->bytes = more;
        m->capacity = room;
    }
    memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
    return 0;
}

struct gf_sink gf_memory_sink(struct gf_memory *m) {
    memset(m, 0, sizeof *m);
    return (struct gf_sink){.write = grow, .ctx = m};
}

void gf_memory_close(struct gf_memory *m) {
    free(m->bytes);
    memset(m, 0, sizeof *m);
}
