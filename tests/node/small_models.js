// small_models.js - configurations of small models that together have every part that readers of model families set
import { completeConfig } from '../../web/lib/engine/config/config.js';
import { roster } from '../../web/lib/engine/config/weight_roster.js';
import { gpt2Recipe, numbers } from './helpers.js';
import { safetensors } from './checkpoint_files.js';
import { randomWeights } from './random_values.js';

const small = { vocab_size: 61, d_model: 32, n_layers: 3, n_heads: 4, n_kv_heads: 2, d_ff: 48, context_length: 150 };
const layerNorm = { norm: 'layernorm', ffn: 'gelu_tanh' };
const biases = { bias_qkv: true, bias_attn_out: true, bias_ffn: true };
const factors = (from) => Array.from({ length: 4 }, (_, i) => from + i / 2);

/** The sizes of a second set: heads of 12, rows of 48. */
const other = { vocab_size: 96, d_model: 48, n_layers: 2, d_ff: 80 };
const experts = { ...other, n_experts: 5, n_experts_used: 2, d_expert: 24 };

export const DECODERS = {
  'a modern decoder': other,
  'GPT-2': { ...other, ...gpt2Recipe, n_kv_heads: 4 },
  'post-norm, sinusoidal': {
    ...other,
    ...layerNorm,
    n_kv_heads: 4,
    norm_placement: 'post',
    ffn: 'relu',
    position: 'sinusoidal',
    tie_word_embeddings: false,
  },
  'experts in every second layer': { ...experts, expert_layers: [false, true] },
  'a shared expert': { ...experts, d_shared_expert: 40 },
  'sliding window, q and k norms': { ...other, sliding_window: 9, qk_norm: true, rope_pairs: 'adjacent' },
  'a part of each head rotated, parallel residual connections': {
    ...layerNorm,
    ...biases,
    rotary_dim: 6,
    parallel_residual: true,
    ffn: 'gelu_erf',
  },
  'neighbours rotated, one norm for both sublayers, a bias of the head': {
    ...layerNorm,
    rope_pairs: 'adjacent',
    rotary_dim: 4,
    parallel_residual: true,
    shared_norm: true,
    bias_ffn: true,
    bias_head: true,
    tie_word_embeddings: false,
  },
  'norms before and after, soft caps, geglu, windows and frequencies by layer': {
    ffn: 'geglu_tanh',
    norm_placement: 'sandwich',
    score_softcap: 3,
    logit_softcap: 5,
    embedding_scale: 32 ** 0.5,
    score_scale: 0.4,
    sliding_window: 7,
    window_layers: [true, false],
    rope_local_theta: 500,
    rope_scaling: 'linear',
    rope_factor: 8,
    qk_norm: true,
  },
  'norms of outputs, q and k normalised as whole projections': {
    norm_placement: 'output',
    qk_norm: true,
    qk_norm_span: 'projection',
    ffn: 'reglu',
  },
  'norms without gains, q, k and v limited': {
    norm: 'layernorm',
    norm_gain: false,
    rope_pairs: 'adjacent',
    clip_qkv: 0.5,
    ffn: 'silu',
  },
  'factors of embedding, scores, residual stream and logits': {
    embedding_scale: 6,
    residual_scale: 0.22,
    score_scale: 0.05,
    logit_scale: 0.25,
    ffn: 'geglu_erf',
  },
  'ALiBi with a number of heads that is no power of two, a norm of the embedding': {
    ...layerNorm,
    ...biases,
    n_heads: 6,
    n_kv_heads: 6,
    d_head: 8,
    position: 'alibi',
    embed_norm: true,
  },
  'heads without rotation': { rotary_kv_heads: 1, qk_norm: true },
  'layers without rotation, a window in the others': {
    rope_layers: [true, true, false],
    sliding_window: 5,
    window_layers: [true, true, false],
  },
  'yarn, q and k normalised by head with biases': {
    rope_scaling: 'yarn',
    rope_factor: 4,
    rope_original_context: 16,
    rope_attention_factor: 1.2,
    rope_truncate: false,
    ...layerNorm,
    qk_norm: true,
    qk_norm_kind: 'layernorm',
    bias_qk_norm: true,
  },
  'longrope whose limit lies inside the sequence, a gain for each head': {
    rope_scaling: 'longrope',
    rope_original_context: 24,
    rope_short_factors: factors(1),
    rope_long_factors: factors(2),
    rope_attention_factor: 1.1,
    qk_norm: true,
    qk_norm_kind: 'layernorm',
    qk_norm_span: 'each_head',
  },
  'dynamic frequencies': { rope_scaling: 'dynamic', rope_factor: 2, rope_original_context: 24 },
  'Llama 3 frequencies, post-norm': {
    rope_scaling: 'llama3',
    rope_factor: 8,
    rope_original_context: 64,
    norm_placement: 'post',
  },
  'learned positions with an offset, a projected embedding, scores that are not scaled': {
    ...layerNorm,
    ...biases,
    ffn: 'relu',
    position: 'learned',
    position_offset: 2,
    d_embed: 20,
    scale_scores: false,
  },
};

const pair = { ...small, ...other, kind: 'encoder_decoder', n_encoder_layers: 3, n_kv_heads: 4 };

/** Like T5. */
export const t5 = {
  ...pair,
  d_head: 8,
  position: 'none',
  relative_buckets: 8,
  relative_max_distance: 20,
  scale_scores: false,
  ffn: 'geglu_tanh',
  logit_scale: 48 ** -0.5,
};
const marian = {
  ...pair,
  ...biases,
  bias_head: true,
  norm: 'layernorm',
  norm_placement: 'post',
  position: 'sinusoidal',
  sinusoid_pairs: 'half',
  ffn: 'silu',
  embedding_scale: Math.sqrt(48),
};
const bart = {
  ...marian,
  position: 'learned',
  position_offset: 2,
  embed_norm: true,
  ffn: 'gelu_erf',
  embedding_scale: 1,
  shared_embedding: false,
};

export const ENCODER_DECODERS = { 'like T5': t5, 'like Marian': marian, 'like BART': bart };

/**
 * A checkpoint with random weights: gains near 1, everything else around 0.
 * @param {object} fields  of its configuration, beside the sizes
 */
export function randomModel(fields) {
  const config = completeConfig({ ...small, ...fields });
  const tensors = randomWeights(roster(config), (_, shape) => (shape.length > 1 ? 2 / Math.sqrt(shape[1]) : 0.5));
  return { weights: safetensors(tensors), config: { model_type: 'glassformer', ...config } };
}

/** A decoder with experts, and ids for it. */
export const withExperts = {
  vocab_size: 96,
  d_model: 64,
  n_layers: 2,
  n_heads: 4,
  n_kv_heads: 2,
  context_length: 128,
  d_ff: 96,
  n_experts: 6,
  n_experts_used: 2,
  d_expert: 32,
};
export const expertIds = numbers(40, 96, 3);
