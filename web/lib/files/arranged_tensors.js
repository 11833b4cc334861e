// arranged_tensors.js - weights that a file has in several tensors or with other axes: collected in memory, brought
// into the order that the engine reads, and delivered as one tensor; and tensors beside the weights that are checked
import { BLOCKS } from '../base/dtype_names.js';
import { checkBuffer } from './huggingface/buffers.js';

/** @import { Config } from '../engine/config/config.js' */
/** @import { Entry, TensorSource } from '../engine/config/tensor_plan.js' */
/** @import { ByteReader } from './bytes/chunks.js' */
/** @import { TensorSink } from './source.js' */
/** A tensor of a file, and the one that it is a part of. @typedef {TensorSource & {whole?: TensorSource}} Stored */

/** Delivers the tensors of a plan to a sink: those of its file that are parts of others are collected first. */
export class Arranging {
  /**
   * @param {TensorSource[]} tensors  of the plan
   * @param {TensorSink} sink
   * @param {Config} config  with which buffers are compared
   * @param {string[]} warnings  appended to
   */
  constructor(tensors, sink, config, warnings) {
    this.sink = sink;
    this.config = config;
    this.warnings = warnings;
    /** The tensors of the files, in their order. @type {Stored[]} */
    this.tensors = tensors
      .flatMap((t) => (t.arrangement ? t.arrangement.parts.map((part) => storedPart(part, t)) : [t]))
      .sort((a, b) => a.file - b.file || a.offset - b.offset);
    /** Weights that no file has: all zeros. */
    this.zeros = tensors.filter(({ arrangement }) => arrangement?.parts.length === 0);
    /** The bytes of parts that have arrived. @type {Map<Entry, Uint8Array>} */
    this.arrived = new Map();
    /** What the skipped tensors are. @type {string[]} */
    this.skipped = [];
  }

  /**
   * Take one tensor of a file. Returns false where it is delivered as it is stored.
   * @param {Stored} t
   * @param {ByteReader} r  at its first byte
   */
  async take(t, r) {
    const { whole, stored } = t;
    if (!whole && !stored) return false;
    const bytes = (await r.take(t.bytes, t.name)).slice();
    if (stored) this.skipped.push(checkBuffer(t, bytes, this.config, r.name));
    if (!whole?.arrangement) return true;
    const { parts } = whole.arrangement;
    this.arrived.set(/** @type {Entry} */ (parts.find(({ name }) => name === t.name)), bytes);
    if (parts.every((part) => this.arrived.has(part))) await this.deliver(whole);
    return true;
  }

  /**
   * Deliver a tensor whose parts have arrived.
   * @param {TensorSource} t
   */
  async deliver(t) {
    const { parts = [], ...order } = t.arrangement ?? {};
    const bytes = new Uint8Array(t.bytes);
    let at = 0;
    for (const part of parts) {
      bytes.set(/** @type {Uint8Array} */ (this.arrived.get(part)), at);
      at += part.bytes;
      this.arrived.delete(part);
    }
    await this.sink.begin(t);
    await this.sink.write(inOrder(bytes, BLOCKS[t.dtype][1], order));
    await this.sink.end(t);
  }

  /** Deliver what no file has, and warn of what was skipped. */
  async end() {
    for (const t of this.zeros) await this.deliver(t);
    const { skipped, zeros } = this;
    if (zeros.length)
      this.warnings.push(`biases that the file lacks are 0: ${shortList(zeros.map(({ name }) => name))}`);
    if (skipped.length) this.warnings.push(`tensors that are no weights were skipped: ${shortList(skipped)}`);
  }
}

/** Names in a warning. @param {string[]} names */
const shortList = (names) =>
  names.length > 6 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ');

/**
 * A part as a tensor that its file delivers.
 * @param {Entry} part
 * @param {TensorSource} whole
 * @returns {Stored}
 */
const storedPart = (part, whole) => ({
  ...part,
  dtype: whole.dtype,
  covers: whole.covers,
  layout: 'rows',
  whole,
});

/**
 * Elements in another order.
 * @param {Uint8Array} bytes
 * @param {number} size  bytes of an element
 * @param {{shape?: number[], axes?: number[], rows?: number[]}} order
 * @returns {Uint8Array}
 */
function inOrder(bytes, size, { shape, axes, rows }) {
  if (rows) {
    const width = bytes.length / rows.length;
    const out = new Uint8Array(bytes.length);
    for (const [i, row] of rows.entries()) out.set(bytes.subarray(row * width, (row + 1) * width), i * width);
    return out;
  }
  if (!shape || !axes) return bytes;
  const out = new Uint8Array(bytes.length);
  const strides = shape.map((_, i) => shape.slice(i + 1).reduce((a, b) => a * b, size));
  const sizes = axes.map((axis) => shape[axis]);
  const steps = axes.map((axis) => strides[axis]);
  const index = sizes.map(() => 0);
  for (let at = 0, from = 0; at < bytes.length; at += size) {
    for (let b = 0; b < size; b++) out[at + b] = bytes[from + b];
    for (let d = sizes.length - 1; d >= 0; d--) {
      from += steps[d];
      if (++index[d] < sizes[d]) break;
      from -= sizes[d] * steps[d];
      index[d] = 0;
    }
  }
  return out;
}
