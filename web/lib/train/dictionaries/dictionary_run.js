// dictionary_run.js - the caller's side of training a dictionary: captures activations, and has the worker learn them
import { fail, show } from '../../base/errors.js';
import { sumOf } from '../run_provenance.js';
import { startTrainer } from '../training_run.js';
import { dictionaryOptions } from './dictionary_options.js';
import { captureRows, rowsIn, textsOf, windowsOf } from './dictionary_windows.js';
import { SparseDictionary } from './sparse_dictionary.js';
import { fingerprintOf } from '../../run/inspect/model_identity.js';
import { identified } from './dictionary_model.js';

/** @import { Model } from '../../api/model.js' */
/** @import { PackageFiles } from '../training_run.js' */
/**
 * The progress of a dictionary.
 * @typedef {object} DictionaryStep
 * @property {'capture' | 'train'} phase
 * @property {number} tokens  captured, or learnt from, so far: with several epochs each counts as often
 * @property {number} of      tokens of this phase
 * @property {number} fvu     fraction of the variance that is unexplained, in the newest steps; NaN while it captures
 * @property {number} l0      active features of a token, in the newest steps; NaN while it captures
 * @property {number} dead    features that no token of the last epoch activated
 */

/**
 * Trains a dictionary.
 * @param {PackageFiles} files
 * @param {Model} model
 * @param {any} text
 * @param {any} given
 * @returns {AsyncGenerator<DictionaryStep, SparseDictionary, void>}
 */
export async function* trainDictionary(files, model, text, given) {
  if (typeof model?.adapt !== 'function') fail('bad-argument', `model is ${show(model)}, expected a loaded model`);
  const o = dictionaryOptions(given);
  const { at, out, signal, from } = o;
  const windows = await windowsOf(model, textsOf(text), from, o.tokens + o.heldOut);
  const total = rowsIn(windows, from);
  const learnt = firstWindows(windows, from, Math.min(o.tokens, Math.max(1, total - o.heldOut)));
  const rows = rowsIn(learnt, from);
  if (!rows) fail('bad-argument', `the text has no tokens from position ${from} on`);
  const data = await sumOf(typeof text === 'string' ? text : Array.from(text));
  signal?.throwIfAborted();
  const { remote, engine, helper } = await startTrainer(files, o.worker, signal, o.threads);
  const stop = () => remote.close();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const started = performance.now();
    const captured = captureRows(model, learnt, o);
    const first = /** @type {import('./dictionary_windows.js').Captured} */ ((await captured.next()).value);
    const steps = Math.max(1, Math.floor((rows * o.epochs) / Math.min(o.batch, rows)));
    const order = {
      rows,
      dIn: first.dIn,
      dOut: out ? first.dOut : 0,
      vocabSize: o.tokenTable ? model.config.vocabSize : 0,
      size: o.size,
      k: o.k,
      batch: Math.min(o.batch, rows),
      steps,
      lr: o.lr ?? 0.006 * Math.sqrt(128 / first.dIn),
      decay: o.decay,
      seed: o.seed,
    };
    await remote.call('openDictionary', [order, o.threads, helper], { engine });
    let done = 0;
    for (let part = first; part; part = /** @type {any} */ ((await captured.next()).value)) {
      await remote.call('putRows', [done, part.tokens, part.x, part.y]);
      done += part.tokens.length;
      yield { phase: 'capture', tokens: done, of: rows, fvu: NaN, l0: NaN, dead: 0 };
    }
    const captureMs = performance.now() - started;
    await remote.call('prepareDictionary', []);
    let score = { step: 0, fvu: NaN, l0: NaN, dead: 0 };
    while (score.step < steps) {
      score = await remote.call('dictionarySteps', [steps - score.step]);
      const { step, ...rest } = score;
      const tokens = step * order.batch;
      yield { phase: 'train', tokens, of: steps * order.batch, fvu: rest.fvu, l0: rest.l0, dead: rest.dead };
    }
    const { weights, active } = await remote.call('dictionaryResult', []);
    const ms = { capture: captureMs, train: performance.now() - started - captureMs };
    const { glassformer, name, weights: sum, dtypes, kvDtype } = await model.provenance({ signal });
    const provenance = {
      ...{ glassformer, name, weights: sum, dtypes, kvDtype },
      ...{ ...order, data, at, out, from, epochs: o.epochs, tokens: rows },
      ...{ model: await fingerprintOf(identified(model)), d_model: model.config.dModel, layers: model.config.nLayers },
    };
    return SparseDictionary.trained(model, { ...o, ...order }, weights, {
      windows: learnt,
      heldOut: windows.slice(learnt.length),
      active,
      ms,
      provenance,
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    remote.close();
  }
}

/**
 * The first windows, with at most so many rows, at least one.
 * @param {number[][]} windows
 * @param {number} from
 * @param {number} most
 */
function firstWindows(windows, from, most) {
  let rows = 0;
  const end = windows.findIndex((ids) => (rows += ids.length - from) > most);
  return end < 0 ? windows : windows.slice(0, Math.max(1, end));
}
