// value_tests.js - the tests of templates: `value is defined`
import { FILTERS } from './filters.js';
import { COMPARISONS, contains, isEqual, iterated, operated } from './operators.js';
import { str } from './python_text.js';
import { isNumber } from './python_numbers.js';
import {
  Dict,
  Float,
  Generator,
  Markup,
  Opaque,
  Range,
  Undefined,
  identityOf,
  isInt,
  isText,
} from './python_values.js';
import { TEXT_METHODS } from './text_methods.js';

/** @param {(value: any) => any} run */
const able = (run) => (/** @type {any} */ value) => {
  try {
    run(value);
    return true;
  } catch {
    return false;
  }
};

/** @param {any} value @param {any} by @param {number} rest */
const leaves = (value, by, rest) => isEqual(operated('%', value, by), rest);

const order = (/** @type {string} */ operator) =>
  /** @type {[string, (value: any, ...args: any[]) => boolean]} */ (['/other', COMPARISONS[operator]]);

/**
 * Parameters beside the value (call_arguments.js), and a function.
 * @type {Record<string, [string, (value: any, ...args: any[]) => boolean]>}
 */
export const TESTS = {
  odd: ['', (value) => leaves(value, 2, 1)],
  even: ['', (value) => leaves(value, 2, 0)],
  divisibleby: ['num', (value, by) => leaves(value, by, 0)],
  defined: ['', (value) => !(value instanceof Undefined)],
  undefined: ['', (value) => value instanceof Undefined],
  filter: ['', (value) => new Set(Object.keys(FILTERS)).has(identityOf(value))],
  test: ['', (value) => new Set(Object.keys(TESTS)).has(identityOf(value))],
  none: ['', (value) => value === null],
  boolean: ['', (value) => typeof value === 'boolean'],
  false: ['', (value) => value === false],
  true: ['', (value) => value === true],
  integer: ['', (value) => isInt(value) && typeof value !== 'boolean'],
  float: ['', (value) => value instanceof Float],
  lower: ['', (value) => TEXT_METHODS.islower[1](str(value))],
  upper: ['', (value) => TEXT_METHODS.isupper[1](str(value))],
  string: ['', isText],
  mapping: ['', (value) => value instanceof Dict],
  number: ['', isNumber],
  sequence: [
    '',
    (value) => Array.isArray(value) || isText(value) || [Dict, Range, Undefined].some((one) => value instanceof one),
  ],
  iterable: ['', (value) => value instanceof Generator || able(iterated)(value)],
  callable: ['', (value) => value instanceof Undefined || (value instanceof Opaque && Boolean(value.call))],
  sameas: ['other', (value, other) => value === other],
  escaped: ['', (value) => value instanceof Markup],
  in: ['seq', (value, container) => contains(container, value)],
  '==': order('=='),
  eq: order('=='),
  equalto: order('=='),
  '!=': order('!='),
  ne: order('!='),
  '>': order('>'),
  gt: order('>'),
  greaterthan: order('>'),
  '>=': order('>='),
  ge: order('>='),
  '<': order('<'),
  lt: order('<'),
  lessthan: order('<'),
  '<=': order('<='),
  le: order('<='),
};
