// schema_keywords.js - the keywords of JSON schemas that are supported, their types, and the values that fit them
import { fail, show } from '../../base/errors.js';
import { NUMBER_FORMATS } from './string_formats.js';
import { isMultiple } from './number_ranges.js';
import { fitsPatterns, patternsOf } from './json_strings.js';

/** @typedef {Record<string | symbol, any>} Schema */

/** Key of the other patterns and formats of a merged schema. No JSON has it. */
export const FURTHER = Symbol('further patterns and formats');
/**
 * The patterns and formats of a schema.
 * @param {Schema} schema
 * @returns {{pattern?: any, format?: any}[]}
 */
export const textsOf = ({ [FURTHER]: further = [], pattern, format }) =>
  pattern === undefined && format === undefined ? further : [...further, { pattern, format }];

const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
/** Keywords of a type; without `type`, they say which one is meant. */
export const KEYWORDS = /** @type {Record<string, string[]>} */ ({
  object: ['properties', 'required', 'additionalProperties', 'propertyNames', 'minProperties', 'maxProperties'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  integer: NUMBERS,
  number: NUMBERS,
  boolean: [],
  null: [],
});
export const TYPES = Object.keys(KEYWORDS);

const isWhole = (/** @type {any} */ value) => Number.isSafeInteger(value) && value >= 0;
const isList = (/** @type {any} */ value) => Array.isArray(value) && value.length > 0;
/** @type {(merge: (a: number, b: number) => number) => Checked} */
const number = (merge) => ({ fits: Number.isFinite, expected: 'a number', merge });
/** @type {(merge: (a: number, b: number) => number) => Checked} */
const count = (merge) => ({ fits: isWhole, expected: 'a whole number from 0 up', merge });
/**
 * What the value of a keyword must be, and the value that holds for both of two.
 * @typedef {{fits: (value: any) => boolean, expected: string, merge?: (a: any, b: any) => any}} Checked
 */
/** Keywords whose values are checked by themselves. @type {Record<string, Checked>} */
export const CHECKED = {
  minimum: number(Math.max),
  maximum: number(Math.min),
  exclusiveMinimum: number(Math.max),
  exclusiveMaximum: number(Math.min),
  multipleOf: { fits: (value) => Number.isFinite(value) && value > 0, expected: 'a number above 0' },
  minLength: count(Math.max),
  maxLength: count(Math.min),
  minItems: count(Math.max),
  maxItems: count(Math.min),
  minProperties: count(Math.max),
  maxProperties: count(Math.min),
  enum: { fits: isList, expected: 'a list of values' },
  prefixItems: { fits: isList, expected: 'schemas' },
  required: {
    fits: (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
    expected: 'a list of names',
    merge: (a, b) => [...new Set([...a, ...b])],
  },
  properties: {
    fits: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    expected: 'schemas by name',
  },
  uniqueItems: { fits: (value) => typeof value === 'boolean', expected: 'true or false', merge: (a, b) => a || b },
};

/**
 * Throws for the first keyword whose value has the wrong type. The schemas in it are not checked, nor is the pattern.
 * @param {Schema} schema  that dialects.js has rewritten
 */
export function checkKeywords(schema) {
  const wrong = (/** @type {string} */ key, /** @type {string} */ expected, /** @type {any} */ value) =>
    fail('bad-option', `${key} is ${show(value)}, expected ${expected}`);
  for (const [key, value] of Object.entries(schema)) {
    const checked = Object.hasOwn(CHECKED, key) ? CHECKED[key] : null;
    if (checked && !checked.fits(value)) wrong(key, checked.expected, value);
    if (key !== 'type') continue;
    const types = [value].flat();
    const other = types.find((name) => !TYPES.includes(name));
    if (!types.length || other !== undefined) wrong(key, `one of ${TYPES.join(', ')}`, other ?? value);
  }
}

/**
 * The types of a schema: those that it names, or the type whose keywords it has, or all.
 * @param {Schema} schema  checked
 * @returns {string[]}
 */
export function typesOf(schema) {
  if (schema.type !== undefined) return [schema.type].flat();
  if (schema.enum !== undefined || schema.const !== undefined) return TYPES;
  const any = TYPES.filter((name) => name !== 'integer'); // each integer is a number
  const ofText = textsOf(schema).flatMap(({ pattern, format }) => [
    ...(pattern === undefined ? [] : ['string']),
    ...(format === undefined ? [] : [NUMBER_FORMATS.has(format) ? 'number' : 'string']),
  ]);
  const meant = any.filter(
    (name) => ofText.includes(name) || KEYWORDS[name].some((key) => key !== 'format' && schema[key] !== undefined),
  );
  return meant.length ? meant : any;
}

/**
 * A text that is the same for equal JSON values: the keys of objects are in order, which JSON does not give them.
 * @param {any} value
 * @returns {string}
 */
export const canonical = (value) =>
  JSON.stringify(value, (_, part) =>
    hasType(part, 'object') ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );

/**
 * The values that a schema lists; null: it lists none.
 * @param {Schema} schema  checked
 * @returns {any[] | null}
 */
export function valuesOf(schema) {
  if (schema.const !== undefined && schema.enum === undefined) return [schema.const];
  if (schema.enum === undefined) return null;
  const same = (/** @type {any} */ value) => canonical(value) === canonical(schema.const);
  return schema.const === undefined ? schema.enum : schema.enum.filter(same);
}

/**
 * @param {any} value
 * @param {string} type
 */
export function hasType(value, type) {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return value !== null && typeof value === 'object' && !Array.isArray(value);
  return type === 'integer' ? Number.isInteger(value) : typeof value === type;
}

/**
 * The limits of items, properties or characters (Length).
 * @param {Schema} schema  checked
 * @param {string} what
 * @returns {[number, number]}
 */
export function countsOf(schema, what) {
  const [least, most] = [schema[`min${what}`] ?? 0, schema[`max${what}`] ?? Infinity];
  if (least > most) fail('bad-option', `min${what} is ${least}, more than max${what}, which is ${most}`);
  return [least, most];
}

/**
 * Which numbers a schema means.
 * @param {Schema} schema  checked
 * @param {boolean} isInteger  whether their type says so; the format may as well
 * @returns {import('./number_ranges.js').Range}
 */
export function rangeOf(schema, isInteger) {
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema;
  const formats = textsOf(schema).flatMap(({ format }) => NUMBER_FORMATS.get(format) ?? []);
  const low = Math.max(minimum, exclusiveMinimum, ...formats.map((format) => format.low));
  const high = Math.min(maximum, exclusiveMaximum, ...formats.map((format) => format.high));
  return {
    isInteger: isInteger || formats.some((format) => format.isInteger),
    low,
    high,
    aboveLow: exclusiveMinimum === low,
    belowHigh: exclusiveMaximum === high,
    of: schema.multipleOf,
  };
}

/**
 * Whether a listed value fits the keywords of its type.
 * @param {any} value
 * @param {Schema} schema  checked
 * @returns {boolean}
 */
export function fits(value, schema) {
  if (typeof value === 'number') {
    const { low, high, aboveLow, belowHigh, of, isInteger } = rangeOf(schema, false);
    const isInside = (aboveLow ? value > low : value >= low) && (!isInteger || Number.isInteger(value));
    return isInside && (belowHigh ? value < high : value <= high) && (of === undefined || isMultiple(value, of));
  }
  if (typeof value === 'string') {
    const [least, most] = countsOf(schema, 'Length');
    const { length } = [...value];
    return length >= least && length <= most && fitsPatterns(value, patternsOf(textsOf(schema)));
  }
  if (value === null || typeof value === 'boolean') return true;
  const inside = Array.isArray(value)
    ? ['items', 'prefixItems', 'uniqueItems']
    : ['properties', 'additionalProperties', 'propertyNames'];
  const key = inside.find((name) => schema[name] !== undefined && schema[name] !== true);
  if (key) fail('unsupported', `${key} is not supported beside an enum or const that lists ${show(value)}`);
  const [least, most] = countsOf(schema, Array.isArray(value) ? 'Items' : 'Properties');
  const { length } = Object.keys(value);
  if (length < least || length > most) return false;
  return (
    Array.isArray(value) || (schema.required ?? []).every((/** @type {string} */ name) => Object.hasOwn(value, name))
  );
}
