// likelihood.js - how likely a model finds tokens: the text's own, and those of experiments beside it.

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
