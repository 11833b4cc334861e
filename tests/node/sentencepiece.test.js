// sentencepiece.test.js - models of SentencePiece give its ids, whatever their kind and their rules of normalisation
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { brotliDecompressSync } from 'node:zlib';
import { sentencePieceTokenizer } from '../../web/lib/files/vocabulary/sentencepiece.js';
import { tokenizerOf } from '../../web/lib/text/model_tokenizer.js';
import { Tokenizer } from '../../web/lib/text/tokenizer.js';
import { golden, streamed } from './helpers.js';

const file = readFileSync(join(golden, '../formats/sentencepiece/models.json.br'));
const { texts, tables, models } = JSON.parse(brotliDecompressSync(file).toString());
const plain = { addSpecialTokens: false };

/** A field of protocol buffers with bytes. */
function field(number, bytes) {
  const size = [];
  for (let n = bytes.length; ; n >>>= 7) {
    size.push((n & 127) | (n > 127 ? 128 : 0));
    if (n < 128) break;
  }
  return Buffer.concat([Buffer.of(number * 8 + 2), Buffer.from(size), bytes]);
}

/** The bytes of a model, its table of characters after it. */
function bytesOf({ bytes, table }) {
  const characters = Buffer.from(tables[table], 'base64');
  return new Uint8Array(Buffer.concat([Buffer.from(bytes, 'base64'), field(3, field(2, characters))]));
}

describe('the ids of sentencepiece 0.1.97', () => {
  assert.ok(models.length === 15 && texts.length > 150);
  for (const model of models)
    test(model.name, () => {
      const json = sentencePieceTokenizer(bytesOf(model), 'x.model');
      const tokenizer = new Tokenizer(json);
      const other = tokenizerOf(tokenizer.toText()); // as it is posted to another thread
      for (const [i, text] of texts.entries()) {
        const ids = tokenizer.encode(text, plain);
        assert.deepEqual(ids, model.ids[i], JSON.stringify(text));
        assert.deepEqual(other.encode(text, plain), ids);
        assert.equal(streamed(tokenizer, ids), tokenizer.decode(ids), JSON.stringify(text));
      }
    });
});

test('the tokens that begin and end a text, and the names of special tokens in it', () => {
  const bytes = bytesOf(models.find(({ name }) => name === 'bpe identity with bytes, all spaces'));
  const both = new Tokenizer(sentencePieceTokenizer(bytes, 'x.model', { addBos: true, addEos: true }));
  const ids = both.encode('a b', plain);
  assert.deepEqual(both.encode('a b'), [1, ...ids, 2]);
  assert.deepEqual(both.encode('<s>a b</s><unk>', plain), [1, ...ids, 2, 0]);
  assert.deepEqual([...both.special], [0, 1, 2]);
  const table = field(3, field(2, Buffer.of(1, 2, 3)));
  assert.throws(() => new Tokenizer(sentencePieceTokenizer(Buffer.concat([bytes, table]), 'x.model')), {
    code: 'bad-tokenizer',
    message: /precompiled_charsmap has 3 bytes/,
  });
});
