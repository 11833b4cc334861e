// head_profile.js - what a head looks at, as numbers: the mean over the queries of its weight on some of the keys

import { HABITS } from '../../text/inside.js';

/**
 * @typedef {import('../../state/patterns.js').PatternStore} PatternStore
 * @typedef {keyof typeof HABITS} Habit
 */

/**
 * The weights of one query by what they lie on.
 * @param {Float32Array} row
 * @param {number} q
 * @param {number[]} ids
 * @returns {Record<Habit | 'bits', number>} bits: the entropy of the weights
 */
export function rowProfile(row, q, ids) {
  let [same, after, bits] = [0, 0, 0];
  for (let k = 0; k < row.length; k++) {
    const w = row[k];
    if (w <= 0) continue;
    bits -= w * Math.log2(w);
    if (k >= q) continue;
    if (ids[k] === ids[q]) same += w;
    if (k > 0 && ids[k - 1] === ids[q]) after += w;
  }
  return { self: row[q], previous: row[q - 1], first: row[0], same, after, bits };
}

/** Means over the queries after the first. Rows that were added stay added: a row never changes. */
export class HeadProfile {
  #of = '';
  /** @type {PatternStore | null} */
  #patterns = null;
  #sums = { self: 0, previous: 0, first: 0, same: 0, after: 0, bits: 0 };
  #next = 1;

  /**
   * @param {PatternStore} patterns
   * @param {{ layer: number, head: number }} head
   * @param {number[]} ids  of the text
   * @returns {{ shares: [Habit, number][], tokens: number }} tokens: that its weight is spread over, 2 to the mean entropy
   */
  read(patterns, { layer, head }, ids) {
    const of = `${patterns.epoch} ${layer} ${head}`;
    if (of !== this.#of || patterns !== this.#patterns) {
      this.#of = of;
      this.#patterns = patterns;
      this.#sums = { self: 0, previous: 0, first: 0, same: 0, after: 0, bits: 0 };
      this.#next = 1;
    }
    const sums = this.#sums;
    for (; this.#next < patterns.known(layer); this.#next++) {
      const row = patterns.row(layer, head, this.#next);
      if (!row) break;
      const own = rowProfile(row, this.#next, ids);
      for (const key of /** @type {(keyof typeof sums)[]} */ (Object.keys(sums))) sums[key] += own[key];
    }
    const n = Math.max(1, this.#next - 1);
    const habits = /** @type {Habit[]} */ (Object.keys(HABITS));
    return { shares: habits.map((key) => [key, sums[key] / n]), tokens: 2 ** (sums.bits / n) };
  }
}
