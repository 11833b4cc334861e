// random_schemas.js - random JSON schemas, and random texts that they allow
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { compiled } from '../../web/lib/text/constrain/compile.js';
import { constraintOf } from '../../web/lib/text/constrain/constraint.js';

export const { schema } = fc.letrec((tie) => {
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
export function randomText(one, options, random) {
  const constraint = constraintOf(one, compiled(options), []);
  const { eos } = one.special;
  const closing = ['"', '}', ']'].flatMap((text) => one.tokenizer.encode(text, { addSpecialTokens: false }).slice(-1));
  const ids = [];
  for (;;) {
    if (constraint.complete) return { ids, text: one.tokenizer.decode(ids) };
    const bits = constraint.allowed(eos);
    const has = (id) => (bits[id >> 5] >>> (id & 31)) & 1;
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
export const numbersOf = (seed) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};
