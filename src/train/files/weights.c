/* weights.c - weights on their way between the trainer and JavaScript, which alone reads and writes GGUF.
 *
 *   64 hexadecimal digits | f32 values of each weight of the roster that has its own, in its order
 *
 * The digits are the SHA-256 of a text: a line for each token, as tokenizer.json spells it, then one for each weight:
 * its name, a space and the number of its values. */
#include "train/files/export.h"
#include "train/files/tokenizer_json.h" /* gf_bpe_spell */
#include "train/sha256.h"
#include <math.h>
#include <string.h>

enum { DIGITS = 64 };

static int32_t digits_of(char digits[DIGITS + 1], const struct gf_params *p, const struct gf_bpe *bpe,
                         struct gf_error *err) {
    static char token[GF_BPE_SPELLING_MOST];
    struct gf_memory lines;
    struct gf_sink to = gf_memory_sink(&lines);
    for (int32_t i = 0; i < bpe->vocab_size; i++) {
        gf_bpe_spell(bpe, i, token, sizeof token);
        gf_put_text(&to, token);
        gf_put_text(&to, "\n");
    }
    for (int32_t i = 0; i < p->n_list; i++)
        gf_put_format(&to, "%s %llu\n", p->list[i].t.name, (unsigned long long)p->list[i].t.count);
    if (!to.bad) gf_sha256(digits, lines.bytes, lines.n);
    gf_memory_close(&lines);
    return to.bad ? gf_fail(err, GF_ERR_MEMORY, "no memory for the names of %d weights", p->n_list) : GF_OK;
}

int32_t gf_export_weights(const struct gf_params *p, const struct gf_bpe *bpe, struct gf_sink *to,
                          struct gf_error *err) {
    char digits[DIGITS + 1];
    const int32_t status = digits_of(digits, p, bpe, err);
    if (status != GF_OK) return status;
    gf_put(to, digits, DIGITS);
    for (int32_t i = 0; i < p->n_list; i++)
        gf_put(to, p->data + p->list[i].offset, (size_t)p->list[i].t.count * sizeof(float));
    return GF_OK;
}

int32_t gf_import_weights(struct gf_params *p, const struct gf_bpe *bpe, const void *bytes, size_t n,
                          struct gf_error *err) {
    char digits[DIGITS + 1];
    uint64_t count = 0;
    for (int32_t i = 0; i < p->n_list; i++) count += p->list[i].t.count;
    if (n != DIGITS + count * sizeof(float))
        return gf_fail(err, GF_ERR_SHAPE, "the file has %lld bytes, the weights of this recipe take %lld", (long long)n,
                       (long long)(DIGITS + count * sizeof(float)));
    const int32_t status = digits_of(digits, p, bpe, err);
    if (status != GF_OK) return status;
    if (memcmp(bytes, digits, DIGITS))
        return gf_fail(err, GF_ERR_SHAPE, "its vocabulary or its weights are not those of this recipe and corpus");
    const uint8_t *at = (const uint8_t *)bytes + DIGITS;
    for (int32_t i = 0; i < p->n_list; i++) {
        float *values = p->data + p->list[i].offset;
        const size_t size = (size_t)p->list[i].t.count;
        memcpy(values, at, size * sizeof(float));
        at += size * sizeof(float);
        for (size_t k = 0; k < size; k++)
            if (!isfinite(values[k]))
                return gf_fail(err, GF_ERR_NOT_FINITE, "value %lld of %s is NaN or infinite", (long long)k,
                               p->list[i].t.name);
    }
    return GF_OK;
}
