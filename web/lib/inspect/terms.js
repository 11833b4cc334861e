// terms.js - the terms that the formulas of several points are made of
import { BLOCK, asInt8 } from './rounding.js';
import { weight } from './weight.js';

/** @typedef {import('./pass_values.js').PassValues} PassValues */
/** @typedef {import('./explain.js').Term} Term */
/**
 * The formula of one value.
 * @typedef {Pick<import('./explain.js').Explanation, 'how' | 'formula' | 'terms'> & {divisor?: number,
 *   cap?: number}} Derivation
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
 * A number of the configuration in words.
 * @param {number} x
 */
export const short = (x) => String(Number(x.toPrecision(4)));

/**
 * A formula times a factor of the configuration.
 * @param {Derivation} found
 * @param {number} factor
 * @returns {Derivation}
 */
export const times = (found, factor) =>
  factor === 1 ? found : { ...found, divisor: 1 / factor, formula: `${found.formula}, times ${short(factor)}` };

/**
 * One row of W x + b.
 * @param {PassValues} pass
 * @param {string} name  of the layer, whose weights are name.weight and name.bias
 * @param {number} row
 * @param {{at: string | null, x: ArrayLike<number>, head?: boolean}} from  its input, at null where that is no point;
 *   head: whether it is divided into heads
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
    ...(at && { from: { at, position, ...(head ? { head: Math.floor(j / size), index: j % size } : { index: j }) } }),
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
 * W x + b as numbers.
 * @param {PassValues} pass
 * @param {string} name  of the layer
 * @param {ArrayLike<number>} x  f32 values
 * @param {number[]} [rows]  of W; default: all
 * @returns {Float64Array} [rows]
 */
export function linear(pass, name, x, rows) {
  const [out] = /** @type {any} */ (pass.model.table.rows.find((r) => r.name === `${name}.weight`)).shape;
  const v = pass.isQuantised(`${name}.weight`) ? asInt8(x, BLOCK).rounded : x;
  const bias = pass.weights(`${name}.bias`, out);
  return Float64Array.from(rows ?? Array(out).keys(), (row) => {
    const w = weight(pass.model, `${name}.weight`, row);
    let sum = bias[row];
    for (let j = 0; j < w.length; j++) sum += v[j] * w[j];
    return sum;
  });
}

/**
 * The terms of the sum of the stream and of what sublayers add to it.
 * @param {PassValues} pass
 * @param {string[]} stream  point of the stream before the sublayers
 * @param {string[]} outs    points of what the sublayers add
 * @param {number} position
 * @param {number} index
 * @returns {Term[]}
 */
export const residualTerms = (pass, stream, outs, position, index) =>
  [...(pass.config.use_residual ? stream : []), ...outs].map((name) => {
    const at = pass.inBlock(name);
    return term(pass, position, index, at, pass.row(at, position)[index], name);
  });

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

/**
 * A share of a row's softmax.
 * @param {ArrayLike<number>} row
 * @param {string} what  name of its entries
 * @param {{at: string, position: number, head?: number}} from  where the row was captured
 * @returns {Derivation}
 */
export function shareOf(row, what, from) {
  const most = Array.from(row).reduce((a, b) => Math.max(a, b), -Infinity);
  const terms = Array.from(row, (input, index) => ({
    name: `e^(${what} ${index} − the largest)`,
    value: Math.exp(input - most),
    input,
    from: { ...from, index },
  }));
  return { how: 'share', formula: 'its share of the row', divisor: terms.reduce((a, t) => a + t.value, 0), terms };
}
