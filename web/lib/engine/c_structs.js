// c_structs.js - reads and writes the structs of C in linear memory
//
// Same rules as instance.js: a view is created, used and dropped within one function, and results are copies.

import { SAMPLER } from './config/sampler_fields.js';

/** @import { Instance } from './instance.js' */
/** @import { Adjustment } from './engine.js' */
/** @import { SamplingOptions } from './config/sampler_fields.js' */

const STACKS = /** @type {const} */ (['decoder', 'encoder']);

/**
 * Read a struct gf_tensor.
 * @param {Instance} instance
 * @param {number} p  its address
 * @returns {import('./engine.js').EngineTensor}
 */
export function readTensor(instance, p) {
  const { memory, schema } = instance;
  const at = schema.tensor;
  const view = new DataView(memory.buffer, p, at.bytes);
  const i32 = (/** @type {string} */ field) => view.getInt32(at[field], true);
  const u64 = (/** @type {string} */ field) => Number(view.getBigUint64(at[field], true));
  return {
    name: instance.string(p + at.name),
    component: schema.components[i32('component')],
    stack: STACKS[i32('stack')] ?? null,
    layer: i32('layer') < 0 ? null : i32('layer'),
    shape: i32('rank') === 1 ? [i32('cols')] : [i32('rows'), i32('cols')],
    count: u64('count'),
    dtype: schema.dtypes[i32('dtype')],
    bytes: u64('n_bytes'),
    address: u64('address'),
    tiedTo: i32('tied_to'),
  };
}

/**
 * Read a struct gf_choice.
 * @param {Instance} instance
 * @param {number} p  its address
 */
export function readChoice({ memory, schema: { choice: at } }, p) {
  const view = new DataView(memory.buffer);
  return { id: view.getInt32(p + at.id, true), logprob: view.getFloat32(p + at.logprob, true) };
}

/**
 * The k most likely ids of a row of logits in linear memory.
 * @param {Instance} instance
 * @param {number} logits  address
 * @param {number} n       number of logits
 * @param {number} k
 * @param {number} out     address of k structs gf_choice
 */
export function readTop(instance, logits, n, k, out) {
  instance.check(instance.x.gf_top(logits, n, k, out, instance.error));
  return Array.from({ length: k }, (_, i) => readChoice(instance, out + i * instance.schema.choice.bytes));
}

/**
 * Write a struct gf_sampling.
 * @param {Instance} instance
 * @param {number} p  its address
 * @param {SamplingOptions} sampling
 * @returns {number} the same address
 */
export function putSampling({ memory, schema: { sampling: at } }, p, sampling) {
  const view = new DataView(memory.buffer);
  for (const { name, member, whole, off } of SAMPLER) {
    const value = sampling[name] ?? off;
    if (whole) view.setInt32(p + at[member], value, true);
    else view.setFloat32(p + at[member], value, true);
  }
  return p;
}

/**
 * Bytes that putAdjustment writes.
 * @param {Instance} instance
 * @param {Adjustment | null | undefined} adjustment
 */
export function adjustmentBytes({ schema }, adjustment) {
  if (!adjustment) return 0;
  return schema.adjustment.bytes + 8 * adjustment.ids.length + (adjustment.allowed?.byteLength ?? 0);
}

/**
 * Write a struct gf_adjustment with its arrays.
 * @param {Instance} instance
 * @param {number} p  its address
 * @param {Adjustment | null | undefined} adjustment
 * @returns {number} the same address; 0 without an adjustment
 */
export function putAdjustment({ memory: { buffer }, schema: { adjustment: at } }, p, adjustment) {
  if (!adjustment) return 0;
  const { ids, bias, allowed } = adjustment;
  const view = new DataView(buffer);
  const n = ids.length;
  const arrays = p + at.bytes;
  view.setInt32(p + at.n_bias, n, true);
  view.setUint32(p + at.bias_id, arrays, true);
  view.setUint32(p + at.bias, arrays + 4 * n, true);
  view.setUint32(p + at.allowed, allowed ? arrays + 8 * n : 0, true);
  new Int32Array(buffer, arrays, n).set(ids);
  new Float32Array(buffer, arrays + 4 * n, n).set(bias);
  if (allowed) new Uint32Array(buffer, arrays + 8 * n, allowed.length).set(allowed);
  return p;
}

/**
 * A whole number as two 32-bit words, low one first.
 * @param {number} n
 * @returns {[number, number]}
 */
export function words(n) {
  return [n % 2 ** 32, Math.floor(n / 2 ** 32)];
}
