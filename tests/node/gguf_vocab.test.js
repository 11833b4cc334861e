// gguf_vocab.test.js - a tokenizer, written as the vocabulary of a GGUF and read again
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openCheckpoint } from '../../web/lib/files/source.js';
import { Texts } from '../../web/lib/files/vocabulary/packed_texts.js';
import { ggufTokenizer } from '../../web/lib/files/vocabulary/gguf_vocab.js';
import { writeGguf } from './checkpoint_files.js';
import { vocabularyMeta } from '../../web/lib/files/gguf/write_vocab.js';
import { Tokenizer } from '../../web/lib/api/index.js';
import { tokenizers } from '../fuzz/tokenizer_seeds.js';
import { golden, stories } from './helpers.js';

describe('a tokenizer, written as the vocabulary of a GGUF and read again', () => {
  const samples = [
    'Once upon a time',
    'The dog said: hello, world! 123',
    ' two  spaces',
    'na\u00efve caf\u00e9 \u2615',
    '',
  ];
  const sources = {
    'a GGUF with pieces': () => openCheckpoint(join(golden, 'gguf_phi3/model.gguf')),
    'a GGUF with pieces and without a space before a text': () =>
      openCheckpoint(join(golden, 'gguf_gemma3/model.gguf')),
    'a GGUF with merges': () => openCheckpoint(join(golden, 'gguf_starcoder2/model.gguf')),
    'the shipped model': () => openCheckpoint(stories),
    'a byte-level tokenizer.json': async () => ({
      tokenizer: {
        ...tokenizers[0],
        normalizer: null,
        pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
      },
      special: { bos: 0, eos: [0] },
      texts: ['the the', 'abc', '<|endoftext|>'],
    }),
    'a tokenizer.json with bytes as tokens': async () => ({
      tokenizer: tokenizers[1],
      special: { bos: 1, eos: [2, 3, 4] }, // the third one was lost
      texts: ['ab a', 'b\nab', '<s>b'],
    }),
  };
  for (const [name, open] of Object.entries(sources))
    test(name, async () => {
      const { tokenizer, special, chatTemplate, texts = samples, close } = await open();
      close?.();
      const before = new Tokenizer(tokenizer);
      const meta = vocabularyMeta(tokenizer, special, before.vocabSize + 3, {
        chatTemplate: chatTemplate ?? 'a template',
      });
      const after = await Tokenizer.load(writeGguf(meta, []));
      assert.equal(after.vocabSize, before.vocabSize + 3);
      for (const s of texts) assert.deepEqual(after.encode(s), before.encode(s), JSON.stringify(s));
      const values = Object.entries(meta).map(([key, { of, value }]) => [key, of === 8 ? Texts.from(value) : value]);
      const again = await ggufTokenizer('x', new Map(values));
      assert.deepEqual([again.special.bos, again.special.eos], [special.bos, special.eos]);
      assert.ok(meta['tokenizer.chat_template'].value.length > 0);
    });

  test('what llama.cpp has no name for is refused', () => {
    const special = { bos: null, eos: [] };
    const [bpe, , unigram] = tokenizers;
    for (const [json, words] of [
      [unigram, /its normalizer is "NFKC", expected SentencePiece's table/],
      [{ ...unigram, normalizer: null, pre_tokenizer: { type: 'Whitespace' } }, /its step "Whitespace" of splitting/],
      [{ model: { type: 'WordLevel' } }, /its model is "WordLevel", expected BPE, Unigram or WordPiece/],
      [{ model: { type: 'WordPiece', vocab: {} }, normalizer: null }, /its normalizer is undefined, expected "Bert/],
      [bpe, /its normalizer is "Sequence", expected none/],
      [{ ...bpe, normalizer: null }, /its split patterns .* have no name in llama\.cpp/],
      [{ ...bpe, normalizer: null, pre_tokenizer: { type: 'Whitespace' } }, /its step "Whitespace" of splitting/],
    ])
      assert.throws(() => vocabularyMeta(json, special, 20), { code: 'unsupported', message: words });
  });
});
