// vector_parts.js - the parts of a vector, and what norms and layers with an activation make of each
//
// With the scale of a norm, and the factor activation(x) / x of each unit, fixed at their values in the pass, both are
// linear: the parts behind them still add up.
import { weight } from './weight.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Part } from './attribution.js' */

/** @typedef {Omit<Part, 'value'> & {vector: Float64Array}} VectorPart a part of the stream */

/**
 * @param {Part['kind']} kind
 * @param {string} name
 * @param {ArrayLike<number>} x
 * @param {number | null} [layer]
 * @param {number | null} [head]
 * @returns {VectorPart}
 */
export const partOf = (kind, name, x, layer = null, head = null) => ({
  name,
  kind,
  layer,
  head,
  vector: Float64Array.from(x),
});

/**
 * Applies a norm to each part. With its scale fixed it is a linear map.
 * @param {LoadedModel} model
 * @param {string} name
 * @param {number} scale
 * @param {VectorPart[]} parts  changed
 * @returns {Float32Array | null} its bias
 */
export function applyNorm(model, name, scale, parts) {
  const { config: c } = model;
  const gain = c.norm_gain ? weight(model, `${name}.weight`) : null;
  const isLayerNorm = (name === 'final_norm' ? c.final_norm_kind : c.norm) === 'layernorm';
  for (const { vector } of parts) {
    const mean = isLayerNorm ? vector.reduce((a, b) => a + b, 0) / vector.length : 0;
    for (let j = 0; j < vector.length; j++) vector[j] = ((vector[j] - mean) / scale) * (gain?.[j] ?? 1);
  }
  return isLayerNorm && c.bias_norm ? weight(model, `${name}.bias`) : null;
}

/**
 * The mean of the parts of several vectors, which have the same names in the same order.
 * @param {VectorPart[][]} all
 * @returns {VectorPart[]}
 */
export function meanOf(all) {
  const [first, ...others] = all;
  for (const [i, { vector }] of first.entries())
    for (let j = 0; j < vector.length; j++)
      vector[j] = others.reduce((sum, parts) => sum + parts[i].vector[j], vector[j]) / all.length;
  return first;
}

/** @type {Record<string, (x: number) => number>} */
const ACTIVATIONS = {
  tanh: Math.tanh,
  relu: (x) => Math.max(0, x),
  silu: (x) => x / (1 + Math.exp(-x)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  gelu_erf: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
};

/**
 * The error function, by its Taylor series and beyond 3 by its continued fraction: to 1e-12.
 * @param {number} x
 */
function erf(x) {
  const a = Math.abs(x);
  if (a > 3) {
    let fraction = 0;
    for (let k = 60; k > 0; k--) fraction = k / 2 / (a + fraction);
    return Math.sign(x) * (1 - Math.exp(-a * a) / (Math.sqrt(Math.PI) * (a + fraction)));
  }
  let [sum, term] = [a, a];
  for (let k = 1; k < 80; k++) {
    term *= (-a * a) / k;
    sum += term / (2 * k + 1);
  }
  return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
}

/**
 * The parts of what a classifier's matrix reads, from those of the state: behind the pooler, and behind a layer of its
 * own with its norm.
 * @param {LoadedModel} model
 * @param {VectorPart[]} parts  changed
 * @returns {VectorPart[]} the same list, with the biases
 */
export function beforeHead(model, parts) {
  const { label_pooling: pooling, label_transform: act, label_norm: normed, norm_eps: eps, norm } = model.config;
  if (pooling === 'pooler') applyLayer(model, 'pooler', 'tanh', parts);
  if (act !== 'none') applyLayer(model, 'head_transform', act, parts);
  if (!normed || !model.config.use_norm) return parts;
  const whole = totalOf(parts);
  const mean = norm === 'layernorm' ? whole.reduce((a, b) => a + b, 0) / whole.length : 0;
  const scale = Math.sqrt(whole.reduce((sum, x) => sum + (x - mean) ** 2, 0) / whole.length + eps);
  const bias = applyNorm(model, 'head_norm', scale, parts);
  if (bias) parts.push(partOf('bias', 'head_norm.bias', bias));
  return parts;
}

/** @param {VectorPart[]} parts */
function totalOf(parts) {
  const sum = new Float64Array(parts[0].vector.length);
  for (const { vector } of parts) vector.forEach((x, j) => (sum[j] += x));
  return sum;
}

/**
 * Applies a linear layer with an activation to each part, and appends the part of its bias.
 * @param {LoadedModel} model
 * @param {string} name
 * @param {string} act
 * @param {VectorPart[]} parts  changed
 */
function applyLayer(model, name, act, parts) {
  const whole = totalOf(parts);
  const bias = Float64Array.from(weight(model, `${name}.bias`));
  const results = parts.map(() => new Float64Array(whole.length));
  for (let i = 0; i < whole.length; i++) {
    const row = weight(model, `${name}.weight`, i);
    const product = (/** @type {Float64Array} */ x) => x.reduce((sum, v, j) => sum + v * row[j], 0);
    const x = product(whole) + bias[i];
    const factor = x ? ACTIVATIONS[act](x) / x : 0;
    parts.forEach(({ vector }, p) => (results[p][i] = factor * product(vector)));
    bias[i] *= factor;
  }
  parts.forEach((part, p) => (part.vector = results[p]));
  parts.push(partOf('bias', `${name}.bias`, bias));
}
