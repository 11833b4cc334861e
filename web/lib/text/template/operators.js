// operators.js - truth, equality, order and the operators of Python's values
import { compareTexts, repeated, sliceBounds, sliced, slicedText } from './code_points.js';
import { formatted } from './percent_format.js';
import { escape } from './html_text.js';
import { arithmetic, isNumber } from './python_numbers.js';
import {
  Dict,
  Float,
  Generator,
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
  tupleOf,
} from './python_values.js';
import { checkSize, deeper, step } from './template_limits.js';

/** Whether a condition holds. @param {any} value @returns {boolean} */
export function isTrue(value) {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') return value !== '';
  if (value === null || value instanceof Undefined) return false;
  if (value instanceof Float) return value.value !== 0;
  if (value instanceof Markup) return value.text !== '';
  if (isInt(value)) return Boolean(value);
  if (value instanceof Opaque) return value.length?.() !== 0;
  return value instanceof Generator || sizeOf(value) > 0;
}

/**
 * len(): of a str in code points.
 * @param {any} value
 * @returns {number}
 */
export function sizeOf(value) {
  if (isText(value)) return [...textOf(value)].length;
  if (Array.isArray(value) || value instanceof Range) return value.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof View) return value.dict.size;
  if (value instanceof Undefined) return 0;
  if (value instanceof Opaque && value.length) return value.length();
  throw new Error(`object of type '${typeName(value)}' has no len()`);
}

/**
 * What a loop runs over.
 * @param {any} value
 * @returns {Iterable<any>}
 */
export function iterated(value) {
  if (Array.isArray(value) || value instanceof Range || value instanceof Generator) return value;
  if (isText(value)) return Array.from(textOf(value));
  if (value instanceof Dict) return value.entries.map(([key]) => key);
  if (value instanceof View) return value.entries;
  if (value instanceof Undefined) return [];
  throw new Error(`'${typeName(value)}' object is not iterable`);
}

/**
 * A list of what can be iterated.
 * @param {any} value
 * @returns {any[]}
 */
export function listOf(value) {
  const list = Array.from(iterated(value));
  step(list.length);
  checkSize(list.length);
  return list;
}

/**
 * ==
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
export function isEqual(a, b) {
  step();
  if (a === b) return true;
  if (isNumber(a) && isNumber(b)) return number(a) == number(b); // a bigint may equal a double
  if (isText(a) && isText(b)) return textOf(a) === textOf(b);
  if (a instanceof Undefined) return b instanceof Undefined;
  if (Array.isArray(a) && Array.isArray(b) && a instanceof Tuple === b instanceof Tuple)
    return a.length === b.length && deeper(() => a.every((one, i) => isEqual(one, b[i])));
  if (a instanceof Dict && b instanceof Dict)
    return a.size === b.size && deeper(() => a.entries.every(([key, one]) => b.has(key) && isEqual(one, b.get(key))));
  if (a instanceof Range && b instanceof Range)
    return a.length === b.length && Array.from(a).every((one, i) => one === b.at(i));
  if (a instanceof View && b instanceof View && a.kind !== 'values' && b.kind !== 'values')
    return sizeOf(a) === sizeOf(b) && a.entries.every((one) => contains(b, one));
  return false;
}

/** @param {any} value @returns {number | bigint} */
const number = (value) => (value instanceof Float ? value.value : typeof value === 'boolean' ? Number(value) : value);

/**
 * Less than 0 where a < b holds, more where b < a does, NaN where neither nor equality.
 * @param {any} a
 * @param {any} b
 * @returns {number}
 */
export function compare(a, b) {
  step();
  for (const side of [a, b]) if (side instanceof Undefined) side.refuse();
  if (isNumber(a) && isNumber(b)) {
    const [x, y] = [number(a), number(b)];
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : NaN;
  }
  if (isText(a) && isText(b)) return compareTexts(textOf(a), textOf(b));
  if (Array.isArray(a) && Array.isArray(b) && a instanceof Tuple === b instanceof Tuple) {
    const other = a.findIndex((one, i) => i >= b.length || !isEqual(one, b[i]));
    if (other < 0) return a.length - b.length;
    return other >= b.length ? 1 : deeper(() => compare(a[other], b[other]));
  }
  throw new Error(`'<' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`);
}

/** The comparisons. @type {Record<string, (a: any, b: any) => boolean>} */
export const COMPARISONS = {
  '==': isEqual,
  '!=': (a, b) => !isEqual(a, b),
  '<': (a, b) => compare(a, b) < 0,
  '<=': (a, b) => compare(a, b) <= 0,
  '>': (a, b) => compare(a, b) > 0,
  '>=': (a, b) => compare(a, b) >= 0,
  in: (a, b) => contains(b, a),
  'not in': (a, b) => !contains(b, a),
};

/**
 * Whether a container has an item.
 * @param {any} container
 * @param {any} item
 * @returns {boolean}
 */
export function contains(container, item) {
  if (isText(container)) {
    if (!isText(item)) throw new Error(`'in <string>' requires string as left operand, not ${typeName(item)}`);
    return textOf(container).includes(textOf(item));
  }
  if (container instanceof Dict) return container.has(item);
  if (container instanceof View && container.kind === 'keys') return container.dict.has(item);
  if (container instanceof View && container.kind === 'items')
    return item instanceof Tuple && item.length === 2 && container.dict.has(item[0])
      ? isEqual(container.dict.get(item[0]), item[1])
      : false;
  for (const one of iterated(container)) if (isEqual(one, item)) return true;
  return false;
}

/**
 * The result of an operator.
 * @param {string} operator  + - * / // % **
 * @param {any} a
 * @param {any} b
 * @returns {any}
 */
export function operated(operator, a, b) {
  if (a instanceof Undefined) a.refuse();
  if (isNumber(a) && isNumber(b)) return arithmetic(operator, a, b);
  if (operator === '%' && isText(a)) return formatted(a, b);
  if (b instanceof Undefined) b.refuse();
  if (operator === '+') return added(a, b);
  if (operator === '*') {
    if (isInt(a) && !isInt(b)) [a, b] = [b, a];
    if (isInt(b)) return multiplied(a, indexOf(b));
  }
  const [left, right] = [a, b].map(typeName);
  throw new Error(`unsupported operand type(s) for ${operator}: '${left}' and '${right}'`);
}

/** @param {any} a @param {any} b */
function added(a, b) {
  if (isText(a) && isText(b)) {
    if (a instanceof Markup || b instanceof Markup) return new Markup(escape(a).text + escape(b).text);
    const [left, right] = [textOf(a), textOf(b)];
    checkSize(left.length + right.length);
    return left + right;
  }
  if (Array.isArray(a) && Array.isArray(b) && a instanceof Tuple === b instanceof Tuple) {
    checkSize(a.length + b.length);
    step(a.length + b.length);
    return isList(a) ? a.concat(b) : tupleOf([...a, ...b]);
  }
  throw new Error(`unsupported operand type(s) for +: '${typeName(a)}' and '${typeName(b)}'`);
}

/** @param {any} value @param {number} times */
function multiplied(value, times) {
  if (value instanceof Markup) return new Markup(repeated(value.text, times));
  if (isText(value)) return repeated(textOf(value), times);
  if (!Array.isArray(value)) throw new Error(`unsupported operand type(s) for *: '${typeName(value)}' and 'int'`);
  const count = Math.max(0, times);
  checkSize(value.length * count);
  step(value.length * count);
  const out = [];
  for (let i = 0; value.length && i < count; i++) out.push(...value);
  return isList(value) ? out : tupleOf(out);
}

/** @param {any} key @returns {boolean} */
const isHashable = (key) => {
  step();
  return key instanceof Tuple ? Array.from(key).every(isHashable) : !isList(key) && !(key instanceof Dict);
};

/**
 * An entry of a sequence or dictionary.
 * @param {any} container
 * @param {any} key
 * @returns {any}  undefined: it has none, or cannot have entries
 */
export function entryOf(container, key) {
  if (container instanceof Dict) return isHashable(key) ? container.get(key) : undefined;
  if (container instanceof Undefined) return container.refuse();
  if (!isInt(key)) return undefined;
  const at = Number(key);
  if (Array.isArray(container)) return container[at < 0 ? at + container.length : at];
  if (isText(container)) {
    const one = slicedText(textOf(container), [at, at === -1 ? null : at + 1, null]);
    const isIn = at >= -sizeOf(container) && one !== '';
    return isIn ? (container instanceof Markup ? new Markup(one) : one) : undefined;
  }
  if (!(container instanceof Range)) return undefined;
  const own = at < 0 ? at + container.length : at;
  return own >= 0 && own < container.length ? container.at(own) : undefined;
}

/**
 * A slice of a sequence.
 * @param {any} container
 * @param {any[]} given  start, stop and step; null where one is absent
 * @returns {any}
 */
export function sliceOf(container, given) {
  if (container instanceof Undefined) return container.refuse();
  const slice = /** @type {[number | null, number | null, number | null]} */ (
    given.map((one) => {
      if (one !== null && !isInt(one)) throw new Error('slice indices must be integers or None');
      return one === null ? null : indexOf(one);
    })
  );
  if (container instanceof Markup) return new Markup(slicedText(container.text, slice));
  if (isText(container)) return slicedText(textOf(container), slice);
  if (container instanceof Range) {
    const [from, to, by] = sliceBounds(container.length, slice);
    return new Range(container.at(from), container.at(to), container.step * by);
  }
  if (!Array.isArray(container)) throw new Error(`'${typeName(container)}' object is not subscriptable by a slice`);
  const part = sliced(container, slice);
  step(part.length);
  return isList(container) ? part : tupleOf(part);
}
