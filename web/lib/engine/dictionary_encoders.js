// dictionary_encoders.js - encoders of sparse dictionaries in the engine, and edits of their features
//
// Same rules as instance.js: a view is created, used and dropped within one function, and results are copies.

import { rowOf } from './stored_rows.js';

/** @import { Engine } from './engine.js' */
/** @import { Instance } from './instance.js' */
/** @import { StoredRows } from './stored_rows.js' */
/** @import { Place } from './engine_captures.js' */
/**
 * The encoder of a dictionary: struct gf_features_spec in src/glassformer.h says what it computes.
 * @typedef {object} Encoder
 * @property {number} d
 * @property {number} size
 * @property {string} dtype
 * @property {number} k
 * @property {number} from
 * @property {number} norm
 * @property {StoredRows} w        [size, d]
 * @property {Float32Array} vectors  bias, threshold, gain and magnitude, [4, size]
 * @property {Float32Array | null} table  [vocab_size, d]
 * @property {{at: string, model?: string, name?: string}} origin  the point that it reads, and the model that it was
 *   made from
 */
/** The features of rows that are not 0: those of row i are at start[i] ... start[i + 1] - 1, in order.
 * @typedef {{start: Int32Array, index: Int32Array, value: Float32Array}} FeatureRows */

/** GF_FEATURE_ROWS in src/glassformer.h. */
const ROWS = 32;

/**
 * @param {Instance} e
 * @param {Encoder} encoder
 * @returns {number} address, for the calls below and closeFeatures
 */
export function openFeatures(e, { d, size, dtype, k, from, norm, w, vectors, table }) {
  const spec = [d, size, e.schema.dtypes.indexOf(dtype), k, from, norm, table ? table.length / d : 0];
  const at = e.scratch(4 * Math.max(spec.length, d));
  new Int32Array(e.memory.buffer, at, spec.length).set(spec);
  const f = e.pointer(e.x.gf_features_open(at, e.error));
  for (let i = 0; i < size; i++) {
    const row = e.scratch(4 * d);
    new Float32Array(e.memory.buffer, row, d).set(rowOf(w, i, d));
    e.x.gf_features_put(f, i, row);
  }
  new Float32Array(e.memory.buffer, e.x.gf_features_vectors(f) >>> 0, 4 * size).set(vectors);
  if (table) new Float32Array(e.memory.buffer, e.x.gf_features_table(f) >>> 0, table.length).set(table);
  return f;
}

/**
 * What openFeatures was given, in f32: the rows as they are stored.
 * @param {Engine} e
 * @param {number} f  address
 * @param {Omit<Encoder, 'dtype' | 'w' | 'vectors' | 'table'> & {vocabSize: number}} spec
 * @returns {Encoder}
 */
export function readFeatures(e, f, { vocabSize, ...spec }) {
  const { d, size } = spec;
  const w = new Float32Array(size * d);
  const row = e.scratch(4 * d);
  for (let i = 0; i < size; i++) {
    e.x.gf_features_get(f, i, row);
    w.set(new Float32Array(e.memory.buffer, row, d), i * d);
  }
  const vectors = e.floats(e.x.gf_features_vectors(f), 4 * size);
  const table = vocabSize ? e.floats(e.x.gf_features_table(f), vocabSize * d) : null;
  return { ...spec, dtype: 'f32', w, vectors, table };
}

/** @param {Pick<Engine, 'x'>} e @param {number} f */
export function closeFeatures(e, f) {
  e.x.gf_features_close(f);
}

/**
 * The features of the rows of a sequence.
 * @param {Engine} e
 * @param {number} f  address
 * @param {{d: number, size: number}} encoder
 * @param {Float32Array} rows  [n, d]
 * @param {ArrayLike<number>} ids  of the rows
 * @returns {FeatureRows}
 */
export function encodeRows(e, f, { d, size }, rows, ids) {
  const n = ids.length;
  const start = new Int32Array(n + 1);
  /** @type {number[]} */
  const index = [];
  /** @type {number[]} */
  const value = [];
  for (let at = 0; at < n; at += ROWS) {
    const count = Math.min(ROWS, n - at);
    const p = e.scratch(4 * ROWS * (d + 1));
    new Float32Array(e.memory.buffer, p, count * d).set(rows.subarray(at * d, (at + count) * d));
    new Int32Array(e.memory.buffer, p + 4 * ROWS * d, count).set(Array.prototype.slice.call(ids, at, at + count));
    const z = e.x.gf_features_encode(f, p, p + 4 * ROWS * d, at, count, 0) >>> 0;
    const values = new Float32Array(e.memory.buffer, z, count * size);
    for (let i = 0; i < values.length; i++) {
      if (values[i]) {
        index.push(i % size);
        value.push(values[i]);
      }
      if (i % size === size - 1) start[at + (i - size + 1) / size + 1] = index.length;
    }
  }
  return { start, index: Int32Array.from(index), value: Float32Array.from(value) };
}

/**
 * Edit a feature in later passes: z becomes scale z + add.
 * @param {import('./engine_captures.js').Edited} session
 * @param {Place} place
 * @param {number} position  absolute, or -1 for all
 * @param {{features: number, feature: number, scale: number, add: number, direction: Float32Array}} edit
 */
export function addFeatureEdit(session, { stack, layer, point }, position, { features, feature, ...edit }) {
  const { engine: e, ptr, editFeature = e.x.gf_session_edit_feature } = session;
  const { scale, add, direction } = edit;
  const p = e.scratch(4 * direction.length);
  new Float32Array(e.memory.buffer, p, direction.length).set(direction);
  e.check(editFeature(ptr, stack, layer, point, position, features, feature, scale, add, p, e.error));
}
