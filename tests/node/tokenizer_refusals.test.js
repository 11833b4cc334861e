// tokenizer_refusals.test.js - malformed vocabularies are refused, and the message names the part
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bool, f32s, i32s, text, texts, u32, writeGguf } from './checkpoint_files.js';
import { Tokenizer } from '../../web/lib/text/tokenizer.js';
import { json, noShared, refused, shared, top } from './helpers.js';

const data = join(top, 'tests/golden/formats');

const templateOf = (single) => ({ type: 'TemplateProcessing', single, pair: [], special_tokens: {} });

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
    [bpe({ merges: ['a b'], continuing_subword_prefix: '##' }), /the token "a", which|the token/],
    [bpe({ dropout: 0.1 }), /dropout is 0\.1/],
    [bpe({ fuse_unk: 1 }), /the model BPE: fuse_unk is 1, expected true or false/],
    [bpe({ vocab: { a: -1 } }), /id -1/],
    [bpe({ vocab: { a: 0.5 } }), /0\.5/],
    [bpe({ vocab: { a: 0, b: 0 } }), /two tokens/],
    [bpe({ vocab: { a: 1e9 } }), /1000000000/],
    [bpe({ vocab: {} }), /empty/],
    [bpe({ vocab: ['a'] }), /not an object/],
    [{ model: { type: 'WordPiece', vocab: { a: 0 } } }, /unknown token "\[UNK\]"/],
    [{ model: { type: 'WordLevel', vocab: ['a'] } }, /not an object/],
    [{ model: { type: 'Wordy', vocab: { a: 0 } } }, /"Wordy" is not supported, expected one of BPE, Unigram/],
    [{ model: { type: 'Unigram', vocab: [['a']] } }, /scores/],
    [
      bpe({}, { pre_tokenizer: { type: 'Split', pattern: { Regex: '((((' }, behavior: 'Isolated' } }),
      /regular expression/i,
    ],
    [
      bpe({}, { pre_tokenizer: { type: 'Split', pattern: { String: 'b' }, behavior: 5 } }),
      /behavior is 5, expected Iso/,
    ],
    [bpe({}, { pre_tokenizer: { type: 'Split', pattern: 'b', behavior: 'Removed' } }), /pattern is "b"/],
    [bpe({}, { pre_tokenizer: { type: 'Split', pattern: { Regex: '(a)\\1' }, behavior: 'Removed' } }), /\\1 is not/],
    [bpe({}, { pre_tokenizer: { type: 'UnicodeScripts' } }), /"UnicodeScripts" is not supported, expected one of Bert/],
    [bpe({}, { pre_tokenizer: { type: 'FixedLength', length: 0 } }), /length is 0, expected a whole number from 1/],
    [bpe({}, { pre_tokenizer: { type: 'Sequence', pretokenizers: [null] } }), /Sequence: one is null/],
    [
      bpe({}, { pre_tokenizer: { type: 'Metaspace', add_prefix_space: false, prepend_scheme: 'first' } }),
      /add_prefix_space is false, and prepend_scheme is "first"/,
    ],
    [bpe({}, { normalizer: { type: 'Replace', pattern: { String: 'b' } } }), /content is undefined, expected a text/],
    [bpe({}, { normalizer: { type: 'Precompiled', precompiled_charsmap: '?' } }), /is not base64/],
    [bpe({}, { normalizer: { type: 'Precompiled', precompiled_charsmap: 'AAAA' } }), /has 3 bytes/],
    [
      bpe({}, { decoder: { type: 'Strip', content: 'ab', start: 1, stop: 0 } }),
      /content is "ab", expected one character/,
    ],
    [bpe({}, { post_processor: { type: 'BertProcessing', sep: ['x'], cls: ['y', 1] } }), /sep is \["x"\], expected/],
    [bpe({}, { post_processor: templateOf([{ Sequence: { id: 'B', type_id: 0 } }]) }), /of one text has a second one/],
    [
      bpe({}, { post_processor: templateOf([{ SpecialToken: { id: 'z', type_id: 0 } }]) }),
      /token "z" .* no list of ids/,
    ],
    [bpe({}, { added_tokens: [{ id: 3, content: 'x', lstrip: 1 }] }), /"x" has lstrip 1, expected true or false/],
    [
      bpe({}, { normalizer: { type: 'Lowercase' }, added_tokens: ['x', 'X'].map((content, id) => ({ id, content })) }),
      /"x" and "X" are the same when they are normalised/,
    ],
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
