// written.js - counts, bytes, shares, values and tokens as they are written: one way for each

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** 5344512 -> 5,344,512 */
export const int = (/** @type {number} */ x) => whole.format(x);

/** The absolute value, rounded to three significant figures: 999,600 gives 1,000,000. */
const rounded = (/** @type {number} */ x) => Math.abs(Number(x.toPrecision(3)));

/** Three significant figures with a decimal prefix: 10.7 M, 6.14 k, 23.2 G. */
export function si(/** @type {number} */ x, unit = '') {
  const steps = [
    [1e12, 'T'],
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ];
  for (const [size, letter] of /** @type {[number, string][]} */ (steps)) {
    if (rounded(x) >= size) return `${figures(x / size)} ${letter}${unit}`;
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

/** Three significant figures, never in powers of ten. */
export function figures(/** @type {number} */ x) {
  const a = rounded(x);
  if (!Number.isFinite(x)) return String(x);
  return x
    .toFixed(a >= 100 || x === 0 ? 0 : a >= 10 ? 1 : a >= 1 ? 2 : a >= 0.1 ? 3 : 4)
    .replace(/^-(0(\.0*)?)$/, '$1');
}

/** The text of a token as a label: its blanks around gone, breaks made visible. */
export const visible = (/** @type {string} */ text) => text.replace(/\n/g, '⏎').replace(/\t/g, '⇥').trim() || '␣';
