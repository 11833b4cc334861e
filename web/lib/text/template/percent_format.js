// percent_format.js - the operator % of texts: 'a %s' % value
import { points, slicedText } from './code_points.js';
import { escape } from './html_text.js';
import { floatDigits, integerDigits } from './number_format.js';
import { isNumber, toFloat } from './python_numbers.js';
import { escaped, repr, str } from './python_text.js';
import {
  Dict,
  Float,
  Markup,
  Range,
  Tuple,
  Undefined,
  indexOf,
  isInt,
  isText,
  textOf,
  typeName,
} from './python_values.js';
import { checkSize } from './template_limits.js';

const FIELD = /%(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\))?([-+ #0]*)(\*|\d*)(?:\.(\*|\d*))?[hlL]?([^]?)/gu;

/** The values of a format, taken one after the other, or by name. */
class Values {
  #next = 0;

  /** @param {any} given */
  constructor(given) {
    this.given = given;
    this.list = given instanceof Tuple ? given : [given];
    this.isMapping = [Dict, Undefined, Range].some((one) => given instanceof one);
    this.isMapping ||= Array.isArray(given) && !(given instanceof Tuple);
  }

  next() {
    if (this.#next >= this.list.length) throw new Error('not enough arguments for format string');
    return this.list[this.#next++];
  }

  /** @param {string} name */
  named(name) {
    if (this.given instanceof Undefined) this.given.refuse();
    if (!(this.given instanceof Dict)) throw new Error('format requires a mapping');
    const value = this.given.get(name);
    if (value === undefined) throw new Error(`the format has the key ${repr(name)}, which is not given`);
    this.#next = this.list.length;
    return value;
  }

  end() {
    if (this.#next < this.list.length && !this.isMapping)
      throw new Error('not all arguments converted during string formatting');
  }
}

/**
 * A text with the values in the places of its fields.
 * @param {any} format  a text
 * @param {any} given  a tuple, a dictionary, or the only value
 * @returns {any}
 */
export function formatted(format, given) {
  const values = new Values(given);
  const isMarkup = format instanceof Markup;
  const text = textOf(format).replace(FIELD, (_, name, flags, width, precision, type) => {
    const wide = width === '*' ? indexOf(values.next()) : Number(width || 0);
    const exact = precision === '*' ? indexOf(values.next()) : precision === undefined ? null : Number(precision);
    if (type === '%') return '%';
    const value = name === undefined ? values.next() : values.named(name);
    const all = wide < 0 ? `${flags}-` : flags;
    checkSize(Math.abs(wide));
    return padded(converted(value, type, all, exact, isMarkup), all, Math.abs(wide), type);
  });
  values.end();
  checkSize(text.length);
  return isMarkup ? new Markup(text) : text;
}

/**
 * @param {[string, string]} parts  sign and prefix, then what follows
 * @param {string} flags
 * @param {number} width
 * @param {string} type
 */
function padded([sign, digits], flags, width, type) {
  const missing = Math.max(0, width - points(sign + digits).length);
  if (flags.includes('-')) return sign + digits + ' '.repeat(missing);
  if (flags.includes('0') && /[diuoxXeEfFgG]/.test(type) && !/^[in]/i.test(digits))
    return sign + '0'.repeat(missing) + digits;
  return ' '.repeat(missing) + sign + digits;
}

/**
 * @param {any} value
 * @param {string} type
 * @param {string} flags
 * @param {number | null} precision
 * @param {boolean} isMarkup
 * @returns {[string, string]}
 */
function converted(value, type, flags, precision, isMarkup) {
  if ('sra'.includes(type) && type) {
    let text = type === 's' ? str(isMarkup ? escape(value) : value) : repr(value);
    if (isMarkup && type !== 's') text = escape(text).text;
    if (type === 'a') text = text.replace(/[^\x00-\x7f]/gu, escaped);
    return ['', precision === null ? text : slicedText(text, [0, precision, null])];
  }
  if (type === 'c') return ['', character(value)];
  if (value instanceof Undefined) return value.refuse();
  if (!/^[diuoxXeEfFgG]$/.test(type)) throw new Error(`unsupported format character '${type}'`);
  if (!isNumber(value)) throw new Error(`%${type} format: a number is required, not ${typeName(value)}`);
  const signed = (/** @type {boolean} */ isNegative) =>
    isNegative ? '-' : flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
  if (/[eEfFgG]/.test(type)) {
    const number = toFloat(value);
    const digits = floatDigits(Math.abs(number), type.toLowerCase(), precision ?? 6, flags.includes('#'));
    const isNegative = number < 0 || Object.is(number, -0);
    return [signed(isNegative), type < 'a' ? digits.toUpperCase() : digits];
  }
  if (/[oxX]/.test(type) && value instanceof Float)
    throw new Error(`%${type} format: an integer is required, not float`);
  const number = BigInt(value instanceof Float ? Math.trunc(value.value) : value);
  const kind = 'diu'.includes(type) ? 'd' : type;
  const digits = integerDigits(number < 0 ? -number : number, kind).padStart(precision ?? 0, '0');
  checkSize(digits.length);
  const prefix = flags.includes('#') && kind !== 'd' ? `0${kind}` : '';
  return [signed(number < 0) + prefix, digits];
}

/** @param {any} value */
function character(value) {
  if (isInt(value) && value >= 0 && value < 0x110000) return String.fromCodePoint(Number(value));
  if (isText(value) && points(textOf(value)).length === 1) return textOf(value);
  throw new Error('%c requires int or char');
}
