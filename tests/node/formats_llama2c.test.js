// formats_llama2c.test.js - the reader of llama2.c's files, versions 0 to 2
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drain, rejects, unsized } from './small_files.js';
import { llama2cFile } from './checkpoint_files.js';

// Version 0 marks an untied output layer with a negative vocabulary size.
test('a negative vocabulary size is refused in version 1 of llama2.c', async () => {
  const bytes = llama2cFile(1);
  new DataView(bytes.buffer).setInt32(8 + 4 * 5, -6, true);
  await rejects(bytes, 'bad-config', /vocab_size is -6/);
});

test('int8 groups of llama2.c v2 give scale times integer', async () => {
  const bytes = llama2cFile(2);
  const { data } = await drain(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const at = 256 + 4 * (2 * 8 + 2 * 8 + 8); // after the header and the norms: the embedding
  const want = Float32Array.from({ length: 48 }, (_, i) =>
    Math.fround(view.getInt8(at + i) * view.getFloat32(at + 48 + 4 * (i >> 2), true)),
  );
  assert.deepEqual(new Float32Array(Uint8Array.from(data.get('embed.weight')).buffer), want);
});

// The reader allocated a matrix of the size in the header: 4 GB ended in a RangeError.
test('a llama2.c v2 header with larger sizes than the body is refused as truncated', async () => {
  for (const [at, value] of [
    [28, 2 ** 22],
    [12, 2 ** 20],
  ]) {
    // the vocabulary, the width of the feed-forward layer
    const claims = llama2cFile(2),
      header = new DataView(claims.buffer);
    header.setInt32(8, 8192, true); // d_model
    header.setInt32(at, value, true);
    await rejects('https://files.test/x.bin', 'truncated', /the file ends after \d+ bytes/, { fetch: unsized(claims) });
  }
});
