// dequantize.js - the values of weights as they are stored in files, for adapters
//
// Same rules as instance.js: a view is created, used and dropped within one function, and results are copies.
import { BLOCKS } from '../base/blocks.js';

/** @import { Dtype } from '../base/blocks.js' */
/** @import { Engine } from './engine.js' */

/**
 * The values of whole blocks.
 * @param {Engine} engine
 * @param {Uint8Array} bytes
 * @param {Dtype} dtype
 * @param {Float32Array} out
 * @param {number} at  where the first value goes
 */
export function dequantize(engine, bytes, dtype, out, at) {
  const [cols, size] = BLOCKS[dtype];
  const n = (bytes.length / size) * cols;
  const p = engine.scratch(4 * n + bytes.length);
  new Uint8Array(engine.memory.buffer, p + 4 * n, bytes.length).set(bytes);
  engine.x.gf_values_of(p, p + 4 * n, engine.schema.dtypes.indexOf(dtype), n);
  out.set(new Float32Array(engine.memory.buffer, p, n), at);
}
