// json_schema.js - a JSON schema as a grammar of the JSON texts that it accepts
//
// Every text of the grammar is valid under the schema; the grammar leaves some valid texts out. The properties of an
// object come in the schema's order, and no others than those; numbers have at most 15 digits before and behind the
// point; between the tokens of JSON there is at most one space, or a line break with up to 20 blanks. A keyword that is
// not supported is refused by name.
import { fail, show } from '../base/errors.js';
import { chars, choice, complement, repeat, sequence, text } from './expression.js';
import { LARGEST, integers } from './integers.js';

/** @typedef {import('./expression.js').Expression} Expression */
/** @typedef {Record<string, any>} Schema */

/** Keywords that say nothing about which values are valid. */
const ANNOTATIONS = new Set(
  (
    '$schema $id $comment $anchor $defs definitions title description default examples deprecated ' +
    'readOnly writeOnly'
  ).split(' '),
);
/** Keywords of a type; without `type`, they say which one is meant. */
const KEYWORDS = /** @type {Record<string, string[]>} */ ({
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems', 'maxItems'],
  string: ['minLength', 'maxLength'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  number: [],
  boolean: [],
  null: [],
});
const TYPES = Object.keys(KEYWORDS);
const SUPPORTED = new Set([...ANNOTATIONS, ...Object.values(KEYWORDS).flat(), 'type', 'enum', 'const']);

const digit = chars('0-9');
const hex = chars('0-9', 'a-f', 'A-F');
/** @param {string} name @returns {Expression} */
const rule = (name) => ({ rule: name });

/**
 * Rules that all schemas share. A string holds no escaped surrogates, so that each escape is one character.
 * @type {[string, Expression][]}
 */
const SHARED = [
  ['space', choice(text(''), text(' '), sequence(text('\n'), repeat(chars(' ', '\t'), 0, 20)))],
  [
    'character',
    choice(
      { chars: complement([...Array.from([0x22, 0x5c], (c) => /** @type {[number, number]} */ ([c, c])), [0, 0x1f]]) },
      sequence(text('\\'), chars('"', '\\', '/', 'b', 'f', 'n', 'r', 't')),
      sequence(
        text('\\u'),
        choice(sequence(chars('0-9', 'a-c', 'e', 'f', 'A-C', 'E', 'F'), hex), sequence(chars('d', 'D'), chars('0-7'))),
        hex,
        hex,
      ),
    ),
  ],
  ['string', sequence(text('"'), repeat(rule('character'), 0, Infinity), text('"'))],
  ['integer', integers(-Infinity, Infinity)],
  [
    'number',
    sequence(
      repeat(text('-'), 0, 1),
      choice(text('0'), sequence(chars('1-9'), repeat(digit, 0, 14))),
      repeat(sequence(text('.'), repeat(digit, 1, 15)), 0, 1),
      repeat(sequence(chars('e', 'E'), repeat(chars('+', '-'), 0, 1), repeat(digit, 1, 2)), 0, 1),
    ),
  ],
  ['boolean', choice(text('true'), text('false'))],
  ['null', text('null')],
  ['object', list('{', '}', sequence(rule('string'), text(':'), rule('space'), rule('value')), 0, Infinity)],
  ['array', list('[', ']', rule('value'), 0, Infinity)],
  ['value', choice(...TYPES.filter((type) => type !== 'integer').map(rule))],
];

/**
 * `least` to `most` items between brackets, with commas.
 * @param {string} open
 * @param {string} close
 * @param {Expression} item
 * @param {number} least
 * @param {number} most
 * @returns {Expression}
 */
function list(open, close, item, least, most) {
  const space = rule('space');
  const more = sequence(space, text(','), space, item);
  const some = sequence(space, item, repeat(more, Math.max(0, least - 1), most - 1), space);
  const none = sequence(space);
  return sequence(text(open), most < 1 ? none : least > 0 ? some : choice(none, some), text(close));
}

/** Compiles one schema. */
class Compiler {
  /** @type {Map<string, Expression>} */
  rules = new Map(SHARED);

  /** @param {Schema | boolean} root */
  constructor(root) {
    this.root = root;
  }

  /**
   * The name of the rule of a part of the schema.
   * @param {string} at  JSON pointer
   * @returns {string}
   */
  ruleAt(at) {
    const name = `#${at}`;
    if (!this.rules.has(name)) {
      this.rules.set(name, text('')); // a part that refers to itself finds it
      this.rules.set(name, this.compile(this.find(at), name));
    }
    return name;
  }

  /**
   * @param {string} pointer
   * @returns {Schema | boolean}
   */
  find(pointer) {
    let part = /** @type {any} */ (this.root);
    for (const key of pointer.split('/').slice(1)) {
      const own = key.replace(/~1/g, '/').replace(/~0/g, '~');
      if (part === null || typeof part !== 'object' || !Object.hasOwn(part, own))
        fail('bad-option', `json: there is no #${pointer}`);
      part = part[own];
    }
    return part;
  }

  /**
   * The schema that a schema refers to, or itself.
   * @param {any} schema
   * @param {string} at
   */
  resolved(schema, at) {
    for (let hops = 0; schema?.$ref !== undefined; hops++) {
      if (hops > 64) fail('bad-option', `json: ${at} refers to itself`);
      schema = this.find(this.target(schema, at));
    }
    return schema;
  }

  /**
   * The pointer in `$ref`.
   * @param {Schema} schema
   * @param {string} at
   * @returns {string}
   */
  target({ $ref, ...rest }, at) {
    refuseOthers(rest, new Set(), at, 'beside $ref ');
    if (typeof $ref !== 'string' || !/^#(\/|$)/.test($ref))
      return fail(
        'unsupported',
        `json: ${at}: $ref is ${show($ref)}, expected a part of the schema, as in "#/$defs/name"`,
      );
    try {
      return decodeURIComponent($ref.slice(1));
    } catch (error) {
      return fail('bad-option', `json: ${at}: $ref is ${show($ref)}, which is no address`, error);
    }
  }

  /**
   * @param {any} schema
   * @param {string} at  where it is, for messages
   * @returns {Expression}
   */
  compile(schema, at) {
    if (schema === true) return rule('value');
    if (schema === null || typeof schema !== 'object' || Array.isArray(schema))
      return fail('bad-option', `json: ${at} is ${show(schema)}, expected a schema that accepts something`);
    if (schema.$ref !== undefined) return rule(this.ruleAt(this.target(schema, at)));
    for (const key of ['anyOf', 'oneOf']) if (schema[key] !== undefined) return this.alternatives(schema, key, at);
    refuseOthers(schema, SUPPORTED, at, '');
    const types = typesOf(schema, at);
    const values = valuesOf(schema, at);
    if (values) {
      const fitting = values.filter((value) => types.some((type) => hasType(value, type)));
      if (!fitting.length)
        fail('bad-option', `json: ${at}: no value of enum or const has the type ${types.join(' or ')}`);
      return choice(...fitting.map((value) => text(JSON.stringify(value))));
    }
    return choice(...types.map((type) => this.ofType(type, schema, at)));
  }

  /**
   * @param {Schema} schema
   * @param {string} key  anyOf or oneOf
   * @param {string} at
   * @returns {Expression}
   */
  alternatives(schema, key, at) {
    const { [key]: parts, ...rest } = schema;
    refuseOthers(rest, new Set(), at, `beside ${key} `);
    if (!Array.isArray(parts) || !parts.length)
      fail('bad-option', `json: ${at}: ${key} is ${show(parts)}, expected schemas`);
    if (key === 'oneOf')
      parts.forEach((/** @type {any} */ part, /** @type {number} */ i) => {
        const other = parts.findIndex(
          (/** @type {any} */ b, /** @type {number} */ k) => k < i && !this.disjoint(part, b, at),
        );
        if (other >= 0)
          fail(
            'unsupported',
            `json: ${at}: a value may fit ${other} and ${i} of oneOf, which must exclude each other; use anyOf`,
          );
      });
    return choice(
      ...parts.map((/** @type {any} */ part, /** @type {number} */ i) => this.compile(part, `${at}/${key}/${i}`)),
    );
  }

  /**
   * Whether no value fits both of two schemas, as far as their types, values and required properties show.
   * @param {any} a
   * @param {any} b
   * @param {string} at
   * @returns {boolean}
   */
  disjoint(a, b, at) {
    const [x, y] = [this.resolved(a, at), this.resolved(b, at)];
    for (const s of [x, y])
      if (s === null || typeof s !== 'object' || s.anyOf !== undefined || s.oneOf !== undefined) return false;
    const [left, right] = [valuesOf(x, at), valuesOf(y, at)];
    if (left && right) {
      const texts = new Set(left.map((value) => JSON.stringify(value)));
      return !right.some((value) => texts.has(JSON.stringify(value)));
    }
    const values = left ?? right;
    if (values) {
      const types = typesOf(left ? y : x, at);
      return !values.some((value) => types.some((type) => hasType(value, type)));
    }
    const types = typesOf(y, at).flatMap((type) => (type === 'number' ? [type, 'integer'] : type));
    const common = typesOf(x, at).filter(
      (type) => types.includes(type) || (type === 'number' && types.includes('integer')),
    );
    if (!common.length) return true;
    if (common.some((type) => type !== 'object')) return false;
    return (Array.isArray(x.required) ? x.required : []).some(
      (/** @type {any} */ name) =>
        Array.isArray(y.required) &&
        y.required.includes(name) &&
        x.properties?.[name] !== undefined &&
        y.properties?.[name] !== undefined &&
        this.disjoint(x.properties[name], y.properties[name], at),
    );
  }

  /**
   * @param {string} type
   * @param {Schema} schema
   * @param {string} at
   * @returns {Expression}
   */
  ofType(type, schema, at) {
    const given = KEYWORDS[type].some((key) => schema[key] !== undefined);
    if (type === 'number' && KEYWORDS.integer.some((key) => schema[key] !== undefined)) {
      const key = KEYWORDS.integer.find((name) => schema[name] !== undefined);
      fail('unsupported', `json: ${at}: ${key} is supported for integers only, not for the type number`);
    }
    if (!given) return rule(type);
    if (type === 'object') return this.object(schema, at);
    if (type === 'integer') return integerRange(schema, at);
    const [least, most] = counts(schema, type === 'array' ? 'Items' : 'Length', at);
    if (type === 'string') return sequence(text('"'), repeat(rule('character'), least, most), text('"'));
    return list('[', ']', this.part(schema.items ?? true, `${at}/items`), least, most);
  }

  /**
   * The rule of a part. Compiling it as a rule of its own keeps its states in one place.
   * @param {any} schema
   * @param {string} at
   * @returns {Expression}
   */
  part(schema, at) {
    if (!this.rules.has(at)) this.rules.set(at, this.compile(schema, at));
    return rule(at);
  }

  /**
   * @param {Schema} schema
   * @param {string} at
   * @returns {Expression}
   */
  object({ properties = {}, required = [], additionalProperties: others = true }, at) {
    if (typeof properties !== 'object' || properties === null || Array.isArray(properties))
      fail('bad-option', `json: ${at}: properties is ${show(properties)}, expected schemas by name`);
    if (!Array.isArray(required) || !required.every((name) => typeof name === 'string'))
      fail('bad-option', `json: ${at}: required is ${show(required)}, expected a list of names`);
    const names = Object.keys(properties);
    const additional = required.filter((name) => !names.includes(name));
    if (additional.length && others === false)
      fail('bad-option', `json: ${at}: ${show(additional[0])} is required, but is no property`);
    const member = (/** @type {string} */ name, /** @type {Expression} */ value) =>
      sequence(text(JSON.stringify(name)), rule('space'), text(':'), rule('space'), value);
    const value = (/** @type {string} */ name) => this.part(properties[name], `${at}/properties/${pointerPart(name)}`);
    if (!names.length && !additional.length) {
      if (others === false) return sequence(text('{'), rule('space'), text('}'));
      const any = this.part(others, `${at}/additionalProperties`);
      return list('{', '}', sequence(rule('string'), rule('space'), text(':'), rule('space'), any), 0, Infinity);
    }
    const members = [
      ...names.map((name) => ({ member: member(name, value(name)), isRequired: required.includes(name) })),
      ...additional.map((name) => ({
        member: member(name, others === true ? rule('value') : this.part(others, `${at}/additionalProperties`)),
        isRequired: true,
      })),
    ];
    // `first[i]`: the members from i on, when none was written; `later[i]`: when one was. Built from the last one.
    const space = rule('space');
    /** @type {Expression} */
    let first = text('');
    /** @type {Expression} */
    let later = text('');
    members.reverse().forEach(({ member: one, isRequired }, i) => {
      const rest = `${members.length - i} of ${at}`; // the names of other rules begin with # or a letter
      this.rules.set(rest, later);
      const begun = sequence(one, rule(rest));
      const continued = sequence(space, text(','), space, one, rule(rest));
      later = isRequired ? continued : choice(continued, rule(rest));
      first = isRequired ? begun : choice(begun, first);
    });
    return sequence(text('{'), space, first, space, text('}'));
  }
}

/**
 * Throws for the first keyword that is neither an annotation nor one of these.
 * @param {Schema} schema
 * @param {Set<string>} supported
 * @param {string} at
 * @param {string} where
 */
function refuseOthers(schema, supported, at, where) {
  for (const key of Object.keys(schema))
    if (schema[key] !== undefined && !supported.has(key) && !ANNOTATIONS.has(key))
      fail('unsupported', `json: ${at}: ${where}the keyword ${show(key)} is not supported`);
}

/** @param {string} name */
const pointerPart = (name) => name.replace(/~/g, '~0').replace(/\//g, '~1');

/**
 * The types of a schema: those that it names, or the type whose keywords it has, or all.
 * @param {Schema} schema
 * @param {string} at
 * @returns {string[]}
 */
function typesOf(schema, at) {
  const { type } = schema;
  if (type === undefined) {
    if (schema.enum !== undefined || schema.const !== undefined) return TYPES;
    const meant = TYPES.filter((name) => KEYWORDS[name].some((key) => schema[key] !== undefined));
    return meant.length ? meant : TYPES.filter((name) => name !== 'integer');
  }
  const types = [type].flat();
  const wrong = types.find((name) => !TYPES.includes(name));
  if (!types.length || wrong !== undefined)
    fail('bad-option', `json: ${at}: type is ${show(wrong ?? type)}, expected one of ${TYPES.join(', ')}`);
  return types;
}

/**
 * The values that a schema lists; null: it lists none.
 * @param {Schema} schema
 * @param {string} at
 * @returns {any[] | null}
 */
function valuesOf(schema, at) {
  if (schema.const !== undefined && schema.enum === undefined) return [schema.const];
  if (schema.enum === undefined) return null;
  if (!Array.isArray(schema.enum) || !schema.enum.length)
    fail('bad-option', `json: ${at}: enum is ${show(schema.enum)}, expected a list of values`);
  const same = (/** @type {any} */ value) => JSON.stringify(value) === JSON.stringify(schema.const);
  return schema.const === undefined ? schema.enum : schema.enum.filter(same);
}

/**
 * @param {any} value
 * @param {string} type
 */
function hasType(value, type) {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return value !== null && typeof value === 'object' && !Array.isArray(value);
  return type === 'integer' ? Number.isInteger(value) : typeof value === type;
}

/**
 * minItems and maxItems, or minLength and maxLength.
 * @param {Schema} schema
 * @param {string} what
 * @param {string} at
 * @returns {[number, number]}
 */
function counts(schema, what, at) {
  const [least, most] = [schema[`min${what}`] ?? 0, schema[`max${what}`] ?? Infinity];
  for (const [key, n] of [
    [`min${what}`, least],
    [`max${what}`, most],
  ])
    if (n !== Infinity && !(Number.isSafeInteger(n) && n >= 0))
      fail('bad-option', `json: ${at}: ${key} is ${show(n)}, expected a whole number from 0 up`);
  if (least > most) fail('bad-option', `json: ${at}: min${what} is ${least}, more than max${what}, which is ${most}`);
  return [least, most];
}

/**
 * The integers of a schema with limits.
 * @param {Schema} schema
 * @param {string} at
 * @returns {Expression}
 */
function integerRange(schema, at) {
  for (const key of KEYWORDS.integer)
    if (schema[key] !== undefined && !Number.isFinite(schema[key]))
      fail('bad-option', `json: ${at}: ${key} is ${show(schema[key])}, expected a number`);
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema;
  const low = Math.max(Math.ceil(minimum), Math.floor(exclusiveMinimum) + 1);
  const high = Math.min(Math.floor(maximum), Math.ceil(exclusiveMaximum) - 1);
  if (!(low <= high)) fail('bad-option', `json: ${at}: there is no integer between its limits`);
  if (low > LARGEST || high < -LARGEST) fail('unsupported', `json: ${at}: its integers have more than 15 digits`);
  return integers(low, high);
}

/**
 * The grammar of a schema.
 * @param {Schema | boolean} schema
 * @returns {import('./expression.js').Grammar}
 */
export function schemaGrammar(schema) {
  const compiler = new Compiler(schema);
  const root = compiler.ruleAt('');
  return { rules: compiler.rules, root };
}
