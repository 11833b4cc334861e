/* session.h - struct gf_session: the state of one sequence of tokens over a model, and what the files session_*.c
 * share. The public calls are declared in glassformer.h. */
#ifndef GF_SESSION_H
#define GF_SESSION_H
#include "base/arena.h"
#include "base/rng.h"
#include "model/layers/embed.h"
#include "model/layers/kv.h"
#include "model/model.h"
#include "model/observe/observe.h"
#include "model/layers/pass.h"
#include "model/observe/trace.h"

/* The candidates of the last gf_session_sample, which stay in `sampling`. n 1: `first` alone; 0: there was none. */
struct gf_drawn {
    int32_t n, first;
    double sum;
};

/* The start of the next pass, and the rows whose output is not wanted: gf_session_start. */
struct gf_start {
    int32_t layer;
    const float *stream; /* [n, d_model] the residual stream there, the caller's; NULL: at the embedding */
    int32_t drop;
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
    struct gf_start start;
    int32_t stop, stops; /* the block before which passes of the decoder end, if `stops`: gf_session_stop */
    /* scratch for a pass of up to scratch_rows rows and scores_ld keys: all layers share it */
    struct gf_arena scratch;
    int32_t scratch_rows, scores_ld;
    struct gf_bufs bufs;
    struct gf_embedded embedded;
    float *scores;
    void *matmul_scratch;
    /* results of the last eval and encode */
    float *hidden, *encoded; /* [rows, d_model] after the final norm; hidden of an encoder: what its head reads */
    float *pooled;           /* [sources, d_model] an encoder's, with a pooler */
    int32_t pooled_room, hidden_rows, hidden_room, encoded_rows, encoded_room;
    float *logits;                                 /* [logits_room, gf_head_rows] */
    int32_t logits_room, logits_row0, logits_rows; /* which rows are there now */
};

/* session_stack.c: one pass through a stack or the head, on the session's scratch */

/* GF_OK if all n ids are in the vocabulary, otherwise the error. */
int32_t gf_check_ids(const struct gf_model *m, int32_t stack, const int32_t *ids, int32_t n, struct gf_error *err);
/* Rows of a call that run through a stack in one pass. */
struct gf_chunk {
    int32_t stack;
    int32_t first, n;   /* rows first .. first + n - 1 of the call */
    const int32_t *ids; /* [n] */
    struct gf_seg *segs;
    int32_t n_segs;
};

/* hidden [n, d_model] = the whole stack, embedding to final norm, for the rows of the chunk. The first start.drop rows
 * of the call have no row in hidden; a chunk with such rows has one segment, which then begins behind them. The scratch
 * is reserved for n rows. */
void gf_run_stack(struct gf_session *s, const struct gf_chunk *chunk, struct gf_start start, float *hidden);
/* The start of the pass that begins, which is forgotten: the pass after it begins at the embedding with all rows. */
struct gf_start gf_take_start(struct gf_session *s);
/* logits [n, gf_head_rows] of the hidden states [n, d_model], n up to GF_CHUNK. The scratch is reserved for n rows. */
void gf_run_head(struct gf_session *s, float *logits, const float *hidden, int32_t n);

/* session_scratch.c: memory for passes. Each call returns 0, or -1 without memory: nothing has changed then. */

/* Grow the scratch to passes of `rows` rows over `keys` keys. What the scratch held is lost when it grows. */
int gf_reserve_scratch(struct gf_session *s, int32_t rows, int32_t keys);
/* Grow *rows, [*room, width], to `need` rows; the old ones are copied. */
int gf_reserve_rows(float **rows, int32_t *room, int32_t need, int32_t width);
/* Grow s->ids to n tokens; the old ones are kept. */
int gf_reserve_ids(struct gf_session *s, int32_t n);

/* session_eval.c: what saving and restoring a session share with prefill and decode */

/* Uses the rotary frequencies of `length` where they depend on the length of the sequence. If they are others than
 * before, all positions held are computed again, and captures do not change. 0, or -1 without memory: nothing has
 * changed then. */
int gf_session_rotate(struct gf_session *s, int32_t length);

/* GF_OK if n more tokens can be evaluated, otherwise the error. */
int32_t gf_refuse_eval(const struct gf_session *s, const int32_t *ids, int32_t n, struct gf_error *err);
/* After the keys and values of n tokens are in the cache: add the tokens to the sequence. */
void gf_session_advance(struct gf_session *s, const int32_t *ids, int32_t n);
#endif
