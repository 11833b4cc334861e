// schema_grammar.js - a JSON schema as a grammar of the JSON texts that it accepts
//
// Every text of the grammar is valid under the schema; the grammar leaves some valid texts out. The properties of an
// object come in the schema's order, and others only where additionalProperties is given. Numbers have at most 15
// digits before and behind the point; with limits, 15 in all and no exponent. Strings with a pattern or a format have
// as few escapes as possible (json_strings.js, string_formats.js). Between the tokens of JSON there is nothing, or on
// request at most one space, or a line break with up to 20 blanks. A keyword that limits values and is not supported is
// refused by name.
import { fail, show } from '../../base/errors.js';
import { COMBINING, Combiner, MAX_COMBINED, MAX_DEPTH, checkSchema, isChoice, listOf, tooDeep } from './combine.js';
import { Dialects, isNothing, otherThan } from './dialects.js';
import { chars, choice, complement, rangesOf, repeat, sequence, text } from './expression.js';
import {
  checkKeywords,
  countsOf,
  fits,
  hasType,
  rangeOf,
  textsOf,
  typesOf,
  valuesOf,
  KEYWORDS,
  TYPES,
} from './schema_keywords.js';
import { membersOf, uniqueItems } from './object_members.js';
import { LARGEST, numbers } from './number_ranges.js';
import { inPart } from './schema_place.js';
import { patternString, patternsOf, writtenChars } from './json_strings.js';

/** @import { Expression } from './expression.js' */
/** @typedef {Record<string, any>} Schema */
/**
 * Between the tokens of JSON: nothing; anything; a space behind : and , as Python writes it.
 * @typedef {'compact' | 'any' | 'spaced'} Whitespace
 */

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
      { chars: complement([...rangesOf('"', '\\'), [0, 0x1f]]) },
      sequence(text('\\'), chars('"', '\\', '/', 'b', 'f', 'n', 'r', 't')),
      sequence(
        text('\\u'),
        choice(sequence(chars('0-9', 'a-c', 'e', 'f', 'A-C', 'E', 'F'), hex), sequence(chars('d', 'D'), chars('0-7'))),
        hex,
        hex,
      ),
    ),
  ],
  ['gap', rule('space')],
  ['string', sequence(text('"'), repeat(rule('character'), 0, Infinity), text('"'))],
  ['integer', choice(text('0'), sequence(repeat(text('-'), 0, 1), chars('1-9'), repeat(digit, 0, 14)))],
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
  ['object', list('{', '}', sequence(rule('string'), text(':'), rule('gap'), rule('value')), 0, Infinity)],
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
 */
function list(open, close, item, least, most) {
  const space = rule('space');
  const more = sequence(space, text(','), rule('gap'), item);
  const some = sequence(space, item, repeat(more, Math.max(0, least - 1), most - 1), space);
  return sequence(text(open), most < 1 ? space : least > 0 ? some : choice(space, some), text(close));
}

/** Compiles one schema. */
class Compiler {
  /** @type {Map<string, Expression>} */
  rules = new Map(SHARED);
  /** The schema of each rule of a part. @type {Map<string, any>} */
  #sources = new Map();
  /** Rules of schemas that are put together from several, by the number of these. @type {Map<number, string>} */
  #combined = new Map();
  #combiner;
  #depth = 0;

  /**
   * @param {Schema | boolean} root
   * @param {Dialects} dialects
   * @param {Whitespace} whitespace
   */
  constructor(root, dialects, whitespace) {
    this.#combiner = new Combiner(root, dialects);
    if (whitespace !== 'any') this.rules.set('space', text(''));
    if (whitespace === 'spaced') this.rules.set('gap', text(' '));
  }

  /**
   * The rule of a part. Compiling it as a rule of its own keeps its states in one place.
   * @param {any} schema
   * @param {string} at  where it is; also the rule's name, if no other schema has it
   * @returns {{rule: string}}
   */
  part(schema, at) {
    let name = at;
    for (let n = 2; this.#sources.has(name) && this.#sources.get(name) !== schema; n++) name = `${at} (${n})`;
    if (!this.#sources.has(name)) {
      this.#sources.set(name, schema);
      this.rules.set(name, text('')); // a part that refers to itself finds it
      this.rules.set(name, this.compile(schema, at));
    }
    return { rule: name };
  }

  /**
   * @param {any} schema
   * @param {string} at  where it is, for messages
   */
  compile(schema, at) {
    if (schema === true) return rule('value');
    return inPart(at, () => {
      checkSchema(schema);
      schema = this.#combiner.dialects.plain(schema);
      if (++this.#depth > MAX_DEPTH) tooDeep();
      const expression = this.expression(schema, at);
      this.#depth--;
      return expression;
    });
  }

  /**
   * @param {Schema} schema
   * @param {string} at
   */
  expression(schema, at) {
    const [key, ...others] = Object.keys(schema);
    if (!others.length && key === '$ref') {
      const pointer = this.#combiner.target(schema.$ref);
      return this.part(this.#combiner.find(pointer), `#${pointer}`);
    }
    if (!others.length && (key === 'anyOf' || key === 'oneOf')) return this.alternatives(schema[key], key, at);
    if (COMBINING.some((name) => schema[name] !== undefined)) return this.combined(schema, at);
    return this.keywords(schema, at);
  }

  /**
   * A schema whose keywords are neither references nor other schemas for the same value.
   * @param {Schema} schema
   * @param {string} at
   */
  keywords(schema, at) {
    checkKeywords(schema);
    const types = typesOf(schema);
    const values = valuesOf(schema);
    if (!values) return choice(...types.map((type) => this.ofType(type, schema, at)));
    const ofType = values.filter((value) => types.some((type) => hasType(value, type)));
    if (!ofType.length) fail('bad-option', `no value of enum or const has the type ${types.join(' or ')}`);
    const fitting = ofType.filter((value) => fits(value, schema));
    if (!fitting.length) fail('bad-option', 'no value of enum or const fits the other keywords');
    return choice(...fitting.map((value) => text(JSON.stringify(value))));
  }

  /**
   * A schema with references or other schemas for the same value beside its keywords.
   * @param {Schema} schema
   * @param {string} at
   */
  combined(schema, at) {
    const parts = this.#combiner.flat(schema);
    const key = this.#combiner.numberOf(parts);
    const known = this.#combined.get(key);
    if (known !== undefined) return rule(known);
    if (this.#combined.size >= MAX_COMBINED)
      fail('unsupported', `allOf combines anyOf or oneOf to more than ${MAX_COMBINED} schemas`);
    const name = `${this.#combined.size} parts of ${at}`;
    this.#combined.set(key, name);
    const choices = parts.find(isChoice);
    if (!choices) this.rules.set(name, this.keywords(this.#combiner.together(parts), at));
    else {
      const others = parts.filter((part) => part !== choices);
      const [[kind, list]] = Object.entries(choices);
      const each = list.map((/** @type {any} */ one) => (others.length ? { allOf: [...others, one] } : one));
      this.rules.set(name, this.alternatives(each, kind, at));
    }
    return rule(name);
  }

  /**
   * @param {any} given  the value of anyOf or oneOf
   * @param {string} key  anyOf or oneOf
   * @param {string} at
   * @returns {Expression}
   */
  alternatives(given, key, at) {
    const parts = listOf(given, key);
    if (key === 'oneOf')
      parts.forEach((part, i) => {
        const other = parts.findIndex((b, k) => k < i && !this.#combiner.disjoint(part, b));
        if (other >= 0)
          fail('unsupported', `a value may fit ${other} and ${i} of oneOf, which must exclude each other; use anyOf`);
      });
    return choice(...parts.map((part, i) => this.compile(part, `${at}/${key}/${i}`)));
  }

  /**
   * @param {string} type
   * @param {Schema} schema
   * @param {string} at
   */
  ofType(type, schema, at) {
    if (type === 'string') return this.string(schema);
    if (type === 'number' || type === 'integer') return this.number(rangeOf(schema, type === 'integer'));
    if (!KEYWORDS[type].some((key) => schema[key] !== undefined)) return rule(type);
    return type === 'object' ? this.object(schema, at) : this.array(schema, at);
  }

  /** @param {import('./number_ranges.js').Range} range */
  number(range) {
    const type = range.isInteger ? 'integer' : 'number';
    if (range.low === -Infinity && range.high === Infinity && range.of === undefined) return rule(type);
    if (range.isInteger && range.of === undefined) checkIntegers(range);
    return numbers(range) ?? fail('bad-option', `there is no ${type} of at most 15 digits that fits its limits`);
  }

  /** @param {Schema} schema */
  string(schema) {
    const [least, most] = countsOf(schema, 'Length');
    const patterns = patternsOf(textsOf(schema));
    if (patterns.length)
      return this.shared(`strings ${JSON.stringify(patterns)} ${least} ${most}`, () =>
        patternString(patterns, least, most, (ranges) => this.characters(ranges)),
      );
    if (least === 0 && most === Infinity) return rule('string');
    return sequence(text('"'), repeat(rule('character'), least, most), text('"'));
  }

  /**
   * One character of these, with its escape. Sets with characters of several bytes are rules.
   * @param {[number, number][]} ranges
   */
  characters(ranges) {
    const written = writtenChars(ranges);
    if ('chars' in written && written.chars.every(([, high]) => high < 0x80)) return written;
    return this.shared(`characters ${ranges.join(' ')}`, () => written);
  }

  /**
   * A rule that parts of the schema share: its name says all of it.
   * @param {string} name
   * @param {() => Expression} make
   */
  shared(name, make) {
    if (!this.rules.has(name)) this.rules.set(name, make());
    return rule(name);
  }

  /**
   * @param {Schema} schema
   * @param {string} at
   */
  array({ prefixItems = [], items = true, ...counts }, at) {
    let [least, most] = countsOf(counts, 'Items');
    const excluded = prefixItems.findIndex(isNothing);
    const allowed = excluded >= 0 ? excluded : items === false ? prefixItems.length : Infinity;
    if (least > allowed) fail('bad-option', `minItems is ${least}, but its items are at most ${allowed}`);
    most = Math.min(most, allowed);
    const item = () => this.part(items, `${at}/items`);
    if (counts.uniqueItems && most > 1) {
      const values = prefixItems.length ? null : inPart('/items', () => this.#combiner.finite(items));
      if (!values) fail('unsupported', 'uniqueItems is supported only for items of an enum');
      return sequence(text('['), uniqueItems(values, [least, most]), text(']'));
    }
    if (!prefixItems.length) return list('[', ']', most ? item() : text(''), least, most);
    const first = prefixItems
      .slice(0, most)
      .map((/** @type {any} */ one, /** @type {number} */ i) => this.part(one, `${at}/prefixItems/${i}`));
    const space = rule('space');
    const more = (/** @type {Expression} */ one) => sequence(space, text(','), rule('gap'), one);
    // What follows after so many items; built from the last one.
    let rest = text('');
    if (most > first.length) rest = repeat(more(item()), Math.max(0, least - first.length), most - first.length);
    for (let i = first.length - 1; i >= 0; i--) {
      const name = `items from ${i + 1} of ${at}`; // a rule, so that a long list is not nested deeply
      this.rules.set(name, rest);
      const some = sequence(i ? more(first[i]) : first[i], rule(name));
      rest = i >= least ? choice(text(''), some) : some;
    }
    return sequence(text('['), space, rest, space, text(']'));
  }

  /**
   * @param {Schema} schema
   * @param {string} at
   */
  object({ properties = {}, required = [], additionalProperties: given, propertyNames = true, ...limits }, at) {
    const others = given ?? true;
    const ofNames = (/** @type {() => any} */ work) => inPart('/propertyNames', work);
    const isName = (/** @type {string} */ name) => ofNames(() => this.#combiner.accepts(propertyNames, name));
    const excluded = required.find((/** @type {string} */ name) => !isName(name));
    if (excluded !== undefined) fail('bad-option', `${show(excluded)} is required, but does not fit propertyNames`);
    const names = Object.keys(properties).filter(isName);
    // Names that propertyNames lists are as good as listed properties.
    const finite =
      others === false || propertyNames === true ? null : ofNames(() => this.#combiner.finite(propertyNames));
    const additional = [...new Set([...required, ...(finite ?? [])])].filter(
      (name) => isName(name) && !names.includes(name),
    );
    if (others === false && additional.length)
      fail('bad-option', `${show(additional[0])} is required, but is no property`);
    const member = (/** @type {string} */ name, /** @type {Expression} */ value) =>
      sequence(text(JSON.stringify(name)), rule('space'), text(':'), rule('gap'), value);
    const value = (/** @type {string} */ name) => this.part(properties[name], `${at}/properties/${pointerPart(name)}`);
    const any = () => this.part(others, `${at}/additionalProperties`);
    const members = [
      ...names.map((name) => ({ expression: member(name, value(name)), isRequired: required.includes(name) })),
      ...additional.map((name) => ({ expression: member(name, any()), isRequired: required.includes(name) })),
    ];
    const counts = countsOf(limits, 'Properties');
    // Without additionalProperties, the listed properties are those that are meant.
    const isOpen = others !== false && !finite && (given !== undefined || !members.length);
    const key = () => this.otherNames(propertyNames, Object.keys(properties).concat(required), at);
    const other = isOpen ? sequence(key(), rule('space'), text(':'), rule('gap'), any()) : null;
    return sequence(text('{'), membersOf(members, other, counts), text('}'));
  }

  /**
   * The names of properties that are not listed.
   * @param {any} propertyNames  a schema of them
   * @param {string[]} listed
   * @param {string} at
   */
  otherNames(propertyNames, listed, at) {
    const others = listed.length ? [{ pattern: otherThan(listed) }] : [];
    if (propertyNames === true && !others.length) return rule('string');
    return this.part({ allOf: [propertyNames, { type: 'string' }, ...others] }, `${at}/propertyNames`);
  }
}

/** @param {string} name */
const pointerPart = (name) => name.replace(/~/g, '~0').replace(/\//g, '~1');

/**
 * Throws when no integer of at most 15 digits is between limits.
 * @param {import('./number_ranges.js').Range} range
 */
function checkIntegers({ low, high, aboveLow, belowHigh }) {
  const least = aboveLow ? Math.floor(low) + 1 : Math.ceil(low);
  const most = belowHigh ? Math.ceil(high) - 1 : Math.floor(high);
  if (!(least <= most)) fail('bad-option', 'there is no integer between its limits');
  if (least > LARGEST || most < -LARGEST) fail('unsupported', 'its integers have more than 15 digits');
}

/**
 * The grammar of a schema.
 * @param {Schema | boolean} schema
 * @param {{whitespace?: Whitespace, strictSchema?: boolean}} [options]
 * @returns {import('./expression.js').Grammar & {ignored: string[]}}  ignored: unknown keywords and formats
 */
export function schemaGrammar(schema, { whitespace = 'compact', strictSchema = false } = {}) {
  const dialects = new Dialects(strictSchema);
  const compiler = new Compiler(schema, dialects, whitespace);
  const { rule: root } = compiler.part(schema, '#');
  return { rules: compiler.rules, root, ignored: [...dialects.ignored] };
}
