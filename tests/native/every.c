/* every.c - the tests that scripts/compile.js links into one program; TESTS is their list. It runs the tests that its
 * arguments name, without arguments all of them; `--list` prints their names. */
#include <stdio.h>
#include <string.h>

/* Some make allocations that cannot succeed. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

#define TEST(name) int name(void);
TESTS
#undef TEST

#define TEST(name) {#name, name},
static const struct {
    const char *name;
    int (*run)(void);
} tests[] = {TESTS};

int main(int argc, char **argv) {
    int failed = 0, ran = 0;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        int named = argc == 1;
        for (int k = 1; k < argc; k++) named |= !strcmp(argv[k], tests[i].name);
        if (argc > 1 && !strcmp(argv[1], "--list")) named = !printf("%s\n", tests[i].name);
        if (!named) continue;
        printf("%s:\n", tests[i].name);
        failed |= tests[i].run();
        ran++;
    }
    return failed || (!ran && argc > 1 && strcmp(argv[1], "--list"));
}
