/* fuzz.c - calls the engine and the trainer with random wrong input.
 *
 *   fuzz [--seconds N] [--cases N] [--seed N] [TARGET...]     N seconds in all, divided among the targets
 *   fuzz --run TARGET FILE                                    one input again
 *
 * A child process runs a target's cases. A sanitizer's report, a failed PROMISE or a timer ends it; its last input is
 * in shared memory, and the parent writes it to build/fuzz. A case depends on seed, target and number only. Without
 * arguments: a few cases of one seed, for the tests. */
#define _DEFAULT_SOURCE
#include "base/clock.h"
#include "mutate.h"
#include "targets.h"
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Allocations above 64 MB return NULL, as on a machine without more memory. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1:max_allocation_size_mb=64:detect_leaks=1";
}
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) { return "print_stacktrace=1"; }

enum { INPUT_MOST = 1 << 20, DECISIONS_MOST = 1 << 12, SMOKE_CASES = 150 }; /* bytes, bytes, cases */
/* Limits of a case in seconds: of processor time, and, for cases that wait, of real time, which is long because other
 * processes may use the machine. */
enum { CPU_S = 20, WALL_S = 600 };

struct shared {     /* memory shared by the child and its parent */
    uint64_t cases; /* finished; the number of the current case */
    int done;       /* all cases are finished: a failure now is a leak */
    size_t n;
    uint8_t bytes[INPUT_MOST]; /* [n] the input of the current case */
};
struct plan {
    double seconds;
    uint64_t seed, cases;
};

/* Make the input of the current case. */
static void make_case(struct shared *s, const struct target *t, struct gf_memory *seeds, int n, uint64_t seed) {
    struct gf_rng r;
    uint64_t key = seed;
    for (const char *c = t->name; *c; c++) key = key * 31 + (uint8_t)*c;
    gf_rng_seed(&r, key * 0x9e3779b97f4a7c15u + s->cases);
    if (!n) {
        s->n = 1 + (size_t)any(&r, DECISIONS_MOST);
        for (size_t i = 0; i < s->n; i++) s->bytes[i] = (uint8_t)any(&r, 256);
        return;
    }
    const struct gf_memory *one = &seeds[any(&r, (uint64_t)n)], *other = &seeds[any(&r, (uint64_t)n)];
    s->n = one->n;
    memcpy(s->bytes, one->bytes, one->n);
    s->n = mutate(&r, s->bytes, s->n, INPUT_MOST, other->bytes, other->n);
}

/* Run a target with a copy of the input in an allocation of its size, so that the sanitizer detects reads beyond it. */
static void run(const struct target *t, const uint8_t *bytes, size_t n) {
    uint8_t *copy = malloc(n ? n : 1);
    if (!copy) exit(1);
    memcpy(copy, bytes, n);
    t->run(copy, n);
    free(copy);
}

/* Start the timers that end the process with SIGPROF or SIGALRM; 0 stops them. */
static void limit(int cpu_s, int wall_s) {
    const struct itimerval cpu = {.it_value = {.tv_sec = cpu_s}};
    setitimer(ITIMER_PROF, &cpu, NULL);
    alarm((unsigned)wall_s);
}

static void child(struct shared *s, const struct target *t, const struct plan *p) {
    struct gf_memory seeds[MAX_SEEDS] = {{0}};
    const int n = t->seeds ? t->seeds(seeds) : 0;
    const double end = gf_now_ms() + 1000 * p->seconds;
    for (; s->cases < p->cases && gf_now_ms() < end; s->cases++) {
        make_case(s, t, seeds, n, p->seed);
        limit(CPU_S, WALL_S);
        run(t, s->bytes, s->n);
    }
    limit(0, 0);
    for (int i = 0; i < n; i++) gf_memory_close(&seeds[i]);
    s->done = 1;
    exit(0);
}

static int report(const struct shared *s, const struct target *t, uint64_t seed, int status) {
    char path[128];
    mkdir("build", 0777);
    mkdir("build/fuzz", 0777);
    snprintf(path, sizeof path, "build/fuzz/%s-%llu-%llu", t->name, (unsigned long long)seed,
             (unsigned long long)s->cases);
    FILE *f = fopen(path, "wb");
    const int written = f && fwrite(s->bytes, 1, s->n, f) == s->n;
    if (f) fclose(f);
    const int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    printf("FAIL %s: seed %llu, case %llu: %s\n  again: fuzz --run %s %s\n", t->name, (unsigned long long)seed,
           (unsigned long long)s->cases,
           sig == SIGALRM || sig == SIGPROF ? "it did not end within its time limit"
           : s->done                        ? "an earlier case leaks memory, see the report above"
                                            : "see the report above",
           t->name, written ? path : "(its input could not be written)");
    return 1;
}

static int fuzz(struct shared *s, const struct target *t, const struct plan *p) {
    int status = 0;
    s->cases = s->n = 0, s->done = 0;
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) child(s, t, p);
    if (pid < 0 || waitpid(pid, &status, 0) < 0) {
        printf("FAIL %s: a process could not be started\n", t->name);
        return 1;
    }
    if (status) return report(s, t, p->seed, status);
    printf("ok   %s (%llu cases)\n", t->name, (unsigned long long)s->cases);
    return 0;
}

static const struct target *const lists[] = {train_targets, run_targets, engine_targets};
enum { N_LISTS = sizeof lists / sizeof *lists };

static const struct target *find(const char *name) {
    for (int l = 0; l < N_LISTS; l++)
        for (const struct target *t = lists[l]; t->name; t++)
            if (!strcmp(t->name, name)) return t;
    printf("There is no target %s.\n", name);
    exit(2);
}

static int run_file(const struct target *t, const char *path) {
    static uint8_t bytes[INPUT_MOST];
    FILE *f = fopen(path, "rb");
    if (!f) return printf("%s cannot be read.\n", path), 2;
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    if (t->seeds) { /* some targets need the run that makes their seeds */
        struct gf_memory seeds[MAX_SEEDS] = {{0}};
        for (int i = t->seeds(seeds) - 1; i >= 0; i--) gf_memory_close(&seeds[i]);
    }
    run(t, bytes, n);
    printf("ok   %s\n", t->name);
    return 0;
}

int main(int argc, char **argv) {
    struct plan p = {.seconds = 600, .seed = 1, .cases = SMOKE_CASES};
    const struct target *chosen[32];
    int n = 0, bad = 0;
    if (argc == 4 && !strcmp(argv[1], "--run")) return run_file(find(argv[2]), argv[3]);
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' && n < 32)
            chosen[n++] = find(argv[i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--seconds"))
            p.seconds = atof(argv[++i]), p.cases = UINT64_MAX;
        else if (i + 1 < argc && !strcmp(argv[i], "--cases"))
            p.cases = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && !strcmp(argv[i], "--seed"))
            p.seed = strtoull(argv[++i], NULL, 10);
        else
            return printf("fuzz [--seconds N] [--cases N] [--seed N] [TARGET...]\n"), 2;
    }
    if (!n) {
        for (int l = 0; l < N_LISTS; l++)
            for (const struct target *t = lists[l]; t->name; t++) chosen[n++] = t;
    }
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) return printf("Shared memory could not be allocated.\n"), 2;
    p.seconds /= n;
    for (int i = 0; i < n; i++) bad += fuzz(s, chosen[i], &p);
    printf("%d passed, %d failed\n", n - bad, bad);
    return bad > 0;
}
