// pattern_source.js - the pattern of one head as a large matrix reads it
import { shade } from './heatmap.js';

/**
 * @param {import('./pattern_store.js').PatternStore | null} rows
 * @param {{ layer: number, head: number }} of
 * @param {boolean} causal  keys after the query are masked
 */
export const patternSource = (rows, { layer, head }, causal) => ({
  triangular: causal,
  shown: false,
  sums: true,
  row: (/** @type {number} */ query) => rows?.row(layer, head, query) ?? null,
  masked: (/** @type {number} */ query, /** @type {number} */ key) => causal && key > query,
  index: shade,
  identity: [rows, rows?.epoch, 'pattern', layer, head],
});
