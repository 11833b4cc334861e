// pool_states.js - makes one vector of the states of a sequence, as sentence-transformers does
import { ACTIVATIONS } from '../explain/formulas_ffn.js';
import { fail } from '../../base/errors.js';

/** @import { DenseLayer } from '../../files/huggingface/dense_layer.js' */
/** @import { PoolingKind, PoolingStep } from '../../files/huggingface/sentence_transformers.js' */

/**
 * The weight of each position in a sum. n: positions that are pooled.
 * @type {Record<string, (position: number, n: number) => number>}
 */
const WEIGHTS = { mean: (_, n) => 1 / n, mean_sqrt_len: (_, n) => n ** -0.5, weightedmean: (p) => p + 1 };

/**
 * The vector of one kind of pooling.
 * @param {Exclude<PoolingKind, 'pooler'>} kind
 * @param {Float32Array} data  states, [position, d]
 * @param {number} d
 * @param {number[]} rows  the positions that are pooled, at least one
 * @returns {Float64Array} [d]
 */
export function pooled(kind, data, d, rows) {
  if (kind === 'cls' || kind === 'last') {
    const row = rows[kind === 'cls' ? 0 : rows.length - 1];
    return Float64Array.from(data.subarray(row * d, (row + 1) * d));
  }
  if (kind === 'max')
    return Float64Array.from({ length: d }, (_, j) =>
      rows.reduce((m, row) => Math.max(m, data[row * d + j]), -Infinity),
    );
  const sum = new Float64Array(d);
  const weights = rows.map((row) => WEIGHTS[kind](row, rows.length));
  for (const [i, row] of rows.entries()) for (let j = 0; j < d; j++) sum[j] += weights[i] * data[row * d + j];
  const total = kind === 'weightedmean' ? weights.reduce((a, b) => a + b, 0) : 1;
  return sum.map((x) => x / total);
}

/**
 * The width of a vector behind the pooling and its steps.
 * @param {number} width  behind the pooling
 * @param {PoolingStep[]} steps
 * @returns {number}
 */
export function widthBehind(width, steps) {
  for (const step of steps) {
    if (step === 'normalize') continue;
    if (step.inputs !== width)
      fail('bad-shape', `the Dense layer behind the pooling reads ${step.inputs} numbers, the pooling gives ${width}`);
    width = step.outputs;
  }
  return width;
}

/**
 * The vector behind the steps that follow the pooling.
 * @param {Float64Array} vector
 * @param {PoolingStep[]} steps
 * @returns {Float64Array}
 */
export const behind = (vector, steps) =>
  steps.reduce((x, step) => (step === 'normalize' ? normalised(x) : dense(x, step)), vector);

/**
 * A vector of length 1; one of zeros stays.
 * @param {Float64Array} x
 */
function normalised(x) {
  const length = Math.sqrt(x.reduce((sum, y) => sum + y * y, 0));
  return length > 0 ? x.map((y) => y / length) : x;
}

/** @type {Record<DenseLayer['activation'], (x: number) => number>} */
const ACTIVATION = {
  identity: (x) => x,
  tanh: Math.tanh,
  relu: ACTIVATIONS.relu,
  gelu: ACTIVATIONS.gelu_erf,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  silu: ACTIVATIONS.silu,
};

/**
 * @param {Float64Array} x
 * @param {DenseLayer} layer
 */
function dense(x, { outputs, weight, bias, activation, residual }) {
  const product = (/** @type {Float32Array} */ matrix, /** @type {number} */ row) => {
    let sum = 0;
    for (let j = 0; j < x.length; j++) sum += matrix[row * x.length + j] * x[j];
    return sum;
  };
  const added = (/** @type {number} */ row) =>
    typeof residual === 'boolean' ? (residual ? x[row] : 0) : product(residual, row);
  return Float64Array.from(
    { length: outputs },
    (_, row) => ACTIVATION[activation](product(weight, row) + (bias?.[row] ?? 0)) + added(row),
  );
}
