// terms.js - the terms that the formulas of several points are made of
import { BLOCK, asInt8 } from './rounding.js';
import { weight } from './weight.js';

/** @typedef {import('./pass_values.js').PassValues} PassValues */
/** @typedef {import('./explain.js').Term} Term */
/**
 * The formula of one value.
 * @typedef {Pick<import('./explain.js').Explanation, 'how' | 'formula' | 'terms'> & {divisor?: number}} Derivation
 */

/**
 * A term that is the value of another point, at the same position and index unless `cell` says otherwise.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @param {string} at
 * @param {number} value
 * @param {string} [name]
 * @param {{head?: number}} [cell]
 * @returns {Term}
 */
export function term(pass, position, index, at, value, name = at, cell = {}) {
  return { name, value, from: { at, position, index, ...cell } };
}

/**
 * One row of W x + b.
 * @param {PassValues} pass
 * @param {string} name  of the layer, whose weights are name.weight and name.bias
 * @param {number} row
 * @param {{at: string, x: ArrayLike<number>, head?: boolean}} from  its input; head: whether it is divided into heads
 * @param {number} position
 * @param {string} what  name of an index of the input: dimension, neuron
 * @returns {Derivation}
 */
export function product(pass, name, row, { at, x, head }, position, what) {
  const w = weight(pass.model, `${name}.weight`, row);
  const size = pass.config.d_head;
  const rounded = pass.isQuantised(`${name}.weight`) ? asInt8(x, BLOCK).rounded : null;
  /** @type {Term[]} */
  const terms = Array.from(x, (v, j) => ({
    name: `${what} ${j}`,
    value: (rounded ? rounded[j] : v) * w[j],
    input: v,
    ...(rounded && { rounded: rounded[j] }),
    weight: { name: `${name}.weight`, row, column: j, value: w[j] },
    from: { at, position, ...(head ? { head: Math.floor(j / size), index: j % size } : { index: j }) },
  }));
  const bias = pass.model.table.rows.some((r) => r.name === `${name}.bias`)
    ? weight(pass.model, `${name}.bias`)[row]
    : null;
  if (bias !== null) terms.push({ name: 'bias', value: bias, weight: { name: `${name}.bias`, row, value: bias } });
  return {
    how: /** @type {const} */ ('sum'),
    formula: `row ${row} of ${name}.weight times its input${bias === null ? '' : ', plus the bias'}`,
    terms,
  };
}

/**
 * The terms of the sum of stream and sublayer output.
 * @param {PassValues} pass
 * @param {string} from  point of the stream before the sublayer
 * @param {string} out   point of the sublayer's output
 * @param {number} position
 * @param {number} index
 * @returns {Term[]}
 */
export function residualTerms(pass, from, out, position, index) {
  return [...(pass.config.use_residual ? [from] : []), out].map((n) => ({
    name: n,
    value: pass.row(pass.inBlock(n), position)[index],
    from: { at: pass.inBlock(n), position, index },
  }));
}

/**
 * The terms of the sum at the beginning of the stack.
 * @param {PassValues} pass
 * @param {number} position
 * @param {number} index
 * @returns {Term[]}
 */
export function embeddingTerms(pass, position, index) {
  return pass.embeddingParts().map((n) => term(pass, position, index, n, pass.row(n, position)[index]));
}
