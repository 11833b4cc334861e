// python_values.js - the values of a template: Python's types, as far as JavaScript has none that behaves like them
//
// | Python        | here                                            |
// |---------------|-------------------------------------------------|
// | None, bool    | null, boolean                                   |
// | int           | number that is a safe integer, or bigint        |
// | float         | Float                                           |
// | str, Markup   | string, Markup                                  |
// | list, tuple   | Array, Tuple                                    |
// | dict          | Dict                                            |
// | Undefined     | Undefined                                       |
// | range         | Range                                           |
// | a generator   | Generator                                       |
// | anything else | Opaque: functions, macros, loops, namespaces    |
import { MOST, checkSize, step } from './template_limits.js';

/** A float. */
export class Float {
  /** @param {number} value */
  constructor(value) {
    this.value = value;
  }
}

/** A text that counts as HTML: what is joined to it is escaped. */
export class Markup {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
}

/** A list that cannot change. `fields`: names of its entries. */
export class Tuple extends Array {
  /** @type {string[]} */
  fields = [];
}

/**
 * A tuple.
 * @param {Iterable<any>} items
 * @param {string[]} [fields]
 * @returns {Tuple}
 */
export function tupleOf(items, fields) {
  const tuple = new Tuple();
  for (const item of items) tuple.push(item);
  if (fields) tuple.fields = fields;
  return tuple;
}

/** A value that is missing. It may be printed, iterated and compared; anything else refuses the template. */
export class Undefined {
  /** @param {string} why  the message of that refusal */
  constructor(why) {
    this.why = why;
  }

  /** @returns {never} */
  refuse() {
    throw new Error(this.why);
  }
}

/** Numbers from start to stop in steps. */
export class Range {
  /**
   * @param {number} start
   * @param {number} stop
   * @param {number} step
   */
  constructor(start, stop, step) {
    if (step === 0) throw new Error('range() has a step of zero');
    this.start = start;
    this.stop = stop;
    this.step = step;
    this.length = Math.max(0, Math.ceil((stop - start) / step));
    if (this.length > MOST.range)
      throw new Error(`range(${start}, ${stop}, ${step}) has more than ${MOST.range} numbers`);
  }

  /** @param {number} i */
  at(i) {
    return this.start + i * this.step;
  }

  *[Symbol.iterator]() {
    for (let i = 0; i < this.length; i++) yield this.at(i);
  }
}

/** What can be iterated once. */
export class Generator {
  /** @param {Iterable<any>} source */
  constructor(source) {
    this.iterator = source[Symbol.iterator]();
  }

  /** A loop that is left does not end it. */
  [Symbol.iterator]() {
    return { next: () => this.iterator.next() };
  }
}

/**
 * An object that has attributes, or can be called.
 * @typedef {(args: any[], kwargs: Map<string, any>) => any} Callable
 */
export class Opaque {
  /**
   * @param {string} type  its name in Python
   * @param {{call?: Callable, attribute?: (name: string) => any, text?: () => string, length?: () => number}} does
   *   attribute: undefined for one that it has not; text: how it is printed
   */
  constructor(type, { call, attribute, text, length }) {
    this.type = type;
    this.call = call;
    this.attribute = attribute;
    this.length = length;
    this.text = text ?? (() => `<${type} object>`);
  }
}

/** Keys, values or entries of a dictionary, as they are when they are read. */
export class View {
  /**
   * @param {'keys' | 'values' | 'items'} kind
   * @param {Dict} dict
   */
  constructor(kind, dict) {
    this.kind = kind;
    this.dict = dict;
  }

  /** @returns {any[]} */
  get entries() {
    if (this.kind === 'items') return this.dict.entries.map((entry) => tupleOf(entry));
    return this.dict.entries.map(([key, value]) => (this.kind === 'keys' ? key : value));
  }
}

/** A dictionary in the order in which its keys were set. */
export class Dict {
  /** @type {Map<any, [any, any]>} */
  #entries = new Map();

  /** @param {Iterable<[any, any]>} [entries] */
  constructor(entries = []) {
    for (const [key, value] of entries) this.set(key, value);
  }

  get size() {
    return this.#entries.size;
  }

  /** Keys with their values. @returns {[any, any][]} */
  get entries() {
    return [...this.#entries.values()];
  }

  /** @param {any} key @returns {any}  undefined: it has none */
  get(key) {
    return this.#entries.get(identityOf(key))?.[1];
  }

  /** @param {any} key */
  has(key) {
    return this.#entries.has(identityOf(key));
  }

  /**
   * @param {any} key
   * @param {any} value
   */
  set(key, value) {
    const identity = identityOf(key);
    const entry = this.#entries.get(identity);
    if (entry) entry[1] = value;
    else this.#entries.set(identity, [key, value]);
  }
}

/** Python's hash of any undefined value. */
const UNDEFINED = Symbol('undefined');

/**
 * What equal keys have in common: 1, 1.0 and True are one key.
 * @param {any} key
 * @returns {any}
 */
export function identityOf(key) {
  if (typeof key === 'string') return key[0] === '\0' ? `\0${key}` : key;
  if (key instanceof Markup) return identityOf(key.text);
  if (key instanceof Float) return Number.isInteger(key.value) ? integer(BigInt(key.value)) : key.value;
  if (typeof key === 'boolean') return Number(key);
  if (key instanceof Undefined) return UNDEFINED;
  if (key instanceof Tuple) {
    step(key.length);
    const parts = key.map((part) => {
      const own = identityOf(part);
      return `${typeof own}${String(own).length}:${String(own)}`;
    });
    const text = Array.from(parts).join('');
    checkSize(text.length);
    return `\0(${text})`;
  }
  if (Array.isArray(key) || key instanceof Dict) throw new Error(`unhashable type: '${typeName(key)}'`);
  return key;
}

/** An integer in the form that it has here. @param {bigint} value @returns {number | bigint} */
export const integer = (value) =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;

/** Whether a value is an int of Python, which True and False are. @param {any} value @returns {boolean} */
export const isInt = (value) => typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint';

/** Whether a value is a str of Python. @param {any} value */
export const isText = (value) => typeof value === 'string' || value instanceof Markup;

/** Whether it is a list, and not a tuple. @param {any} value */
export const isList = (value) => Array.isArray(value) && !(value instanceof Tuple);

const PRIMITIVES = { string: 'str', number: 'int', bigint: 'int', boolean: 'bool' };
const CLASSES = Object.entries({ float: Float, Markup, dict: Dict, Undefined, range: Range, generator: Generator });

/**
 * The name of a value's type in Python.
 * @param {any} value
 * @returns {string}
 */
export function typeName(value) {
  if (value === null) return 'NoneType';
  if (value instanceof Opaque) return value.type;
  if (value instanceof View) return `dict_${value.kind}`;
  if (Array.isArray(value)) return value instanceof Tuple ? 'tuple' : 'list';
  const own = PRIMITIVES[/** @type {'string'} */ (typeof value)];
  return own ?? CLASSES.find(([, one]) => value instanceof one)?.[0] ?? 'object';
}

/**
 * A value of the caller's, which is JSON, as Python reads it.
 * @param {any} value
 * @returns {any}
 */
export function fromJson(value) {
  if (typeof value === 'number') {
    if (!Number.isInteger(value) || Math.abs(value) >= 1e21) return new Float(value);
    return Number.isSafeInteger(value) ? value + 0 : BigInt(value);
  }
  if (typeof value === 'bigint') return integer(value);
  if (Array.isArray(value)) return value.map((entry) => fromJson(entry ?? null));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  return new Dict(entries.map(([key, entry]) => [key, fromJson(entry)]));
}

/**
 * The text of a str.
 * @param {any} value
 * @returns {string}
 */
export function textOf(value) {
  if (typeof value === 'string') return value;
  if (value instanceof Markup) return value.text;
  if (value instanceof Undefined) return value.refuse();
  throw new Error(`expected a str, found ${typeName(value)}`);
}

/**
 * A whole number that counts or points.
 * @param {any} value
 * @returns {number}
 */
export function indexOf(value) {
  if (value instanceof Undefined) return value.refuse();
  if (!isInt(value)) throw new Error(`'${typeName(value)}' object cannot be interpreted as an integer`);
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(value)));
}
