// constrain.test.js - JSON schemas and grammars: every text that they allow is valid
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { GlassformerError, Tokenizer, load } from '../../web/lib/index.js';
import { Automaton } from '../../web/lib/constrain/automaton.js';
import { compiled } from '../../web/lib/constrain/compile.js';
import { constraintOf } from '../../web/lib/constrain/constraint.js';
import { integers } from '../../web/lib/constrain/integers.js';
import { networkOf } from '../../web/lib/constrain/network.js';
import { utf8Sequences } from '../../web/lib/constrain/utf8.js';
import { vocabularyOf } from '../../web/lib/constrain/vocabulary.js';
import { grammarAutomaton, reads, schemaAutomaton } from './automata.js';
import { collect, json, refused, stories, top } from './helpers.js';
import { isValid } from './json_validity.js';

/** Tokenizers with bytes of three kinds, each as constraintOf sees a model. */
let models;
let model;
before(async () => {
  const named = {
    'byte-level BPE': await Tokenizer.load(stories),
    'few characters and bytes': await Tokenizer.load(join(top, 'weights/dates/tokenizer.json')),
    SentencePiece: await Tokenizer.load(join(top, 'tests/golden/formats/tok512.bin')),
  };
  models = Object.entries(named).map(([name, tokenizer]) => ({
    name,
    tokenizer,
    config: { vocab_size: tokenizer.vocabSize },
    special: { eos: [...tokenizer.special].slice(-1) },
  }));
  for (const one of models)
    one.vocabulary = vocabularyOf(JSON.parse(one.tokenizer.toText()), one.config.vocab_size, one.special.eos);
  model = await load(stories);
});
after(() => model.dispose());

const utf8 = new TextEncoder();

const { schema } = fc.letrec((tie) => {
  const count = fc.nat(3);
  const name = fc.oneof(
    fc.constantFrom('a', 'b', 'name', 'größe', '"', '😀', 'a/b~c', ''),
    fc.string({ maxLength: 4 }),
  );
  const range = fc.tuple(fc.integer({ min: -1200, max: 1200 }), count).map(([low, n]) => [low, low + n ** 5]);
  return {
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(
        { type: 'boolean' },
        { type: 'null' },
        { type: 'number' },
        { type: 'integer' },
        { type: ['null', 'boolean'] },
      ),
      range.map(([minimum, maximum]) => ({ type: 'integer', minimum, maximum })),
      range.map(([low, high]) => ({ type: 'integer', exclusiveMinimum: low - 1, exclusiveMaximum: high + 1 })),
      fc.tuple(count, count).map(([n, more]) => ({ type: 'string', minLength: n, maxLength: n + more })),
      fc.constantFrom(true, {}, { type: 'string' }, { type: 'object' }, { type: 'array' }),
      fc.array(fc.jsonValue({ maxDepth: 1 }), { minLength: 1, maxLength: 4 }).map((values) => ({ enum: values })),
      fc.jsonValue({ maxDepth: 1 }).map((value) => ({ const: value })),
      fc
        .tuple(tie('schema'), count, count)
        .map(([items, n, more]) => ({ type: 'array', items, minItems: n, maxItems: n + more })),
      fc
        .tuple(
          fc.uniqueArray(name, { maxLength: 4 }),
          fc.array(tie('schema'), { minLength: 4, maxLength: 4 }),
          fc.nat(15),
        )
        .map(([names, parts, required]) => ({
          type: 'object',
          properties: Object.fromEntries(names.map((n, i) => [n, parts[i]])),
          required: names.filter((_, i) => (required >> i) & 1),
          additionalProperties: required % 2 === 0,
        })),
      tie('schema').map((additionalProperties) => ({ type: 'object', additionalProperties })),
      fc
        .constantFrom({ type: 'string' }, { pattern: '^[a-c]"?$' }, { enum: ['a', 'ü"'] }, { minLength: 2 }, false)
        .map((propertyNames) => ({ type: 'object', propertyNames, additionalProperties: { type: 'null' } })),
      fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
      range.map(([minimum, maximum]) => ({
        type: 'number',
        minimum: minimum / 8,
        exclusiveMaximum: maximum / 8 + 0.25,
      })),
      fc.tuple(range, fc.constantFrom(1, 5, 7, 12)).map(([[minimum, maximum], multipleOf]) => ({
        type: 'integer',
        minimum,
        maximum: maximum + 12,
        multipleOf,
      })),
      fc.constantFrom(0.01, 0.25, 1.5, 30).map((multipleOf) => ({ type: 'number', multipleOf })),
      fc
        .constantFrom('^[A-Z]{2}-\\d+$', 'ab?', '^["\\\\\\n]*$', '[^a-z]$', '^(?:ä|😀|\\s)+', '^\\u{1F600}.')
        .map((pattern) => ({ type: 'string', pattern })),
      fc.tuple(fc.constantFrom('x', '^[^b]', '[\\w-]$'), count).map(([pattern, n]) => ({
        type: 'string',
        pattern,
        minLength: n,
        maxLength: 2 * n + 2,
      })),
      fc
        .constantFrom('date', 'time', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid', 'uri')
        .map((format) => ({ type: 'string', format })),
      fc
        .tuple(
          fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
          count,
          fc.constantFrom(true, false, { type: 'null' }),
        )
        .map(([prefixItems, n, items]) => ({
          type: 'array',
          prefixItems,
          items,
          minItems: Math.min(n, prefixItems.length),
          maxItems: n + 2,
        })),
      fc.tuple(tie('schema'), tie('schema')).map(([a, b]) => ({
        type: 'object',
        properties: { a, b },
        allOf: [{ required: ['b'] }, { properties: { c: a }, additionalProperties: true }],
        anyOf: [{ required: ['a'] }, { properties: { d: { const: 1 } }, required: ['d', 'c'] }],
      })),
      fc.constant({
        oneOf: [{ type: 'integer' }, { const: 'x' }, { type: 'array', items: { type: 'null' }, maxItems: 2 }],
      }),
    ),
  };
});

/**
 * A random text that a constraint allows, and its tokens. Tokens that close something are drawn more often, so that the
 * text ends.
 */
function randomText(one, options, random) {
  const constraint = constraintOf(one, compiled(options), []);
  const { eos } = one.special;
  const closing = ['"', '}', ']'].flatMap((text) => one.tokenizer.encode(text, { addSpecialTokens: false }).slice(-1));
  const ids = [];
  for (;;) {
    if (constraint.complete) return { ids, text: one.tokenizer.decode(ids) };
    const bits = constraint.allowed(eos);
    const has = (/** @type {number} */ id) => (bits[id >> 5] >>> (id & 31)) & 1;
    const closers = [...closing, ...eos].filter(has);
    const all =
      closers.length && random() < 0.4
        ? closers
        : Array.from({ length: one.config.vocab_size }, (_, id) => id).filter(has);
    const id = all[Math.floor(random() * all.length)];
    if (eos.includes(id)) return { ids, text: one.tokenizer.decode(ids) };
    ids.push(id);
    constraint.accept(id);
    assert.ok(ids.length < 4000, 'the text does not end');
  }
}

/** A generator of numbers from 0 to 1. */
const numbersOf = (/** @type {number} */ seed) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

describe('JSON schemas', () => {
  test('any random text under any schema is JSON and valid, in every kind of vocabulary', () => {
    fc.assert(
      fc.property(schema, fc.nat(2 ** 31), (given, seed) => {
        for (const one of models) {
          const { text } = randomText(one, { json: given }, numbersOf(seed));
          assert.ok(isValid(JSON.parse(text), given), `${one.name}: ${text.length} ${text}`);
        }
      }),
      { numRuns: 150 },
    );
  });

  test('a recursive schema with $ref and $defs', () => {
    const tree = {
      $defs: {
        node: {
          type: 'object',
          properties: { value: { type: 'integer', minimum: 0, maximum: 9 }, children: { $ref: '#/$defs/nodes' } },
          required: ['value', 'children'],
          additionalProperties: false,
        },
        nodes: { type: 'array', items: { $ref: '#/$defs/node' }, maxItems: 2 },
      },
      $ref: '#/$defs/node',
    };
    let nested = 0;
    for (let seed = 0; seed < 40; seed++) {
      const { text } = randomText(models[0], { json: tree }, numbersOf(seed));
      assert.ok(isValid(JSON.parse(text), tree), text);
      nested = Math.max(nested, text.split('children').length);
    }
    assert.ok(nested > 2);
  });

  test('texts that are read, and texts that are not', () => {
    const person = schemaAutomaton({
      type: 'object',
      title: 'a person',
      properties: {
        name: { type: 'string' },
        age: { type: 'integer', minimum: 0, maximum: 120 },
        tags: { items: { enum: ['a', 2, null] } },
      },
      required: ['name', 'age'],
    });
    for (const [text, fine] of /** @type {[string, boolean][]} */ ([
      ['{"name":"Ada","age":36}', true],
      ['{\n  "name": "Gr\\u00f6\\n😀",\n  "age": 120,\n  "tags": ["a", 2, null]\n}', true],
      ['{"name":"","age":0,"tags":[]}', true],
      ['{"name":"Ada","age":121}', false],
      ['{"name":"Ada","age":-1}', false],
      ['{"name":"Ada","age":01}', false],
      ['{"age":1,"name":"Ada"}', false],
      ['{"name":"Ada"}', false],
      ['{"name":"Ada","age":1,}', false],
      ['{"name":"A\nda","age":1}', false],
      ['{"name":"\\ud83d","age":1}', false],
      ['{"name":"Ada","age":1,"tags":["b"]}', false],
      ['{"name":"Ada","age":1} ', false],
    ]))
      assert.equal(reads(person, text), fine, text);
    const number = schemaAutomaton({ type: 'number' });
    for (const text of ['0', '-0', '1.5', '-12e+3', '3.25E-9', '123456789012345']) assert.ok(reads(number, text), text);
    for (const text of ['', '-', '01', '.5', '1.', '1e', '+1', '1e999', 'NaN']) assert.ok(!reads(number, text), text);
    const any = schemaAutomaton(true);
    for (const value of [{ a: [1, { b: null }], c: 'x' }, [], {}, 'x', true, -1.5])
      for (const indent of [0, 2]) assert.ok(reads(any, JSON.stringify(value, null, indent)));
  });

  test('integers of a range: exactly these', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -2500, max: 2500 }),
        fc.nat(2500),
        fc.integer({ min: -6000, max: 6000 }),
        (low, n, x) => {
          const automaton = new Automaton(
            networkOf({ rules: new Map([['root', integers(low, low + n)]]), root: 'root' }, 'test'),
          );
          for (const value of [x, low, low + n, low - 1, low + n + 1])
            assert.equal(reads(automaton, String(value)), value >= low && value <= low + n);
          assert.ok(!reads(automaton, `0${Math.abs(x)}`) && !reads(automaton, '-0'));
        },
      ),
      { numRuns: 300 },
    );
  });

  test('numbers between limits and multiples: exactly these, among decimals of at most 15 digits', () => {
    const decimal = fc
      .tuple(fc.integer({ min: -1200, max: 1200 }), fc.nat(4))
      .map(([n, places]) => Number((n / 10 ** places).toFixed(places)));
    const limits = fc
      .tuple(
        decimal,
        fc.nat(3000),
        fc.subarray(['minimum', 'exclusiveMinimum']),
        fc.subarray(['maximum', 'exclusiveMaximum']),
      )
      .map(([low, width, from, to]) =>
        Object.fromEntries([
          ...from.map((key) => [key, low]),
          ...to.map((key) => [key, (low * 1e4 + width ** 2) / 1e4]),
        ]),
      );
    const divisor = fc.constantFrom(undefined, undefined, 1, 3, 7, 100, 0.5, 0.01, 0.25, 1.5, 360);
    const near = fc.tuple(decimal, fc.constantFrom('', '0', '1', '9', '00000000001'));
    const seen = { yes: 0, no: 0 };
    fc.assert(
      fc.property(
        limits,
        divisor,
        fc.boolean(),
        fc.array(near, { minLength: 20, maxLength: 20 }),
        (given, of, isInteger, all) => {
          const json = { type: isInteger ? 'integer' : 'number', ...given, ...(of && { multipleOf: of }) };
          if (!Object.keys(given).length && !of) return;
          let automaton = null;
          try {
            automaton = schemaAutomaton(json);
          } catch (error) {
            assert.match(error.message, /there is no (integer|number)/);
          }
          const places = of === undefined ? 15 : (String(of).split('.')[1] ?? '').length;
          const edges = Object.values(given).map((limit) => [limit, '']);
          for (const [base, more] of [...all, ...edges, ...edges.map(([limit]) => [limit, '1'])]) {
            const text = !more ? String(base) : `${base}${String(base).includes('.') ? '' : '.'}${more}`;
            const [, fraction = ''] = text.split('.');
            const fine =
              isValid(Number(text), json) &&
              (!isInteger || !text.includes('.')) &&
              fraction.length <= places &&
              !(text.startsWith('-') && Number(text) === 0);
            assert.equal(!!automaton && reads(automaton, text), fine, `${JSON.stringify(json)}: ${text}`);
            seen[fine ? 'yes' : 'no']++;
          }
          for (const text of ['', '-', '.5', '1.', '01', '-0', '1e2', '+1', '--1', '1.5.5'])
            assert.ok(!automaton || !reads(automaton, text), text);
        },
      ),
      { numRuns: 400 },
    );
    assert.ok(seen.yes > 250 && seen.no > 1000, JSON.stringify(seen));
    const money = schemaAutomaton({ type: 'number', minimum: 0, multipleOf: 0.01 });
    for (const text of ['0', '19.99', '0.1', '12.50', '9999999999999.99']) assert.ok(reads(money, text), text);
    for (const text of ['-1', '0.001', '99999999999999.99', '1e1']) assert.ok(!reads(money, text), text);
  });

  /** Schemas that others often have values in common with. */
  const condition = fc.oneof(
    schema,
    fc.constantFrom(
      {},
      { minLength: 1, maxLength: 4 },
      { pattern: '[^a]' },
      { type: ['string', 'number', 'array', 'object', 'boolean'] },
      { minimum: -50.5, multipleOf: 0.5 },
      { maxItems: 2 },
      { required: ['b'] },
      { anyOf: [{ type: ['string', 'null'] }, { type: ['object', 'array', 'number', 'boolean'] }] },
      { properties: { e: { type: 'null' } } },
      { propertyNames: { maxLength: 1, pattern: '[^a]' } },
    ),
    schema.map((part) => ({ properties: { a: part } })),
    schema.map((part) => ({ prefixItems: [true, part] })),
    schema.map((part) => ({ items: { anyOf: [part, { type: 'integer' }] } })),
    schema.map((part) => ({ type: 'object', additionalProperties: part, required: ['c'] })),
  );

  test('all of several schemas: any random text is valid under each of them, or they are refused', () => {
    const seen = { compiled: 0, refused: 0 };
    fc.assert(
      fc.property(
        schema,
        fc.array(condition, { minLength: 1, maxLength: 2 }),
        fc.nat(2 ** 31),
        (first, others, seed) => {
          const allOf = [first, ...others];
          const random = numbersOf(seed);
          try {
            compiled({ json: { allOf } });
          } catch (error) {
            assert.ok(error instanceof GlassformerError, error.stack);
            seen.refused++;
            return;
          }
          seen.compiled++;
          for (let i = 0; i < 3; i++) {
            const { text } = randomText(models[i], { json: { allOf } }, random);
            assert.ok(isValid(JSON.parse(text), { allOf }), text);
          }
        },
      ),
      { numRuns: 400 },
    );
    assert.ok(seen.compiled > 80 && seen.refused > 50, JSON.stringify(seen));
  });

  test('several schemas for one value: texts that are read, and texts that are not', () => {
    const cases = /** @type {[any, string[], string[]][]} */ ([
      [
        {
          $defs: { base: { properties: { id: { type: 'integer' } }, required: ['id'] } },
          allOf: [{ $ref: '#/$defs/base' }],
          properties: { id: { minimum: 5 }, name: { type: 'string' } },
          description: 'own keywords, a reference and an annotation',
        },
        ['{"id":5}', '{"id":7,"name":"x"}'],
        ['{"id":4}', '{"name":"x"}', '{"id":5.5}'],
      ],
      [
        {
          type: 'object',
          properties: { a: { const: 1 }, b: { const: 2 } },
          anyOf: [{ required: ['a'] }, { required: ['b'] }],
        },
        ['{"a":1}', '{"b":2}', '{"a":1,"b":2}'],
        ['{}', '{"a":2}'],
      ],
      [
        { properties: { a: true }, allOf: [{ properties: { b: { const: 1 } }, additionalProperties: false }] },
        ['{}', '{"b":1}'],
        ['{"a":1}', '{"a":1,"b":1}'],
      ],
      [
        { $defs: { list: { type: 'array' } }, $ref: '#/$defs/list', items: { const: 1 }, maxItems: 2 },
        ['[]', '[1]', '[1,1]'],
        ['[2]', '[1,1,1]'],
      ],
      [
        { prefixItems: [{ const: 'a' }, { type: 'integer' }], items: { type: 'null' }, minItems: 1, maxItems: 3 },
        ['["a"]', '["a", 2]', '["a",2,null]'],
        ['[]', '[2]', '["a",null]', '["a",2,null,null]', '["a",2,3]'],
      ],
      [
        { prefixItems: [{ const: 'a' }, { const: 'b' }], items: false },
        ['[]', '["a"]', '["a","b"]'],
        ['["b"]', '["a","b","c"]', '["a",]'],
      ],
      [
        {
          allOf: [
            { prefixItems: [{ const: 1 }], minItems: 2 },
            { items: { enum: [1, 2] }, maxItems: 2 },
          ],
        },
        ['[1,1]', '[1,2]'],
        ['[1]', '[2,1]', '[1,3]', '[1,1,1]'],
      ],
      [{ type: 'integer', format: 'int32' }, ['0', '2147483647', '-2147483648'], ['2147483648', '-2147483649', '1.5']],
      [{ format: 'int32' }, ['0', '2147483647'], ['2147483648', '1.5', '"0"']],
      [{ type: 'number', format: 'int64' }, ['0', '-123456789012345'], ['1.5', '"0"']],
      [{ format: 'double', maximum: 2 }, ['0', '1.5'], ['2.5', '"0"']],
      [
        {
          allOf: [
            { type: ['integer', 'null'], format: 'int32' },
            { format: 'date', maximum: 9999999999 },
          ],
        },
        ['2147483647', '-5'],
        ['2147483648'],
      ],
      [{ items: false }, ['[]', '[ ]'], ['[1]']],
      [
        // what Zod writes for z.record, with a schema for its keys
        { type: 'object', propertyNames: { type: 'string', minLength: 2 }, additionalProperties: { type: 'number' } },
        ['{}', '{"ab":1}', '{"ab":1, "cd":2.5}'],
        ['{"a":1}', '{"ab":"x"}'],
      ],
      [
        { propertyNames: { anyOf: [{ const: 'x' }, { pattern: '^y\\d$' }] }, additionalProperties: { type: 'null' } },
        ['{}', '{"x":null}', '{"y1":null, "x":null}'],
        ['{"y":null}', '{"x":1}'],
      ],
      [
        { properties: { a: { const: 1 }, bc: { const: 2 } }, propertyNames: { maxLength: 1 } },
        ['{}', '{"a":1}'],
        ['{"bc":2}', '{"a":1,"bc":2}'],
      ],
      [{ propertyNames: false }, ['{}'], ['{"a":1}']],
      [
        { allOf: [{ propertyNames: { pattern: 'a' } }, { propertyNames: { pattern: 'b' } }] },
        ['{"ab":1}', '{"xbya":{}}'],
        ['{"a":1}', '{"b":1}'],
      ],
      [
        { oneOf: [{ type: 'null' }, { type: 'boolean' }], discriminator: { propertyName: 'x' }, example: 1 },
        ['null', 'true'],
        ['0'],
      ],
      [{ minimum: 2, maximum: 3 }, ['2', '2.5', '3.0'], ['1', '3.1', '"2"']],
      [
        { type: ['string', 'null'], oneOf: [{ format: 'date' }, { const: 'never' }] },
        ['"2024-02-29"', '"never"', 'null'],
        ['"2023-02-29"', '""'],
      ],
    ]);
    for (const [given, good, bad] of cases) {
      const automaton = schemaAutomaton(given);
      for (const text of good) {
        assert.ok(isValid(JSON.parse(text), given), text);
        assert.ok(reads(automaton, text), `${JSON.stringify(given)}: ${text}`);
      }
      for (const text of bad) assert.ok(!reads(automaton, text), `${JSON.stringify(given)}: ${text}`);
    }
    // Parts that contain themselves are compiled once.
    const $defs = {
      a: { allOf: [{ $ref: '#/$defs/b' }, { properties: { x: { $ref: '#/$defs/a' } } }] },
      b: { type: 'object', properties: { x: { $ref: '#/$defs/b' }, y: { const: 1 } } },
    };
    const recursive = schemaAutomaton({ $defs, $ref: '#/$defs/a' });
    for (const text of ['{}', '{"x":{"x":{"y":1}},"y":1}']) assert.ok(reads(recursive, text), text);
    assert.ok(!reads(recursive, '{"x":{"x":{"y":2}}}'));
  });

  test('what is not supported is refused by name', async () => {
    for (const [given, words, code] of /** @type {[any, RegExp, string][]} */ ([
      [{ properties: { a: { not: {} } } }, /#\/properties\/a: the keyword "not"/, 'unsupported'],
      [{ allOf: [] }, /allOf is \[\], expected schemas/, 'bad-option'],
      [
        { allOf: [{ type: 'string' }, { type: ['null', 'integer'] }] },
        /no value has both the type string/,
        'bad-option',
      ],
      [{ allOf: [{ enum: [1, 2] }, { const: 3 }] }, /no value is in all its lists/, 'bad-option'],
      [{ allOf: [{ multipleOf: 0.5 }, { multipleOf: 0.75 }] }, /multiples of both 0.5 and 0.75/, 'unsupported'],
      [
        {
          allOf: [
            { properties: {}, additionalProperties: false },
            { properties: { a: {} }, required: ['a'] },
          ],
        },
        /"a" is required, but is no property of all its parts/,
        'bad-option',
      ],
      [{ $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' }, /refers to itself/, 'bad-option'],
      [{ enum: ['a', 'b'], minLength: 2 }, /no value of enum or const fits the other keywords/, 'bad-option'],
      [{ enum: [[1]], items: { type: 'integer' } }, /items is not supported beside an enum/, 'unsupported'],
      [{ prefixItems: {} }, /prefixItems is {}, expected schemas/, 'bad-option'],
      [{ prefixItems: [{}], items: false, minItems: 2 }, /minItems is 2, but its items are at most 1/, 'bad-option'],
      [{ multipleOf: 0 }, /multipleOf is 0, expected a number above 0/, 'bad-option'],
      [{ type: 'integer', multipleOf: 1009 }, /multiples of 1009 need too many states/, 'unsupported'],
      [{ type: 'integer', multipleOf: 997 }, /multiples of 997 need too many states/, 'unsupported'],
      [{ type: 'number', exclusiveMinimum: 1, maximum: 1 }, /no number of at most 15 digits/, 'bad-option'],
      [{ type: 'number', minimum: '0' }, /minimum is "0", expected a number/, 'bad-option'],
      [{ type: 'integer', minimum: 1, maximum: 6, multipleOf: 7 }, /no integer of at most 15 digits/, 'bad-option'],
      [{ type: 'array', items: [{}] }, /#\/items/, 'bad-option'],
      [{ type: 'array', uniqueItems: true }, /keyword "uniqueItems"/, 'unsupported'],
      [{ anyOf: [{}], if: {} }, /the keyword "if"/, 'unsupported'],
      [{ $ref: 'https://example.org/x.json' }, /\$ref/, 'unsupported'],
      [{ $ref: '#/$defs/none' }, /there is no #\/\$defs\/none/, 'bad-option'],
      [{ oneOf: [{ type: 'integer' }, { type: 'number' }] }, /0 and 1 of oneOf/, 'unsupported'],
      [{ type: 'text' }, /type is "text"/, 'bad-option'],
      [{ enum: [] }, /enum/, 'bad-option'],
      [{ minLength: 5, maxLength: 2 }, /minLength is 5, more than maxLength/, 'bad-option'],
      [{ type: 'integer', minimum: 2, maximum: 1 }, /no integer between/, 'bad-option'],
      [{ required: ['a'], additionalProperties: false }, /"a" is required/, 'bad-option'],
      [
        { required: ['ab'], propertyNames: { maxLength: 1 } },
        /"ab" is required, but does not fit propertyNames/,
        'bad-option',
      ],
      [
        { properties: { a: {} }, propertyNames: { anyOf: [{ const: 'a' }] } },
        /propertyNames: anyOf and oneOf are not supported beside properties/,
        'unsupported',
      ],
      [
        { enum: [{ a: 1 }], propertyNames: { maxLength: 1 } },
        /propertyNames is not supported beside an enum/,
        'unsupported',
      ],
      [
        { $defs: { a: { properties: { b: { $ref: '#/$defs/a' } }, required: ['b'] } }, $ref: '#/$defs/a' },
        /never ends/,
        'bad-option',
      ],
      [
        { $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'null' }] } }, $ref: '#/$defs/a' },
        /begins with itself/,
        'bad-option',
      ],
      [{ type: 'string', maxLength: 1e9 }, /more than 300000 states/, 'bad-option'],
    ]))
      await refused(collect(model.generate('A', { json: given, maxTokens: 1 })), code, words);
    await refused(
      collect(model.generate('A', { json: {}, grammar: 'root ::= "a"' })),
      'bad-option',
      /json and grammar/,
    );
  });
});

describe('grammars', () => {
  test('GBNF: texts, ranges, alternatives, groups, repetition, comments', () => {
    const cases = /** @type {[string, string[], string[]][]} */ ([
      ['root ::= "a" | "bc" "d"?', ['a', 'bc', 'bcd'], ['', 'b', 'ad', 'abc']],
      ['root ::= [a-c]+ [^a-c\\n]*', ['a', 'abcx', 'cäöü😀'], ['', 'x', 'a\n', 'axa']],
      ['root ::= ("x" | "y"){2,3} "z"{2} "!"{1,}', ['xyzz!', 'xxyzz!!!'], ['xzz!', 'xyxyzz!', 'xyzz']],
      ['root ::= a b # comment "x"\n\na ::= "1"\n  | "2"\nb-2 ::= "b"\nb ::= b-2', ['1b', '2b'], ['1', 'b']],
      ['root ::= "\\"\\\\\\x41\\u00e4\\U0001F600\\t" .', ['"\\Aä😀\tq', '"\\Aä😀\t💡'], ['"\\Aä😀\t', '"\\Aä😀\tqq']],
      ['root ::= "(" root? ")"', ['()', '((()))'], ['', '(', '())', '()()']],
      [
        'root ::= 1st _b -c\n1st ::= "1"\n_b ::= "b" # x\n-c ::= [^\\x00-\\u0063] .',
        ['1bd😀', '1b\u{10ffff}b'],
        ['1bab', '1bd'],
      ],
      ['root ::= (("a" | ("b" "c"){2})? "d"){1,}', ['d', 'add', 'bcbcdd'], ['', 'bcd', 'aad']],
      ['root ::= [^"\\\\\\x7F\\x00-\\x1F]{0,2} "\\u00e9\\U0001F600"', ['é😀', 'abé😀'], ['"é😀', 'abcé😀']],
      ['root ::= [\\]\\-x-] "a"?', [']', '-a', 'x'], ['\\']],
      ['root ::= ("a"*)* "b"', ['b', 'aaab'], ['a']],
    ]);
    for (const [source, good, bad] of cases) {
      const automaton = grammarAutomaton(source);
      for (const text of good) assert.ok(reads(automaton, text), `${source}: ${JSON.stringify(text)}`);
      for (const text of bad) assert.ok(!reads(automaton, text), `${source}: ${JSON.stringify(text)}`);
    }
  });

  test('a range of code points reads their UTF-8 and nothing else', () => {
    const point = fc.oneof(
      fc.nat(0x10ffff),
      fc.constantFrom(0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff),
    );
    fc.assert(
      fc.property(point, point, point, (a, b, c) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const sequences = utf8Sequences(low, high);
        for (const p of [a, b, c, low - 1, high + 1]) {
          if (p < 0 || p > 0x10ffff || (p >= 0xd800 && p < 0xe000)) continue;
          const bytes = [...utf8.encode(String.fromCodePoint(p))];
          const found = sequences.filter(
            (s) => s.length === bytes.length && s.every(([l, h], i) => bytes[i] >= l && bytes[i] <= h),
          );
          assert.equal(found.length, Number(p >= low && p <= high));
        }
      }),
      { numRuns: 2000 },
    );
    assert.deepEqual(utf8Sequences(0xd800, 0xdfff), []);
  });

  test('wrong grammars are refused with their line', async () => {
    for (const [grammar, words] of /** @type {[string, RegExp][]} */ ([
      ['', /no rule root/],
      ['root = "a"', /line 1: found "root = \\"a\\"", expected a rule/],
      ['root ::= "a"\nx ::= (', /line 2: found the end, expected "\)"/],
      ['root ::= "a', /found the end, expected a character/],
      ['root ::= missing', /no rule missing/],
      ['root ::= "a"\nroot ::= "b"', /two rules root/],
      ['root ::= "\\q"', /expected an escape/],
      ['root ::= [z-a]', /range whose end/],
      ['root ::= <think> "a"', /tokens of the vocabulary such as "<think>" are not supported/],
      ['root ::= !<[1000]>*', /tokens of the vocabulary such as "!<\[1000\]>"/],
      ['root ::= "a"{3,2}', /\{3,2\} is empty/],
      ['root ::= root "a" | "b"', /begins with itself/],
      ['root ::= "a" root', /never ends/],
      ['root ::= ("a"{1000}){1000000}', /line 1/],
      ['root ::= "a"{400000}', /more than 300000 states/],
      [`root ::= ${'('.repeat(70)}"a"${')'.repeat(70)}`, /at most 64 groups/],
    ]))
      await refused(
        collect(model.generate('A', { grammar, maxTokens: 1 })),
        /<think>|!</.test(grammar) ? 'unsupported' : 'bad-option',
        words,
      );
  });
});

describe('input of any kind', () => {
  /** What a call throws is an error of the package. */
  const compiles = (/** @type {any} */ options) => {
    try {
      compiled(options);
    } catch (error) {
      assert.ok(error instanceof GlassformerError, error.stack);
      assert.ok(['bad-option', 'unsupported'].includes(error.code), error.code);
      assert.match(error.message, /^(json|grammar)/);
    }
  };
  const keyword = fc.constantFrom(
    ...['type', 'properties', 'required', 'items', 'enum', 'const', 'anyOf', 'oneOf', '$ref', '$defs', 'minItems'],
    ...['maxItems', 'minLength', 'maxLength', 'minimum', 'maximum', 'additionalProperties', 'pattern', '__proto__', ''],
    ...['allOf', 'prefixItems', 'multipleOf', 'exclusiveMinimum', 'format', 'title', 'propertyNames'],
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'medium' },
      fc.constantFrom(
        'object',
        'array',
        'string',
        'integer',
        '#',
        '#/$defs/a',
        '#/properties/a',
        '^a{2,}|b$',
        'date',
        null,
        true,
        false,
        0,
        2,
        -1,
        1.5,
        1e300,
      ),
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.oneof(keyword, fc.constantFrom('a', 'b')), tie('value'), { maxKeys: 4 }),
    ),
  }));

  test('any JSON as a schema is compiled or refused', () => {
    fc.assert(
      fc.property(value, (json) => compiles({ json })),
      { numRuns: 3000 },
    );
  });

  test('any text as a grammar is compiled or refused', () => {
    const part = fc.constantFrom(
      ...'root a ::= | ( ) [ ] [^ "x" "\\x4 * + ? {2} {1,3} { } . - \n # a-z \\ 😀 {99999}'.split(' '),
      ' ',
      '\n',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 14 }), (parts) => compiles({ grammar: `root ::= ${parts.join('')}` })),
      { numRuns: 3000 },
    );
  });
});

describe('tokens', () => {
  test('the bytes of every token are those of its text', () => {
    for (const { name, tokenizer, vocabulary } of models) {
      const { ids, bytes, offsets, shared, places } = vocabulary;
      assert.ok(ids.length > 200 || name.startsWith('few'), name);
      ids.forEach((id, i) => {
        const own = bytes.subarray(offsets[i], offsets[i + 1]);
        const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(own);
        if (!text.includes('\ufffd')) assert.equal(text, tokenizer.idToText(id), `${name}: ${id}`);
        assert.equal(places[id], i);
        if (i) {
          const before = bytes.subarray(offsets[i - 1], offsets[i]);
          assert.ok(Buffer.compare(before, own) <= 0);
          assert.deepEqual(before.subarray(0, shared[i]), own.subarray(0, shared[i]));
        }
      });
    }
  });

  test('exactly the tokens that continue the text are allowed', () => {
    const source = 'root ::= ("the" " "? | [a-m]+ "é" | "😀"){1,4} "."';
    for (const one of models) {
      const { ids, bytes, offsets } = one.vocabulary;
      const automaton = grammarAutomaton(source);
      const random = numbersOf(7);
      const constraint = constraintOf(one, compiled({ grammar: source }), [ids[0]]);
      let state = automaton.start;
      for (let step = 0; step < 12 && !constraint.complete; step++) {
        const bits = constraint.allowed(one.special.eos);
        const after = Array.from(ids, (_, i) => {
          let at = /** @type {any} */ (state);
          for (let k = offsets[i]; k < offsets[i + 1] && at; k++) at = automaton.step(at, bytes[k]);
          return at;
        });
        ids.forEach((id, i) => assert.equal(!!((bits[id >> 5] >>> (id & 31)) & 1), !!after[i], `${one.name}: ${id}`));
        const allowed = after.flatMap((at, i) => (at ? [i] : []));
        const chosen = allowed[Math.floor(random() * allowed.length)];
        state = after[chosen];
        constraint.accept(ids[chosen]);
      }
    }
  });
});

describe('generation', () => {
  const answer = {
    type: 'object',
    properties: {
      animal: { enum: ['cat', 'dog', 'bird'] },
      legs: { type: 'integer', minimum: 0, maximum: 8 },
      names: { type: 'array', items: { type: 'string', maxLength: 5 }, maxItems: 2 },
      tame: { type: ['boolean', 'null'] },
    },
    required: ['animal', 'legs', 'names', 'tame'],
    additionalProperties: false,
  };

  test('any seed with almost equal probabilities gives valid JSON', async () => {
    const seen = new Set();
    for (let seed = 0; seed < 25; seed++) {
      const options = { json: answer, temperature: 1e4, seed, maxTokens: 250 };
      const { text, summary } = await collect(model.generate('Once', options));
      assert.ok(['grammar', 'eos'].includes(summary.stopReason), summary.stopReason);
      assert.ok(isValid(JSON.parse(text), answer), text);
      assert.equal(summary.text, text);
      seen.add(text);
    }
    assert.ok(seen.size > 20);
  });

  test('patterns, formats, tuples and merged schemas: any seed gives valid JSON', async () => {
    const order = {
      $defs: { money: { type: 'number', minimum: 0, maximum: 999.99, multipleOf: 0.01 } },
      type: 'object',
      allOf: [{ properties: { id: { type: 'string', pattern: '^[A-Z]{3}-\\d{4}$' } }, required: ['id'] }],
      properties: {
        day: { type: 'string', format: 'date' },
        at: { type: 'string', format: 'date-time' },
        mail: { type: 'string', format: 'email', maxLength: 20 },
        price: { $ref: '#/$defs/money', description: 'in euros' },
        size: {
          type: 'array',
          prefixItems: [{ type: 'integer', multipleOf: 5, minimum: 5, maximum: 50 }, { enum: ['cm', 'in'] }],
          items: false,
          minItems: 2,
        },
        note: { type: 'string', pattern: 'a', minLength: 2, maxLength: 12 },
      },
      required: ['day', 'at', 'mail', 'price', 'size', 'note'],
    };
    const seen = new Set();
    for (let seed = 0; seed < 12; seed++)
      for (const temperature of [1, 1e4]) {
        const { text, summary } = await collect(
          model.generate('Once', { json: order, temperature, seed, maxTokens: 400 }),
        );
        assert.ok(['grammar', 'eos'].includes(summary.stopReason), `${summary.stopReason} ${text}`);
        assert.ok(isValid(JSON.parse(text), order), text);
        seen.add(text);
      }
    assert.ok(seen.size > 20);
  });

  test('most likely tokens that are allowed; the same in batch, session, worker and every build', async () => {
    const options = { json: answer, temperature: 0.7, seed: 4, maxTokens: 120 };
    const want = await collect(model.generate('Once', options));
    assert.ok(isValid(JSON.parse(want.text), answer));
    const { summary } = await collect(model.generate(['Once', 'The'], options));
    assert.deepEqual(summary.summaries[0].ids, want.ids);
    assert.ok(isValid(JSON.parse(summary.summaries[1].text), answer));
    const session = await model.session();
    assert.deepEqual((await collect(session.generate('Once', options))).ids, want.ids);
    assert.equal(session.length, (await model.encode('Once')).length + want.ids.length);
    await session.dispose();
    for (const how of [{ worker: true }, { backend: 'simd' }, { threads: 2, worker: true }]) {
      const other = await load(stories, /** @type {any} */ (how));
      assert.deepEqual((await collect(other.generate('Once', options))).ids, want.ids, JSON.stringify(how));
      other.dispose();
    }
  });

  test('the end token comes only where the text may end, and where it cannot continue the generation ends without it', async () => {
    const closed = await collect(model.generate('Once', { grammar: 'root ::= " upon a time"', temperature: 0 }));
    assert.deepEqual([closed.text, closed.summary.stopReason], [' upon a time', 'grammar']);
    const empty = await collect(model.generate('Once', { grammar: 'root ::= ""' }));
    assert.deepEqual([empty.text, empty.ids.length, empty.summary.stopReason], ['', 0, 'grammar']);
    const bias = { [model.special.eos[0]]: 100 };
    const open = await collect(
      model.generate('Once', { grammar: 'root ::= " a" [a-z ]*', temperature: 0, logitBias: bias }),
    );
    assert.match(open.text, /^ a[a-z ]*$/);
    assert.deepEqual([open.ids.length, open.summary.stopReason], [1, 'eos']);
    const longer = await collect(
      model.generate('Once', {
        grammar: 'root ::= " a" [a-z ]*',
        temperature: 0,
        logitBias: bias,
        minTokens: 6,
        maxTokens: 20,
      }),
    );
    assert.equal(longer.ids.length, 6);
    const cut = await collect(model.generate('Once', { grammar: 'root ::= [a-z ]+', ignoreEos: true, maxTokens: 9 }));
    assert.deepEqual([cut.ids.length, cut.summary.stopReason], [9, 'maxTokens']);
    assert.match(cut.text, /^[a-z ]+$/);
  });

  test('characters whose bytes lie in several tokens come whole', async () => {
    const grammar = 'root ::= "😀" "größe" "漢字" "\u{10ffff}"';
    const { text, ids } = await collect(model.generate('Once', { grammar, temperature: 5, seed: 1 }));
    assert.equal(text, '😀größe漢字\u{10ffff}');
    assert.ok(ids.length > 8);
  });

  test('a model without a tokenizer, and a vocabulary without the characters, are refused', async () => {
    const { create } = await import('../../web/lib/index.js');
    const bare = await create({ vocab_size: 20, d_model: 16, n_layers: 1, n_heads: 2 }, { seed: 1 });
    await refused(collect(bare.generate([1], { json: {} })), 'no-tokenizer', /json/);
    bare.dispose();
    const tokenizer = json(join(top, 'weights/dates/tokenizer.json'));
    const digits = Object.fromEntries([...'0123456789'].map((c, i) => [c, i]));
    const few = await load({
      weights: readFileSync(stories),
      tokenizer: { ...tokenizer, added_tokens: [], model: { ...tokenizer.model, vocab: digits, merges: [] } },
    });
    await refused(
      collect(few.generate([1], { json: { type: 'boolean' } })),
      'unsupported',
      /at the beginning of the text: the vocabulary/,
    );
    const { text } = await collect(few.generate([1], { json: { type: 'integer', minimum: 10, maximum: 99 } }));
    assert.match(text, /^\d\d$/);
    few.dispose();
  });
});
