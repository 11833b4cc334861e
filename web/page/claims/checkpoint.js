// claims/files/checkpoint.js - small checkpoints as a reader of each tutorial would save them: its state_dict's names in
// safetensors, a config.json beside it. Random weights that are the same on every machine.

import { normal } from './arithmetic.js';

/** @typedef {import('./reference/parts.js').Weights} Weights */
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
