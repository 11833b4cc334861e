// filters.js - the filters of templates: `value | filter`
import { hasAttribute, attributeOf } from './attributes.js';
import { lengthOf, linesOf, repeated, slicedText, stripped } from './code_points.js';
import { attributesOf, escape, urlQuoted, withLinks, withoutTags } from './html_text.js';
import { jsonText } from './json_text.js';
import { compare, isTrue, iterated, operated, sizeOf } from './operators.js';
import { formatted } from './percent_format.js';
import { floatDigits } from './number_format.js';
import { arithmetic, isNumber, negated, readFloat, readInteger, rounded, toFloat } from './python_numbers.js';
import { joined, repr, str } from './python_text.js';
import {
  Dict,
  Float,
  Markup,
  Opaque,
  Tuple,
  Undefined,
  indexOf,
  integer,
  isInt,
  isText,
  textOf,
  tupleOf,
} from './python_values.js';
import { SEQUENCE_FILTERS } from './sequence_filters.js';
import { TEXT_METHODS, capitalized, lower, replaced } from './text_methods.js';
import { wrapped } from './word_wrap.js';

/** @import { Rendering } from './rendering.js' */

/** A text of a value, which stays HTML. @param {any} value */
const soft = (value) => (isText(value) ? value : str(value));

/**
 * A filter that changes a text.
 * @param {(text: string, ...args: any[]) => string} change
 * @returns {(rendering: Rendering, value: any, ...args: any[]) => any}
 */
const ofText =
  (change) =>
  (_, value, ...args) => {
    const text = change(str(value), ...args);
    return value instanceof Markup ? new Markup(text) : text;
  };

/** @param {string} text */
const titled = (text) =>
  text
    .split(/([-\s({[<\x1c-\x1f\x85]+)/)
    .filter(Boolean)
    .map((word) => {
      const [first] = word;
      return first.toUpperCase() + lower(word.slice(first.length));
    })
    .join('');

/** @param {any} value @param {any} given @param {any} first @param {any} blank */
function indented(value, given, first, blank) {
  if (value instanceof Undefined) value.refuse();
  const width = isText(given) ? textOf(given) : repeated(' ', indexOf(given));
  const lines = linesOf(`${textOf(value)}\n`);
  const text = lines.map((line, i) => (i && (isTrue(blank) || line) ? width + line : line));
  const all = (isTrue(first) ? width : '') + joined(text, '\n');
  return value instanceof Markup ? new Markup(all) : all;
}

/** @param {any} value @param {any} length @param {any} killsWords @param {any} end @param {any} leeway */
function truncated(value, length, killsWords, end, leeway) {
  const [most, more] = [indexOf(length), lengthOf(textOf(end))];
  if (most < more) throw new Error(`expected length >= ${more}, got ${most}`);
  if (indexOf(leeway) < 0) throw new Error(`expected leeway >= 0, got ${leeway}`);
  if (sizeOf(value) <= most + indexOf(leeway)) return value;
  const start = slicedText(textOf(value), [0, most - more, null]);
  const space = start.lastIndexOf(' ');
  const whole = isTrue(killsWords) || space < 0 ? start : start.slice(0, space);
  return operated('+', value instanceof Markup ? new Markup(whole) : whole, end);
}

/** @param {any} value @param {any} other @param {any} base */
function toInteger(value, other, base) {
  if (value instanceof Undefined) return value.refuse();
  if (isText(value)) {
    const radix = indexOf(base);
    if (radix !== 0 && (radix < 2 || radix > 36)) return ofFloat(readFloat(stripped(textOf(value), null)), other);
    const text = stripped(textOf(value), null);
    const read = readInteger(text, radix);
    return read === undefined ? ofFloat(readFloat(text), other) : read;
  }
  if (!isNumber(value)) return other;
  if (isInt(value)) return integer(BigInt(value));
  if (!Number.isFinite(value.value) && !Number.isNaN(value.value))
    throw new Error('cannot convert float infinity to integer');
  return ofFloat(value.value, other);
}

/** @param {number | undefined} value @param {any} other */
const ofFloat = (value, other) =>
  value === undefined || !Number.isFinite(value) ? other : integer(BigInt(Math.trunc(value)));

/** @param {any} value @param {any} other */
function asFloat(value, other) {
  if (value instanceof Undefined) return value.refuse();
  if (isNumber(value)) return new Float(toFloat(value));
  const read = isText(value) ? readFloat(stripped(textOf(value), null)) : undefined;
  return read === undefined ? other : new Float(read);
}

/** @param {any} value @param {any} places @param {any} method */
function round(value, places, method) {
  if (!['common', 'ceil', 'floor'].includes(method)) throw new Error('method must be common, ceil or floor');
  if (method === 'common') return rounded(value, indexOf(places));
  const unit = operated('**', 10, places);
  const product = operated('*', value, unit);
  if (isInt(product)) return arithmetic('/', product, unit);
  const whole = method === 'ceil' ? Math.ceil(toFloat(product)) : Math.floor(toFloat(product));
  return arithmetic('/', integer(BigInt(whole)), unit);
}

/** @param {any} value @param {any} binary */
function fileSize(value, binary) {
  const bytes = isText(value) ? readFloat(stripped(textOf(value), null)) : toFloat(value);
  if (bytes === undefined) throw new Error(`could not convert string to float: ${repr(value)}`);
  const base = isTrue(binary) ? 1024 : 1000;
  if (bytes === 1) return '1 Byte';
  if (bytes < base) return `${BigInt(Math.trunc(bytes))} Bytes`;
  let power = 0;
  while (power < 7 && bytes >= base ** (power + 2)) power++;
  const number = floatDigits((base * bytes) / base ** (power + 2), 'f', 1);
  return `${number} ${'kMGTPEZY'[power].replace('k', isTrue(binary) ? 'K' : 'k')}${isTrue(binary) ? 'i' : ''}B`;
}

/** @param {Rendering} r @param {any} value @param {any[]} style */
function links(r, value, [limit, noFollow, target, rel, schemes]) {
  const words = new Set([...(rel ? textOf(rel).split(/\s+/).filter(Boolean) : []), 'noopener']);
  if (isTrue(noFollow)) words.add('nofollow');
  const own = schemes === null ? [] : Array.from(iterated(schemes), textOf);
  for (const scheme of own)
    if (!/^[\w.+-]{2,}:\/{0,2}$/.test(scheme)) throw new Error(`${repr(scheme)} is not a valid URI scheme prefix.`);
  const style = {
    limit: limit === null ? null : indexOf(limit),
    rel: [...words].sort().join(' '),
    target,
    schemes: own,
  };
  return r.autoescape ? new Markup(withLinks(value, style)) : withLinks(value, style);
}

/** @param {any} value */
function urlEncoded(value) {
  if (isText(value) || isNumber(value) || value === null || value instanceof Opaque) return urlQuoted(value);
  const pairs =
    value instanceof Dict ? value.entries : Array.from(iterated(value), (pair) => Array.from(iterated(pair)));
  if (pairs.some(({ length }) => length !== 2)) throw new Error('an entry is not a pair');
  return pairs.map(([key, own]) => `${urlQuoted(key, true)}=${urlQuoted(own, true)}`).join('&');
}

/** @param {Rendering} r @param {any} value @param {any} old @param {any} other @param {any} count */
function replacedIn(r, value, old, other, count) {
  const most = count === null ? -1 : indexOf(count);
  if (!r.autoescape) return replaced(str(value), str(old), str(other), most);
  const isHtml = old instanceof Markup || other instanceof Markup || value instanceof Markup;
  const own =
    (old instanceof Markup || other instanceof Markup) && !(value instanceof Markup) ? escape(value) : soft(value);
  const added = isHtml && own instanceof Markup ? escape(other).text : str(other);
  const text = replaced(str(own), str(old), added, most);
  return own instanceof Markup ? new Markup(text) : text;
}

/** @param {any} value @param {any[]} args @param {Map<string, any>} kwargs */
function formattedBy(value, args, kwargs) {
  if (args.length && kwargs.size) throw new Error('format takes values by position or by name, not both');
  return formatted(soft(value), kwargs.size ? new Dict(kwargs) : tupleOf(args));
}

/** A value whose dictionaries are sorted by their keys. @param {any} value @returns {any} */
function withSortedKeys(value) {
  if (value instanceof Tuple) return tupleOf(Array.from(value, withSortedKeys));
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (!(value instanceof Dict)) return value;
  const entries = value.entries.map(([key, own]) => /** @type {[any, any]} */ ([key, withSortedKeys(own)]));
  return new Dict(entries.sort(([a], [b]) => compare(a, b)));
}

/** pprint, of what fits one line. @param {any} value */
function pretty(value) {
  const text = repr(withSortedKeys(value));
  if (lengthOf(text) > 80) throw new Error('pprint of a value of more than one line is not supported');
  return text;
}

/** @param {any} value */
function absolute(value) {
  if (value instanceof Float) return new Float(Math.abs(value.value));
  toFloat(value);
  return value < 0 ? negated(value) : arithmetic('+', value, 0);
}

/** @param {any} value @param {any} name */
function attribute(value, name) {
  if (!isText(name)) throw new Error('attribute name must be a string');
  if (value instanceof Undefined) value.refuse();
  return hasAttribute(value, textOf(name))
    ? attributeOf(value, textOf(name))
    : new Undefined(`there is no attribute ${name}`);
}

/**
 * The filters: parameters beside the value (call_arguments.js), and a function.
 * @type {Record<string, [string, (rendering: Rendering, value: any, ...args: any[]) => any]>}
 */
export const FILTERS = {
  ...SEQUENCE_FILTERS,
  abs: ['', (_, value) => absolute(value)],
  attr: ['name', (_, value, name) => attribute(value, name)],
  capitalize: ['', ofText(capitalized)],
  center: ['width?', ofText((text, width = 80) => TEXT_METHODS.center[1](text, width))],
  d: ['default_value? boolean?', (_, value, other = '', boolean = false) => defaulted(value, other, boolean)],
  default: ['default_value? boolean?', (_, value, other = '', boolean = false) => defaulted(value, other, boolean)],
  e: ['', (_, value) => escape(value)],
  escape: ['', (_, value) => escape(value)],
  filesizeformat: ['binary?', (_, value, binary = false) => fileSize(value, binary)],
  float: ['default?', (_, value, other = new Float(0)) => asFloat(value, other)],
  forceescape: ['', (_, value) => escape(str(value))],
  format: ['*args **kwargs', (_, value, args, kwargs) => formattedBy(value, args, kwargs)],
  indent: [
    'width? first? blank?',
    (_, value, width = 4, first = false, blank = false) => indented(value, width, first, blank),
  ],
  int: ['default? base?', (_, value, other = 0, base = 10) => toInteger(value, other, base)],
  lower: ['', ofText(lower)],
  pprint: ['', (_, value) => pretty(value)],
  replace: ['old new count?', (r, value, old, other, count = null) => replacedIn(r, value, old, other, count)],
  round: ['precision? method?', (_, value, places = 0, method = 'common') => round(value, places, method)],
  safe: ['', (_, value) => (value instanceof Markup ? value : new Markup(str(value)))],
  string: ['', (_, value) => soft(value)],
  striptags: ['', (_, value) => withoutTags(value)],
  title: ['', (_, value) => titled(str(value))],
  tojson: [
    'ensure_ascii? indent? separators? sort_keys?',
    (_, value, ascii = false, indent = null, separators = null, sortKeys = false) =>
      jsonText(value, isTrue(ascii), indent, separators, isTrue(sortKeys)),
  ],
  trim: ['chars?', ofText((text, chars = null) => stripped(text, chars === null ? null : textOf(chars)))],
  truncate: [
    'length? killwords? end? leeway?',
    (_, value, length = 255, kills = false, end = '...', leeway = null) =>
      truncated(value, length, kills, end, leeway ?? 5),
  ],
  upper: ['', ofText((text) => text.toUpperCase())],
  urlencode: ['', (_, value) => urlEncoded(value)],
  urlize: [
    'trim_url_limit? nofollow? target? rel? extra_schemes?',
    (r, value, limit = null, noFollow = false, target = null, rel = null, schemes = null) =>
      links(r, value, [limit, noFollow, target, rel, schemes]),
  ],
  wordcount: ['', (_, value) => str(value).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0],
  wordwrap: [
    'width? break_long_words? wrapstring? break_on_hyphens?',
    (_, value, width = 79, breaks = true, between = null, hyphens = true) =>
      wrapped(
        textOf(value),
        indexOf(width),
        isTrue(breaks),
        between === null ? '\n' : textOf(between),
        isTrue(hyphens),
      ),
  ],
  xmlattr: [
    'autospace?',
    (r, value, spaced = true) => {
      const text = attributesOf(value, isTrue(spaced));
      return r.autoescape ? new Markup(text) : text;
    },
  ],
};

/** @param {any} value @param {any} other @param {any} boolean */
const defaulted = (value, other, boolean) =>
  value instanceof Undefined || (isTrue(boolean) && !isTrue(value)) ? other : value;
