// inspect.js - the functions of this folder that the public Model calls; loaded together at the first such call
import { distribution as probabilities } from '../../engine/engine_captures.js';
import { biasOf } from '../../engine/logit_bias.js';

export { forward } from './forward.js';
export { loss } from './loss.js';
export { attribution, logitLens } from './logit_lens.js';
export { trace } from './trace.js';
export { weight } from './weight.js';

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

/** @param {Parameters<typeof import('../explain/explain.js').explain>} args  of the call in explain/ */
export const explain = async (...args) => (await import('../explain/explain.js')).explain(...args);

/** @param {Parameters<typeof import('./embed.js').embed>} args  of the call in encoders/ */
export const embed = async (...args) => (await import('./embed.js')).embed(...args);

/**
 * Call a function of adapters/, which is loaded at the first such call.
 * @param {LoadedModel} model
 * @param {'addAdapter' | 'setAdapter' | 'modules'} call
 * @param {any} arg
 */
export const adapter = async (model, call, arg) =>
  /** @type {any} */ ((await import('../../files/adapters/switch_adapter.js'))[call])(model, arg);

/**
 * Call a function of analysis/, which is loaded at the first such call.
 * @param {LoadedModel} model
 * @param {keyof typeof import('../analysis/analysis.js')} call
 * @param {any[]} args
 * @param {import('../loaded_model.js').Hooks} hooks
 */
export const analysis = async (model, call, args, hooks) =>
  /** @type {any} */ ((await import('../analysis/analysis.js'))[call])(model, ...args, hooks);
