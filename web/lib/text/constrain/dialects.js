// dialects.js - schemas as people write them, in the keywords that the compiler knows
//
// Older drafts and OpenAPI 3.0 say the same with other keywords: items as a list with additionalItems, exclusiveMinimum
// as a flag, nullable, one pattern in patternProperties. `not` is taken where what it leaves can be listed: types,
// values of an enum, strings other than some. What says nothing about values is left out; what is unknown is named.
import { fail, show } from '../../base/errors.js';
import { FORMAT_NAMES, NUMBER_FORMATS, implies } from './string_formats.js';
import { KEYWORDS, canonical, hasType, typesOf, valuesOf } from './schema_keywords.js';

/** @typedef {Record<string, any>} Schema */

const words = (/** @type {string} */ text) => new Set(text.split(' '));
/** Keywords that say nothing about which values are valid: of JSON Schema, then of OpenAPI. */
const ANNOTATIONS = words(
  '$schema $id $comment $anchor $vocabulary $defs definitions title description default examples deprecated ' +
    'readOnly writeOnly contentEncoding contentMediaType contentSchema discriminator example externalDocs xml',
);
/** Keywords that are supported, those of each type aside. */
const KNOWN = words('type enum const $ref allOf anyOf oneOf');
for (const keywords of Object.values(KEYWORDS)) for (const keyword of keywords) KNOWN.add(keyword);
/** Keywords that exclude values, in a way that no grammar here follows. */
const UNSUPPORTED = words(
  'if then else contains minContains maxContains dependencies dependentRequired dependentSchemas ' +
    'unevaluatedItems unevaluatedProperties $dynamicRef $recursiveRef additionalItems patternProperties not',
);

/**
 * Whether no value fits a schema.
 * @param {any} schema
 */
export const isNothing = (schema) => schema === false || (isSchema(schema) && isAnything(schema.not));
/** @param {any} schema */
const isAnything = (schema) => schema === true || (isSchema(schema) && !Object.keys(schema).length);
/** @param {any} schema */
const isSchema = (schema) => typeof schema === 'object' && schema !== null && !Array.isArray(schema);

/** Rewrites schemas, one at a time. */
export class Dialects {
  /** Keywords and formats that were left out though they may mean something. @type {Set<string>} */
  ignored = new Set();
  /** @type {WeakMap<object, Schema>} */
  #known = new WeakMap();
  #strict;

  /** @param {boolean} strict  whether unknown keywords and formats are refused */
  constructor(strict) {
    this.#strict = strict;
  }

  /**
   * A schema in supported keywords only. Their values are not checked.
   * @param {Schema} given
   */
  plain(given) {
    const known = this.#known.get(given);
    if (known) return known;
    const schema = Object.fromEntries(Object.entries(modern({ ...given })).filter(([, value]) => value !== undefined));
    for (const name of ['items', 'additionalProperties', 'propertyNames'])
      if (isNothing(schema[name])) schema[name] = false;
    for (const name of ['anyOf', 'oneOf'])
      if (Array.isArray(schema[name]) && !schema[name].every(isNothing))
        schema[name] = schema[name].filter((part) => !isNothing(part));
    excludeProperties(schema);
    excludeValues(schema);
    for (const key of Object.keys(schema)) {
      if (KNOWN.has(key)) continue;
      if (UNSUPPORTED.has(key)) fail('unsupported', `the keyword ${show(key)} is not supported`);
      if (!ANNOTATIONS.has(key)) this.#ignore(key);
      delete schema[key];
    }
    this.#format(schema);
    this.#known.set(given, schema);
    return schema;
  }

  /**
   * Leaves out a format that no string or number here has. It is an annotation, by the specification.
   * @param {Schema} schema
   */
  #format(schema) {
    const { format, type } = schema;
    if (format === undefined) return;
    if (typeof format !== 'string') fail('bad-option', `format is ${show(format)}, expected the name of a format`);
    const isOfNumbers = NUMBER_FORMATS.has(format);
    const ofOther = isOfNumbers && type !== undefined && ![type].flat().some((one) => /^(number|integer)$/.test(one));
    if (implies(format, schema.pattern)) delete schema.pattern;
    if (!ofOther && (isOfNumbers || FORMAT_NAMES.includes(format))) return;
    this.#ignore(`format ${format}`);
    delete schema.format;
  }

  /** @param {string} what */
  #ignore(what) {
    if (this.#strict) fail('unsupported', `${show(what)} is not known, and strictSchema refuses it`);
    this.ignored.add(what);
  }
}

/**
 * The keywords of older drafts and of OpenAPI, as newer ones.
 * @param {Schema} schema  changed
 */
function modern(schema) {
  if (Array.isArray(schema.items)) {
    const { items, additionalItems = true } = schema;
    Object.assign(schema, { prefixItems: items.length ? items : undefined, items: additionalItems });
  }
  if (!Array.isArray(schema.items)) delete schema.additionalItems;
  for (const [flag, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ]) {
    if (typeof schema[flag] !== 'boolean') continue;
    if (schema[flag]) schema[flag] = schema[limit];
    else delete schema[flag];
  }
  if (schema.nullable === true && schema.type !== undefined) schema.type = [schema.type, 'null'].flat();
  if (schema.type !== undefined || schema.nullable === false) delete schema.nullable;
  const { patternProperties, additionalProperties, propertyNames = true } = schema;
  const patterns = isSchema(patternProperties) ? Object.entries(patternProperties) : [];
  // Names that fit no pattern are left out, so that each property has the one schema.
  if (patterns.length === 1 && !schema.properties && [undefined, false].includes(additionalProperties)) {
    schema.propertyNames = { allOf: [propertyNames, { type: 'string', pattern: patterns[0][0] }] };
    schema.additionalProperties = patterns[0][1];
    delete schema.patternProperties;
  }
  return schema;
}

/**
 * Properties that have no value, as names that are excluded.
 * @param {Schema} schema  changed
 */
function excludeProperties(schema) {
  if (!isSchema(schema.properties)) return;
  const never = Object.keys(schema.properties).filter((name) => isNothing(schema.properties[name]));
  if (!never.length) return;
  schema.properties = Object.assign(Object.create(null), schema.properties);
  for (const name of never) delete schema.properties[name];
  const { propertyNames = true } = schema;
  schema.propertyNames = { allOf: [propertyNames, { type: 'string', pattern: otherThan(never) }] };
}

/**
 * The pattern of all strings but some.
 * @param {string[]} names  one or more
 */
export const otherThan = (names) =>
  `^(?!(?:${names.map((name) => name.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|')})$)`;

/**
 * `not`, where it excludes types or values that the rest of the schema lists.
 * @param {Schema} schema  changed
 */
function excludeValues(schema) {
  const { not } = schema;
  if (not === undefined || isNothing(schema)) return;
  const vague = () => fail('unsupported', '"not" is supported only for types, and for values that can be told apart');
  if (!isNothing(not) && !isSchema(not)) vague();
  delete schema.not;
  if (isNothing(not)) return;
  const keys = Object.keys(not).filter((key) => !ANNOTATIONS.has(key));
  const types = typesOf(schema);
  if (keys.join() === 'type') {
    const excluded = [not.type].flat();
    if (excluded.includes('integer') && types.includes('number') && !excluded.includes('number')) vague();
    if (excluded.includes('number')) excluded.push('integer');
    schema.type = types.filter((type) => !excluded.includes(type));
  } else if (keys.length && keys.every((key) => key === 'enum' || key === 'const')) {
    const values = valuesOf(not) ?? [];
    const texts = values.map(canonical);
    const own = valuesOf(schema);
    if (own) {
      schema.enum = own.filter((value) => !texts.includes(canonical(value)));
      if (!schema.enum.length) fail('bad-option', '"not" excludes every value');
      return;
    }
    const strings = values.filter((/** @type {any} */ value) => typeof value === 'string');
    if (strings.length) schema.allOf = [...[schema.allOf ?? []].flat(), { pattern: otherThan(strings) }];
    for (const type of types) {
      const excluded = values.filter((/** @type {any} */ value) => type !== 'string' && hasType(value, type));
      const isWhole = type === 'null' || (type === 'boolean' && new Set(excluded).size === 2);
      if (excluded.length && !isWhole) vague();
      if (excluded.length) schema.type = typesOf(schema).filter((one) => one !== type);
    }
  } else vague();
  if (schema.type?.length === 0) fail('bad-option', '"not" excludes every value');
}
