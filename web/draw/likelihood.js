// likelihood.js - how likely a model finds tokens: probabilities, entropies, ranks

/** The logarithm of the sum of the exponentials of logits. @param {Float32Array} logits */
export function logSum(logits) {
  let max = -Infinity;
  for (let i = 0; i < logits.length; i++) if (logits[i] > max) max = logits[i];
  let sum = 0;
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i] - max);
  return max + Math.log(sum);
}

/** Natural logarithm of the probability that these logits give a token.
 * @param {Float32Array} logits @param {number} id */
export const logprob = (logits, id) => logits[id] - logSum(logits);

/** Bits of a distribution. @param {Float32Array} probabilities */
export const entropyOf = (probabilities) =>
  probabilities.reduce((bits, p) => (p > 0 ? bits - p * Math.log2(p) : bits), 0);

/** @type {WeakMap<Float32Array, { order: Uint32Array, sum: number, entropy: number }>} several panels draw one row */
const known = new WeakMap();

/** Ids by falling logit, the logarithm of the sum of the exponentials, and the entropy in bits.
 * @param {Float32Array} logits */
export function ranked(logits) {
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
