// head_scores.js - how much each head attends to the previous token, to the first, to itself, to an earlier copy of the
// token (duplicate) and to what followed that copy (induction: Olsson et al. 2022)
import { forwardOne } from '../inspect/forward.js';
import { Yielder } from '../../base/event_loop.js';
import { fail } from '../../base/errors.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/**
 * Mean weights of the queries of the second copy.
 * @typedef {{previous: number, first: number, self: number, duplicate: number, induction: number}} HeadScores
 */

const LENGTH = 64; // tokens of a copy, at most

/** The key of query q, of a copy of n tokens. @type {Record<keyof HeadScores, (q: number, n: number) => number>} */
const KEYS = {
  previous: (q) => q - 1,
  first: () => 0,
  self: (q) => q,
  duplicate: (q, n) => q - n,
  induction: (q, n) => q - n + 1,
};

/**
 * A token that begins a text, and random tokens twice: nothing but order and repetition can guide a head.
 * @param {number} context  positions
 * @param {number} vocab    vocab_size, at least 2
 * @param {number} begin    id of the first token
 */
export function repeatedTokens(context, vocab, begin) {
  const n = Math.min(LENGTH, (context - 1) >> 1);
  let x = 1;
  const copy = Array.from({ length: n }, () => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    return 1 + Math.floor((x / 2 ** 32) * (vocab - 1));
  });
  return [begin, ...copy, ...copy];
}

/**
 * @param {LoadedModel} model
 * @param {{edits?: import('../inspect/edits.js').Edit[]}} o
 * @param {import('../calls.js').Hooks} hooks
 * @returns {Promise<HeadScores[][]>} [layer][head]
 */
export async function headScores(model, { edits }, { signal }) {
  const { kind, causal, vocab_size: vocab, n_layers: layers, n_heads: heads } = model.config;
  if (kind !== 'decoder' || !causal || vocab < 3 || model.contextLength < 3)
    fail('unsupported', 'head scores are those of a causal decoder with at least 3 tokens and 3 positions');
  const ids = repeatedTokens(model.contextLength, vocab, model.special.bos ?? 0);
  const n = ids.length;
  const copy = (n - 1) / 2;
  const options = { edits, capture: ['blocks.*.attn.hook_pattern'], logits: 'none' };
  const { captured } = await forwardOne(model, ids, options, new Yielder(signal));
  return Array.from({ length: layers }, (_, layer) => {
    const { data } = captured[`blocks.${layer}.attn.hook_pattern`];
    return Array.from({ length: heads }, (_, head) => {
      const mean = (/** @type {(q: number, n: number) => number} */ key) => {
        let sum = 0;
        for (let q = copy + 1; q < n; q++) sum += data[(head * n + q) * n + key(q, copy)];
        return sum / copy;
      };
      return /** @type {HeadScores} */ (
        Object.fromEntries(Object.entries(KEYS).map(([name, key]) => [name, mean(key)]))
      );
    });
  });
}
