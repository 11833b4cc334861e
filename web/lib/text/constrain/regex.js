// regex.js - reads regular expressions as ECMAScript writes them, for the keyword `pattern`
//
// A pattern matches code points, as with the flag u. Forms that the flag u forbids and that have one meaning without it
// are read too: a hyphen at the side of \w in a class, { } ] as characters, a backslash before any punctuation. What
// makes a language irregular, or depends on both sides of a place, is refused by its name: references to groups, \b,
// lookaround, except lookaheads between ^ and the rest of a pattern, each of which is a condition for the whole text. A
// lazy quantifier accepts the same texts as a greedy one.
import { fail, show } from '../../base/errors.js';
import { MAX_POINT, complement, rangesOf } from './expression.js';
import { Scanner } from './scanner.js';

/** @typedef {[number, number][]} Ranges */
/**
 * A pattern: an expression of characters, and the places where a text begins or ends.
 * @typedef {{chars: Ranges} | {all: Pattern[]} | {any: Pattern[]} | {each: Pattern, least: number, most: number} |
 *   {anchor: 'begin' | 'end'}} Pattern
 */
/** What a text must have, or must not have. @typedef {{pattern: Pattern, isNegative: boolean}} Condition */

const COUNTS = /\{(\d+)(?:(,)(\d*))?\}/y;
const GROUP_NAME = /\?<[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*>/uy;
const POSIX = /\[[:.=][a-z]*[:.=]\]/y;
const PROPERTY = /\{([\w=]+)\}/y;
const DIGITS = /** @type {Record<string, RegExp>} */ ({
  x: /([\da-f]{2})/iy,
  u: /([\da-f]{4})/iy,
  'u{': /\{([\da-f]+)\}/iy,
});
/** Deepest nesting of groups. */
const MAX_DEPTH = 64;

const LINE_BREAKS = rangesOf('\n', '\r', '\u2028', '\u2029');
const DIGIT = rangesOf('0-9');
const WORD = rangesOf('0-9', 'A-Z', '_', 'a-z');
const SPACE = rangesOf(
  ...['\t-\r', ' ', '\u00a0', '\u1680', '\u2000-\u200a', '\u2028', '\u2029', '\u202f', '\u205f', '\u3000', '\ufeff'],
);
/** @type {Record<string, Ranges>} */
const CLASSES = {
  d: DIGIT,
  D: complement(DIGIT),
  w: WORD,
  W: complement(WORD),
  s: SPACE,
  S: complement(SPACE),
};
/** @type {Record<string, number>} */
const CONTROLS = { f: 0x0c, n: 0x0a, r: 0x0d, t: 0x09, v: 0x0b };
/** Forms that are refused, by what they begin with. @type {[form: string, name: string, how?: string][]} */
const REFUSED = [
  ['(?=', 'a lookahead', 'supported only behind ^ at the beginning'],
  ['(?!', 'a lookahead', 'supported only behind ^ at the beginning'],
  ['(?<=', 'a lookbehind'],
  ['(?<!', 'a lookbehind'],
  ['\\b', 'a word boundary'],
  ['\\B', 'a word boundary'],
  ['\\k', 'a reference to a group'],
  ...Array.from('123456789', (digit) => /** @type {[string, string]} */ ([`\\${digit}`, 'a reference to a group'])),
];

/** Reads one pattern. */
class Reader extends Scanner {
  /**
   * @param {string} problem
   * @param {number} [at]  default: here
   * @param {'bad-option' | 'unsupported'} [code]
   * @returns {never}
   */
  refuse(problem, at = this.at, code = 'bad-option') {
    return fail(code, `the pattern ${show(this.source)} ${problem} at character ${at + 1}`);
  }

  /** Refuse what is not supported. @param {string} problem @param {number} [at] */
  lacks(problem, at) {
    return this.refuse(problem, at, 'unsupported');
  }

  /** The character here; empty at the end. */
  get next() {
    return this.source.charAt(this.at);
  }

  /**
   * What a text must have or must not have: the lookaheads behind a first ^, then the pattern.
   * @returns {Condition[]}
   */
  whole() {
    const conditions = [];
    /** @type {Pattern} */
    let pattern;
    if (/^\^\(\?[=!]/.test(this.source)) {
      this.skip('^');
      for (let one; (one = this.ahead());) conditions.push(one);
      pattern = { all: [{ anchor: 'begin' }, this.sequence()] };
      if (this.next === '|') this.lacks('has a lookahead in one of several alternatives, which ends');
    } else pattern = this.alternatives();
    if (this.next) this.refuse('closes a group that was not opened');
    return [...conditions, { pattern, isNegative: false }];
  }

  /**
   * A lookahead here, at the beginning of a text; null: there is none.
   * @returns {Condition | null}
   */
  ahead() {
    const from = this.at;
    const isNegative = this.skip('(?!');
    if (!isNegative && !this.skip('(?=')) return null;
    const inner = this.alternatives();
    if (!this.skip(')')) this.refuse('opens a group that is not closed', from);
    return { pattern: { all: [{ anchor: 'begin' }, inner] }, isNegative };
  }

  /** @returns {Pattern} */
  alternatives() {
    if (++this.depth > MAX_DEPTH) this.refuse(`has more than ${MAX_DEPTH} groups inside each other`);
    const any = [];
    do any.push(this.sequence());
    while (this.skip('|'));
    this.depth--;
    return any.length === 1 ? any[0] : { any };
  }

  /** @returns {Pattern} */
  sequence() {
    /** @type {Pattern[]} */
    const all = [];
    while (this.next && this.next !== '|' && this.next !== ')') all.push(this.term());
    return all.length === 1 ? all[0] : { all };
  }

  /** @returns {Pattern} */
  term() {
    if (this.skip('^')) return { anchor: 'begin' };
    if (this.skip('$')) return { anchor: 'end' };
    for (const [form, name, how = 'not supported'] of REFUSED)
      if (this.source.startsWith(form, this.at)) this.lacks(`has ${name} ${form}, which is ${how},`);
    return this.repeated(this.atom());
  }

  /** @returns {Pattern} */
  atom() {
    const from = this.at;
    if (this.skip('(')) {
      if (this.next === '?' && !this.skip('?:') && !this.match(GROUP_NAME))
        this.lacks('has a group that is neither (...), (?:...) nor (?<name>...),', from);
      const inner = this.alternatives();
      return this.skip(')') ? inner : this.refuse('opens a group that is not closed', from);
    }
    if (this.skip('[')) return { chars: this.class(from) };
    if (this.skip('.')) return { chars: complement(LINE_BREAKS) };
    if ('*+?'.includes(this.next) || this.match(COUNTS))
      this.refuse('has a quantifier that follows nothing repeatable', from);
    const found = this.character(false);
    return { chars: typeof found === 'number' ? [[found, found]] : found };
  }

  /**
   * An atom with the quantifier that follows it.
   * @param {Pattern} each
   * @returns {Pattern}
   */
  repeated(each) {
    const from = this.at;
    /** @type {[number, number] | null} */
    let counts = null;
    if (this.skip('*')) counts = [0, Infinity];
    else if (this.skip('+')) counts = [1, Infinity];
    else if (this.skip('?')) counts = [0, 1];
    else {
      const found = this.match(COUNTS);
      if (found) counts = [Number(found[1]), found[2] ? Number(found[3] || Infinity) : Number(found[1])];
    }
    if (!counts) return each;
    if (counts[1] < counts[0]) this.refuse('has a quantifier whose numbers are out of order', from);
    this.skip('?');
    return { each, least: counts[0], most: counts[1] };
  }

  /**
   * The characters of a class whose bracket was passed.
   * @param {number} from  where the bracket is
   * @returns {Ranges}
   */
  class(from) {
    const negated = this.skip('^');
    /** @type {Ranges} */
    const ranges = [];
    const put = (/** @type {number | Ranges} */ one) =>
      ranges.push(...(typeof one === 'number' ? /** @type {Ranges} */ ([[one, one]]) : one));
    while (!this.skip(']')) {
      const begin = this.at;
      if (!this.next) this.refuse('opens a class that is not closed', from);
      if (this.match(POSIX)) this.lacks('has a class of POSIX, which is not supported,', begin);
      const low = this.character(true);
      if (this.next !== '-' || ['', ']'].includes(this.source.charAt(this.at + 1))) {
        put(low);
        continue;
      }
      this.at++;
      const high = this.character(true);
      if (typeof low === 'number' && typeof high === 'number') {
        if (low > high) this.refuse('has a range whose end is before its beginning', begin);
        ranges.push([low, high]);
      } else for (const one of [low, 0x2d, high]) put(one);
    }
    return negated ? complement(ranges) : ranges;
  }

  /**
   * A character or an escape, which may stand for several characters.
   * @param {boolean} inClass
   * @returns {number | Ranges}
   */
  character(inClass) {
    const point = /** @type {number} */ (this.source.codePointAt(this.at));
    const c = String.fromCodePoint(point);
    if (c !== '\\') {
      this.at += c.length;
      return point;
    }
    const from = this.at++;
    const found = this.escape(inClass);
    if (found !== null) return found;
    const escape = this.source.slice(from, from + 2);
    return escape === '\\'
      ? this.refuse('ends with a backslash', from)
      : this.lacks(`has ${escape}, which is no escape of ECMAScript that is supported,`, from);
  }

  /**
   * What an escape stands for, whose backslash was passed; null: it is none.
   * @param {boolean} inClass
   * @returns {number | Ranges | null}
   */
  escape(inClass) {
    const kind = this.next;
    if (!kind) return null;
    const point = /** @type {number} */ (this.source.codePointAt(this.at));
    this.at += String.fromCodePoint(point).length;
    if (!/[A-Za-z0-9]/.test(kind)) return point;
    if (Object.hasOwn(CLASSES, kind)) return CLASSES[kind];
    if (Object.hasOwn(CONTROLS, kind)) return CONTROLS[kind];
    if (kind === 'b' && inClass) return 0x08;
    if (kind === '0') return /\d/.test(this.next) ? null : 0;
    if (kind === 'c') {
      const letter = this.next;
      return /^[A-Za-z]$/.test(letter) ? this.source.charCodeAt(this.at++) & 31 : null;
    }
    if (kind === 'x' || kind === 'u') return this.hexadecimal(kind);
    if (kind !== 'p' && kind !== 'P') return null;
    const name = this.match(PROPERTY)?.[1];
    const ranges = name === undefined ? null : property(name);
    return ranges && kind === 'P' ? complement(ranges) : ranges;
  }

  /**
   * The code point of \x or \u; a pair of surrogates is one.
   * @param {'x' | 'u'} kind
   */
  hexadecimal(kind) {
    const digits = this.match(DIGITS[kind]) ?? (kind === 'u' ? this.match(DIGITS['u{']) : null);
    const value = digits ? parseInt(digits[1], 16) : Infinity;
    if (value > MAX_POINT) return null;
    if (kind === 'u' && digits?.[0].length === 4 && value >= 0xd800 && value < 0xdc00 && this.skip('\\u')) {
      const low = parseInt(this.match(DIGITS.u)?.[1] ?? '', 16);
      if (low >= 0xdc00 && low < 0xe000) return 0x10000 + (value - 0xd800) * 0x400 + (low - 0xdc00);
      return null;
    }
    return value;
  }
}

/** Code points of each property that was asked for. @type {Map<string, Ranges | null>} */
const properties = new Map();

/**
 * The code points that have a property of Unicode, as the JavaScript engine knows it; null: there is no such property.
 * @param {string} name  as in \p{name}
 * @returns {Ranges | null}
 */
function property(name) {
  const known = properties.get(name);
  if (known !== undefined) return known;
  /** @type {Ranges | null} */
  let ranges = null;
  try {
    const pattern = new RegExp(`\\p{${name}}+`, 'gu');
    ranges = [];
    for (let block = 0; block <= MAX_POINT; block += 0x800) {
      if (block === 0xd800) continue; // the surrogates
      const text = String.fromCodePoint(...Array.from({ length: 0x800 }, (_, i) => block + i));
      const width = block < 0x10000 ? 1 : 2;
      for (const { 0: run, index } of text.matchAll(pattern)) {
        const low = block + index / width;
        const high = low + run.length / width - 1;
        const last = ranges.at(-1);
        if (last && last[1] === low - 1) last[1] = high;
        else ranges.push([low, high]);
      }
    }
  } catch {
    // the engine refuses the name
  }
  if (properties.size < 64) properties.set(name, ranges);
  return ranges;
}

/**
 * Reads a pattern.
 * @param {string} source
 * @returns {Condition[]} all of which hold
 */
export const readPattern = (source) => new Reader(source).whole();
