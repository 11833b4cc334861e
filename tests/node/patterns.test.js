// patterns.test.js - the keywords pattern and format: the automaton agrees with JavaScript's regular expressions
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import vm from 'node:vm';
import fc from 'fast-check';
import { GlassformerError } from '../../web/lib/index.js';
import { compiled } from '../../web/lib/constrain/compile.js';
import { formatPatterns } from '../../web/lib/constrain/formats.js';
import { grammarAutomaton, reads, schemaAutomaton } from './automata.js';
import { FORMATS } from './json_validity.js';

/** The automaton of a schema; null: it is refused because no text fits it. */
const automatonOrNone = (/** @type {any} */ json) => {
  try {
    return schemaAutomaton(json);
  } catch (error) {
    if (!/no string fits/.test(/** @type {Error} */ (error).message)) throw error;
    return null;
  }
};

/**
 * A random text of an automaton: random bytes, and after 60 of them the shortest way to an end.
 * @param {import('../../web/lib/constrain/automaton.js').Automaton} automaton
 * @param {() => number} random  from 0 to 1
 */
function randomText(automaton, random) {
  let state = automaton.start;
  const bytes = [];
  const followers = (/** @type {any} */ from) =>
    Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => automaton.step(from, byte));
  while (bytes.length < 60 && !(state.accepting && random() < 0.3)) {
    const all = followers(state);
    if (!all.length) break;
    const ascii = all.filter((byte) => byte < 0x80);
    const drawn = ascii.length && random() < 0.8 ? ascii : all;
    bytes.push(drawn[Math.floor(random() * drawn.length)]);
    state = /** @type {any} */ (automaton.step(state, bytes[bytes.length - 1]));
  }
  const queue = [{ state, way: /** @type {number[]} */ ([]) }];
  const seen = new Set([state]);
  for (const { state: at, way } of queue) {
    if (at.accepting)
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(new Uint8Array([...bytes, ...way]));
    for (const byte of followers(at)) {
      const next = /** @type {any} */ (automaton.step(at, byte));
      if (!seen.has(next)) queue.push({ state: next, way: [...way, byte] });
      seen.add(next);
    }
  }
  return assert.fail(`no end is reached after ${bytes}`);
}
/** A generator of numbers from 0 to 1. */
const numbersOf = (/** @type {number} */ seed) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

/** Characters that patterns and texts share: of each kind that JSON or UTF-8 treats alike. */
const CHARACTERS = [
  ...'aabbcAZ_059-.{}]"\\/ \n\t\r\b\u0001\u007f\u00a0éÄ\u2028\ufeff漢\ud7ff\ue000\uffff😀😁\u{10ffff}',
];
const character = fc.constantFrom(...CHARACTERS);
const value = fc.array(character, { maxLength: 7 }).map((all) => all.join(''));
const literal = character.map((c) => (/[\\/{}\].]/.test(c) ? `\\${c}` : c));
const escape = fc.constantFrom(
  ...'\\d \\D \\w \\W \\s \\S \\n \\t \\r \\cJ \\x61 \\x0a \\u0062 \\u{1F600} \\ud83d\\ude01 (?:\\0) \\p{L} \\P{Lu} \\p{Script=Han} \\$ \\/'.split(
    ' ',
  ),
);
const inClass = fc.oneof(
  literal.map((c) => (c === '-' ? '\\-' : c)),
  escape.map((source) => source.replace('(?:\\0)', '\\0\\x00')),
  fc.constantFrom(
    'a-c',
    '0-9',
    '\\u0000-\\u001f',
    '😀-😁',
    '\\b',
    '^',
    '$',
    '.',
    '(',
    'é-\\uffff',
    '\\u{d000}-\\u{f000}',
  ),
);
const { pattern: plain } = fc.letrec((tie) => ({
  atom: fc.oneof(
    { depthSize: 'small' },
    literal,
    literal,
    escape,
    fc.constantFrom('.', '[^]', '[]'),
    fc
      .tuple(fc.constantFrom('', '^'), fc.array(inClass, { minLength: 1, maxLength: 3 }))
      .map(([not, all]) => `[${not}${all.join('')}]`),
    fc.tuple(fc.constantFrom('(', '(?:'), tie('pattern')).map(([open, inner]) => `${open}${inner})`),
  ),
  term: fc.oneof(
    { weight: 4, arbitrary: tie('atom') },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          tie('atom'),
          fc.constantFrom('*', '+', '?', '{2}', '{1,}', '{0,2}', '{1,3}', '{0}'),
          fc.constantFrom('', '?'),
        )
        .map((all) => all.join('')),
    },
    { weight: 1, arbitrary: fc.constantFrom('^', '$') },
  ),
  sequence: fc.array(tie('term'), { maxLength: 4 }).map((all) => all.join('')),
  pattern: fc.oneof(
    { depthSize: 'small' },
    { weight: 3, arbitrary: tie('sequence') },
    { weight: 1, arbitrary: tie('sequence').map((all) => `^${all}$`) },
    { weight: 1, arbitrary: fc.array(tie('sequence'), { minLength: 2, maxLength: 3 }).map((all) => all.join('|')) },
  ),
}));

/**
 * Whether JavaScript's regular expression finds a pattern in a text; null: not within a second. It takes time
 * exponential in the length of a text for some patterns, such as (?:a|){1,}, which stopped one run in five.
 */
const found = (() => {
  const context = vm.createContext({});
  const script = new vm.Script("new RegExp(source, 'u').test(text)");
  return (/** @type {string} */ source, /** @type {string} */ text) => {
    Object.assign(context, { source, text });
    try {
      return /** @type {boolean} */ (script.runInContext(context, { timeout: 1000 }));
    } catch (error) {
      if (/** @type {any} */ (error).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      return null;
    }
  };
})();

const ahead = fc.tuple(fc.constantFrom('(?=', '(?!'), plain).map(([open, inner]) => `${open}${inner})`);
const pattern = fc.oneof(
  { weight: 4, arbitrary: plain },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.array(ahead, { minLength: 1, maxLength: 2 }), plain)
      .map(([all, rest]) => `^${all.join('')}(?:${rest})`),
  },
);

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
          const hasLength = (/** @type {string} */ one) => [...one].length >= minLength && [...one].length <= maxLength;
          const fits = (/** @type {string} */ one) => expression.test(one) && hasLength(one);
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
      { numRuns: 600 },
    );
    assert.ok(seen.yes > 800 && seen.no > 800, JSON.stringify(seen));
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
      { numRuns: 200 },
    );
    const years = schemaAutomaton({ format: 'date', pattern: '^19|^2000', maxLength: 10, allOf: [{ pattern: '1$' }] });
    for (const [text, fine] of /** @type {[string, boolean][]} */ ([
      ['1999-12-31', true],
      ['2000-01-01', true],
      ['2000-01-02', false],
      ['2001-01-01', false],
      ['1999-02-31', false],
    ]))
      assert.equal(reads(years, JSON.stringify(text)), fine, text);
  });

  test('conditions for passwords and the patterns of Zod with lookaheads', () => {
    const email =
      "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$";
    for (const [source, values] of /** @type {[string, string[]][]} */ ([
      [
        '^(?=.*[A-Z])(?=.*\\d)(?!.*\\s).{8,12}$',
        ['Abcdefg1', 'abcdefg1', 'Abcdefgh', 'Abc efg1', 'Abcdef1', 'ABCDEFGH12345'],
      ],
      [email, ['ada@x.org', '.ada@x.org', 'a..da@x.org', 'a.da@x.y.org', 'ada.@x.org', 'ada@x', "o'hara+1@a-b.co"]],
    ])) {
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
          assert.ok(error instanceof GlassformerError, /** @type {Error} */ (error).stack);
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
      { numRuns: 4000 },
    );
    assert.ok(Math.min(...Object.values(seen)) > 200, JSON.stringify(seen));
  });

  test('what is refused, with the form and its place', () => {
    for (const [source, words, code] of /** @type {[string, RegExp, string][]} */ ([
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
    ]))
      assert.throws(
        () => schemaAutomaton({ properties: { a: { pattern: source } } }),
        (/** @type {any} */ error) =>
          error.code === code && words.test(error.message) && error.message.startsWith('json: #/properties/a: '),
        source,
      );
    for (const [schema, words] of /** @type {[any, RegExp][]} */ ([
      [{ pattern: 5 }, /pattern is 5, expected a regular expression as text/],
      [{ pattern: '^a{5}$', maxLength: 4 }, /no string fits its pattern, format and length/],
      [{ pattern: '^\\w+$', maxLength: 1e6 }, /allow together needs too many states/],
      [{ format: 'iri' }, /the format "iri" is not supported; supported are date, time, /],
      [{ type: 'integer', format: 'uint7' }, /the format "uint7" is not supported; supported are date, time, /],
      [{ type: 'string', format: 'int64' }, /the format "int64" is not one of strings, which are date, /],
      [{ format: 'toString' }, /the format "toString" is not supported/],
      [{ format: ['date'] }, /format is \["date"\], expected the name of a format/],
      [{ format: 'uuid', pattern: 'x' }, /no string fits its pattern, format and length/],
      [{ enum: ['a'], pattern: '(' }, /the pattern "\(" opens a group that is not closed at character 1/],
      [{ enum: ['a', 'b'], pattern: 'c' }, /no value of enum or const fits the other keywords/],
    ]))
      assert.throws(() => schemaAutomaton(schema), words);
  });

  test('repetitions need few states, and a pattern that needs many stays nondeterministic', () => {
    const nodes = (/** @type {any} */ schema) => compiled({ json: schema }).network.nodes.length;
    const base = nodes({ pattern: '' });
    for (const [schema, most] of /** @type {[any, number][]} */ ([
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
    ]))
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
    const cases = /** @type {[any, any[]][]} */ ([
      [{ enum: ['a', 'bb', 'Abc', 3], pattern: '^[a-z]', maxLength: 1 }, ['a', 3]],
      [{ enum: ['2024-02-29', '2023-02-29', null], format: 'date' }, ['2024-02-29', null]],
      [{ enum: [1, 5, 10, 12.5, 'x'], minimum: 5, multipleOf: 2.5 }, [5, 10, 12.5, 'x']],
      [{ enum: [1, 2, 3], exclusiveMinimum: 1, exclusiveMaximum: 3 }, [2]],
      [{ enum: [[], [1], {}, { a: 1 }], minItems: 1, required: ['a'] }, [[1], { a: 1 }]],
      [{ enum: ['a', 'b'], const: 'b' }, ['b']],
      [{ allOf: [{ enum: ['a', 'b', 'c'] }, { enum: ['c', 'b'] }, { pattern: 'b' }] }, ['b']],
    ]);
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

/** By format: texts that have it, and texts that do not. @type {Record<string, [string[], string[]]>} */
const EXAMPLES = {
  date: [
    ['2024-02-29', '2000-02-29', '1999-12-31', '0001-01-01', '2023-04-30', '0000-02-29'],
    [
      '2023-02-29',
      '1900-02-29',
      '2024-02-30',
      '2024-04-31',
      '2024-13-01',
      '2024-00-10',
      '2024-01-00',
      '24-01-01',
      '2024-1-1',
      '2024-01-01 ',
    ],
  ],
  time: [
    ['12:30:00Z', '23:59:59.999Z', '00:00:00+05:30', '08:15:30.123456789-11:00'],
    ['24:00:00Z', '12:60:00Z', '12:30:60Z', '12:30Z', '12:30:00', '12:30:00.Z', '12:30:00+24:00', '12:30:00z'],
  ],
  'date-time': [
    ['2024-02-29T12:30:00Z', '1985-04-12T23:20:50.52Z', '1996-12-19T16:39:57-08:00'],
    ['2023-02-29T12:30:00Z', '2024-02-29 12:30:00Z', '2024-02-29T12:30:00', '2024-02-29', '2024-02-29T25:00:00Z'],
  ],
  duration: [
    ['P3Y6M4DT12H30M5S', 'PT1M', 'P1W', 'P1D', 'PT36H', 'P0D', 'P1YT1S'],
    ['P', 'PT', 'P1', '1D', 'P1S', 'PT1D', 'P1Y2W', 'P1D2Y', 'P-1D', 'P1Y1D', 'PT1H1S', 'P1.5D'],
  ],
  email: [
    ['ada@example.org', 'a.b+c_d@mail.example.co.uk', "o'hara!#$%&*/=?^`{|}~-@x-1.de"],
    [
      'ada',
      '@example.org',
      'ada@',
      'ada@example',
      'a..b@example.org',
      '.a@example.org',
      'a b@example.org',
      'a@-x.org',
      'a@x_y.org',
      `${'a'.repeat(65)}@example.org`,
    ],
  ],
  hostname: [
    ['example.org', 'localhost', 'a.b.c.d.e.f', 'ec2-1-2-3-4.eu-west-1.compute.amazonaws.com', '3com.com'],
    ['', '-a.org', 'a-.org', 'a..org', '.org', 'a_b.org', 'a.org.', `${'a'.repeat(64)}.org`, '1.2.3.4'],
  ],
  ipv4: [
    ['0.0.0.0', '255.255.255.255', '192.168.1.10'],
    ['256.1.1.1', '1.2.3', '1.2.3.4.5', '01.2.3.4', '1.2.3.', '1.2.3.4 '],
  ],
  ipv6: [
    [
      '::',
      '::1',
      '1::',
      '2001:db8::8a2e:370:7334',
      '1:2:3:4:5:6:7:8',
      '::ffff:192.168.0.1',
      '1:2:3:4:5:6:7::',
      '::2:3:4:5:6:7:8',
      '1:2:3:4:5:6:1.2.3.4',
      'fe80::1:2',
    ],
    [
      '',
      ':',
      ':::',
      '1::2::3',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '12345::',
      '::1.2.3',
      '1:2:3:4:5:6:7:1.2.3.4',
      'fe80::1%eth0',
      'g::',
    ],
  ],
  uuid: [
    [
      '123e4567-e89b-12d3-a456-426614174000',
      '00000000-0000-0000-0000-000000000000',
      'ABCDEFAB-CDEF-ABCD-EFAB-CDEFABCDEFAB',
    ],
    [
      '123e4567e89b12d3a456426614174000',
      '123e4567-e89b-12d3-a456-42661417400',
      '{123e4567-e89b-12d3-a456-426614174000}',
      'g23e4567-e89b-12d3-a456-426614174000',
    ],
  ],
  uri: [
    [
      'https://example.org',
      'http://a.b:8080/x/y.html?q=1&r=%C3%A9#top',
      'ftp://127.0.0.1/',
      'mailto:ada@example.org',
      'urn:isbn:0451450523',
      'file:///etc/hosts',
      'tel:+1-816-555-1212',
      'https://x.org?a=/b?c',
    ],
    [
      '',
      'example.org',
      '/path',
      '//x.org',
      'http://',
      'http:// x.org',
      'http://x.org/a b',
      'http://x.org/%zz',
      'http://x.org/ä',
      'http://x.org/<>',
      'ht_tp://x.org',
      '1http://x.org',
      'http://x.org/#a#b',
    ],
  ],
};

describe('formats', () => {
  for (const [format, [good, bad]] of Object.entries(EXAMPLES))
    test(`${format}: texts that are read, texts that are not, random texts and their neighbours`, () => {
      const automaton = schemaAutomaton({ type: 'string', format });
      for (const text of good) assert.ok(reads(automaton, JSON.stringify(text)), text);
      for (const text of good) assert.ok(FORMATS[format](text), text);
      for (const text of bad) assert.ok(!reads(automaton, JSON.stringify(text)), text);
      const random = numbersOf(5);
      const patterns = (formatPatterns(format) ?? []).map((source) => new RegExp(source, 'u'));
      let neighbours = 0;
      for (let i = 0; i < 400; i++) {
        const one = i < good.length ? good[i] : JSON.parse(randomText(automaton, random));
        assert.ok(FORMATS[format](one), one);
        for (let k = 0; k < 8; k++) {
          const at = Math.floor(random() * one.length);
          const put = [
            one[Math.floor(random() * one.length)],
            CHARACTERS[Math.floor(random() * CHARACTERS.length)],
            '',
          ][k % 3];
          const near = one.slice(0, at) + put + one.slice(at + (k < 4 ? 1 : 0));
          const isRead = reads(automaton, JSON.stringify(near));
          assert.equal(
            isRead,
            patterns.every((expression) => expression.test(near)),
            near,
          );
          if (isRead) assert.ok(FORMATS[format](near), near);
          neighbours += Number(isRead && near !== one);
        }
      }
      assert.ok(neighbours > 20, String(neighbours));
    });

  test('every format has examples', async () => {
    const { FORMAT_NAMES } = await import('../../web/lib/constrain/formats.js');
    assert.deepEqual(Object.keys(EXAMPLES).sort(), [...FORMAT_NAMES].sort());
  });
});

/** What compiling a schema or grammar throws. */
const refusal = (/** @type {any} */ given) => {
  try {
    compiled(given);
  } catch (error) {
    return error;
  }
  return assert.fail('it was compiled');
};
const numbered = (/** @type {number} */ n, /** @type {(i: number) => any} */ one) =>
  Array.from({ length: n }, (_, i) => one(i));

// Each of these took minutes, gigabytes or the whole stack.
describe('small schemas and grammars that mean much work', () => {
  test('a listed value is compared with a pattern in linear time', () => {
    const automaton = schemaAutomaton({ enum: ['aa', 'a'.repeat(40) + '!', ''], pattern: '^(a+)+$' });
    assert.ok(reads(automaton, '"aa"'));
    assert.ok(!reads(automaton, `"${'a'.repeat(40)}!"`));
    assert.ok(!reads(automaton, '""'));
    for (const [pattern, fitting] of /** @type {[string, string[]][]} */ ([
      ['^$', ['']],
      ['b$', ['ab']],
      ['^a', ['ab']],
      ['^(?!a)', ['', '\u{1f600}']],
      ['^.$', ['\u{1f600}']],
    ])) {
      const own = schemaAutomaton({ enum: ['', 'ab', '\u{1f600}'], pattern });
      for (const value of ['', 'ab', '\u{1f600}'])
        assert.equal(reads(own, JSON.stringify(value)), fitting.includes(value));
    }
  });

  test('choices that allOf multiplies, and patterns with too many edges, are refused', () => {
    const choices = numbered(10, (i) => ({
      anyOf: numbered(10, (k) => ({ properties: { [`p${i}`]: { const: k } } })),
    }));
    const { code, message } = refusal({ json: { allOf: choices } });
    assert.equal(code, 'unsupported');
    assert.match(message, /: allOf combines anyOf or oneOf to more than 2000 schemas$/);
    for (const inner of [
      'a|'.repeat(1000) + 'b',
      '\\p{L}|' + numbered(500, (i) => String.fromCharCode(0x4e00 + i)).join('|'),
    ])
      assert.match(refusal({ json: { type: 'string', pattern: `^(?:${inner}){15000}$` } }).message, /too many states/);
  });

  test('references that double are followed once, and a circle of them ends', () => {
    const $defs = Object.fromEntries(
      numbered(60, (i) => [`a${i}`, { allOf: [{ $ref: `#/$defs/a${i + 1}` }, { $ref: `#/$defs/a${i + 1}` }] }]),
    );
    const automaton = schemaAutomaton({ $defs: { ...$defs, a60: { const: 1 } }, $ref: '#/$defs/a0' });
    assert.ok(reads(automaton, '1') && !reads(automaton, '2'));
    const one = (/** @type {number} */ i) => ({ required: ['a'], properties: { a: { $ref: `#/oneOf/${i}` } } });
    assert.match(refusal({ json: { oneOf: [one(0), one(1)] } }).message, /must exclude each other/);
    assert.match(
      refusal({
        json: {
          $defs: { b: { $ref: '#/$defs/c', title: 'b' }, c: { allOf: [{ $ref: '#/$defs/b' }] } },
          $ref: '#/$defs/b',
        },
      }).message,
      /refers to itself/,
    );
  });

  test('a multiple of the other divisor is the common one', () => {
    const automaton = schemaAutomaton({ allOf: [{ multipleOf: 0.5 }, { multipleOf: 1.5 }, { type: 'number' }] });
    assert.ok(reads(automaton, '4.5') && !reads(automaton, '4') && !reads(automaton, '0.5'));
  });

  test('depth is refused by name, length is not', () => {
    let deep = /** @type {any} */ ({ type: 'string' });
    for (let i = 0; i < 5000; i++) deep = { items: deep };
    assert.match(refusal({ json: deep }).message, /has more than 256 schemas inside each other$/);
    assert.match(
      refusal({ grammar: `root ::= "a"${'*'.repeat(50_000)}` }).message,
      /at most 64 repetitions of one item/,
    );
    const names = numbered(5000, (i) => `p${i}`);
    const automaton = schemaAutomaton({ properties: Object.fromEntries(names.map((name) => [name, { const: 1 }])) });
    assert.ok(reads(automaton, '{"p7":1,"p4999":1}') && !reads(automaton, '{"p8":1,"p7":1}') && reads(automaton, '{}'));
    const list = schemaAutomaton({ prefixItems: numbered(5000, (i) => ({ const: i % 2 })), minItems: 2 });
    assert.ok(reads(list, '[0,1]') && reads(list, '[0,1,0]') && !reads(list, '[0]') && !reads(list, '[0,1,1]'));
    const rules = numbered(10_000, (i) => `${i ? `r${i}` : 'root'} ::= "x" r${i + 1}`);
    const chain = grammarAutomaton([...rules, 'r10000 ::= "y"'].join('\n'));
    assert.ok(reads(chain, `${'x'.repeat(10_000)}y`));
  });
});
