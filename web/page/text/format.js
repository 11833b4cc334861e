// format.js - numbers and tokens as the page writes them: one way for each.
import { markOf } from '../state/marks.js';

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** 5344512 -> 5,344,512 */
export const int = (/** @type {number} */ x) => whole.format(x);

/** Three significant figures with a decimal prefix: 10.7 M, 6.14 k, 23.2 G. */
export function si(/** @type {number} */ x, unit = '') {
  const steps = [
    [1e12, 'T'],
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ];
  for (const [size, letter] of /** @type {[number, string][]} */ (steps)) {
    if (Math.abs(x) >= size) return `${figures(x / size)} ${letter}${unit}`;
  }
  return `${figures(x)}${unit ? ` ${unit}` : ''}`;
}

/** Bytes in decimal units: 9.44 MB. */
export const bytes = (/** @type {number} */ n) => (n < 1e4 ? `${int(n)} B` : si(n, 'B'));

/** 0.3123 -> 31.2 % */
export function percent(/** @type {number} */ p) {
  if (p > 0 && p < 0.0005) return '<0.1 %';
  return `${(p * 100).toFixed(1)} %`;
}

/** A measured time in ms: 0.26 ms, 12.3 ms, 1.24 s. */
export const time = (/** @type {number} */ ms) => (ms >= 1000 ? `${figures(ms / 1000)} s` : `${figures(ms)} ms`);

/** Three significant figures, never in powers of ten. */
export function figures(/** @type {number} */ x) {
  const a = Math.abs(x);
  if (!Number.isFinite(x)) return String(x);
  return x
    .toFixed(a >= 100 || x === 0 ? 0 : a >= 10 ? 1 : a >= 1 ? 2 : a >= 0.1 ? 3 : 4)
    .replace(/^-(0(\.0*)?)$/, '$1');
}

/** 10 to a whole power as people write it: 10⁻⁷. */
export function power(/** @type {number} */ n) {
  return `10${n < 0 ? '⁻' : ''}${[...String(Math.abs(n))].map((c) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(c)]).join('')}`;
}

/** What may be very small or large: 0.0123, 4.2 × 10⁻⁹. */
export function far(/** @type {number} */ x) {
  if (x === 0 || (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e4)) return figures(x);
  const [digits, exponent] = x.toExponential(1).split('e');
  return `${digits} × ${power(Number(exponent))}`;
}

/** One value of a tensor, always the same width. */
export const value = (/** @type {number} */ x) =>
  x === -Infinity ? '−∞' : `${x < 0 ? '−' : ''}${Math.abs(x).toFixed(4)}`;

/** @typedef {import('../state/marks.js').Written} Written */

const marked = (/** @type {Written} */ token) => markOf(token).replace(/^[a-z]+$/, '[$&]');

/** A token as a label: its blank in front gone, breaks made visible, or its mark. @param {Written} token */
export const label = (token) => marked(token) || token.text.replace(/\n/g, '⏎').replace(/\t/g, '⇥').trim() || '␣';

/** A token in a sentence, quoted with its blank, or its mark. @param {Written} token */
export const quoted = (token) => marked(token) || `“${token.text.replace(/\n/g, '⏎')}”`;

/** 'relaxed' -> 'relaxed SIMD' */
export function backendName(/** @type {string} */ backend) {
  return backend.replace(/\b(relaxed)(?![\w ]*simd)\b/i, 'relaxed SIMD').replace(/\bsimd\b/i, 'SIMD');
}
