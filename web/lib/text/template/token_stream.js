// token_stream.js - the tokens of a template, read one after the other
import { tokensOf } from './template_tokens.js';

/** @import { Token } from './template_tokens.js' */

/** A position among the tokens. */
export class TokenStream {
  #tokens;
  #at = 0;

  /** @param {string} source  a template */
  constructor(source) {
    this.#tokens = tokensOf(source);
  }

  /** The token that is read next. @returns {Token} */
  get current() {
    return this.#tokens[this.#at];
  }

  /** The token after it. @returns {Token} */
  get following() {
    return this.#tokens[this.#at + 1] ?? this.current;
  }

  /** @returns {Token} */
  next() {
    const token = this.current;
    if (this.#at < this.#tokens.length - 1) this.#at++;
    return token;
  }

  /** Whether the next token is one of these. @param {string[]} types */
  is(...types) {
    return types.includes(this.current.type);
  }

  /** Whether the next token is one of these names. @param {string[]} names */
  isName(...names) {
    return this.current.type === 'name' && names.includes(this.current.value);
  }

  /** @param {string} type @returns {boolean} */
  skip(type) {
    return this.is(type) && Boolean(this.next());
  }

  /** @param {string} name @returns {boolean} */
  skipName(name) {
    return this.isName(name) && Boolean(this.next());
  }

  /** @param {string} type @returns {Token} */
  expect(type) {
    return this.is(type) ? this.next() : this.unexpected(type);
  }

  /** @param {string} name */
  expectName(name) {
    return this.isName(name) ? this.next() : this.unexpected(name);
  }

  /** @param {string} expected @returns {never} */
  unexpected(expected) {
    const { type, value } = this.current;
    const found = type === 'end' ? 'the end of the template' : type === 'data' ? 'text' : String(value);
    throw new Error(`expected ${expected}, found ${found}`);
  }
}
