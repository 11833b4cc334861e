// batch.js - several texts at once
import { beamSearch } from './beams.js';
import { perSecond } from '../base/clock.js';
import { Line } from './generate.js';
import { nextAll } from './runs.js';
import { Pause } from '../base/turn.js';
import { withOwnSource } from '../input/sources.js';

/** @typedef {import('./loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('./generate.js').Step} Step */
/** @typedef {import('./generate.js').Summary} Summary */
/** @typedef {import('./generate.js').Checked} Checked */

/**
 * Several prompts, one token of each in turn. The i-th draws with seed + i, as it would alone.
 * @param {LoadedModel} f
 * @param {number[][]} prompts
 * @param {Checked} o
 * @param {import('./generate.js').Delivery} hooks
 * @returns {AsyncGenerator<Step[], Summary, void>}
 */
export async function* generateMany(f, prompts, o, { signal }) {
  const pause = new Pause(signal);
  const below = o.seed - 2 ** 53; // adding to it loses no digit
  const each = withOwnSource(o, prompts.length).map((own, i) => ({
    ...own, seed: below + i + (below + i < 0 ? 2 ** 53 : 0), source: own.source === undefined ? undefined : f.ids(own.source, `source ${i}`),
  }));
  /** @type {Line[]} */
  const lines = [];
  /** @type {Summary[]} */
  const summaries = [];
  try {
    if (o.beams > 1) {
      for (const [sequence, prompt] of prompts.entries()) {
        const search = beamSearch(f, prompt, each[sequence], { signal });
        try {
          for (;;) {
            const { done, value } = await search.next();
            if (done) { summaries.push(value); break; }
            yield value.map((step) => ({ ...step, sequence }));
          }
        } finally {
          await search.return(/** @type {any} */ (undefined)); // who leaves here leaves there
        }
      }
    } else {
      for (const [i, prompt] of prompts.entries()) lines.push(await Line.open(f, prompt, each[i], pause));
      let live = lines;
      while (live.length) {
        const steps = live.flatMap((line) => line.choose().map((step) => ({ ...step, sequence: lines.indexOf(line) })));
        if (steps.length) yield steps;
        live = live.filter((line) => line.goesOn);
        await pause.check();
        for (const line of live) line.resume();
        nextAll(f, live.map((line) => line.run), live.map((line) => line.ids));
      }
      summaries.push(...lines.map((line) => line.summary()));
    }
  } finally {
    for (const line of lines) line.run.close();
  }
  const sum = (/** @type {'prefillMs'|'decodeMs'} */ k) => summaries.reduce((n, s) => n + s[k], 0);
  // lines of a batch wait for one another: the clock is that of the longest
  const decodeMs = o.beams > 1 ? sum('decodeMs') : Math.max(...summaries.map((s) => s.decodeMs)), n = summaries.reduce((k, s) => k + s.ids.length, 0);
  return {
    text: summaries.map((s) => s.text).join('\n'), ids: summaries.flatMap((s) => s.ids), seed: o.seed,
    stopReason: summaries[0].stopReason, prefillMs: sum('prefillMs'), decodeMs, tokensPerSecond: perSecond(n, decodeMs),
    sequences: prompts.map((p, i) => [...p, ...summaries[i].ids]), summaries,
  };
}
