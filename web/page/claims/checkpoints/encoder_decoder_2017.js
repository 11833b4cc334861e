// claims/files/encoder_decoder_2017.js - the checkpoint of tutorial 2.

import { fill, linear } from '../checkpoint.js';

/** @typedef {import('../checkpoint.js').Checkpoint} Checkpoint */

/**
 * Tutorial 2.
 * @param {Record<string, any>} [changes]
 * @returns {Checkpoint}
 */
export function tutorial2(changes = {}) {
  const config = {
    model_type: 'bare-bones-ml-transformer',
    vocab_size: 40,
    hidden_size: 16,
    num_layers: 2,
    num_heads: 2,
    ff_size: 32,
    max_len: 50,
    layer_norm_eps: 1e-5,
    embedding_scale: 1,
    shared_embedding: true,
    tied_head: false,
    post_norm: true,
    activation: 'relu',
    mask_mode: 'causal',
    ...changes,
  };
  const d = config.hidden_size;
  /** @type {Record<string, number[]>} */
  const shapes = { 'token_embedding.embedding': [config.vocab_size, d] };
  const addNorm = (/** @type {string} */ name) => {
    shapes[`${name}.norm.gamma`] = [d];
    shapes[`${name}.norm.beta`] = [d];
  };
  const attention = (/** @type {string} */ name) => {
    for (const part of ['q_linear', 'k_linear', 'v_linear', 'fc']) linear(shapes, `${name}.${part}`, d, d, true);
  };
  const ffn = (/** @type {string} */ name) => {
    linear(shapes, `${name}.linear1`, config.ff_size, d, true);
    linear(shapes, `${name}.linear2`, d, config.ff_size, true);
  };
  for (let l = 0; l < config.num_layers; l++) {
    const b = `encoder.layers.${l}`;
    attention(`${b}.self_attn`);
    addNorm(`${b}.add_norm1`);
    ffn(`${b}.ff`);
    addNorm(`${b}.add_norm2`);
  }
  for (let l = 0; l < config.num_layers; l++) {
    const b = `decoder.layers.${l}`;
    attention(`${b}.masked_self_attn`);
    addNorm(`${b}.add_norm1`);
    attention(`${b}.enc_dec_attn`);
    addNorm(`${b}.add_norm2`);
    ffn(`${b}.ff`);
    addNorm(`${b}.add_norm3`);
  }
  linear(shapes, 'final_linear', config.vocab_size, d, true);
  return { config, weights: fill(22, shapes) };
}
