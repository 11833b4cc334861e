// stored_rows.js - rows of a matrix that are read one at a time: as f32, or in 8 bits, a factor for each 32 values
const BLOCK = 32;

/** The nearest integer; halves go away from 0. @param {number} x */
const nearest = (x) => Math.sign(x) * Math.floor(Math.abs(x) + 0.5);

/** A row begins with a block of its own. @typedef {{q: Int8Array, scale: Float32Array}} PackedRows */
/** @typedef {Float32Array | PackedRows} StoredRows [rows, cols] */

/**
 * Rows in 8 bits, rounded as the engine's q8_0 (quantize_q8_0 in src/kernels/quant.c), which rounds a row that is read
 * back to the same integers.
 * @param {Float32Array} x  [rows, cols]
 * @param {number} cols
 * @returns {PackedRows}
 */
export function packRows(x, cols) {
  const rows = x.length / cols;
  const blocks = Math.ceil(cols / BLOCK);
  const q = new Int8Array(x.length);
  const scale = new Float32Array(rows * blocks);
  for (let r = 0; r < rows; r++)
    for (let b = 0; b < blocks; b++) {
      const [from, to] = [r * cols + b * BLOCK, r * cols + Math.min(cols, (b + 1) * BLOCK)];
      let most = 0;
      for (let i = from; i < to; i++) most = Math.max(most, Math.abs(x[i]));
      const at = r * blocks + b;
      scale[at] = most / 127;
      const inverse = scale[at] && Math.fround(1 / scale[at]);
      for (let i = from; i < to; i++) q[i] = nearest(Math.fround(x[i] * inverse));
    }
  return { q, scale };
}

/**
 * @param {StoredRows} rows
 * @param {number} i
 * @param {number} cols
 * @returns {Float32Array<ArrayBuffer>} a copy
 */
export function rowOf(rows, i, cols) {
  if (rows instanceof Float32Array) return rows.slice(i * cols, (i + 1) * cols);
  const { q, scale } = rows;
  const first = i * Math.ceil(cols / BLOCK);
  return Float32Array.from({ length: cols }, (_, c) => q[i * cols + c] * scale[first + Math.floor(c / BLOCK)]);
}

/**
 * @param {StoredRows} rows
 * @param {number} cols
 * @returns {Float32Array}
 */
export function wholeRows(rows, cols) {
  if (rows instanceof Float32Array) return rows;
  const out = new Float32Array(rows.q.length);
  for (let i = 0; i * cols < out.length; i++) out.set(rowOf(rows, i, cols), i * cols);
  return out;
}
