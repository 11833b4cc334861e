/* status.h - checks of calls that return a status and write a sentence into `err`, the file's own. */
#ifndef GF_STATUS_CHECKS_H
#define GF_STATUS_CHECKS_H
#include "check.h"
#include "glassformer.h"

static struct gf_error err;

#define CHECK_OK(call)                                                                                                 \
    do {                                                                                                               \
        int32_t status_ = (call);                                                                                      \
        if (check_note(status_ == GF_OK, __FILE__, __LINE__)) printf("%s: status %d: %s\n", #call, status_, err.text); \
    } while (0)

/* The call fails with this status and a sentence that contains these words. */
#define CHECK_REFUSED(call, wanted, ...)                                                                               \
    do {                                                                                                               \
        memset(&err, 0, sizeof err);                                                                                   \
        CHECK_INT((int64_t)(call), wanted);                                                                            \
        CHECK_INT(err.status, wanted);                                                                                 \
        const char *const words_[] = {__VA_ARGS__};                                                                    \
        for (size_t i_ = 0; i_ < sizeof words_ / sizeof *words_; i_++)                                                 \
            if (check_note(strstr(err.text, words_[i_]) != NULL, __FILE__, __LINE__))                                  \
                printf("\"%s\" does not say \"%s\"\n", err.text, words_[i_]);                                          \
    } while (0)
/* The same for calls that return a pointer. */
#define STATUS_OF(pointer) ((pointer) == NULL ? err.status : 0)

/* A model with random weights. */
static inline struct gf_model *random_model(const struct gf_config *c, uint64_t seed, float std) {
    struct gf_model *m = gf_model_open(c, NULL, &err);
    CHECK(m != NULL);
    if (m) CHECK_OK(gf_model_randomize(m, seed, std, &err));
    return m;
}
/* A decoder of this size with the standard variants. */
static inline struct gf_config decoder_config(int32_t vocab, int32_t d, int32_t layers, int32_t heads, int32_t d_ff,
                                              int32_t context) {
    struct gf_config c;
    gf_config_default(&c);
    c.vocab_size = vocab, c.d_model = d, c.n_layers = layers, c.n_heads = c.n_kv_heads = heads;
    c.d_head = d / heads, c.d_ff = d_ff, c.context_length = context;
    return c;
}
#endif
