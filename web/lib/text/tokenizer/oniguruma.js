// oniguruma.js - regular expressions of Oniguruma in its Ruby syntax, which the Rust library takes, as those of
// JavaScript
//
// What has no equal in JavaScript is refused by its name: back references, `\G`, `\K`, `\X`, absent operators, calls.
import { CaseFolds } from './case_folds.js';

/** Characters of words in a class. */
const WORD_IN_CLASS = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}';
/** Characters of words elsewhere: below U+0100 Oniguruma takes those of ISO 8859-1. */
const WORD = `${WORD_IN_CLASS}\\xb2\\xb3\\xb9\\xbc-\\xbe`;
/** Escapes that stand for a class, in brackets or without. @type {Record<string, string>} */
const CLASSES = {
  d: '\\p{Nd}',
  s: '\\p{White_Space}',
  w: WORD_IN_CLASS,
  h: '0-9A-Fa-f',
};
/** Escapes that stand for one character. @type {Record<string, number>} */
const CHARACTERS = { t: 9, n: 10, v: 11, f: 12, r: 13, a: 7, e: 27 };
/** Assertions and other escapes. @type {Record<string, string>} */
const ASSERTIONS = {
  A: '^',
  z: '$',
  Z: '(?=\\n?$)',
  b: `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`,
  B: `(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`,
  R: '(?:\\r\\n|(?!\\r\\n)[\\n-\\r\\x85\\u2028\\u2029])',
  N: '[^\\n]',
  O: '[^]',
};
/** Classes with names of POSIX. @type {Record<string, string>} */
const POSIX = {
  alnum: '\\p{Alphabetic}\\p{Nd}',
  alpha: '\\p{Alphabetic}',
  ascii: '\\0-\\x7f',
  blank: '\\p{Zs}\\t',
  cntrl: '\\p{Cc}',
  digit: '\\p{Nd}',
  graph: '[^\\p{White_Space}\\p{Cc}\\p{Cn}\\p{Cs}]',
  lower: '\\p{Lowercase}',
  print: '[^\\p{Cc}\\p{Cn}\\p{Cs}\\u2028\\u2029]',
  punct: '\\p{P}\\p{S}',
  space: '\\p{White_Space}',
  upper: '\\p{Uppercase}',
  word: WORD_IN_CLASS,
  xdigit: '0-9A-Fa-f',
};
/** Classes that differ between capitals and small letters. */
const CASED = /^(lu|ll|lt|lc|upper|lower|.*case.*)$/i;

/** One code point, as it may stand anywhere in a regular expression. @param {number} code */
const literal = (code) => `\\u{${code.toString(16)}}`;

/**
 * A pattern as a regular expression of JavaScript.
 * @param {string} pattern
 * @returns {{source: string, flags: 'u' | 'v'}}
 * @throws {Error} whose message says what is not supported
 */
export function converted(pattern) {
  const converter = new Converter(pattern);
  const source = converter.alternatives();
  if (converter.at < pattern.length) throw new Error('a bracket is closed that was not opened');
  return { source, flags: converter.nested ? 'v' : 'u' };
}

class Converter {
  at = 0;
  /** Whether a class stands inside another one, which only the flag v allows. */
  nested = false;
  /** Atomic groups so far, each of which is a named group. */
  atoms = 0;
  /** Options that are on: i without case, m where `.` is a line break too, x with comments. */
  options = { i: false, m: false, x: false };
  /** The literal characters before this place, which without case may be one other character. */
  run = '';
  folds = new CaseFolds();

  /** @param {string} pattern */
  constructor(pattern) {
    this.pattern = pattern;
  }

  /** @param {string} text  whether it stands here; it is skipped if so */
  takes(text) {
    if (!this.pattern.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  /** The next code point as text. */
  next() {
    const code = this.pattern.codePointAt(this.at);
    if (code === undefined) throw new Error('it ends early');
    const text = String.fromCodePoint(code);
    this.at += text.length;
    return text;
  }

  /** @param {RegExp} pattern  sticky @returns {RegExpExecArray | null} what stands here, which is skipped */
  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.pattern);
    if (found) this.at = pattern.lastIndex;
    return found;
  }

  /** Alternatives up to the end or a closing bracket. Options that are set among them end there. */
  alternatives() {
    const { options } = this;
    let out = '';
    while (this.at < this.pattern.length && this.pattern[this.at] !== ')') {
      if (this.takes('|')) {
        out += '|';
        this.run = '';
      } else out += this.term();
    }
    this.options = options;
    this.run = '';
    return out;
  }

  /** An atom with its quantifiers. */
  term() {
    if (this.options.x && this.match(/\s+|#[^\n]*/y)) return '';
    let atom = this.atom();
    for (;;) {
      const [quantifier] = this.match(/[*+?]|\{(?:\d+(?:,\d*)?|,\d+)\}/y) ?? [];
      if (!quantifier) return atom;
      if (!atom) throw new Error('a quantifier stands after nothing');
      this.run = '';
      atom = this.quantified(atom, quantifier);
    }
  }

  /**
   * @param {string} atom
   * @param {string} quantifier
   */
  quantified(atom, quantifier) {
    const isBrace = quantifier[0] === '{';
    const [low, high] = quantifier.slice(1, -1).split(',');
    if (isBrace && high && Number(low) > Number(high)) throw new Error(`the quantifier ${quantifier} is not supported`);
    const all = `(?:${atom})${quantifier.replace('{,', '{0,')}`;
    if (isBrace && high === undefined) return all; // {n}? is an optional {n}
    if (this.takes('?')) return `${all}?`;
    return !isBrace && this.takes('+') ? this.atomic(all) : all;
  }

  /**
   * An atomic group: what a lookahead has found is not tried again.
   * @param {string} inside
   */
  atomic(inside) {
    const name = `a${this.atoms++}`;
    return `(?=(?<${name}>${inside}))\\k<${name}>`;
  }

  atom() {
    const c = this.next();
    if (c === '(') return this.group();
    const { i, m } = this.options;
    const other =
      c === '['
        ? `[${this.charClass()}]`
        : c === '.'
          ? m
            ? '[^]'
            : '[^\\n]'
          : c === '^'
            ? '(?:^|(?<=\\n)(?=[^]))'
            : c === '$'
              ? '(?=\\n|$)'
              : c === '\\'
                ? this.escape()
                : /** @type {number} */ (c.codePointAt(0));
    if (typeof other === 'string') {
      this.run = '';
      return other;
    }
    if (!i) return literal(other);
    this.run += String.fromCodePoint(other);
    this.folds.check(this.run, String.fromCodePoint(other));
    return `[${this.folds.of(other).map(literal).join('')}]`;
  }

  /** What stands after an opening bracket. */
  group() {
    this.run = '';
    if (this.takes('?#')) {
      this.match(/[^)]*/y);
      if (!this.takes(')')) throw new Error('a comment is not closed');
      return '';
    }
    const named = this.match(/\?<([A-Za-z_]\w*)>/y);
    const [head] = this.match(/\?(?:[:=!>]|<[=!])/y) ?? [];
    if (!head && !named && this.takes('?')) return this.optionGroup();
    const inside = this.closed();
    if (head === '?>') return this.atomic(inside);
    if (head?.startsWith('?<') && inside.includes('(?<a')) throw new Error('an atomic group in a lookbehind');
    return `(${head ?? '?:'}${inside})`;
  }

  /** Alternatives and the bracket that closes them. */
  closed() {
    const inside = this.alternatives();
    if (!this.takes(')')) throw new Error('a bracket is not closed');
    return inside;
  }

  /** Options, for the rest of this group or for alternatives of their own. */
  optionGroup() {
    const [all, on = '', off = ''] = this.match(/([imx]*)(?:-([imx]*))?(?=[:)])/y) ?? [];
    if (all === undefined) throw new Error(`the group (?${this.pattern.slice(this.at, this.at + 4)} is not supported`);
    const before = this.options;
    this.options = { ...before };
    for (const [letters, value] of /** @type {[string, boolean][]} */ ([
      [on, true],
      [off, false],
    ]))
      for (const letter of letters) this.options[/** @type {'i'} */ (letter)] = value;
    if (this.takes(':')) {
      const inside = `(?:${this.closed()})`;
      this.options = before;
      return inside;
    }
    this.takes(')');
    const rest = this.alternatives(); // `(?i)` also encloses the alternatives after it
    return `(?:${rest})`;
  }

  /** What stands after a backslash outside of a class: a code point, or a part of the expression. */
  escape() {
    const code = this.codePoint();
    if (code !== null) return code;
    const c = this.next();
    if (/[pP]/.test(c)) return `[${this.property(c === 'P')}]`;
    const lower = c.toLowerCase();
    if (lower in CLASSES) return `[${c === lower ? '' : '^'}${lower === 'w' ? WORD : CLASSES[lower]}]`;
    if (c in ASSERTIONS) return ASSERTIONS[c];
    if (/[A-Za-z0-9]/.test(c)) throw new Error(`\\${c} is not supported`);
    return /** @type {number} */ (c.codePointAt(0));
  }

  /** The code point of an escape; null for others. */
  codePoint() {
    const hex = this.match(/x\{([\da-fA-F]{1,6})\}|u([\da-fA-F]{4})|x([0-7][\da-fA-F])|x([\da-fA-F])(?![\da-fA-F])/y);
    if (hex) return parseInt(hex[1] ?? hex[2] ?? hex[3] ?? hex[4], 16);
    const octal = this.match(/0([0-7]{0,2})/y);
    if (octal) return parseInt(octal[1] || '0', 8);
    const c = this.pattern[this.at];
    if (c === 'x' || !(c in CHARACTERS)) return null;
    this.at++;
    return CHARACTERS[c];
  }

  /**
   * The inside of a class with the characters of a property.
   * @param {boolean} isNegated
   */
  property(isNegated) {
    const found = this.match(/\{(\^?)\s*([\w -]+?)\s*\}/y);
    if (!found) throw new Error('\\p without the name of a property');
    const name = found[2];
    if (this.options.i && CASED.test(name)) throw new Error(`\\p{${name}} without case is not supported`);
    const negated = isNegated !== (found[1] === '^');
    const posix = /^word$/i.test(name) ? WORD : POSIX[name.toLowerCase()];
    if (posix && !/^punct$/i.test(name)) return this.negated(posix, negated);
    const title = name.replace(/[ -]/g, '_').replace(/(^|_)([a-z])/g, (_, a, b) => a + b.toUpperCase());
    for (const each of [name, title, `Script=${name}`, `Script=${title}`])
      try {
        new RegExp(`\\p{${each}}`, 'u');
        return `\\${negated ? 'P' : 'p'}{${each}}`;
      } catch {
        continue;
      }
    throw new Error(`the property ${name} is not known`);
  }

  /**
   * @param {string} inside  of a class
   * @param {boolean} isNegated
   */
  negated(inside, isNegated) {
    this.nested ||= isNegated || inside[0] === '[';
    return isNegated ? `[^${inside}]` : inside;
  }

  /** The inside of a class after its opening bracket. */
  charClass() {
    const start = this.takes('^') ? '^' : '';
    if (this.pattern[this.at] === ']') throw new Error('a class begins with ]');
    /** @type {string[]} parts between && */
    const parts = [''];
    while (!this.takes(']')) {
      if (this.takes('&&')) parts.push('');
      else parts[parts.length - 1] += this.classItem();
    }
    if (parts.length === 1) return start + parts[0];
    this.nested = true;
    return start + parts.map((part) => `[${part}]`).join('&&');
  }

  /** A character, a range, a class with a name, or a class within this one. */
  classItem() {
    const posix = this.match(/\[:(\^?)(\w+):\]/y);
    if (posix) {
      if (!(posix[2] in POSIX)) throw new Error(`the class [:${posix[2]}:] is not supported`);
      if (this.options.i && CASED.test(posix[2])) throw new Error(`[:${posix[2]}:] without case is not supported`);
      return this.negated(POSIX[posix[2]], posix[1] === '^');
    }
    if (this.takes('[')) {
      this.nested = true;
      return `[${this.charClass()}]`;
    }
    const first = this.classCharacter();
    if (typeof first === 'string') return first;
    if (!/^-[^\]]/.test(this.pattern.slice(this.at, this.at + 2)) || this.pattern.startsWith('-&&', this.at))
      return this.range(first, first);
    this.at++;
    const last = this.classCharacter();
    if (typeof last === 'string') return `${literal(first)}${literal(45)}${last}`;
    if (last < first) throw new Error('a range of a class is empty');
    return this.range(first, last);
  }

  /** A code point of a class, or the inside of a class that an escape names. */
  classCharacter() {
    const c = this.next();
    if (c !== '\\') return /** @type {number} */ (c.codePointAt(0));
    const code = this.codePoint();
    if (code !== null) return code;
    const letter = this.next();
    if (/[pP]/.test(letter)) return this.property(letter === 'P');
    const lower = letter.toLowerCase();
    if (lower in CLASSES) return this.negated(CLASSES[lower], letter !== lower);
    if (letter === 'b') return 8;
    if (letter === 'R' || /[A-Za-z1-9]/.test(letter)) throw new Error(`\\${letter} in a class is not supported`);
    return /** @type {number} */ (letter.codePointAt(0));
  }

  /**
   * @param {number} first
   * @param {number} last
   */
  range(first, last) {
    const all = first === last ? literal(first) : `${literal(first)}-${literal(last)}`;
    if (!this.options.i) return all;
    return all + this.folds.ofRange(first, last).map(literal).join('');
  }
}
