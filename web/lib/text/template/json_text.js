// json_text.js - json.dumps of Python: the filter tojson, as transformers sets it up
import { compare } from './operators.js';
import { floatText, integerText } from './python_numbers.js';
import { joined, str } from './python_text.js';
import { Dict, Float, Markup, isInt, isText, typeName } from './python_values.js';
import { repeated } from './code_points.js';
import { deeper, step } from './template_limits.js';

/** @typedef {{ascii: boolean, indent: string | null, separators: [string, string], sortKeys: boolean}} Style */

const ESCAPES = /** @type {Record<string, string>} */ ({
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\f': '\\f',
  '\b': '\\b',
});

/** @param {string} text @param {boolean} ascii */
const quoted = (text, ascii) =>
  `"${text.replace(
    ascii ? /["\\]|[^ -~]/g : /["\\\x00-\x1f]/g,
    (c) => ESCAPES[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )}"`;

/** @param {number} value */
const number = (value) => ({ nan: 'NaN', inf: 'Infinity', '-inf': '-Infinity' })[floatText(value)] ?? floatText(value);

/** @param {any} value @returns {string | undefined} */
function ofScalar(value) {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (isInt(value)) return integerText(value);
  return value instanceof Float ? number(value.value) : undefined;
}

/** @param {any} key @param {Style} style */
function ofKey(key, style) {
  const text = isText(key) ? str(key) : ofScalar(key);
  if (text === undefined) throw new Error(`keys must be str, int, float, bool or None, not ${typeName(key)}`);
  return quoted(text, style.ascii);
}

/**
 * @param {any} value
 * @param {Style} style
 * @param {string} line  a line end with the indentation of the value
 * @returns {string}
 */
function ofValue(value, style, line) {
  step();
  if (isText(value)) return quoted(value instanceof Markup ? value.text : value, style.ascii);
  const scalar = ofScalar(value);
  if (scalar !== undefined) return scalar;
  const inner = style.indent === null ? '' : line + style.indent;
  /** @param {string} open @param {string[]} parts @param {string} close */
  const around = (open, parts, close) => {
    if (!parts.length) return open + close;
    return open + inner + joined(parts, style.separators[0] + inner) + (inner && line) + close;
  };
  if (Array.isArray(value))
    return deeper(() =>
      around(
        '[',
        Array.from(value, (entry) => ofValue(entry, style, inner)),
        ']',
      ),
    );
  if (!(value instanceof Dict)) throw new Error(`Object of type ${typeName(value)} is not JSON serializable`);
  const entries = style.sortKeys ? value.entries.sort(([a], [b]) => compare(a, b)) : value.entries;
  return deeper(() =>
    around(
      '{',
      entries.map(([key, entry]) => ofKey(key, style) + style.separators[1] + ofValue(entry, style, inner)),
      '}',
    ),
  );
}

/**
 * The filter tojson.
 * @param {any} value
 * @param {any} ascii
 * @param {any} indent  None, a text, or a number of blanks
 * @param {any} separators  None, or two texts
 * @param {any} sortKeys
 * @returns {string}
 */
export function jsonText(value, ascii, indent, separators, sortKeys) {
  const between = separators === null ? [indent === null ? ', ' : ',', ': '] : Array.from(separators, str);
  if (between.length !== 2) throw new Error('separators are two texts');
  const blanks = indent === null || isText(indent) ? indent : repeated(' ', Number(indent));
  const style = { ascii, indent: blanks === null ? null : str(blanks), separators: between, sortKeys };
  return ofValue(value, /** @type {Style} */ (style), '\n');
}
