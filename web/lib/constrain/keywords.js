// keywords.js - the keywords of JSON schemas that are supported, their types, and the values that fit them
import { fail, show } from '../base/errors.js';
import { NUMBER_FORMATS } from './formats.js';
import { textsOf } from './merge.js';
import { isMultiple } from './number_ranges.js';
import { fitsPatterns, patternsOf } from './strings.js';

/** @typedef {Record<string, any>} Schema */

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
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];

/**
 * Throws for the first keyword whose value has the wrong type. The schemas in it are not checked, nor is the pattern.
 * @param {Schema} schema  that dialects.js has rewritten
 * @param {string} at
 */
export function checkKeywords(schema, at) {
  const wrong = (/** @type {string} */ key, /** @type {string} */ expected, value = schema[key]) =>
    fail('bad-option', `json: ${at}: ${key} is ${show(value)}, expected ${expected}`);
  for (const key of Object.keys(schema)) {
    const value = schema[key];
    if (key === 'multipleOf' && !(Number.isFinite(value) && value > 0)) wrong(key, 'a number above 0');
    else if (NUMBERS.includes(key) && !Number.isFinite(value)) wrong(key, 'a number');
    else if (COUNTS.includes(key) && !(Number.isSafeInteger(value) && value >= 0))
      wrong(key, 'a whole number from 0 up');
    else if (key === 'enum' && !(Array.isArray(value) && value.length)) wrong(key, 'a list of values');
    else if (key === 'prefixItems' && !(Array.isArray(value) && value.length)) wrong(key, 'schemas');
    else if (key === 'required' && !(Array.isArray(value) && value.every((name) => typeof name === 'string')))
      wrong(key, 'a list of names');
    else if (key === 'properties' && (typeof value !== 'object' || value === null || Array.isArray(value)))
      wrong(key, 'schemas by name');
    else if (key === 'uniqueItems' && typeof value !== 'boolean') wrong(key, 'true or false');
    else if (key === 'type') {
      const types = [value].flat();
      const other = types.find((name) => !TYPES.includes(name));
      if (!types.length || other !== undefined) wrong(key, `one of ${TYPES.join(', ')}`, other ?? value);
    }
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
 * The values that a schema lists; null: it lists none.
 * @param {Schema} schema  checked
 * @returns {any[] | null}
 */
export function valuesOf(schema) {
  if (schema.const !== undefined && schema.enum === undefined) return [schema.const];
  if (schema.enum === undefined) return null;
  const same = (/** @type {any} */ value) => JSON.stringify(value) === JSON.stringify(schema.const);
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
 * @param {string} at
 * @returns {[number, number]}
 */
export function countsOf(schema, what, at) {
  const [least, most] = [schema[`min${what}`] ?? 0, schema[`max${what}`] ?? Infinity];
  if (least > most) fail('bad-option', `json: ${at}: min${what} is ${least}, more than max${what}, which is ${most}`);
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
 * @param {string} at
 * @returns {boolean}
 */
export function fits(value, schema, at) {
  if (typeof value === 'number') {
    const { low, high, aboveLow, belowHigh, of, isInteger } = rangeOf(schema, false);
    const isInside = (aboveLow ? value > low : value >= low) && (!isInteger || Number.isInteger(value));
    return isInside && (belowHigh ? value < high : value <= high) && (of === undefined || isMultiple(value, of));
  }
  if (typeof value === 'string') {
    const [least, most] = countsOf(schema, 'Length', at);
    const { length } = [...value];
    return length >= least && length <= most && fitsPatterns(value, patternsOf(textsOf(schema), at), at);
  }
  if (value === null || typeof value === 'boolean') return true;
  const inside = Array.isArray(value)
    ? ['items', 'prefixItems', 'uniqueItems']
    : ['properties', 'additionalProperties', 'propertyNames'];
  const key = inside.find((name) => schema[name] !== undefined && schema[name] !== true);
  if (key)
    fail('unsupported', `json: ${at}: ${key} is not supported beside an enum or const that lists ${show(value)}`);
  const [least, most] = countsOf(schema, Array.isArray(value) ? 'Items' : 'Properties', at);
  const { length } = Object.keys(value);
  if (length < least || length > most) return false;
  return (
    Array.isArray(value) || (schema.required ?? []).every((/** @type {string} */ name) => Object.hasOwn(value, name))
  );
}
