// constrain.test.js - JSON schemas and grammars: every text that they allow is valid
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { GlassformerError, Tokenizer, load } from '../../web/lib/api/index.js';
import { compiled, prepare } from '../../web/lib/text/constrain/compile.js';
import { constraintOf } from '../../web/lib/text/constrain/constraint.js';
import { utf8Sequences } from '../../web/lib/text/constrain/utf8.js';
import { SECONDS } from '../../web/lib/text/constrain/text_buckets.js';
import { vocabularyOf } from '../../web/lib/text/constrain/token_bytes.js';
import { grammarAutomaton, reads } from './automata.js';
import { collect, json, refused, stories, top, untilEnd } from './helpers.js';
import { isValid } from './json_validity.js';
import { vocabularies } from './vocabularies.js';
import { numbersOf } from './random_schemas.js';

const models = await vocabularies();
const model = await untilEnd(load(stories));

const utf8 = new TextEncoder();

describe('grammars', () => {
  test('GBNF: texts, ranges, alternatives, groups, repetition, comments', () => {
    const cases = [
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
    ];
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
      { numRuns: 500 },
    );
    assert.deepEqual(utf8Sequences(0xd800, 0xdfff), []);
  });

  test('wrong grammars are refused with their line', async () => {
    for (const [grammar, words] of [
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
      ['root ::= ("a"{1000}){1000000}', /the repetition "\{1000000\}" is above the limit, which is 300000/],
      ['root ::= "a"{2,99999999999}', /the repetition "\{2,99999999999\}" is above the limit/],
      ['root ::= "ab"{300000}', /more than 300000 states: make its repetitions or lengths smaller/],
      [`root ::= ${'('.repeat(70)}"a"${')'.repeat(70)}`, /at most 64 groups/],
    ])
      await refused(
        collect(model.generate('A', { grammar, maxTokens: 1 })),
        /<think>|!</.test(grammar) ? 'unsupported' : 'bad-option',
        words,
      );
  });
});

test('what was compiled is found again by what was given, and only by that', () => {
  const schema = { type: 'array', items: { const: 0 } };
  const first = compiled({ json: schema });
  assert.equal(compiled({ json: structuredClone(schema) }), first);
  for (const other of [
    { json: schema, whitespace: 'any' },
    { json: schema, strictSchema: true },
    { json: { type: 'array', items: { const: 1 } } },
    { grammar: 'root ::= "0"' },
  ])
    assert.notEqual(compiled(other).text, first.text);
  const { text } = compiled({ json: { enum: [1, null] } });
  for (const absent of [NaN, undefined]) assert.notEqual(compiled({ json: { enum: [1, absent] } }).text, text);
  const unknown = () => prepare({ json: { type: 'string', unknown: 1 } }, { hasTokenizer: true }).ignored;
  const count = unknown().length;
  unknown().push('changed by the caller');
  assert.equal(count, 1);
  assert.equal(unknown().length, count);
  for (let i = 0; i < 8; i++) compiled({ grammar: `root ::= "${i}"` });
  assert.notEqual(compiled({ json: schema }), first, 'eight later ones are kept');
});

// unk_token null, as in Llama 3 and Qwen, was looked up under the name "null": the token that all JSON needs was missing.
test('a vocabulary without a token for unknown characters keeps the tokens null and undefined', () => {
  const vocab = { null: 0, undefined: 1, '<unk>': 2 };
  const textsWith = (/** @type {any} */ unk) => {
    const model = { type: 'BPE', vocab, merges: [], ...unk };
    const { all } = vocabularyOf(new Tokenizer({ model, decoder: { type: 'ByteLevel' } }).parts(), 3, []);
    return [...all.ids].sort();
  };
  assert.deepEqual(textsWith({ unk_token: null }), [0, 1, 2]);
  assert.deepEqual(textsWith({}), [0, 1, 2]);
  assert.deepEqual(textsWith({ unk_token: '<unk>' }), [0, 1]);
});

test('a token with the byte FF, which no UTF-8 has and which marks special tokens, adds nothing to a text', () => {
  for (const [vocab, decoder] of [
    [{ ÿ: 0, þ: 1, aÿ: 2 }, { type: 'ByteLevel' }],
    [{ '<0xFF>': 0, '<0xFE>': 1 }, { type: 'ByteFallback' }],
  ]) {
    const { all } = vocabularyOf(new Tokenizer({ model: { type: 'BPE', vocab, merges: [] }, decoder }).parts(), 3, []);
    assert.deepEqual([...all.ids], [1]);
  }
});

describe('input of any kind', () => {
  /** What a call throws is an error of the package. */
  const compiles = (options) => {
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
      { numRuns: 800 },
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
      { numRuns: 800 },
    );
  });
});

describe('tokens', () => {
  test('the bytes of every token are those of its text, and buckets have them in order', () => {
    for (const { name, tokenizer, config, special } of models) {
      const { bytes, starts, ends, all, plain } = vocabularyOf(tokenizer.parts(), config.vocab_size, special.eos);
      const own = (id) => bytes.subarray(starts[id], ends[id]);
      assert.ok(all.ids.length > 200 || name.startsWith('few'), name);
      assert.equal(new Set(all.ids).size, all.ids.length);
      assert.equal(plain.count + plain.others.ids.length, all.ids.length);
      for (const id of all.ids) {
        const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(own(id));
        if (!text.includes('\ufffd')) assert.equal(text, tokenizer.idToText(id), `${name}: ${id}`);
        const isPlain = Boolean((plain.bits[id >> 5] >>> (id & 31)) & 1);
        assert.equal(isPlain, !/["\\\0-\x1f\ufffd]/.test(text) || text === '\ufffd'.repeat(own(id).length / 3), text);
      }
      for (const list of [all, plain.others])
        for (let bucket = 0; bucket < list.begins.length - 1; bucket++) {
          if (bucket % SECONDS) list.sort(bucket);
          for (let i = list.begins[bucket]; i < list.begins[bucket + 1]; i++) {
            const [it, before] = [own(list.ids[i]), i ? own(list.ids[i - 1]) : new Uint8Array()];
            assert.ok(Buffer.compare(before, it) <= 0);
            assert.deepEqual([it[0], it.length > 1 ? it[1] + 1 : 0], [Math.floor(bucket / SECONDS), bucket % SECONDS]);
            if (bucket % SECONDS && i > list.begins[bucket])
              assert.deepEqual(before.subarray(0, list.shared[i]), it.subarray(0, list.shared[i]));
          }
        }
    }
  });

  test('exactly the tokens that continue the text are allowed', () => {
    const source = 'root ::= ("the" " "? | [a-m]+ "é" | "😀"){1,4} "."';
    for (const one of models) {
      const { bytes, starts, ends, all } = vocabularyOf(one.tokenizer.parts(), one.config.vocab_size, []);
      const { ids } = all;
      const automaton = grammarAutomaton(source);
      const random = numbersOf(7);
      const constraint = constraintOf(one, compiled({ grammar: source }), [ids[0]]);
      let state = automaton.start;
      for (let step = 0; step < 12 && !constraint.complete; step++) {
        const bits = constraint.allowed(one.special.eos);
        const after = Array.from(ids, (id) => {
          let at = state;
          for (let k = starts[id]; k < ends[id] && at; k++) at = automaton.step(at, bytes[k]);
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
      const other = await load(stories, how);
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
    const { create } = await import('../../web/lib/api/index.js');
    const bare = await create({ vocab_size: 20, d_model: 16, n_layers: 1, n_heads: 2 }, { seed: 1 });
    await refused(collect(bare.generate([1], { json: {} })), 'no-tokenizer', /json/);
    bare.dispose();
    const tokenizer = json(join(top, 'weights/dates/tokenizer.json'));
    const digits = Object.fromEntries([...'0123456789'].map((c, i) => [c, i]));
    const few = await untilEnd(
      load({
        weights: readFileSync(stories),
        tokenizer: { ...tokenizer, added_tokens: [], model: { ...tokenizer.model, vocab: digits, merges: [] } },
      }),
    );
    await refused(
      collect(few.generate([1], { json: { type: 'boolean' } })),
      'unsupported',
      /at the beginning of the text: the vocabulary/,
    );
    const { text } = await collect(few.generate([1], { json: { type: 'integer', minimum: 10, maximum: 99 } }));
    assert.match(text, /^\d\d$/);
  });
});
