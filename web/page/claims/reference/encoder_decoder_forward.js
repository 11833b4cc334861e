// claims/reference/encoder_decoder_forward.js - the forward pass of tutorial 2.

import { activations, add, attend, causal, each, every, layerNorm, linear, look, withSinusoid } from './parts.js';

/** @typedef {import('./parts.js').Weights} Weights */
/** @typedef {import('./parts.js').Matrix} Matrix */

/**
 * Tutorial 2: the encoder-decoder of 2017.
 * @param {Weights} w @param {any} c @param {number[]} source @param {number[]} ids @returns {Matrix} logits
 */
export function encoderDecoder(w, c, source, ids) {
  const project = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    linear(x, w[`${name}.weight`], w[`${name}.bias`]);
  const addNorm = (/** @type {Matrix} */ x, /** @type {Matrix} */ y, /** @type {string} */ name) =>
    layerNorm(add(x, y), c.layer_norm_eps, w[`${name}.norm.gamma`], w[`${name}.norm.beta`]);
  /** @type {(x: Matrix, from: Matrix, name: string, sees: (query: number, key: number) => boolean) => Matrix} */
  const attention = (x, from, name, sees) => {
    const [q, k, v] = ['q', 'k', 'v'].map((n) => project(n === 'q' ? x : from, `${name}.${n}_linear`));
    return project(attend(q, k, v, c.num_heads, sees), `${name}.fc`);
  };
  const ffn = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    project(each(project(x, `${name}.linear1`), activations.relu), `${name}.linear2`);
  /** @type {(list: number[]) => Matrix} */
  const embed = (list) => look(w['token_embedding.embedding'], list).map(withSinusoid);
  let memory = embed(source);
  for (let l = 0; l < c.num_layers; l++) {
    const b = `encoder.layers.${l}`;
    memory = addNorm(memory, attention(memory, memory, `${b}.self_attn`, every), `${b}.add_norm1`);
    memory = addNorm(memory, ffn(memory, `${b}.ff`), `${b}.add_norm2`);
  }
  const sees = c.mask_mode === 'nomask' ? every : causal;
  let x = embed(ids);
  for (let l = 0; l < c.num_layers; l++) {
    const b = `decoder.layers.${l}`;
    x = addNorm(x, attention(x, x, `${b}.masked_self_attn`, sees), `${b}.add_norm1`);
    x = addNorm(x, attention(x, memory, `${b}.enc_dec_attn`, every), `${b}.add_norm2`);
    x = addNorm(x, ffn(x, `${b}.ff`), `${b}.add_norm3`);
  }
  return project(x, 'final_linear');
}
