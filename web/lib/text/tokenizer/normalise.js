// normalise.js - the normalizers of a tokenizer.json: what is done to a text before it is split
import {
  CANONICAL_KEPT,
  CHINESE,
  COMPATIBLE_KEPT,
  FORMAT_KEPT,
  MARKS_KEPT,
  MARKS_MORE,
  NONSPACING_KEPT,
  NONSPACING_MORE,
  SPACE,
} from './character_classes.js';
import { Charsmap, bytesOfBase64 } from './charsmap.js';
import { component } from './component.js';
import { patternOf } from './patterns.js';
import { byteCharacters } from './byte_level.js';
import { sentencePieceNormalizer } from './sentencepiece_normalizer.js';

/**
 * keepsFirst: characters may be joined or change places, and the first one of the result counts as the first of the
 *   text; first: what the step makes of the first character where more follows; zero: how many of the first units of
 *   the result come from the first character of the text, of which `zero` did before.
 * @typedef {{(text: string): string, keepsFirst?: boolean, first?: (text: string) => string,
 *   zero?: (text: string, zero: number) => number}} Normalizer
 */

/**
 * @param {string} inside  of a class
 * @param {string} [replacement]
 * @returns {Normalizer}
 */
function replacing(inside, replacement = '') {
  const pattern = new RegExp(inside, 'gu');
  return (text) => text.replace(pattern, replacement);
}

/** Final sigma is the only small letter that depends on its neighbours, which Rust does not look at. */
const lowercase = (/** @type {string} */ text) =>
  text.includes('\u03a3')
    ? text
        .split('\u03a3')
        .map((part) => part.toLowerCase())
        .join('\u03c3')
    : text.toLowerCase();

/** @param {Normalizer} step */
const keepingFirst = (step) => Object.assign(step, { keepsFirst: true });

/**
 * A form of Unicode. Characters that the library does not know stay as they are, and their neighbours do not change
 * places with them.
 * @param {'NFC' | 'NFD' | 'NFKC' | 'NFKD'} form
 * @returns {Normalizer}
 */
function unicodeForm(form) {
  const kept = MARKS_KEPT + CANONICAL_KEPT + (form.includes('K') ? COMPATIBLE_KEPT : '');
  const known = new RegExp(`[^${kept}]+`, 'gu');
  const unknown = new RegExp(`[${kept}]`, 'u');
  const composed = new RegExp(`[${CANONICAL_KEPT}]`, 'gu');
  const step = keepingFirst((text) => (unknown.test(text) ? text.replace(known, normalised) : normalised(text)));
  return form.endsWith('D') ? Object.assign(step, { zero: zeroDecomposed(step) }) : step;

  /** @param {string} part  without the characters of `kept` */
  function normalised(part) {
    const out = part.normalize(form);
    return out === part ? out : out.replace(composed, (c) => c.normalize('NFD'));
  }
}

/**
 * `Normalizer.zero` of a decomposition: the library counts the characters that begin one, in the order that they have
 * afterwards.
 * @param {Normalizer} step
 */
const zeroDecomposed = (step) => (/** @type {string} */ text, /** @type {number} */ zero) => {
  /** Whether each character begins a decomposition. @type {Map<string, boolean[]>} */
  const begins = new Map();
  for (const c of Array.from(text).reverse())
    for (const part of Array.from(step(c), (each, i) => ({ each, begins: !i })).reverse()) {
      const list = begins.get(part.each);
      if (list) list.push(part.begins);
      else begins.set(part.each, [part.begins]);
    }
  let waiting = Array.from(text.slice(0, zero)).length;
  let left = 0;
  for (const c of step(text)) {
    if (begins.get(c)?.pop() && --waiting < 0) break;
    left += c.length;
  }
  return left;
};

const toSpaces = replacing(`[${SPACE}]`, ' ');
const withoutAccents = replacing(`(?![${NONSPACING_KEPT}])[\\p{Mn}${NONSPACING_MORE}]`);
const withoutControls = replacing(`(?![\\t\\n\\r${FORMAT_KEPT}])[\\p{Cc}\\p{Cf}\\p{Co}\\ufffd]`);
const spacedChinese = replacing(`[${CHINESE}]`, ' $& ');

/** @type {Record<string, (options: import('./component.js').Component) => Normalizer | Normalizer[]>} */
const NORMALIZERS = {
  BertNormalizer(options) {
    const lowers = options.flag('lowercase', true);
    return [
      ...(options.flag('clean_text', true) ? [withoutControls, toSpaces] : []),
      ...(options.flag('handle_chinese_chars', true) ? [spacedChinese] : []),
      ...(options.flag('strip_accents', lowers) ? [unicodeForm('NFD'), withoutAccents] : []),
      ...(lowers ? [lowercase] : []),
    ];
  },
  ByteLevel: () => byteCharacters,
  Lowercase: () => lowercase,
  NFC: () => unicodeForm('NFC'),
  NFD: () => unicodeForm('NFD'),
  NFKC: () => unicodeForm('NFKC'),
  NFKD: () => unicodeForm('NFKD'),
  Nmt() {
    const removed = replacing('[\\x01-\\x08\\x0b\\x0e-\\x1f\\x7f\\x8f\\x9f]');
    const spaces = replacing('[\\t\\n\\f\\r\\u1680\\u200b-\\u200f\\u2028\\u2029\\u2581\\ufeff\\ufffd]', ' ');
    return (text) => spaces(removed(text));
  },
  Precompiled(options) {
    const bytes = bytesOfBase64(options.text('precompiled_charsmap'));
    if (!bytes) return options.refuse('precompiled_charsmap is not base64');
    const charsmap = new Charsmap(bytes, options);
    return keepingFirst((text) => charsmap.byGraphemes(text));
  },
  Prepend(options) {
    const before = options.text('prepend');
    return (text) => text && before + text;
  },
  Replace(options) {
    const matches = patternOf(options);
    const content = options.text('content');
    const zero = (/** @type {string} */ text, /** @type {number} */ n) => zeroReplaced(text, n, matches, content);
    return Object.assign((/** @type {string} */ text) => replaced(text, matches, content), { zero });
  },
  SentencePiece: sentencePieceNormalizer,
  Sequence(options) {
    return options.list('normalizers').flatMap((each) => normalizersOf(each));
  },
  Strip(options) {
    const left = options.flag('strip_left', true) ? replacing(`^[${SPACE}]+`) : null;
    const right = options.flag('strip_right', true) ? new RegExp(`[${SPACE}]`, 'u') : null;
    const atStart = left ?? ((/** @type {string} */ text) => text);
    const strip = (/** @type {string} */ text) => {
      let end = text.length;
      while (right && end && right.test(text[end - 1])) end--;
      return atStart(text.slice(0, end));
    };
    return Object.assign(strip, { first: atStart });
  },
  StripAccents: () => replacing(`(?![${MARKS_KEPT}])[\\p{M}${MARKS_MORE}]`),
};

/**
 * A text with `content` in place of each match, which `$` in it does not refer to.
 * @param {string} text
 * @param {import('./patterns.js').Matches} matches
 * @param {string} content
 */
export function replaced(text, matches, content) {
  let out = '';
  let at = 0;
  if (text)
    matches(text, (start, end) => {
      out += text.slice(at, start) + content;
      at = end;
    });
  return at || out ? out + text.slice(at) : text;
}

/**
 * `Normalizer.zero` of a step that replaces matches: what replaces one comes from where its last character does.
 * @param {string} text
 * @param {number} zero
 * @param {import('./patterns.js').Matches} matches
 * @param {string} content
 */
function zeroReplaced(text, zero, matches, content) {
  let left = 0;
  let at = 0;
  matches(text, (start, end) => {
    if (at > zero) return;
    left += Math.min(start, zero) - at;
    const counts = end <= zero || !end;
    if (counts) left += content.length;
    at = counts || !content ? end : Infinity;
  });
  return left + Math.max(0, zero - at);
}

/**
 * @param {any} json  `normalizer` of a tokenizer.json
 * @returns {Normalizer[]}  which are applied one after the other
 */
export const normalizersOf = (json) => [component(json, 'normalizer', NORMALIZERS) ?? []].flat();
