// more.js - what a loaded model can do besides writing, in one chunk that is fetched at the first such question
import { distribution as probabilities } from '../engine/probe.js';
import { samplingOf } from '../input/options.js';

export { explain } from './explain.js';
export { embed, forward } from './forward.js';
export { attribution, logitLens } from './lens.js';
export { trace } from './trace.js';
export { weight } from './weight.js';

/** @typedef {import('../run/loaded_model.js').LoadedModel} LoadedModel */

/**
 * The distribution that a draw from these logits would have.
 * @param {LoadedModel} model
 * @param {Float32Array} logits  [vocab_size]
 * @param {Record<string, any>} [options]  those of sampling, and `seen`: ids for the repetition penalty
 * @returns {Float32Array}
 */
export function distribution(model, logits, options = {}) {
  return probabilities(model.engine, logits, samplingOf(options), options.seen ?? []);
}
