// schemas.test.js - JSON schemas as people and programs write them: Zod's output, older drafts, OpenAPI
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { compiled } from '../../web/lib/text/constrain/compile.js';
import { load } from '../../web/lib/api/index.js';
import { reads, schemaAutomaton } from './automata.js';
import { refused, stories } from './helpers.js';
import { numbersOf, randomText } from './random_schemas.js';
import { vocabularies } from './vocabularies.js';

const Tree = z.object({
  value: z.int().min(0).max(9),
  get next() {
    return Tree.optional();
  },
});

/** Every kind of schema for which z.toJSONSchema gives one that accepts something. */
const KINDS = {
  string: z.string(),
  'string with checks': z.string().min(2).max(9).startsWith('a'),
  'string in capitals': z.string().uppercase(),
  'string in small letters': z.string().lowercase(),
  number: z.number(),
  'number with checks': z.number().positive().lt(50).multipleOf(0.5),
  int: z.int32(),
  boolean: z.boolean(),
  null: z.null(),
  any: z.any(),
  unknown: z.unknown(),
  literal: z.literal(['a', 1, true, null]),
  enum: z.enum(['red', 'green']),
  array: z.array(z.boolean()).min(1).max(3),
  tuple: z.tuple([z.literal('a'), z.int()]),
  'tuple with more': z.tuple([z.literal('a')], z.boolean()),
  object: z.object({ a: z.literal(1), b: z.boolean().optional() }),
  strictObject: z.strictObject({ a: z.literal(1) }),
  looseObject: z.looseObject({ a: z.literal(1) }),
  catchall: z.object({ a: z.literal('x') }).catchall(z.int()),
  record: z.record(z.string().min(1).max(3), z.boolean()),
  'record of an enum': z.record(z.enum(['x', 'y']), z.boolean()),
  partialRecord: z.partialRecord(z.enum(['x', 'y']), z.boolean()),
  looseRecord: z.looseRecord(z.string().regex(/^x/), z.boolean()),
  union: z.union([z.boolean(), z.int()]),
  discriminatedUnion: z.discriminatedUnion('is', [
    z.object({ is: z.literal('a'), x: z.int() }),
    z.object({ is: z.literal('b') }),
  ]),
  xor: z.xor([z.boolean(), z.int()]),
  intersection: z.intersection(z.object({ a: z.boolean() }), z.object({ b: z.null() })),
  nullable: z.enum(['a', 'b']).nullable(),
  'nullable type': z.int().nullable(),
  default: z.object({ a: z.int().default(3) }),
  prefault: z.object({ a: z.int().prefault(3) }),
  catch: z.object({ a: z.int().catch(3) }),
  readonly: z.array(z.boolean()).readonly(),
  pipe: z.boolean().pipe(z.boolean()),
  nonoptional: z.boolean().optional().nonoptional(),
  'never, as an optional property': z.object({ a: z.never().optional(), b: z.int() }),
  'never, as items': z.array(z.never()),
  'lazy, of itself': Tree,
  templateLiteral: z.templateLiteral(['a', z.enum(['b', 'c'])]),
  meta: z.boolean().meta({ title: 'is it', examples: [true], unit: 'none' }),
  refine: z.boolean().refine(() => true),
  stringbool: z.stringbool({ truthy: ['yes'], falsy: ['no'] }),
  json: z.json(),
  ...Object.fromEntries(
    ['email', 'uuid', 'guid', 'url', 'nanoid', 'cuid', 'cuid2', 'ulid', 'xid', 'ksuid', 'ipv4', 'ipv6', 'cidrv4']
      .concat(['cidrv6', 'base64', 'base64url', 'e164', 'mac', 'hostname', 'emoji'])
      .map((name) => [name, z[name]()]),
  ),
  ...Object.fromEntries(['date', 'time', 'datetime', 'duration'].map((name) => [`iso.${name}`, z.iso[name]()])),
};

let one;

before(async () => {
  [one] = await vocabularies();
});

describe('schemas as people write them', () => {
  test('what Zod 4 writes for each of its kinds, in four dialects: Zod reads every text', () => {
    for (const [kind, schema] of Object.entries(KINDS))
      for (const target of ['draft-2020-12', 'draft-7', 'draft-4', 'openapi-3.0']) {
        // Zod leaves out what older dialects cannot say, and the schema of stringbool is that of any string.
        const isWhole = !/tuple|record|Record/.test(kind) || target.endsWith('7') || target.endsWith('12');
        const json = z.toJSONSchema(schema, { target, io: kind === 'stringbool' ? 'input' : 'output' });
        for (let seed = 0; seed < 3; seed++) {
          const { text } = randomText(one, { json }, numbersOf(seed));
          const { success, error } = schema.safeParse(JSON.parse(text));
          assert.ok(success || kind === 'stringbool' || !isWhole, `${kind}, ${target}: ${text} ${error}`);
        }
      }
  });

  test('texts that are read, and texts that are not', () => {
    for (const [schema, good, bad] of [
      [{ type: 'string', nullable: true }, ['"a"', 'null'], ['1']],
      [{ type: 'integer', nullable: false }, ['1'], ['null']],
      [{ type: 'number', minimum: 1, exclusiveMinimum: true }, ['1.5'], ['1', '0']],
      [{ type: 'number', minimum: 1, exclusiveMinimum: false }, ['1'], ['0']],
      // both were refused for a keyword that is undefined
      [{ type: 'number', exclusiveMinimum: true }, ['1'], ['true']],
      [{ items: [] }, ['[]', '[1]'], ['1']],
      [{ items: [{ const: 1 }, { const: 2 }], additionalItems: false }, ['[]', '[1]', '[1,2]'], ['[2]', '[1,2,3]']],
      [{ items: [{ const: 1 }], additionalItems: { const: 0 }, minItems: 2 }, ['[1,0]', '[1,0,0]'], ['[1]', '[1,1]']],
      [{ items: { enum: ['a', 'b', 1] }, uniqueItems: true }, ['[]', '["b"]', '["b",1,"a"]'], ['["a","a"]', '[2]']],
      [
        { items: { type: 'boolean' }, uniqueItems: true, minItems: 2 },
        ['[true,false]'],
        ['[]', '[true]', '[true,true]'],
      ],
      [{ items: { enum: [1, 2, 3] }, uniqueItems: true, maxItems: 2 }, ['[3,1]'], ['[3,1,2]']],
      [{ items: true, uniqueItems: true, maxItems: 1 }, ['[]', '[{}]'], ['[1,2]']],
      [{ enum: [1, 'a', null, [2]], not: { enum: ['a', [2]] } }, ['1', 'null'], ['"a"', '[2]']],
      [{ type: ['string', 'null'], not: { type: 'null' } }, ['"a"'], ['null']],
      [{ type: 'string', not: { enum: ['ab', 'a+'] } }, ['""', '"a"', '"abc"', '"aa"', '"b"'], ['"ab"', '"a+"']],
      [{ type: ['string', 'boolean'], not: { const: 'x' } }, ['true', '"y"'], ['"x"', '"\\u0078"']],
      [{ type: ['integer', 'boolean', 'null'], not: { enum: [null, true, false] } }, ['1'], ['null', 'true']],
      [
        { properties: { a: { const: 1 }, b: { const: 2 }, c: { const: 3 } }, minProperties: 2 },
        ['{"a":1,"b":2}', '{"b":2,"c":3}', '{"a":1,"b":2,"c":3}'],
        ['{}', '{"a":1}'],
      ],
      [
        { properties: { a: { const: 1 }, b: { const: 2 }, c: { const: 3 } }, required: ['c'], maxProperties: 2 },
        ['{"c":3}', '{"a":1,"c":3}'],
        ['{"a":1,"b":2}', '{"a":1,"b":2,"c":3}', '{}'],
      ],
      [{ type: 'object', minProperties: 1 }, ['{"a":1}', '{"a":1,"b":{}}'], ['{}']],
      [{ type: 'object', maxProperties: 1 }, ['{}', '{"a":1}'], ['{"a":1,"b":{}}']],
      [{ type: 'object', maxProperties: 0 }, ['{}'], ['{"a":1}']],
      [
        { properties: { a: { const: 1 } }, additionalProperties: { const: 2 }, minProperties: 2 },
        ['{"a":1,"b":2}', '{"a":1,"b":2,"c":2}'],
        ['{"a":1}', '{"b":2}', '{"b":2,"b":2}', '{"a":1,"a":2}', '{"a":1,"b":1}'],
      ],
      [
        { properties: { a: { const: 1 } }, additionalProperties: { const: 2 }, maxProperties: 2 },
        ['{}', '{"a":1}', '{"aa":2,"":2}', '{"a":1,"b":2}'],
        ['{"a":2}', '{"a":1,"b":2,"c":2}', '{"\\u0061":2}'],
      ],
      [{ properties: { a: { const: 1 } } }, ['{}', '{"a":1}'], ['{"b":1}', '{"a":1,"b":1}']],
      [{ properties: { a: false, b: { const: 1 } }, additionalProperties: true }, ['{"b":1,"c":0}'], ['{"a":1}']],
      [
        { propertyNames: { enum: ['x', 'y'] }, additionalProperties: { const: 1 }, required: ['y'], minProperties: 2 },
        ['{"y":1,"x":1}'],
        ['{"y":1}', '{"y":1,"z":1}'],
      ],
      [{ patternProperties: { '^x': { const: 1 } } }, ['{}', '{"xa":1}'], ['{"xa":2}', '{"a":1}']],
      [{ anyOf: [false, { const: 1 }, { not: true }] }, ['1'], ['2']],
    ]) {
      const automaton = schemaAutomaton(schema);
      for (const text of good) assert.ok(reads(automaton, text), `${JSON.stringify(schema)}: ${text}`);
      for (const text of bad) assert.ok(!reads(automaton, text), `${JSON.stringify(schema)}: ${text}`);
    }
  });

  test('there is no white space, except on request', () => {
    const schema = { properties: { a: { items: { type: 'integer' } } }, required: ['a'] };
    for (const text of ['{"a":[1,2]}', '{"a": [1,2]}', '{ "a":[1,2]}', '{"a":[1, 2]}', '{"a":[1,2] }'])
      assert.equal(reads(schemaAutomaton(schema, 'compact'), text), !text.includes(' '));
    assert.ok(reads(schemaAutomaton(schema), '{ "a": [1,\n  2] }'));
  });
});

describe('what is not known', () => {
  let model;
  before(async () => {
    model = await load(stories, { worker: false });
  });
  after(() => model.dispose());

  const json = {
    type: 'object',
    'x-order': ['b'],
    properties: { a: { type: 'string', format: 'nanoid', maxLength: 1 }, b: { type: 'string', format: 'int64' } },
    maxLines: 3,
  };

  test('is left out, and named in the summary', async () => {
    const { ignoredKeywords, value } = await model.complete('A', { json, seed: 1 });
    assert.deepEqual([...ignoredKeywords].sort(), ['format int64', 'format nanoid', 'maxLines', 'x-order']);
    assert.equal(typeof value, 'object');
    const known = await model.complete('A', { json: { enum: [1], title: 'one' } });
    assert.equal(known.text, '1');
    assert.equal(known.ignoredKeywords, undefined);
  });

  test('is refused on request, and keywords that limit values always', async () => {
    await refused(model.complete('A', { json, strictSchema: true }), 'unsupported', /"x-order" is not known/);
    await refused(model.complete('A', { json: { whitespace: 1 }, whitespace: 'none' }), 'bad-option', /compact, any/);
    for (const keyword of ['if', 'contains', 'dependentRequired', 'unevaluatedProperties'])
      assert.throws(() => compiled({ json: { [keyword]: {} } }), { code: 'unsupported', message: new RegExp(keyword) });
  });

  test('the object of a library is converted by that library, or refused', async () => {
    const object = z.object({ a: z.literal('x'), b: z.boolean() });
    const written = await model.complete('A', { json: object, seed: 1 });
    assert.deepEqual(written.value, object.parse(written.value));
    assert.equal(written.text, (await model.complete('A', { json: z.toJSONSchema(object), seed: 1 })).text);
    const other = { '~standard': { version: 1, vendor: 'valibot', validate: () => ({}) }, type: 'object' };
    const refusal = /json is a schema of "valibot" that cannot convert itself .* toStandardJsonSchema/;
    await refused(model.complete('A', { json: other }), 'bad-option', refusal);
  });

  test('the value is what the schema of a library returns, or its issues', async () => {
    const when = z.iso.date().transform((text) => new Date(`${text}T00:00:00Z`));
    const object = z.object({ when, n: z.int().min(0).max(9).default(7) });
    const [one, two] = ['A', 'B'].map((prompt) => model.complete(prompt, { json: object, seed: 3 }));
    for (const { text, value, issues } of await Promise.all([one, two])) {
      assert.deepEqual(value, object.parse(JSON.parse(text)));
      assert.ok(value.when instanceof Date && issues === undefined);
    }
    const both = await model.complete(['A', 'B'], { json: object, seed: 3 });
    assert.deepEqual(
      both.value,
      both.summaries.map(({ text }) => object.parse(JSON.parse(text))),
    );
    const odd = z.object({ n: z.int().min(0).max(9) }).refine(({ n }) => n > 9, 'n is small');
    const refusedValue = await model.complete('A', { json: odd, seed: 1 });
    assert.deepEqual([refusedValue.value, refusedValue.issues[0].message], [undefined, 'n is small']);
    assert.equal((await model.complete('A', { json: object, maxTokens: 2 })).value, undefined);
  });
});
