// packed_tokenizer.test.js - the packed form of a large tokenizer.json in the cache gives the same ids, or is made again
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { readTokenizer, unpackTokenizer } from '../../web/lib/files/vocabulary/packed_tokenizer.js';
import { load, modelCache } from '../../web/lib/api/index.js';
import { Tokenizer } from '../../web/lib/text/tokenizer.js';
import { hardTexts } from '../fuzz/hard_texts.js';
import { Random } from '../fuzz/mutate.js';
import { randomTokenizer } from '../fuzz/random_tokenizers.js';
import { temporaryFolder } from '../temporary.js';
import { serveCut } from './cut_server.js';
import { golden } from './helpers.js';

const utf8 = (value) => new TextEncoder().encode(JSON.stringify(value));
/** What reading a file gives, and its packed form. */
function packed(bytes) {
  let form = null;
  const json = readTokenizer(bytes, 'tokenizer.json', (made) => (form = made));
  return { json, form };
}
const vocab = { '<s>': 0, a: 1, b: 2, ab: 5, é: 4, aba: 7, abab: 9 };
const merges = [
  ['a', 'b'],
  ['ab', 'a'],
  ['ab', 'ab'],
];
const small = { added_tokens: [{ id: 0, content: '<s>', special: true }], model: { type: 'BPE', vocab, merges } };

describe('the packed form', () => {
  test('opens as the tokenizer that was packed', () => {
    let compared = 0;
    for (let n = 0; n < 60; n++) {
      const json = randomTokenizer(new Random(7, n));
      const { json: read, form } = packed(utf8(json));
      assert.equal(form !== null, !Array.isArray(read.model.merges) && json.model.type === 'BPE');
      if (!form) continue;
      const opened = unpackTokenizer(form, 'tokenizer.json');
      assert.deepEqual(JSON.parse(JSON.stringify(opened)), JSON.parse(JSON.stringify(read)));
      let tokenizer;
      try {
        tokenizer = new Tokenizer(read);
      } catch (error) {
        assert.throws(() => new Tokenizer(opened), { message: error.message });
        continue;
      }
      const again = new Tokenizer(opened);
      compared++;
      for (const text of hardTexts.slice(0, 40)) {
        const ids = tokenizer.encode(text);
        assert.deepEqual(again.encode(text), ids);
        assert.equal(again.decode(ids), tokenizer.decode(ids));
      }
    }
    assert.ok(compared > 5, `${compared} were compared`);
  });

  test('is not opened where anything differs from what is packed', () => {
    const { form } = packed(utf8(small));
    const count = form.length / 4;
    const changed = (index, value) => {
      const copy = form.slice();
      new Uint32Array(copy.buffer, 0, Math.floor(count))[index] = value;
      return copy;
    };
    const isOpened = (bytes) => unpackTokenizer(bytes, 'tokenizer.json') !== null;
    assert.ok(isOpened(form));
    const [, tokens, n] = new Uint32Array(form.buffer, 0, 5);
    assert.deepEqual([tokens, n], [10, 3]);
    for (let i = 0; i < 5; i++) assert.ok(!isOpened(changed(i, 77)), `number ${i} of the head`);
    assert.ok(!isOpened(changed(5, 2 ** 31)), 'a start');
    assert.ok(!isOpened(changed(5 + tokens, 2 ** 31)), 'an end');
    for (const list of [0, 1, 2])
      for (const id of [tokens, 2 ** 32 - 1])
        assert.ok(!isOpened(changed(5 + 2 * tokens + list * n, id)), `list ${list} of the merges`);
    for (const length of [0, 3, 19, 20, form.length - 1]) assert.ok(!isOpened(form.slice(0, length)));
    assert.ok(!isOpened(new Uint8Array([...form, 0])));
  });
});

describe('a folder in the cache', () => {
  let server, cacheDir;
  const folder = temporaryFolder('packed');
  let n = 0;
  const served = (note) => ({ bytes: utf8({ ...small, note: note.repeat(5 << 20) }) }); // more than one piece
  const files = {};
  beforeEach(async () => {
    for (const name of ['config.json', 'model.safetensors'])
      files[`/m/${name}`] = { bytes: readFileSync(join(golden, 'llama_1tok', name)) };
    files['/m/tokenizer.json'] = served('x');
    server = await serveCut(files);
    cacheDir = join(folder, String(n++));
  });
  afterEach(() => server.close());

  const ids = async () => {
    const model = await load(`${server.url}m/`, { cache: 'file', cacheDir });
    try {
      return (await model.encode('ababa<s>éb')).join();
    } finally {
      model.dispose();
    }
  };
  const want = new Tokenizer(small).encode('ababa<s>éb').join();
  const named = (pattern) => (existsSync(cacheDir) ? readdirSync(cacheDir) : []).filter((name) => pattern.test(name));
  const path = (name) => join(cacheDir, name);
  const record = (kind) => JSON.parse(readFileSync(path(named(new RegExp(`tokenizer\\.json\\.${kind}$`))[0])));
  const damage = (piece) => {
    const [file] = named(new RegExp(`\\.${piece}$`));
    const bytes = readFileSync(path(file));
    bytes[bytes.length >> 1] ^= 1;
    writeFileSync(path(file), bytes);
  };

  test('has a packed tokenizer, from which the next load opens', async () => {
    assert.equal(await ids(), want);
    assert.equal(record('packed').pieces.length, 2);
    for (const piece of record('complete').pieces) damage(piece); // no bytes of the file itself are read
    server.close();
    assert.equal(await ids(), want);
  });

  test('makes the packed tokenizer again when it is damaged, or is of another file or layout', async () => {
    await ids();
    const first = record('packed');
    const cases = [
      () => damage(first.pieces[0]),
      () => damage(first.pieces[1]),
      () => writeFileSync(path(named(/\.packed$/)[0]), JSON.stringify({ ...first, of: ['0-1-a'] })),
      () => writeFileSync(path(named(/\.packed$/)[0]), 'no record'),
    ];
    server.asked.length = 0;
    for (const change of cases) {
      change();
      assert.equal(await ids(), want);
      assert.deepEqual(record('packed'), first);
      assert.equal(await ids(), want);
    }
    assert.equal(
      server.asked.filter(({ path: at }) => at === '/m/tokenizer.json').length,
      0,
      'the file itself is whole',
    );
  });

  test('has no packed tokenizer of an earlier file', async () => {
    await ids();
    const first = record('packed');
    const cache = await modelCache({ cacheDir });
    const { bytes } = (await cache.list()).find(({ url }) => url.endsWith('tokenizer.json'));
    const [size, form] = [
      files['/m/tokenizer.json'].bytes.length,
      packed(files['/m/tokenizer.json'].bytes).form.length,
    ];
    assert.equal(bytes, size + form);
    assert.equal(await cache.delete(`${server.url}m/tokenizer.json`), 1);
    assert.deepEqual(named(/tokenizer\.json/), []);
    files['/m/tokenizer.json'] = served('y');
    assert.equal(await ids(), want);
    assert.notDeepEqual(record('packed').pieces, first.pieces);
    assert.equal(named(/tokenizer\.json/).length, 2 + 2 + 2, 'two records with two pieces each');
    assert.equal(await cache.clear(), 3);
    assert.deepEqual(named(/./), []);
  });
});
