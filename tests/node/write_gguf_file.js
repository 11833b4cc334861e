// write_gguf_file.js - whole GGUF files for tests, from the parts that the package writes
import { encode, ggufHeader } from '../../web/lib/apps/convert/write_gguf.js';

export * from '../../web/lib/apps/convert/write_gguf.js';

/**
 * The bytes of a GGUF file.
 * @param {Record<string, import('../../web/lib/apps/convert/write_gguf.js').Value>} meta
 * @param {any[]} tensors  { name, shape, type, data }
 * @returns {Uint8Array}
 */
export function writeGguf(meta, tensors) {
  const blobs = tensors.map(({ type, data }) => (data instanceof Uint8Array ? data : encode(type, data)));
  const sized = tensors.map((tensor, i) => ({ ...tensor, bytes: blobs[i].length }));
  const { header, padding } = ggufHeader(meta, sized);
  const parts = blobs.flatMap((blob, i) => [blob, new Uint8Array(padding[i])]);
  return new Uint8Array(Buffer.concat([header, ...parts]));
}
