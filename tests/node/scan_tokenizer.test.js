// scan_tokenizer.test.js - a large tokenizer.json gives the value of JSON.parse, or its error
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseJson } from '../../web/lib/files/bytes/read_json.js';
import { scanTokenizer } from '../../web/lib/files/vocabulary/scan_tokenizer.js';
import { Tokenizer } from '../../web/lib/text/tokenizer.js';
import { hardTexts } from '../fuzz/hard_texts.js';
import { Random, mutateBytes } from '../fuzz/mutate.js';
import { randomTokenizer } from '../fuzz/random_tokenizers.js';
import { temporaryFolder } from '../temporary.js';

const utf8 = (text) => new TextEncoder().encode(text);
/** What a call gives: its value as JSON with merges as pairs, or its message. */
function outcome(read, bytes) {
  try {
    const json = JSON.parse(JSON.stringify(read(bytes, 'tokenizer.json')));
    if (Array.isArray(json?.model?.merges))
      json.model.merges = json.model.merges.map((m) => (typeof m === 'string' ? m.split(' ') : m));
    return { json };
  } catch (error) {
    return { error: error.message };
  }
}
const same = (bytes) => assert.deepEqual(outcome(scanTokenizer, bytes), outcome(parseJson, bytes));
const isScanned = (json) => !Array.isArray(json.model.merges);

const usual = {
  version: '1.0',
  added_tokens: [{ id: 0, content: '<s>', special: true }],
  pre_tokenizer: { type: 'Split', pattern: { String: ' "model": {' }, behavior: 'Isolated', invert: false },
  model: {
    type: 'BPE',
    unk_token: null,
    vocab: { '<s>': 0, a: 1, b: 2, ab: 5, '"\\\n\u0001é😁': 4, __proto__x: 6, aba: 7, '': 8 },
    merges: [
      ['a', 'b'],
      ['ab', 'a'],
    ],
  },
};

test('usual files are read without JSON.parse of their vocabulary', () => {
  const texts = [
    JSON.stringify(usual),
    JSON.stringify(usual, null, 2),
    JSON.stringify(usual, null, '\t').replaceAll('\n', '\r\n'),
    JSON.stringify({ ...usual, model: { ...usual.model, merges: ['a b', 'ab a'] } }),
    JSON.stringify({ model: { merges: usual.model.merges, vocab: usual.model.vocab, type: 'BPE' } }),
    JSON.stringify({ model: { merges: usual.model.merges, vocab: usual.model.vocab } }), // GPT-2's file has no type
    JSON.stringify(usual).replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    JSON.stringify(usual).replace('"a":1', '"\\u0061":1'),
    `${JSON.stringify(usual).replace('"version"', '"x":NaN,"version"')}\n`,
  ];
  for (const text of texts) {
    assert.ok(isScanned(scanTokenizer(utf8(text), 'tokenizer.json')), text);
    same(utf8(text));
  }
});

test('what is unusual has the value or the error of JSON.parse', () => {
  const text = JSON.stringify(usual);
  for (const [from, to] of [
    ['"a":1', '"a":1,"a":3'],
    ['"a":1', '"a":1.0'],
    ['"a":1', '"a":01'],
    ['"a":1', '"a":-1'],
    ['"a":1', '"a":1e0'],
    ['"a":1', '"a":2'],
    ['"a":1', '"a":5000000'],
    ['"a":1', '"a":"1"'],
    ['"a":1', '"a" 1'],
    ['"a":1', '"a":1;'],
    ['"a":1', '"\\ud83d":1'],
    ['"a":1', '"\\ud83d\\u0041":1'],
    ['"a":1', '"\\x":1'],
    ['"a":1', '"\\u00g1":1'],
    ['"a":1', '"a\n":1'],
    ['[["a","b"],["ab","a"]]', '[]'],
    ['[["a","b"],["ab","a"]]', 'null'],
    ['["a","b"]', '["a","c"]'],
    ['["a","b"]', '["a","b","a"]'],
    ['["a","b"]', '["b","a"]'],
    ['["a","b"]', '["a"]'],
    ['["a","b"]', '"a b a"'],
    ['["a","b"]', '"ab"'],
    ['["a","b"]', '7'],
    ['["ab","a"]]', '["ab","a"]] "x"'],
    ['"BPE"', '"Unigram"'],
    ['"type":"BPE"', '"continuing_subword_prefix":"a","type":"BPE"'],
    ['"type":"BPE"', '"vocab":{"x":0},"type":"BPE"'],
    ['"version"', '"model":{},"version"'],
    ['{"version"', '\ufeff{"version"'],
    ['"vocab"', '"vocab":{},"vocabulary"'],
  ]) {
    const changed = text.replace(from, () => to);
    assert.notEqual(changed, text);
    same(utf8(changed));
  }
  for (const other of [
    '',
    '{',
    '[]',
    'null',
    '{"model":null}',
    '{"model":{"vocab":{}}}',
    text.slice(0, -1),
    `${text}x`,
  ])
    same(utf8(other));
  const bytes = utf8(text.replace('"a":1', '"\u00ff":1'));
  bytes[bytes.indexOf(0xc3)] = 0x80;
  same(bytes);
});

test('files with random changes have the value or the error of JSON.parse', () => {
  const bytes = utf8(JSON.stringify(usual));
  let scanned = 0;
  for (let n = 0; n < 3000; n++) {
    const changed = mutateBytes(new Random(52, n), bytes, bytes);
    same(changed);
    try {
      scanned += Number(isScanned(scanTokenizer(changed, '')));
    } catch {}
  }
  assert.ok(scanned > 20, `${scanned} of 3000 were scanned`);
});

describe('a tokenizer of a scanned file', () => {
  test('gives the ids and texts of the parsed one', () => {
    let scanned = 0;
    for (let n = 0; n < 60; n++) {
      const json = randomTokenizer(new Random(7, n));
      const read = scanTokenizer(utf8(JSON.stringify(json)), '');
      if (json.model.type !== 'BPE') continue;
      scanned += Number(isScanned(read));
      const made = [json, read].map((one) => {
        try {
          return new Tokenizer(one);
        } catch (error) {
          return error.message;
        }
      });
      if (typeof made[0] === 'string') assert.equal(made[1], made[0]);
      else
        for (const text of hardTexts.slice(0, 40)) {
          const [ids, own] = made.map((one) => one.encode(text));
          assert.deepEqual(own, ids);
          assert.equal(made[1].decode(own), made[0].decode(ids));
        }
    }
    assert.ok(scanned > 10, `${scanned} were scanned`);
  });

  test('is loaded from a file of more than a megabyte, and saved again', async () => {
    const vocab = Object.fromEntries(Array.from({ length: 90_000 }, (_, id) => [`token ${id}`, id]));
    const { model, ...rest } = usual;
    const json = { ...rest, model: { ...model, vocab: { ...vocab, a: 90_000, b: 90_001, ab: 90_002, aba: 90_003 } } };
    const file = join(temporaryFolder('scan'), 'tokenizer.json');
    await writeFile(file, JSON.stringify(json));
    const tokenizer = await Tokenizer.load(file);
    assert.deepEqual(tokenizer.encode('aba', { addSpecialTokens: false }), [90_003]);
    assert.equal(tokenizer.vocabSize, 90_005);
    assert.deepEqual(JSON.parse(tokenizer.toText()).model, json.model);
  });
});
