// gguf_file.js - a GGUF file in memory and its tensors as numbers, for the tools beside it
import { readFile } from 'node:fs/promises';
import { ByteReader } from '../web/lib/files/bytes/chunks.js';
import { Engine } from '../web/lib/engine/engine.js';
import { dequantize } from '../web/lib/engine/weights_memory.js';
import { readGguf } from '../web/lib/files/gguf/gguf.js';

const BINARY = new URL('../web/lib/api/wasm/glassformer-simd.wasm', import.meta.url);

/** @param {string} file */
export async function openGguf(file) {
  const bytes = new Uint8Array(await readFile(file));
  const chunks = (async function* whole() {
    yield bytes;
  })();
  const { meta, entries } = await readGguf(new ByteReader(chunks, { name: file, total: bytes.length }), 0);
  const engine = await Engine.start(await WebAssembly.compile(await readFile(BINARY)), 1);
  const tensors = entries.map(({ name, shape, dtype, offset, bytes: n }) => {
    const size = shape.reduce((a, b) => a * b, 1);
    const inFile = bytes.subarray(offset, offset + n);
    const data = dtype === 'f32' ? new Float32Array(bytes.buffer, inFile.byteOffset, size) : new Float32Array(size);
    if (dtype !== 'f32') dequantize(engine, inFile, /** @type {any} */ (dtype), data, 0);
    return { name, shape, data }; // data: a view into bytes where these are F32
  });
  return { bytes, meta, tensors };
}
