/* sink.h - a growing array of bytes, to which files are written. */
#ifndef GF_SINK_H
#define GF_SINK_H
#include <stddef.h>
#include <stdint.h>

struct gf_sink {    /* all 0: empty */
    uint8_t *bytes; /* the caller frees it with gf_sink_close or free(bytes) */
    size_t n, capacity;
    int bad; /* memory was missing, or a text too long; later writes are ignored */
};
void gf_put(struct gf_sink *to, const void *bytes, size_t n);
void gf_put_text(struct gf_sink *to, const char *text);
/* Write like printf, at most 1023 bytes. */
void gf_put_format(struct gf_sink *to, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
void gf_sink_close(struct gf_sink *to);
#endif
