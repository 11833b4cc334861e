// gguf_models.js - a small model with random weights for each architecture of GGUF that is written, for comparison with
// this engine and with llama.cpp
import { completeConfig } from '../../web/lib/engine/config/config.js';
import { roster } from '../../web/lib/engine/config/weight_roster.js';
import { randomWeights } from './random_values.js';

const small = { vocab_size: 320, d_model: 64, n_layers: 4, n_heads: 4, n_kv_heads: 2, d_ff: 96, context_length: 128 };
const rows = { norm: 'layernorm', ffn: 'gelu_tanh', bias_qkv: true, bias_attn_out: true, bias_ffn: true };
const untied = { tie_word_embeddings: false };
const gemma = { ffn: 'geglu_tanh', embedding_scale: 8, d_head: 32, score_scale: 32 ** -0.5 };
const longrope = {
  context_length: 2048,
  n_kv_heads: 4,
  rotary_dim: 8,
  rope_scaling: 'longrope',
  rope_short_factors: [1, 1.2, 1.5, 2],
  rope_long_factors: [2, 3, 4, 5],
  rope_attention_factor: 1.19,
  ...untied,
};

/**
 * Configurations by architecture; a second model of one has a word after a space.
 * @type {Record<string, object>}
 */
export const MODELS = {
  llama: { rope_scaling: 'llama3', rope_factor: 8, rope_original_context: 32, rope_theta: 500000, ...untied },
  'llama biases': { rope_pairs: 'adjacent', bias_qkv: true, bias_attn_out: true, bias_ffn: true },
  qwen2: {
    bias_qkv: true,
    rope_scaling: 'yarn',
    rope_factor: 4,
    rope_original_context: 16,
    rope_attention_factor: 0.1 * Math.log(4) + 1,
  },
  qwen3: { qk_norm: true, d_head: 32 },
  'llama experts': { n_experts: 4, n_experts_used: 2, rope_pairs: 'adjacent', ...untied },
  qwen2moe: {
    bias_qkv: true,
    ...{ n_experts: 6, n_experts_used: 2, d_expert: 32, norm_expert_weights: false, d_shared_expert: 64 },
  },
  qwen3moe: { qk_norm: true, n_experts: 8, n_experts_used: 3, d_expert: 32 },
  gpt2: { ...rows, n_kv_heads: 4, position: 'learned' },
  gemma: { ...gemma, score_scale: 0, rope_scaling: 'linear', rope_factor: 2 },
  gemma2: {
    ...gemma,
    norm_placement: 'sandwich',
    score_softcap: 5,
    logit_softcap: 6,
    sliding_window: 6,
    window_layers: [true, false],
  },
  gemma3: {
    ...gemma,
    n_layers: 7,
    norm_placement: 'sandwich',
    qk_norm: true,
    sliding_window: 6,
    window_layers: [true, true, true, true, true, false],
    rope_theta: 1e6,
    rope_local_theta: 10000,
    rope_scaling: 'linear',
    rope_factor: 8,
  },
  phi2: {
    ...rows,
    n_kv_heads: 4,
    rotary_dim: 8,
    parallel_residual: true,
    shared_norm: true,
    bias_head: true,
    ...untied,
  },
  phi3: { ...longrope, rope_original_context: 512 },
  'phi3 long': { ...longrope, rope_original_context: 16 },
  gptneox: { ...rows, n_kv_heads: 4, rotary_dim: 4, parallel_residual: true, ...untied },
  'gptneox serial': { ...rows, n_kv_heads: 4, rotary_dim: 4, ...untied },
  starcoder2: rows,
  stablelm: { norm: 'layernorm', bias_qkv: true, rotary_dim: 4, ...untied },
  'stablelm parallel': {
    norm: 'layernorm',
    rotary_dim: 4,
    parallel_residual: true,
    shared_norm: true,
    qk_norm: true,
    qk_norm_kind: 'layernorm',
    qk_norm_span: 'each_head',
    ...untied,
  },
  olmo: { norm: 'layernorm', norm_gain: false, clip_qkv: 0.7, n_kv_heads: 4 },
  olmo2: { norm_placement: 'output', qk_norm: true, qk_norm_span: 'projection', ...untied },
  granite: { embedding_scale: 12, residual_scale: 0.22, score_scale: 0.05, logit_scale: 0.5, ...untied },
  smollm3: { rope_layers: [true, true, true, false] },
  bloom: { ...rows, n_kv_heads: 4, position: 'alibi', embed_norm: true },
  'command-r': {
    norm: 'layernorm',
    bias_norm: false,
    rope_pairs: 'adjacent',
    parallel_residual: true,
    shared_norm: true,
    logit_scale: 0.5,
  },
  cohere2: {
    ...{ norm: 'layernorm', bias_norm: false, rope_pairs: 'adjacent', parallel_residual: true, shared_norm: true },
    ...{ logit_scale: 0.5, sliding_window: 6, window_layers: [true, true, true, false] },
    rope_layers: [true, true, true, false],
  },
  arcee: { ffn: 'relu2', ...untied },
  nemotron: { norm: 'layernorm', ffn: 'relu2', rotary_dim: 8, ...untied },
  jais2: { ...rows, ffn: 'relu2' },
  'hunyuan-dense': { qk_norm: true, qk_norm_rotated: true },
  chatglm: { rope_pairs: 'adjacent', rotary_dim: 8, bias_qkv: true, ...untied },
  glm4: { rope_pairs: 'adjacent', rotary_dim: 8, bias_qkv: true, norm_placement: 'sandwich', ...untied },
  exaone4: { norm_placement: 'output', qk_norm: true },
  olmoe: {
    ...{ qk_norm: true, qk_norm_span: 'projection', norm_expert_weights: false, ...untied },
    ...{ n_experts: 6, n_experts_used: 2, d_expert: 32, n_kv_heads: 4 },
  },
  granitemoe: {
    ...{ embedding_scale: 12, residual_scale: 0.22, score_scale: 0.05, logit_scale: 0.5, ...untied },
    ...{ n_experts: 4, n_experts_used: 2, d_expert: 32 },
  },
  falcon: {
    ...{ norm: 'layernorm', ffn: 'gelu_tanh', parallel_residual: true, shared_norm: true, n_kv_heads: 1, d_ff: 256 },
  },
  'falcon two norms': { norm: 'layernorm', ffn: 'gelu_tanh', parallel_residual: true, n_kv_heads: 2, d_ff: 256 },
  mpt: {
    ...{ norm: 'layernorm', ffn: 'gelu_tanh', bias_norm: false, position: 'alibi', n_kv_heads: 4, clip_qkv: 0.7 },
  },
};

/**
 * The configuration of a model of the table, and its weights by name: gains near 1, everything else around 0.
 * @param {object} fields
 */
export function randomModel(fields) {
  const config = completeConfig({ ...small, ...fields });
  const scaleOf = (weight, shape) => {
    if (shape.length === 1) return 0.3;
    if (weight === 'embed.weight') return 0.5 / config.embedding_scale;
    return weight === 'position.weight' ? 0.5 : 2 / Math.sqrt(shape[1]);
  };
  const weights = randomWeights(roster(config), scaleOf);
  // a norm of the embedding makes a tied head repeat the last token: smaller logits
  if (config.embed_norm)
    for (const [name, { data }] of Object.entries(weights))
      if (name.startsWith('final_norm')) data.forEach((x, k) => (data[k] = 0.15 * x));
  return { config, weights };
}
