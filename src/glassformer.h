/* glassformer.h - the engine's public interface: all that running a model needs. The trainer and the
 * boundary to JavaScript also include headers of the parts that they drive.
 *
 * A model is opened for a configuration, filled with tensors (or random values), sealed, used by any number of sessions
 * and closed after them. A session is one sequence of tokens over a model: its cached keys and values, its sampler,
 * its captures and edits. No call here reads files: the caller passes the bytes of each tensor.
 *
 * Errors: a call that returns int32_t and takes err returns GF_OK (0) or a negative enum gf_status; a call that returns
 * a pointer and takes err returns NULL on failure. Both then write the status and one sentence into *err; err may be
 * NULL. Calls without err cannot fail, except that gf_roster_tensor and gf_model_tensor return GF_ERR_ARGUMENT for an
 * entry that does not exist, and functions of the inner headers that return int return 0, or -1 without memory. Calls
 * that return a count or size return it directly.
 * Pointers returned by a model or session are owned by it. One thread at a time may call into a model and its
 * sessions. */
#ifndef GLASSFORMER_H
#define GLASSFORMER_H
#include "base/status.h"
#include "kernels/kernels.h" /* enum gf_dtype, enum gf_kv_type */
#include <stddef.h>
#include <stdint.h>

/* ---- configuration ----------------------------------------------------------------------------------------------- */

/* X of a table whose first column is an enumeration. */
#define GF_ENUMERATOR(id, ...) id,

/* X(id, word, activation, FLOPs): the kinds of feed-forward layers. activation: the function by itself; where that is
 * another id, the layer has a gate (Shazeer 2020), and its word contains "glu". FLOPs: for each value, with the product
 * of a gate. */
#define GF_FFNS(X)                                                                                                     \
    X(GF_RELU, "relu", GF_RELU, 1)                                                                                     \
    X(GF_GELU_ERF, "gelu_erf", GF_GELU_ERF, 8)                                                                         \
    X(GF_GELU_TANH, "gelu_tanh", GF_GELU_TANH, 8)                                                                      \
    X(GF_SWIGLU, "swiglu", GF_SILU, 5)                                                                                 \
    X(GF_SILU, "silu", GF_SILU, 8)                                                                                     \
    X(GF_REGLU, "reglu", GF_RELU, 5)                                                                                   \
    X(GF_GEGLU_ERF, "geglu_erf", GF_GELU_ERF, 5)                                                                       \
    X(GF_GEGLU_TANH, "geglu_tanh", GF_GELU_TANH, 5)                                                                    \
    X(GF_NO_FFN, "none", GF_NO_FFN, 0)                                                                                 \
    X(GF_RELU2, "relu2", GF_RELU2, 2)                                                                                  \
    X(GF_QUICK_GELU, "quick_gelu", GF_QUICK_GELU, 6)                                                                   \
    X(GF_MISH, "mish", GF_MISH, 8)                                                                                     \
    X(GF_TANH, "tanh", GF_TANH, 5)
enum gf_ffn_kind { GF_FFNS(GF_ENUMERATOR) };
#define GF_WORD(id, word, ...) , word
#define GF_CALL(E, ...)        E(__VA_ARGS__)

/* E(field, words...): an enumerated field, then the words that JSON and JavaScript use, numbered from 0. */
#define GF_ENUMS(E)                                                                                                    \
    E(kind, "decoder", "encoder", "encoder_decoder")                                                                   \
    E(norm, "layernorm", "rmsnorm", "none")                                                                            \
    E(final_norm_kind, "layernorm", "rmsnorm")                                                                         \
    E(norm_placement, "pre", "post", "sandwich", "output")                                                             \
    E(qk_norm_kind, "rmsnorm", "layernorm")                                                                            \
    E(qk_norm_span, "head", "each_head", "projection")                                                                 \
    GF_CALL(E, ffn GF_FFNS(GF_WORD))                                                                                   \
    GF_CALL(E, head_activation GF_FFNS(GF_WORD))                                                                       \
    E(position, "none", "sinusoidal", "learned", "rope", "alibi")                                                      \
    E(sinusoid_pairs, "adjacent", "half", "half_inclusive")                                                            \
    E(rope_pairs, "half", "adjacent")                                                                                  \
    E(rope_scaling, "none", "linear", "llama3", "yarn", "dynamic", "longrope")                                         \
    E(label_pooling, "none", "last", "first", "mean", "pooler")                                                        \
    E(label_transform, "none", "tanh", "relu", "gelu_erf", "gelu_tanh", "silu")
enum { GF_DECODER, GF_ENCODER, GF_ENCODER_DECODER };
enum { GF_LAYERNORM, GF_RMSNORM, GF_NO_NORM }; /* values of norm; final_norm_kind has the first two */
/* Before the sublayer; after its residual sum; before the sublayer and on its output; on its output alone. */
enum { GF_PRE_NORM, GF_POST_NORM, GF_SANDWICH_NORM, GF_OUTPUT_NORM };
enum { GF_QK_RMSNORM, GF_QK_LAYERNORM };
/* One gain for all heads; one for each head; one for the whole projection, which is normalised as one vector. */
enum { GF_SPAN_HEAD, GF_SPAN_EACH_HEAD, GF_SPAN_PROJECTION };
enum { GF_POS_NONE, GF_POS_SINUSOIDAL, GF_POS_LEARNED, GF_POS_ROPE, GF_POS_ALIBI };
/* Sines and cosines in turn (Vaswani 2017), or first all sines and then all cosines (Marian); inclusive: the last of
 * them has the wavelength 2 pi 10000, as in tensor2tensor (M2M-100, XGLM). */
enum { GF_SINUSOID_ADJACENT, GF_SINUSOID_HALF, GF_SINUSOID_HALF_INCLUSIVE };
/* GF_ROPE_HALF, GF_ROPE_ADJACENT: kernels.h */
enum {
    GF_ROPE_SCALING_NONE,
    GF_ROPE_SCALING_LINEAR,
    GF_ROPE_SCALING_LLAMA3,
    GF_ROPE_SCALING_YARN,
    GF_ROPE_SCALING_DYNAMIC,
    GF_ROPE_SCALING_LONGROPE
};
enum { GF_LABELS_OF_EACH, GF_LABELS_OF_LAST, GF_LABELS_OF_FIRST, GF_LABELS_OF_MEAN, GF_LABELS_OF_POOLER };
enum { GF_LABEL_NONE, GF_LABEL_TANH, GF_LABEL_RELU, GF_LABEL_GELU_ERF, GF_LABEL_GELU_TANH, GF_LABEL_SILU };

/* GF_WORDS_kind, GF_WORDS_norm, ...: the number of words. */
#define GF_COUNT(field, ...) GF_WORDS_##field = sizeof(const char *[]){__VA_ARGS__} / sizeof(const char *),
enum gf_words { GF_ENUMS(GF_COUNT) };
#define GF_LAST(field, last)                                                                                           \
    _Static_assert((int)last == GF_WORDS_##field - 1, "each enumerator of " #field " has a word");
GF_LAST(kind, GF_ENCODER_DECODER)
GF_LAST(norm, GF_NO_NORM)
GF_LAST(final_norm_kind, GF_RMSNORM)
GF_LAST(norm_placement, GF_OUTPUT_NORM)
GF_LAST(qk_norm_kind, GF_QK_LAYERNORM)
GF_LAST(qk_norm_span, GF_SPAN_PROJECTION)
GF_LAST(position, GF_POS_ALIBI)
GF_LAST(sinusoid_pairs, GF_SINUSOID_HALF_INCLUSIVE)
GF_LAST(rope_pairs, GF_ROPE_ADJACENT)
GF_LAST(rope_scaling, GF_ROPE_SCALING_LONGROPE)
GF_LAST(label_pooling, GF_LABELS_OF_POOLER)
GF_LAST(label_transform, GF_LABEL_SILU)

/* GF_FFNS, GF_ENUMS and the four tables below are the only place that says what a configuration may be.
 * scripts/config_fields.js makes web/lib/engine/config/config_fields.js from them, so their expressions use only what
 * means the same in C and JavaScript: c->field, the enumerators above, numbers without suffix, + - * % ! && || ?:,
 * comparisons, parentheses, GF_CEIL_DIV(a, b) = a / b rounded up, gf_ffn_gated(c) of model/config.h, and GF_GIVEN. An
 * enumerated field is compared with its own enumerators only. */

/* X(C type, name, default, least, most, meaning): every field, in the order in which defaults are filled in. default:
 * an expression over the fields before it, or GF_NO_DEFAULT: the field must be given. Flags are 0 or 1, in JavaScript
 * and in the meanings false or true. */
#define GF_CONFIG_FIELDS(X)                                                                                            \
    X(int32_t, kind, GF_DECODER, 0, GF_WORDS_kind - 1, "which stacks there are")                                       \
    X(int32_t, vocab_size, GF_NO_DEFAULT, 1, 1 << 22, "tokens")                                                        \
    X(int32_t, encoder_vocab_size, 0, 0, 1 << 22,                                                                      \
      "tokens of an encoder-decoder's encoder, which then has an embedding of its own; 0: vocab_size")                 \
    X(int32_t, d_model, GF_NO_DEFAULT, 1, 1 << 16, "width of the residual stream")                                     \
    X(int32_t, n_layers, GF_NO_DEFAULT, 1, 1 << 12, "decoder blocks; of an encoder its blocks")                        \
    X(int32_t, n_encoder_layers, c->kind == GF_ENCODER_DECODER ? c->n_layers : 0, 0, 1 << 12,                          \
      "blocks of an encoder-decoder's encoder, else 0")                                                                \
    X(int32_t, n_layer_groups, 0, 0, 1 << 12,                                                                          \
      "groups of successive blocks, whose blocks share their weights (ALBERT); 0: each block has its own")             \
    X(int32_t, n_heads, GF_NO_DEFAULT, 1, 1 << 12, "query heads")                                                      \
    X(int32_t, n_encoder_heads, 0, 0, 1 << 12,                                                                         \
      "heads of an encoder-decoder's encoder, whose queries are as wide as the decoder's; 0: n_heads")                 \
    X(int32_t, n_kv_heads, c->n_heads, 1, 1 << 12, "key and value heads; fewer than n_heads: grouped queries")         \
    X(int32_t, d_head, GF_CEIL_DIV(c->d_model, c->n_heads), 1, 1 << 12, "width of a head")                             \
    X(int32_t, ffn, GF_SWIGLU, 0, GF_WORDS_ffn - 1,                                                                    \
      "activation; those with glu have a gate matrix too; none: blocks have no feed-forward layer")                    \
    X(int32_t, d_ff,                                                                                                   \
      gf_ffn_gated(c)       ? 64 * GF_CEIL_DIV(8 * c->d_model, 192)                                                    \
      : c->ffn == GF_NO_FFN ? 0                                                                                        \
                            : 4 * c->d_model,                                                                          \
      0, 1 << 20, "width inside the feed-forward layer; 0: there is none")                                             \
    X(int32_t, d_encoder_ff, 0, 0, 1 << 20, "the same in the encoder of an encoder-decoder; 0: d_ff")                  \
    X(int32_t, n_experts, 0, 0, 1 << 10, "experts in a block; 0: one feed-forward layer, without a router")            \
    X(int32_t, n_experts_used, c->n_experts < 2 ? c->n_experts : 2, 0, 1 << 10,                                        \
      "experts that the router selects for each token")                                                                \
    X(int32_t, d_expert, c->n_experts > 0 ? c->d_ff : 0, 0, 1 << 20, "width inside each expert")                       \
    X(int32_t, norm_expert_weights, 1, 0, 1, "the weights of the selected experts are divided by their sum")           \
    X(int32_t, d_shared_expert, 0, 0, 1 << 20,                                                                         \
      "width inside the shared expert, which runs for every token with a gate of its own; 0: none")                    \
    X(int32_t, context_length, 1024, 1, INT32_MAX, "most positions")                                                   \
    X(int32_t, norm, GF_RMSNORM, 0, GF_WORDS_norm - 1, "kind of the norms; none: only qk_norm is left")                \
    X(float, norm_eps, c->norm == GF_RMSNORM ? 1e-6 : 1e-5, 0, 1, "inside the square root of the norms")               \
    X(int32_t, norm_placement, GF_PRE_NORM, 0, GF_WORDS_norm_placement - 1,                                            \
      "norm before each sublayer, after its residual sum, before it and on its output, or on its output alone")        \
    X(int32_t, final_norm, c->norm_placement != GF_POST_NORM && c->norm != GF_NO_NORM, 0, 1, "a norm before the head") \
    X(int32_t, final_norm_kind, c->norm == GF_LAYERNORM ? GF_LAYERNORM : GF_RMSNORM, 0, GF_WORDS_final_norm_kind - 1,  \
      "of the norm before the head; the others are of the kind `norm`")                                                \
    X(float, final_norm_eps, 0, 0, 1, "of that norm; 0: norm_eps")                                                     \
    X(int32_t, norm_gain, 1, 0, 1, "false: norms have no weights (OLMo)")                                              \
    X(int32_t, embed_norm, 0, 0, 1, "a norm of the embedding, before the first block (BLOOM)")                         \
    X(int32_t, first_norm, 1, 0, 1, "false: in the first block there is no norm before attention (ModernBERT)")        \
    X(int32_t, parallel_residual, 0, 0, 1, "attention and feed-forward layer read the same residual stream (GPT-J)")   \
    X(int32_t, shared_norm, 0, 0, 1, "with parallel_residual: both sublayers read the same norm; there is no norm2")   \
    X(int32_t, residual_normed, 0, 0, 1,                                                                               \
      "what a sublayer adds is added to the norm that it reads, not to the stream before that (BLOOM's option)")       \
    X(int32_t, qk_norm, 0, 0, 1, "a norm of q and k (Qwen3)")                                                          \
    X(int32_t, qk_norm_rotated, 0, 0, 1, "the norm of q and k comes after their rotation instead of before (Hunyuan)") \
    X(int32_t, qk_norm_kind, GF_QK_RMSNORM, 0, GF_WORDS_qk_norm_kind - 1, "kind of the norm of q and k")               \
    X(int32_t, qk_norm_span, GF_SPAN_HEAD, 0, GF_WORDS_qk_norm_span - 1,                                               \
      "of each head with one gain for all, of each head with its own gain, or of all heads as one vector")             \
    X(int32_t, position, GF_POS_ROPE, 0, GF_WORDS_position - 1, "kind of position encoding")                           \
    X(int32_t, sinusoid_pairs, GF_SINUSOID_ADJACENT, 0, GF_WORDS_sinusoid_pairs - 1,                                   \
      "sines and cosines in turn, or all sines before all cosines; half_inclusive: to the longest wavelength")         \
    X(int32_t, position_offset, 0, 0, 1024,                                                                            \
      "rows of a learned or sinusoidal table before that of position 0 (OPT, M2M-100)")                                \
    X(int32_t, relative_buckets, 0, 0, 1024,                                                                           \
      "of distances between query and key, each with a learned bias for each head (T5); 0: none")                      \
    X(int32_t, relative_max_distance, 128, 1, 65536, "the distance from which on all are in the last bucket")          \
    X(int32_t, position_pad_id, -1, -1, 1 << 22,                                                                       \
      "tokens of this id are no positions and read the row before that of position 0 (RoBERTa); -1: none")             \
    X(int32_t, n_token_types, 0, 0, 1 << 16,                                                                           \
      "rows of a table that is added by the type of a token (BERT); 0: there is none")                                 \
    X(float, rope_theta, 10000, 1e-6, 1e12, "base of the rotary frequencies")                                          \
    X(float, rope_local_theta, 0, 0, 1e12,                                                                             \
      "the same in layers with a window; 0: no other, and scaled as in all layers")                                    \
    X(int32_t, rotary_dim, 0, 0, 1 << 12, "components of each head that are rotated, the first ones; 0: all")          \
    X(int32_t, rotary_kv_heads, 0, 0, 1 << 12,                                                                         \
      "kv heads that are rotated, the first ones, with the queries that read them; 0: all")                            \
    X(int32_t, rope_pairs, GF_ROPE_HALF, 0, GF_WORDS_rope_pairs - 1,                                                   \
      "which components are rotated together: i and i plus half their number, or neighbours")                          \
    X(int32_t, rope_scaling, GF_ROPE_SCALING_NONE, 0, GF_WORDS_rope_scaling - 1,                                       \
      "of the frequencies, for longer sequences")                                                                      \
    X(float, rope_factor, 1, 1e-6, 1e6, "scaling factor of rope_scaling")                                              \
    X(float, rope_low_freq_factor, 1, 1e-6, 1e6, "of llama3 scaling")                                                  \
    X(float, rope_high_freq_factor, 4, 1e-6, 1e6, "of llama3 scaling")                                                 \
    X(int32_t, rope_original_context, 0, 0, INT32_MAX,                                                                 \
      "of llama3, yarn, dynamic and longrope: positions the model was made for")                                       \
    X(float, rope_beta_fast, 32, 1e-6, 1e6, "of yarn: pairs with at least so many turns keep their frequency")         \
    X(float, rope_beta_slow, 1, 1e-6, 1e6, "of yarn: pairs with at most so many turns are divided by rope_factor")     \
    X(int32_t, rope_truncate, 1, 0, 1, "of yarn: the ends of its ramp are whole pairs")                                \
    X(float, rope_attention_factor, 1, 1e-6, 1e6, "factor of the rotary cosines and sines")                            \
    X(int32_t, bias_qkv, 0, 0, 1, "of the projections to q, k and v")                                                  \
    X(int32_t, bias_qk_norm, 0, 0, 1, "of the norm of q and k")                                                        \
    X(int32_t, bias_attn_out, 0, 0, 1, "of attention's output projection")                                             \
    X(int32_t, bias_ffn, 0, 0, 1, "of the feed-forward layer")                                                         \
    X(int32_t, bias_norm, (c->norm == GF_LAYERNORM || c->final_norm_kind == GF_LAYERNORM) && c->norm_gain, 0, 1,       \
      "of the norms; only layernorm has one")                                                                          \
    X(int32_t, bias_head, 0, 0, 1, "of the head")                                                                      \
    X(int32_t, sliding_window, 0, 0, INT32_MAX,                                                                        \
      "keys that a query sees, itself and those before it; without the causal mask, as many after it too; 0: all")     \
    X(int32_t, pooler, 0, 0, 1, "encoders: tanh of a linear layer on the state of the first position (BERT)")          \
    X(int32_t, mlm_head, 0, 0, 1,                                                                                      \
      "logits of each position, from a linear layer, an activation and a norm before the head; false: an encoder has " \
      "no logits, and a decoder has the head alone")                                                                   \
    X(int32_t, head_activation, GF_NO_FFN, 0, GF_WORDS_head_activation - 1,                                            \
      "activation of mlm_head; none: that of `ffn`, without its gate")                                                 \
    X(int32_t, n_labels, 0, 0, 1 << 16,                                                                                \
      "labels of a classifier, whose logits take the place of those of the vocabulary; 0: there is none")              \
    X(int32_t, label_pooling, GF_LABELS_OF_EACH, 0, GF_WORDS_label_pooling - 1,                                        \
      "the state that a classifier reads: of each position (none) or of the last one; of an encoder also the first, "  \
      "the mean or the pooler's output")                                                                               \
    X(int32_t, label_transform, GF_LABEL_NONE, 0, GF_WORDS_label_transform - 1,                                        \
      "activation of a linear layer before the classifier; none: there is no such layer")                              \
    X(int32_t, label_norm, 0, 0, 1, "a norm between this layer and the classifier (ModernBERT)")                       \
    X(int32_t, bias_head_transform, c->mlm_head || c->label_transform != GF_LABEL_NONE, 0, 1,                          \
      "of the linear layer of mlm_head or label_transform")                                                            \
    X(int32_t, tie_word_embeddings, (c->kind != GF_ENCODER || c->mlm_head) && c->n_labels == 0, 0, 1,                  \
      "the head uses the embedding's matrix")                                                                          \
    X(int32_t, d_embed, 0, 0, 1 << 16,                                                                                 \
      "width of an embedding that is projected to d_model (OPT), in encoders after positions, types and norm are "     \
      "added (ELECTRA); 0: it has d_model and is not")                                                                 \
    X(float, embedding_scale, 1, 1e-6, 1e6, "factor of the embedding")                                                 \
    X(float, residual_scale, 1, 1e-6, 1e6, "factor of what a sublayer adds to the residual stream")                    \
    X(float, score_scale, 0, 0, 1e6, "factor of the scores; 0: 1 / sqrt(d_head)")                                      \
    X(int32_t, scores_by_layer, 0, 0, 1, "scores are also divided by the number of the layer, from 1 on (GPT-2)")      \
    X(float, alibi_max, 8, 1e-3, 1e3, "of alibi: the slopes are 2^-(alibi_max i / n_heads) for the heads i from 1 on") \
    X(int32_t, alibi_scaled, 0, 0, 1, "of alibi: the biases are multiplied by the factor of the scores (Falcon)")      \
    X(float, logit_scale, 1, 1e-9, 1e6, "factor of the logits")                                                        \
    X(float, score_softcap, 0, 0, 1e6, "c: a score s becomes c tanh(s / c), before the mask; 0: it stays")             \
    X(float, logit_softcap, 0, 0, 1e6, "the same of the logits")                                                       \
    X(float, clip_qkv, 0, 0, 1e6, "c: q, k and v are limited to -c .. c; 0: they are not")                             \
    X(int32_t, shared_embedding, 1, 0, 1, "encoder-decoders: one table for both stacks")                               \
    X(int32_t, causal, c->kind != GF_ENCODER, 0, 1,                                                                    \
      "false: every query sees every key; true of an encoder: it is a decoder without a head")                         \
    X(int32_t, scale_scores, 1, 0, 1, "false: scores are q.k itself")                                                  \
    X(int32_t, use_position, 1, 0, 1, "false: no positions")                                                           \
    X(int32_t, use_residual, 1, 0, 1, "false: no residual sums")                                                       \
    X(int32_t, use_norm, 1, 0, 1, "false: no norms inside the blocks")                                                 \
    X(int32_t, use_final_norm, 1, 0, 1, "false: no norm before the head")

/* X(name, least, most, meaning): the fields that are lists, of up to GF_LIST_MOST values; empty unless given. Flags
 * from 0 to 1 are true or false. A list of flags repeats over the layers: that of layer l is entry l modulo its length;
 * an empty one means all layers. */
#define GF_CONFIG_LISTS(X)                                                                                             \
    X(window_layers, 0, 1, "which layers have the window: layer l entry l modulo the length; []: all")                 \
    X(rope_layers, 0, 1, "which layers rotate q and k, likewise")                                                      \
    X(expert_layers, 0, 1, "which layers have experts, likewise; the others have one feed-forward layer")              \
    X(rope_short_factors, 1e-6, 1e6,                                                                                   \
      "of longrope: divisors of the frequencies, one a pair, up to rope_original_context positions")                   \
    X(rope_long_factors, 1e-6, 1e6, "of longrope: the same in longer sequences")

/* X(condition, flag): where the condition holds the architecture has no such part, and the flag becomes 0 whatever was
 * given. */
#define GF_CONFIG_UNUSED(X)                                                                                            \
    X((c->norm == GF_RMSNORM && c->final_norm_kind == GF_RMSNORM) || !c->norm_gain, bias_norm)                         \
    X(!c->qk_norm || c->qk_norm_kind == GF_QK_RMSNORM || !c->norm_gain, bias_qk_norm)                                  \
    X(c->kind != GF_ENCODER, pooler)                                                                                   \
    X(c->kind == GF_ENCODER_DECODER, mlm_head)                                                                         \
    X(!c->mlm_head && c->label_transform == GF_LABEL_NONE, bias_head_transform)                                        \
    X((c->kind == GF_ENCODER && !c->mlm_head) || c->n_labels > 0, tie_word_embeddings)                                 \
    X(c->kind == GF_ENCODER && !c->mlm_head && c->n_labels == 0, bias_head)

/* X(condition, sentence): what must hold between the fields once each is in its range, checked in this order. In the
 * refusal {field} becomes the field's name and value. GF_GIVEN(field): it was given, not filled in. c->list.n: the
 * length of a list. */
#define GF_CONFIG_RULES(X)                                                                                             \
    X(GF_GIVEN(d_head) || c->d_model % c->n_heads == 0, "{d_model} is not divisible by {n_heads}")                     \
    X(c->n_heads % c->n_kv_heads == 0, "{n_heads} is not a multiple of {n_kv_heads}")                                  \
    X(c->n_heads * c->d_head <= 65536, "{n_heads} times {d_head} is more than 65536")                                  \
    X(c->position != GF_POS_ROPE || c->rotary_dim <= c->d_head, "{rotary_dim} is more than {d_head}")                  \
    X(c->position != GF_POS_ROPE || c->rotary_dim > 0 || c->d_head % 2 == 0,                                           \
      "{d_head} is odd, rotary positions rotate pairs")                                                                \
    X(c->position != GF_POS_ROPE || c->rotary_dim % 2 == 0, "{rotary_dim} is odd, rotary positions rotate pairs")      \
    X(c->rotary_kv_heads <= c->n_kv_heads, "{rotary_kv_heads} is more than {n_kv_heads}")                              \
    X(c->position != GF_POS_LEARNED || c->context_length <= 16777216,                                                  \
      "{context_length} is more than 16777216, the longest table of learned positions")                                \
    X(c->position == GF_POS_LEARNED || c->position == GF_POS_SINUSOIDAL || c->position_offset == 0,                    \
      "{position_offset} needs learned or sinusoidal positions")                                                       \
    X(c->sinusoid_pairs != GF_SINUSOID_HALF_INCLUSIVE || c->d_model > 3, "{sinusoid_pairs} needs {d_model} above 3")   \
    X(c->relative_buckets == 0 || c->relative_buckets >= 4, "{relative_buckets} is below 4")                           \
    X(2 * c->relative_max_distance > c->relative_buckets,                                                              \
      "{relative_max_distance} is not above half of {relative_buckets}")                                               \
    X(c->kind == GF_ENCODER || c->position_pad_id < 0, "{position_pad_id} needs kind encoder")                         \
    X(c->position_offset > 0 || c->position_pad_id < 0, "{position_pad_id} needs position_offset above 0")             \
    X(c->kind == GF_ENCODER || c->n_token_types == 0, "{n_token_types} needs kind encoder")                            \
    X(c->kind != GF_ENCODER_DECODER || c->n_encoder_layers > 0, "an encoder_decoder needs n_encoder_layers above 0")   \
    X(c->kind == GF_ENCODER_DECODER || c->n_encoder_layers == 0,                                                       \
      "{n_encoder_layers} does not fit {kind}: only an encoder_decoder has encoder layers of its own")                 \
    X(c->kind == GF_ENCODER_DECODER || c->n_encoder_heads == 0, "{n_encoder_heads} needs kind encoder_decoder")        \
    X(c->n_encoder_heads == 0 || c->n_heads * c->d_head % c->n_encoder_heads == 0,                                     \
      "{n_encoder_heads} does not divide {n_heads} times {d_head}")                                                    \
    X(c->n_encoder_heads == 0 ||                                                                                       \
          (c->n_kv_heads == c->n_heads && !c->qk_norm && c->position != GF_POS_ROPE && c->relative_buckets == 0),      \
      "{n_encoder_heads} does not fit n_kv_heads below n_heads, qk_norm, rotary positions or relative_buckets")        \
    X(c->kind == GF_ENCODER_DECODER || c->shared_embedding, "only an encoder_decoder can have two embeddings")         \
    X(c->kind != GF_ENCODER || !c->causal || !c->mlm_head, "mlm_head does not fit causal true of an encoder")          \
    X(c->n_labels == 0 || !c->mlm_head, "{n_labels} does not fit mlm_head")                                            \
    X(c->n_labels > 0 || (c->label_pooling == GF_LABELS_OF_EACH && c->label_transform == GF_LABEL_NONE),               \
      "{label_pooling} and {label_transform} need n_labels above 0")                                                   \
    X(c->label_transform != GF_LABEL_NONE || !c->label_norm, "label_norm needs a label_transform")                     \
    X(!c->label_norm || c->norm != GF_NO_NORM, "label_norm does not fit {norm}")                                       \
    X(c->label_pooling == GF_LABELS_OF_EACH || (c->label_pooling == GF_LABELS_OF_LAST) == (c->kind != GF_ENCODER),     \
      "{label_pooling} does not fit {kind}")                                                                           \
    X(c->label_pooling != GF_LABELS_OF_POOLER || c->pooler, "{label_pooling} needs pooler")                            \
    X(c->head_activation != GF_SWIGLU && c->head_activation != GF_REGLU && c->head_activation != GF_GEGLU_ERF &&       \
          c->head_activation != GF_GEGLU_TANH,                                                                         \
      "{head_activation} has a gate, which mlm_head lacks")                                                            \
    X(c->first_norm || (c->norm != GF_NO_NORM && c->norm_placement == GF_PRE_NORM && !c->parallel_residual &&          \
                        c->kind != GF_ENCODER_DECODER),                                                                \
      "first_norm false needs norms, norm_placement pre, no parallel_residual and no kind encoder_decoder")            \
    X(!c->qk_norm_rotated || (c->qk_norm && c->qk_norm_kind == GF_QK_RMSNORM && c->qk_norm_span == GF_SPAN_HEAD &&     \
                              c->position == GF_POS_ROPE && c->rope_layers.n == 0 && c->rotary_kv_heads == 0),         \
      "qk_norm_rotated needs qk_norm with qk_norm_kind rmsnorm and qk_norm_span head, and every head rotated")         \
    X(c->ffn == GF_NO_FFN ? c->d_ff == 0 : c->d_ff > 0, "{d_ff} does not fit {ffn}")                                   \
    X(c->ffn != GF_NO_FFN || (!c->n_experts && !c->parallel_residual && !c->mlm_head),                                 \
      "{ffn} does not fit n_experts, parallel_residual or mlm_head")                                                   \
    X(c->kind != GF_ENCODER_DECODER || c->norm_placement == GF_PRE_NORM || c->norm_placement == GF_POST_NORM,          \
      "{norm_placement} does not fit kind encoder_decoder")                                                            \
    X(c->kind == GF_DECODER || (c->kind == GF_ENCODER && c->causal) || !c->parallel_residual,                          \
      "parallel_residual needs kind decoder or a causal encoder")                                                      \
    X(c->kind == GF_DECODER || (c->kind == GF_ENCODER && c->causal) || c->n_experts == 0,                              \
      "{n_experts} needs kind decoder or a causal encoder")                                                            \
    X(c->n_experts == 0 || !c->bias_ffn, "{n_experts} needs bias_ffn false: experts have no biases")                   \
    X(c->n_experts_used <= c->n_experts, "{n_experts_used} is more than {n_experts}")                                  \
    X(c->n_experts == 0 || c->n_experts_used > 0, "{n_experts_used} must be above 0 with {n_experts}")                 \
    X(c->n_experts == 0 || c->d_expert > 0, "{d_expert} must be above 0 with {n_experts}")                             \
    X(c->n_experts > 0 || c->d_shared_expert == 0, "{d_shared_expert} needs n_experts above 0")                        \
    X(c->kind != GF_ENCODER_DECODER || c->d_embed == 0, "{d_embed} does not fit kind encoder_decoder")                 \
    X(c->kind == GF_DECODER || c->d_embed == 0 || c->position != GF_POS_SINUSOIDAL,                                    \
      "{d_embed} of an encoder does not fit {position}")                                                               \
    X(c->kind == GF_ENCODER || c->d_embed == 0 || !c->mlm_head, "{d_embed} of a decoder does not fit mlm_head")        \
    X(c->kind == GF_ENCODER_DECODER || (c->d_encoder_ff == 0 && c->encoder_vocab_size == 0),                           \
      "{d_encoder_ff} and {encoder_vocab_size} need kind encoder_decoder")                                             \
    X(c->ffn != GF_NO_FFN || c->d_encoder_ff == 0, "{d_encoder_ff} does not fit {ffn}")                                \
    X(c->encoder_vocab_size == 0 || !c->shared_embedding, "{encoder_vocab_size} needs shared_embedding false")         \
    X(c->n_layer_groups <= c->n_layers, "{n_layer_groups} is more than {n_layers}")                                    \
    X(c->n_layer_groups == 0 || (c->kind != GF_ENCODER_DECODER && c->n_experts == 0 && c->first_norm),                 \
      "{n_layer_groups} does not fit kind encoder_decoder, n_experts or first_norm false")                             \
    X(!c->residual_normed || (c->norm != GF_NO_NORM && c->norm_placement == GF_PRE_NORM && !c->parallel_residual),     \
      "residual_normed needs norms, norm_placement pre and no parallel_residual")                                      \
    X(!c->scores_by_layer || ((c->kind == GF_DECODER || (c->kind == GF_ENCODER && c->causal)) && c->scale_scores),     \
      "scores_by_layer needs kind decoder and scale_scores")                                                           \
    X(c->kind != GF_ENCODER_DECODER ||                                                                                 \
          (c->rope_scaling != GF_ROPE_SCALING_DYNAMIC && c->rope_scaling != GF_ROPE_SCALING_LONGROPE),                 \
      "{rope_scaling} does not fit kind encoder_decoder")                                                              \
    X(!c->parallel_residual || c->norm_placement == GF_PRE_NORM, "parallel_residual needs norm_placement pre")         \
    X(c->parallel_residual || !c->shared_norm, "shared_norm needs parallel_residual")                                  \
    X(c->norm != GF_NO_NORM || (!c->final_norm && !c->embed_norm && c->norm_placement == GF_PRE_NORM),                 \
      "{norm} does not fit final_norm, embed_norm or {norm_placement}")                                                \
    X(c->rope_local_theta == 0 || c->rope_local_theta >= 1e-6, "{rope_local_theta} is below 0.000001")                 \
    X(c->rope_scaling == GF_ROPE_SCALING_NONE || c->rope_scaling == GF_ROPE_SCALING_LINEAR ||                          \
          c->rope_original_context > 0,                                                                                \
      "{rope_scaling} needs rope_original_context above 0")                                                            \
    X(c->rope_scaling != GF_ROPE_SCALING_LLAMA3 || c->rope_high_freq_factor > c->rope_low_freq_factor,                 \
      "{rope_high_freq_factor} is not above {rope_low_freq_factor}")                                                   \
    X(c->rope_scaling != GF_ROPE_SCALING_YARN || c->rope_theta > 1, "{rope_scaling} needs {rope_theta} above 1")       \
    X(c->rope_scaling != GF_ROPE_SCALING_YARN || c->rope_beta_fast >= c->rope_beta_slow,                               \
      "{rope_beta_fast} is below {rope_beta_slow}")                                                                    \
    X(c->rope_scaling != GF_ROPE_SCALING_DYNAMIC || c->rope_factor >= 1,                                               \
      "{rope_scaling} needs {rope_factor} of 1 or more")                                                               \
    X(c->rope_scaling != GF_ROPE_SCALING_DYNAMIC || (c->rotary_dim > 0 ? c->rotary_dim : c->d_head) > 2,               \
      "{rope_scaling} needs more than one pair of components")                                                         \
    X(c->rope_scaling != GF_ROPE_SCALING_LONGROPE ||                                                                   \
          2 * c->rope_short_factors.n == (c->rotary_dim > 0 ? c->rotary_dim : c->d_head),                              \
      "{rope_scaling} needs a value of rope_short_factors for each pair of components")                                \
    X(c->rope_scaling != GF_ROPE_SCALING_LONGROPE ||                                                                   \
          2 * c->rope_long_factors.n == (c->rotary_dim > 0 ? c->rotary_dim : c->d_head),                               \
      "{rope_scaling} needs a value of rope_long_factors for each pair of components")

#define GF_LIST_MOST 128
struct gf_list { /* the entries from n on are 0 */
    int32_t n;
    float at[GF_LIST_MOST];
};

struct gf_config {
#define GF_FIELD(type, name, ...) type name;
#define GF_LIST(name, ...)        struct gf_list name;
    GF_CONFIG_FIELDS(GF_FIELD)
    GF_CONFIG_LISTS(GF_LIST)
#undef GF_FIELD
#undef GF_LIST
};
/* GF_FIELD_kind, GF_FIELD_vocab_size, ..., then the lists: a field's index. */
#define GF_FIELD(type, name, ...) GF_FIELD_##name,
#define GF_LIST(name, ...)        GF_FIELD_##name,
enum gf_field { GF_CONFIG_FIELDS(GF_FIELD) GF_CONFIG_LISTS(GF_LIST) GF_N_FIELDS };
#undef GF_FIELD
#undef GF_LIST

/* First call: set every field to its default where nothing is given. Sizes that have none become 0, which
 * gf_config_check refuses. */
void gf_config_default(struct gf_config *cfg);
/* Set a field by its index, or read its value i. A value that is out of range, or not an integer where one is needed,
 * gives GF_ERR_CONFIG. To set a list appends to it; gf_config_count is the number of its values (of other fields 1). */
int32_t gf_config_set(struct gf_config *cfg, int32_t field, double value, struct gf_error *err);
int32_t gf_config_count(const struct gf_config *cfg, int32_t field);
double gf_config_get(const struct gf_config *cfg, int32_t field, int32_t i);
/* Fill in every field that was not given, from those that were, and check the result. given: [GF_N_FIELDS], 1 where
 * cfg holds a given value; a list is empty unless given. GF_ERR_CONFIG: the reason, and cfg may be filled in part. */
int32_t gf_config_complete(struct gf_config *cfg, const uint8_t *given, struct gf_error *err);
/* GF_OK when cfg, every field taken as given, describes a model that can be built; otherwise GF_ERR_CONFIG and the
 * reason. gf_model_open checks too. */
int32_t gf_config_check(const struct gf_config *cfg, struct gf_error *err);

/* ---- the roster: every weight, enumerated once ------------------------------------------------------------------- */

/* X(id, name in JavaScript): what part of the model a weight belongs to. */
#define GF_COMPONENTS(X)                                                                                               \
    X(GF_C_EMBEDDING, "embedding")                                                                                     \
    X(GF_C_POSITION, "position")                                                                                       \
    X(GF_C_ATTENTION, "attention")                                                                                     \
    X(GF_C_CROSS_ATTENTION, "cross_attention")                                                                         \
    X(GF_C_FFN, "ffn")                                                                                                 \
    X(GF_C_NORM, "norm")                                                                                               \
    X(GF_C_FINAL_NORM, "final_norm")                                                                                   \
    X(GF_C_HEAD, "head")
enum gf_component { GF_COMPONENTS(GF_ENUMERATOR) };
enum gf_stack { GF_STACK_NONE = -1, GF_STACK_DECODER = 0, GF_STACK_ENCODER = 1 };

struct gf_tensor {        /* one entry */
    char name[56];        /* "blocks.3.attn.q.weight", "decoder.0.cross_attn.o.bias" */
    int32_t component;    /* enum gf_component */
    int32_t stack, layer; /* -1 where there is none */
    int32_t rank;         /* 1 or 2 */
    int32_t rows, cols;   /* [rows = out, cols = in]; rank 1: rows = 1 */
    int32_t dtype;        /* the type in memory */
    int32_t tied_to;      /* roster index whose memory it shares (a tied head), else -1 */
    uint64_t count;       /* parameters; 0 when tied */
    uint64_t n_bytes;     /* in memory, its share where several lie in one matrix */
    uint64_t address;     /* where its values are; 0 before a model exists */
};
int32_t gf_roster_count(const struct gf_config *cfg);
/* Entry i (order: as in roster.c). cfg must pass gf_config_check; nothing is allocated. */
int32_t gf_roster_tensor(const struct gf_config *cfg, int32_t i, struct gf_tensor *out);
uint64_t gf_count_parameters(const struct gf_config *cfg);

/* ---- model ------------------------------------------------------------------------------------------------------- */

struct gf_model;
struct gf_pool;

/* Start of a model's life: reserve memory for every tensor. dtypes: [gf_roster_count] of enum gf_dtype, the type of
 * each matrix in memory, or NULL for f32. Vectors and the tables of positions, relative positions and token types are
 * always f32; so are matrices whose columns are not whole blocks of their type, and those of a type that no matrix has
 * in memory (gf_dtype_is_kept). */
struct gf_model *gf_model_open(const struct gf_config *cfg, const uint8_t *dtypes, struct gf_error *err);
void gf_model_close(struct gf_model *m); /* close its sessions first; NULL is allowed */
const struct gf_config *gf_model_config(const struct gf_model *m);
uint64_t gf_model_bytes(const struct gf_model *m);
/* Roster entry i with dtype, bytes and address filled in. From gf_model_open on. */
int32_t gf_model_tensor(const struct gf_model *m, int32_t i, struct gf_tensor *out);

/* Between open and seal: load one tensor of a file into roster entries first .. first + n - 1, stacked by rows (a fused
 * qkv: n = 3). layout 0: [out, in], as the entries' shapes; 1: transposed, [in, out]; 2: as 0, but the rows of the
 * entries follow each other head by head: d_head rows of the first entry, of the second, ..., then the next head's; all
 * entries have n_heads * d_head rows. dtype: enum gf_dtype of the file.
 * After begin, call gf_tensor_write any number of times with whole blocks of that dtype, in order, then gf_tensor_end.
 * A failure discards the tensor. NaN, infinities and what becomes infinite in f16 are refused; the sentence names the
 * element. */
int32_t gf_tensor_begin(struct gf_model *m, int32_t first, int32_t n, int32_t dtype, int32_t layout,
                        struct gf_error *err);
int32_t gf_tensor_write(struct gf_model *m, const void *bytes, uint32_t n_bytes, struct gf_error *err);
int32_t gf_tensor_end(struct gf_model *m, struct gf_error *err);
/* End of loading: every entry must have been loaded. Afterwards the model can be used. Called again after
 * gf_tensor_put of a table of relative positions. */
int32_t gf_model_seal(struct gf_model *m, struct gf_error *err);
/* Instead of loading: matrices and tables are drawn from normal(0, std), gains are 1, biases 0; then the model is
 * sealed. The same seed gives the same weights on every machine. */
int32_t gf_model_randomize(struct gf_model *m, uint64_t seed, float std, struct gf_error *err);
/* Read row `row` of entry i as floats [cols] (rank 1: row 0), dequantised. From seal on. */
int32_t gf_tensor_read(const struct gf_model *m, int32_t i, int32_t row, float *out, struct gf_error *err);
/* out [count, n] = the products of the vectors x [count, cols] with rows row .. row + n - 1 of entry i, dequantised;
 * f32 sums. From seal on. */
int32_t gf_tensor_products(const struct gf_model *m, int32_t i, int32_t row, int32_t n, const float *x, int32_t count,
                           float *out, struct gf_error *err);
/* Replace row `row` of entry i by x [cols], which is finite, rounded to the entry's type. From seal on, between calls.
 * Open sessions keep the keys and values of the weights before. */
int32_t gf_tensor_put(struct gf_model *m, int32_t i, int32_t row, const float *x, struct gf_error *err);
/* The memory of the matrix or vector that begins with entry i, in pieces: from byte `from` on, at most n bytes, in a
 * form that every machine reads. Return the number of bytes copied: 0 after the last one, and for an entry that is in
 * the memory of another. from and n are even, out is aligned for 16 bits. A model into which bytes are restored has the
 * same configuration and types as the one that has saved them. */
uint32_t gf_tensor_save(const struct gf_model *m, int32_t i, uint32_t from, uint32_t n, uint8_t *out);
uint32_t gf_tensor_restore(struct gf_model *m, int32_t i, uint32_t from, const uint8_t *saved, uint32_t n);
/* Set the threads that compute this model's products, at any time between calls. The caller owns the pool; NULL:
 * none. */
void gf_model_set_pool(struct gf_model *m, struct gf_pool *pool);
/* Which kernels are in use: "simd128", "relaxed, unsigned dot", "native", ... */
const char *gf_backend(void);

/* ---- session ----------------------------------------------------------------------------------------------------- */

struct gf_session;

/* Open a session over a sealed model. context: the most positions it may hold, from 1 on; 0: the model's
 * context_length, which is also the limit for learned positions. The cache grows in blocks of GF_KV_BLOCK positions
 * when they are needed. */
struct gf_session *gf_session_open(const struct gf_model *m, int32_t context, int32_t kv_type, struct gf_error *err);
void gf_session_close(struct gf_session *s);
int32_t gf_session_length(const struct gf_session *s); /* positions held */
int32_t gf_session_context(const struct gf_session *s);
uint64_t gf_session_kv_bytes(const struct gf_session *s); /* allocated for keys and values */
uint64_t gf_session_scratch_bytes(const struct gf_session *s);
/* Announce that the following evals reach `length` positions, until they do or the session is rewound; 0: nothing. It
 * matters where rotary frequencies depend on the length of the sequence (rope_scaling dynamic and longrope): all rows
 * are computed with those of the announced length. Without it an eval that needs other frequencies first computes all
 * positions held again. */
int32_t gf_session_plan(struct gf_session *s, int32_t length, struct gf_error *err);
/* Drop all positions but the first n (n <= length). Nothing is recomputed, because cached keys are already rotated. */
int32_t gf_session_rewind(struct gf_session *s, int32_t n, struct gf_error *err);
/* An independent copy of the cache, with the keys and values of the source, of the sampler's state and of the last
 * row's hidden state; without captures, edits and the encoder's hidden states. The caller closes it. */
struct gf_session *gf_session_fork(const struct gf_session *s, struct gf_error *err);

/* The cache as bytes, a block of GF_KV_BLOCK positions at a time; the same on every machine. Source, sampler, captures
 * and edits are not in it. gf_session_block_bytes: bytes of one block. gf_session_save copies block 0, 1, .. of the
 * positions held; what is not used of the last block is 0. Where the rotary frequencies were those of a longer sequence
 * (after a rewind), all positions are computed again first. gf_session_restore appends the first n (1 .. GF_KV_BLOCK)
 * positions of a saved block, those of the tokens ids, to a session that holds whole blocks. It needs no pass; the next
 * logits come from the next eval. Wrong sizes, tokens and values (NaN, infinity) are refused, and the session is
 * unchanged. Whether model and tokens are those of the bytes is not checked. */
uint64_t gf_session_block_bytes(const struct gf_session *s);
int32_t gf_session_save(struct gf_session *s, int32_t block, uint8_t *out, size_t n_bytes, struct gf_error *err);
int32_t gf_session_restore(struct gf_session *s, const int32_t *ids, int32_t n, const uint8_t *saved, size_t n_bytes,
                           struct gf_error *err);

/* Prefill and decode: run n >= 1 tokens through the decoder at positions length .. length + n - 1. For causal models
 * one call gives the same bits as n calls of one token. On failure the session is unchanged; GF_ERR_NOT_FINITE, a key
 * or value that an f16 cache cannot hold, leaves no logits (and after encode no source). A caller that wants to
 * stop early passes at most GF_CHUNK tokens a call. An encoder_decoder needs gf_session_encode first. With causal = 0 a
 * token sees earlier positions and the tokens of this call only, so the caller rewinds to 0 and passes the whole
 * sequence. */
#define GF_CHUNK 64
int32_t gf_session_eval(struct gf_session *s, const int32_t *ids, int32_t n, struct gf_error *err);
/* The next eval (of an encoder: encode) begins with block `layer`, from 0 to n_layers: stream [n, d_model] is the
 * residual stream of its n tokens there. What comes before does not run: the cache keeps what it has of these layers,
 * and captures of their points hold nothing. stream: the caller's, read by that call, which forgets it; NULL, with
 * layer 0: at the embedding. drop: the output of the first `drop` tokens is not wanted (eval only). For these the last
 * block computes keys and values and no more; row 0 of the results is the first that is left. */
int32_t gf_session_start(struct gf_session *s, int32_t layer, const float *stream, int32_t drop, struct gf_error *err);
/* Decode one token for each of n sessions of one model in one pass over the weights; the same bits as n evals. n is 1
 * .. GF_CHUNK; no session twice, none that captures, edits or traces. On failure no session changes. */
int32_t gf_eval_batch(struct gf_session *const *sessions, const int32_t *ids, int32_t n, struct gf_error *err);
/* After eval (of an encoder with an mlm_head or a classifier: encode): logits [n, vocab_size or n_labels] of rows row0
 * .. row0 + n - 1 of the last one. A classifier of an encoder that reads one state of each source has a row for each
 * source. Valid until the next call on s. */
const float *gf_session_logits(struct gf_session *s, int32_t row0, int32_t n, struct gf_error *err);
/* Run the encoder over a source of n tokens. mask: [n], 0 hides a position, or NULL. types: [n] the type of each token,
 * or NULL: all 0. For kind 'encoder' gf_session_hidden then returns the states, with a pooler gf_session_pooled, and
 * with a head gf_session_logits; for 'encoder_decoder' the cross-attention's keys and values are computed and the
 * decoder restarts at length 0. */
int32_t gf_session_encode(struct gf_session *s, const int32_t *ids, const int32_t *types, const uint8_t *mask,
                          int32_t n, struct gf_error *err);
/* Several sources of an encoder that neither captures nor edits, in one pass over the weights; the same bits as one
 * call for each. lengths [n_sources], 1 .. GF_CHUNK of them; ids, types and mask of all sources one after another, and
 * so are the rows of gf_session_hidden and gf_session_logits, and gf_session_pooled is [n_sources, d_model]. */
int32_t gf_encode_batch(struct gf_session *s, const int32_t *ids, const int32_t *types, const uint8_t *mask,
                        const int32_t *lengths, int32_t n_sources, struct gf_error *err);
/* After encode, where there is a pooler: its output [d_model]; otherwise NULL. Valid until the next call on s. */
const float *gf_session_pooled(const struct gf_session *s);
/* Output [n, d_model] of the last eval (stack GF_STACK_DECODER) or encode (GF_STACK_ENCODER), after the final norm. *n
 * becomes the row count; NULL when there is none. Valid until the next call on s. */
const float *gf_session_hidden(const struct gf_session *s, int32_t stack, int32_t *n);

/* ---- sampling: sample.c ------------------------------------------------------------------------------------------ */

/* X(C type, name, off, default, least, most, meaning): the options of the sampler. off: the value that has no effect,
 * which generate takes where the option is absent; default: the value of the command line. Only JavaScript checks the
 * ranges (web/lib/api/input/call_options.js), by the table that scripts/sampler_fields.js makes from this one. */
#define GF_ABOVE_ZERO 1e-45 /* rounds to the smallest float */
#define GF_SAMPLING_FIELDS(X)                                                                                          \
    X(float, temperature, 1, 0.8, 0, 1e6, "divides the logits; 0: always the most likely token")                       \
    X(int32_t, top_k, 0, 0, 0, INT32_MAX, "draw from the K most likely tokens")                                        \
    X(float, top_p, 1, 0.95, GF_ABOVE_ZERO, 1, "draw from the most likely tokens whose probabilities add up to P")     \
    X(float, min_p, 0, 0, 0, 1, "draw from tokens with at least this share of the highest probability")                \
    X(float, repetition_penalty, 1, 1, GF_ABOVE_ZERO, 1e6,                                                             \
      "divides (negative: multiplies) the logits of tokens that have occurred in the prompt or since, as Hugging "     \
      "Face defines it")

/* Order: repetition penalty, temperature, top-k, top-p, min-p, draw. */
struct gf_sampling {
#define GF_FIELD(type, name, ...) type name;
    GF_SAMPLING_FIELDS(GF_FIELD)
#undef GF_FIELD
};
/* Initialises a struct gf_sampling whose options are all off: struct gf_sampling p = {GF_SAMPLING_OFF}; */
#define GF_OFF(type, name, off, ...) .name = off,
#define GF_SAMPLING_OFF              GF_SAMPLING_FIELDS(GF_OFF)
/* Changes of the logits that follow the repetition penalty and come before the temperature: bias[i] is added to the
 * logit of token bias_id[i] (from -1e6 to 1e6, or -inf: the token cannot be chosen); a token whose bit in `allowed` is
 * 0 cannot be chosen either: bit id % 32 of word id / 32. allowed NULL: all tokens can. The arrays are the caller's. */
struct gf_adjustment {
    int32_t n_bias;
    const int32_t *bias_id;
    const float *bias;
    const uint32_t *allowed;
};
void gf_session_seed(struct gf_session *s, uint64_t seed);
struct gf_choice {
    int32_t id;
    float logprob; /* natural log of the model's own probability (temperature 1, nothing cut off) */
};
/* Choose the next token from the logits of the last row of the last eval. The repetition penalty applies to the ids
 * that the session holds. `a` may be NULL. A logit that is NaN or +inf, or none above -inf: GF_ERR_NOT_FINITE. */
int32_t gf_session_sample(struct gf_session *s, const struct gf_sampling *p, const struct gf_adjustment *a,
                          struct gf_choice *out, struct gf_error *err);
/* The probability with which the last gf_session_sample of s drew token `id`; 0 before the first one, and after one
 * that failed. */
float gf_session_probability(struct gf_session *s, int32_t id);
/* The min(k, n) most likely ids of a row of logits [n], descending, first of equals first, with their logprob as above.
 * Returns how many were written, or a negative enum gf_status. */
int32_t gf_top(const float *logits, int32_t n, int32_t k, struct gf_choice *out, struct gf_error *err);
/* probs [n] = the distribution that gf_session_sample draws from for these logits [n] (logits may
 * hold -inf); seen: [n_seen] ids for the repetition penalty. */
int32_t gf_distribution(float *probs, const float *logits, int32_t n, const struct gf_sampling *p,
                        const struct gf_adjustment *a, const int32_t *seen, int32_t n_seen, struct gf_error *err);

/* ---- seeing and changing: capture.c, edit.c ---------------------------------------------------------------------- */

/* X(enum, name behind "blocks.N." (or encoder.N., decoder.N.), axes): the points of a pass that can be captured and
 * edited. Names as in TransformerLens. Axes: D [pos, d_model]; Q [pos, n_heads, d_head]; K [pos,
 * n_kv_heads, d_head]; S [n_heads, pos, key]; F [pos, d_ff]; R [pos, n_heads, d_model]; 1 [pos, 1]; P [1, d_model]; E
 * [pos, n_experts]; C [pos, n_experts_used], which can be captured but not edited. A leading @ marks points of the
 * whole model, not of a block. The scale of a norm stands before the norm. */
#define GF_POINTS(X)                                                                                                   \
    X(GF_P_EMBED, "@hook_embed", 'N')                                                                                  \
    X(GF_P_POS_EMBED, "@hook_pos_embed", 'N')                                                                          \
    X(GF_P_TYPE_EMBED, "@hook_token_type_embed", 'N')                                                                  \
    X(GF_P_LN_EMBED_SCALE, "@embed.ln.hook_scale", '1')                                                                \
    X(GF_P_LN_EMBED, "@embed.ln.hook_normalized", 'N')                                                                 \
    X(GF_P_RESID_PRE, "hook_resid_pre", 'D')                                                                           \
    X(GF_P_LN1_SCALE, "ln1.hook_scale", '1')                                                                           \
    X(GF_P_LN1, "ln1.hook_normalized", 'D')                                                                            \
    X(GF_P_Q, "attn.hook_q", 'Q')                                                                                      \
    X(GF_P_K, "attn.hook_k", 'K')                                                                                      \
    X(GF_P_V, "attn.hook_v", 'K')                                                                                      \
    X(GF_P_ROT_Q, "attn.hook_rot_q", 'Q')                                                                              \
    X(GF_P_ROT_K, "attn.hook_rot_k", 'K')                                                                              \
    X(GF_P_SCORES_RAW, "attn.hook_attn_scores_raw", 'S')       /* q.k before the scale; masked: -inf, in all three */  \
    X(GF_P_SCORES_SCALED, "attn.hook_attn_scores_scaled", 'S') /* times the scale, before a soft cap */                \
    X(GF_P_SCORES, "attn.hook_attn_scores", 'S')               /* capped, with biases of positions */                  \
    X(GF_P_PATTERN, "attn.hook_pattern", 'S')                                                                          \
    X(GF_P_Z, "attn.hook_z", 'Q')                                                                                      \
    X(GF_P_RESULT, "attn.hook_result", 'R')                                                                            \
    X(GF_P_LN1_POST_SCALE, "ln1_post.hook_scale", '1')                                                                 \
    X(GF_P_LN1_POST, "ln1_post.hook_normalized", 'D')                                                                  \
    X(GF_P_ATTN_OUT, "hook_attn_out", 'D') /* what is added to the stream: after the norm of outputs */                \
    X(GF_P_RESID_MID, "hook_resid_mid", 'D')                                                                           \
    X(GF_P_LN_CROSS_SCALE, "ln_cross.hook_scale", '1')                                                                 \
    X(GF_P_LN_CROSS, "ln_cross.hook_normalized", 'D')                                                                  \
    X(GF_P_CROSS_Q, "cross_attn.hook_q", 'Q')                                                                          \
    X(GF_P_CROSS_K, "cross_attn.hook_k", 'K')                                                                          \
    X(GF_P_CROSS_V, "cross_attn.hook_v", 'K')                                                                          \
    X(GF_P_CROSS_SCORES_RAW, "cross_attn.hook_attn_scores_raw", 'S')                                                   \
    X(GF_P_CROSS_SCORES_SCALED, "cross_attn.hook_attn_scores_scaled", 'S')                                             \
    X(GF_P_CROSS_SCORES, "cross_attn.hook_attn_scores", 'S')                                                           \
    X(GF_P_CROSS_PATTERN, "cross_attn.hook_pattern", 'S')                                                              \
    X(GF_P_CROSS_Z, "cross_attn.hook_z", 'Q')                                                                          \
    X(GF_P_CROSS_RESULT, "cross_attn.hook_result", 'R')                                                                \
    X(GF_P_CROSS_OUT, "hook_cross_attn_out", 'D')                                                                      \
    X(GF_P_RESID_MID_CROSS, "hook_resid_mid_cross", 'D')                                                               \
    X(GF_P_LN2_SCALE, "ln2.hook_scale", '1')                                                                           \
    X(GF_P_LN2, "ln2.hook_normalized", 'D')                                                                            \
    X(GF_P_MLP_PRE, "mlp.hook_pre", 'F')               /* before the non-linearity; gated: the gate */                 \
    X(GF_P_MLP_PRE_LINEAR, "mlp.hook_pre_linear", 'F') /* gated: the up branch */                                      \
    X(GF_P_MLP_POST, "mlp.hook_post", 'F')                                                                             \
    X(GF_P_ROUTER, "mlp.hook_router_logits", 'E')          /* layers with experts: before the softmax */               \
    X(GF_P_EXPERT_WEIGHTS, "mlp.hook_expert_weights", 'E') /* the softmax over all experts */                          \
    X(GF_P_EXPERT_CHOICE, "mlp.hook_expert_indices", 'C')  /* the chosen ones, the most probable first */              \
    X(GF_P_SHARED_GATE, "mlp.hook_shared_gate", '1')       /* the shared expert's logit, before the sigmoid */         \
    X(GF_P_LN2_POST_SCALE, "ln2_post.hook_scale", '1')                                                                 \
    X(GF_P_LN2_POST, "ln2_post.hook_normalized", 'D')                                                                  \
    X(GF_P_MLP_OUT, "hook_mlp_out", 'D')                                                                               \
    X(GF_P_RESID_POST, "hook_resid_post", 'D')                                                                         \
    X(GF_P_LN_FINAL_SCALE, "@ln_final.hook_scale", '1')                                                                \
    X(GF_P_LN_FINAL, "@ln_final.hook_normalized", 'D')                                                                 \
    X(GF_P_LN_HEAD_SCALE, "@mlm_head.ln.hook_scale", '1')                                                              \
    X(GF_P_LN_HEAD, "@mlm_head.ln.hook_normalized", 'N')                                                               \
    X(GF_P_POOLED, "@pooler.hook_pooler_out", 'P')                                                                     \
    X(GF_P_LABEL_INPUT, "@classifier.hook_input", 'P') /* of one for the whole input: what its matrix reads */
enum gf_point { GF_POINTS(GF_ENUMERATOR) GF_N_POINTS };

/* Start (on = 1) or stop capturing a point in later evals (stack decoder) or encodes (stack encoder). layer: -1 for
 * points of the whole model. GF_ERR_ARGUMENT when the architecture has no such point. Capturing does not change a bit
 * of the logits. */
int32_t gf_session_capture(struct gf_session *s, int32_t stack, int32_t layer, int32_t point, int32_t on,
                           struct gf_error *err);
/* The values that the last eval (or encode) had at a captured point, row-major. dims[3] follows the point's axes: pos
 * counts the rows of that eval, keys run from 0 to the last position, unused dims are 1. NULL when the point was not
 * captured. Valid until the next eval. */
const float *gf_session_captured(const struct gf_session *s, int32_t stack, int32_t layer, int32_t point,
                                 int32_t dims[3]);

enum gf_edit_op { GF_EDIT_SCALE = 0, GF_EDIT_SET = 1, GF_EDIT_ADD = 2, GF_EDIT_PROJECT = 3, GF_EDIT_FEATURE = 4 };
/* Change a point in all later evals: multiply by `scale`, set to values, add values, or remove the component along the
 * direction `values`. head, position, index: which one, or -1 for all (position is absolute; head only for points with
 * a head axis; index is a place within a row: a neuron of F, an expert of E, a component of D or of one head's Q and K,
 * a key of S). values: n_values floats, one row's worth of what is selected (d_model, d_head, d_ff, or a pattern
 * row's keys from 0 on), or 1 for a constant (not of a direction); copied. Masked scores stay masked. Edits apply in
 * the order given, before capture. */
int32_t gf_session_edit(struct gf_session *s, int32_t stack, int32_t layer, int32_t point, int32_t head,
                        int32_t position, int32_t index, int32_t op, float scale, const float *values, int32_t n_values,
                        struct gf_error *err);

/* ---- sparse dictionaries: features.c ----------------------------------------------------------------------------- */

/* The encoder of a sparse dictionary of activations x [d], which gives the value z of each of `size` features:
 *
 *   p = W x'     z = max(0, gain p + magnitude) where p + bias > threshold, else 0     TopK: only the k largest stay
 *
 * x' = x - the row of x's token in a table, if there is one; then, by `norm`, x' / |x'| sqrt(d) (1), or x' less its
 * mean and divided by its standard deviation + 1e-5 (2; Bessel's correction), or x' itself (0). At positions before
 * `from` every z is 0. ReLU, JumpReLU (Rajamanoharan et al. 2024), gated (the same), TopK (Gao et al. 2024). */
struct gf_features_spec {
    int32_t d, size, dtype; /* dtype: that W has in memory */
    int32_t k;              /* 0: all features that are above their threshold */
    int32_t from, norm;
    int32_t vocab_size; /* rows of the token table; 0: there is none */
};
/* NULL on failure. Freed by gf_features_close, and kept while an edit uses it. */
struct gf_features *gf_features_open(const struct gf_features_spec *spec, struct gf_error *err);
void gf_features_close(struct gf_features *f); /* NULL is allowed */
/* Row i of W, d floats. */
void gf_features_put(struct gf_features *f, int32_t i, const float *row);
/* row = row i of W, as it is stored. */
void gf_features_get(const struct gf_features *f, int32_t i, float *row);
/* Where the caller puts and reads bias, threshold, gain and magnitude, [4][size], and the table [vocab_size, d] (NULL:
 * none). */
float *gf_features_vectors(struct gf_features *f);
float *gf_features_table(struct gf_features *f);
enum { GF_FEATURE_ROWS = 32 }; /* rows that are encoded at once */
/* The values z [n, size] of n <= GF_FEATURE_ROWS rows [n, d] that begin at a position, valid until the next call. ids:
 * their tokens, for a table. */
const float *gf_features_encode(struct gf_features *f, const float *x, const int32_t *ids, int32_t position, int32_t n,
                                struct gf_pool *pool);
/* In all later evals: z of a feature becomes scale z + add, that is, (scale z + add - z) times its direction [d] is
 * added to the values at a point whose rows have d floats. position as of gf_session_edit. Consecutive edits of one
 * encoder at a point read their features before one of them changes the values. */
int32_t gf_session_edit_feature(struct gf_session *s, int32_t stack, int32_t layer, int32_t point, int32_t position,
                                struct gf_features *f, int32_t feature, float scale, float add, const float *direction,
                                struct gf_error *err);
/* End later evals before block `layer` (n_layers: run all blocks): for captures alone. Such a pass leaves no hidden
 * states, and its positions cannot be continued by passes that end later. */
int32_t gf_session_stop(struct gf_session *s, int32_t layer, struct gf_error *err);

/* ---- measuring: trace.c ------------------------------------------------------------------------------------------ */

/* X(enum, name): the operations of a pass, in the order of a pre-norm block. */
#define GF_OPS(X)                                                                                                      \
    X(GF_OP_EMBED, "embed")                                                                                            \
    X(GF_OP_NORM1, "norm1")                                                                                            \
    X(GF_OP_QKV, "attn.qkv")                                                                                           \
    X(GF_OP_ROPE, "attn.rope")                                                                                         \
    X(GF_OP_ATTEND, "attn.attend") /* cache, scores, softmax, values */                                                \
    X(GF_OP_ATTN_OUT, "attn.o")                                                                                        \
    X(GF_OP_NORM1_POST, "norm1_post")                                                                                  \
    X(GF_OP_RESID_ATTN, "attn.residual")                                                                               \
    X(GF_OP_NORM_CROSS, "norm_cross")                                                                                  \
    X(GF_OP_CROSS_Q, "cross_attn.q")                                                                                   \
    X(GF_OP_CROSS_KV, "cross_attn.kv") /* once for each source */                                                      \
    X(GF_OP_CROSS_ATTEND, "cross_attn.attend")                                                                         \
    X(GF_OP_CROSS_OUT, "cross_attn.o")                                                                                 \
    X(GF_OP_RESID_CROSS, "cross_attn.residual")                                                                        \
    X(GF_OP_NORM2, "norm2")                                                                                            \
    X(GF_OP_FFN_UP, "ffn.up")                                                                                          \
    X(GF_OP_FFN_ACT, "ffn.act")                                                                                        \
    X(GF_OP_FFN_DOWN, "ffn.down")                                                                                      \
    X(GF_OP_ROUTER, "ffn.router")   /* its logits, and the choice */                                                   \
    X(GF_OP_EXPERTS, "ffn.experts") /* the chosen ones, and their sum */                                               \
    X(GF_OP_NORM2_POST, "norm2_post")                                                                                  \
    X(GF_OP_RESID_FFN, "ffn.residual")                                                                                 \
    X(GF_OP_FINAL_NORM, "final_norm")                                                                                  \
    X(GF_OP_POOLER, "pooler")                                                                                          \
    X(GF_OP_HEAD_TRANSFORM, "head_transform")                                                                          \
    X(GF_OP_HEAD, "head")
enum gf_op { GF_OPS(GF_ENUMERATOR) GF_N_OPS };
struct gf_op_time {
    double ms;
    int32_t stack, layer, op, unused;
};
/* Start (on = 1) or stop timing every operation of later evals and encodes. Each eval or encode starts a new list;
 * gf_session_logits appends to it. gf_session_traced returns the list and its length, valid until the next call on
 * s. */
int32_t gf_session_trace(struct gf_session *s, int32_t on, struct gf_error *err);
const struct gf_op_time *gf_session_traced(const struct gf_session *s, int32_t *n);

/* ---- names and offsets for JavaScript ---------------------------------------------------------------------------- */

/* JSON in static memory, so that JavaScript repeats no number:
 *
 *   {"status":{"-1":"bad-argument",...},"fields":["kind",...],"enums":{"kind":["decoder",...],...},
 *    "components":["embedding",...],"dtypes":["f32",...],"kv_types":["f32",...],
 *    "points":[["hook_embed","D",1],...],      1: of the whole model, 0: of a block
 *    "ops":["embed",...],
 *    "tensor":{member: byte offset,...,"bytes":size},  likewise "sampling", "adjustment",
 *    "choice", "op_time" and "error"
 *    "config_bytes":n,"chunk":64,"kv_block":64}
 *
 * "status", "fields" and "ops" end with an empty entry (key or name ""), to be skipped. */
const char *gf_schema(void);
#endif
