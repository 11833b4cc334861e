// claims/reference/modern_forward.js - the forward pass of tutorial 1.

import {
  activations,
  add,
  attend,
  causal,
  each,
  layerNorm,
  linear,
  look,
  rmsNorm,
  rotate,
  withSinusoid,
} from './parts.js';

/** @typedef {import('./parts.js').Weights} Weights */
/** @typedef {import('./parts.js').Matrix} Matrix */

/**
 * Tutorial 1: the modern decoder and its classical variants, names as in that tutorial's state_dict.
 * @param {Weights} w
 * @param {any} c      its config.json
 * @param {number[]} ids
 * @param {{positions?: number[], epsOutside?: boolean}} [wrong]  faults, to see what they would do
 * @returns {Matrix} logits
 */
export function decoder(w, c, ids, { positions = ids.map((_, i) => i), epsOutside = false } = {}) {
  const norm = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    c.norm === 'rmsnorm'
      ? rmsNorm(x, c.norm_eps, w[`${name}.gamma`], epsOutside)
      : layerNorm(x, c.norm_eps, w[`${name}.gamma`], w[`${name}.beta`]);
  const project = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    linear(x, w[`${name}.weight`], w[`${name}.bias`]);
  let x = look(w['token_emb.weight'], ids);
  if (c.positional === 'sinusoidal') x = x.map(withSinusoid);
  for (let l = 0; l < c.n_layers; l++) {
    const b = `blocks.${l}`;
    const attention = (/** @type {Matrix} */ y) => {
      let [q, k, v] = ['Q', 'K', 'V'].map((n) => project(y, `${b}.attn.W_${n}`));
      if (c.positional === 'rope') [q, k] = [q, k].map((m) => rotate(m, c.n_heads, positions, c.rope_base));
      return project(attend(q, k, v, c.n_heads, causal), `${b}.attn.W_O`);
    };
    const ffn = (/** @type {Matrix} */ y) => {
      if (c.ffn !== 'swiglu') return project(each(project(y, `${b}.ffn.W_1`), activations.gelu_erf), `${b}.ffn.W_2`);
      const up = project(y, `${b}.ffn.W_up`);
      return project(
        project(y, `${b}.ffn.W_gate`).map((row, t) => row.map((v, j) => activations.silu(v) * up[t][j])),
        `${b}.ffn.W_down`,
      );
    };
    if (c.pre_norm) {
      x = add(x, attention(norm(x, `${b}.norm1`)));
      x = add(x, ffn(norm(x, `${b}.norm2`)));
    } else {
      x = norm(add(x, attention(x)), `${b}.norm1`);
      x = norm(add(x, ffn(x)), `${b}.norm2`);
    }
  }
  return linear(norm(x, 'final_norm'), w[c.tie_embeddings ? 'token_emb.weight' : 'lm_head.weight']);
}
