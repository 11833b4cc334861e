/* export.c - trained weights as a model of the engine, and its bits per byte; the files of a run. */
#include "train/files/export.h"
#include "glassformer.h"
#include "train/files/tokenizer_json.h"
#include <stdlib.h>
#include <string.h>

struct gf_model *gf_export_model(const struct gf_params *p, const struct gf_config *cfg, int32_t dtype,
                                 struct gf_error *err) {
    const int32_t n = gf_roster_count(cfg);
    uint8_t *dtypes = malloc((size_t)n + 1);
    if (!dtypes) {
        gf_fail(err, GF_ERR_MEMORY, "no memory for %d tensors", n);
        return NULL;
    }
    memset(dtypes, dtype, (size_t)n);
    struct gf_model *m = gf_model_open(cfg, dtypes, err);
    free(dtypes);
    int32_t status = m ? GF_OK : GF_ERR_MEMORY;
    for (int32_t i = 0; i < p->n_list && status == GF_OK; i++) {
        const struct gf_param *e = &p->list[i];
        status = gf_tensor_begin(m, e->index, 1, GF_F32, 0, err);
        for (int32_t r = 0; r < e->t.rows && status == GF_OK; r++)
            status = gf_tensor_write(m, p->data + e->offset + (uint64_t)r * (uint64_t)e->t.cols,
                                     (uint32_t)e->t.cols * 4, err);
        if (status == GF_OK) status = gf_tensor_end(m, err);
    }
    if (status == GF_OK) status = gf_model_seal(m, err);
    if (status == GF_OK) return m;
    gf_model_close(m);
    return NULL;
}

/* Add the nats of a sequence's n targets to *nats. The sequence is evaluated in chunks of GF_CHUNK tokens. */
static int32_t sequence_nats(struct gf_session *s, const int32_t *ids, const int32_t *targets, int32_t n,
                             int32_t vocab_size, double *nats, struct gf_error *err) {
    int32_t status = gf_session_rewind(s, 0, err);
    for (int32_t i = 0; i < n && status == GF_OK; i += GF_CHUNK) {
        const int32_t m = n - i < GF_CHUNK ? n - i : GF_CHUNK;
        status = gf_session_eval(s, ids + i, m, err);
        const float *logits = status == GF_OK ? gf_session_logits(s, 0, m, err) : NULL;
        if (!logits) return status == GF_OK ? GF_ERR_MEMORY : status;
        for (int32_t r = 0; r < m; r++, logits += vocab_size)
            *nats += (double)gf_logsumexp(logits, vocab_size, NULL) - (double)logits[targets[i + r]];
    }
    return status;
}

int32_t gf_export_bits(const struct gf_model *m, struct gf_data *data, double *bits, struct gf_error *err) {
    const struct gf_config *c = gf_model_config(m);
    struct gf_batch_buffer buffer;
    if (gf_batch_open(&buffer, c->context_length, 1)) return gf_fail(err, GF_ERR_MEMORY, "no memory for a sequence");
    struct gf_session *s = gf_session_open(m, 0, GF_KV_F32, err);
    int32_t status = s ? GF_OK : GF_ERR_MEMORY;
    double nats = 0;
    int64_t bytes = 0;
    for (int32_t i = 0, w = 0; status == GF_OK && i < data->n_texts;) {
        if (gf_data_in_order(data, &buffer, &i, &w))
            status = gf_fail(err, GF_ERR_MEMORY, "no memory for a sequence");
        else
            status = sequence_nats(s, buffer.ids, buffer.targets, buffer.b.n, c->vocab_size, &nats, err);
        bytes += buffer.bytes;
    }
    *bits = nats / 0.69314718055994530942 / (double)bytes;
    gf_session_close(s);
    gf_batch_close(&buffer);
    return status;
}

/* The weights as a file of this kind. */
static int32_t put_weights(enum gf_file_kind kind, const struct gf_params *p, const struct gf_config *cfg,
                           const struct gf_bpe *bpe, struct gf_sink *to, struct gf_error *err) {
    if (kind == GF_FILE_WEIGHTS) return gf_export_weights(p, bpe, to, err);
    gf_export_safetensors(p, cfg, to);
    return GF_OK;
}

/* The same of a model with its adapter. */
static int32_t put_merged(enum gf_file_kind kind, const struct gf_trainer *t, const struct gf_bpe *bpe,
                          struct gf_sink *to, struct gf_error *err) {
    struct gf_params merged;
    int32_t status = gf_lora_merge(&t->lora, &merged, t->lanes[0].graph.gemm, err);
    if (status == GF_OK) status = put_weights(kind, &merged, &t->cfg, bpe, to, err);
    gf_params_close(&merged);
    return status;
}

int32_t gf_export_file(enum gf_file_kind kind, struct gf_trainer *t, const struct gf_bpe *bpe, struct gf_sink *to,
                       struct gf_error *err) {
    switch (kind) {
    case GF_FILE_WEIGHTS:
    case GF_FILE_SAFETENSORS:
        return t->lora.n_parts ? put_merged(kind, t, bpe, to, err)
                               : put_weights(kind, gf_trainer_best(t), &t->cfg, bpe, to, err);
    case GF_FILE_CONFIG: gf_export_config(&t->cfg, to); return GF_OK;
    case GF_FILE_TOKENIZER: gf_bpe_write(bpe, t->cfg.kind != GF_ENCODER_DECODER, to); return GF_OK;
    case GF_FILE_STATE: gf_trainer_save(t, to); return GF_OK;
    }
    return gf_fail(err, GF_ERR_ARGUMENT, "the kind of file is %d, expected 0 to 4", kind);
}
