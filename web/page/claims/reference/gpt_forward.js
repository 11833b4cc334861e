// claims/reference/gpt_forward.js - the forward passes of tutorials 3, 4 and 5.

import { activations, add, attend, causal, layerNorm, linear, look } from './parts.js';

/** @typedef {import('./parts.js').Weights} Weights */
/** @typedef {import('./parts.js').Matrix} Matrix */

/**
 * Tutorials 3 and 5: the plain pre-norm GPT.
 * @param {Weights} w @param {any} c @param {number[]} ids @returns {Matrix} logits
 */
export function gpt(w, c, ids) {
  const norm = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    layerNorm(x, c.norm_eps, w[`${name}.weight`], w[`${name}.bias`]);
  let x = add(
    look(w['tok_emb.weight'], ids),
    look(
      w['pos_emb.weight'],
      ids.map((_, i) => i),
    ),
  );
  for (let l = 0; l < c.n_layers; l++) {
    const b = `blocks.${l}`,
      y = norm(x, `${b}.ln1`),
      d = c.d_model;
    const qkv = c.fused_qkv ? linear(y, w[`${b}.attn.qkv.weight`]) : null;
    const [q, k, v] = ['q', 'k', 'v'].map((n, i) =>
      qkv ? qkv.map((row) => row.slice(i * d, (i + 1) * d)) : linear(y, w[`${b}.attn.${n}.weight`]),
    );
    x = add(x, linear(attend(q, k, v, c.n_heads, causal), w[`${b}.attn.proj.weight`]));
    x = add(
      x,
      linear(
        linear(norm(x, `${b}.ln2`), w[`${b}.mlp.fc1.weight`]).map((row) => row.map(activations.gelu_erf)),
        w[`${b}.mlp.fc2.weight`],
      ),
    );
  }
  return linear(norm(x, 'ln_f'), w['tok_emb.weight']);
}

/**
 * Tutorial 4: GPT-2, whose files store matrices [in, out].
 * @param {Weights} w @param {any} c @param {number[]} ids @returns {Matrix} logits
 */
export function gpt2(w, c, ids) {
  const norm = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    layerNorm(x, c.layer_norm_epsilon, w[`${name}.weight`], w[`${name}.bias`]);
  const project = (/** @type {Matrix} */ x, /** @type {string} */ name) => {
    const {
      shape: [inner, out],
      data,
    } = w[`${name}.weight`];
    return x.map((row) =>
      Float64Array.from({ length: out }, (_, r) =>
        row.reduce((s, v, i) => s + v * data[i * out + r], w[`${name}.bias`].data[r]),
      ),
    );
  };
  const d = c.n_embd;
  let x = add(
    look(w['wte.weight'], ids),
    look(
      w['wpe.weight'],
      ids.map((_, i) => i),
    ),
  );
  for (let l = 0; l < c.n_layer; l++) {
    const qkv = project(norm(x, `h.${l}.ln_1`), `h.${l}.attn.c_attn`);
    const [q, k, v] = [0, 1, 2].map((i) => qkv.map((row) => row.slice(i * d, (i + 1) * d)));
    x = add(x, project(attend(q, k, v, c.n_head, causal), `h.${l}.attn.c_proj`));
    x = add(
      x,
      project(
        project(norm(x, `h.${l}.ln_2`), `h.${l}.mlp.c_fc`).map((row) => row.map(activations.gelu_tanh)),
        `h.${l}.mlp.c_proj`,
      ),
    );
  }
  return linear(norm(x, 'ln_f'), w['wte.weight']);
}
