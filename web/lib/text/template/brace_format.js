// brace_format.js - str.format: '{} {name:>5}', and its format specifications
import { points, slicedText } from './code_points.js';
import { escape } from './html_text.js';
import { floatDigits, grouped, integerDigits } from './number_format.js';
import { floatText } from './python_numbers.js';
import { escaped, repr, str } from './python_text.js';
import { Float, Markup, isInt, isText, textOf, typeName } from './python_values.js';
import { checkSize } from './template_limits.js';

const SPEC = /^(?:(.)?([<>=^]))?([-+ ])?(z)?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/su;

/**
 * format(value, spec)
 * @param {any} value
 * @param {string} spec
 * @returns {string}
 */
export function formatValue(value, spec) {
  if (!spec) return str(value);
  const isNumber = isInt(value) || value instanceof Float;
  if (!isNumber && !isText(value)) throw new Error(`unsupported format string passed to ${typeName(value)}.__format__`);
  const parts = SPEC.exec(spec);
  if (!parts) throw new Error(`Invalid format specifier '${spec}'`);
  const [, fill, align, sign, zero, hash, padsZero, width, group, precision, type] = parts;
  const exact = precision === undefined ? null : Number(precision);
  const wide = Number(width ?? 0);
  checkSize(wide);
  if (isText(value)) {
    if (sign || zero || hash || group || align === '=' || (type ?? 's') !== 's')
      throw new Error(`Invalid format specifier '${spec}' for a str`);
    const text = exact === null ? textOf(value) : slicedText(textOf(value), [0, exact, null]);
    return aligned('', text, fill ?? (padsZero && !align ? '0' : ' '), align ?? '<', wide);
  }
  const { isNegative, prefix, digits, size } = numberParts(value, type, exact, Boolean(hash), group, spec);
  const signText = isNegative && !(zero && /^[0.]*$/.test(digits)) ? '-' : sign === '+' || sign === ' ' ? sign : '';
  const before = signText + prefix;
  const own = fill ?? (padsZero && !align ? '0' : ' ');
  const place = align ?? (padsZero ? '=' : '>');
  let whole = group ? grouped(digits, group, size) : digits;
  if (group && own === '0' && place === '=') whole = groupedTo(digits, group, size, wide - before.length);
  return aligned(before, whole, own, place, wide);
}

/** Digits with separators, with zeros in front up to a width. */
/** @param {string} digits @param {string} group @param {number} size @param {number} width */
function groupedTo(digits, group, size, width) {
  let out = grouped(digits, group, size);
  for (let more = digits; out.length < width; out = grouped(more, group, size)) more = `0${more}`;
  return out;
}

/**
 * @param {string} sign
 * @param {string} text
 * @param {string} fill
 * @param {string} align
 * @param {number} width
 */
function aligned(sign, text, fill, align, width) {
  const missing = Math.max(0, width - points(sign + text).length);
  if (align === '=') return sign + fill.repeat(missing) + text;
  const left = align === '<' ? 0 : align === '>' ? missing : Math.floor(missing / 2);
  return fill.repeat(left) + sign + text + fill.repeat(missing - left);
}

/**
 * @param {any} value
 * @param {string | undefined} type
 * @param {number | null} precision
 * @param {boolean} hash
 * @param {string | undefined} group
 * @param {string} spec
 */
function numberParts(value, type, precision, hash, group, spec) {
  const isFloat = value instanceof Float || /^[eEfFgG%]$/.test(type ?? '');
  const wrong = () => new Error(`Invalid format specifier '${spec}' for ${typeName(value)}`);
  if (!isFloat) {
    if (precision !== null || !/^[bcdoxXn]?$/.test(type ?? '')) throw wrong();
    if (type === 'c') return { isNegative: false, prefix: '', digits: String.fromCodePoint(Number(value)), size: 3 };
    if (group === ',' && /[boxX]/.test(type ?? '')) throw wrong();
    const number = BigInt(value);
    const digits = integerDigits(number < 0 ? -number : number, type ?? 'd');
    const prefix = hash && /[boxX]/.test(type ?? '') ? `0${type}` : '';
    return { isNegative: number < 0, prefix, digits, size: /[boxX]/.test(type ?? '') ? 4 : 3 };
  }
  if (!/^[eEfFgGn%]?$/.test(type ?? '')) throw wrong();
  const number = value instanceof Float ? value.value : Number(value);
  const size = Math.abs(number) * (type === '%' ? 100 : 1);
  const kind = type === '%' ? 'f' : type ? type.toLowerCase().replace('n', 'g') : 'r';
  let digits = floatDigits(size, kind, precision ?? 6, hash);
  if (!type && precision === null) digits = floatText(size);
  if (type && /[EFG]/.test(type)) digits = digits.toUpperCase();
  const isNegative = number < 0 || Object.is(number, -0);
  return { isNegative, prefix: '', digits: type === '%' ? `${digits}%` : digits, size: 3 };
}

/** How fields find their values: by number or name, then attributes and entries of them. @typedef {{
 *   value: (name: number | string) => any, attribute: (value: any, name: string) => any,
 *   entry: (value: any, key: number | string) => any}} Fields */

/** A format while it is filled: fields without a number are counted. */
class Filling {
  #counted = 0;
  /** @type {boolean | null} */
  #counts = null;

  /** @param {Fields} fields @param {boolean} isMarkup */
  constructor(fields, isMarkup) {
    this.fields = fields;
    this.isMarkup = isMarkup;
  }

  /**
   * @param {string} format
   * @param {number} [depth]
   * @returns {string}
   */
  fill(format, depth = 2) {
    if (depth < 0) throw new Error('Max string recursion exceeded');
    let out = '';
    for (let at = 0; at < format.length;) {
      const found = /[{}]/.exec(format.slice(at));
      if (!found) return out + format.slice(at);
      out += format.slice(at, at + found.index);
      at += found.index;
      if (format[at] === format[at + 1]) {
        out += format[at];
        at += 2;
        continue;
      }
      if (format[at] === '}') throw new Error("Single '}' encountered in format string");
      const end = endOfField(format, at);
      out += this.field(format.slice(at + 1, end), depth);
      checkSize(out.length);
      at = end + 1;
    }
    return out;
  }

  /** @param {string} text @param {number} depth */
  field(text, depth) {
    const [, name, conversion, spec = ''] = /^((?:\[[^\]]*\]|[^:!\[])*)(?:!(.?))?(?::([^]*))?$/.exec(text) ?? [];
    if (name === undefined) throw new Error(`the field {${text}} of a format is not valid`);
    let value = this.named(name);
    if (conversion !== undefined) {
      if (!['s', 'r', 'a'].includes(conversion)) throw new Error(`Unknown conversion specifier ${conversion}`);
      value = conversion === 's' ? str(value) : repr(value);
      if (conversion === 'a') value = value.replace(/[^\x00-\x7f]/gu, escaped);
    }
    const own = this.fill(spec, depth - 1);
    if (!this.isMarkup) return formatValue(value, own);
    if (value instanceof Markup && own) throw new Error('Unsupported format specification for Markup.');
    return value instanceof Markup ? value.text : escape(formatValue(value, own)).text;
  }

  /** @param {string} name */
  named(name) {
    const [, first, rest] = /** @type {RegExpExecArray} */ (/^([^.[]*)([^]*)$/.exec(name));
    const isNumber = /^\d+$/.test(first);
    if (first === '' || isNumber) {
      if (this.#counts === isNumber) throw new Error('a format has fields with and without numbers');
      this.#counts = !isNumber;
    }
    let value = this.fields.value(first === '' ? this.#counted++ : isNumber ? Number(first) : first);
    const steps = rest.match(/\.[^.[]+|\[[^\]]+\]/g) ?? [];
    if (steps.join('') !== rest) throw new Error(`the field {${name}} of a format is not valid`);
    for (const step of steps) {
      const key = step.slice(1, step[0] === '[' ? -1 : undefined);
      value =
        step[0] === '.' ? this.fields.attribute(value, key) : this.fields.entry(value, /^\d+$/.test(key) ? +key : key);
    }
    return value;
  }
}

/** @param {string} format @param {number} start */
function endOfField(format, start) {
  let depth = 0;
  for (let at = start; at < format.length; at++) {
    if (format[at] === '{') depth++;
    else if (format[at] === '}' && !--depth) return at;
  }
  throw new Error("expected '}' before end of string");
}

/**
 * str.format
 * @param {any} format  a text
 * @param {Fields} fields
 * @returns {any}
 */
export function braceFormatted(format, fields) {
  const text = new Filling(fields, format instanceof Markup).fill(textOf(format));
  return format instanceof Markup ? new Markup(text) : text;
}
