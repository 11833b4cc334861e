// integers.js - the decimal texts of the integers of a range
import { chars, choice, repeat, sequence, text } from './expression.js';

/** @import { Expression } from './expression.js' */

/** The largest integer, of 15 digits: JSON.parse gives all up to it exactly. */
export const LARGEST = 10 ** 15 - 1;

/**
 * The integers from low to high that have at most 15 digits.
 * @param {number} low
 * @param {number} high  at least low
 * @returns {Expression}
 */
export function integers(low, high) {
  const least = Math.max(low, -LARGEST);
  const most = Math.min(high, LARGEST);
  const parts = [];
  if (least < 0) parts.push(sequence(text('-'), counted(Math.max(1, -most), -least)));
  if (most >= 0) parts.push(counted(Math.max(0, least), most));
  return choice(...parts);
}

/**
 * The numbers from low to high, both at least 0, without leading zeros.
 * @param {number} low
 * @param {number} high
 * @returns {Expression}
 */
function counted(low, high) {
  const parts = [];
  for (let length = String(low).length; length <= String(high).length; length++) {
    const first = Math.max(low, length === 1 ? 0 : 10 ** (length - 1));
    const last = Math.min(high, 10 ** length - 1);
    parts.push(sameLength(String(first), String(last)));
  }
  return choice(...parts);
}

/**
 * The numbers from low to high, which have equally many digits.
 * @param {string} low
 * @param {string} high
 * @returns {Expression}
 */
function sameLength(low, high) {
  if (!low) return text('');
  const digits = low.length - 1;
  if (/^0*$/.test(low.slice(1)) && /^9*$/.test(high.slice(1)))
    return sequence(chars(`${low[0]}-${high[0]}`), repeat(chars('0-9'), digits, digits));
  if (low[0] === high[0]) return sequence(text(low[0]), sameLength(low.slice(1), high.slice(1)));
  const between = Number(high[0]) - Number(low[0]) > 1;
  return choice(
    sequence(text(low[0]), sameLength(low.slice(1), '9'.repeat(digits))),
    ...(between
      ? [sequence(chars(`${Number(low[0]) + 1}-${Number(high[0]) - 1}`), repeat(chars('0-9'), digits, digits))]
      : []),
    sequence(text(high[0]), sameLength('0'.repeat(digits), high.slice(1))),
  );
}
