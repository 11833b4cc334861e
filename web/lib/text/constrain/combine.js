// combine.js - schemas for the same value: references, allOf, anyOf and oneOf, put together or compared
import { fail, show } from '../../base/errors.js';
import { remembered } from '../../base/lazy_value.js';
import { isNothing } from './dialects.js';
import { TYPES, canonical, checkKeywords, fits, hasType, typesOf, valuesOf } from './schema_keywords.js';
import { merged } from './all_of.js';
import { inPart } from './schema_place.js';

/** @typedef {Record<string, any>} Schema */

/** Keywords with schemas for the same value. */
export const COMBINING = ['$ref', 'allOf', 'anyOf', 'oneOf'];
/** The values of types that have few. @type {Record<string, any[]>} */
const TYPE_VALUES = { boolean: [false, true], null: [null] };
/** Deepest nesting of schemas, by containment or reference. */
export const MAX_DEPTH = 256;
/** Most schemas that are put together from several, as each choice of allOf with each other one is. */
export const MAX_COMBINED = 2_000;
/** Most pairs of schemas that are compared for oneOf. */
const MAX_PAIRS = 300_000;

/**
 * Throws for what is no schema, or accepts nothing.
 * @param {any} schema
 */
export function checkSchema(schema) {
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema) || isNothing(schema))
    fail('bad-option', `found ${show(schema)}, expected a schema that accepts something`);
}

/** Throws for schemas that are nested too deeply. @type {() => never} */
export const tooDeep = () => fail('bad-option', `it has more than ${MAX_DEPTH} schemas inside each other`);

/** @param {Schema} schema */
export const isChoice = (schema) => schema.anyOf !== undefined || schema.oneOf !== undefined;

/**
 * @param {any} parts
 * @param {string} key  allOf, anyOf or oneOf
 * @returns {any[]}
 */
export const listOf = (parts, key) =>
  Array.isArray(parts) && parts.length ? parts : fail('bad-option', `${key} is ${show(parts)}, expected schemas`);

/**
 * The types of the values that fulfil a schema: without `type`, keywords of one type say nothing of the others.
 * @param {Schema} schema
 * @returns {string[]}
 */
const accepted = ({ type = TYPES }) => [type].flat();

const NUMBERS = ['integer', 'number'];
/**
 * The types that are written for a schema and fulfil another one too.
 * @param {Schema} schema
 * @param {Schema} other
 */
function shared(schema, other) {
  const types = accepted(other).flatMap((type) => (NUMBERS.includes(type) ? NUMBERS : type));
  return typesOf(schema).filter((type) => types.includes(type));
}

/** Puts the parts of one schema together. It knows what it has found before. */
export class Combiner {
  /** What `flat` gives for each schema; null: while it is computed. @type {Map<object, Schema[] | null>} */
  #flat = new Map();
  /** Lists of schemas that `flat` gives, numbered. @type {Map<string, number>} */
  #numbers = new Map();
  /** Whether two such lists exclude each other, by their numbers. @type {Map<string, boolean>} */
  #disjoint = new Map();

  /**
   * @param {Schema | boolean} root  the whole schema, for references
   * @param {import('./dialects.js').Dialects} dialects
   */
  constructor(root, dialects) {
    this.root = root;
    this.dialects = dialects;
  }

  /** @param {string} pointer */
  find(pointer) {
    let part = /** @type {any} */ (this.root);
    for (const key of pointer.split('/').slice(1)) {
      const own = key.replace(/~1/g, '/').replace(/~0/g, '~');
      if (part === null || typeof part !== 'object' || !Object.hasOwn(part, own))
        fail('bad-option', `there is no #${pointer}`);
      part = part[own];
    }
    return part;
  }

  /**
   * The pointer in `$ref`.
   * @param {any} ref
   */
  target(ref) {
    if (typeof ref !== 'string' || !/^#(\/|$)/.test(ref))
      return fail('unsupported', `$ref is ${show(ref)}, expected a part of the schema, as in "#/$defs/name"`);
    try {
      return decodeURIComponent(ref.slice(1));
    } catch (error) {
      return fail('bad-option', `$ref is ${show(ref)}, which is no address`, error);
    }
  }

  /**
   * The schemas that a value must fit all, each with keywords only, or with anyOf or oneOf only.
   * @param {any} schema
   * @param {number} [depth]
   * @returns {Schema[]}
   */
  flat(schema, depth = 0) {
    if (schema === true) return [];
    checkSchema(schema);
    schema = this.dialects.plain(schema);
    const known = this.#flat.get(schema);
    if (known === null) fail('bad-option', 'it refers to itself');
    if (known) return known;
    if (depth > MAX_DEPTH) tooDeep();
    this.#flat.set(schema, null);
    const own = Object.keys(schema).filter((key) => !COMBINING.includes(key));
    const parts = own.length ? [Object.fromEntries(own.map((key) => [key, schema[key]]))] : [];
    if (schema.$ref !== undefined) parts.push(...this.flat(this.find(this.target(schema.$ref)), depth + 1));
    if (schema.allOf !== undefined)
      for (const [i, one] of listOf(schema.allOf, 'allOf').entries())
        parts.push(...inPart(`/allOf/${i}`, () => this.flat(one, depth + 1)));
    for (const key of ['anyOf', 'oneOf'])
      if (schema[key] !== undefined) parts.push({ [key]: listOf(schema[key], key) });
    const all = [...new Map(parts.map((part) => [JSON.stringify(part), part])).values()];
    this.#flat.set(schema, all);
    return all;
  }

  /**
   * The number of a list that `flat` gave.
   * @param {Schema[]} parts
   */
  numberOf(parts) {
    return remembered(this.#numbers, JSON.stringify(parts), () => this.#numbers.size);
  }

  /**
   * One schema for several, which have keywords only.
   * @param {Schema[]} parts
   */
  together(parts) {
    for (const part of parts) checkKeywords(part);
    return parts.reduce((a, b) => merged(a, b), {});
  }

  /**
   * Whether a schema accepts a string.
   * @param {any} schema  may be false
   * @param {string} value
   */
  accepts(schema, value) {
    if (typeof schema === 'boolean') return schema;
    const parts = this.flat(schema);
    if (parts.some(isChoice)) fail('unsupported', 'anyOf and oneOf are not supported beside properties and required');
    const one = this.together(parts);
    return typesOf(one).includes('string') && (valuesOf(one)?.includes(value) ?? true) && fits(value, one);
  }

  /**
   * The values of a schema, when it lists them all.
   * @param {any} schema
   * @returns {any[] | null}
   */
  finite(schema) {
    if (isNothing(schema)) return [];
    const parts = this.flat(schema);
    if (parts.some(isChoice)) return null;
    const one = this.together(parts);
    const types = typesOf(one);
    const values =
      valuesOf(one) ?? (types.every((type) => TYPE_VALUES[type]) ? types.flatMap((type) => TYPE_VALUES[type]) : null);
    return values && values.filter((value) => types.some((type) => hasType(value, type)) && fits(value, one));
  }

  /**
   * Whether no value fits both of two schemas, as far as their types, values and required properties show.
   * @param {any} a
   * @param {any} b
   * @param {number} [depth]
   */
  disjoint(a, b, depth = 0) {
    const [left, right] = [a, b].map((schema) => this.flat(schema));
    if (depth > MAX_DEPTH || [...left, ...right].some(isChoice)) return false;
    const key = `${this.numberOf(left)} ${this.numberOf(right)}`;
    const known = this.#disjoint.get(key);
    if (known !== undefined) return known;
    if (this.#disjoint.size >= MAX_PAIRS)
      fail('unsupported', `oneOf needs more than ${MAX_PAIRS} comparisons of its schemas; use anyOf`);
    this.#disjoint.set(key, false); // where they refer to themselves, nothing shows that they exclude each other
    const [x, y] = [left, right].map((parts) => this.together(parts));
    const isDisjoint = this.exclude(x, y, depth);
    this.#disjoint.set(key, isDisjoint);
    return isDisjoint;
  }

  /**
   * `disjoint` of two schemas that have keywords only.
   * @param {Schema} x
   * @param {Schema} y
   * @param {number} depth
   */
  exclude(x, y, depth) {
    const [some, others] = [valuesOf(x), valuesOf(y)];
    if (some && others) {
      const texts = new Set(some.map(canonical));
      return !others.some((value) => texts.has(canonical(value)));
    }
    const values = some ?? others;
    if (values) {
      const other = some ? y : x;
      const types = accepted(other);
      return !values.some(
        (value) =>
          types.some((type) => hasType(value, type)) &&
          ((typeof value === 'object' && value !== null) || fits(value, other)),
      );
    }
    const common = [...shared(x, y), ...shared(y, x)];
    if (!common.length) return true;
    if (common.some((type) => type !== 'object')) return false;
    return (x.required ?? []).some(
      (/** @type {string} */ name) =>
        y.required?.includes(name) &&
        Object.hasOwn(x.properties ?? {}, name) &&
        Object.hasOwn(y.properties ?? {}, name) &&
        this.disjoint(x.properties[name], y.properties[name], depth + 1),
    );
  }
}
