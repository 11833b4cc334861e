// claims/files/gpts.js - the checkpoints of tutorials 3, 4 and 5.

import { fill, linear } from '../checkpoint.js';

/** @typedef {import('../checkpoint.js').Checkpoint} Checkpoint */

/**
 * Tutorials 3 (queries, keys and values apart) and 5 (fused).
 * @param {Record<string, any>} [changes]
 * @returns {Checkpoint}
 */
export function plainGpt(changes = {}) {
  const config = {
    model_type: 'gpt-prenorm-erf',
    vocab_size: 48,
    d_model: 16,
    n_layers: 2,
    n_heads: 2,
    context: 32,
    mlp_mult: 4,
    mlp_bias: false,
    attn_bias: false,
    ln_bias: true,
    fused_qkv: true,
    tie_embeddings: true,
    norm_eps: 1e-5,
    activation: 'gelu_erf',
    ...changes,
  };
  const d = config.d_model;
  /** @type {Record<string, number[]>} */
  const shapes = { 'tok_emb.weight': [config.vocab_size, d], 'pos_emb.weight': [config.context, d] };
  for (let l = 0; l < config.n_layers; l++) {
    const b = `blocks.${l}`;
    shapes[`${b}.ln1.weight`] = [d];
    shapes[`${b}.ln1.bias`] = [d];
    if (config.fused_qkv) linear(shapes, `${b}.attn.qkv`, 3 * d, d, false);
    else for (const part of ['q', 'k', 'v']) linear(shapes, `${b}.attn.${part}`, d, d, false);
    linear(shapes, `${b}.attn.proj`, d, d, false);
    shapes[`${b}.ln2.weight`] = [d];
    shapes[`${b}.ln2.bias`] = [d];
    linear(shapes, `${b}.mlp.fc1`, config.mlp_mult * d, d, false);
    linear(shapes, `${b}.mlp.fc2`, d, config.mlp_mult * d, false);
  }
  shapes['ln_f.weight'] = [d];
  shapes['ln_f.bias'] = [d];
  return { config, weights: fill(35, shapes) };
}

/**
 * Tutorial 4: GPT-2 as its published files have it.
 * @returns {Checkpoint}
 */
export function gpt2() {
  const config = {
    model_type: 'gpt2',
    activation_function: 'gelu_new',
    vocab_size: 48,
    n_embd: 16,
    n_layer: 2,
    n_head: 2,
    n_positions: 32,
    n_ctx: 32,
    layer_norm_epsilon: 1e-5,
    tie_word_embeddings: true,
  };
  const d = config.n_embd;
  /** @type {Record<string, number[]>} */
  const shapes = { 'wte.weight': [config.vocab_size, d], 'wpe.weight': [config.n_positions, d] };
  const norm = (/** @type {string} */ name) => {
    shapes[`${name}.weight`] = [d];
    shapes[`${name}.bias`] = [d];
  };
  const conv = (/** @type {string} */ name, /** @type {number} */ inner, /** @type {number} */ out) => {
    shapes[`${name}.weight`] = [inner, out];
    shapes[`${name}.bias`] = [out];
  };
  for (let l = 0; l < config.n_layer; l++) {
    norm(`h.${l}.ln_1`);
    conv(`h.${l}.attn.c_attn`, d, 3 * d);
    conv(`h.${l}.attn.c_proj`, d, d);
    norm(`h.${l}.ln_2`);
    conv(`h.${l}.mlp.c_fc`, d, 4 * d);
    conv(`h.${l}.mlp.c_proj`, 4 * d, d);
  }
  norm('ln_f');
  return { config, weights: fill(44, shapes) };
}
