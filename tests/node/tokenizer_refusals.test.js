// tokenizer_refusals.test.js - malformed vocabularies are refused, and the message names the part
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bool, f32s, i32s, text, texts, u32, writeGguf } from './checkpoint_files.js';
import { Tokenizer } from '../../web/lib/text/tokenizer.js';
import { json, noShared, refused, shared, top } from './helpers.js';

const data = join(top, 'tests/golden/formats');

test('malformed tokenizers are refused, and the message names the part', async () => {
  const bpe = (model, more = {}) => ({
    model: { type: 'BPE', vocab: { a: 0, b: 1, ab: 2 }, merges: [], ...model },
    ...more,
  });
  const cases = [
    [{ version: '1.0' }, /no model/],
    [bpe({ merges: ['a c'] }), /"c"/],
    [bpe({ merges: ['b a'] }), /"ba"/],
    [bpe({ merges: ['a b c'] }), /two tokens/],
    [bpe({ merges: [['a', 'b', 'c']] }), /two tokens/],
    [bpe({ merges: 'ab' }), /merges/],
    // the tokenizer package skips the prefix, and found no token for the end of a word: "ab" was "a"
    [bpe({ continuing_subword_prefix: '##' }), /continuing_subword_prefix is "##"/],
    [bpe({ vocab: { a: -1 } }), /id -1/],
    [bpe({ vocab: { a: 0.5 } }), /0\.5/],
    [bpe({ vocab: { a: 0, b: 0 } }), /two tokens/],
    [bpe({ vocab: { a: 1e9 } }), /1000000000/],
    [bpe({ vocab: {} }), /empty/],
    [bpe({ vocab: ['a'] }), /not an object/],
    [{ model: { type: 'WordPiece', vocab: { a: 0 } } }, /unknown token "\[UNK\]"/],
    [{ model: { type: 'WordLevel', vocab: { a: 0 } } }, /WordLevel/],
    [{ model: { type: 'Unigram', vocab: [['a']] } }, /scores/],
    [
      bpe({}, { pre_tokenizer: { type: 'Split', pattern: { Regex: '((((' }, behavior: 'Isolated' } }),
      /regular expression/i,
    ],
    // the tokenizer package accepted this and then threw a TypeError
    [bpe({}, { pre_tokenizer: { type: 'Split', pattern: { String: 'b' }, behavior: 5 } }), /cannot encode/],
    [bpe({}, { decoder: { type: 'Guess' } }), /Guess/],
    [bpe({}, { added_tokens: [{ id: 3 }] }), /no content/],
    [bpe({}, { added_tokens: 5 }), /added_tokens/],
  ];
  for (const [object, message] of cases) {
    await refused(Tokenizer.load(object), ['bad-tokenizer', 'unsupported'], message);
  }
  const fine = await Tokenizer.load(bpe({ merges: ['a b'] }));
  assert.deepEqual(fine.encode('abb'), [2, 1]);
  for (const input of [null, 5, []]) await assert.rejects(Tokenizer.load(input), { code: 'bad-argument' });
});

test('a truncated or corrupt vocabulary file is refused', async () => {
  const bin = readFileSync(join(data, 'tok512.bin'));
  for (let n = 0; n < bin.length; n += 1 + Math.floor(n / 40)) {
    const whole =
      n > 4 &&
      (() => {
        let at = 4;
        while (at < n) at += 8 + bin.readInt32LE(at + 4);
        return at === n;
      })();
    if (!whole)
      await assert.rejects(
        Tokenizer.load(bin.subarray(0, n)),
        (e) => ['bad-tokenizer', 'truncated'].includes(e.code),
        `${n} bytes`,
      );
  }
  const meta = {
    'tokenizer.ggml.model': text('gpt2'),
    'tokenizer.ggml.tokens': texts(['a', 'b', 'ab']),
    'tokenizer.ggml.merges': texts(['a b']),
  };
  assert.deepEqual((await Tokenizer.load(writeGguf(meta, []))).encode('ab'), [2]);
  for (const [key, value, code] of [
    ['tokenizer.ggml.model', text('rwkv'), 'unsupported'],
    ['tokenizer.ggml.model', text('bert'), 'bad-tokenizer'],
    ['tokenizer.ggml.model', text('llama'), 'bad-tokenizer'],
    ['tokenizer.ggml.token_type', i32s([1]), 'bad-tokenizer'],
    ['tokenizer.ggml.bos_token_id', u32(3), 'bad-tokenizer'],
    ['tokenizer.ggml.merges', texts(['ab']), 'bad-tokenizer'],
    ['tokenizer.ggml.tokens', i32s([1]), 'bad-tokenizer'],
  ]) {
    await assert.rejects(Tokenizer.load(writeGguf({ ...meta, [key]: value }, [])), { code }, key);
  }
  const loose = await Tokenizer.load(writeGguf({ ...meta, 'tokenizer.ggml.merges': texts(['a b', 'b x', 'a a']) }, []));
  assert.deepEqual(loose.encode('abb'), [2, 1], 'merges that lead to no token are left out');
  const begins = await Tokenizer.load(
    writeGguf({ ...meta, 'tokenizer.ggml.bos_token_id': u32(1), 'tokenizer.ggml.add_bos_token': bool(true) }, []),
  );
  assert.deepEqual(begins.encode('ab'), [1, 2]);
});

// Pairs are ranked by score; with a NaN among them there is no order.
test('scores that are not finite, or not as many as the tokens, are refused by key and place', async () => {
  const load = (scores) =>
    Tokenizer.load(
      writeGguf(
        {
          'tokenizer.ggml.model': text('llama'),
          'tokenizer.ggml.tokens': texts(['<unk>', '<s>', '</s>', 'a', 'b', 'ab']),
          ...(scores && { 'tokenizer.ggml.scores': scores }),
        },
        [],
      ),
    );
  await refused(
    load(f32s([0, 0, 0, -1, NaN, -2])),
    'bad-tokenizer',
    /tokenizer\.ggml\.scores has no number at place 4$/,
  );
  await refused(load(f32s([NaN, NaN, NaN, NaN, NaN, NaN])), 'bad-tokenizer', /at place 0/);
  await refused(
    load(texts(['0', '0', '0', '0', '0', 'high'])),
    'bad-tokenizer',
    /tokenizer\.ggml\.scores has no number at place 5$/,
  );
  await refused(load(f32s([0, 0, 0, -1, -2])), 'bad-tokenizer', /tokenizer\.ggml\.scores has 5 entries for 6 tokens/);
  await refused(
    load(f32s([0, 0, 0, -1, -2, -3, -4])),
    'bad-tokenizer',
    /tokenizer\.ggml\.scores has 7 entries for 6 tokens/,
  );
  await refused(load(null), 'bad-tokenizer', /tokenizer\.ggml\.scores has 0 entries for 6 tokens/);
});

test('malformed tokenizer.json files are accepted or refused as expected', { skip: noShared }, async () => {
  const folder = join(shared, 'cases/adversarial');
  let n = 0;
  for (const { file, expect } of json(join(folder, 'index.json'))) {
    if (!file.startsWith('tok_')) continue;
    const verdict = await Tokenizer.load(join(folder, file)).then(
      () => 'load',
      (e) => {
        assert.equal(e.name, 'GlassformerError', file);
        return 'error';
      },
    );
    assert.ok(expect.split('-or-').includes(verdict), `${file}: ${verdict}, expected ${expect}`);
    n++;
  }
  assert.ok(n > 3);
});
