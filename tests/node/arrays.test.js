// arrays.test.js - tensors as files of numpy and safetensors
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { create, toNpy, toSafetensors } from '../../web/lib/api/index.js';
import { temporaryFolder } from '../temporary.js';
import { readTensors, sameBits } from './helpers.js';

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
