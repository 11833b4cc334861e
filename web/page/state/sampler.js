// sampler.js - what temperature, top-k and top-p make of one row of logits, in the engine's order.
// Only for drawing: the engine samples by itself, from the same rule.

/** @typedef {{ id: number, text?: string, model: number, sampled: number | null }} Candidate  probability before and after the sampler, null where
 *   that is not known */

/**
 * @param {Float32Array} logits [vocab_size]
 * @param {{ temperature: number, topK: number, topP: number }} sampler  topK 0 and topP 1 switch off
 * @param {number} n  candidates wanted, likeliest first
 */
export function distribution(logits, sampler, n) {
  const key = `${sampler.temperature} ${sampler.topK} ${sampler.topP} ${n}`;
  const known = answers.get(logits);
  if (known?.key === key) return known.answer;
  const answer = weigh(logits, sampler, n);
  answers.set(logits, { key, answer });
  return answer;
}

/**
 * @type {WeakMap<Float32Array, { key: string, answer: ReturnType<typeof weigh> }>} the same row is drawn by several
 *   panels
 */
const answers = new WeakMap();

function weigh(logits, sampler, n) {
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
    candidates.push({
      id: order[i],
      model: Math.exp(logits[order[i]] - max) / sum,
      sampled: i < kept ? weight(i) / total : 0,
    });
  }
  const rank = (/** @type {number} */ id) => order.indexOf(id);
  const of = (/** @type {number} */ id) => {
    const at = rank(id);
    return { id, model: Math.exp(logits[id] - max) / sum, sampled: at < kept ? weight(at) / total : 0 };
  };
  return { candidates, kept, entropy, entropySampled, of };
}

/** What could follow the selected token, likeliest first, with the one that was drawn among them: exact when the logits
 * are known, else as the engine named them while it wrote (`sampled` is null then).
 * @param {Pick<import('./state.js').State, 'text' | 'sampler'>} s @param {number} n */
export function following(s, n) {
  const drawn = s.text.tokens[s.text.cursor + 1];
  const logits = s.text.logits.get(s.text.cursor);
  if (logits) {
    const d = distribution(logits, s.sampler, n);
    const list = [...d.candidates];
    if (drawn && !list.some((c) => c.id === drawn.id)) list[n - 1] = d.of(drawn.id);
    return {
      candidates: list,
      kept: d.kept,
      size: logits.length,
      entropy: d.entropy,
      entropySampled: d.entropySampled,
    };
  }
  if (!drawn?.top) return null;
  /** @type {Candidate[]} */
  const list = drawn.top
    .slice(0, n)
    .map((t) => ({ id: t.id, text: t.text, model: Math.exp(t.logprob), sampled: null }));
  if (!list.some((c) => c.id === drawn.id))
    list[Math.min(n - 1, list.length)] = {
      id: drawn.id,
      text: drawn.text,
      model: Math.exp(drawn.logprob ?? 0),
      sampled: null,
    };
  return { candidates: list, kept: null, size: null, entropy: null, entropySampled: null };
}

/**
 * The probability to draw: under the sampler where that is known.
 * @param {{ model: number, sampled: number | null }} c
 */
export const chance = (c) => (c.sampled === null ? c.model : c.sampled);
