// claims/files/modern_decoder.js - the checkpoint of tutorial 1, modern and classical.

import { fill, linear } from '../checkpoint.js';

/** @typedef {import('../checkpoint.js').Checkpoint} Checkpoint */

/**
 * Tutorial 1.
 * @param {Record<string, any>} [changes] to its modern configuration
 * @returns {Checkpoint}
 */
export function tutorial1(changes = {}) {
  const config = {
    model_type: 'rlvr-from-scratch',
    vocab_size: 48,
    d_model: 16,
    n_layers: 2,
    n_heads: 2,
    d_ff: 40,
    max_seq_len: 32,
    positional: 'rope',
    norm: 'rmsnorm',
    ffn: 'swiglu',
    pre_norm: true,
    bias: false,
    tie_embeddings: true,
    rope_base: 10000,
    norm_eps: 1e-6,
    rope_convention: 'rotate_half',
    ...changes,
  };
  const { d_model: d, d_ff: f, bias } = config;
  /** @type {Record<string, number[]>} */
  const shapes = { 'token_emb.weight': [config.vocab_size, d] };
  const norm = (/** @type {string} */ name) => {
    shapes[`${name}.gamma`] = [d];
    if (config.norm === 'layernorm') shapes[`${name}.beta`] = [d];
  };
  for (let l = 0; l < config.n_layers; l++) {
    const b = `blocks.${l}`;
    norm(`${b}.norm1`);
    for (const part of ['Q', 'K', 'V', 'O']) linear(shapes, `${b}.attn.W_${part}`, d, d, bias);
    norm(`${b}.norm2`);
    if (config.ffn === 'swiglu') for (const part of ['gate', 'up']) linear(shapes, `${b}.ffn.W_${part}`, f, d, bias);
    else linear(shapes, `${b}.ffn.W_1`, f, d, bias);
    linear(shapes, `${b}.ffn.${config.ffn === 'swiglu' ? 'W_down' : 'W_2'}`, d, f, bias);
  }
  norm('final_norm');
  if (!config.tie_embeddings) linear(shapes, 'lm_head', config.vocab_size, d, false);
  return { config, weights: fill(11, shapes) };
}

/** Its design of 2017: post-norm, LayerNorm, GELU, sinusoidal positions. */
export const tutorial1Classical = () =>
  tutorial1({
    positional: 'sinusoidal',
    norm: 'layernorm',
    ffn: 'gelu',
    pre_norm: false,
    bias: true,
    tie_embeddings: false,
    norm_eps: 1e-5,
    d_ff: 64,
  });
