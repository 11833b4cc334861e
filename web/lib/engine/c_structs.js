// c_structs.js - reads and writes the structs of C in linear memory
//
// Same rules as instance.js: a view is created, used and dropped within one function, and results are copies.
import { fail, show } from '../base/errors.js';
import { SAMPLER } from './config/sampler_fields.js';

/** @import { Instance } from './instance.js' */
/** @import { Adjustment } from './engine.js' */
/** @import { SamplingOptions } from './config/sampler_fields.js' */

const STACKS = /** @type {const} */ (['decoder', 'encoder']);

/**
 * Bytes of the members that this folder reads and writes. Numbers and addresses are aligned to their size; of a text
 * only its first byte counts, because it ends with 0.
 * @type {Record<string, Record<string, number>>}
 */
const MEMBERS = {
  tensor: {
    ...{ name: 1, component: 4, stack: 4, layer: 4, rank: 4, rows: 4, cols: 4, dtype: 4, tied_to: 4 },
    ...{ count: 8, n_bytes: 8, address: 8 },
  },
  sampling: Object.fromEntries(SAMPLER.map(({ member }) => [member, 4])),
  adjustment: { n_bias: 4, bias_id: 4, bias: 4, allowed: 4 },
  choice: { id: 4, logprob: 4 },
  op_time: { ms: 8, stack: 4, layer: 4, op: 4 },
  error: { status: 4, text: 1 },
};

/**
 * Check the structs of a binary once, before anything is read or written by their offsets: sizes and alignment, and
 * that each member lies within its struct and beside the others. Throws `bad-wasm`.
 * @param {import('./instance.js').Schema} schema
 */
export function checkStructs(schema) {
  for (const [struct, members] of Object.entries(MEMBERS)) {
    const wrong = (/** @type {string} */ why) => fail('bad-wasm', `the WebAssembly file has a struct ${struct} ${why}`);
    const offsets = /** @type {any} */ (schema)[struct] ?? {};
    const size = offsets.bytes;
    const align = Math.max(...Object.values(members));
    if (!Number.isInteger(size) || size % align) wrong(`of ${show(size)} bytes, expected a multiple of ${align}`);
    let [end, before] = [0, ''];
    const placed = Object.entries(members).map(([name, bytes]) => ({ name, bytes, at: offsets[name] }));
    for (const { name, bytes, at } of placed.sort((a, b) => a.at - b.at)) {
      if (!Number.isInteger(at) || at < 0 || at % bytes)
        wrong(`with ${name} at ${show(at)}, expected a multiple of ${bytes}`);
      if (at < end) wrong(`with ${name} at ${at}, where ${before} is`);
      if (at + bytes > size) wrong(`with ${name} at ${at}, beyond its ${size} bytes`);
      [end, before] = [at + bytes, name];
    }
  }
}

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
export function lowAndHigh(n) {
  return [n % 2 ** 32, Math.floor(n / 2 ** 32)];
}
