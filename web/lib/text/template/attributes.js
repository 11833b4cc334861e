// attributes.js - attributes and entries of values, as the sandbox of Jinja2 allows them
import { bound } from './call_arguments.js';
import { braceFormatted } from './brace_format.js';
import { entryOf, isEqual, isTrue, iterated, listOf } from './operators.js';
import { integerText } from './python_numbers.js';
import { repr } from './python_text.js';
import {
  Dict,
  Float,
  Markup,
  Opaque,
  Range,
  Tuple,
  Undefined,
  View,
  indexOf,
  isInt,
  isList,
  isText,
  textOf,
  typeName,
} from './python_values.js';
import { TEXT_METHODS, markupMethod } from './text_methods.js';

/**
 * Methods of a type: parameters (call_arguments.js) and a function.
 * @typedef {Record<string, [string, Function]>} Methods
 */

/** @type {Methods} */
const SEQUENCE = {
  count: [
    '/value',
    (/** @type {any} */ all, /** @type {any} */ one) => Array.from(all).filter((x) => isEqual(x, one)).length,
  ],
  index: [
    '/value /start? /stop?',
    (
      /** @type {any} */ all,
      /** @type {any} */ one,
      /** @type {any} */ start = 0,
      /** @type {any} */ stop = all.length,
    ) => {
      const list = Array.from(all);
      const [from, to] = [start, stop].map(indexOf).map((at) => (at < 0 ? Math.max(0, at + list.length) : at));
      const found = list.findIndex((x, i) => i >= from && i < to && isEqual(x, one));
      if (found < 0) throw new Error(`${repr(one)} is not in list`);
      return found;
    },
  ],
};

/** @type {Methods} */
const LIST = { ...SEQUENCE, copy: ['', listOf] };

/** @type {Methods} */
const DICT = {
  copy: ['', (/** @type {Dict} */ dict) => new Dict(dict.entries)],
  fromkeys: ['/keys /value?', (/** @type {Dict} */ _, /** @type {any} */ keys, value = null) => fromKeys(keys, value)],
  get: [
    '/key /default?',
    (/** @type {Dict} */ dict, /** @type {any} */ key, other = null) => {
      const value = dict.get(key);
      return value === undefined ? other : value;
    },
  ],
  items: ['', (/** @type {Dict} */ dict) => new View('items', dict)],
  keys: ['', (/** @type {Dict} */ dict) => new View('keys', dict)],
  values: ['', (/** @type {Dict} */ dict) => new View('values', dict)],
};
/** @type {Methods} */
const INT = {
  bit_count: ['', (/** @type {any} */ n) => [...BigInt(n).toString(2)].filter((c) => c === '1').length],
  bit_length: ['', (/** @type {any} */ n) => (isTrue(n) ? BigInt(n).toString(2).replace('-', '').length : 0)],
  conjugate: ['', (/** @type {any} */ n) => (typeof n === 'boolean' ? Number(n) : n)],
};
/** @type {Methods} */
const FLOAT = {
  conjugate: ['', (/** @type {Float} */ n) => n],
  is_integer: ['', (/** @type {Float} */ n) => Number.isInteger(n.value)],
};

/** Attributes that exist in Python and are no functions. @type {Record<string, (value: any) => any>} */
const NUMBER_PARTS = {
  real: (value) => (typeof value === 'boolean' ? Number(value) : value),
  imag: (value) => (value instanceof Float ? new Float(0) : 0),
  numerator: (value) => (typeof value === 'boolean' ? Number(value) : value),
  denominator: () => 1,
};

/** Methods that would change what they belong to; the sandbox gives an undefined value for each. */
const CHANGING = {
  list: ['append', 'clear', 'extend', 'insert', 'pop', 'remove', 'reverse', 'sort'],
  dict: ['clear', 'pop', 'popitem', 'setdefault', 'update'],
};
/** Methods of Python that are not supported here. */
const UNSUPPORTED = {
  str: ['encode', 'maketrans'],
  int: ['as_integer_ratio', 'from_bytes', 'to_bytes'],
  float: ['as_integer_ratio', 'fromhex', 'hex'],
  generator: ['close', 'send', 'throw'],
};

/** dict.fromkeys @param {any} keys @param {any} value */
export const fromKeys = (keys, value = null) => new Dict(Array.from(iterated(keys), (key) => [key, value]));

/** The methods of each type. @type {Record<string, Methods>} */
const METHODS = { str: TEXT_METHODS, dict: DICT, list: LIST, tuple: SEQUENCE, range: SEQUENCE, int: INT, float: FLOAT };

/** The type whose methods a value has. @param {any} value @returns {string} */
function kindOf(value) {
  if (value instanceof Dict) return 'dict';
  if (isText(value)) return 'str';
  return isInt(value) ? 'int' : typeName(value);
}

/** @param {any} value @param {string} kind @param {string} name @returns {any} */
function ownMethod(value, kind, name) {
  const methods = METHODS[kind];
  if (!methods || !Object.hasOwn(methods, name)) return;
  const [signature, run] = methods[name];
  const call = (/** @type {any[]} */ args, /** @type {Map<string, any>} */ kwargs) => {
    const given = bound(name, signature, args, kwargs);
    return value instanceof Markup ? markupMethod(name, value, given) : run(value, ...given);
  };
  return new Opaque('builtin_function_or_method', { call });
}

/** str.format and format_map. @param {any} format @param {boolean} isMap */
function formatMethod(format, isMap) {
  return new Opaque('function', {
    call: (args, kwargs) => {
      const named = isMap ? args[0] : new Dict(kwargs);
      if (isMap && (args.length !== 1 || kwargs.size)) throw new Error('format_map() takes one argument');
      const value = (/** @type {number | string} */ name) => {
        const own = typeof name === 'number' ? (isMap ? undefined : args[name]) : entryOf(named, name);
        if (own === undefined) throw new Error(`format() has no argument for {${name}}`);
        return own;
      };
      return braceFormatted(format, { value, attribute: attributeOf, entry: itemOf });
    },
  });
}

/**
 * What getattr() gives in Python.
 * @param {any} value
 * @param {string} name
 * @returns {any}  undefined: it has no such attribute
 */
function rawAttribute(value, name) {
  // what every object of Python has is not safe; anything else of an undefined value refuses the template
  if (value instanceof Undefined)
    return /^__(?:class|doc|init|str|repr|eq|hash|len|iter)__$/.test(name) ? value : value.refuse();
  if (value instanceof Opaque) return value.attribute?.(name);
  if (value instanceof Tuple && value.fields.includes(name)) return value[value.fields.indexOf(name)];
  if (isText(value) && (name === 'format' || name === 'format_map')) return formatMethod(value, name === 'format_map');
  if (value instanceof Markup && (name === 'striptags' || name === 'unescape'))
    throw new Error(`the method ${name} of a Markup is not supported: use the filter striptags`);
  const kind = kindOf(value);
  if (CHANGING[/** @type {'list'} */ (kind)]?.includes(name))
    return new Undefined(`the template must not use ${name} of a ${kind}, which would change it`);
  const isPart = kind === 'int' || (kind === 'float' && /^(?:real|imag)$/.test(name));
  if (isPart && Object.hasOwn(NUMBER_PARTS, name)) return NUMBER_PARTS[name](value);
  if (value instanceof Range && /^(?:start|stop|step)$/.test(name)) return value[/** @type {'start'} */ (name)];
  if (value instanceof View && name === 'mapping') return value.dict;
  if (UNSUPPORTED[/** @type {'str'} */ (kind)]?.includes(name))
    throw new Error(`the method ${name} of ${kind} is not supported`);
  return ownMethod(value, kind, name);
}

/** @param {any} value @param {any} name */
function missing(value, name) {
  const what = isText(name) ? `attribute ${repr(name)}` : `element ${shown(name)}`;
  return new Undefined(`'${typeName(value)} object' has no ${what}`);
}

/** A key within a message. @param {any} key */
const shown = (key) => (isInt(key) && typeof key !== 'boolean' ? integerText(key) : typeName(key));

/**
 * value.name
 * @param {any} value
 * @param {string} name
 * @returns {any}
 */
export function attributeOf(value, name) {
  const own = rawAttribute(value, name);
  if (own !== undefined) return own;
  const entry = entryOf(value, name);
  return entry === undefined ? missing(value, name) : entry;
}

/**
 * value[key]
 * @param {any} value
 * @param {any} key
 * @returns {any}
 */
export function itemOf(value, key) {
  const entry = entryOf(value, key);
  if (entry !== undefined) return entry;
  const own = isText(key) ? rawAttribute(value, textOf(key)) : undefined;
  return own === undefined ? missing(value, key) : own;
}

/** Whether a value has an attribute, apart from its entries. @param {any} value @param {string} name */
export const hasAttribute = (value, name) => !(value instanceof Undefined) && rawAttribute(value, name) !== undefined;

/**
 * A function of the attributes that a path names: 'function.name', 'list.0'.
 * @param {any} path  a text, an index or None
 * @param {any} [other]  in place of an undefined value
 * @returns {(value: any) => any}
 */
export function pathOf(path, other = null) {
  const parts =
    path === null || path === undefined
      ? []
      : isText(path)
        ? textOf(path)
            .split('.')
            .map((part) => (/^\d+$/.test(part) ? Number(part) : part))
        : [path];
  return (value) => {
    for (const part of parts) {
      value = itemOf(value, part);
      if (value instanceof Undefined && other !== null) value = other;
    }
    return value;
  };
}
