// all_of.js - schemas of which a value must fit all, as one schema
import { fail, show } from '../../base/errors.js';
import { CHECKED, FURTHER, canonical, textsOf } from './schema_keywords.js';
import { isMultiple } from './number_ranges.js';

/** @typedef {Record<string | symbol, any>} Schema */

/**
 * The schema of the values that fit both of two. Their keywords have the right types, except pattern and format.
 * @param {Schema} a
 * @param {Schema} b
 * @returns {Schema}
 */
export function merged(a, b) {
  const out = { ...a, ...b };
  for (const [key, { merge }] of Object.entries(CHECKED))
    if (merge && a[key] !== undefined && b[key] !== undefined) out[key] = merge(a[key], b[key]);
  if (a.type !== undefined && b.type !== undefined) out.type = commonTypes([a.type].flat(), [b.type].flat());
  if (a.multipleOf !== undefined && b.multipleOf !== undefined)
    out.multipleOf = commonMultiple(a.multipleOf, b.multipleOf);
  const [texts, others] = [textsOf(a), textsOf(b)];
  if (texts.length && others.length) {
    delete out.pattern;
    delete out.format;
    out[FURTHER] = [...texts, ...others];
  }
  mergeValues(a, b, out);
  mergeProperties(a, b, out);
  mergeItems(a, b, out);
  return out;
}

/**
 * A schema for values that fit several.
 * @param {any[]} schemas
 */
function both(...schemas) {
  if (schemas.includes(false)) return false;
  const parts = schemas.filter((schema) => schema !== undefined && schema !== true);
  return parts.length > 1 ? { allOf: parts } : (parts[0] ?? true);
}

/**
 * @param {string[]} a
 * @param {string[]} b
 */
function commonTypes(a, b) {
  const fits = (/** @type {string} */ type, /** @type {string[]} */ types) =>
    types.includes(type) || (type === 'integer' && types.includes('number'));
  const types = [...new Set([...a.filter((type) => fits(type, b)), ...b.filter((type) => fits(type, a))])];
  return types.length
    ? types
    : fail('bad-option', `no value has both the type ${a.join(' or ')} and the type ${b.join(' or ')}`);
}

/**
 * The least common multiple of two numbers, of which one is a multiple of the other or both are whole.
 * @param {number} a
 * @param {number} b
 */
function commonMultiple(a, b) {
  if (isMultiple(a, b)) return a;
  if (isMultiple(b, a)) return b;
  if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b))
    return fail('unsupported', `multiples of both ${a} and ${b} are not supported, only of whole numbers`);
  let [x, y] = [a, b];
  while (y) [x, y] = [y, x % y];
  return (a / x) * b;
}

/**
 * enum and const: the values of both.
 * @param {Schema} a
 * @param {Schema} b
 * @param {Schema} out
 */
function mergeValues(a, b, out) {
  const lists = [a, b].flatMap((schema) => [schema.enum, schema.const === undefined ? undefined : [schema.const]]);
  const [first, ...others] = lists.filter((list) => list !== undefined);
  if (!others.length) return;
  const texts = others.map((list) => new Set(list.map(canonical)));
  delete out.const;
  out.enum = first.filter((/** @type {any} */ value) => texts.every((set) => set.has(canonical(value))));
  if (!out.enum.length) fail('bad-option', 'no value is in all its lists of values (enum, const)');
}

/**
 * @param {Schema} a
 * @param {Schema} b
 * @param {Schema} out
 */
function mergeProperties(a, b, out) {
  if (a.additionalProperties !== undefined && b.additionalProperties !== undefined)
    out.additionalProperties = both(a.additionalProperties, b.additionalProperties);
  if (a.propertyNames !== undefined && b.propertyNames !== undefined)
    out.propertyNames = both(a.propertyNames, b.propertyNames);
  const names = new Set([a, b].flatMap(({ properties = {} }) => Object.keys(properties)));
  if (!names.size) return;
  out.properties = Object.create(null);
  for (const name of names) {
    const parts = [a, b].map(({ properties = {}, additionalProperties = true }) =>
      Object.hasOwn(properties, name) ? properties[name] : additionalProperties,
    );
    const part = both(...parts);
    if (part !== false) out.properties[name] = part;
    else if (out.required?.includes(name))
      fail('bad-option', `${show(name)} is required, but is no property of all its parts`);
  }
  // What is left out above is no additional property either.
  if (Object.keys(out.properties).length < names.size) out.additionalProperties = false;
}

/**
 * @param {Schema} a
 * @param {Schema} b
 * @param {Schema} out
 */
function mergeItems(a, b, out) {
  if (a.items !== undefined && b.items !== undefined) out.items = both(a.items, b.items);
  const [x, y] = [a.prefixItems ?? [], b.prefixItems ?? []];
  const length = Math.max(x.length, y.length);
  if (length) out.prefixItems = Array.from({ length }, (_, i) => both(x[i] ?? a.items, y[i] ?? b.items));
}
