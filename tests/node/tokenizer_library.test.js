// tokenizer_library.test.js - tokenizers give what Hugging Face's Rust library gives, the npm package `tokenizers`
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Tokenizer } from '../../web/lib/text/tokenizer.js';
import { hardTexts } from '../fuzz/hard_texts.js';
import { fuzzTokenizers } from '../fuzz/tokenizers.js';
import { Library } from '../fuzz/tokenizers_library.js';
import { json, noShared, shared, streamed } from './helpers.js';

test('tokenizers of random components with random options', async () => {
  const { cases, pairs, why } = await fuzzTokenizers({ seed: 1, cases: 60 });
  assert.equal(why, undefined, `case ${cases}: ${why}`);
  assert.ok(pairs > 300, `${pairs} pairs of a tokenizer and a text`);
});

test('what random tokenizers have found: a start that was stripped or replaced, and a long word of unknown bytes', async (t) => {
  const library = new Library();
  t.after(() => library.close()); // a failure too ends its process
  const bytes = Array.from({ length: 256 }, (_, i) => [`<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`, -9]);
  const json = (/** @type {object} */ parts) => ({
    ...{ version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null },
    ...{ post_processor: null, decoder: null, ...parts },
    model: { type: 'Unigram', unk_id: 0, vocab: [['<unk>', 0], ['x', -1], ['▁', -2], ...bytes], byte_fallback: true },
  });
  const strip = { type: 'Strip', strip_left: false, strip_right: true };
  const first = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true };
  const replace = (/** @type {string} */ Regex, content = 'x') => ({ type: 'Replace', pattern: { Regex }, content });
  for (const [parts, text] of [
    [{ normalizer: strip, pre_tokenizer: first }, '\nx\n'],
    // what replaces several characters comes from the last one, and what replaces none from the first one of the text
    [{ normalizer: replace('[abc]+'), pre_tokenizer: first }, 'abcx'],
    [{ normalizer: replace('[abc]'), pre_tokenizer: first }, 'abcx'],
    [{ normalizer: replace('[abc]*', 'xx'), pre_tokenizer: first }, 'xa'],
    [{ normalizer: replace('[abc]+', ''), pre_tokenizer: first }, 'abcx'],
    // marks that change places after what was put before them
    [
      {
        normalizer: { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: ' ' }, { type: 'NFD' }] },
        pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'FixedLength', length: 1 }, first] },
      },
      '\u0301\u0323',
    ],
    [{}, 'é'.repeat(100_000)],
  ]) {
    const want = await library.answers(JSON.stringify(json(parts)), text, '', []);
    assert.deepEqual(new Tokenizer(json(parts)).encode(text), want.special.value);
  }
});

// A template that puts a token after one text, and none after two, was no rule for pairs.
test('pairs of a template that puts tokens around one text only', async (t) => {
  const library = new Library();
  t.after(() => library.close());
  const sequence = (/** @type {string} */ id, type_id = 0) => ({ Sequence: { id, type_id } });
  const template = {
    type: 'TemplateProcessing',
    single: [sequence('A'), { SpecialToken: { id: 'x', type_id: 0 } }],
    pair: [sequence('A'), sequence('B', 1)],
    special_tokens: { x: { id: 'x', ids: [1], tokens: ['x'] } },
  };
  const vocab = { '?': 0, x: 1, a: 2, b: 3 };
  const source = {
    ...{ version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null, decoder: null },
    ...{ pre_tokenizer: { type: 'WhitespaceSplit' }, post_processor: template },
    model: { type: 'WordLevel', vocab, unk_token: '?' },
  };
  const { both } = await library.answers(JSON.stringify(source), 'a b', 'b', []);
  assert.deepEqual(both.value, [
    [2, 3, 3],
    [0, 0, 1],
  ]);
  assert.deepEqual(Object.values(new Tokenizer(source).encodePair('a b', 'b')), both.value);
  const without = { ...source, post_processor: { ...template, pair: [sequence('A'), sequence('A')] } };
  assert.throws(() => new Tokenizer(without).encodePair('a', 'b b'), {
    code: 'bad-tokenizer',
    message: /no rule for pairs/,
  });
});

test('tokenizers of five kinds that were trained on real texts', { skip: noShared }, async (t) => {
  const library = new Library();
  t.after(() => library.close()); // a failure too ends its process
  const texts = [...json(join(shared, 'tokenizers/strings.json')), ...hardTexts];
  for (const name of ['chrishayuk-v11', 'gpt2', 'gpt2vocab-llama3regex', 'llama-english-hyp', 'tinystories-bpe4096']) {
    const folder = join(shared, 'tokenizers', name);
    const isPatch = name === 'gpt2vocab-llama3regex';
    const source = json(join(shared, 'tokenizers', isPatch ? 'gpt2' : name, 'tokenizer.json'));
    if (isPatch) {
      const { ignore_merges: ignore, ...steps } = JSON.parse(readFileSync(join(folder, 'patch.json'), 'utf8'));
      Object.assign(source, { normalizer: steps.normalizer, pre_tokenizer: steps.pre_tokenizer });
      source.model.ignore_merges = ignore;
    }
    const tokenizer = new Tokenizer(source);
    const text = JSON.stringify(source);
    for (const s of texts) {
      const want = await library.answers(text, s, '', []);
      assert.deepEqual(tokenizer.encode(s), want.special.value, `${name}: ${JSON.stringify(s)}`);
      assert.deepEqual(tokenizer.encode(s, { addSpecialTokens: false }), want.plain.value);
      const [[ids, , decoded]] = want.decoded;
      assert.equal(tokenizer.decode(ids), decoded.value, `${name}: ${ids}`);
      if (!decoded.value.includes('\ufffd')) assert.equal(streamed(tokenizer, ids), decoded.value);
    }
  }
});
