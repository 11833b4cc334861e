// patterns.test.js - the keywords pattern and format: the automaton agrees with JavaScript's regular expressions
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { GlassformerError } from '../../web/lib/api/index.js';
import { compiled } from '../../web/lib/text/constrain/compile.js';
import { reads, schemaAutomaton } from './automata.js';
import { CHARACTERS, found, literal, numbersOf, pattern, randomText, value } from './random_patterns.js';

/** The automaton of a schema; null: it is refused because no text fits it. */
const automatonOrNone = (json) => {
  try {
    return schemaAutomaton(json);
  } catch (error) {
    if (!/no string fits/.test(error.message)) throw error;
    return null;
  }
};

describe('patterns', () => {
  test('a string is read exactly if the regular expression finds the pattern in it, and it has so many characters', () => {
    const counts = fc.oneof(
      fc.constant({}),
      fc.record({ minLength: fc.nat(3), maxLength: fc.integer({ min: 3, max: 6 }) }),
    );
    const seen = { yes: 0, no: 0, none: 0 };
    fc.assert(
      fc.property(
        pattern,
        counts,
        fc.array(value, { minLength: 12, maxLength: 12 }),
        fc.nat(2 ** 31),
        (source, lengths, values, seed) => {
          const automaton = automatonOrNone({ type: 'string', pattern: source, ...lengths });
          const { minLength = 0, maxLength = Infinity } = lengths;
          const expression = new RegExp(source, 'u');
          const hasLength = (one) => [...one].length >= minLength && [...one].length <= maxLength;
          const fits = (one) => expression.test(one) && hasLength(one);
          for (const one of values) {
            const fine = fits(one);
            seen[automaton ? (fine ? 'yes' : 'no') : 'none']++;
            assert.equal(!!automaton && reads(automaton, JSON.stringify(one)), fine, JSON.stringify(one));
          }
          const random = numbersOf(seed);
          for (let i = 0; automaton && i < 4; i++) {
            const text = randomText(automaton, random);
            const one = JSON.parse(text);
            assert.ok(hasLength(one) && found(source, one) !== false, text);
            assert.equal(text, JSON.stringify(one));
          }
        },
      ),
      { numRuns: 120 },
    );
    assert.ok(seen.yes > 130 && seen.no > 130, JSON.stringify(seen));
  });

  test('two patterns and a format hold together', () => {
    fc.assert(
      fc.property(pattern, pattern, fc.array(value, { minLength: 12, maxLength: 12 }), (a, b, values) => {
        const automaton = automatonOrNone({ allOf: [{ pattern: a }, { type: 'string', pattern: b }] });
        for (const one of values)
          assert.equal(
            !!automaton && reads(automaton, JSON.stringify(one)),
            [a, b].every((source) => new RegExp(source, 'u').test(one)),
            JSON.stringify(one),
          );
      }),
      { numRuns: 80 },
    );
    const years = schemaAutomaton({ format: 'date', pattern: '^19|^2000', maxLength: 10, allOf: [{ pattern: '1$' }] });
    for (const [text, fine] of [
      ['1999-12-31', true],
      ['2000-01-01', true],
      ['2000-01-02', false],
      ['2001-01-01', false],
      ['1999-02-31', false],
    ])
      assert.equal(reads(years, JSON.stringify(text)), fine, text);
  });

  test('conditions for passwords and the patterns of Zod with lookaheads', () => {
    const email =
      "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$";
    for (const [source, values] of [
      [
        '^(?=.*[A-Z])(?=.*\\d)(?!.*\\s).{8,12}$',
        ['Abcdefg1', 'abcdefg1', 'Abcdefgh', 'Abc efg1', 'Abcdef1', 'ABCDEFGH12345'],
      ],
      [email, ['ada@x.org', '.ada@x.org', 'a..da@x.org', 'a.da@x.y.org', 'ada.@x.org', 'ada@x', "o'hara+1@a-b.co"]],
    ]) {
      const automaton = schemaAutomaton({ type: 'string', pattern: source });
      const found = values.filter((one) => reads(automaton, JSON.stringify(one)));
      assert.ok(found.length && found.length < values.length, source);
      assert.deepEqual(
        found,
        values.filter((one) => new RegExp(source).test(one)),
        source,
      );
    }
    assert.ok(reads(schemaAutomaton({ format: 'email', pattern: email }), '"ada@example.org"'));
  });

  test('forms that only the flag u forbids are read as JavaScript reads them without it', () => {
    const values = [...CHARACTERS.filter((c) => c.length === 1), 'a-b', 'a{,2}', '{a}', '#', "'", 'a]'];
    for (const source of [
      '^[\\w-.]+$',
      '^[.-\\d]$',
      "^\\#|\\'|\\-$",
      '^a{,2}$',
      '^{a}$',
      '^a]$',
      '^[\\s-_]$',
      '[\\_]',
    ]) {
      assert.throws(() => new RegExp(source, 'u'), source);
      const automaton = schemaAutomaton({ pattern: source });
      for (const one of values)
        assert.equal(reads(automaton, JSON.stringify(one)), new RegExp(source).test(one), `${source}: ${one}`);
    }
  });

  test('any text is a pattern, or is refused as JavaScript refuses it, or for a form that is named', () => {
    const part = fc.oneof(
      literal,
      fc.constantFrom(
        ...'( ) (?: (?= (?<a> (?<! [ ] [^ - ^ $ | * + ? {2} {3,1} {1, \\ \\q \\b \\1 \\k<a> \\u{110000} \\p{X} \\c1 \\x4'.split(
          ' ',
        ),
      ),
    );
    const seen = { fine: 0, refused: 0, unsupported: 0 };
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), value, (parts, one) => {
        const source = parts.join('');
        let expression = null;
        for (const flags of ['', 'u'])
          try {
            expression = new RegExp(source, flags);
          } catch {
            // with or without u
          }
        let automaton = null;
        try {
          automaton = schemaAutomaton({ pattern: source });
        } catch (error) {
          assert.ok(error instanceof GlassformerError, error.stack);
          if (error.code === 'unsupported') {
            seen.unsupported++;
            assert.match(error.message, /, at character \d+$|needs too many states/);
            return;
          }
          if (!/no string fits/.test(error.message)) {
            seen.refused++;
            assert.match(error.message, /at character \d+$/);
            assert.throws(() => new RegExp(source, 'u'), error.message);
            return;
          }
        }
        seen.fine++;
        assert.ok(expression, source);
        if (!expression.unicode && /[^\0-\uffff]/u.test(source + one)) return;
        assert.equal(!!automaton && reads(automaton, JSON.stringify(one)), expression.test(one), `${source}: ${one}`);
      }),
      { numRuns: 1000 },
    );
    assert.ok(Math.min(...Object.values(seen)) > 60, JSON.stringify(seen));
  });

  test('what is refused, with the form and its place', () => {
    for (const [source, words, code] of [
      [
        'ab(?=c)',
        /the pattern "ab\(\?=c\)" has a lookahead \(\?=, which is supported only behind \^ at the beginning, at character 3/,
        'unsupported',
      ],
      ['(?!c)', /a lookahead \(\?!.* at character 1/, 'unsupported'],
      ['^(a(?!c))', /a lookahead \(\?!.* at character 4/, 'unsupported'],
      ['^(?=(?=a))', /a lookahead \(\?=.* at character 5/, 'unsupported'],
      ['^(?=a)a|b', /a lookahead in one of several alternatives, which ends at character 8/, 'unsupported'],
      ['^(?=a)*', /a quantifier that follows nothing repeatable at character 7/, 'bad-option'],
      ['^(?=a', /opens a group that is not closed at character 2/, 'bad-option'],
      ['^(?![^]*a.{20}$)', /needs too many states/, 'unsupported'],
      ['a(?<=c)', /a lookbehind \(\?<=.* at character 2/, 'unsupported'],
      ['a(?<!c)', /a lookbehind \(\?<!.* at character 2/, 'unsupported'],
      ['(a)\\1', /a reference to a group \\1.* at character 4/, 'unsupported'],
      ['(?<x>a)\\k<x>', /a reference to a group \\k.* at character 8/, 'unsupported'],
      ['\\bword', /a word boundary \\b.* at character 1/, 'unsupported'],
      ['a\\B', /a word boundary \\B.* at character 2/, 'unsupported'],
      ['(?i)a', /neither \(\.\.\.\), \(\?:\.\.\.\) nor \(\?<name>\.\.\.\), at character 1/, 'unsupported'],
      ['(?P<year>a)', /neither.* at character 1/, 'unsupported'],
      ['(?>a)', /neither.* at character 1/, 'unsupported'],
      ['a\\Z', /has \\Z, which is no escape of ECMAScript.* at character 2/, 'unsupported'],
      ['\\p{Klingon}', /has \\p, which is no escape/, 'unsupported'],
      ['[[:alpha:]]', /a class of POSIX.* at character 2/, 'unsupported'],
      ['a**', /a quantifier that follows nothing repeatable at character 3/, 'bad-option'],
      ['a++', /a quantifier that follows nothing repeatable at character 3/, 'bad-option'],
      ['^*', /a quantifier that follows nothing repeatable at character 2/, 'bad-option'],
      ['a{3,2}', /a quantifier whose numbers are out of order at character 2/, 'bad-option'],
      ['a(b', /opens a group that is not closed at character 2/, 'bad-option'],
      ['ab)', /closes a group that was not opened at character 3/, 'bad-option'],
      ['a[b', /opens a class that is not closed at character 2/, 'bad-option'],
      ['[b-a]', /a range whose end is before its beginning at character 2/, 'bad-option'],
      ['a\\', /ends with a backslash at character 2/, 'bad-option'],
      [`${'('.repeat(70)}a${')'.repeat(70)}`, /more than 64 groups inside each other at character/, 'bad-option'],
      ['a^b', /no string fits its pattern, format and length/, 'bad-option'],
      ['^(\\w{1,1000}){1,1000}$', /the pattern .* needs too many states: make its repetitions/, 'unsupported'],
      [`a{${'9'.repeat(400)}}`, /needs too many states/, 'unsupported'],
    ])
      assert.throws(
        () => schemaAutomaton({ properties: { a: { pattern: source } } }),
        (error) =>
          error.code === code && words.test(error.message) && error.message.startsWith('json: #/properties/a: '),
        source,
      );
    for (const [schema, words] of [
      [{ pattern: 5 }, /pattern is 5, expected a regular expression as text/],
      [{ pattern: '^a{5}$', maxLength: 4 }, /no string fits its pattern, format and length/],
      [{ pattern: '^\\w+$', maxLength: 1e6 }, /allow together needs too many states/],
      [{ format: ['date'] }, /format is \["date"\], expected the name of a format/],
      [{ format: 'uuid', pattern: 'x' }, /no string fits its pattern, format and length/],
      [{ enum: ['a'], pattern: '(' }, /the pattern "\(" opens a group that is not closed at character 1/],
      [{ enum: ['a', 'b'], pattern: 'c' }, /no value of enum or const fits the other keywords/],
    ])
      assert.throws(() => schemaAutomaton(schema), words);
  });

  test('repetitions need few states, and a pattern that needs many stays nondeterministic', () => {
    const nodes = (schema) => compiled({ json: schema }).network.nodes.length;
    const base = nodes({ pattern: '' });
    for (const [schema, most] of [
      [{ pattern: '\\w{1,1000}' }, 400],
      [{ pattern: '^\\w{1,1000}$' }, 1100],
      [{ pattern: '^(a|b|c){50}$' }, 100],
      [{ pattern: '(a|b|c){50}' }, 400],
      [{ pattern: '^(a|aa){500}$' }, 1100],
      [{ pattern: '^.*a.{20}$' }, 400],
      [{ pattern: '^.*a.{20}$', maxLength: 200 }, 6000],
      [{ pattern: '^(((a*)*)*)*$' }, 10],
      [{ pattern: '(x+x+)+y' }, 500],
      [{ format: 'email', maxLength: 254 }, 500],
      [{ format: 'uri', maxLength: 100 }, 6000],
    ])
      assert.ok(nodes(schema) - base < most, `${JSON.stringify(schema)}: ${nodes(schema) - base}`);
    const late = schemaAutomaton({ pattern: '^[^]*a[^]{20}$', maxLength: 60 });
    for (const one of [
      'a'.repeat(60),
      'a'.repeat(61),
      'a'.repeat(20),
      `${'b'.repeat(30)}a${'b'.repeat(20)}`,
      'b'.repeat(40),
    ])
      assert.equal(reads(late, JSON.stringify(one)), /^[^]*a[^]{20}$/u.test(one) && one.length <= 60, one);
  });

  test('an enumeration keeps the values that fit pattern, format, length and limits', () => {
    const cases = [
      [{ enum: ['a', 'bb', 'Abc', 3], pattern: '^[a-z]', maxLength: 1 }, ['a', 3]],
      [{ enum: ['2024-02-29', '2023-02-29', null], format: 'date' }, ['2024-02-29', null]],
      [{ enum: [1, 5, 10, 12.5, 'x'], minimum: 5, multipleOf: 2.5 }, [5, 10, 12.5, 'x']],
      [{ enum: [1, 2, 3], exclusiveMinimum: 1, exclusiveMaximum: 3 }, [2]],
      [{ enum: [[], [1], {}, { a: 1 }], minItems: 1, required: ['a'] }, [[1], { a: 1 }]],
      [{ enum: ['a', 'b'], const: 'b' }, ['b']],
      [{ allOf: [{ enum: ['a', 'b', 'c'] }, { enum: ['c', 'b'] }, { pattern: 'b' }] }, ['b']],
    ];
    for (const [schema, want] of cases) {
      const automaton = schemaAutomaton(schema);
      for (const one of schema.enum ?? ['a', 'b', 'c'])
        assert.equal(
          reads(automaton, JSON.stringify(one)),
          want.some((other) => JSON.stringify(other) === JSON.stringify(one)),
          JSON.stringify([schema, one]),
        );
    }
  });
});
