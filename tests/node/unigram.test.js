// unigram.test.js - SentencePiece models of the kind Unigram, of T5 and Marian
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { marianTokenizer, readPieces, t5Tokenizer } from '../../web/lib/files/vocabulary/sentencepiece.js';
import { Tokenizer, load } from '../../web/lib/api/index.js';
import { collect, golden, json, openCase, refused, untilEnd } from './helpers.js';

/** A tokenizer.json like T5's: Unigram, a mark before words, </s> after every text. */
const unigram = json(join(golden, '../formats/unigram.json'));

test('a Unigram vocabulary: </s> ends the source, and not the target', async () => {
  const c = openCase('t5');
  const model = await untilEnd(
    load({ weights: join(c.folder, 'model.safetensors'), config: c.config, tokenizer: unigram }, { dtype: 'f32' }),
  );
  assert.deepEqual(await model.encode('a red ball'), [4, 6, 5, 1]);
  assert.deepEqual(await model.encode('balls', { addSpecialTokens: false }), [5, 10]);
  const options = { temperature: 0, maxTokens: 3, ignoreEos: true };
  const byText = await collect(model.generate('', { ...options, source: 'a red ball' }));
  const byIds = await collect(model.generate([0], { ...options, source: [4, 6, 5, 1] }));
  assert.deepEqual(byText.ids, byIds.ids);
  const continued = await collect(model.generate('a red', { ...options, source: 'balls' }));
  assert.deepEqual(continued.ids, (await collect(model.generate([0, 4, 6], { ...options, source: [5, 10, 1] }))).ids);
  assert.equal(continued.steps[0].position, 3);
  const { logits } = await model.forward('a red', { source: 'balls' });
  assert.equal(logits.shape[0], 3);
});

describe('SentencePiece models', () => {
  const pieces = join(golden, '../formats/sentencepiece');
  const read = (name) => new Uint8Array(readFileSync(join(pieces, name)));
  const want = json(join(pieces, 'ids.json'));
  const vocab = json(join(pieces, 'vocab.json'));

  test('a T5 vocabulary gives the ids of SentencePiece, and its last tokens fill gaps', () => {
    const tokenizer = new Tokenizer(t5Tokenizer(read('spiece.model'), 'spiece.model', 3));
    for (const [i, text] of want.texts.entries()) {
      assert.deepEqual(tokenizer.encode(text, { addSpecialTokens: false }), want.t5[i], text);
      assert.deepEqual(tokenizer.encode(text), [...want.t5[i], 1], text);
    }
    assert.deepEqual(tokenizer.encode('a <extra_id_0> ball', { addSpecialTokens: false }), [4, 20, 5]);
    assert.equal(tokenizer.vocabSize, 21);
    assert.equal(tokenizer.decode(want.t5[0]), 'a red ball');
    const stream = tokenizer.stream([0]);
    assert.equal(want.t5[0].map((id) => stream.push(id)).join('') + stream.end(), 'a red ball');
  });

  test('a Marian vocabulary cuts as source.spm does and has the ids of vocab.json', () => {
    const tokenizer = new Tokenizer(marianTokenizer(read('source.spm'), vocab, 'opus'));
    for (const [i, text] of want.texts.entries())
      assert.deepEqual(tokenizer.encode(text), [...want.marian[i], 0], text);
    const ids = want.marian[want.texts.indexOf('a red ball')];
    assert.deepEqual(tokenizer.encode('>>fra<< a red ball'), [vocab['>>fra<<'], ...ids, 0]);
    assert.equal(tokenizer.decode([vocab['▁Ball'], ...ids]), 'Ball a red ball');
    // a token that source.spm lacks is the last resort, although its score alone would win
    const foreign = new Tokenizer(marianTokenizer(read('source.spm'), { ...vocab, '▁balls': 21 }, 'opus'));
    assert.deepEqual(foreign.encode('balls'), [...want.marian[want.texts.indexOf('balls')], 0]);
  });

  test('a folder without a tokenizer.json is read with them, or says what is missing', async () => {
    const c = openCase('marian');
    const files = (...more) =>
      [
        ['config.json', JSON.stringify(c.config)],
        ['model.safetensors', readFileSync(join(c.folder, 'model.safetensors'))],
        ...more,
      ].map(([name, content]) => new File([content], name));
    const options = { dtype: 'f32' };
    const model = await load(files(['source.spm', read('source.spm')], ['vocab.json', JSON.stringify(vocab)]), options);
    assert.deepEqual(await model.encode('balls'), [...want.marian[want.texts.indexOf('balls')], 0]);
    assert.deepEqual(model.warnings, []);
    model.dispose();
    for (const more of [[], [['source.spm', read('source.spm')]]]) {
      const without = await load(files(...more), options);
      assert.match(
        without.warnings.join(),
        /no tokenizer\.json and no source\.spm with a vocab\.json: .* pass a tokenizer\.json/,
      );
      await refused(without.encode('balls'), 'no-tokenizer');
      without.dispose();
    }
    const t5Folder = openCase('t5');
    const small = await untilEnd(
      load(
        [
          new File([JSON.stringify(t5Folder.config)], 'config.json'),
          new File([readFileSync(join(t5Folder.folder, 'model.safetensors'))], 'model.safetensors'),
          new File([read('spiece.model')], 'spiece.model'),
          new File(['{"extra_ids": 5}'], 'tokenizer_config.json'),
        ],
        options,
      ),
    );
    assert.equal((await small.tokenizer)?.vocabSize, 23);
  });

  test('malformed files are refused', () => {
    const whole = read('spiece.model');
    for (let n = 0; n < whole.length; n++)
      try {
        readPieces(whole.subarray(0, n), 'x.model'); // cut between two messages it is whole, and shorter
      } catch (e) {
        assert.equal(e.code, 'bad-tokenizer', e.stack);
      }
    const refuse = (call, words, code = 'bad-tokenizer') =>
      assert.throws(call, (e) => e.code === code && words.test(e.message));
    refuse(() => readPieces(new Uint8Array(0), 'x'), /no tokens/);
    refuse(() => readPieces(Uint8Array.of(0x0b), 'x'), /type 3/);
    refuse(() => readPieces(new Uint8Array(12).fill(0xff), 'x'), /ten bytes/);
    refuse(() => readPieces(Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f), 'x'), /4294967295 bytes, 0 are left/);
    refuse(() => readPieces(Uint8Array.of(0x0a, 2, 0x0a, 9), 'x'), /9 bytes, 0 are left/);
    refuse(() => readPieces(Uint8Array.of(0x0a, 3, 0x0a, 1, 0xc3), 'x'), /not a SentencePiece model/);
    refuse(() => readPieces(Uint8Array.of(0x0a, 5, 0x15, 0, 0, 0xc0, 0x7f), 'x'), /score NaN/);
    refuse(() => readPieces(Uint8Array.of(0x0a, 2, 0x10, 1), 'x'), /of type 0/);
    refuse(() => readPieces(Uint8Array.of(0x0a, 3, 0x0a, 1, 0x61, 0x12, 2, 0x18, 5), 'x'), /kind 5/, 'unsupported');
    refuse(() => t5Tokenizer(Uint8Array.of(0x0a, 3, 0x0a, 1, 0x61), 'x', 0), /no token <\/s>/);
    for (const extra of [-1, 1.5, '3', 1e9]) refuse(() => t5Tokenizer(whole, 'x', extra), /extra_ids/);
    for (const [broken, words] of [
      [null, /an object/],
      [[], /an object/],
      [{ a: 'b' }, /id "b"/],
      [{ a: 2 ** 40 }, /1099511627776/],
      [{ a: 0, b: 0 }, /two tokens/],
      [{ a: 0, b: 2 }, /no token has the id 1/],
      [{ a: 0 }, /no token <\/s>/],
    ])
      refuse(() => marianTokenizer(read('source.spm'), broken, 'opus'), words);
  });
});
