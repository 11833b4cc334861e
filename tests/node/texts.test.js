// texts.test.js - vocabularies kept as bytes: texts and ids, duplicates, files that arrive in pieces of any size, and
// chunks whose memory is used again
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteReader } from '../../web/lib/files/bytes/chunks.js';
import { readGguf } from '../../web/lib/files/gguf/gguf.js';
import { reusedChunks } from '../../web/lib/files/bytes/open_file.js';
import { Texts, TokenTexts } from '../../web/lib/files/vocabulary/packed_texts.js';
import { f32s, texts, writeGguf } from './checkpoint_files.js';
import { refused } from './helpers.js';

/** The names that idsByText gave before: the definition of TokenTexts. */
function renamed(list) {
  const seen = new Map();
  list.forEach((text, id) => {
    if (seen.has(text)) text = `[token ${id}]`;
    while (seen.has(text)) text += ' ';
    seen.set(text, id);
  });
  return [...seen.keys()];
}

test('tokens are found by text and by id, and a second token of the same text gets another name', () => {
  const piece = fc.oneof(
    fc.constantFrom('', 'a', 'b', 'ab', '▁', '▁a', '[token 1]', '[token 3]', '[token 3] ', '\ufeff', '\ufffd', '\0'),
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.string({ unit: 'grapheme', minLength: 100, maxLength: 200 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (list) => {
      const tokens = new TokenTexts(Texts.from(list));
      const names = renamed(list);
      assert.deepEqual(tokens.toArray(), names);
      assert.equal(tokens.size, list.length);
      names.forEach((name, id) => {
        assert.equal(tokens.text(id), name);
        assert.equal(tokens.get(name), id);
      });
      for (const text of [...list, 'a', 'no such token', '\ud800']) {
        const id = names.indexOf(text);
        assert.equal(tokens.get(text), id < 0 ? undefined : id);
        assert.equal(tokens.has(text), id >= 0);
      }
      for (const id of [-1, list.length]) assert.equal(tokens.text(id), undefined);
    }),
    { numRuns: 300 },
  );
  assert.equal(new TokenTexts(Texts.from(['\ufffd'])).get('\ud800'), undefined);
});

/**
 * The tokens of a file that arrives in pieces.
 * @param {Uint8Array} file
 * @param {number} size  of a piece
 * @param {boolean} reused  whether all pieces share one buffer, which is overwritten
 */
async function tokensOf(file, size, reused) {
  const stream = new ReadableStream({
    type: 'bytes',
    start(controller) {
      for (let at = 0; at < file.length; at += size) controller.enqueue(file.slice(at, at + size));
      controller.close();
    },
  });
  const chunks = reused ? reusedChunks(stream) : stream[Symbol.asyncIterator]();
  const r = new ByteReader(chunks, { name: 'x.gguf', reused });
  const { meta } = await readGguf(r, 0);
  return { tokens: meta.get('tokenizer.ggml.tokens').toArray(), scores: [...meta.get('tokenizer.ggml.scores')] };
}

const fileOf = (list) =>
  writeGguf({ 'tokenizer.ggml.tokens': texts(list), 'tokenizer.ggml.scores': f32s(list.map((_, id) => -id)) }, []);

test('a vocabulary is the same in pieces of any size, also when their memory is used again', async () => {
  const list = ['', 'a', '▁', 'é'.repeat(64), 'x'.repeat(127), 'y'.repeat(128), '▁'.repeat(3000), '😀', 'last'];
  const file = fileOf(list);
  const expected = { tokens: list, scores: list.map((_, id) => -id) };
  for (const size of [1, 2, 3, 7, 8, 9, 64, 1000, 4096, 8192, file.length])
    for (const reused of [false, true])
      assert.deepEqual(await tokensOf(file, size, reused), expected, `pieces of ${size}, reused ${reused}`);
});

test('a token that is no UTF-8 is refused, also where the token after it would complete its last character', async () => {
  for (const [list, bytes] of [
    [['ab', 'cd'], { 1: 0xc3, 2: 0xa9 }],
    [['ab', 'cd'], { 3: 0xff }],
    [['x'.repeat(127), 'ab', 'cd'], { 126: 0xc3, 127: 0xa9 }],
    [['x'.repeat(200), 'ab'], { 199: 0xe2 }],
    [['ab', 'x'.repeat(200)], { 1: 0xe2 }],
    [['ab', 'x'.repeat(0xa982)], { 1: 0xe2 }],
  ]) {
    const file = fileOf(list);
    const starts = [];
    let at = Buffer.from(file).indexOf('tokenizer.ggml.tokens') + 'tokenizer.ggml.tokens'.length + 4 + 4 + 8;
    for (const text of list) {
      for (let i = 0; i < text.length; i++) starts.push(at + 8 + i);
      at += 8 + text.length;
    }
    for (const [i, byte] of Object.entries(bytes)) file[starts[i]] = byte;
    for (const size of [5, file.length])
      await refused(tokensOf(file, size, false), 'bad-header', /"tokenizer\.ggml\.tokens" is not UTF-8$/);
  }
});
