// sampler.js - what temperature, top-k and top-p make of one row of logits, in the engine's order.
// Only for drawing: the engine samples by itself, from the same rule.

/** @typedef {{ id: number, model: number, sampled: number }} Candidate  probability before and after the sampler */

/**
 * @param {Float32Array} logits [vocab_size]
 * @param {{ temperature: number, topK: number, topP: number }} sampler  topK 0 and topP 1 switch off
 * @param {number} n  candidates wanted, likeliest first
 */
export function distribution(logits, sampler, n) {
  const size = logits.length;
  let max = -Infinity;
  for (let i = 0; i < size; i++) if (logits[i] > max) max = logits[i];
  let sum = 0;
  let dot = 0;
  for (let i = 0; i < size; i++) {
    const e = Math.exp(logits[i] - max);
    sum += e;
    dot += e * (logits[i] - max || 0);
  }
  // H = log sum - E[logit - max], in bits
  const entropy = (Math.log(sum) - dot / sum) / Math.LN2;

  const order = Uint32Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
  const t = sampler.temperature;
  let kept = t === 0 ? 1 : sampler.topK > 0 ? Math.min(sampler.topK, size) : size;
  const weight = (/** @type {number} */ i) => (t === 0 ? 1 : Math.exp((logits[order[i]] - max) / t));
  let total = 0;
  for (let i = 0; i < kept; i++) total += weight(i);
  if (t > 0 && sampler.topP < 1) {
    let mass = 0;
    let i = 0;
    while (i < kept && mass < sampler.topP * total) mass += weight(i++);
    kept = Math.max(1, i);
    total = mass;
  }
  let entropySampled = 0;
  for (let i = 0; i < kept; i++) {
    const p = weight(i) / total;
    if (p > 0) entropySampled -= p * Math.log2(p);
  }
  /** @type {Candidate[]} */
  const candidates = [];
  for (let i = 0; i < Math.min(n, size); i++) {
    candidates.push({ id: order[i], model: Math.exp(logits[order[i]] - max) / sum, sampled: i < kept ? weight(i) / total : 0 });
  }
  const rank = (/** @type {number} */ id) => order.indexOf(id);
  const of = (/** @type {number} */ id) => {
    const at = rank(id);
    return { id, model: Math.exp(logits[id] - max) / sum, sampled: at < kept ? weight(at) / total : 0 };
  };
  return { candidates, kept, entropy, entropySampled, of };
}
