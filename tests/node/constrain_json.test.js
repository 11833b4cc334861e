// constrain_json.test.js - JSON schemas: exactly the valid texts are read
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { reads, schemaAutomaton } from './automata.js';
import { isValid } from './json_validity.js';
import { vocabularies } from './vocabularies.js';
import { numbersOf, randomText, schema } from './random_schemas.js';

const models = await vocabularies();

describe('JSON schemas', () => {
  test('any random text under any schema is JSON and valid, in every kind of vocabulary', () => {
    fc.assert(
      fc.property(schema, fc.nat(2 ** 31), (given, seed) => {
        for (const one of models) {
          const { text } = randomText(one, { json: given }, numbersOf(seed));
          assert.ok(isValid(JSON.parse(text), given), `${one.name}: ${text.length} ${text}`);
        }
      }),
      { numRuns: 60 },
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
    for (const [text, fine] of [
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
    ])
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
          const automaton = schemaAutomaton({ type: 'integer', minimum: low, maximum: low + n });
          for (const value of [x, low, low + n, low - 1, low + n + 1])
            assert.equal(reads(automaton, String(value)), value >= low && value <= low + n);
          assert.ok(!reads(automaton, `0${Math.abs(x)}`) && !reads(automaton, '-0'));
        },
      ),
      { numRuns: 120 },
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
          ...to.map((key) => [key, Number((low + width ** 2 / 1e4).toFixed(4))]),
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
      { numRuns: 160 },
    );
    assert.ok(seen.yes > 80 && seen.no > 400, JSON.stringify(seen));
    const money = schemaAutomaton({ type: 'number', minimum: 0, multipleOf: 0.01 });
    for (const text of ['0', '19.99', '0.1', '12.50', '9999999999999.99']) assert.ok(reads(money, text), text);
    for (const text of ['-1', '0.001', '99999999999999.99', '1e1']) assert.ok(!reads(money, text), text);
  });
});
