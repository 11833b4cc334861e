// number_format.js - numbers in the formats e, f, g, d, x, o and b, which % and str.format share
import { scaled } from './python_numbers.js';

/** @param {number} value not negative @param {number} precision */
function fixed(value, precision) {
  const digits = String(scaled(value, precision)).padStart(precision + 1, '0');
  const whole = digits.slice(0, digits.length - precision);
  return precision ? `${whole}.${digits.slice(whole.length)}` : whole;
}

/**
 * Digits and exponent of a number.
 * @param {number} value  not negative
 * @param {number} precision  digits behind the first
 * @returns {[string, number]}
 */
function scientific(value, precision) {
  if (!value) return ['0'.repeat(precision + 1), 0];
  let exponent = Number(value.toExponential(20).split('e')[1]);
  let digits = String(scaled(value, precision - exponent));
  if (digits.length > precision + 1) digits = String(scaled(value, precision - ++exponent));
  return [digits, exponent];
}

/** @param {string} digits @param {number} exponent */
const withExponent = (digits, exponent) =>
  `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;

/**
 * A float without its sign.
 * @param {number} value  not negative
 * @param {string} kind  e, f, g or r; r: as repr does, with a point
 * @param {number} precision
 * @param {boolean} [keepsPoint]  '#': the point and the zeros stay
 * @returns {string}
 */
export function floatDigits(value, kind, precision, keepsPoint = false) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : 'inf';
  const pointed = (/** @type {string} */ digits) => (keepsPoint && !digits.includes('.') ? `${digits}.` : digits);
  if (kind === 'f') return pointed(fixed(value, precision));
  const significant = kind === 'e' ? precision + 1 : precision || 1;
  const [digits, exponent] = scientific(value, significant - 1);
  const trimmed = (/** @type {string} */ own) => (keepsPoint || !own.includes('.') ? own : own.replace(/\.?0*$/, ''));
  const one = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits;
  if (kind === 'e') return withExponent(pointed(one), exponent);
  if (exponent < -4 || exponent >= significant) return withExponent(pointed(trimmed(one)), exponent);
  const plain = trimmed(fixed(value, Math.max(0, significant - 1 - exponent)));
  return kind === 'r' && !plain.includes('.') ? `${plain}.0` : pointed(plain);
}

/**
 * An integer without its sign.
 * @param {bigint} value  not negative
 * @param {string} kind  d, b, o, x or X
 */
export function integerDigits(value, kind) {
  const digits = value.toString({ b: 2, o: 8, x: 16, X: 16 }[kind] ?? 10);
  return kind === 'X' ? digits.toUpperCase() : digits;
}

/** Separators between groups of digits. @param {string} digits @param {string} separator @param {number} size */
export const grouped = (digits, separator, size) => {
  const own = size === 4 ? '[\\da-fA-F]' : '\\d';
  return digits.replace(new RegExp(`^${own}+`), (whole) =>
    whole.replace(new RegExp(`\\B(?=(${own}{${size}})+$)`, 'g'), separator),
  );
};
