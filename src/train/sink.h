/* sink.h - a destination for written bytes: memory here, a file in files.h. */
#ifndef GF_SINK_H
#define GF_SINK_H
#include <stddef.h>
#include <stdint.h>

struct gf_sink {
    int (*write)(void *ctx, const void *bytes, size_t n); /* 0, or -1 */
    void *ctx;
    int bad; /* a write has failed; later ones are ignored */
};
void gf_put(struct gf_sink *to, const void *bytes, size_t n);
void gf_put_text(struct gf_sink *to, const char *text);
/* Write like printf, at most 1023 bytes. */
void gf_put_format(struct gf_sink *to, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* A growing array of bytes. The caller frees it with gf_memory_close or free(bytes). */
struct gf_memory {
    uint8_t *bytes;
    size_t n, capacity;
};
struct gf_sink gf_memory_sink(struct gf_memory *m);
void gf_memory_close(struct gf_memory *m);
#endif
