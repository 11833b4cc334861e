// batch.js - several sequences at once, and what is averaged over one
import { isList } from './model.js';
import { checkNames } from './options.js';
import { fail } from './formats/errors.js';

/** @typedef {import('./model.js').LoadedModel} LoadedModel */
/** @typedef {import('./engine.js').Tensor} Tensor */
/** @typedef {import('./generate.js').Step} Step */
/** @typedef {import('./generate.js').Summary} Summary */
/** @typedef {import('./generate.js').Checked} Checked */

/**
 * Several prompts, one token of each in turn.
 * @param {LoadedModel} f
 * @param {number[][]} prompts
 * @param {Checked} o
 * @param {import('./generate.js').Delivery} hooks
 * @param {typeof import('./generate.js').generate} one  how to continue a single prompt
 * @returns {AsyncGenerator<Step[], Summary, void>}
 */
export async function* generateMany(f, prompts, o, { signal }, one) {
  const runs = prompts.map((prompt) => one(f, prompt, o, { signal }));
  /** @type {Summary[]} */
  const summaries = [];
  try {
    let live = prompts.length;
    while (live) {
      for (let i = 0; i < runs.length; i++) {
        if (summaries[i]) continue;
        const { done, value } = await runs[i].next();
        if (done) { summaries[i] = value; live--; } else yield value.map((step) => ({ ...step, sequence: i }));
      }
    }
  } finally {
    await Promise.all(runs.map((r) => r.return(/** @type {any} */ (undefined))));
  }
  const sum = (/** @type {'prefillMs'|'decodeMs'} */ k) => summaries.reduce((n, s) => n + s[k], 0);
  const decodeMs = sum('decodeMs'), n = summaries.reduce((k, s) => k + s.ids.length, 0);
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
