// query_key_scores.js - scores of one attention for all queries and keys. The engine does not compute a score that the
// mask leaves out: before the mask, such a score is computed here as q · k.

import { yielder } from '../../state/base/yielding.js';

/**
 * @typedef {{ data: Float32Array, shape: number[] }} Tensor
 * @typedef {object} LayerScores  of one text
 * @property {string} key    of which point, text and model
 * @property {Tensor} scores [head, query, key]
 * @property {Tensor | null} q  [position, head, d], as multiplied; null: masked scores stay masked
 * @property {Tensor | null} k  [position, kv head, d]
 * @typedef {Awaited<ReturnType<typeof headScores>>} HeadScores
 */

/**
 * q · k, as the engine has it before any division.
 * @param {Tensor} q
 * @param {Tensor} k
 * @param {{ head: number, query: number, key: number }} at
 */
export function product(q, k, { head, query, key }) {
  const [, heads, d] = q.shape;
  const kvHeads = k.shape[1];
  const fromQ = (query * heads + head) * d;
  const fromK = (key * kvHeads + Math.floor((head * kvHeads) / heads)) * d;
  let sum = 0;
  for (let i = 0; i < d; i++) sum += q.data[fromQ + i] * k.data[fromK + i];
  return sum;
}

/**
 * The scores of one head: data [query, key], min and max of those that are finite.
 * @param {LayerScores} of
 * @param {number} head
 * @param {number} scale  that q · k is multiplied with in this form
 */
export async function headScores(of, head, scale) {
  const [, n, keys] = of.scores.shape;
  const own = of.scores.data.subarray(head * n * keys, (head + 1) * n * keys);
  const { q, k } = of;
  const data = q && k ? own.slice() : own;
  let [min, max] = [Infinity, -Infinity];
  const rest = yielder();
  for (let query = 0; query < n; query++) {
    for (let key = 0; key < keys; key++) {
      const i = query * keys + key;
      if (q && k && own[i] === -Infinity) data[i] = scale * product(q, k, { head, query, key });
      const value = data[i];
      if (value === -Infinity) continue;
      if (value < min) min = value;
      if (value > max) max = value;
    }
    await rest();
  }
  const masked = (/** @type {number} */ query, /** @type {number} */ key) => own[query * keys + key] === -Infinity;
  return { of, head, n, keys, data, min, max, masked };
}
