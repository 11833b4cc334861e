// sorting_task.js - the task of the lab "sorting": a list of numbers, "=", and the numbers in order
import { train } from '../../api/index.js';
import { examplesOf } from './lab_training.js';
import { randomIntegers } from './measures.js';

/** @import { TrainExample, TrainOptions } from '../../api/index.js' */

/** The numbers are 0 to one less; the id is that of "=". */
export const NUMBERS = 51;
const VOCABULARY = [...Array.from({ length: NUMBERS }, (_, i) => String(i)), '='];
/** Numbers in a list of the shipped model. */
export const LENGTH = 10;
/**
 * The model of ARENA: one layer of attention alone with two heads.
 * @type {import('../../engine/config/config_input.js').OwnConfig}
 */
const CONFIG = {
  vocab_size: NUMBERS + 1,
  d_model: 96,
  n_layers: 1,
  n_heads: 2,
  ffn: 'none',
  norm: 'layernorm',
  position: 'learned',
  tie_word_embeddings: false,
};
const OPTIONS = { lr: 0.003, weightDecay: 0 };

/**
 * @param {(n: number) => number} random
 * @param {number} n  numbers in the list
 * @returns {TrainExample & {ids: number[], targets: number[]}} only the numbers after "=" count
 */
export function sortingOf(random, n) {
  const list = Array.from({ length: n }, () => random(NUMBERS));
  const sorted = list.slice().sort((a, b) => a - b);
  return { ids: [...list, NUMBERS, ...sorted.slice(0, -1)], targets: [...list.map(() => -1), ...sorted] };
}

/**
 * Trains a model to sort.
 * @param {typeof CONFIG} config  what differs from CONFIG
 * @param {TrainOptions} options  what differs from OPTIONS
 * @param {{seed: number, least?: number, most: number, batch?: number, held?: number}} lists  least, most: numbers in a
 *   list; held: lists to validate on
 */
export function trainSorting(config, options, { seed, most, least = most, batch = 128, held = 100 }) {
  const one = (/** @type {(n: number) => number} */ random) =>
    sortingOf(random, least === most ? most : least + random(most - least + 1));
  const random = randomIntegers(seed);
  const validation = Array.from({ length: held }, () => one(random));
  const data = { examples: examplesOf(seed, batch, one), vocabulary: VOCABULARY };
  const all = { ...OPTIONS, seed, batchTokens: 2 * most * batch, validation, ...options };
  return train({ ...CONFIG, context_length: 2 * most + 1, ...config }, data, all);
}
