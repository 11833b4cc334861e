// inspect.js - the functions of this folder that the public Model calls; loaded together at the first such call
import { distribution as probabilities } from '../engine/probe.js';
import { checkedSampling } from '../input/options.js';

export { explain } from './explain.js';
export { embed, forward } from './forward.js';
export { attribution, logitLens } from './lens.js';
export { trace } from './trace.js';
export { weight } from './weight.js';

/** @typedef {import('../run/loaded_model.js').LoadedModel} LoadedModel */

/**
 * The probabilities with which the sampler would draw from these logits.
 * @param {LoadedModel} model
 * @param {Float32Array} logits  [vocab_size]
 * @param {Record<string, any>} [options]  sampling options, and `seen`: ids for the repetition penalty
 * @returns {Float32Array}
 */
export function distribution(model, logits, options = {}) {
  return probabilities(model.engine, logits, checkedSampling(options), options.seen ?? []);
}
