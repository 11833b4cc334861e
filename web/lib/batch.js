// batch.js - several sequences at once, and what is averaged over one
import { beamSearch } from './beams.js';
import { Line } from './generate.js';
import { isList } from './model.js';
import { Pause } from './turn.js';
import { checkNames } from './options.js';
import { fail } from './formats/errors.js';

/** @typedef {import('./model.js').LoadedModel} LoadedModel */
/** @typedef {import('./engine.js').Tensor} Tensor */
/** @typedef {import('./generate.js').Step} Step */
/** @typedef {import('./generate.js').Summary} Summary */
/** @typedef {import('./generate.js').Checked} Checked */

/**
 * One more token, the last of its list, for each of several runs: in one pass over the weights where nothing is watched or edited.
 * @param {LoadedModel} f
 * @param {import('./run.js').Run[]} runs
 * @param {number[][]} lists
 */
export function nextAll(f, runs, lists) {
  const most = f.config.causal && runs.every((r) => r.plain) ? f.engine.schema.chunk : 1;
  for (let at = 0; at < runs.length; at += most) {
    const some = runs.slice(at, at + most);
    if (some.length === 1) some[0].next(lists[at]);
    else {
      f.engine.evalAll(some.map((r) => r.session), lists.slice(at, at + most).map((ids) => ids[ids.length - 1]));
      for (const run of some) run.advanced();
    }
  }
}

/**
 * Several prompts, one token of each in turn.
 * @param {LoadedModel} f
 * @param {number[][]} prompts
 * @param {Checked} o
 * @param {import('./generate.js').Delivery} hooks
 * @returns {AsyncGenerator<Step[], Summary, void>}
 */
export async function* generateMany(f, prompts, o, { signal }) {
  const pause = new Pause(signal);
  /** @type {Line[]} */
  const lines = [];
  /** @type {Summary[]} */
  const summaries = [];
  try {
    if (o.beams > 1) {
      for (const [sequence, prompt] of prompts.entries()) {
        const search = beamSearch(f, prompt, o, { signal });
        for (;;) {
          const { done, value } = await search.next();
          if (done) { summaries.push(value); break; }
          yield value.map((step) => ({ ...step, sequence }));
        }
      }
    } else {
      for (const prompt of prompts) lines.push(await Line.open(f, prompt, o, pause));
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
    stopReason: summaries[0].stopReason, prefillMs: sum('prefillMs'), decodeMs, tokensPerSecond: decodeMs ? n * 1000 / decodeMs : 0,
    sequences: prompts.map((p, i) => [...p, ...summaries[i].ids]), summaries,
  };
}

/**
 * One pass for each sequence, put together: [sequence, position, ...], zeros where a shorter one has ended.
 * @param {LoadedModel} f
 * @param {any[]} list
 * @param {Record<string, any>} o
 * @param {import('./turn.js').Pause} pause
 */
export async function forwardMany(f, list, o, pause) {
  if (o.mask && o.mask.length !== list.length) fail('bad-option', `mask has ${o.mask.length} rows, there are ${list.length} sequences`);
  const sources = o.source !== undefined && isList(o.source) ? Array.from(o.source) : null;
  if (sources && sources.length !== list.length) fail('bad-option', `there are ${sources.length} sources for ${list.length} sequences`);
  const batch = list.map((s, i) => f.ids(s, `input ${i}`, o.addSpecialTokens));
  const results = [];
  for (let i = 0; i < batch.length; i++) {
    /** @type {Record<string, any>} */
    const own = { ...o, mask: o.mask?.[i] };
    if (sources) { own.source = sources[i]; own.sourceMask = o.sourceMask?.[i]; }
    results.push(await f.forwardOne(batch[i], own, pause));
  }
  /** @type {Record<string, Tensor>} */
  const captured = {};
  for (const name of Object.keys(results[0].captured)) captured[name] = stack(results.map((r) => r.captured[name]));
  const main = f.config.kind === 'encoder' ? 'hidden' : 'logits';
  return { [main]: stack(results.map((r) => /** @type {Tensor} */ (r[main]))), captured };
}

/**
 * Mean of an encoder's hidden states over the positions that the mask shows.
 * @param {LoadedModel} f
 * @param {any} input
 * @param {{mask?: ArrayLike<number>}} options
 * @returns {Promise<Tensor>} [d_model]
 */
export async function embed(f, input, options) {
  checkNames(options, ['mask', 'addSpecialTokens'], 'embed');
  if (f.config.kind !== 'encoder') fail('unsupported', `embed needs an encoder, this model is of kind ${f.config.kind}`);
  const { hidden } = /** @type {{hidden: Tensor}} */ (await f.forward(input, options));
  const [n, d] = hidden.shape, mean = new Float64Array(d);
  let count = 0;
  for (let i = 0; i < n; i++) {
    if (options.mask && !options.mask[i]) continue;
    count++;
    for (let j = 0; j < d; j++) mean[j] += hidden.data[i * d + j];
  }
  return { data: Float32Array.from(mean, (v) => v / count), shape: [d] };
}

/** Tensors of equal rank as one with a batch axis in front; what a shorter one lacks is 0. @param {Tensor[]} list @returns {Tensor} */
function stack(list) {
  const shape = list[0].shape.map((_, axis) => Math.max(...list.map((t) => t.shape[axis])));
  const size = shape.reduce((a, b) => a * b, 1);
  const data = new Float32Array(list.length * size);
  list.forEach((t, b) => {
    const copy = (/** @type {number} */ axis, /** @type {number} */ from, /** @type {number} */ to) => {
      if (axis === shape.length - 1) return data.set(t.data.subarray(from, from + t.shape[axis]), to);
      const inFrom = t.shape.slice(axis + 1).reduce((x, y) => x * y, 1), inTo = shape.slice(axis + 1).reduce((x, y) => x * y, 1);
      for (let i = 0; i < t.shape[axis]; i++) copy(axis + 1, from + i * inFrom, to + i * inTo);
    };
    copy(0, 0, b * size);
  });
  return { data, shape: [list.length, ...shape] };
}
