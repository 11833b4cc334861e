// batch.js - generates several texts in one call
import { perSecond } from '../base/clock.js';
import { Generation } from './generate.js';
import { Yielder } from '../base/event_loop.js';
import { optionsPerSequence } from './encoder_sources.js';

/** @import { LoadedModel } from './loaded_model.js' */
/** @import { GenerationOptions, Step, Summary } from './generate.js' */

/**
 * Continue several prompts together: each pass runs one token of every text. The i-th prompt is sampled with seed + i,
 * and its text is the same as in a call of its own.
 * @param {LoadedModel} model
 * @param {number[][]} prompts
 * @param {GenerationOptions} o
 * @param {import('./generate.js').Delivery} hooks
 * @param {typeof sampleTogether} [each]  how the texts are found; default: by sampling
 * @returns {AsyncGenerator<Step[], Summary, void>}
 */
export async function* generateMany(model, prompts, o, { signal }, each = sampleTogether) {
  const seedBelowZero = o.seed - 2 ** 53; // seed + i may exceed 2^53, where doubles lose digits; below + i does not
  const optionsOfEach = optionsPerSequence(o, prompts.length).map((own, i) => ({
    ...own,
    seed: seedBelowZero + i + (seedBelowZero + i < 0 ? 2 ** 53 : 0),
    source: own.source === undefined ? undefined : model.ids(own.source, `source ${i}`),
  }));
  const summaries = yield* each(model, prompts, optionsOfEach, signal);
  const sum = (/** @type {'prefilledTokens'|'prefillMs'|'decodeMs'} */ k) => summaries.reduce((n, s) => n + s[k], 0);
  // The texts share their passes: the decode time is that of the longest text. Beam searches run one after the other.
  const decodeMs = o.beams > 1 ? sum('decodeMs') : Math.max(...summaries.map((s) => s.decodeMs));
  const ids = summaries.flatMap((s) => s.ids);
  return {
    ...summaries[0],
    text: summaries.map((s) => s.text).join('\n'),
    ids,
    seed: o.seed,
    prefilledTokens: sum('prefilledTokens'),
    prefillMs: sum('prefillMs'),
    decodeMs,
    tokensPerSecond: perSecond(ids.length, decodeMs),
    sequences: prompts.map((p, i) => [...p, ...summaries[i].ids]),
    summaries,
  };
}

/**
 * Generations by sampling, whose tokens run in shared passes.
 * @param {LoadedModel} model
 * @param {number[][]} prompts
 * @param {GenerationOptions[]} options  of each
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Step[], Summary[], void>}
 */
async function* sampleTogether(model, prompts, options, signal) {
  const yielder = new Yielder(signal);
  /** @type {Generation[]} */
  const generations = [];
  try {
    for (const [i, prompt] of prompts.entries())
      generations.push(await Generation.open(model, prompt, options[i], yielder));
    let running = generations;
    while (running.length) {
      const steps = running.flatMap((generation) =>
        generation.choose().map((step) => ({ ...step, sequence: generations.indexOf(generation) })),
      );
      if (steps.length) yield steps;
      running = running.filter((generation) => generation.running);
      await yielder.yieldIfDue();
      for (const generation of running) generation.startPass();
      advanceAll(model, running);
    }
    return generations.map((generation) => generation.summary());
  } finally {
    for (const generation of generations) generation.sequence.close();
  }
}

/**
 * Run the last token of each sequence. Sequences without captures and edits share one pass over the weights.
 * @param {LoadedModel} model
 * @param {{sequence: import('./sequence.js').Sequence, ids: number[]}[]} all  ids: all tokens of a sequence, including
 *   the one to run
 */
export function advanceAll(model, all) {
  const canShare = model.config.causal && all.every(({ sequence }) => sequence.unobserved);
  const groupSize = canShare ? model.engine.schema.chunk : 1;
  for (let at = 0; at < all.length; at += groupSize) {
    const group = all.slice(at, at + groupSize);
    if (group.length === 1) group[0].sequence.advance(group[0].ids);
    else {
      const sessions = group.map(({ sequence }) => sequence.session);
      const last = group.map(({ ids }) => ids[ids.length - 1]);
      model.engine.evalAll(sessions, last);
      for (const { sequence } of group) sequence.afterSharedPass();
    }
  }
}
