// gguf_parts.test.js - a GGUF in several files, as llama.cpp's gguf-split writes them
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { temporaryFolder } from '../temporary.js';
import { f32, text, u32, writeGguf } from './checkpoint_files.js';
import { load } from '../../web/lib/api/index.js';
import { logitsOf, randomTensor, refused, serve } from './helpers.js';

const meta = {
  'general.architecture': text('llama'),
  'llama.context_length': u32(16),
  'llama.embedding_length': u32(32),
  'llama.block_count': u32(2),
  'llama.feed_forward_length': u32(32),
  'llama.attention.head_count': u32(2),
  'llama.attention.layer_norm_rms_epsilon': f32(1e-5),
};
const block = (l) =>
  [
    ['attn_norm', [32]],
    ['ffn_norm', [32]],
    ['attn_q', [32, 32]],
    ['attn_k', [32, 32]],
    ['attn_v', [32, 32]],
    ['attn_output', [32, 32]],
    ['ffn_gate', [32, 32]],
    ['ffn_up', [32, 32]],
    ['ffn_down', [32, 32]],
  ].map(([name, shape]) => [`blk.${l}.${name}`, shape]);
const tensors = [['token_embd', [8, 32]], ...block(0), ...block(1), ['output_norm', [32]]].map(([name, shape], i) => ({
  name: `${name}.weight`,
  shape,
  type: 'F32',
  data: randomTensor(shape, i + 1, 0.25),
}));
const COUNT = 7;
const nameOf = (i, count = COUNT) =>
  `model-${String(i + 1).padStart(5, '0')}-of-${String(count).padStart(5, '0')}.gguf`;
/** The parts; the first has the metadata of the model. */
const parts = Array.from({ length: COUNT }, (_, i) => {
  const own = tensors.filter((__, j) => j % COUNT === i);
  return part(i, i ? {} : meta, own);
});
function part(no, more, own, { count = COUNT, total = tensors.length } = {}) {
  const split = { 'split.no': u32(no), 'split.count': u32(count), 'split.tensors.count': u32(total) };
  return new Uint8Array(writeGguf({ ...more, ...split }, own));
}
const files = (list) => list.map((bytes, i) => bytes && new File([bytes], nameOf(i))).filter(Boolean);

const want = await logitsOf(new Uint8Array(writeGguf(meta, tensors)));
const folder = temporaryFolder('parts');
mkdirSync(join(folder, 'fewer'));
for (const [i, bytes] of parts.entries()) {
  writeFileSync(join(folder, nameOf(i)), bytes);
  if (i !== 2) writeFileSync(join(folder, 'fewer', nameOf(i)), bytes);
}
const asked = [];
const server = await serve((request, response) => {
  const i = parts.findIndex((_, n) => request.url === `/o/m/resolve/main/q4/${nameOf(n)}`);
  asked.push(request.url);
  if (i < 0) return response.writeHead(404).end();
  response.writeHead(200, { 'content-length': parts[i].length });
  response.end(parts[i]);
});
const base = server.url.slice(0, -1);
after(() => server.close());

describe('a GGUF in parts', () => {
  test('by the path of the first, and by the folder', async () => {
    assert.deepEqual(await logitsOf(join(folder, nameOf(0))), want);
    const alone = join(folder, 'alone/');
    mkdirSync(alone);
    for (const [i, bytes] of parts.entries()) writeFileSync(join(alone, nameOf(i)), bytes);
    assert.deepEqual(await logitsOf(alone), want);
  });

  test('a table of rotary factors is read from whichever part it lies in', async () => {
    const table = { name: 'rope_freqs.weight', shape: [8], type: 'F32', data: Float32Array.of(1, 1, 2, 3, 4, 5, 6, 7) };
    const scaled = await logitsOf(new Uint8Array(writeGguf(meta, [table, ...tensors])));
    assert.notDeepEqual(scaled, want);
    const rest = tensors.slice(5);
    const total = { count: 2, total: tensors.length + 1 };
    for (const own of [
      [tensors.slice(0, 5), [table, ...rest]],
      [[table, ...tensors.slice(0, 5)], rest],
    ]) {
      const two = [part(0, meta, own[0], total), part(1, {}, own[1], total)];
      const both = two.map((bytes, i) => new File([bytes], nameOf(i, 2)));
      assert.deepEqual(await logitsOf({ weights: both }), scaled);
      assert.deepEqual(await logitsOf({ weights: both.reverse() }), scaled);
    }
  });

  test('by the address of the first, and on the hub; each part is requested at most twice', async () => {
    assert.deepEqual(await logitsOf(`${base}/o/m/resolve/main/q4/${nameOf(0)}`), want);
    asked.length = 0;
    const seen = [];
    const options = { hfEndpoint: base, onProgress: (p) => p.phase === 'download' && seen.push(p) };
    assert.deepEqual(await logitsOf(`hf:o/m/q4/${nameOf(0)}`, options), want);
    const total = parts.reduce((n, p) => n + p.length, 0);
    assert.equal(seen.at(-1).total, total);
    for (const [i] of parts.entries()) assert.ok(asked.filter((url) => url.endsWith(nameOf(i))).length <= 2);
  });

  test('all files together, in any order, in this thread and in a worker', async () => {
    const dropped = files(parts).reverse();
    assert.deepEqual(await logitsOf(dropped), want);
    const reversed = [...parts].reverse();
    assert.deepEqual(await logitsOf({ weights: reversed }, { worker: true, threads: 1 }), want);
    assert.deepEqual(await logitsOf({ weights: reversed }), want);
  });

  test('a missing part is named', async () => {
    await refused(
      load(join(folder, 'fewer', nameOf(0))),
      'not-found',
      /part 3 of 7 is missing: .*model-00003-of-00007\.gguf/,
    );
    await refused(
      load(files(parts.map((p, i) => (i === 4 ? null : p)))),
      'missing-tensor',
      /part 5 of 7 is missing \(model-00005-of-00007\.gguf\)/,
    );
    await refused(load(parts[0]), 'missing-tensor', /this is part 1 of 7: give all parts together/);
    await refused(
      load(join(folder, nameOf(3))),
      'bad-argument',
      /part 4 of 7: give the first one, .*model-00001-of-00007\.gguf/,
    );
  });

  test('parts that do not belong together are refused', async () => {
    const twice = [...parts.slice(0, 6), parts[5]];
    await refused(load({ weights: twice }), 'bad-file', /is part 6 of 7, as/);
    const other = [...parts.slice(0, 6), part(6, {}, [], { count: 8 })];
    await refused(load({ weights: other }), 'bad-file', /a model of 8 parts.*one of 7/);
    const doubled = [...parts.slice(0, 6), part(6, {}, tensors.slice(0, 1))];
    await refused(load({ weights: doubled }), 'duplicate-tensor', /"token_embd\.weight" is in two parts/);
    const fewer = [...parts.slice(0, 6), part(6, {}, [])];
    await refused(load({ weights: fewer }), 'missing-tensor', /split\.tensors\.count is 20/);
    const whole = new Uint8Array(writeGguf(meta, tensors));
    await refused(load({ weights: [whole, whole] }), 'unsupported', /no split\.count/);
    const beyond = [...parts.slice(0, 6), part(9, {}, [])];
    await refused(load({ weights: beyond }), 'bad-header', /split\.no is 9, expected a whole number from 0 to 6/);
    await refused(load({ weights: parts.slice(1) }), 'missing-tensor', /part 1 of 7 is missing/);
  });
});
