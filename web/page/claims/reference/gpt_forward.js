// claims/reference/gpt_forward.js - the forward passes of tutorials 3, 4 and 5.

import { activations, add, attend, causal, each, layerNorm, linear, look, thirds, transposed } from './parts.js';

/** @typedef {import('./parts.js').Weights} Weights */
/** @typedef {import('./parts.js').Matrix} Matrix */

/** Rows of both tables added. @param {import('./parts.js').Weight[]} tables @param {number[]} ids */
const embed = ([tokens, positions], ids) => add(look(tokens, ids), look(positions, [...ids.keys()]));

/**
 * Tutorials 3 and 5: the plain pre-norm GPT.
 * @param {Weights} w @param {any} c @param {number[]} ids @returns {Matrix} logits
 */
export function gpt(w, c, ids) {
  const norm = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    layerNorm(x, c.norm_eps, w[`${name}.weight`], w[`${name}.bias`]);
  const project = (/** @type {Matrix} */ x, /** @type {string} */ name) => linear(x, w[`${name}.weight`]);
  let x = embed([w['tok_emb.weight'], w['pos_emb.weight']], ids);
  for (let l = 0; l < c.n_layers; l++) {
    const b = `blocks.${l}`,
      y = norm(x, `${b}.ln1`);
    const [q, k, v] = c.fused_qkv
      ? thirds(project(y, `${b}.attn.qkv`))
      : ['q', 'k', 'v'].map((n) => project(y, `${b}.attn.${n}`));
    x = add(x, project(attend(q, k, v, c.n_heads, causal), `${b}.attn.proj`));
    const hidden = each(project(norm(x, `${b}.ln2`), `${b}.mlp.fc1`), activations.gelu_erf);
    x = add(x, project(hidden, `${b}.mlp.fc2`));
  }
  return project(norm(x, 'ln_f'), 'tok_emb');
}

/**
 * Tutorial 4: GPT-2, whose files store matrices [in, out].
 * @param {Weights} w @param {any} c @param {number[]} ids @returns {Matrix} logits
 */
export function gpt2(w, c, ids) {
  const norm = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    layerNorm(x, c.layer_norm_epsilon, w[`${name}.weight`], w[`${name}.bias`]);
  const project = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    linear(x, transposed(w[`${name}.weight`]), w[`${name}.bias`]);
  let x = embed([w['wte.weight'], w['wpe.weight']], ids);
  for (let l = 0; l < c.n_layer; l++) {
    const [q, k, v] = thirds(project(norm(x, `h.${l}.ln_1`), `h.${l}.attn.c_attn`));
    x = add(x, project(attend(q, k, v, c.n_head, causal), `h.${l}.attn.c_proj`));
    const hidden = each(project(norm(x, `h.${l}.ln_2`), `h.${l}.mlp.c_fc`), activations.gelu_tanh);
    x = add(x, project(hidden, `h.${l}.mlp.c_proj`));
  }
  return linear(norm(x, 'ln_f'), w['wte.weight']);
}
