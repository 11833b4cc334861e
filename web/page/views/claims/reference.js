// reference.js - the forward pass of the five tutorials in plain JavaScript and double precision, by the names of
// their own checkpoints. The engine's numbers are held against it.

import { DESIGNS } from './designs.js';
import { activations, add, attend, each, flat, linear, look, normalised } from './double_precision.js';
import { rotate, sinusoid, thirds, times, transposed } from './double_precision.js';

/** @typedef {import('./double_precision.js').Matrix} Matrix */
/** @typedef {import('./double_precision.js').Weights} Weights */
/** @typedef {import('./designs.js').Sublayer} Sublayer */

/** What the library calls the stages of a sublayer: the norm before it, its maps, what it writes, and the stream behind. */
const STAGES = {
  attention: ['ln1', 'attn', 'hook_attn_out', 'hook_resid_mid'],
  cross: ['ln2', 'cross_attn', 'hook_cross_attn_out', 'hook_resid_mid_cross'],
  ffn: ['ln2', 'mlp', 'hook_mlp_out', 'hook_resid_post'],
};

/** @param {import('./designs.js').Design} design @param {Weights} w @param {number[]} ids */
function embed(design, w, ids) {
  const x = look(w[design.embed], ids);
  if (design.positions) return add(x, look(w[design.positions], [...ids.keys()]));
  return design.sinusoids
    ? add(
        x,
        [...x.keys()].map((position) => sinusoid(position, design.width)),
      )
    : x;
}

/**
 * @param {Weights} w
 * @param {any} config  its config.json
 * @param {number[]} ids
 * @param {object} [options]
 * @param {number[]} [options.source]       of the encoder
 * @param {Record<string, Float64Array>} [options.stages]  filled with activations by the library's names
 * @param {number[]} [options.positions]    a fault, to see what it would do
 * @param {boolean} [options.epsOutside]    another one
 * @returns {Matrix} logits
 */
export function reference(w, config, ids, { source = [], stages = {}, positions = [...ids.keys()], epsOutside } = {}) {
  const design = DESIGNS[config.model_type](config);
  const { heads, eps, theta } = design;
  const kept = (/** @type {string} */ name, /** @type {Matrix} */ x) => {
    stages[name] = flat(x);
    return x;
  };
  const project = (/** @type {Matrix} */ x, /** @type {string} */ name) =>
    linear(x, design.transposed ? transposed(w[`${name}.weight`]) : w[`${name}.weight`], w[`${name}.bias`]);
  const norm = (/** @type {Matrix} */ x, /** @type {string} */ name, stage = '') => {
    const [gain, shift] = design.affine.map((end) => w[`${name}.${end}`]);
    const normal = normalised(x, eps, { centred: !design.rms, outside: epsOutside });
    return kept(`${stage}.hook_normalized`, normal).map((row) =>
      row.map((v, i) => v * gain.data[i] + (shift?.data[i] ?? 0)),
    );
  };
  /** @type {(x: Matrix, from: Matrix, names: Sublayer, at: string, causal: boolean) => Matrix} */
  const attention = (x, from, names, at, causal) => {
    let [q, k, v] = names.qkv
      ? thirds(project(x, names.qkv))
      : [project(x, names.q), project(from, names.k), project(from, names.v)];
    [q, k, v].forEach((m, i) => kept(`${at}.hook_${'qkv'[i]}`, m));
    if (theta) [q, k] = [q, k].map((m) => rotate(m, heads, positions, theta));
    return project(kept(`${at}.hook_z`, attend(q, k, v, heads, causal)), /** @type {string} */ (names.out));
  };
  /** @type {(x: Matrix, names: Sublayer, at: string) => Matrix} */
  const ffn = (x, { gate, up, down = '' }, at) => {
    const pre = kept(`${at}.hook_pre`, project(x, gate ?? up));
    const hidden = kept(`${at}.hook_post`, each(pre, activations[design.activation]));
    return project(gate ? times(hidden, project(x, up)) : hidden, down);
  };
  /** @type {(x: Matrix, layers: Sublayer[][], name: string, causal: boolean, memory?: Matrix) => Matrix} */
  const through = (x, layers, name, causal, memory) => {
    for (const [l, sublayers] of layers.entries()) {
      kept(`${name}.${l}.hook_resid_pre`, x);
      for (const names of sublayers) {
        const [ln, maps, wrote, behind] = STAGES[names.down ? 'ffn' : names.cross ? 'cross' : 'attention'].map(
          (stage) => `${name}.${l}.${stage}`,
        );
        const read = design.post ? x : norm(x, names.norm, ln);
        const from = names.cross && memory ? memory : read;
        const written = names.down
          ? ffn(read, names, maps)
          : attention(read, from, names, maps, causal && !names.cross);
        x = add(x, kept(wrote, written));
        x = kept(behind, design.post ? norm(x, names.norm, ln) : x);
      }
    }
    return x;
  };
  const memory = design.encoder && through(embed(design, w, source), design.encoder, 'encoder', false);
  const x = through(embed(design, w, ids), design.decoder, memory ? 'decoder' : 'blocks', !design.unmasked, memory);
  return linear(
    design.final ? norm(x, design.final, 'ln_final') : x,
    w[`${design.head}.weight`],
    w[`${design.head}.bias`],
  );
}
