// terms.js - the terms that the formulas of several points are made of
import { BLOCK, asInt8 } from './rounding.js';
import { weight } from '../inspect/weight.js';

/** @import { PassValues } from './pass_values.js' */
/** @import { Cell, Term } from './explain.js' */
/**
 * What a value is computed from.
 * @typedef {Pick<import('./explain.js').Explanation, 'how' | 'formula' | 'terms'> & {divisor?: number,
 *   cap?: number}} Derivation
 */
/**
 * The formula of the values of a point.
 * @typedef {(pass: PassValues) => Derivation} Formula
 */
/**
 * The input of a product. at: its point; null where it is none.
 * @typedef {{at: string | null, x: ArrayLike<number>}} Input
 */

/**
 * A term that is the value of another point, at the same position and index unless the options say otherwise.
 * @param {PassValues} pass
 * @param {string} at
 * @param {{name?: string, value?: number, head?: number}} [options]
 * @returns {Term}
 */
export function term(pass, at, { name = at, value = pass.row(at)[pass.index], ...head } = {}) {
  return { name, value, from: { at, position: pass.position, index: pass.index, ...head } };
}

/**
 * A value that is multiplied.
 * @param {number} input
 * @param {number | undefined} rounded  the number that the engine multiplies in its place, where it rounds
 */
export const factor = (input, rounded) => ({ input, ...(rounded !== undefined && { rounded }) });

/**
 * A number of the configuration in words.
 * @param {number} x
 */
export const short = (x) => String(Number(x.toPrecision(4)));

/**
 * A formula times a factor of the configuration.
 * @param {Derivation} found
 * @param {number} by
 * @returns {Derivation}
 */
export const times = (found, by) =>
  by === 1 ? found : { ...found, divisor: 1 / by, formula: `${found.formula}, times ${short(by)}` };

/**
 * The inputs of a matrix of weights as the engine multiplies them; null where it takes them as they are.
 * @param {PassValues} pass
 * @param {string} name  of the weight
 * @param {ArrayLike<number>} x
 */
export const roundedFor = (pass, name, x) => (pass.isQuantised(name) ? asInt8(x, BLOCK).rounded : null);

/**
 * The bias of a layer as a list of terms: empty where it has none.
 * @param {PassValues} pass
 * @param {string} name  of the layer, without `.bias`
 * @param {number} row
 * @returns {Term[]}
 */
export function biasTerms(pass, name, row) {
  if (!pass.hasWeight(`${name}.bias`)) return [];
  const value = weight(pass.model, `${name}.bias`)[row];
  return [{ name: 'bias', value, weight: { name: `${name}.bias`, row, value } }];
}

/**
 * A value of a table of weights.
 * @param {PassValues} pass
 * @param {string} name  of the table
 * @param {number} row
 * @param {string} what  name of the row
 * @param {number} [scale]
 * @returns {Derivation}
 */
export function tableValue({ model, index }, name, row, what, scale = 1) {
  const value = weight(model, name, row)[index];
  return {
    how: 'given',
    formula: `row ${row} of ${name}`,
    terms: [{ name: what, value: value * scale, weight: { name, row, column: index, value } }],
  };
}

/**
 * One row of W x + b.
 * @param {PassValues} pass
 * @param {string} name  of the layer, whose weights are name.weight and name.bias
 * @param {number} row
 * @param {Input} input
 * @param {string} [what]  name of an index of the input
 * @returns {Derivation}
 */
export function product(pass, name, row, { at, x }, what = 'dimension') {
  const w = weight(pass.model, `${name}.weight`, row);
  const rounded = roundedFor(pass, `${name}.weight`, x);
  const terms = Array.from(x, (v, j) => ({
    name: `${what} ${j}`,
    value: (rounded?.[j] ?? v) * w[j],
    ...factor(v, rounded?.[j]),
    ...(at && { from: { at, position: pass.position, index: j } }),
    weight: { name: `${name}.weight`, row, column: j, value: w[j] },
  }));
  const bias = biasTerms(pass, name, row);
  return {
    how: 'sum',
    formula: `row ${row} of ${name}.weight times its input${bias.length ? ', plus the bias' : ''}`,
    terms: [...terms, ...bias],
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
  const v = roundedFor(pass, `${name}.weight`, x) ?? x;
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
 * @param {string} stream  point of the stream before the sublayers
 * @param {string[]} outs  points of what the sublayers add
 * @returns {Term[]}
 */
export const residualTerms = (pass, stream, outs) =>
  [...(pass.config.use_residual ? [stream] : []), ...outs].map((name) => term(pass, pass.inBlock(name), { name }));

/**
 * The terms of the sum at the beginning of the stack.
 * @param {PassValues} pass
 */
export const embeddingTerms = (pass) => pass.embeddingParts().map((name) => term(pass, name));

/**
 * A share of a row's softmax.
 * @param {ArrayLike<number>} row
 * @param {string} what  name of its entries
 * @param {Cell} from    where the row was captured
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
