// more.js - what a loaded model can do besides writing, in one chunk that is fetched at the first such question
import { distribution as probabilities, tensorRow } from './engine_probe.js';
import { checkNames, number, samplingOf } from './options.js';
import { fail, show } from './formats/errors.js';

export { explain } from './explain.js';
export { embed, forward } from './forward.js';
export { attribution, logitLens } from './lens.js';
export { trace } from './trace.js';

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
  if (!logits?.length) fail('bad-argument', `logits is ${show(logits)}, expected numbers`);
  return probabilities(f.engine, Float32Array.from(logits), samplingOf(options), Array.from(options.seen ?? []));
}

/**
 * A weight's numbers, dequantised: a vector, or one row of a matrix.
 * @param {LoadedModel} f
 * @param {string} name  as in the parameter table
 * @param {number} [row]
 * @returns {Float32Array}
 */
export function weight(f, name, row = 0) {
  const i = f.table.rows.findIndex((r) => r.name === name);
  if (i < 0) fail('bad-argument', `there is no weight ${show(name)}`);
  const { shape } = f.table.rows[i];
  number(`the row of ${name}`, row, 0, shape.length === 1 ? 0 : shape[0] - 1, true);
  return tensorRow(f.engine, i, row, shape[shape.length - 1]);
}
