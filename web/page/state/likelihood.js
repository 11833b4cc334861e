// likelihood.js - how likely a model finds tokens: the text's own, and those of experiments beside it.

/** Natural logarithm of the probability that these logits give a token.
 * @param {Float32Array} logits @param {number} id */
export function logprob(logits, id) {
  let max = -Infinity;
  for (let i = 0; i < logits.length; i++) if (logits[i] > max) max = logits[i];
  let sum = 0;
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i] - max);
  return logits[id] - max - Math.log(sum);
}
