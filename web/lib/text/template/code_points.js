// code_points.js - texts by code points, as Python counts them, and Python's kinds of characters
import { checkSize } from './template_limits.js';

/** White space of Python, for a class of a regular expression. */
export const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';

/** Whether a text has characters outside the first plane, or halves of them. @param {string} text */
const isWide = (text) => /[\ud800-\udfff]/.test(text);

/**
 * The code points of a text: itself where each is one unit.
 * @param {string} text
 * @returns {string | string[]}
 */
export const points = (text) => (isWide(text) ? Array.from(text) : text);

/** @param {string} text */
export const lengthOf = (text) => points(text).length;

/**
 * Where a slice begins and ends, and its step.
 * @param {number} length
 * @param {[number | null, number | null, number | null]} slice
 * @returns {[number, number, number]}
 */
export function sliceBounds(length, [start, stop, step]) {
  const by = step ?? 1;
  if (by === 0) throw new Error('slice step cannot be zero');
  const [low, high] = by > 0 ? [0, length] : [-1, length - 1];
  const within = (/** @type {number} */ at) => Math.max(low, Math.min(high, at < 0 ? at + length : at));
  return [
    start === null ? (by > 0 ? low : high) : within(start),
    stop === null ? (by > 0 ? high : low) : within(stop),
    by,
  ];
}

/**
 * A part of a sequence.
 * @param {ArrayLike<any>} all
 * @param {[number | null, number | null, number | null]} slice
 * @returns {any[]}
 */
export function sliced(all, slice) {
  const [from, to, by] = sliceBounds(all.length, slice);
  const out = [];
  for (let i = from; by > 0 ? i < to : i > to; i += by) out.push(all[i]);
  return out;
}

/**
 * A part of a text.
 * @param {string} text
 * @param {[number | null, number | null, number | null]} slice
 * @returns {string}
 */
export function slicedText(text, slice) {
  const all = points(text);
  if (typeof all === 'string' && (slice[2] ?? 1) === 1) {
    const [from, to] = sliceBounds(all.length, slice);
    return all.slice(from, Math.max(from, to));
  }
  return sliced(all, slice).join('');
}

/** @param {string} text @param {number} times */
export function repeated(text, times) {
  const count = Math.max(0, times);
  checkSize(text.length * count);
  return text.repeat(text ? count : 0);
}

/** Less than 0 where a stands before b in the order of code points. @param {string} a @param {string} b */
export function compareTexts(a, b) {
  if (a === b) return 0;
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  const rank = (/** @type {string} */ text) => {
    const unit = text.charCodeAt(i);
    return Number.isNaN(unit) ? -1 : unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
  };
  return rank(a) - rank(b);
}

/**
 * A text without these characters at its beginning, its end or both.
 * @param {string} text
 * @param {string | null} characters  null: white space
 * @param {'both' | 'left' | 'right'} side
 * @returns {string}
 */
export function stripped(text, characters, side = 'both') {
  const all = points(text);
  const isOut = characters === null ? isSpace : (/** @type {string} */ c) => own.has(c);
  const own = new Set(characters ?? '');
  let [from, to] = [0, all.length];
  while (side !== 'right' && from < to && isOut(all[from])) from++;
  while (side !== 'left' && to > from && isOut(all[to - 1])) to--;
  return typeof all === 'string' ? all.slice(from, to) : all.slice(from, to).join('');
}

const SPACES = new RegExp(`^[${SPACE}]$`);
/** Whether a character is white space. @param {string} c */
export const isSpace = (c) => SPACES.test(c);

/** Line ends of str.splitlines. */
const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;

/** @param {string} text @param {boolean} [keepsEnds] */
export function linesOf(text, keepsEnds = false) {
  const lines = [];
  let from = 0;
  for (const { 0: own, index } of text.matchAll(LINE_END)) {
    lines.push(text.slice(from, index + (keepsEnds ? own.length : 0)));
    from = index + own.length;
  }
  if (from < text.length) lines.push(text.slice(from));
  return lines;
}

/** Whether Python prints a character as it is in repr(). @param {string} c */
export const isPrintable = (c) => c === ' ' || !/[\p{C}\p{Z}]/u.test(c);

/**
 * The upper case of a letter that begins a word.
 * @param {string} c
 * @returns {string}
 */
export function titleCase(c) {
  if (!c || /[\u10d0-\u10fa\u10fd-\u10ff]/.test(c)) return c; // Georgian has no title case
  const pair = ['\u01c4\u01c5\u01c6', '\u01c7\u01c8\u01c9', '\u01ca\u01cb\u01cc', '\u01f1\u01f2\u01f3'].find((all) =>
    all.includes(c),
  );
  if (pair) return pair[1];
  const upper = c.toUpperCase();
  const [first, ...rest] = upper;
  if (!rest.length || c === '\u0149') return upper;
  // an iota that is written below a capital, and ligatures such as \ufb01
  if (upper.endsWith('\u0399')) {
    const own = `${upper.slice(0, -1)}\u0345`;
    return rest.length > 1 ? own : own.normalize('NFC');
  }
  return first + rest.join('').toLowerCase();
}

/** Whether a letter has case. @param {string} c */
export const isCased = (c) => /[\p{Lowercase}\p{Uppercase}\p{Lt}]/u.test(c);

/** str.title(). @param {string} text */
export function titled(text) {
  let out = '';
  let inWord = false;
  let at = 0;
  for (const c of text) {
    out += inWord ? lowerAt(text, at, c) : titleCase(c);
    inWord = isCased(c);
    at += c.length;
  }
  return out;
}

/** Characters between letters that do not count where a sigma ends a word. */
const IGNORABLE = /\p{Case_Ignorable}/u;

/**
 * The lower case of a character where it stands: a sigma at the end of a word is another letter.
 * @param {string} text
 * @param {number} at
 * @param {string} c
 */
export function lowerAt(text, at, c) {
  if (c !== '\u03a3') return c.toLowerCase();
  const before = (/** @type {number} */ end) =>
    text.slice(/[\udc00-\udfff]/.test(text[end - 1]) ? end - 2 : end - 1, end);
  const after = (/** @type {number} */ from) => String.fromCodePoint(/** @type {number} */ (text.codePointAt(from)));
  let [first, last] = [at, at + 1];
  while (first > 0 && IGNORABLE.test(before(first))) first -= before(first).length;
  while (last < text.length && IGNORABLE.test(after(last))) last += after(last).length;
  const isFinal = first > 0 && isCased(before(first)) && !(last < text.length && isCased(after(last)));
  return isFinal ? '\u03c2' : '\u03c3';
}
