// claims/files/checkpoint.js - small checkpoints as a reader of each tutorial would save them: its state_dict's names in
// safetensors, a config.json beside it. Random weights that are the same on every machine.

import { normal } from './arithmetic.js';

/** @typedef {import('./reference/parts.js').Weights} Weights */
/** @typedef {{config: any, weights: Weights}} Checkpoint */

/**
 * A safetensors file.
 * @param {Weights} weights
 * @returns {Uint8Array}
 */
export function safetensors(weights) {
  /** @type {Record<string, any>} */
  const header = {};
  let at = 0;
  for (const [name, { shape, data }] of Object.entries(weights))
    header[name] = { dtype: 'F32', shape, data_offsets: [at, (at += data.byteLength)] };
  const json = new TextEncoder().encode(JSON.stringify(header));
  const file = new Uint8Array(8 + json.length + at);
  new DataView(file.buffer).setUint32(0, json.length, true);
  file.set(json, 8);
  let to = 8 + json.length;
  for (const { data } of Object.values(weights)) {
    const view = new DataView(file.buffer, to);
    data.forEach((v, i) => view.setFloat32(4 * i, v, true));
    to += data.byteLength;
  }
  return file;
}

/**
 * What `load` takes.
 * @param {Checkpoint} checkpoint
 */
export const asSource = ({ config, weights }) => ({ weights: safetensors(weights), config });

/**
 * Gains about 1, biases small, matrices wide enough that every part has its say.
 * @param {number} seed
 * @param {Record<string, number[]>} shapes
 * @returns {Weights}
 */
export function fill(seed, shapes) {
  const draw = normal(seed);
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => {
      const gain = /(gamma|ln_?[12f]\.weight)$/.test(name) && shape.length === 1;
      const std = shape.length === 2 ? 0.25 : 0.1;
      return [
        name,
        {
          shape,
          data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => (gain ? 1 : 0) + std * draw()),
        },
      ];
    }),
  );
}

/**
 * @param {Record<string, number[]>} shapes
 * @param {string} name
 * @param {number} out
 * @param {number} inner
 * @param {boolean} bias
 */
export function linear(shapes, name, out, inner, bias) {
  shapes[`${name}.weight`] = [out, inner];
  if (bias) shapes[`${name}.bias`] = [out];
}

/**
 * The same weights with one number changed by so much.
 * @param {Checkpoint} checkpoint @param {string} name @param {number} index @param {number} by
 * @returns {Checkpoint}
 */
export function nudged({ config, weights }, name, index, by) {
  const data = Float32Array.from(weights[name].data);
  data[index] += by;
  return { config, weights: { ...weights, [name]: { ...weights[name], data } } };
}
