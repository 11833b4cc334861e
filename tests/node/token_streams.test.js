// token_streams.test.js - a text that is decoded token by token: incomplete characters, stop strings
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { StepBuffer } from '../../web/lib/run/stop_texts.js';
import { Tokenizer } from '../../web/lib/text/tokenizer.js';
import { create, load } from '../../web/lib/api/index.js';
import { stories, streamed, top } from './helpers.js';

const data = join(top, 'tests/golden/formats');

const plain = { addSpecialTokens: false };

test('a stream withholds incomplete characters and keeps the spaces between pieces', async () => {
  const bpe = await Tokenizer.load(stories);
  const ids = bpe.encode('a\u{1F600}b', plain);
  const stream = bpe.stream();
  const pieces = ids.map((id) => stream.push(id));
  assert.ok(ids.length >= 6, 'four bytes, one token each');
  assert.deepEqual(pieces.filter(Boolean), ['a', '\u{1F600}', 'b']);
  const cut = bpe.stream();
  assert.equal(
    ids
      .slice(0, 3)
      .map((id) => cut.push(id))
      .join(''),
    'a',
  );
  assert.equal(cut.end(), '\ufffd', 'what stays half is shown as broken at the end');

  const spm = await Tokenizer.load(join(data, 'tok512.bin'));
  const [first, ...rest] = spm.encode('Once upon a time', plain);
  assert.equal(spm.decode([first, ...rest]).slice(spm.decode([first]).length), streamed(spm, rest, [1, first]));
  assert.equal(streamed(spm, [first, ...rest], [1]), 'Once upon a time', 'after the begin token a text begins');
  const upon = spm.encode('the', plain);
  assert.equal(
    streamed(spm, upon, spm.encode('Once')),
    ' the',
    'a decoder strips the space only at the start of a text',
  );
  assert.equal(upon.map((id) => spm.idToText(id)).join(''), ' the');
});

test("where a token's text depends on its neighbours, a stream decodes them together", async () => {
  // BPEDecoder turns the suffix into a space, except at the end of a text: "a" and "b" together are "a b"
  const tokenizer = await Tokenizer.load({
    model: { type: 'BPE', vocab: { 'a</w>': 0, 'b</w>': 1, a: 2, b: 3 }, merges: [], end_of_word_suffix: '</w>' },
    decoder: { type: 'BPEDecoder', suffix: '</w>' },
  });
  assert.equal(tokenizer.decode([0, 1, 0]), 'a b a');
  assert.equal(tokenizer.piece(1), null, 'its text depends on what follows');
});

test('any ids decode, and a stream gives the same text as decode', async () => {
  for (const [file, from, to] of [
    [stories, 0, 2047],
    [join(data, 'tok512.bin'), 3, 511],
  ]) {
    const tokenizer = await Tokenizer.load(file);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: from, max: to }), { maxLength: 60 }), (ids) => {
        assert.equal(streamed(tokenizer, ids), tokenizer.decode(ids));
      }),
      { numRuns: 300 },
    );
  }
});

// The text of a single token was found by decoding it after a plain token; without such a token it lost its space.
test('a stream gives the same text as decode in a vocabulary without "a"', async () => {
  const steps = [
    { type: 'Replace', pattern: { String: '\u2581' }, content: ' ' },
    { type: 'Fuse' },
    { type: 'Strip', content: ' ', start: 1, stop: 0 },
  ];
  for (const decoder of [
    { type: 'Metaspace', replacement: '\u2581', prepend_scheme: 'always' },
    { type: 'Sequence', decoders: steps },
  ]) {
    const tokenizer = await Tokenizer.load({
      model: { type: 'BPE', vocab: { b: 0, '\u2581b': 1 }, merges: [] },
      decoder,
    });
    assert.equal(streamed(tokenizer, [1, 1, 0, 1]), 'b bb b');
  }
});

test('a stream with a decoder that strips the end of a text gives the same text as decode', async () => {
  const steps = [
    { type: 'Replace', pattern: { String: '\u2581' }, content: ' ' },
    { type: 'Fuse' },
    { type: 'Strip', content: ' ', start: 0, stop: 1 },
  ];
  const tokenizer = await Tokenizer.load({
    model: { type: 'BPE', vocab: { a: 0, '\u2581': 1, 'a\u2581': 2 }, merges: [] },
    decoder: { type: 'Sequence', decoders: steps },
  });
  assert.equal(tokenizer.piece(1), null, 'a space at the end is none, within a text it is');
  assert.equal(tokenizer.piece(2), null);
});

test('a stream delivers bytes that never complete a character, and its window stays bounded', async () => {
  const tokenizer = await Tokenizer.load(stories),
    [first] = tokenizer.encode('\u{1F600}', plain).slice(-4); // the first of four bytes
  const stream = tokenizer.stream();
  let out = '';
  for (let i = 0; i < 1000; i++) {
    out += stream.push(first);
    assert.ok(stream.window.length <= 64, `${stream.window.length} tokens are held`);
  }
  assert.ok(out.length > 900, 'they are not held back for ever');
});

test('StepBuffer delivers the text before the first stop string, with its tokens', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', 'b', 'c', 'ab', 'bca', ''), { maxLength: 30 }),
      fc.uniqueArray(fc.stringMatching(/^[abc]{1,4}$/), { maxLength: 3 }),
      (pieces, stops) => {
        const buffer = new StepBuffer(stops, { half: false, push: (id) => pieces[id], end: () => '' });
        let given = '',
          count = 0;
        for (let id = 0; id < pieces.length && !buffer.stopped; id++) {
          for (const step of buffer.push({ id, text: '', position: id, logprob: 0, ms: 0 })) {
            given += step.text;
            count++;
          }
          const whole = pieces.slice(0, id + 1).join('');
          assert.ok(whole.startsWith(given));
          for (const stop of stops)
            for (let n = 1; n < stop.length; n++)
              if (!buffer.stopped && whole.endsWith(stop.slice(0, n)))
                assert.ok(given.length <= whole.length - n, 'what may begin a stop text is held back');
        }
        if (!buffer.stopped)
          for (const step of buffer.end()) {
            given += step.text;
            count++;
          }
        const whole = pieces.join(''),
          ends = stops.map((stop) => whole.indexOf(stop)).filter((i) => i >= 0);
        // the text is searched after each token: of two stop strings the one that is complete first ends it
        if (!ends.length) assert.deepEqual([given, count, buffer.stopped], [whole, pieces.length, false]);
        else {
          let at = 0,
            seen = '';
          while (!stops.some((stop) => seen.includes(stop))) seen += pieces[at++];
          const free = Math.min(...stops.map((stop) => seen.indexOf(stop)).filter((i) => i >= 0));
          assert.equal(given, seen.slice(0, free));
          let length = 0;
          const made = pieces.slice(0, at).filter((piece) => {
            const from = length;
            length += piece.length;
            return from < free || (from === free && !piece);
          });
          assert.equal(count, made.length, JSON.stringify({ pieces, stops }));
        }
        assert.equal(buffer.text, given);
      },
    ),
    { numRuns: 3000, seed: 1 },
  );
});

test('model.tokens gives each token with what it adds to the text, or with its text in any sentence', async () => {
  const model = await load(stories);
  const text = 'a \u{1F600} h\u00e9, b';
  const tokens = await model.tokens(text, plain);
  assert.deepEqual(
    tokens.map(({ id }) => id),
    await model.encode(text, plain),
  );
  assert.equal(tokens.map((token) => token.text).join(''), text);
  assert.deepEqual(
    tokens.slice(1, 6).map((token) => token.text),
    [' ', '', '', '', '\u{1F600}'],
    'the token that completes a character has it',
  );
  const ids = await model.encode('Once upon');
  assert.deepEqual(await model.tokens('Once upon'), await model.tokens(ids), 'the same of ids');
  const tokenizer = /** @type {Tokenizer} */ (await model.tokenizer);
  assert.deepEqual(
    await model.tokens(ids, { alone: true }),
    ids.map((id) => ({ id, text: tokenizer.idToText(id) })),
  );
  await assert.rejects(model.tokens([2048]), { code: 'bad-token', message: /2048/ });
  model.dispose();
  const wordless = await create({ vocab_size: 8, d_model: 8, n_layers: 1, n_heads: 1 });
  await assert.rejects(wordless.tokens([1]), { code: 'no-tokenizer' });
  wordless.dispose();
});
