// template_tokens.js - the tokens of a template: text, and what stands inside {{ }}, {% %} and {# #}
//
// White space around tags goes as with trim_blocks and lstrip_blocks, which transformers sets.
import { SPACE, stripped } from './code_points.js';
import { escaped } from './python_text.js';
import { Float, integer } from './python_values.js';

/**
 * type: data, name, string, integer, float, end, the text of an operator, or of a delimiter: {{ }} {% %}
 * @typedef {{type: string, value: any}} Token
 */

const WS = `[${SPACE}]`;
/** The next tag, with what removes white space before it. */
const TAG = new RegExp(`(\\{%([-+]?)${WS}*raw${WS}*(?:-%\\}${WS}*|%\\}))|(\\{\\{|\\{%|\\{#)([-+]?)`, 'g');
const COMMENT_END = new RegExp(`\\+#\\}|-#\\}${WS}*|#\\}\\n?`, 'g');
const RAW_END = new RegExp(`\\{%([-+]?)${WS}*endraw${WS}*(?:\\+%\\}|-%\\}${WS}*|%\\}\\n?)`, 'g');
const BLOCK_END = new RegExp(`\\+%\\}|-%\\}${WS}*|%\\}\\n?`, 'y');
const VARIABLE_END = new RegExp(`-\\}\\}${WS}*|\\}\\}`, 'y');
const BLANKS = new RegExp(`${WS}+`, 'y');
const ALL_BLANKS = new RegExp(`^${WS}+$`);
const FLOAT = /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy;
const INTEGER = /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy;
const NAME = /[\p{L}\p{N}\p{ID_Continue}_]+/uy;
const STRING = /'[^'\\]*(?:\\[^][^'\\]*)*'|"[^"\\]*(?:\\[^][^"\\]*)*"/y;
const OPERATOR = /\/\/|\*\*|[=!<>]=|[-+/*%~[\](){}<>=.:|,;]/y;
const CLOSES = /** @type {Record<string, string>} */ ({ '(': ')', '[': ']', '{': '}' });

const ESCAPE = /\\(?:\n|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|([^]))/gu;
const LETTERS = /** @type {Record<string, string>} */ ({
  ...{ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
  ...{ '\\': '\\', "'": "'", '"': '"' },
});

/** The value of a string literal. @param {string} literal */
function unescaped(literal) {
  return literal.slice(1, -1).replace(ESCAPE, (whole, x, u, long, octal, letter) => {
    const digits = x ?? u ?? long;
    const code = parseInt(digits, 16);
    if (code > 0x10ffff) throw new Error(`a string has ${whole}, which is no character`);
    if (digits !== undefined) return String.fromCodePoint(code);
    if (octal !== undefined) return String.fromCodePoint(parseInt(octal, 8));
    if (letter === undefined) return '';
    if ('xuUN'.includes(letter)) throw new Error(`a string has ${whole}, which is not a character that is supported`);
    // Python decodes what it has written in ASCII before: a backslash before another letter stays
    return LETTERS[letter] ?? (letter > '\x7f' ? escaped(letter) : whole);
  });
}

/** Reads a template from its beginning to its end. */
class Reader {
  /** @type {Token[]} */
  tokens = [];
  #at = 0;
  #startsLine = true;

  /** @param {string} source */
  constructor(source) {
    this.source = source.replace(/\r\n?/g, '\n').replace(/\n$/, '');
  }

  /** @param {RegExp} pattern sticky @returns {string | undefined} */
  #take(pattern) {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.source)?.[0];
    if (found !== undefined) this.#pass(this.#at + found.length);
    return found;
  }

  /** @param {number} end */
  #pass(end) {
    this.#at = end;
    this.#startsLine = this.source[end - 1] === '\n';
  }

  /** @param {string} type @param {any} [value] */
  #add(type, value = type) {
    this.tokens.push({ type, value });
  }

  /**
   * The text before a tag.
   * @param {string} text
   * @param {string} sign  - or +
   * @param {boolean} [isVariable]
   */
  #addText(text, sign, isVariable = false) {
    if (sign === '-') text = stripped(text, null, 'right');
    else if (sign !== '+' && !isVariable) {
      const line = text.lastIndexOf('\n') + 1;
      if ((line > 0 || this.#startsLine) && ALL_BLANKS.test(text.slice(line))) text = text.slice(0, line);
    }
    if (text) this.#add('data', text);
  }

  /** The tokens of the whole template. */
  read() {
    for (;;) {
      TAG.lastIndex = this.#at;
      const found = TAG.exec(this.source);
      const text = this.source.slice(this.#at, found?.index);
      if (!found) {
        if (text) this.#add('data', text);
        this.#add('end');
        return this.tokens;
      }
      const [whole, raw, rawSign, open, sign] = found;
      this.#addText(text, raw ? rawSign : sign, open === '{{');
      this.#pass(found.index + whole.length);
      if (raw) this.#raw();
      else if (open === '{#') this.#comment();
      else this.#inside(open);
    }
  }

  #comment() {
    COMMENT_END.lastIndex = this.#at;
    const found = COMMENT_END.exec(this.source);
    if (!found && this.#at < this.source.length) throw new Error('a comment has no end');
    if (!found) return;
    this.#pass(found.index + found[0].length);
  }

  #raw() {
    RAW_END.lastIndex = this.#at;
    const found = RAW_END.exec(this.source);
    if (!found && this.#at < this.source.length) throw new Error('raw has no end');
    if (!found) return;
    this.#addText(this.source.slice(this.#at, found.index), found[1]);
    this.#pass(found.index + found[0].length);
  }

  /** @param {string} open  {{ or {% */
  #inside(open) {
    const [close, end] = open === '{{' ? ['}}', VARIABLE_END] : ['%}', BLOCK_END];
    /** @type {string[]} */
    const brackets = [];
    this.#add(open);
    for (;;) {
      if (!brackets.length && this.#take(end) !== undefined) return this.#add(close);
      if (this.#take(BLANKS) !== undefined) continue;
      if (this.#at >= this.source.length) return this.#add('end');
      this.#token(brackets);
    }
  }

  /** @param {string[]} brackets  that are open */
  #token(brackets) {
    const float = this.#take(FLOAT);
    if (float !== undefined) return this.#add('float', new Float(Number(float.replaceAll('_', ''))));
    const digits = this.#take(INTEGER);
    if (digits !== undefined) return this.#add('integer', integer(BigInt(digits.replaceAll('_', ''))));
    const name = this.#take(NAME);
    if (name !== undefined) {
      if (!/^[\p{ID_Start}_]\p{ID_Continue}*$/u.test(name)) throw new Error(`${name} is not a name`);
      return this.#add('name', name);
    }
    const string = this.#take(STRING);
    if (string !== undefined) return this.#add('string', unescaped(string));
    const operator = this.#take(OPERATOR);
    if (operator === undefined)
      throw new Error(`the template has an unexpected ${JSON.stringify(this.source[this.#at])}`);
    if (CLOSES[operator]) brackets.push(CLOSES[operator]);
    else if (')]}'.includes(operator) && brackets.pop() !== operator) throw new Error(`unexpected '${operator}'`);
    this.#add(operator);
  }
}

/** The tokens of a template; the last one is `end`. @param {string} source @returns {Token[]} */
export const tokensOf = (source) => new Reader(source).read();
