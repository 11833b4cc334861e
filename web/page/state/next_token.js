// next_token.js - what may follow the selected token: the model's probabilities, and those with which the engine's
// sampler draws. The engine computes the latter: with each step while it writes, for other rows when asked (inquiry.js).
import { entropyOf, logSum } from './likelihood.js';

/** @typedef {{ id: number, text?: string, model: number, sampled: number | null }} Candidate  probability before and after
 *   the sampler, null where that is not known */
/** @typedef {Pick<import('./state.js').State['sampler'], 'temperature' | 'topK' | 'topP'>} Rule */

/** @typedef {Pick<import('./state.js').State, 'text' | 'sampler'>} Shown */

/** What decides the sampler's probabilities. @param {Rule} sampler @returns {Rule} */
export const ruleOf = ({ temperature, topK, topP }) => ({ temperature, topK, topP });

/** @param {Rule | null | undefined} a @param {Rule} b */
export const sameRule = (a, b) => a?.temperature === b.temperature && a.topK === b.topK && a.topP === b.topP;

/** @type {WeakMap<Float32Array, { order: Uint32Array, sum: number, entropy: number }>} several panels draw one row */
const known = new WeakMap();

/** Ids by falling logit, the logarithm of the sum of the exponentials, and the entropy in bits.
 * @param {Float32Array} logits */
function ranked(logits) {
  const found = known.get(logits);
  if (found) return found;
  const sum = logSum(logits),
    order = Uint32Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b),
    answer = { order, sum, entropy: entropyOf(logits.map((x) => Math.exp(x - sum))) };
  known.set(logits, answer);
  return answer;
}

/**
 * The likeliest tokens of a row of logits.
 * @param {Float32Array} logits [vocab_size]
 * @param {number} n
 * @returns {{ id: number, model: number }[]}
 */
export function likeliest(logits, n) {
  const { order, sum } = ranked(logits);
  return Array.from(order.subarray(0, n), (id) => ({ id, model: Math.exp(logits[id] - sum) }));
}

/**
 * Candidates of a row of logits, with what the engine has answered about it.
 * @param {Shown} s
 * @param {Float32Array} logits
 * @param {number} n
 */
function ofRow({ text, sampler }, logits, n) {
  const { sum, entropy } = ranked(logits),
    drawn = text.tokens[text.cursor + 1],
    { temperature, topK, topP } = sampler,
    size = logits.length,
    probabilities = text.sampled?.row === logits ? text.sampled.probabilities : null,
    list = likeliest(logits, n);
  if (drawn && !list.some((c) => c.id === drawn.id))
    list[n - 1] = { id: drawn.id, model: Math.exp(logits[drawn.id] - sum) };
  /** @type {Candidate[]} */
  const candidates = list.map((c) => ({ ...c, sampled: probabilities && probabilities[c.id] }));
  if (!probabilities) return { candidates, drawable: null, size: null, entropy, entropySampled: null };
  const cut = temperature === 0 || topK > 0 || topP < 1;
  const drawable = cut ? probabilities.reduce((count, p) => count + Number(p > 0), 0) : size;
  return { candidates, drawable, size, entropy, entropySampled: entropyOf(probabilities) };
}

/** What could follow the selected token, likeliest first, with the one that was drawn among them: from its row of logits
 * where that is known, else as the engine named them while it wrote.
 * @param {Shown} s @param {number} n */
export function following(s, n) {
  const drawn = s.text.tokens[s.text.cursor + 1],
    logits = s.text.logits.get(s.text.cursor);
  if (logits) return ofRow(s, logits, n);
  if (!drawn?.top) return null;
  const asNow = sameRule(drawn.rule, s.sampler);
  /** @type {Candidate[]} */
  const candidates = drawn.top.slice(0, n).map(({ id, text, logprob, probability }) => ({
    id,
    text,
    model: Math.exp(logprob),
    sampled: asNow ? probability : null,
  }));
  if (!candidates.some((c) => c.id === drawn.id)) {
    const { id, text, logprob } = drawn;
    candidates[Math.min(n - 1, candidates.length)] = { id, text, model: Math.exp(logprob ?? 0), sampled: null };
  }
  return { candidates, drawable: null, size: null, entropy: null, entropySampled: null };
}
