// constrain_merged.test.js - several JSON schemas for one value, and keywords that are not supported
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { GlassformerError, load } from '../../web/lib/api/index.js';
import { compiled } from '../../web/lib/text/constrain/compile.js';
import { reads, schemaAutomaton } from './automata.js';
import { collect, refused, stories, untilEnd } from './helpers.js';
import { isValid } from './json_validity.js';
import { vocabularies } from './vocabularies.js';
import { numbersOf, randomText, schema } from './random_schemas.js';

const models = await vocabularies();
const model = await untilEnd(load(stories));

describe('several schemas for one value', () => {
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
      { numRuns: 160 },
    );
    assert.ok(seen.compiled > 30 && seen.refused > 15, JSON.stringify(seen));
  });

  test('several schemas for one value: texts that are read, and texts that are not', () => {
    const cases = [
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
        { type: 'number', allOf: [5, 3].map((limit) => ({ exclusiveMaximum: limit, exclusiveMinimum: limit - 4 })) },
        ['2', '2.5'],
        ['3', '4', '1', '0'],
      ],
      // Objects with their keys in another order were other values.
      [
        { enum: [{ a: 1, b: 2 }, { c: 3 }], allOf: [{ const: { b: 2, a: 1 } }] },
        ['{"a":1,"b":2}'],
        ['{"c":3}', '{"b":2}'],
      ],
      [
        { enum: [{ a: { d: 1, e: [{ x: 1, y: 2 }] } }, 4], not: { const: { a: { e: [{ y: 2, x: 1 }], d: 1 } } } },
        ['4'],
        ['{"a":{"d":1,"e":[{"x":1,"y":2}]}}'],
      ],
      [
        { type: 'array', items: { enum: [{ a: 1, b: 2 }, 7, { b: 2, a: 1 }] }, uniqueItems: true },
        ['[7]', '[7,{"b":2,"a":1}]'],
        ['[{"b":2,"a":1},{"a":1,"b":2}]', '[7,7]'],
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
      [
        // what excludes them is no type, and null is written for none of them
        {
          oneOf: [
            { properties: { k: { const: 1 } }, required: ['k'] },
            { properties: { k: { const: 2 } }, required: ['k'] },
          ],
        },
        ['{"k":1}', '{"k":2}'],
        ['{"k":3}', 'null'],
      ],
      [{ minimum: 2, maximum: 3 }, ['2', '2.5', '3.0'], ['1', '3.1', '"2"']],
      [
        { type: ['string', 'null'], oneOf: [{ format: 'date' }, { const: 'never' }] },
        ['"2024-02-29"', '"never"', 'null'],
        ['"2023-02-29"', '""'],
      ],
    ];
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
    for (const [given, words, code] of [
      [{ properties: { a: { not: {} } }, required: ['a'] }, /"a" is required, but does not fit/, 'bad-option'],
      [{ not: {} }, /expected a schema that accepts something/, 'bad-option'],
      [{ type: 'integer', not: { const: 3 } }, /"not" is supported only for types, and for values/, 'unsupported'],
      [{ type: 'string', not: { minLength: 3 } }, /"not" is supported only for types/, 'unsupported'],
      [{ type: 'null', not: { type: 'null' } }, /"not" excludes every value/, 'bad-option'],
      [{ enum: [1, 2], not: { enum: [2, 1] } }, /"not" excludes every value/, 'bad-option'],
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
      [{ type: 'array', uniqueItems: true }, /uniqueItems is supported only for items of an enum/, 'unsupported'],
      [
        { uniqueItems: true, items: { enum: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] } },
        /uniqueItems of 11 values/,
        'unsupported',
      ],
      [{ uniqueItems: true, items: { type: 'boolean' }, minItems: 3 }, /there are 2 different items/, 'bad-option'],
      [{ minProperties: 2, additionalProperties: {} }, /do not fit minProperties/, 'unsupported'],
      [{ required: ['a', 'b'], maxProperties: 1 }, /do not fit minProperties and maxProperties/, 'bad-option'],
      [{ patternProperties: { a: {}, b: {} } }, /the keyword "patternProperties"/, 'unsupported'],
      [{ anyOf: [{}], if: {} }, /the keyword "if"/, 'unsupported'],
      [{ $ref: 'https://example.org/x.json' }, /\$ref/, 'unsupported'],
      [{ $ref: '#/$defs/none' }, /there is no #\/\$defs\/none/, 'bad-option'],
      [{ oneOf: [{ type: 'integer' }, { type: 'number' }] }, /0 and 1 of oneOf/, 'unsupported'],
      // null was written, which both accept: keywords of objects say nothing of it
      [{ oneOf: [{ properties: { a: {} } }, { type: 'null' }] }, /0 and 1 of oneOf/, 'unsupported'],
      [{ oneOf: [{ properties: { a: {} } }, { const: null }] }, /0 and 1 of oneOf/, 'unsupported'],
      [{ oneOf: [{ type: 'string', maxLength: 6 }, { minimum: 3 }] }, /0 and 1 of oneOf/, 'unsupported'],
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
    ])
      await refused(collect(model.generate('A', { json: given, maxTokens: 1 })), code, words);
    await refused(
      collect(model.generate('A', { json: {}, grammar: 'root ::= "a"' })),
      'bad-option',
      /json and grammar/,
    );
  });
});
