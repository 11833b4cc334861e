// component.js - one component of a tokenizer.json, its options read with their types
import { fail, show } from '../../base/errors.js';

/** @typedef {Record<string, any>} Json */

/**
 * @param {string} why
 * @returns {never}
 */
export const refuse = (why) => fail('bad-tokenizer', `tokenizer: ${why}`);

/** An option that is missing or null has the value that the Rust library gives it. */
export class Component {
  /**
   * @param {Json} json
   * @param {string} part  of the tokenizer.json, for messages: normalizer, pre_tokenizer, ...
   */
  constructor(json, part) {
    this.json = json;
    this.part = part;
  }

  /**
   * @template T
   * @param {string} name
   * @param {T | undefined} fallback  undefined: the option must be there
   * @param {(value: any) => boolean} fits
   * @param {string} expected
   * @returns {T}
   */
  #read(name, fallback, fits, expected) {
    const value = this.json[name] ?? fallback;
    return fits(value) ? value : this.refuse(`${name} is ${show(value)}, expected ${expected}`);
  }

  /**
   * @param {string} why
   * @returns {never}
   */
  refuse(why) {
    return refuse(`the ${this.part} ${this.json.type}: ${why}`);
  }

  /** @param {string} name @param {boolean} [fallback] */
  flag(name, fallback) {
    return this.#read(name, fallback, (v) => typeof v === 'boolean', 'true or false');
  }

  /** @param {string} name @param {string} [fallback] */
  text(name, fallback) {
    return this.#read(name, fallback, (v) => typeof v === 'string', 'a text');
  }

  /** @param {string} name @param {string} [fallback] */
  character(name, fallback) {
    return this.#read(name, fallback, (v) => typeof v === 'string' && /^[^]$/u.test(v), 'one character');
  }

  /** @param {string} name @param {number} least @param {number} [fallback] */
  count(name, least, fallback) {
    const fits = (/** @type {any} */ v) => Number.isInteger(v) && v >= least;
    return this.#read(name, fallback, fits, `a whole number from ${least} on`);
  }

  /** @param {string} name @param {string[]} words @param {string} [fallback] */
  word(name, words, fallback) {
    return this.#read(name, fallback, (v) => words.includes(v), words.join(', '));
  }

  /** @param {string} name @returns {any[]} */
  list(name) {
    return this.#read(name, /** @type {any} */ (undefined), Array.isArray, 'a list');
  }
}

/**
 * Make one component by the table of its part.
 * @template T
 * @param {any} json
 * @param {string} part
 * @param {Record<string, (options: Component) => T>} table  by type
 * @returns {T | null} null where the tokenizer.json has none
 */
export function component(json, part, table) {
  if (json === null || json === undefined) return null;
  if (typeof json !== 'object') refuse(`the ${part} is ${show(json)}, expected an object`);
  if (typeof json.type !== 'string' || !Object.hasOwn(table, json.type))
    fail(
      'unsupported',
      `tokenizer: the ${part} ${show(json.type ?? 'without a type')} is not supported, expected one of ` +
        Object.keys(table).join(', '),
    );
  return table[json.type](new Component(json, part));
}
