// written_stories.js - the text that labs train on, which the shipped model writes, and models trained on it
import { train } from '../../api/index.js';
import { trainEach } from './lab_training.js';

/** @import { Model } from '../../api/index.js' */
/** @import { LabOutcome, LabReport, RunOptions } from './labs.js' */

const TOKENS = 160;
const EVERY = 20;
const [STORIES, STEPS] = [80, 200];
/** Nats by which losses differ in earnest. */
export const APART = 0.02;

/**
 * Stories that the shipped model writes.
 * @param {Model} model
 * @param {number} n
 * @param {number} seed
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<LabReport, string, void>}
 */
export async function* written(model, n, seed, signal) {
  const stories = [];
  for (let i = 0; i < n; i++) {
    const { text } = await model.complete('Once upon a time', { maxTokens: TOKENS, seed: seed * 1009 + i, signal });
    stories.push(`Once upon a time${text}`);
    if (i % 8 === 7) yield { progress: 0, doing: `story ${i + 1} of ${n} is written`, figures: [] };
  }
  return stories.join('\n\n');
}

/**
 * Trains models of two layers that differ in one part, on the same stories from the same seed. The last of them is
 * the first one again with another seed: the difference that chance alone makes.
 * @param {RunOptions} o  change: the width of the stream
 * @param {[name: string, differs: import('../../engine/config/config_input.js').OwnConfig][]} ways
 * @param {(model: Model, name: string, text: string) => Promise<void>} measure  called with each trained model, which
 *   is then disposed
 * @returns {AsyncGenerator<LabReport, {losses: number[], trained: LabOutcome['trained']}, void>}
 */
export async function* trainWays({ model, seed, size, change: d_model, signal }, ways, measure) {
  const [stories, steps] = size === 'short' ? [24, EVERY] : [STORIES, STEPS];
  const text = yield* written(model, stories, seed, signal);
  const options = { steps, signal, vocabSize: 320, batchTokens: 1024, validation: 0.1, validateEvery: EVERY };
  const sizes = { d_model, n_layers: 2, n_heads: 4, context_length: 64 };
  const [[name, differs]] = ways;
  const asked = [...ways, /** @type {const} */ ([`${name}, other first weights`, differs])].map(([each, own], i) => ({
    name: each,
    start: () => train({ ...sizes, ...own }, text, { ...options, seed: i < ways.length ? seed : seed + 1000 }),
  }));
  return yield* trainEach('Loss of held-out stories', asked, async (training, each) => {
    const trained = await training.model();
    await measure(trained, each, text);
    trained.dispose();
    return [];
  });
}
