// claims/outcome.js - how a claim is held against a number, and how both are written.
//
// What a claim's run returns is an Outcome. `printed` and `note` are there where a tutorial prints something that its
// own code does not give: then `expected` is what the code gives.

import { rms } from './arithmetic.js';

/**
 * @typedef {object} Outcome
 * @property {string} expected
 * @property {string} found
 * @property {boolean} ok
 * @property {string} [printed]  what the tutorial says, where that does not follow from its code
 * @property {string} [note]     why, or what is to be seen
 * @property {{name: string, values: number[]}[]} [series]  for a plot
 */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

const raised = (/** @type {number} */ n) =>
  `10${String(n).replace(/./g, (c) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(c)])}`;

/**
 * A number as the page writes it: whole ones with commas, others to four figures, very small and very large ones as 8.5
 * × 10⁻⁷.
 * @param {number} x
 */
export function text(x) {
  if (typeof x !== 'number' || !Number.isFinite(x)) return String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return whole.format(x);
  const a = Math.abs(x),
    power = Math.floor(Math.log10(a));
  if (a >= 1e-5 && a < 1e6) return String(Number(x.toFixed(Math.max(0, Math.min(7, 3 - power)))));
  return `${Number((x / 10 ** power).toPrecision(2))} × ${raised(power)}`;
}

/** @param {ArrayLike<number>} shape */
export const shapeText = (shape) => `(${Array.from(shape).join(', ')})`;

/** @param {string | number | boolean | number[]} x */
const show = (x) => (typeof x === 'number' ? text(x) : Array.isArray(x) ? shapeText(x) : String(x));

/**
 * Equal to the last digit.
 * @param {any} expected
 * @param {any} found
 * @param {string} [note]
 * @returns {Outcome}
 */
export const same = (expected, found, note) => ({
  expected: show(expected),
  found: show(found),
  ok: JSON.stringify(expected) === JSON.stringify(found),
  ...(note && { note }),
});

/**
 * Within a tolerance.
 * @param {number} expected
 * @param {number} found
 * @param {number} tolerance
 * @param {string} [note]
 * @returns {Outcome}
 */
export const near = (expected, found, tolerance, note) => ({
  expected: `${text(expected)} ± ${text(tolerance)}`,
  found: text(found),
  ok: Math.abs(found - expected) <= tolerance,
  ...(note && { note }),
});

/**
 * A distance that must stay small; one that is no number fails.
 * @param {number} limit
 * @param {number} found
 * @param {string} [note]
 * @returns {Outcome}
 */
export const atMost = (limit, found, note) => ({
  expected: `within ${text(limit)}`,
  found: `off by ${text(found)}`,
  ok: found <= limit,
  ...(note && { note }),
});

/**
 * Words for both sides, and whether they agree.
 * @param {boolean} ok
 * @param {string} expected
 * @param {string} found
 * @param {string} [note]
 * @returns {Outcome}
 */
export const shown = (ok, expected, found, note) => ({ expected, found, ok, ...(note && { note }) });

/**
 * Logits of this shape, all of them numbers and not all zero.
 * @param {string} shape
 * @param {import('glassformer').Tensor} logits
 * @returns {Outcome}
 */
export function finite(shape, logits) {
  const all = logits.data.every(Number.isFinite),
    found = shapeText(logits.shape);
  return shown(
    found === shape && all && rms(logits.data) > 0.01,
    `${shape}, all finite`,
    `${found}, ${all ? 'all finite' : 'not all finite'}`,
  );
}

/**
 * A number that the tutorial prints and its code does not give.
 * @param {string} printed
 * @param {Outcome} outcome
 * @param {string} note
 * @returns {Outcome}
 */
export const misprint = (printed, outcome, note) => ({ ...outcome, printed, note });
