/* session.h - struct gf_session: the state of one sequence of tokens over a model. The public calls are declared in
 * glassformer.h. */
#ifndef GF_SESSION_H
#define GF_SESSION_H
#include "base/arena.h"
#include "base/rng.h"
#include "model/embed.h"
#include "model/kv.h"
#include "model/model.h"
#include "model/observe/observe.h"
#include "model/pass.h"
#include "model/observe/trace.h"

/* The candidates of the last gf_session_sample, which stay in `sampling`. n 1: `first` alone; 0: there was none. */
struct gf_drawn {
    int32_t n, first;
    double sum;
};

struct gf_session {
    const struct gf_model *model;
    int32_t context;
    struct gf_kv kv;
    int32_t planned; /* the length of gf_session_plan; 0: none */
    int32_t *ids;    /* [kv.length] tokens held, for the repetition penalty */
    int32_t ids_room;
    /* encoder_decoder: the source's keys and values in every decoder layer */
    struct gf_kv cross;
    uint8_t *cross_mask;
    struct gf_rng rng;
    void *sampling; /* sample.c: workspace over the vocabulary */
    struct gf_drawn drawn;
    struct gf_observe *observe; /* NULL when nothing is captured or edited */
    struct gf_trace *trace;     /* NULL when nothing is measured */
    /* scratch for a pass of up to scratch_rows rows and scores_ld keys: all layers share it */
    struct gf_arena scratch;
    int32_t scratch_rows, scores_ld;
    struct gf_bufs bufs;
    struct gf_embedded embedded;
    float *scores;
    void *matmul_scratch;
    /* results of the last eval and encode */
    float *hidden, *encoded; /* [rows, d_model] after the final norm; hidden of an encoder: what its mlm_head reads */
    float *pooled;           /* [d_model] an encoder's, with a pooler */
    int32_t pooled_room, hidden_rows, hidden_room, encoded_rows, encoded_room;
    float *logits;                                 /* [logits_room, vocab_size] */
    int32_t logits_room, logits_row0, logits_rows; /* which rows are there now */
};
#endif
