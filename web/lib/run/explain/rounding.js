// rounding.js - the numbers that the engine multiplies in place of a value: int8 in blocks with a scale, or f16
//
// Source: src/kernels/acts.c (activations), attend.c (queries, keys and values of the cache), attend_values.c (weights
// of the pattern). Integers and scales are computed in f32 like there, so that they have the same bits.

const f32 = Math.fround;
const SMALLEST = 2 ** -126; // a smaller scale counts as 0

/** 32 activations share a scale in products with quantised weights. */
export const BLOCK = 32;
/** 64 positions of the cache share a unit of pattern weights. */
const KEYS = 64;

/**
 * The nearest integer, of two equally near ones the even one.
 * @param {number} x
 */
function nearest(x) {
  const down = Math.floor(x);
  const rest = x - down;
  return rest > 0.5 || (rest === 0.5 && down % 2 !== 0) ? down + 1 : down;
}

/**
 * The scale of a largest magnitude that becomes this integer, and its reciprocal; 0 and 0 where it is too small.
 * @param {number} most
 * @param {number} integer
 */
function scaleOf(most, integer) {
  const scale = f32(most / integer);
  return scale < SMALLEST ? { scale: 0, inverse: 0 } : { scale, inverse: f32(1 / scale) };
}

/**
 * Rounded to int8 and back, x / scale to the nearest integer with scale = max|x| / 127 for each block.
 * @param {ArrayLike<number>} x  f32 values
 * @param {number} [block]       values that share a scale; default: all
 * @returns {{rounded: Float64Array, scales: number[]}}
 */
export function asInt8(x, block = x.length) {
  const rounded = new Float64Array(x.length);
  const scales = [];
  for (let from = 0; from < x.length; from += block) {
    const end = Math.min(x.length, from + block);
    let most = 0;
    for (let i = from; i < end; i++) most = Math.max(most, Math.abs(x[i]));
    const { scale, inverse } = scaleOf(most, 127);
    for (let i = from; i < end; i++) rounded[i] = nearest(f32(x[i] * inverse)) * scale;
    scales.push(scale);
  }
  return { rounded, scales };
}

/**
 * Rounded to f16, magnitudes above the largest to that.
 * @param {ArrayLike<number>} x
 */
export function asHalf(x) {
  return Float64Array.from(x, (v) => {
    const size = Math.min(65504, Math.abs(v));
    const step = 2 ** Math.max(-24, Math.floor(Math.log2(size || 1)) - 10);
    return Math.sign(v) * Math.min(65504, nearest(size / step) * step);
  });
}

/**
 * Weights of a pattern as they multiply int8 values: weight times the value's scale, in units of the largest / 16383 of
 * each block of keys.
 * @param {ArrayLike<number>} pattern  [key]
 * @param {number[]} scales            of the values, [key]
 * @returns {Float64Array} [key] weights, without the values' scales
 */
export function patternUnits(pattern, scales) {
  const rounded = new Float64Array(pattern.length);
  for (let from = 0; from < pattern.length; from += KEYS) {
    const end = Math.min(pattern.length, from + KEYS);
    const products = Array.from({ length: end - from }, (_, i) => f32(pattern[from + i] * scales[from + i]));
    const { scale: unit, inverse } = scaleOf(Math.max(...products), 16383);
    products.forEach((product, i) => {
      if (product) rounded[from + i] = (nearest(f32(product * inverse)) * unit) / scales[from + i];
    });
  }
  return rounded;
}
