// minus_one.js - delivers tensors that are stored as the weight minus 1, with the 1 added: Gemma's norms
import { BLOCKS } from '../base/blocks.js';
import { decodeFloats } from '../bytes/half.js';

/**
 * Read one tensor as f32, plus 1.
 * @param {import('../bytes/bytes.js').ByteReader} r  at its first byte
 * @param {import('../config/plan.js').TensorSource} t  with minusOne
 * @param {(view: Uint8Array) => void | Promise<void>} write
 */
export async function pipePlusOne(r, t, write) {
  const stored = t.minusOne ?? 'f32';
  const size = BLOCKS[stored][1];
  await r.pipe(
    t.bytes,
    (bytes) => {
      const out = new Float32Array(bytes.length / size);
      decodeFloats(bytes, stored, out, 0);
      for (let k = 0; k < out.length; k++) out[k] += 1;
      return write(new Uint8Array(out.buffer));
    },
    size,
    t.name,
  );
}
