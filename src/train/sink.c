/* sink.c - see sink.h. */
#include "train/sink.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Make room for n more bytes. 0, or -1 without memory. */
static int grow(struct gf_sink *to, size_t n) {
    size_t room = to->capacity ? to->capacity : 4096;
    while (room - to->n < n) {
        if (room > SIZE_MAX / 2) return -1;
        room *= 2;
    }
    uint8_t *more = realloc(to->bytes, room);
    if (!more) return -1;
    to->bytes = more;
    to->capacity = room;
    return 0;
}

void gf_put(struct gf_sink *to, const void *bytes, size_t n) {
    if (!to->bad && n > to->capacity - to->n) to->bad = grow(to, n) != 0;
    if (to->bad || !n) return;
    memcpy(to->bytes + to->n, bytes, n);
    to->n += n;
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

void gf_sink_close(struct gf_sink *to) {
    free(to->bytes);
    memset(to, 0, sizeof *to);
}
