/* files.c - see files.h. */
#include "train/files/files.h"
#include <stdlib.h>
#include <string.h>

char *gf_file_read(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *bytes = NULL;
    size_t room = 1 << 16;
    *n = 0;
    for (;;) {
        char *more = realloc(bytes, room + 1);
        if (!more) break;
        bytes = more;
        *n += fread(bytes + *n, 1, room - *n, f);
        if (*n < room) {
            if (ferror(f)) break;
            bytes[*n] = 0;
            fclose(f);
            return bytes;
        }
        room *= 2;
    }
    free(bytes);
    fclose(f);
    return NULL;
}

static int write_out(void *ctx, const void *bytes, size_t n) {
    FILE *f = ctx;
    return f && fwrite(bytes, 1, n, f) == n ? 0 : -1;
}

void gf_file_open(struct gf_file *f, const char *path) {
    memset(f, 0, sizeof *f);
    snprintf(f->path, sizeof f->path, "%s", path);
    snprintf(f->part, sizeof f->part, "%s.part", f->path);
    f->f = strlen(path) < sizeof f->path ? fopen(f->part, "wb") : NULL;
    f->sink = (struct gf_sink){.write = write_out, .ctx = f->f};
}

int32_t gf_file_close(struct gf_file *f, int32_t status, struct gf_error *err) {
    const int bad = !f->f || (fclose(f->f) | f->sink.bad);
    if (status == GF_OK && (bad || rename(f->part, f->path)))
        status = gf_fail(err, GF_ERR_STATE, "%s cannot be written", f->path);
    if (f->f && status != GF_OK) remove(f->part);
    return status;
}
