// format.js - numbers and tokens as the page writes them: one way for each.
import { figures, int, si, visible } from '../../draw/written.js';
import { say } from '../state/base/language.js';
import { markOf } from '../state/facts/special_tokens.js';

export { bytes, figures, int, percent, si } from '../../draw/written.js';

/** A count where there is little room: exact up to ten million, then 268 M. */
export const short = (/** @type {number} */ x) => (x < 1e7 ? int(x) : si(x));

/** A measured time in ms: 0.26 ms, 12.3 ms, 1.24 s. */
export const time = (ms) => (ms >= 1000 ? `${figures(ms / 1000)} s` : `${figures(ms)} ms`);

/** 10 to a whole power as people write it: 10⁻⁷. */
export function power(n) {
  return `10${n < 0 ? '⁻' : ''}${[...String(Math.abs(n))].map((c) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(c)]).join('')}`;
}

/** What may be very small or large: 0.0123, 4.2 × 10⁻⁹. */
export function scientific(x) {
  if (x === 0 || (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e4)) return figures(x);
  const [digits, exponent] = x.toExponential(1).split('e');
  return `${digits} × ${power(Number(exponent))}`;
}

/** One value of a tensor, always the same width. */
export const value = (x) => (x === -Infinity ? '−∞' : `${x < 0 ? '−' : ''}${Math.abs(x).toFixed(4)}`);

/** @typedef {import('../state/facts/special_tokens.js').Written} Written */

const marked = (/** @type {Written} */ token) => markOf(token).replace(/^[a-z]+$/, '[$&]');

/** A token as a label: its blank in front gone, breaks made visible, or its mark. @param {Written} token */
export const label = (token) => marked(token) || visible(token.text);

/** A token in a sentence, quoted with its blank, or its mark. @param {Written} token */
export const quoted = (token) => marked(token) || `“${token.text.replace(/\n/g, '⏎')}”`;

/** 'relaxed' -> 'relaxed SIMD' */
export function backendName(backend) {
  return backend.replace(/\b(relaxed)(?![\w ]*simd)\b/i, 'relaxed SIMD').replace(/\bsimd\b/i, 'SIMD');
}

/** A count in short where it is large: 1,267,072, but 268 M. */
export const compact = (n) => (n < 1e7 ? int(n) : si(n));

/** So many of something, each with its plural. @type {(n: number) => string} */
export const tokensSaid = (n) => (n === 1 ? say`1 token` : say`${int(n)} tokens`);
/** @type {(n: number) => string} */
export const headsSaid = (n) => (n === 1 ? say`1 head` : say`${int(n)} heads`);
/** @type {(n: number) => string} */
export const layersSaid = (n) => (n === 1 ? say`1 layer` : say`${int(n)} layers`);

/** @type {(n: number) => string} */
export const queriesSaid = (n) => (n === 1 ? say`1 query` : say`${int(n)} queries`);
/** @type {(n: number) => string} */
export const keysSaid = (n) => (n === 1 ? say`1 key` : say`${int(n)} keys`);
/** @type {(n: number) => string} */
export const positionsSaid = (n) => (n === 1 ? say`1 position` : say`${int(n)} positions`);
/** @type {(n: number) => string} */
export const rowsSaid = (n) => (n === 1 ? say`1 row` : say`${int(n)} rows`);
/** @type {(n: number) => string} */
export const tensorsSaid = (n) => (n === 1 ? say`1 tensor` : say`${int(n)} tensors`);
/** @type {(n: number) => string} */
export const stepsSaid = (n) => (n === 1 ? say`1 step` : say`${int(n)} steps`);
/** @type {(n: number) => string} */
export const charactersSaid = (n) => (n === 1 ? say`1 character` : say`${int(n)} characters`);

/** Sentences after each other; what is false or empty is left out. @param {(string | false | null | undefined | 0)[]} list */
export const sentences = (list) => list.filter(Boolean).join(say` `);
