// text_methods.js - the methods of str
import {
  isCased,
  isPrintable,
  isSpace,
  lengthOf,
  linesOf,
  lowerAt,
  points,
  repeated,
  sliceBounds,
  slicedText,
  stripped,
  titleCase,
  titled,
} from './code_points.js';
import { escape } from './html_text.js';
import { DIGITS, NUMERALS } from './numerals.js';
import { iterated, isTrue } from './operators.js';
import { joined } from './python_text.js';
import { Dict, Markup, Tuple, indexOf, isText, textOf, typeName, tupleOf } from './python_values.js';

/** An index that may be missing or None. @param {any} value */
const position = (value) => (value === undefined || value === null ? null : indexOf(value));

/**
 * Where a text stands within a part of another, in code points.
 * @param {string} text
 * @param {any} part
 * @param {any} start
 * @param {any} end
 * @param {boolean} [fromEnd]
 * @returns {number}  -1: nowhere
 */
function found(text, part, start, end, fromEnd = false) {
  const own = textOf(part);
  const [from, to] = sliceBounds(lengthOf(text), [position(start), position(end), null]);
  if ((position(start) ?? 0) > lengthOf(text) || from > to) return -1;
  const within = slicedText(text, [from, to, null]);
  const at = fromEnd ? within.lastIndexOf(own) : within.indexOf(own);
  return at < 0 ? -1 : from + lengthOf(within.slice(0, at));
}

/** @param {number} at */
function present(at) {
  if (at < 0) throw new Error('substring not found');
  return at;
}

/**
 * startswith and endswith.
 * @param {(text: string, part: string) => boolean} test
 * @returns {(text: string, parts: any, start: any, end: any) => boolean}
 */
const beside = (test) => (text, parts, start, end) => {
  const [from, to] = [position(start), position(end)];
  const within = slicedText(text, [from, to, null]);
  const isOut = (from ?? 0) > lengthOf(text);
  return (parts instanceof Tuple ? Array.from(parts) : [parts]).some(
    (part) => test(within, textOf(part)) && !(isOut && textOf(part) === ''),
  );
};

/**
 * Pieces between white space.
 * @param {string} text
 * @param {number} most  splits; negative: any number
 * @param {boolean} fromEnd
 */
function words(text, most, fromEnd) {
  const all = [...text];
  if (fromEnd) all.reverse();
  /** @type {string[][]} */
  const out = [];
  for (let at = 0; ;) {
    while (at < all.length && isSpace(all[at])) at++;
    if (at === all.length) break;
    const from = at;
    if (most >= 0 && out.length >= most) at = all.length;
    while (at < all.length && !isSpace(all[at])) at++;
    out.push(all.slice(from, at));
  }
  return fromEnd ? out.map((one) => one.reverse().join('')).reverse() : out.map((one) => one.join(''));
}

/** @param {string} text @param {any} separator @param {any} most @param {boolean} fromEnd */
function split(text, separator, most, fromEnd) {
  const limit = most === undefined ? -1 : indexOf(most);
  if (separator === undefined || separator === null) return words(text, limit, fromEnd);
  const own = textOf(separator);
  if (!own) throw new Error('empty separator');
  const all = text.split(own);
  const joins = limit < 0 ? 0 : Math.max(0, all.length - 1 - limit);
  if (!joins) return all;
  return fromEnd
    ? [all.slice(0, joins + 1).join(own), ...all.slice(joins + 1)]
    : [...all.slice(0, limit), all.slice(limit).join(own)];
}

/**
 * A text in a field.
 * @param {string} text
 * @param {any} width
 * @param {any} fill
 * @param {number} share  of the blanks that stand before it
 */
function placed(text, width, fill, share) {
  const own = fill === undefined ? ' ' : textOf(fill);
  if (lengthOf(own) !== 1) throw new Error('The fill character must be exactly one character long');
  const missing = Math.max(0, indexOf(width) - lengthOf(text));
  // CPython centres a text in this way
  const left = share === 0.5 ? Math.floor(missing / 2) + (missing & indexOf(width) & 1) : missing * share;
  return repeated(own, left) + text + repeated(own, missing - left);
}

/** @param {string} text @param {any} part @param {boolean} fromEnd */
function parted(text, part, fromEnd) {
  const own = textOf(part);
  if (!own) throw new Error('empty separator');
  const at = fromEnd ? text.lastIndexOf(own) : text.indexOf(own);
  if (at < 0) return tupleOf(fromEnd ? ['', '', text] : [text, '', '']);
  return tupleOf([text.slice(0, at), own, text.slice(at + own.length)]);
}

/**
 * str.replace
 * @param {string} text
 * @param {string} old
 * @param {string} other
 * @param {number} most  negative: all
 * @returns {string}
 */
export function replaced(text, old, other, most) {
  const all = old ? text.split(old) : ['', ...points(text), ''];
  const count = most < 0 ? all.length - 1 : Math.min(most, all.length - 1);
  const rest = all.slice(count).join(old);
  return joined([...all.slice(0, count), rest], other);
}

/** Tests of all characters. @param {RegExp} kind */
const every = (kind) => (/** @type {string} */ text) => text !== '' && [...text].every((c) => kind.test(c));

/** Whether letters have this case, and there is one with case. @param {(c: string) => boolean} isOther */
const inCase = (isOther) => (/** @type {string} */ text) => {
  const all = [...text];
  return all.some(isCased) && !all.some(isOther);
};

/** @param {string} text */
function isTitle(text) {
  let [inWord, hasOne] = [false, false];
  for (const c of text) {
    const isUpper = /[\p{Uppercase}\p{Lt}]/u.test(c);
    if (isCased(c) && isUpper === inWord) return false;
    inWord = isCased(c);
    hasOne ||= inWord;
  }
  return hasOne;
}

/** @param {string} text @param {any} size */
function withoutTabs(text, size) {
  const width = size === undefined ? 8 : indexOf(size);
  let [out, column] = ['', 0];
  for (const c of text) {
    const blanks = c === '\t' ? (width > 0 ? width - (column % width) : 0) : 0;
    out += c === '\t' ? repeated(' ', blanks) : c;
    column = c === '\n' || c === '\r' ? 0 : column + (c === '\t' ? blanks : 1);
  }
  return out;
}

/** @param {string} text @param {any} table */
function translated(text, table) {
  if (!(table instanceof Dict)) throw new Error('translate: expected a dict');
  return Array.from(text, (c) => {
    const to = table.get(c.codePointAt(0));
    if (to === undefined) return c;
    return to === null ? '' : isText(to) ? textOf(to) : String.fromCodePoint(indexOf(to));
  }).join('');
}

const folded = (/** @type {string} */ text) =>
  // full case folding, as far as upper and lower case tell it
  Array.from(text, (c) => {
    if (c === '\u1e9e') return 'ss';
    if (/[\u13a0-\u13f5]/.test(c)) return c;
    if (/[\u13f8-\u13fd\uab70-\uabbf]/.test(c)) return c.toUpperCase();
    return c === '\u0131' || c === '\u0130'
      ? c.toLowerCase()
      : c.toUpperCase().toLowerCase().replaceAll('\u03c2', '\u03c3');
  }).join('');

/**
 * The lower case of a text from a place on. What stands before decides what a final sigma is.
 * @param {string} text
 * @param {number} [from]
 */
const lowered = (text, from = 0) => {
  let at = from;
  return Array.from(text.slice(from), (c) => {
    at += c.length;
    return lowerAt(text, at - c.length, c);
  }).join('');
};

/** Lower case with Python's final sigma. @param {string} text */
export const lower = (text) => (text.includes('\u03a3') ? lowered(text) : text.toLowerCase());

/** @param {string} text */
export function capitalized(text) {
  const [first = ''] = text;
  return titleCase(first) + lowered(text, first.length);
}

/** @param {string} text */
const swapped = (text) => {
  let at = 0;
  return Array.from(text, (c) => {
    at += c.length;
    return /\p{Uppercase}/u.test(c) ? lowerAt(text, at - c.length, c) : /\p{Lt}/u.test(c) ? c : c.toUpperCase();
  }).join('');
};

/** @param {string} text @param {any} width */
function zeroFilled(text, width) {
  const sign = /^[+-]/.exec(text)?.[0] ?? '';
  const missing = Math.max(0, indexOf(width) - lengthOf(text));
  return sign + repeated('0', missing) + text.slice(sign.length);
}

/** @param {string} text @param {any} items */
function joinedBy(text, items) {
  const all = Array.from(iterated(items), (item, i) => {
    if (!isText(item)) throw new Error(`sequence item ${i}: expected str instance, ${typeName(item)} found`);
    return item;
  });
  return joined(all.map(textOf), text);
}

/**
 * The methods, each with its parameters (call_arguments.js) and a function of the text.
 * @type {Record<string, [string, (text: string, ...args: any[]) => any]>}
 */
export const TEXT_METHODS = {
  capitalize: ['', capitalized],
  casefold: ['', folded],
  center: ['/width /fill?', (text, width, fill) => placed(text, width, fill, 0.5)],
  count: [
    '/part /start? /end?',
    (text, part, start, end) => {
      const within = slicedText(text, [position(start), position(end), null]);
      if ((position(start) ?? 0) > lengthOf(text)) return 0;
      return textOf(part) ? within.split(textOf(part)).length - 1 : lengthOf(within) + 1;
    },
  ],
  endswith: ['/parts /start? /end?', beside((text, part) => text.endsWith(part))],
  expandtabs: ['tabsize?', withoutTabs],
  find: ['/part /start? /end?', (text, part, start, end) => found(text, part, start, end)],
  index: ['/part /start? /end?', (text, part, start, end) => present(found(text, part, start, end))],
  isalnum: ['', every(/[\p{L}\p{N}]/u)],
  isalpha: ['', every(/\p{L}/u)],
  isascii: ['', (text) => /^[\x00-\x7f]*$/.test(text)],
  isdecimal: ['', every(/\p{Nd}/u)],
  isdigit: ['', every(DIGITS)],
  isidentifier: ['', (text) => /^[\p{ID_Start}_]\p{ID_Continue}*$/u.test(text)],
  islower: ['', inCase((c) => /[\p{Uppercase}\p{Lt}]/u.test(c))],
  isnumeric: ['', every(NUMERALS)],
  isprintable: ['', (text) => [...text].every(isPrintable)],
  isspace: ['', (text) => text !== '' && [...text].every(isSpace)],
  istitle: ['', isTitle],
  isupper: ['', inCase((c) => /[\p{Lowercase}\p{Lt}]/u.test(c))],
  join: ['/items', joinedBy],
  ljust: ['/width /fill?', (text, width, fill) => placed(text, width, fill, 0)],
  lower: ['', lower],
  lstrip: ['/chars?', (text, chars) => stripped(text, chars == null ? null : textOf(chars), 'left')],
  partition: ['/part', (text, part) => parted(text, part, false)],
  removeprefix: ['/prefix', (text, one) => (text.startsWith(textOf(one)) ? text.slice(textOf(one).length) : text)],
  removesuffix: [
    '/suffix',
    (text, one) => (textOf(one) && text.endsWith(textOf(one)) ? text.slice(0, -textOf(one).length) : text),
  ],
  replace: [
    '/old /new /count?',
    (text, old, other, count) => replaced(text, textOf(old), textOf(other), count === undefined ? -1 : indexOf(count)),
  ],
  rfind: ['/part /start? /end?', (text, part, start, end) => found(text, part, start, end, true)],
  rindex: ['/part /start? /end?', (text, part, start, end) => present(found(text, part, start, end, true))],
  rjust: ['/width /fill?', (text, width, fill) => placed(text, width, fill, 1)],
  rpartition: ['/part', (text, part) => parted(text, part, true)],
  rsplit: ['sep? maxsplit?', (text, separator, most) => split(text, separator, most, true)],
  rstrip: ['/chars?', (text, chars) => stripped(text, chars == null ? null : textOf(chars), 'right')],
  split: ['sep? maxsplit?', (text, separator, most) => split(text, separator, most, false)],
  splitlines: ['keepends?', (text, keeps) => linesOf(text, keeps !== undefined && isTrue(keeps))],
  startswith: ['/parts /start? /end?', beside((text, part) => text.startsWith(part))],
  strip: ['/chars?', (text, chars) => stripped(text, chars == null ? null : textOf(chars))],
  swapcase: ['', swapped],
  title: ['', titled],
  translate: ['/table', translated],
  upper: ['', (text) => text.toUpperCase()],
  zfill: ['/width', zeroFilled],
};

/** Arguments that Markup escapes. @type {Record<string, number>} */
const ESCAPED = { replace: 1, ljust: 1, rjust: 1, center: 1 };

/**
 * A method of a text that counts as HTML: it escapes what it adds, and its texts are HTML again.
 * @param {string} name
 * @param {Markup} markup
 * @param {any[]} args  bound
 * @returns {any}
 */
export function markupMethod(name, { text }, args) {
  const at = ESCAPED[name];
  if (at !== undefined && args[at] !== undefined) args[at] = escape(args[at]);
  if (name === 'join') args = [Array.from(iterated(args[0]), escape)];
  const wrapped = (/** @type {any} */ value) => (typeof value === 'string' ? new Markup(value) : value);
  const result = TEXT_METHODS[name][1](text, ...args);
  if (result instanceof Tuple) return tupleOf(Array.from(result, wrapped));
  return Array.isArray(result) ? result.map(wrapped) : wrapped(result);
}
