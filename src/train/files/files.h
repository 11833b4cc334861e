/* files.h - the trainer's files: whole ones in, whole ones out. Only programs use it. */
#ifndef GF_FILES_H
#define GF_FILES_H
#include "base/status.h"
#include "train/sink.h"
#include <stdio.h>

/* A file's bytes, a 0 behind them; NULL: it cannot be read. Owned by the caller (free). */
char *gf_file_read(const char *path, size_t *n);

/* A file under the name PATH.part until it is whole. */
struct gf_file {
    struct gf_sink sink;
    FILE *f;
    char path[1024], part[1032];
};
/* Bytes written to f->sink go into the file; gf_file_close returns the first failure. */
void gf_file_open(struct gf_file *f, const char *path);
/* It gets its name, when `status` (of the writing) is GF_OK and every byte went out. Returns
 * status, or the failure. */
int32_t gf_file_close(struct gf_file *f, int32_t status, struct gf_error *err);
#endif
