// rope_rows.js - the order of the rows of q and k, which decides whether the rotated pairs are halves or neighbours
import { rotaryDim } from './config.js';

/** @import { Config } from './config.js' */

/**
 * Rows of q or k for rotation of the other pairs: the rotated components of each head change their order, from first
 * halves, second halves to neighbours, or back. The rows of other weights are returned as they are.
 * @param {Config} c
 * @param {Config['rope_pairs']} from  the pairs that are rotated in the order of `data`
 * @param {string} name  in the roster
 * @param {Float32Array} data  row after row
 * @param {number} cols  of a row
 * @returns {Float32Array}
 */
export function rowsForOtherPairs(c, from, name, data, cols) {
  if (!/\.attn\.[qk](_norm(\.\d+)?)?\.\w+$/.test(name)) return data;
  const [width, rotated] = [c.d_head, rotaryDim(c)];
  const out = new Float32Array(data.length);
  for (let row = 0; row < data.length / cols; row++) {
    const i = row % width;
    const half = rotated / 2;
    const toNeighbours = i < half ? 2 * i : 2 * (i - half) + 1;
    const toHalves = i % 2 ? half + (i - 1) / 2 : i / 2;
    const to = i >= rotated ? i : from === 'half' ? toNeighbours : toHalves;
    out.set(data.subarray(row * cols, (row + 1) * cols), (row - i + to) * cols);
  }
  return out;
}
