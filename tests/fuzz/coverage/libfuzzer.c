/* libfuzzer.c - runs one target of tests/fuzz under clang's libFuzzer, which keeps the inputs that reach new code.
 *
 *   GF_TARGET=NAME fuzz_coverage [libFuzzer's options] CORPUS_FOLDER
 *   GF_TARGET=NAME fuzz_coverage --seeds FOLDER      write the target's seeds into the folder */
#include "targets.h"
#include <string.h>

/* Allocations above 64 MB return NULL, as on a machine without more memory. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1:max_allocation_size_mb=64"; }

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const struct target *target;

static const struct target *find(const char *name) {
    const struct target *const lists[] = {train_targets, run_targets, engine_targets};
    for (size_t l = 0; name && l < sizeof lists / sizeof *lists; l++)
        for (const struct target *t = lists[l]; t->name; t++)
            if (!strcmp(t->name, name)) return t;
    fprintf(stderr, "GF_TARGET is %s, which is no target.\n", name ? name : "not set");
    exit(2);
}

/* Some targets need the run that makes their seeds, also when these are not written. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    struct gf_memory seeds[MAX_SEEDS] = {{0}};
    const char *folder = *argc == 3 && !strcmp((*argv)[1], "--seeds") ? (*argv)[2] : NULL;
    target = find(getenv("GF_TARGET"));
    for (int n = target->seeds ? target->seeds(seeds) : 0; n-- > 0; gf_memory_close(&seeds[n])) {
        char path[512];
        snprintf(path, sizeof path, "%s/seed-%d", folder ? folder : "", n);
        FILE *f = folder ? fopen(path, "wb") : NULL;
        PROMISE(!folder || (f && fwrite(seeds[n].bytes, 1, seeds[n].n, f) == seeds[n].n));
        if (f) fclose(f);
    }
    if (folder) exit(0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    target->run(bytes, n);
    return 0;
}
