/* call.c - the call of tests/node/reference.test.js, in a binary that also has the calls of src/wasm. */
#include "model/model.h"
#include "reference/decoder.c"

/* logits [n, vocab_size] of a sealed model by src/reference. A negative status: it does not cover the model. */
int32_t test_reference_logits(const struct gf_model *m, double *logits, const int32_t *ids, int32_t n) {
    const int32_t status = gf_reference_covers(&m->cfg);
    return status == GF_OK ? gf_reference_logits(logits, &m->w, &m->cfg, ids, n) : status;
}
