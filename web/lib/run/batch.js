// batch.js - the generation of several texts in one call
import { beamSearch } from './beams.js';
import { perSecond } from '../base/clock.js';
import { Generation } from './generate.js';
import { advanceAll } from './advance.js';
import { Yielder } from '../base/event_loop.js';
import { withOwnSource } from '../input/sources.js';

/** @typedef {import('./loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('./generate.js').Step} Step */
/** @typedef {import('./generate.js').Summary} Summary */
/** @typedef {import('./generate.js').Checked} Checked */

/**
 * Continue several prompts together: each pass runs one token of every text. The i-th prompt draws with seed + i and
 * gives the same text as alone.
 * @param {LoadedModel} model
 * @param {number[][]} prompts
 * @param {Checked} o
 * @param {import('./generate.js').Delivery} hooks
 * @returns {AsyncGenerator<Step[], Summary, void>}
 */
export async function* generateMany(model, prompts, o, { signal }) {
  const yielder = new Yielder(signal);
  const below = o.seed - 2 ** 53; // seed + i may exceed 2^53, where doubles lose digits; below + i does not
  const each = withOwnSource(o, prompts.length).map((own, i) => ({
    ...own,
    seed: below + i + (below + i < 0 ? 2 ** 53 : 0),
    source: own.source === undefined ? undefined : model.ids(own.source, `source ${i}`),
  }));
  /** @type {Generation[]} */
  const generations = [];
  /** @type {Summary[]} */
  const summaries = [];
  try {
    if (o.beams > 1) {
      for (const [sequence, prompt] of prompts.entries()) {
        const search = beamSearch(model, prompt, each[sequence], { signal });
        try {
          for (;;) {
            const { done, value } = await search.next();
            if (done) {
              summaries.push(value);
              break;
            }
            yield value.map((step) => ({ ...step, sequence }));
          }
        } finally {
          await search.return(/** @type {any} */ (undefined)); // a reader that stops ends the search too
        }
      }
    } else {
      for (const [i, prompt] of prompts.entries())
        generations.push(await Generation.open(model, prompt, each[i], yielder));
      let live = generations;
      while (live.length) {
        const steps = live.flatMap((generation) =>
          generation.choose().map((step) => ({ ...step, sequence: generations.indexOf(generation) })),
        );
        if (steps.length) yield steps;
        live = live.filter((generation) => generation.running);
        await yielder.yieldIfDue();
        for (const generation of live) generation.startPass();
        advanceAll(
          model,
          live.map((generation) => generation.sequence),
          live.map((generation) => generation.ids),
        );
      }
      summaries.push(...generations.map((generation) => generation.summary()));
    }
  } finally {
    for (const generation of generations) generation.sequence.close();
  }
  const sum = (/** @type {'prefillMs'|'decodeMs'} */ k) => summaries.reduce((n, s) => n + s[k], 0);
  // the texts of a batch share their passes: the decode time is that of the longest one
  const decodeMs = o.beams > 1 ? sum('decodeMs') : Math.max(...summaries.map((s) => s.decodeMs));
  const n = summaries.reduce((k, s) => k + s.ids.length, 0);
  return {
    text: summaries.map((s) => s.text).join('\n'),
    ids: summaries.flatMap((s) => s.ids),
    seed: o.seed,
    stopReason: summaries[0].stopReason,
    prefillMs: sum('prefillMs'),
    decodeMs,
    tokensPerSecond: perSecond(n, decodeMs),
    sequences: prompts.map((p, i) => [...p, ...summaries[i].ids]),
    summaries,
  };
}
