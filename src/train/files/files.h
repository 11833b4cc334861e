/* files.h - reads and writes whole files. Used by the training program, not by the wasm binary. */
#ifndef GF_FILES_H
#define GF_FILES_H
#include "base/status.h"
#include "train/sink.h"
#include <stdio.h>

/* The n bytes of a file, followed by a 0; NULL if it cannot be read. Owned by the caller (free). */
char *gf_file_read(const char *path, size_t *n);

/* A file being written. It has the name PATH.part until it is complete. */
struct gf_file {
    struct gf_sink sink;
    FILE *f;
    char path[1024], part[1032];
};
/* Start a file; what is written to f->sink goes into it. Failures are reported by gf_file_close. */
void gf_file_open(struct gf_file *f, const char *path);
/* End a file. status: the result of what wrote to it. If that is GF_OK and every byte was written, the file gets its
 * name; otherwise it is removed. Returns status, or the failure. */
int32_t gf_file_close(struct gf_file *f, int32_t status, struct gf_error *err);
#endif
