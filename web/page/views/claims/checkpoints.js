// checkpoints.js - small checkpoints as a reader of each tutorial would save them: its state_dict's names in
// safetensors, a config.json beside it. Random weights that are the same on every machine.

import { normal } from './arithmetic.js';
import { DESIGNS } from './designs.js';

/** @typedef {import('./double_precision.js').Weights} Weights */
/** @typedef {{config: any, weights: Weights}} Checkpoint */

/**
 * The model of a checkpoint, from a safetensors file of its weights.
 * @param {typeof import('glassformer')} glassformer
 * @param {Checkpoint} checkpoint
 */
export const loaded = async (glassformer, { config, weights }) =>
  glassformer.load({ weights: await glassformer.toSafetensors(weights), config });

/**
 * Gains about 1, biases small, matrices wide enough that every part has its say.
 * @param {any} config
 * @param {number} seed
 * @returns {Checkpoint}
 */
function filled(config, seed) {
  const { vocabulary, width: d, hidden: f, context = 0, ...design } = DESIGNS[config.model_type](config);
  const draw = normal(seed);
  /** @type {Weights} */
  const weights = {};
  const add = (/** @type {string} */ name, /** @type {number[]} */ shape, centre = 0) => {
    const std = shape.length === 2 ? 0.25 : 0.1;
    const data = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => centre + std * draw());
    weights[name] = { shape, data };
  };
  const norm = (/** @type {string} */ name) => design.affine.forEach((end, i) => add(`${name}.${end}`, [d], 1 - i));
  const map = (/** @type {string} */ name, /** @type {number[]} */ [out, inner]) => {
    add(`${name}.weight`, design.transposed ? [inner, out] : [out, inner]);
    if (design.bias) add(`${name}.bias`, [out]);
  };
  /** @type {Record<string, number[]>} */
  const sizes = { qkv: [3 * d, d], gate: [f, d], up: [f, d], down: [d, f] };
  add(design.embed, [vocabulary, d]);
  if (design.positions) add(design.positions, [context, d]);
  for (const { cross, ...names } of [...(design.encoder ?? []), ...design.decoder].flat())
    for (const [part, name] of Object.entries(names))
      if (part === 'norm') norm(name);
      else map(name, sizes[part] ?? [d, d]);
  if (design.final) norm(design.final);
  if (design.head === 'lm_head') add('lm_head.weight', [vocabulary, d]);
  else if (!weights[`${design.head}.weight`]) map(design.head, [vocabulary, d]);
  return { config, weights };
}

const SIZES = { vocab_size: 48, d_model: 16, n_layers: 2, n_heads: 2 };

/** Tutorial 1. @param {Record<string, any>} [changes] to its modern configuration */
export const tutorial1 = (changes) => filled({ ...MODERN, ...changes }, 11);
const MODERN = {
  model_type: 'rlvr-from-scratch',
  ...{ ...SIZES, d_ff: 40, max_seq_len: 32, norm_eps: 1e-6, tie_embeddings: true },
  ...{ positional: 'rope', rope_base: 10000, rope_convention: 'rotate_half' },
  ...{ norm: 'rmsnorm', ffn: 'swiglu', pre_norm: true, bias: false },
};
/** Its design of 2017: post-norm, LayerNorm, GELU, sinusoidal positions. */
export const tutorial1Classical = () =>
  tutorial1({
    ...{ positional: 'sinusoidal', norm: 'layernorm', ffn: 'gelu', pre_norm: false, bias: true },
    ...{ tie_embeddings: false, norm_eps: 1e-5, d_ff: 64 },
  });

/** Tutorial 2. @param {Record<string, any>} [changes] */
export const tutorial2 = (changes) => filled({ ...TRANSLATOR, ...changes }, 22);
const TRANSLATOR = {
  model_type: 'bare-bones-ml-transformer',
  ...{ vocab_size: 40, hidden_size: 16, num_layers: 2, num_heads: 2, ff_size: 32, max_len: 50, layer_norm_eps: 1e-5 },
  ...{ embedding_scale: 1, shared_embedding: true, tied_head: false, post_norm: true },
  ...{ activation: 'relu', mask_mode: 'causal' },
};

/** Tutorials 3 (queries, keys and values apart) and 5 (fused). @param {Record<string, any>} [changes] */
export const plainGpt = (changes) => filled({ ...PLAIN, ...changes }, 35);
const PLAIN = {
  model_type: 'gpt-prenorm-erf',
  ...{ ...SIZES, context: 32, mlp_mult: 4, norm_eps: 1e-5, tie_embeddings: true, fused_qkv: true },
  ...{ mlp_bias: false, attn_bias: false, ln_bias: true, activation: 'gelu_erf' },
};

/** Tutorial 4. */
export const gpt2 = () => filled(GPT2, 44);
const GPT2 = {
  ...{ model_type: 'gpt2', activation_function: 'gelu_new', tie_word_embeddings: true, layer_norm_epsilon: 1e-5 },
  ...{ vocab_size: 48, n_embd: 16, n_layer: 2, n_head: 2, n_positions: 32, n_ctx: 32 },
};

/**
 * The weights with one number changed by so much.
 * @param {Checkpoint} checkpoint @param {string} name @param {number} index @param {number} by
 * @returns {Checkpoint}
 */
export function nudged({ config, weights }, name, index, by) {
  const data = Float32Array.from(weights[name].data);
  data[index] += by;
  return { config, weights: { ...weights, [name]: { ...weights[name], data } } };
}
