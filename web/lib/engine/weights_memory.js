// weights_memory.js - the values of stored weights; replaces weights of a sealed model, copies their bytes out and back
//
// Same rules as instance.js: a view is created, used and dropped within one function, and results are copies.
import { BLOCKS } from '../base/dtype_names.js';

/** @import { Dtype } from '../base/dtype_names.js' */
/** @import { Engine } from './engine.js' */
/** Bytes of linear memory that one matrix has alone. @typedef {{start: number, end: number}} Region */

/**
 * Replace a row of a weight, rounded to its type.
 * @param {Engine} engine
 * @param {number} i     roster entry
 * @param {number} row
 * @param {Float32Array} values  [cols], finite
 */
export function putRow(engine, i, row, values) {
  const p = engine.scratch(4 * values.length);
  new Float32Array(engine.memory.buffer, p, values.length).set(values);
  engine.check(engine.x.gf_tensor_put(engine.model, i, row, p, engine.error));
}

/**
 * The memory of the matrices in which weights are. Several weights may share one, such as q, k and v.
 * @param {Engine} engine
 * @param {number[]} entries  of the roster
 * @returns {Region[]}
 */
export function regionsOf(engine, entries) {
  const addresses = engine.tensors().map((t) => t.address);
  const first = Math.min(...addresses.filter(Boolean));
  const starts = [...new Set(addresses), first + engine.x.gf_abi_model_bytes(engine.model)].sort((a, b) => a - b);
  return [...new Set(entries.map((i) => addresses[i]))].map((start) => ({
    start,
    end: starts[starts.indexOf(start) + 1],
  }));
}

/**
 * A copy of the bytes of a region.
 * @param {Engine} engine
 * @param {Region} region
 */
export const bytesOfRegion = (engine, { start, end }) =>
  new Uint8Array(engine.memory.buffer, start, end - start).slice();

/**
 * Write the bytes of a region.
 * @param {Engine} engine
 * @param {number} start
 * @param {Uint8Array} bytes
 */
export function putBytes(engine, start, bytes) {
  new Uint8Array(engine.memory.buffer, start, bytes.length).set(bytes);
}

/**
 * The values of whole blocks, as they are stored in files.
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
  engine.x.gf_dequantize(p, p + 4 * n, engine.schema.dtypes.indexOf(dtype), n);
  out.set(new Float32Array(engine.memory.buffer, p, n), at);
}
