// formats_bytes.test.js - ByteReader, 16-bit numbers and block types
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteReader } from '../../web/lib/files/bytes/chunks.js';
import { fromBfloat, fromHalf } from './half.js';
import { toBfloat, toHalf } from '../../web/lib/files/gguf/encode_half.js';
import { encode } from '../../web/lib/files/gguf/write_gguf.js';
import { floats } from './random_values.js';

test('ByteReader returns the requested bytes and reports the end', async () => {
  async function* chunks() {
    for (const n of [3, 0, 5, 1, 7]) yield new Uint8Array(n).fill(n);
  }
  const r = new ByteReader(chunks(), { name: 'x' });
  assert.deepEqual([...(await r.take(4))], [3, 3, 3, 5]);
  assert.deepEqual([...(await r.peek(5))], [5, 5, 5, 5, 1]);
  const sizes = [];
  await r.pipe(
    8,
    (v) => {
      sizes.push(v.length);
    },
    4,
  );
  assert.ok(sizes.every((n) => n % 4 === 0) && sizes.reduce((a, b) => a + b) === 8);
  await assert.rejects(r.take(5, 'the rest'), {
    code: 'truncated',
    message: 'x: the file ends after 16 bytes, 1 more were expected for the rest',
  });
  await assert.rejects(r.end(), { code: 'bad-file' });
});

test('ByteReader returns the same bytes for chunks of every size', async () => {
  const all = Uint8Array.from({ length: 60000 }, (_, i) => i * 7 + (i >> 8));
  const size = fc.integer({ min: 1, max: 20000 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(size, { minLength: 1 }),
      fc.array(fc.tuple(fc.constantFrom('take', 'peek', 'pipe'), size), { minLength: 3 }),
      async (cuts, calls) => {
        async function* chunks() {
          for (let at = 0, i = 0; at < all.length; at += cuts[i++ % cuts.length])
            yield all.subarray(at, at + cuts[i % cuts.length]);
        }
        const r = new ByteReader(chunks(), { name: 'x', total: all.length });
        for (const [call, n] of calls) {
          const from = r.pos,
            size = Math.min(n, all.length - from),
            got = [];
          if (call === 'peek') got.push(await r.peek(size));
          else if (call === 'take') got.push(await r.take(size));
          else
            await r.pipe(
              size - (size % 34),
              (view) => {
                got.push(view.slice());
                assert.equal(view.length % 34, 0);
              },
              34,
            );
          assert.deepEqual(
            Buffer.concat(got),
            Buffer.from(all.subarray(from, from + (call === 'pipe' ? size - (size % 34) : size))),
          );
        }
        await r.skip(all.length - r.pos);
        await r.end();
      },
    ),
    { numRuns: 200 },
  );
});

test('16-bit numbers round to nearest even, and back', () => {
  for (let h = 0; h < 65536; h++) {
    const x = fromHalf(h);
    if (Number.isNaN(x)) assert.ok(Number.isNaN(fromHalf(toHalf(x))));
    else assert.equal(toHalf(x), h);
    const b = fromBfloat(h);
    if (!Number.isNaN(b)) assert.equal(toBfloat(b), h);
  }
  // half precision by hand: 1 + 2^-11 is midway between 1 and 1 + 2^-10 and rounds to the even one, 1; 65520 rounds to
  // infinity; 2^-25 rounds to 0, a larger number to 2^-24
  assert.deepEqual(
    [1 + 2 ** -11, 1 + 3 * 2 ** -11, 65519, 65520, 2 ** -25, 2 ** -25 * 1.0001].map(toHalf),
    [0x3c00, 0x3c02, 0x7bff, 0x7c00, 0, 1],
  );
  assert.deepEqual([1 + 2 ** -8, 1 + 3 * 2 ** -8].map(toBfloat), [0x3f80, 0x3f82]);
});

test('block types round as the recorded GGUF files do', () => {
  const x = floats(64, 5);
  const q8 = new DataView(encode('Q8_0', x).buffer);
  const d = fromHalf(q8.getUint16(0, true));
  for (let i = 0; i < 32; i++) assert.ok(Math.abs(q8.getInt8(2 + i) * d - x[i]) <= (d / 2) * 1.02);
  const q4 = new DataView(encode('Q4_0', x).buffer);
  const s = fromHalf(q4.getUint16(0, true));
  for (let i = 0; i < 16; i++) {
    assert.ok(Math.abs(((q4.getUint8(2 + i) & 15) - 8) * s - x[i]) <= Math.abs(s) * 1.02);
    assert.ok(Math.abs(((q4.getUint8(2 + i) >> 4) - 8) * s - x[i + 16]) <= Math.abs(s) * 1.02);
  }
  // the value of largest magnitude is stored as -8; its negative would be 8, but four bits reach only 7
  const ends = new Float32Array(32);
  ends.set([-8, 8, 1, -1, 7.6, 0.5]);
  ends.set([8, -8], 16);
  assert.deepEqual(
    [...encode('Q4_0', ends)],
    [
      ...new Uint8Array(Uint16Array.of(toHalf(1)).buffer),
      0xf0,
      0x0f,
      0x89,
      0x87,
      0x8f,
      0x89,
      ...new Array(10).fill(0x88),
    ],
  );
  const q41 = new DataView(encode('Q4_1', x).buffer);
  const [a, m] = [fromHalf(q41.getUint16(0, true)), fromHalf(q41.getUint16(2, true))];
  for (let i = 0; i < 16; i++) assert.ok(Math.abs((q41.getUint8(4 + i) & 15) * a + m - x[i]) <= (a / 2) * 1.05);
  assert.deepEqual([...encode('Q8_0', new Float32Array(32))], new Array(34).fill(0));
});
