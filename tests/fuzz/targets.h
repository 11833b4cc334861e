/* targets.h - what is given bytes that nobody wrote. */
#ifndef GF_TARGETS_H
#define GF_TARGETS_H
#include "base/status.h"
#include "train/sink.h"
#include <stdio.h>
#include <stdlib.h>

/* What a header promises whatever it is given. */
#define PROMISE(cond)                                                                                                  \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);                                         \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)
/* A call's status: 0, or a failure that wrote its sentence. err must be empty before. */
#define STATUS(call, err)                                                                                              \
    do {                                                                                                               \
        const int32_t status_ = (call);                                                                                \
        PROMISE(status_ <= 0 && (status_ == 0) == !(err).text[0]);                                                     \
    } while (0)

enum { MAX_SEEDS = 8 };
struct target {
    const char *name;
    /* Right inputs, from the project's own writers; returns how many. NULL: random bytes, which the
     * target takes its decisions from. */
    int (*seeds)(struct gf_memory seeds[MAX_SEEDS]);
    void (*run)(const uint8_t *bytes, size_t n);
};
/* The last one of each has no name. */
extern const struct target train_targets[], run_targets[], engine_targets[];
#endif
