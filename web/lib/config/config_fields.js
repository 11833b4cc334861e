// config_fields.js - the fields of a configuration: types, defaults, ranges and rules
//
// Made from src/glassformer.h by scripts/generate.js. Do not edit it.

/**
 * A complete configuration.
 * @typedef {object} Config
 * @property {'decoder'|'encoder'|'encoder_decoder'} kind  which stacks there are
 * @property {number} vocab_size  tokens
 * @property {number} d_model  width of the residual stream
 * @property {number} n_layers  decoder blocks; of an encoder its blocks
 * @property {number} n_encoder_layers  blocks of an encoder-decoder's encoder, else 0
 * @property {number} n_heads  query heads
 * @property {number} n_kv_heads  key and value heads; fewer than n_heads: grouped queries
 * @property {number} d_head  width of a head
 * @property {'relu'|'gelu_erf'|'gelu_tanh'|'swiglu'|'silu'|'reglu'|'geglu_erf'|'geglu_tanh'} ffn  activation; those
 *   with glu have a gate matrix too
 * @property {number} d_ff  width inside the feed-forward layer
 * @property {number} n_experts  feed-forward layers of a block that a token chooses from; 0: one, without a router
 * @property {number} n_experts_used  those that it chooses
 * @property {number} d_expert  width inside each of them
 * @property {boolean} norm_expert_weights  the weights of the chosen ones are divided by their sum
 * @property {number} d_shared_expert  width of one more, which runs for every token with a weight of its own; 0: none
 * @property {number} context_length  most positions
 * @property {'layernorm'|'rmsnorm'} norm  kind of the norms
 * @property {number} norm_eps  inside the square root of the norms
 * @property {'pre'|'post'|'sandwich'|'output'} norm_placement  norm before each sublayer, after its residual sum,
 *   before it and on its output, or on its output alone
 * @property {boolean} final_norm  a norm before the head
 * @property {'layernorm'|'rmsnorm'} final_norm_kind  of the norm before the head; the others are of the kind `norm`
 * @property {number} final_norm_eps  of that norm; 0: norm_eps
 * @property {boolean} norm_gain  false: norms have no weights (OLMo)
 * @property {boolean} embed_norm  a norm of the embedding, before the first block (BLOOM)
 * @property {boolean} parallel_residual  attention and feed-forward layer read the same residual stream (GPT-J)
 * @property {boolean} shared_norm  and the same norm of it: there is no norm2
 * @property {boolean} qk_norm  a norm of q and k before the rotation (Qwen3)
 * @property {'rmsnorm'|'layernorm'} qk_norm_kind  of that norm
 * @property {'head'|'each_head'|'projection'} qk_norm_span  of each head with one gain for all, of each head with its
 *   own gain, or of all heads as one vector
 * @property {'none'|'sinusoidal'|'learned'|'rope'|'alibi'} position  kind of position encoding
 * @property {'adjacent'|'half'} sinusoid_pairs  sines and cosines in turn, or all sines before all cosines
 * @property {number} position_offset  rows of a learned table before that of position 0 (OPT)
 * @property {number} relative_buckets  of distances between query and key, each with a learned bias for each head
 *   (T5); 0: none
 * @property {number} relative_max_distance  the distance from which on all are in the last bucket
 * @property {number} position_pad_id  tokens of this id are no positions and read the row before that of position 0
 *   (RoBERTa); -1: none
 * @property {number} n_token_types  rows of a table that is added by the type of a token (BERT); 0: there is none
 * @property {number} rope_theta  base of the rotary frequencies
 * @property {number} rope_local_theta  the same in layers with a window; 0: no other, and scaled as in all layers
 * @property {number} rotary_dim  components of each head that are rotated, the first ones; 0: all
 * @property {'half'|'adjacent'} rope_pairs  which components are rotated together: i and i plus half their number, or
 *   neighbours
 * @property {'none'|'linear'|'llama3'|'yarn'|'dynamic'|'longrope'} rope_scaling  of the frequencies, for longer
 *   sequences
 * @property {number} rope_factor  of rope_scaling
 * @property {number} rope_low_freq_factor  of llama3 scaling
 * @property {number} rope_high_freq_factor  of llama3 scaling
 * @property {number} rope_original_context  of llama3, yarn, dynamic and longrope: positions the model was made for
 * @property {number} rope_beta_fast  of yarn: pairs with at least so many turns keep their frequency
 * @property {number} rope_beta_slow  of yarn: pairs with at most so many turns are divided by rope_factor
 * @property {boolean} rope_truncate  of yarn: the ends of its ramp are whole pairs
 * @property {number} rope_attention_factor  of cosines and sines
 * @property {boolean} bias_qkv  of the projections to q, k and v
 * @property {boolean} bias_qk_norm  of the norm of q and k
 * @property {boolean} bias_attn_out  of attention's output projection
 * @property {boolean} bias_ffn  of the feed-forward layer
 * @property {boolean} bias_norm  of the norms; only layernorm has one
 * @property {boolean} bias_head  of the head
 * @property {number} sliding_window  keys that a query sees, itself included; 0: all before it
 * @property {boolean} pooler  encoders: tanh of a linear layer on the state of the first position (BERT)
 * @property {boolean} mlm_head  encoders: logits of each position, from a linear layer, the activation in `ffn` and a
 *   norm before the head; false: an encoder has no logits
 * @property {boolean} tie_word_embeddings  the head uses the embedding's matrix
 * @property {number} d_embed  width of an embedding that is projected to d_model (OPT); 0: it has d_model and is not
 * @property {number} embedding_scale  factor of the embedding
 * @property {number} residual_scale  factor of what a sublayer adds to the residual stream
 * @property {number} score_scale  factor of the scores; 0: 1 / sqrt(d_head)
 * @property {number} logit_scale  factor of the logits
 * @property {number} score_softcap  c: a score s becomes c tanh(s / c), before the mask; 0: it stays
 * @property {number} logit_softcap  the same of the logits
 * @property {number} clip_qkv  c: q, k and v are limited to -c .. c; 0: they are not
 * @property {boolean} shared_embedding  encoder-decoders: one table for both stacks
 * @property {boolean} causal  false: every query sees every key
 * @property {boolean} scale_scores  false: scores are q.k itself
 * @property {boolean} use_position  false: no positions
 * @property {boolean} use_residual  false: no residual sums
 * @property {boolean} use_norm  false: no norms inside the blocks
 * @property {boolean} use_final_norm  false: no norm before the head
 * @property {readonly boolean[]} window_layers  which layers have the window: layer l entry l modulo the length; []:
 *   all
 * @property {readonly boolean[]} rope_layers  which layers rotate q and k, likewise
 * @property {readonly boolean[]} expert_layers  which layers have experts, likewise; the others have one feed-forward
 *   layer
 * @property {readonly number[]} rope_short_factors  of longrope: divisors of the frequencies, one a pair, up to
 *   rope_original_context positions
 * @property {readonly number[]} rope_long_factors  of longrope: the same in longer sequences
 */
/**
 * Our own fields, camelCase.
 * @typedef {object} CamelConfig
 * @property {'decoder'|'encoder'|'encoder_decoder'} kind  which stacks there are
 * @property {number} vocabSize  tokens
 * @property {number} dModel  width of the residual stream
 * @property {number} nLayers  decoder blocks; of an encoder its blocks
 * @property {number} nEncoderLayers  blocks of an encoder-decoder's encoder, else 0
 * @property {number} nHeads  query heads
 * @property {number} nKvHeads  key and value heads; fewer than nHeads: grouped queries
 * @property {number} dHead  width of a head
 * @property {'relu'|'gelu_erf'|'gelu_tanh'|'swiglu'|'silu'|'reglu'|'geglu_erf'|'geglu_tanh'} ffn  activation; those
 *   with glu have a gate matrix too
 * @property {number} dFf  width inside the feed-forward layer
 * @property {number} nExperts  feed-forward layers of a block that a token chooses from; 0: one, without a router
 * @property {number} nExpertsUsed  those that it chooses
 * @property {number} dExpert  width inside each of them
 * @property {boolean} normExpertWeights  the weights of the chosen ones are divided by their sum
 * @property {number} dSharedExpert  width of one more, which runs for every token with a weight of its own; 0: none
 * @property {number} contextLength  most positions
 * @property {'layernorm'|'rmsnorm'} norm  kind of the norms
 * @property {number} normEps  inside the square root of the norms
 * @property {'pre'|'post'|'sandwich'|'output'} normPlacement  norm before each sublayer, after its residual sum,
 *   before it and on its output, or on its output alone
 * @property {boolean} finalNorm  a norm before the head
 * @property {'layernorm'|'rmsnorm'} finalNormKind  of the norm before the head; the others are of the kind `norm`
 * @property {number} finalNormEps  of that norm; 0: normEps
 * @property {boolean} normGain  false: norms have no weights (OLMo)
 * @property {boolean} embedNorm  a norm of the embedding, before the first block (BLOOM)
 * @property {boolean} parallelResidual  attention and feed-forward layer read the same residual stream (GPT-J)
 * @property {boolean} sharedNorm  and the same norm of it: there is no norm2
 * @property {boolean} qkNorm  a norm of q and k before the rotation (Qwen3)
 * @property {'rmsnorm'|'layernorm'} qkNormKind  of that norm
 * @property {'head'|'each_head'|'projection'} qkNormSpan  of each head with one gain for all, of each head with its
 *   own gain, or of all heads as one vector
 * @property {'none'|'sinusoidal'|'learned'|'rope'|'alibi'} position  kind of position encoding
 * @property {'adjacent'|'half'} sinusoidPairs  sines and cosines in turn, or all sines before all cosines
 * @property {number} positionOffset  rows of a learned table before that of position 0 (OPT)
 * @property {number} relativeBuckets  of distances between query and key, each with a learned bias for each head
 *   (T5); 0: none
 * @property {number} relativeMaxDistance  the distance from which on all are in the last bucket
 * @property {number} positionPadId  tokens of this id are no positions and read the row before that of position 0
 *   (RoBERTa); -1: none
 * @property {number} nTokenTypes  rows of a table that is added by the type of a token (BERT); 0: there is none
 * @property {number} ropeTheta  base of the rotary frequencies
 * @property {number} ropeLocalTheta  the same in layers with a window; 0: no other, and scaled as in all layers
 * @property {number} rotaryDim  components of each head that are rotated, the first ones; 0: all
 * @property {'half'|'adjacent'} ropePairs  which components are rotated together: i and i plus half their number, or
 *   neighbours
 * @property {'none'|'linear'|'llama3'|'yarn'|'dynamic'|'longrope'} ropeScaling  of the frequencies, for longer
 *   sequences
 * @property {number} ropeFactor  of ropeScaling
 * @property {number} ropeLowFreqFactor  of llama3 scaling
 * @property {number} ropeHighFreqFactor  of llama3 scaling
 * @property {number} ropeOriginalContext  of llama3, yarn, dynamic and longrope: positions the model was made for
 * @property {number} ropeBetaFast  of yarn: pairs with at least so many turns keep their frequency
 * @property {number} ropeBetaSlow  of yarn: pairs with at most so many turns are divided by ropeFactor
 * @property {boolean} ropeTruncate  of yarn: the ends of its ramp are whole pairs
 * @property {number} ropeAttentionFactor  of cosines and sines
 * @property {boolean} biasQkv  of the projections to q, k and v
 * @property {boolean} biasQkNorm  of the norm of q and k
 * @property {boolean} biasAttnOut  of attention's output projection
 * @property {boolean} biasFfn  of the feed-forward layer
 * @property {boolean} biasNorm  of the norms; only layernorm has one
 * @property {boolean} biasHead  of the head
 * @property {number} slidingWindow  keys that a query sees, itself included; 0: all before it
 * @property {boolean} pooler  encoders: tanh of a linear layer on the state of the first position (BERT)
 * @property {boolean} mlmHead  encoders: logits of each position, from a linear layer, the activation in `ffn` and a
 *   norm before the head; false: an encoder has no logits
 * @property {boolean} tieWordEmbeddings  the head uses the embedding's matrix
 * @property {number} dEmbed  width of an embedding that is projected to dModel (OPT); 0: it has dModel and is not
 * @property {number} embeddingScale  factor of the embedding
 * @property {number} residualScale  factor of what a sublayer adds to the residual stream
 * @property {number} scoreScale  factor of the scores; 0: 1 / sqrt(dHead)
 * @property {number} logitScale  factor of the logits
 * @property {number} scoreSoftcap  c: a score s becomes c tanh(s / c), before the mask; 0: it stays
 * @property {number} logitSoftcap  the same of the logits
 * @property {number} clipQkv  c: q, k and v are limited to -c .. c; 0: they are not
 * @property {boolean} sharedEmbedding  encoder-decoders: one table for both stacks
 * @property {boolean} causal  false: every query sees every key
 * @property {boolean} scaleScores  false: scores are q.k itself
 * @property {boolean} usePosition  false: no positions
 * @property {boolean} useResidual  false: no residual sums
 * @property {boolean} useNorm  false: no norms inside the blocks
 * @property {boolean} useFinalNorm  false: no norm before the head
 * @property {readonly boolean[]} windowLayers  which layers have the window: layer l entry l modulo the length; []:
 *   all
 * @property {readonly boolean[]} ropeLayers  which layers rotate q and k, likewise
 * @property {readonly boolean[]} expertLayers  which layers have experts, likewise; the others have one feed-forward
 *   layer
 * @property {readonly number[]} ropeShortFactors  of longrope: divisors of the frequencies, one a pair, up to
 *   ropeOriginalContext positions
 * @property {readonly number[]} ropeLongFactors  of longrope: the same in longer sequences
 */
/**
 * type: one of words, true or false, a whole number, any number, or a list of up to `entries` of these. default: the
 * value, or what computes it from the fields before it; without one the field must be given.
 * @typedef {(
 *   | { type: 'word', words: string[], default: string | ((c: Config) => string) }
 *   | { type: 'flag', default: boolean | ((c: Config) => boolean) }
 *   | { type: 'whole' | 'real', least: number, most: number, default?: number | ((c: Config) => number) }
 *   | { type: 'flags', entries: number, default: () => boolean[] }
 *   | { type: 'reals', least: number, most: number, entries: number, default: () => number[] }
 * )} Field
 */

/** Every field, in the order in which defaults are filled in. @type {Record<keyof Config, Field>} */
export const FIELDS = {
  kind: { type: 'word', words: ['decoder', 'encoder', 'encoder_decoder'], default: 'decoder' },
  vocab_size: { type: 'whole', least: 1, most: 4194304 },
  d_model: { type: 'whole', least: 1, most: 65536 },
  n_layers: { type: 'whole', least: 1, most: 4096 },
  n_encoder_layers: {
    type: 'whole',
    least: 0,
    most: 4096,
    default: (c) => (c.kind === 'encoder_decoder' ? c.n_layers : 0),
  },
  n_heads: { type: 'whole', least: 1, most: 4096 },
  n_kv_heads: { type: 'whole', least: 1, most: 4096, default: (c) => c.n_heads },
  d_head: { type: 'whole', least: 1, most: 4096, default: (c) => Math.ceil(c.d_model / c.n_heads) },
  ffn: {
    type: 'word',
    words: ['relu', 'gelu_erf', 'gelu_tanh', 'swiglu', 'silu', 'reglu', 'geglu_erf', 'geglu_tanh'],
    default: 'swiglu',
  },
  d_ff: {
    type: 'whole',
    least: 1,
    most: 1048576,
    default: (c) =>
      c.ffn === 'swiglu' || c.ffn === 'reglu' || c.ffn === 'geglu_erf' || c.ffn === 'geglu_tanh'
        ? 64 * Math.ceil((8 * c.d_model) / 192)
        : 4 * c.d_model,
  },
  n_experts: { type: 'whole', least: 0, most: 1024, default: 0 },
  n_experts_used: { type: 'whole', least: 0, most: 1024, default: (c) => (c.n_experts < 2 ? c.n_experts : 2) },
  d_expert: { type: 'whole', least: 0, most: 1048576, default: (c) => (c.n_experts > 0 ? c.d_ff : 0) },
  norm_expert_weights: { type: 'flag', default: true },
  d_shared_expert: { type: 'whole', least: 0, most: 1048576, default: 0 },
  context_length: { type: 'whole', least: 1, most: 2147483647, default: 1024 },
  norm: { type: 'word', words: ['layernorm', 'rmsnorm'], default: 'rmsnorm' },
  norm_eps: { type: 'real', least: 0, most: 1, default: (c) => (c.norm === 'rmsnorm' ? 1e-6 : 1e-5) },
  norm_placement: { type: 'word', words: ['pre', 'post', 'sandwich', 'output'], default: 'pre' },
  final_norm: { type: 'flag', default: (c) => c.norm_placement !== 'post' },
  final_norm_kind: { type: 'word', words: ['layernorm', 'rmsnorm'], default: (c) => c.norm },
  final_norm_eps: { type: 'real', least: 0, most: 1, default: 0 },
  norm_gain: { type: 'flag', default: true },
  embed_norm: { type: 'flag', default: false },
  parallel_residual: { type: 'flag', default: false },
  shared_norm: { type: 'flag', default: false },
  qk_norm: { type: 'flag', default: false },
  qk_norm_kind: { type: 'word', words: ['rmsnorm', 'layernorm'], default: 'rmsnorm' },
  qk_norm_span: { type: 'word', words: ['head', 'each_head', 'projection'], default: 'head' },
  position: { type: 'word', words: ['none', 'sinusoidal', 'learned', 'rope', 'alibi'], default: 'rope' },
  sinusoid_pairs: { type: 'word', words: ['adjacent', 'half'], default: 'adjacent' },
  position_offset: { type: 'whole', least: 0, most: 1024, default: 0 },
  relative_buckets: { type: 'whole', least: 0, most: 1024, default: 0 },
  relative_max_distance: { type: 'whole', least: 1, most: 65536, default: 128 },
  position_pad_id: { type: 'whole', least: -1, most: 4194304, default: -1 },
  n_token_types: { type: 'whole', least: 0, most: 65536, default: 0 },
  rope_theta: { type: 'real', least: 0.000001, most: 1000000000000, default: 10000 },
  rope_local_theta: { type: 'real', least: 0, most: 1000000000000, default: 0 },
  rotary_dim: { type: 'whole', least: 0, most: 4096, default: 0 },
  rope_pairs: { type: 'word', words: ['half', 'adjacent'], default: 'half' },
  rope_scaling: { type: 'word', words: ['none', 'linear', 'llama3', 'yarn', 'dynamic', 'longrope'], default: 'none' },
  rope_factor: { type: 'real', least: 0.000001, most: 1000000, default: 1 },
  rope_low_freq_factor: { type: 'real', least: 0.000001, most: 1000000, default: 1 },
  rope_high_freq_factor: { type: 'real', least: 0.000001, most: 1000000, default: 4 },
  rope_original_context: { type: 'whole', least: 0, most: 2147483647, default: 0 },
  rope_beta_fast: { type: 'real', least: 0.000001, most: 1000000, default: 32 },
  rope_beta_slow: { type: 'real', least: 0.000001, most: 1000000, default: 1 },
  rope_truncate: { type: 'flag', default: true },
  rope_attention_factor: { type: 'real', least: 0.000001, most: 1000000, default: 1 },
  bias_qkv: { type: 'flag', default: false },
  bias_qk_norm: { type: 'flag', default: false },
  bias_attn_out: { type: 'flag', default: false },
  bias_ffn: { type: 'flag', default: false },
  bias_norm: {
    type: 'flag',
    default: (c) => (c.norm === 'layernorm' || c.final_norm_kind === 'layernorm') && c.norm_gain,
  },
  bias_head: { type: 'flag', default: false },
  sliding_window: { type: 'whole', least: 0, most: 2147483647, default: 0 },
  pooler: { type: 'flag', default: false },
  mlm_head: { type: 'flag', default: false },
  tie_word_embeddings: { type: 'flag', default: (c) => c.kind !== 'encoder' || c.mlm_head },
  d_embed: { type: 'whole', least: 0, most: 65536, default: 0 },
  embedding_scale: { type: 'real', least: 0.000001, most: 1000000, default: 1 },
  residual_scale: { type: 'real', least: 0.000001, most: 1000000, default: 1 },
  score_scale: { type: 'real', least: 0, most: 1000000, default: 0 },
  logit_scale: { type: 'real', least: 1e-9, most: 1000000, default: 1 },
  score_softcap: { type: 'real', least: 0, most: 1000000, default: 0 },
  logit_softcap: { type: 'real', least: 0, most: 1000000, default: 0 },
  clip_qkv: { type: 'real', least: 0, most: 1000000, default: 0 },
  shared_embedding: { type: 'flag', default: true },
  causal: { type: 'flag', default: (c) => c.kind !== 'encoder' },
  scale_scores: { type: 'flag', default: true },
  use_position: { type: 'flag', default: true },
  use_residual: { type: 'flag', default: true },
  use_norm: { type: 'flag', default: true },
  use_final_norm: { type: 'flag', default: true },
  window_layers: { type: 'flags', entries: 128, default: () => [] },
  rope_layers: { type: 'flags', entries: 128, default: () => [] },
  expert_layers: { type: 'flags', entries: 128, default: () => [] },
  rope_short_factors: { type: 'reals', least: 0.000001, most: 1000000, entries: 128, default: () => [] },
  rope_long_factors: { type: 'reals', least: 0.000001, most: 1000000, entries: 128, default: () => [] },
};

/**
 * Flags that are false, whatever was given, where the architecture has no such part.
 * @type {{ field: keyof Config, when: (c: Config) => boolean }[]}
 */
export const UNUSED = [
  { field: 'bias_norm', when: (c) => (c.norm === 'rmsnorm' && c.final_norm_kind === 'rmsnorm') || !c.norm_gain },
  { field: 'bias_qk_norm', when: (c) => !c.qk_norm || c.qk_norm_kind === 'rmsnorm' },
  { field: 'pooler', when: (c) => c.kind !== 'encoder' },
  { field: 'mlm_head', when: (c) => c.kind !== 'encoder' },
  { field: 'tie_word_embeddings', when: (c) => c.kind === 'encoder' && !c.mlm_head },
  { field: 'bias_head', when: (c) => c.kind === 'encoder' && !c.mlm_head },
];

/**
 * What must hold between the fields, in this order. given: the fields that were not filled in. In a sentence {field}
 * stands for the field's name and value.
 * @type {{ holds: (c: Config, given: Partial<Config>) => boolean, sentence: string }[]}
 */
export const RULES = [
  {
    holds: (c, given) => Object.hasOwn(given, 'd_head') || c.d_model % c.n_heads === 0,
    sentence: '{d_model} is not divisible by {n_heads}',
  },
  { holds: (c) => c.n_heads % c.n_kv_heads === 0, sentence: '{n_heads} is not a multiple of {n_kv_heads}' },
  { holds: (c) => c.n_heads * c.d_head <= 65536, sentence: '{n_heads} times {d_head} is more than 65536' },
  { holds: (c) => c.position !== 'rope' || c.rotary_dim <= c.d_head, sentence: '{rotary_dim} is more than {d_head}' },
  {
    holds: (c) => c.position !== 'rope' || c.rotary_dim > 0 || c.d_head % 2 === 0,
    sentence: '{d_head} is odd, rotary positions rotate pairs',
  },
  {
    holds: (c) => c.position !== 'rope' || c.rotary_dim % 2 === 0,
    sentence: '{rotary_dim} is odd, rotary positions rotate pairs',
  },
  {
    holds: (c) => c.position !== 'learned' || c.context_length <= 16777216,
    sentence: '{context_length} is more than 16777216, the longest table of learned positions',
  },
  {
    holds: (c) => c.position === 'learned' || c.position_offset === 0,
    sentence: '{position_offset} needs learned positions',
  },
  { holds: (c) => c.relative_buckets === 0 || c.relative_buckets >= 4, sentence: '{relative_buckets} is below 4' },
  {
    holds: (c) => 2 * c.relative_max_distance > c.relative_buckets,
    sentence: '{relative_max_distance} is not above half of {relative_buckets}',
  },
  { holds: (c) => c.kind === 'encoder' || c.position_pad_id < 0, sentence: '{position_pad_id} needs kind encoder' },
  {
    holds: (c) => c.position_offset > 0 || c.position_pad_id < 0,
    sentence: '{position_pad_id} needs position_offset above 0',
  },
  { holds: (c) => c.kind === 'encoder' || c.n_token_types === 0, sentence: '{n_token_types} needs kind encoder' },
  {
    holds: (c) => c.kind !== 'encoder_decoder' || c.n_encoder_layers > 0,
    sentence: 'an encoder_decoder needs n_encoder_layers above 0',
  },
  {
    holds: (c) => c.kind === 'encoder_decoder' || c.n_encoder_layers === 0,
    sentence: '{n_encoder_layers} does not fit {kind}: only an encoder_decoder has encoder layers of its own',
  },
  {
    holds: (c) => c.kind === 'encoder_decoder' || c.shared_embedding,
    sentence: 'only an encoder_decoder can have two embeddings',
  },
  { holds: (c) => c.kind !== 'encoder' || !c.causal, sentence: 'an encoder is bidirectional, causal cannot be true' },
  {
    holds: (c) => c.kind === 'decoder' || c.norm_placement === 'pre' || c.norm_placement === 'post',
    sentence: '{norm_placement} needs kind decoder',
  },
  { holds: (c) => c.kind === 'decoder' || !c.parallel_residual, sentence: 'parallel_residual needs kind decoder' },
  { holds: (c) => c.kind === 'decoder' || c.n_experts === 0, sentence: '{n_experts} needs kind decoder' },
  {
    holds: (c) => c.n_experts === 0 || !c.bias_ffn,
    sentence: '{n_experts} needs bias_ffn false: experts have no biases',
  },
  { holds: (c) => c.n_experts_used <= c.n_experts, sentence: '{n_experts_used} is more than {n_experts}' },
  {
    holds: (c) => c.n_experts === 0 || c.n_experts_used > 0,
    sentence: '{n_experts_used} must be above 0 with {n_experts}',
  },
  { holds: (c) => c.n_experts === 0 || c.d_expert > 0, sentence: '{d_expert} must be above 0 with {n_experts}' },
  { holds: (c) => c.n_experts > 0 || c.d_shared_expert === 0, sentence: '{d_shared_expert} needs n_experts above 0' },
  { holds: (c) => c.kind === 'decoder' || c.d_embed === 0, sentence: '{d_embed} needs kind decoder' },
  {
    holds: (c) => c.kind === 'decoder' || (c.rope_scaling !== 'dynamic' && c.rope_scaling !== 'longrope'),
    sentence: '{rope_scaling} needs kind decoder',
  },
  {
    holds: (c) => !c.parallel_residual || c.norm_placement === 'pre',
    sentence: 'parallel_residual needs norm_placement pre',
  },
  { holds: (c) => c.parallel_residual || !c.shared_norm, sentence: 'shared_norm needs parallel_residual' },
  {
    holds: (c) => Math.fround(c.rope_local_theta) === 0 || Math.fround(c.rope_local_theta) >= 1e-6,
    sentence: '{rope_local_theta} is below 0.000001',
  },
  {
    holds: (c) => c.rope_scaling === 'none' || c.rope_scaling === 'linear' || c.rope_original_context > 0,
    sentence: '{rope_scaling} needs rope_original_context above 0',
  },
  {
    holds: (c) =>
      c.rope_scaling !== 'llama3' || Math.fround(c.rope_high_freq_factor) > Math.fround(c.rope_low_freq_factor),
    sentence: '{rope_high_freq_factor} is not above {rope_low_freq_factor}',
  },
  {
    holds: (c) => c.rope_scaling !== 'yarn' || Math.fround(c.rope_theta) > 1,
    sentence: '{rope_scaling} needs {rope_theta} above 1',
  },
  {
    holds: (c) => c.rope_scaling !== 'yarn' || Math.fround(c.rope_beta_fast) >= Math.fround(c.rope_beta_slow),
    sentence: '{rope_beta_fast} is below {rope_beta_slow}',
  },
  {
    holds: (c) => c.rope_scaling !== 'dynamic' || Math.fround(c.rope_factor) >= 1,
    sentence: '{rope_scaling} needs {rope_factor} of 1 or more',
  },
  {
    holds: (c) => c.rope_scaling !== 'dynamic' || (c.rotary_dim > 0 ? c.rotary_dim : c.d_head) > 2,
    sentence: '{rope_scaling} needs more than one pair of components',
  },
  {
    holds: (c) =>
      c.rope_scaling !== 'longrope' || 2 * c.rope_short_factors.length === (c.rotary_dim > 0 ? c.rotary_dim : c.d_head),
    sentence: '{rope_scaling} needs a value of rope_short_factors for each pair of components',
  },
  {
    holds: (c) =>
      c.rope_scaling !== 'longrope' || 2 * c.rope_long_factors.length === (c.rotary_dim > 0 ? c.rotary_dim : c.d_head),
    sentence: '{rope_scaling} needs a value of rope_long_factors for each pair of components',
  },
];
