// html_text.js - texts as HTML: escaping, and the filters striptags, xmlattr, urlize and urlencode
import { SPACE, linesOf, lengthOf, slicedText } from './code_points.js';
import { str } from './python_text.js';
import { Dict, Markup, Undefined, isText, textOf } from './python_values.js';
import { checkSize } from './template_limits.js';

const ENTITIES = /** @type {Record<string, string>} */ ({
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
});

/** @param {any} value @returns {Markup} */
export function escape(value) {
  if (value instanceof Markup) return value;
  const text = str(value);
  checkSize(text.length);
  return new Markup(text.replace(/[&<>'"]/g, (c) => ENTITIES[c]));
}

/** Entities of HTML that texts have. */
const NAMED = /** @type {Record<string, string>} */ ({
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\xa0',
  copy: '\xa9',
  reg: '\xae',
  laquo: '\xab',
  raquo: '\xbb',
  hellip: '\u2026',
  mdash: '\u2014',
  ndash: '\u2013',
});

/** @param {string} text */
function unescaped(text) {
  return text.replace(/&(?:#(\d+);?|#[xX]([\da-fA-F]+);?|([a-zA-Z]\w*);)/g, (whole, decimal, hex, name) => {
    if (name) {
      if (!NAMED[name]) throw new Error(`striptags: the entity ${whole} is not supported`);
      return NAMED[name];
    }
    const code = decimal ? Number(decimal) : parseInt(hex, 16);
    if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return '\ufffd';
    return String.fromCodePoint(code);
  });
}

/** The text of HTML, without its tags. @param {any} value */
export function withoutTags(value) {
  let text = str(value);
  const parts = [];
  let at = 0;
  for (let start; (start = text.indexOf('<', at)) >= 0;) {
    const [mark, from] = text.startsWith('<!--', start) ? ['-->', start + 4] : ['>', start];
    const end = text.indexOf(mark, from);
    if (end < 0) break;
    parts.push(text.slice(at, start));
    at = end + mark.length;
  }
  if (at) text = parts.join('') + text.slice(at);
  return unescaped(
    text
      .split(new RegExp(`[${SPACE}]+`))
      .filter(Boolean)
      .join(' '),
  );
}

/** Attributes of a tag. @param {any} dict @param {boolean} spaced */
export function attributesOf(dict, spaced) {
  if (dict instanceof Undefined) return dict.refuse();
  if (!(dict instanceof Dict)) throw new Error('xmlattr: expected a dict');
  const parts = dict.entries
    .filter(([, value]) => value !== null && !(value instanceof Undefined))
    .map(([key, value]) => {
      if (/[ \t\n\r\f\v/>=]/.test(textOf(key))) throw new Error(`Invalid character in attribute name: ${key}`);
      return `${escape(key).text}="${escape(value).text}"`;
    });
  const text = parts.join(' ');
  checkSize(text.length);
  return spaced && text ? ` ${text}` : text;
}

/** A text within an address. @param {any} value @param {boolean} [inQuery] */
export function urlQuoted(value, inQuery = false) {
  const safe = inQuery ? /[^A-Za-z0-9_.~-]/gu : /[^A-Za-z0-9_.~/-]/gu;
  const quoted = str(value).replace(safe, (c) =>
    Array.from(new TextEncoder().encode(c), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
  return inQuery ? quoted.replaceAll('%20', '+') : quoted;
}

const HTTP = new RegExp(
  '^((https?://|www\\.)(([\\w%-]+\\.)+)?([a-z]{2,63}|xn--[\\w%]{2,59})|' +
    '([\\w%-]{2,63}\\.)+(com|net|int|edu|gov|org|info|mil)|' +
    '(https?://)((([\\d]{1,3})(\\.[\\d]{1,3}){3})|(\\[([\\da-f]{0,4}:){2}([\\da-f]{0,4}:?){1,6}])))' +
    '(?::[\\d]{1,5})?(?:[/?#]\\S*)?$',
  'i',
);
const EMAIL = /^\S+@\w[\w.-]*\.\w+$/;

/**
 * A text whose addresses are links.
 * @param {any} value
 * @param {{limit: number | null, rel: string, target: string | null, schemes: string[]}} style
 * @returns {string}
 */
export function withLinks(value, { limit, rel, target, schemes }) {
  const attributes = (rel && ` rel="${escape(rel).text}"`) + (target ? ` target="${escape(target).text}"` : '');
  const shown = (/** @type {string} */ url) =>
    limit !== null && lengthOf(url) > limit ? `${slicedText(url, [0, limit, null])}...` : url;
  const link = (/** @type {string} */ word) => {
    if (HTTP.test(word)) {
      const href = /^https?:\/\//.test(word) ? word : `https://${word}`;
      return `<a href="${href}"${attributes}>${shown(word)}</a>`;
    }
    if (word.startsWith('mailto:') && EMAIL.test(word.slice(7))) return `<a href="${word}">${word.slice(7)}</a>`;
    if (word.includes('@') && !/^(?:www\.|@)/.test(word) && !word.includes(':') && EMAIL.test(word))
      return `<a href="mailto:${word}">${word}</a>`;
    for (const scheme of schemes)
      if (word !== scheme && word.startsWith(scheme)) word = `<a href="${word}"${attributes}>${word}</a>`;
    return word;
  };
  const words = escape(value).text.split(new RegExp(`([${SPACE}]+)`));
  const text = words.map((word) => linked(word, link)).join('');
  checkSize(text.length);
  return text;
}

/** What may stand behind an address. */
const ENDS = [')', '>', '.', ',', '\n', '&gt;'];

/** @param {string} word @param {(word: string) => string} link */
function linked(word, link) {
  const head = /^(?:[(<]|&lt;)+/.exec(word)?.[0] ?? '';
  let middle = word.slice(head.length);
  let tail = '';
  for (let end; (end = ENDS.find((one) => middle.endsWith(one))); tail = end + tail)
    middle = middle.slice(0, -end.length);
  const count = (/** @type {string} */ text, /** @type {string} */ part) => text.split(part).length - 1;
  for (const [open, close] of [
    ['(', ')'],
    ['<', '>'],
    ['&lt;', '&gt;'],
  ]) {
    const opened = count(middle, open);
    if (opened <= count(middle, close)) continue;
    for (let n = Math.min(opened, count(tail, close)); n > 0; n--) {
      const end = tail.indexOf(close) + close.length;
      middle += tail.slice(0, end);
      tail = tail.slice(end);
    }
  }
  return head + link(middle) + tail;
}
