// token_probabilities.js - candidates for the token after the selected one: the model's probabilities, and those with
// which the engine's sampler draws. The engine computes the latter: with each step while it writes, for other rows when
// asked (ask_model.js).
import { fillsBlanks } from './architecture.js';
import { cuts, sameRule } from './sampler_options.js';
import { isMask } from './special_tokens.js';
import { likeliest, sumAt, summed } from '../../../draw/likelihood.js';

/**
 * @typedef {object} Candidate
 * @property {number} id
 * @property {string} [text]
 * @property {number} model           the model's probability
 * @property {number | null} logit    null where the row of logits is not known
 * @property {number | null} softmax  probability of the logits divided by the temperature
 * @property {number | null} sampled  and after top-k and top-p; null where it is not known
 */
/** @typedef {Pick<import('../store/state.js').State, 'text' | 'sampler'> & { engine: { model: { config: any } | null } }} Shown */

/**
 * The probabilities of logits that are divided by a temperature.
 * @param {Float32Array} logits
 * @param {number} temperature  0: all of it lies on the largest
 * @returns {(id: number) => number}
 */
function divided(logits, temperature) {
  if (temperature === 0) {
    const [best] = summed(logits).order;
    return (id) => Number(id === best);
  }
  const all = sumAt(logits, temperature);
  return (id) => Math.exp(logits[id] / temperature - all);
}

/** The token that stands where the candidates might. An encoder's candidates belong at the selected place itself.
 * @param {Shown} s */
export const drawnOf = ({ text, engine }) => text.tokens[text.cursor + (fillsBlanks(engine.model?.config) ? 0 : 1)];

/**
 * Candidates of a row of logits, with what the engine has answered about it.
 * @param {Shown} s
 * @param {Float32Array} logits
 * @param {number} n
 */
function ofRow(s, logits, n) {
  const { text, sampler } = s,
    { sum, entropy } = summed(logits),
    drawn = drawnOf(s),
    size = logits.length,
    softmax = divided(logits, sampler.temperature),
    probabilities = text.sampled?.row === logits ? text.sampled.probabilities : null,
    list = likeliest(logits, n),
    texts = new Map(drawn && [...(drawn.top ?? []), drawn].map(({ id, text }) => [id, text])); // came with the step
  if (drawn && !isMask(drawn) && !list.some((c) => c.id === drawn.id))
    list[n - 1] = { id: drawn.id, model: Math.exp(logits[drawn.id] - sum) };
  /** @type {Candidate[]} */
  const candidates = list.map((c) => ({
    ...c,
    text: texts.get(c.id),
    logit: logits[c.id],
    softmax: softmax(c.id),
    sampled: probabilities && probabilities[c.id],
  }));
  if (!probabilities) return { candidates, drawable: null, size: null, entropy };
  const drawable = cuts(sampler) ? probabilities.reduce((count, p) => count + Number(p > 0), 0) : size;
  return { candidates, drawable, size, entropy };
}

/** What could follow the selected token, likeliest first, with the one that was drawn among them: from its row of logits
 * where that is known, else as the engine named them while it wrote.
 * @param {Shown} s @param {number} n */
export function following(s, n) {
  const drawn = drawnOf(s),
    logits = s.text.logits.get(s.text.cursor);
  if (logits) return ofRow(s, logits, n);
  if (!drawn?.top) return null;
  const asNow = sameRule(drawn.rule, s.sampler);
  const unknown = { logit: null, softmax: null };
  /** @type {Candidate[]} */
  const candidates = drawn.top.slice(0, n).map(({ id, text, logprob, probability }) => ({
    ...unknown,
    id,
    text,
    model: Math.exp(logprob),
    sampled: asNow ? probability : null,
  }));
  if (!candidates.some((c) => c.id === drawn.id)) {
    const { id, text, logprob } = drawn;
    const model = Math.exp(logprob ?? 0);
    candidates[Math.min(n - 1, candidates.length)] = { ...unknown, id, text, model, sampled: null };
  }
  return { candidates, drawable: null, size: null, entropy: null };
}
