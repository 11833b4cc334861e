// more.js - what a loaded model can do besides writing, in one chunk that is fetched at the first such question
import { distribution as probabilities } from './engine_probe.js';
import { checkNames, samplingOf } from './options.js';
import { fail, show } from './formats/errors.js';

export { explain } from './explain.js';
export { embed, forward } from './forward.js';
export { attribution, logitLens } from './lens.js';
export { trace } from './trace.js';
export { weight } from './weight.js';

/** @typedef {import('./model.js').LoadedModel} LoadedModel */

/**
 * The distribution that a draw from these logits would have.
 * @param {LoadedModel} f
 * @param {ArrayLike<number>} logits  [vocab_size]
 * @param {Record<string, any>} [options]  those of sampling, and `seen`: ids for the repetition penalty
 * @returns {Float32Array}
 */
export function distribution(f, logits, options = {}) {
  checkNames(options, ['temperature', 'topK', 'topP', 'minP', 'repetitionPenalty', 'seen'], 'distribution');
  if (!Number.isInteger(logits?.length) || !logits.length || !Array.from(logits).every((x) => typeof x === 'number')) fail('bad-argument', `logits is ${show(logits)}, expected numbers`);
  return probabilities(f.engine, Float32Array.from(logits), samplingOf(options), f.checkIds(options.seen ?? [], 'seen'));
}
