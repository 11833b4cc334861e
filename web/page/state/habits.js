// habits.js - what each head of a decoder looks at as a rule. Measured on random tokens that come twice, where nothing but
// order and repetition can guide it (Olsson et al. 2022).
import { PATTERNS } from './points.js';

const LENGTH = 64; // tokens of a copy, at most
const LEAST = 0.4; // mean weight from which a head is said to have a habit

/**
 * @typedef {keyof typeof KEYS} Habit
 * @typedef {Record<Habit, number>} Scores  mean weight of the queries of the second copy
 */

/** The keys of a query, of a copy of n tokens, by what they are to it. */
const KEYS = {
  previous: (/** @type {number} */ q) => [q - 1],
  first: () => [0],
  same: (/** @type {number} */ q, /** @type {number} */ n) => [q, q - n],
  after: (/** @type {number} */ q, /** @type {number} */ n) => [q - n + 1],
};

/**
 * A token that begins a text, and random tokens twice.
 * @param {{ contextLength: number, vocabSize: number }} config
 * @param {number} begin  its id
 */
export function repeatedTokens({ contextLength, vocabSize }, begin) {
  const n = Math.min(LENGTH, (contextLength - 1) >> 1);
  let x = 1;
  const copy = Array.from({ length: n }, () => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    return 1 + Math.floor((x / 2 ** 32) * (vocabSize - 1));
  });
  return [begin, ...copy, ...copy];
}

/**
 * @param {Float32Array} data  pattern of a layer over repeated tokens, [heads, n, n]
 * @param {number} head
 * @param {number} n
 */
function scoresOf(data, head, n) {
  const copy = (n - 1) / 2;
  const mean = (/** @type {(q: number, n: number) => number[]} */ keys) => {
    let sum = 0;
    for (let q = copy + 1; q < n; q++) for (const key of keys(q, copy)) sum += data[(head * n + q) * n + key];
    return sum / copy;
  };
  return /** @type {Scores} */ (Object.fromEntries(Object.entries(KEYS).map(([habit, keys]) => [habit, mean(keys)])));
}

/**
 * The habit that a head has, null where it has none.
 * @param {Scores | undefined} scores
 */
export function habitOf(scores) {
  const all = /** @type {[Habit, number][]} */ (Object.entries(scores ?? {}));
  const [habit, score] = all.sort((a, b) => b[1] - a[1])[0] ?? [];
  return habit && score >= LEAST ? { habit, score } : null;
}

/**
 * Measure the habits of this model, once. Encoders and models of two stacks have none of them.
 * @param {import('./runtime.js').Runtime} runtime
 */
export async function wantHabits(runtime) {
  const { config, api } = runtime.loaded();
  if (runtime.measured === api || config.kind !== 'decoder' || config.causal === false || config.vocabSize < 3) return;
  runtime.measured = api;
  const ids = repeatedTokens(config, api.special.bos ?? 0);
  const { captured } = await api.forward(ids, { capture: [PATTERNS] }).catch(() => ({ captured: null })); // it is gone
  if (!captured || api !== runtime.model()) return;
  const habits = Array.from({ length: config.nLayers }, (_, layer) => {
    const { data } = captured[`blocks.${layer}.attn.hook_pattern`];
    return Array.from({ length: config.nHeads }, (_, head) => scoresOf(data, head, ids.length));
  });
  runtime.set({ attention: { habits } });
}
