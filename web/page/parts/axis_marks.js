// axis_marks.js - the marked values of an axis, and their labels

import { scaleLinear, scaleLog } from 'd3-scale';
import { power } from '../text/format.js';

const MOST = 8; // decades that are all marked
const FEW = 4; // decades whose 2 and 5 are marked as well

/**
 * The marks of a logarithmic axis. Few decades are marked at 1, 2 and 5, more at powers of ten, many at some of these. Values far
 * from 1 are written as powers of ten. A small part of a decade is marked as a linear axis is.
 * @param {[number, number]} axis  lowest and highest
 * @returns {{ at: number, text: string }[]}
 */
export function marks([low, high]) {
  const decades = Math.log10(high / low);
  const digits = decades > FEW ? [1] : [1, 2, 5];
  const near = low >= 1e-3 && decades <= FEW;
  const found = scaleLog([low, high], [0, 1])
    .ticks(decades > FEW ? MOST : FEW + 1)
    .map((at) => ({ at, exponent: Math.floor(Math.log10(at) + 1e-9) }))
    .map(({ at, exponent }) => ({ at, exponent, digit: Math.round(at / 10 ** exponent) }))
    .filter(({ digit }) => digits.includes(digit))
    .map(({ at, exponent, digit }) => ({
      at,
      text: near ? String(Number(at.toPrecision(1))) : digit > 1 ? '' : exponent === 0 ? '1' : power(exponent),
    }));
  return found.length > 1 ? found : linearMarks([low, high], FEW);
}

/**
 * The marks of a linear axis: about n round values, large ones with a prefix: 20k.
 * @param {[number, number]} axis  lowest and highest
 * @param {number} n
 * @returns {{ at: number, text: string }[]}
 */
export function linearMarks(axis, n) {
  const scale = scaleLinear(axis, [0, 1]);
  const text = scale.tickFormat(n, Math.max(...axis.map(Math.abs)) < 1e4 ? undefined : '~s');
  return scale.ticks(n).map((at) => ({ at, text: text(at) }));
}
