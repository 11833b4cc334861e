// gbnf.js - reads grammars in GBNF, the form of llama.cpp
//
//   root  ::= greeting " " name "!"      the text follows this rule
//   name  ::= [A-Z] [a-z]{1,9} | "Ada"   ranges of characters, alternatives, repetition: * + ? {n} {n,} {n,m}
//   # a comment
//
// Names consist of letters, digits, hyphens and underscores. Texts and ranges take \n \r \t \\ \" \[ \] \xHH
// \uHHHH \UHHHHHHHH; `.` is any character; [^...] any other one. Line breaks are spaces: a rule ends where the next one
// begins.
import { fail, show } from '../../base/errors.js';
import { MAX_NODES, MAX_POINT, choice, complement, repeat, sequence, text } from './expression.js';
import { Scanner } from './scanner.js';

/** @import { Expression } from './expression.js' */

const SPACE = /(?:\s|#[^\n]*)*/y;
const NAME = /[\w-]+/y;
/** The beginning of a rule. A comment is matched in one way only: no text takes long. */
const RULE = /([\w-]+)(?:\s|#[^\n]*(?:\n|$))*::=/y;
const COUNTS = /\{\s*(\d+)\s*(?:(,)\s*(\d+)?\s*)?\}/y;
/** A token by its text or number, or any other one. */
const TOKEN = /!?<[^>\n]*>/y;
/** Deepest nesting of groups. */
const MAX_DEPTH = 64;
/** @type {Record<string, string>} */
const ESCAPES = { n: '\n', r: '\r', t: '\t', '\\': '\\', '"': '"', '[': '[', ']': ']', '^': '^', '-': '-' };
/** Digits of an escape with a code point. @type {Record<string, number>} */
const DIGITS = { x: 2, u: 4, U: 8 };

/** Reads one grammar. */
class Reader extends Scanner {
  /**
   * @param {string} expected
   * @returns {never}
   */
  refuse(expected) {
    const line = this.source.slice(0, this.at).split('\n').length;
    const found = this.at < this.source.length ? show(this.source.slice(this.at, this.at + 12)) : 'the end';
    return fail('bad-option', `grammar, line ${line}: found ${found}, expected ${expected}`);
  }

  /** Whether a rule begins here: its name and `::=`. */
  get beginsRule() {
    RULE.lastIndex = this.at;
    return RULE.test(this.source);
  }

  /** @returns {Map<string, Expression>} */
  rules() {
    /** @type {Map<string, Expression>} */
    const rules = new Map();
    for (this.match(SPACE); this.at < this.source.length;) {
      const [, name] = this.match(RULE) ?? this.refuse('a rule, which is a name followed by ::=');
      if (rules.has(name)) fail('bad-option', `grammar: there are two rules ${name}`);
      rules.set(name, this.alternatives());
    }
    return rules;
  }

  /** @returns {Expression} */
  alternatives() {
    if (++this.depth > MAX_DEPTH) this.refuse(`at most ${MAX_DEPTH} groups inside each other`);
    const any = [];
    do {
      /** @type {Expression[]} */
      const all = [];
      for (this.match(SPACE); this.at < this.source.length && !'|)'.includes(this.source[this.at]);) {
        if (this.beginsRule) break;
        all.push(this.repeated(this.item()));
      }
      any.push(all.length === 1 ? all[0] : sequence(...all));
    } while (this.skip('|'));
    this.depth--;
    return any.length === 1 ? any[0] : choice(...any);
  }

  /** @returns {Expression} */
  item() {
    if (this.skip('"')) return this.literal();
    if (this.skip('[')) return this.range();
    if (this.skip('.')) return { chars: [[0, MAX_POINT]] };
    const token = this.match(TOKEN);
    if (token) fail('unsupported', `grammar: tokens of the vocabulary such as ${show(token[0])} are not supported`);
    if (this.skip('(')) {
      const inner = this.alternatives();
      return this.skip(')') ? inner : this.refuse('")"');
    }
    const name = this.match(NAME);
    return name
      ? { rule: name[0] }
      : this.refuse('a text in quotes, a range in brackets, a group or the name of a rule');
  }

  /**
   * An item with the repetition that follows it.
   * @param {Expression} item
   */
  repeated(item) {
    for (let n = 0; ; n++) {
      this.match(SPACE);
      if (n > MAX_DEPTH) this.refuse(`at most ${MAX_DEPTH} repetitions of one item`);
      if (this.skip('*')) item = repeat(item, 0, Infinity);
      else if (this.skip('+')) item = repeat(item, 1, Infinity);
      else if (this.skip('?')) item = repeat(item, 0, 1);
      else if (this.source[this.at] === '{') {
        const [written, least, comma, most] = this.match(COUNTS) ?? this.refuse('a repetition such as {2} or {1,3}');
        const high = comma ? Number(most ?? Infinity) : Number(least);
        if (high < Number(least)) fail('bad-option', `grammar: the repetition {${least},${most}} is empty`);
        if (Number(least) > MAX_NODES || Number(most ?? 0) > MAX_NODES)
          fail('bad-option', `grammar: the repetition ${show(written)} is above the limit, which is ${MAX_NODES}`);
        item = repeat(item, Number(least), high);
      } else return item;
    }
  }

  /** One character of a text or range, as a code point. */
  point() {
    const c = String.fromCodePoint(this.source.codePointAt(this.at) ?? this.refuse('a character'));
    if (c !== '\\') {
      this.at += c.length;
      return /** @type {number} */ (c.codePointAt(0));
    }
    const kind = this.source[this.at + 1] ?? '';
    const digits = DIGITS[kind];
    if (digits) {
      const value = this.source.slice(this.at + 2, this.at + 2 + digits);
      if (value.length < digits || !/^[\da-f]+$/i.test(value) || parseInt(value, 16) > MAX_POINT)
        this.refuse(`\\${kind} with ${digits} hexadecimal digits`);
      this.at += 2 + digits;
      return parseInt(value, 16);
    }
    const plain = ESCAPES[kind] ?? this.refuse('an escape \\n \\r \\t \\\\ \\" \\[ \\] \\x \\u or \\U');
    this.at += 2;
    return /** @type {number} */ (plain.codePointAt(0));
  }

  /** @returns {Expression} */
  literal() {
    let value = '';
    while (!this.skip('"')) value += String.fromCodePoint(this.point());
    return text(value);
  }

  /** @returns {Expression} */
  range() {
    const negated = this.skip('^');
    /** @type {[number, number][]} */
    const ranges = [];
    while (!this.skip(']')) {
      const low = this.point();
      const isRange = this.source[this.at] === '-' && this.source[this.at + 1] !== ']';
      if (isRange) this.at++;
      const high = isRange ? this.point() : low;
      if (high < low) this.refuse('a range whose end is not before its beginning');
      ranges.push([low, high]);
    }
    return { chars: negated ? complement(ranges) : ranges };
  }
}

/**
 * Reads a grammar.
 * @param {string} source
 * @returns {import('./expression.js').Grammar}
 */
export function readGbnf(source) {
  const rules = new Reader(source).rules();
  if (!rules.has('root')) fail('bad-option', 'grammar: there is no rule root, which the text follows');
  return { rules, root: 'root' };
}
