/* targets.h - the functions that the fuzzer calls with wrong input. */
#ifndef GF_TARGETS_H
#define GF_TARGETS_H
#include "base/status.h"
#include "train/sink.h"
#include <stdio.h>
#include <stdlib.h>

/* Abort unless a property holds that a header promises for every input. */
#define PROMISE(cond)                                                                                                  \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);                                         \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)
/* Check a call's status: GF_OK with err.text empty, or a failure with a sentence in it. err.text must be empty
 * before. */
#define STATUS(call, err)                                                                                              \
    do {                                                                                                               \
        const int32_t status_ = (call);                                                                                \
        PROMISE(status_ <= 0 && (status_ == 0) == !(err).text[0]);                                                     \
    } while (0)

enum { MAX_SEEDS = 8 };
struct target {
    const char *name;
    /* Makes valid inputs with the project's own writers, to be changed by mutate; returns how many. NULL: the input is
     * random bytes, from which the target takes its decisions. */
    int (*seeds)(struct gf_memory seeds[MAX_SEEDS]);
    void (*run)(const uint8_t *bytes, size_t n);
};
/* Each list ends with a target whose name is NULL. */
extern const struct target train_targets[], run_targets[], engine_targets[];
#endif
