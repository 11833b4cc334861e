// arrays.test.js - tensors as files of numpy and safetensors, with what they come from
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { create, load, provenanceOf, scan, toNpy, toNpz, toSafetensors } from '../../web/lib/api/index.js';
import { zip } from '../../web/lib/files/bytes/write_zip.js';
import { readTensors, sameBits, stories } from './helpers.js';
import { temporaryFolder } from '../temporary.js';

/** What numpy.save of numpy 1.24.2 writes, in base64. */
const SAVED = {
  row: 'k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDMsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAMA/AAAAwAAAQEA=',
  matrix:
    'k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAACAPwAAAEAAAEBAAACAQAAAoEA=',
  cube: 'k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDEsIDIsIDIpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAAAAAAAAAAAAAAAA',
};

test('a .npy file has the bytes that numpy.save writes', async () => {
  const tensors = {
    row: { shape: [3], data: Float32Array.of(1.5, -2, 3) },
    matrix: { shape: [2, 3], data: Float32Array.of(0, 1, 2, 3, 4, 5) },
    cube: { shape: [1, 2, 2], data: new Float32Array(4) },
  };
  for (const [name, tensor] of Object.entries(tensors))
    assert.equal(Buffer.from(await toNpy(tensor)).toString('base64'), SAVED[name]);
});

test('captures in a safetensors file are read back, bit for bit', async () => {
  const model = await create({ vocab_size: 20, d_model: 8, n_layers: 2, n_heads: 2 }, { seed: 1 });
  const { captured } = await model.forward([1, 2, 3], { capture: ['*'] });
  const folder = temporaryFolder('arrays');
  writeFileSync(join(folder, 'captured.safetensors'), await toSafetensors(captured));
  const read = readTensors(join(folder, 'captured.safetensors'));
  assert.deepEqual(Object.keys(read), Object.keys(captured));
  for (const [name, { data, shape }] of Object.entries(captured)) {
    assert.deepEqual(read[name].shape, shape);
    assert.ok(sameBits(read[name].data, data));
  }
});

test('texts about the tensors are in the header, and other values are refused', async () => {
  const metadata = { provenance: '{"seed":1}', prompt: 'Grüße' };
  const bytes = await toSafetensors({ x: { shape: [1], data: [2] } }, metadata);
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(Buffer.from(bytes.subarray(8, 8 + length)).toString());
  assert.deepEqual(header.__metadata__, metadata);
  await assert.rejects(toSafetensors({}, { seed: 1 }), { code: 'bad-argument', message: /expected texts by name/ });
});

/** The members of an archive of stored entries, by its directory (APPNOTE.TXT 4.3). @param {Uint8Array} bytes */
function unzipped(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = bytes.length - 22;
  assert.equal(view.getUint32(end, true), 0x06054b50);
  const members = {};
  let at = view.getUint32(end + 16, true);
  for (let n = view.getUint16(end + 10, true); n > 0; n--) {
    assert.equal(view.getUint32(at, true), 0x02014b50);
    const [crc, size, , length] = [16, 24, 20, 28].map((by) =>
      view[by === 28 ? 'getUint16' : 'getUint32'](at + by, true),
    );
    const name = Buffer.from(bytes.subarray(at + 46, at + 46 + length)).toString();
    const local = view.getUint32(at + 42, true);
    assert.deepEqual(bytes.subarray(local + 14, local + 26), bytes.subarray(at + 16, at + 28)); // both tell the same
    const start = local + 30 + length;
    members[name] = { crc, bytes: bytes.subarray(start, start + size) };
    at += 46 + length;
  }
  assert.equal(at, end);
  return members;
}

/** The metadata of a safetensors file. @param {Uint8Array} bytes */
const metadataOf = (bytes) =>
  JSON.parse(Buffer.from(bytes.subarray(8, 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true)))).toString())
    .__metadata__;

test('an archive has the CRC-32 of each member', () => {
  const { crc } = unzipped(zip([['ä', Buffer.from('123456789')]]))['ä'];
  assert.equal(crc, 0xcbf43926); // the check value of CRC-32/ISO-HDLC
});

test('archives and safetensors have what their tensors come from', async () => {
  const model = await load(stories, { kvDtype: 'f32' });
  const options = { capture: ['blocks.1.hook_resid_post'], edits: [{ at: '*.hook_z', head: 1, scale: 0 }] };
  const { captured, logits } = await model.forward('Once upon', options);
  const found = await provenanceOf({ logits });
  const { glassformer, name, weights, dtypes, kvDtype, backend } = await model.provenance();
  const about = { glassformer, name, kvDtype, backend, weights, dtypes };
  assert.deepEqual(found, { ...about, call: 'forward', prompt: 'Once upon', options: { edits: options.edits } });
  assert.deepEqual(JSON.parse(metadataOf(await toSafetensors(captured, { at: 'x' })).provenance), found);
  const members = unzipped(await toNpz(captured));
  assert.deepEqual(await provenanceOf(await toNpz(captured)), found);
  assert.deepEqual(await provenanceOf(new Blob([await toSafetensors(captured)])), found);
  assert.deepEqual(
    [await provenanceOf(stories), await provenanceOf(await toNpz({ own: { shape: [1], data: Float32Array.of(1) } }))],
    [null, null],
  );
  assert.deepEqual(Object.keys(members), ['blocks.1.hook_resid_post.npy', 'provenance.json']);
  assert.deepEqual(JSON.parse(Buffer.from(members['provenance.json'].bytes).toString()), found);
  const [whole] = Object.values(captured);
  assert.deepEqual(Buffer.from(members['blocks.1.hook_resid_post.npy'].bytes), Buffer.from(await toNpy(whole)));
  // a part of a tensor; tensors of two calls; tensors of no call; a provenance of the caller's own
  const row = { shape: [128], data: whole.data.subarray(0, 128) };
  const { gradients } = await model.gradients([5, 6, 7], { of: 'loss', at: ['hook_embed'] });
  const own = { shape: [1], data: Float32Array.of(1) };
  const both = await provenanceOf({ row, ...gradients, own });
  assert.deepEqual(
    both.map(({ call, prompt, tensors, options: { of } }) => ({ call, prompt, tensors, of })),
    [
      { call: 'forward', prompt: 'Once upon', tensors: ['row'], of: undefined },
      { call: 'gradients', prompt: [5, 6, 7], tensors: ['hook_embed'], of: 'loss' },
    ],
  );
  assert.equal(await provenanceOf({ own }), null);
  assert.equal(metadataOf(await toSafetensors({ own })), undefined);
  assert.deepEqual(Object.keys(unzipped(await toNpz({ own }))), ['own.npy']);
  assert.deepEqual(metadataOf(await toSafetensors(captured, { provenance: 'mine' })), { provenance: 'mine' });
  model.dispose(); // which weights it had can no longer be found out
  const late = await create({ vocab_size: 20, d_model: 8, n_layers: 1, n_heads: 2 }, { seed: 1 });
  const { logits: last } = await late.forward([1, 2]);
  late.dispose();
  assert.deepEqual((await provenanceOf({ last })).weights, null);
});

test('what sessions, generations and scans give has its seed, position and texts', async () => {
  const model = await create({ vocab_size: 20, d_model: 8, n_layers: 2, n_heads: 2 }, { seed: 1 });
  const steps = model.generate([1, 2], { capture: ['blocks.0.hook_resid_post'], maxTokens: 2, repetitionPenalty: 1.5 });
  const captured = [];
  for await (const step of steps) captured.push(step.captured);
  const { seed } = await steps.result;
  const { call, prompt, seed: told, options } = await provenanceOf(captured[1]);
  assert.deepEqual([call, prompt, told, options], ['generate', [1, 2], seed, { repetitionPenalty: 1.5 }]);
  const session = await model.session();
  await session.eval([1, 2, 3]);
  const evaluated = await provenanceOf({ logits: await session.eval([4]) });
  assert.deepEqual([evaluated.call, evaluated.prompt, evaluated.position], ['session.eval', [4], 3]);
  await session.dispose();
  const at = 'blocks.0.hook_resid_post';
  const { captured: kept } = await model.forward([1, 2], { capture: [at] });
  const edited = await model.forward([1, 2], { edits: [{ at, set: kept[at] }] });
  assert.deepEqual((await provenanceOf({ logits: edited.logits })).options, { edits: [{ at, set: 'Tensor(2, 8)' }] });
  const scanned = async (texts) => (await scan(model, texts, { at, statistic: 'mean' }).result()).points[at];
  const sums = [];
  for (const texts of [
    [[1, 2], [3]],
    [[1], [2, 3]],
    [[1, 2], [3]],
  ])
    sums.push((await provenanceOf({ mean: (await scanned(texts)).mean })).prompt);
  assert.deepEqual([sums[0].texts, sums[0].tokens], [2, 3]);
  assert.equal(sums[0].sha256, sums[2].sha256);
  assert.notEqual(sums[0].sha256, sums[1].sha256);
  await assert.rejects(provenanceOf(await toSafetensors({}, { provenance: 'mine' })), { code: 'bad-header' });
  await assert.rejects(provenanceOf(5), { code: 'bad-argument', message: /expected an object with tensors/ });
});
