// film_frames.js - attention while it forms: what each head does over one sentence, at one moment of training

import { PatternStore } from '../../../draw/pattern_store.js';

/**
 * @typedef {{ layer: number, head: number, habits: number[] }} HeadLook  habits: in the order of HABITS
 * @typedef {{ step: number, patterns: PatternStore, nHeads: number, heads: HeadLook[] }} Frame
 */

/**
 * What a head may turn out to do: the weight that a query puts on some keys, null where there is no such key. The last
 * is what Olsson et al. 2022 call induction. @type {((row: Float32Array, q: number, ids: number[]) => number | null)[]}
 */
export const HABITS = [
  (row, q) => row[q],
  (row, q) => row[q - 1],
  (row, q) => (q > 1 ? row[0] : null),
  (row, q, ids) =>
    row.reduce(
      (/** @type {number | null} */ sum, w, k) => (k > 0 && k < q && ids[k - 1] === ids[q] ? (sum ?? 0) + w : sum),
      null,
    ),
];
const RISE = 0.05; // a habit's weight rises by so much before it is told

/**
 * @param {number} step
 * @param {any} config
 * @param {any} captured  patterns of one pass over the sentence
 * @param {number[]} ids  of the sentence
 * @returns {Frame}
 */
export function frameOf(step, config, captured, ids) {
  const patterns = new PatternStore(config.nLayers, config.nHeads);
  patterns.append(captured);
  /** The mean over the queries that have such a key. */
  const meanOf = (/** @type {(typeof HABITS)[0]} */ of, /** @type {number} */ layer, /** @type {number} */ head) => {
    const row = (/** @type {number} */ q) => /** @type {Float32Array} */ (patterns.row(layer, head, q));
    const weights = ids.slice(1).flatMap((_, i) => of(row(i + 1), i + 1, ids) ?? []);
    return weights.reduce((sum, weight) => sum + weight, 0) / Math.max(1, weights.length);
  };
  const heads = [];
  for (let layer = 0; layer < config.nLayers; layer++)
    for (let head = 0; head < config.nHeads; head++)
      heads.push({ layer, head, habits: HABITS.map((of) => meanOf(of, layer, head)) });
  return { step, patterns, nHeads: config.nHeads, heads };
}

/**
 * The habit that grew most from the first frame to the last, null where none did.
 * @param {Frame} first
 * @param {Frame} last
 */
export function grown(first, last) {
  const all = last.heads.flatMap(({ layer, head, habits }, i) =>
    habits.map((to, habit) => ({ layer, head, habit, from: first.heads[i].habits[habit], to })),
  );
  const best = all.reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a));
  return best.to - best.from > RISE ? best : null;
}

const LOOKS = 40; // samples, and pictures of the film, at most

/** Drops the look with the nearest neighbours, the older of equals, where there are too many: the others are spread
 * evenly over the steps. First and newest stay. @template {{ step: number }} T @param {T[]} looks oldest first */
export function thinned(looks) {
  if (looks.length <= LOOKS) return looks;
  const gap = (/** @type {number} */ i) => looks[i + 1].step - looks[i - 1].step;
  let gone = 1;
  for (let i = 2; i + 1 < looks.length; i++) if (gap(i) < gap(gone)) gone = i;
  return looks.filter((_, i) => i !== gone);
}
