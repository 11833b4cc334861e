// outcome.js - compares the number of a claim with the expected one, and writes both.
//
// What a claim's run returns is an Outcome. `printed` and `note` are there where a tutorial prints something that its
// own code does not give: then `expected` is what the code gives.

import { int, power } from '../../text/format.js';
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

/**
 * A number as the page writes it: whole ones with commas, others to four figures, very small and very large ones as 8.5
 * × 10⁻⁷.
 * @param {number} x
 */
export function text(x) {
  if (typeof x !== 'number' || !Number.isFinite(x)) return String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return int(x);
  const a = Math.abs(x),
    exponent = Math.floor(Math.log10(a));
  if (a >= 1e-5 && a < 1e6) return String(Number(x.toFixed(Math.max(0, Math.min(7, 3 - exponent)))));
  return `${Number((x / 10 ** exponent).toPrecision(2))} × ${power(exponent)}`;
}

/** @param {ArrayLike<number>} shape */
export const shapeText = (shape) => `(${Array.from(shape).join(', ')})`;

/** @param {string | number | boolean | number[]} x */
const show = (x) => (typeof x === 'number' ? text(x) : Array.isArray(x) ? shapeText(x) : String(x));

/** Words for both sides, and whether they agree.
 * @param {boolean} ok @param {string} expected @param {string} found @param {string} [note] @returns {Outcome} */
export const shown = (ok, expected, found, note) => ({ expected, found, ok, ...(note && { note }) });

/** Equal to the last digit. @param {any} expected @param {any} found @param {string} [note] */
export const same = (expected, found, note) =>
  shown(JSON.stringify(expected) === JSON.stringify(found), show(expected), show(found), note);

/** Within a tolerance. @param {number} expected @param {number} found @param {number} tolerance @param {string} [note] */
export const near = (expected, found, tolerance, note) =>
  shown(Math.abs(found - expected) <= tolerance, `${text(expected)} ± ${text(tolerance)}`, text(found), note);

/** A distance that must stay small; one that is no number fails.
 * @param {number} limit @param {number} found @param {string} [note] */
export const atMost = (limit, found, note) =>
  shown(found <= limit, `within ${text(limit)}`, `off by ${text(found)}`, note);

// Parts of a sentence.
export const under = (/** @type {number} */ limit, /** @type {number} */ found) =>
  shown(found < limit, `under ${text(limit)}`, text(found));
export const over = (/** @type {number} */ limit, /** @type {number} */ found) =>
  shown(found > limit, `over ${text(limit)}`, text(found));
/** A distance within a limit, behind words such as "within". @param {number} limit @param {number} found */
export const upTo = (limit, found) => shown(found >= 0 && found <= limit, text(limit), text(found));

/**
 * A sentence with such parts, as it is expected and as it was found.
 * @param {TemplateStringsArray} words
 * @param {Outcome[]} parts
 * @returns {Outcome}
 */
export const sentence = (words, ...parts) => {
  const said = (/** @type {'expected' | 'found'} */ side) =>
    String.raw({ raw: words }, ...parts.map((part) => part[side]));
  return shown(
    parts.every(({ ok }) => ok),
    said('expected'),
    said('found'),
  );
};

/** Logits of this shape, all of them numbers and not all zero.
 * @param {number[]} shape @param {import('glassformer').Tensor} logits */
export function finite(shape, logits) {
  const all = logits.data.every(Number.isFinite) && rms(logits.data) > 0.01;
  return sentence`${same(shape, logits.shape)}, ${same('all', all ? 'all' : 'not all')} finite`;
}

/** The outcome with a note on what is to be seen. @param {Outcome} outcome @param {string} note @returns {Outcome} */
export const noted = (outcome, note) => ({ ...outcome, note });

/** A number that the tutorial prints and its code does not give.
 * @param {string} printed @param {Outcome} outcome @param {string} note @returns {Outcome} */
export const misprint = (printed, outcome, note) => ({ ...outcome, printed, note });
