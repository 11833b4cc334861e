// distribution.js - the probabilities with which the sampler would draw from logits
import { distribution as probabilities } from '../../engine/engine_captures.js';
import { biasOf } from '../../engine/bias_and_penalties.js';

/** @typedef {import('../loaded_model.js').LoadedModel} LoadedModel */

/**
 * The probabilities with which the sampler would draw from these logits.
 * @param {LoadedModel} model
 * @param {Float32Array} logits  [vocab_size]
 * @param {Record<string, any>} [options]  sampling options; `seen`: ids for the repetition penalty; `generated`: those
 *   for presence and frequency penalty
 * @returns {Float32Array}
 */
export function distribution(model, logits, options = {}) {
  const { seen = [], generated = [], presencePenalty, frequencyPenalty, logitBias = [] } = options;
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const id of generated) counts.set(id, (counts.get(id) ?? 0) + 1);
  const adjustment = biasOf(logitBias, counts, presencePenalty, frequencyPenalty);
  return probabilities(model.engine, logits, options, seen, adjustment);
}
