// wordpiece.test.js - WordPiece: the vocabulary and the cutting of words
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Tokenizer, load } from '../../web/lib/api/index.js';
import { ggufWordPiece, vocabTxtJson, wordPieceJson } from '../../web/lib/files/vocabulary/wordpiece.js';
import { openCase, untilEnd } from './helpers.js';

/** 57 tokens: the special ones, letters and their continuations. */
const letters = Array.from('abcdefghijklmnopqrstuvwxyz');

const vocabulary = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', ...letters, ...letters.map((c) => `##${c}`)];

describe('WordPiece', () => {
  test('the vocabulary of a GGUF gives the ids of llama.cpp', async () => {
    const { source, about } = openCase('gguf_bert');
    const model = await untilEnd(load(source));
    for (const [text, want] of Object.entries(about.tokenize)) {
      const got = text ? await model.encode(text, { addSpecialTokens: false }) : [];
      assert.deepEqual(got, want, text);
    }
    assert.deepEqual(await model.encode('once [MASK] a time'), [
      2,
      ...about.tokenize['Once upon a time'].with(1, 4),
      3,
    ]);
    assert.equal(await model.decode([93, 109, 24, 107]), 'once upon a time');
  });

  test('vocab.txt with the settings of tokenizer_config.json', async () => {
    const tokens = [
      '[PAD]',
      '[UNK]',
      '[CLS]',
      '[SEP]',
      '[MASK]',
      'un',
      '##aff',
      '##able',
      'Un',
      'é',
      'e',
      '中',
      '文',
      ',',
      '!',
    ];
    const make = (config, end = '\n') => new Tokenizer(vocabTxtJson(tokens.join(end) + end, config, 'vocab.txt'));
    const plain = { addSpecialTokens: false };
    const lower = make(null);
    // Devlin et al. 2019 split "unaffable" into un ##aff ##able
    assert.deepEqual(lower.encode('UNaffable, é中文!'), [2, 5, 6, 7, 13, 10, 11, 12, 14, 3]);
    assert.deepEqual(lower.encode('unaffablex  un', plain), [1, 5]);
    assert.deepEqual(lower.encode('[MASK] un', plain), [4, 5]);
    assert.deepEqual(lower.encode('un'.repeat(51), plain), [1]); // more than 100 characters
    assert.equal(lower.decode([5, 6, 7, 13, 10]), 'unaffable, e');
    const cased = make({ do_lower_case: false }, '\r\n');
    assert.deepEqual(cased.encode('Unaffable é', plain), [8, 6, 7, 9]);
    const accents = make({ strip_accents: false });
    assert.deepEqual(accents.encode('É', plain), [9]);
    const whole = make({ tokenize_chinese_chars: false });
    assert.deepEqual(whole.encode('中文', plain), [1]);
    const other = make({ cls_token: { content: 'un' }, sep_token: 'e', tokenizer_class: 'MPNetTokenizer' });
    assert.deepEqual(other.encodePair('é', 'é').ids, [5, 10, 10, 10, 10, 10]);
  });

  test('malformed vocabularies are refused', () => {
    assert.throws(() => vocabTxtJson('a\na\n', null, 'vocab.txt'), /vocab\.txt: a token is there twice/);
    assert.throws(
      () => vocabTxtJson('a\nb\n', null, 'vocab.txt'),
      /vocab\.txt: the token \[CLS\] is not in the vocabulary/,
    );
    const good = wordPieceJson(vocabulary, {}, 'v');
    for (const [change, words] of [
      [{ unk_token: 'none' }, /unknown token "none"/],
      [{ unk_token: 5 }, /unk_token is 5/],
      [{ continuing_subword_prefix: 5 }, /continuing_subword_prefix is 5/],
      [{ max_input_chars_per_word: -1 }, /max_input_chars_per_word is -1/],
      [{ max_input_chars_per_word: 1.5 }, /max_input_chars_per_word/],
      [{ vocab: { a: 0, b: 0 } }, /belongs to two tokens/],
      [{ vocab: [] }, /not an object/],
      [{ vocab: {} }, /unknown token/],
    ])
      assert.throws(() => new Tokenizer({ ...good, model: { ...good.model, ...change } }), words);
    const older = { ...good, model: { ...good.model, type: undefined } };
    assert.deepEqual(new Tokenizer(older).encode('ab'), new Tokenizer(good).encode('ab'));
    const prefixless = { ...good, model: { type: 'WordPiece', vocab: good.model.vocab } };
    assert.deepEqual(new Tokenizer(prefixless).encode('ab'), new Tokenizer(good).encode('ab'));
  });

  test('any text gives ids of the vocabulary, and never fails', () => {
    const tokenizer = new Tokenizer(wordPieceJson(vocabulary, {}, 'v'));
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        const one = tokenizer.encode(a);
        assert.ok(one.every((id) => id >= 0 && id < vocabulary.length));
        assert.deepEqual([one[0], one.at(-1)], [2, 3]);
        const { ids: both, tokenTypes } = tokenizer.encodePair(a, b);
        assert.equal(both.length, tokenTypes.length);
        tokenizer.decode(both);
      }),
      { numRuns: 500 },
    );
  });

  test('GGUF tokens without the mark of a word are continuations, those in brackets are not', () => {
    const json = ggufWordPiece(
      'f',
      ['[UNK]', '[CLS]', '[SEP]', '\u2581ab', 'c', '\u2581[', '[unused1]'],
      [2, 3, 3, 1, 1, 1, 1],
      {
        unk: 0,
        cls: 1,
        sep: 2,
        pad: null,
        mask: null,
      },
    );
    assert.deepEqual(Object.keys(json.model.vocab), ['[UNK]', '[CLS]', '[SEP]', 'ab', '##c', '[', '[unused1]']);
    assert.equal(json.normalizer.lowercase, true);
    const cased = ggufWordPiece('f', ['[UNK]', '[CLS]', '[SEP]', '\u2581The'], [2, 3, 3, 1], {
      unk: 0,
      cls: 1,
      sep: 2,
      pad: null,
      mask: null,
    });
    assert.equal(cased.normalizer.lowercase, false);
  });
});
