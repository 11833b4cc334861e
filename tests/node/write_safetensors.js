// write_safetensors.js - writes .safetensors files in every type
import { encode } from '../../web/lib/apps/convert/write_gguf.js';

/** @typedef {{name: string, shape: number[], dtype: 'F32'|'F16'|'BF16', data: Float32Array}} Tensor */

/**
 * The bytes of a .safetensors file: the tensors in the given order without holes, the header padded to eight bytes like
 * that of the reference implementation.
 * @param {Tensor[]} tensors
 * @param {Record<string, string>} [metadata]
 * @returns {Uint8Array}
 */
export function writeSafetensors(tensors, metadata) {
  const header = metadata ? { __metadata__: metadata } : {};
  const blobs = tensors.map(({ dtype, data }) => encode(dtype, data));
  let at = 0;
  tensors.forEach(({ name, shape, dtype }, i) => {
    header[name] = { dtype, shape, data_offsets: [at, at + blobs[i].length] };
    at += blobs[i].length;
  });
  const text = JSON.stringify(header);
  const bytes = new TextEncoder().encode(text + ' '.repeat((8 - (new TextEncoder().encode(text).length % 8)) % 8));
  const out = new Uint8Array(8 + bytes.length + at);
  new DataView(out.buffer).setBigUint64(0, BigInt(bytes.length), true);
  out.set(bytes, 8);
  let offset = 8 + bytes.length;
  for (const b of blobs) {
    out.set(b, offset);
    offset += b.length;
  }
  return out;
}
