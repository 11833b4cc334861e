// python_text.js - str() and repr(): values as Python prints them
import { isPrintable } from './code_points.js';
import { floatText, integerText } from './python_numbers.js';
import { Dict, Float, Generator, Markup, Opaque, Range, Tuple, Undefined, View } from './python_values.js';
import { checkSize, deeper, step } from './template_limits.js';

/**
 * A value as `{{ value }}` writes it.
 * @param {any} value
 * @returns {string}
 */
export function str(value) {
  if (typeof value === 'string') return value;
  if (value instanceof Markup) return value.text;
  if (value instanceof Undefined) return '';
  return repr(value);
}

/**
 * Parts of a list, joined within the limits.
 * @param {string[]} parts
 * @param {string} between
 * @returns {string}
 */
export function joined(parts, between) {
  checkSize(parts.reduce((sum, part) => sum + part.length + between.length, 0));
  return parts.join(between);
}

/**
 * A value as it is written inside a list.
 * @param {any} value
 * @returns {string}
 */
export function repr(value) {
  step();
  if (typeof value === 'string') return quoted(value);
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number' || typeof value === 'bigint') return integerText(value);
  if (value instanceof Float) return floatText(value.value);
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof Markup) return `Markup(${quoted(value.text)})`;
  if (value instanceof Range) return rangeText(value);
  return deeper(() => ofContainer(value));
}

/** @param {any} value @returns {string} */
function ofContainer(value) {
  if (value instanceof Tuple)
    return value.length === 1 ? `(${repr(value[0])},)` : `(${joined(Array.from(value, repr), ', ')})`;
  if (Array.isArray(value)) return `[${joined(value.map(repr), ', ')}]`;
  if (value instanceof Dict) {
    const entries = value.entries.map(([key, entry]) => `${repr(key)}: ${repr(entry)}`);
    return `{${joined(entries, ', ')}}`;
  }
  if (value instanceof View) return `dict_${value.kind}(${repr(value.entries)})`;
  if (value instanceof Opaque) return value.text();
  if (value instanceof Generator) throw new Error('a generator has no text: use the filter list or join');
  return String(value);
}

const ESCAPES = /** @type {Record<string, string>} */ ({ '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' });

/** A text as Python's literal. @param {string} text */
function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = quote;
  if (/^[ -&(-[\]-~]*$/.test(text)) return quote + text + quote;
  for (const c of text) {
    if (c === quote) out += `\\${c}`;
    else if (ESCAPES[c]) out += ESCAPES[c];
    else out += isPrintable(c) ? c : escaped(c);
  }
  checkSize(out.length);
  return out + quote;
}

/** A character by its number. @param {string} c */
export function escaped(c) {
  const code = /** @type {number} */ (c.codePointAt(0));
  const [letter, digits] = code < 0x100 ? ['x', 2] : code < 0x10000 ? ['u', 4] : ['U', 8];
  return `\\${letter}${code.toString(16).padStart(/** @type {number} */ (digits), '0')}`;
}

/** @param {Range} range */
function rangeText({ start, stop, step }) {
  if (Math.abs(start) === Number.MAX_SAFE_INTEGER || Math.abs(stop) === Number.MAX_SAFE_INTEGER)
    throw new Error('the text of a range beyond 2^53 is not supported');
  return `range(${start}, ${stop}${step === 1 ? '' : `, ${step}`})`;
}
