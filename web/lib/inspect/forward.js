// forward.js - one pass over a sequence or over several, and the mean hidden state of an encoder
import { readHidden } from '../engine/probe.js';
import { Yielder } from '../base/event_loop.js';
import { isSequenceList, checkSingleMask } from '../input/options.js';
import { optionsPerSequence } from '../input/sources.js';
import { fail } from '../base/errors.js';

/** @typedef {import('../run/loaded_model.js').LoadedModel} LoadedModel */
/** @typedef {import('../run/loaded_model.js').Hooks} Hooks */
/** @typedef {import('../engine/engine.js').Tensor} Tensor */

/**
 * Runs the public call forward.
 * @param {LoadedModel} model
 * @param {any} input  text, ids, or a list of several
 * @param {Record<string, any>} [options]
 * @param {Hooks} [hooks]
 */
export async function forward(model, input, options = {}, { signal } = {}) {
  const yielder = new Yielder(signal);
  await yielder.yieldIfDue();
  if (isSequenceList(input)) return forwardMany(model, Array.from(input), options, yielder);
  return forwardOne(model, model.ids(input, 'input', options.addSpecialTokens), options, yielder);
}

/**
 * One pass over one sequence.
 * @param {LoadedModel} model
 * @param {number[]} ids
 * @param {Record<string, any>} o  options of forward
 * @param {Yielder} yielder
 * @returns {Promise<{logits?: Tensor, hidden?: Tensor, captured: Record<string, Tensor>}>} logits: [position,
 *   vocab_size]; hidden: of an encoder, [position, d_model]
 */
export async function forwardOne(model, ids, o, yielder) {
  const { config } = model;
  model.checkLength(ids.length, 'input');
  if (o.source !== undefined) o = { ...o, source: model.ids(o.source, 'source') };
  const sequence = await model.openSequence(o);
  try {
    if (config.kind === 'encoder') {
      await sequence.encodeSource(o, yielder);
      sequence.encodeOnly(ids, model.mask(o.mask, ids.length, 'mask'));
      return { hidden: readHidden(sequence.session, config.d_model), captured: sequence.takeCaptured() ?? {} };
    }
    const n = o.mask !== undefined && o.mask !== null ? positionsBeforePadding(o.mask, ids.length) : ids.length;
    await sequence.encodeSource(o, yielder);
    const data = new Float32Array(ids.length * config.vocab_size);
    await sequence.prefill(ids.slice(0, n), yielder, (first, rows) => {
      data.set(sequence.session.logits(0, rows, config.vocab_size), first * config.vocab_size);
    });
    return { logits: { data, shape: [ids.length, config.vocab_size] }, captured: sequence.takeCaptured() ?? {} };
  } finally {
    sequence.close();
  }
}

/**
 * The number of positions before the padding. The mask of a decoder can only hide padding at the end.
 * @param {ArrayLike<number>} mask
 * @param {number} n  positions of the sequence
 * @returns {number}
 */
function positionsBeforePadding(mask, n) {
  checkSingleMask(mask, 'mask');
  if (mask.length !== n) fail('bad-option', `mask has ${mask.length} entries, the sequence has ${n} positions`);
  const list = Array.from(mask, Boolean);
  const end = list.lastIndexOf(true) + 1;
  if (!end || (list.indexOf(false) < end && list.includes(false)))
    fail(
      'bad-option',
      'mask: a decoder takes padding at the end of a sequence only, and at least one position before it',
    );
  return end;
}

/**
 * One pass for each sequence. The results are stacked, [sequence, position, ...]; shorter sequences are padded with
 * zeros.
 * @param {LoadedModel} model
 * @param {any[]} list
 * @param {Record<string, any>} o
 * @param {import('../base/event_loop.js').Yielder} yielder
 */
async function forwardMany(model, list, o, yielder) {
  if (o.mask && o.mask.length !== list.length)
    fail('bad-option', `mask has ${o.mask.length} rows, there are ${list.length} sequences`);
  const each = optionsPerSequence(o, list.length);
  const batch = list.map((s, i) => model.ids(s, `input ${i}`, o.addSpecialTokens));
  const results = [];
  for (let i = 0; i < batch.length; i++) {
    results.push(await forwardOne(model, batch[i], { ...each[i], mask: o.mask?.[i] }, yielder));
  }
  /** @type {Record<string, Tensor>} */
  const captured = {};
  for (const name of Object.keys(results[0].captured)) captured[name] = stack(results.map((r) => r.captured[name]));
  const main = model.config.kind === 'encoder' ? 'hidden' : 'logits';
  return { [main]: stack(results.map((r) => /** @type {Tensor} */ (r[main]))), captured };
}

/**
 * The mean of an encoder's hidden states over the positions that the mask does not hide.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {{mask?: ArrayLike<number>}} [options]
 * @param {Hooks} [hooks]
 * @returns {Promise<Tensor>} [d_model]
 */
export async function embed(model, input, options = {}, hooks = {}) {
  if (model.config.kind !== 'encoder')
    fail('unsupported', `embed needs an encoder, this model is of kind ${model.config.kind}`);
  if (isSequenceList(input))
    fail('bad-argument', 'the input is a list of several, embed takes one text or one list of ids at a time');
  const { hidden } = /** @type {{hidden: Tensor}} */ (await forward(model, input, options, hooks));
  const [n, d] = hidden.shape;
  const mean = new Float64Array(d);
  let count = 0;
  for (let i = 0; i < n; i++) {
    if (options.mask && !options.mask[i]) continue;
    count++;
    for (let j = 0; j < d; j++) mean[j] += hidden.data[i * d + j];
  }
  return { data: Float32Array.from(mean, (v) => v / count), shape: [d] };
}

/**
 * Stack tensors of equal rank on a new first axis, padded with zeros to the largest.
 * @param {Tensor[]} list
 * @returns {Tensor}
 */
function stack(list) {
  const shape = list[0].shape.map((_, axis) => Math.max(...list.map((t) => t.shape[axis])));
  const size = shape.reduce((a, b) => a * b, 1);
  const data = new Float32Array(list.length * size);
  list.forEach((t, b) => {
    const copy = (/** @type {number} */ axis, /** @type {number} */ from, /** @type {number} */ to) => {
      if (axis === shape.length - 1) return data.set(t.data.subarray(from, from + t.shape[axis]), to);
      const inFrom = t.shape.slice(axis + 1).reduce((x, y) => x * y, 1);
      const inTo = shape.slice(axis + 1).reduce((x, y) => x * y, 1);
      for (let i = 0; i < t.shape[axis]; i++) copy(axis + 1, from + i * inFrom, to + i * inTo);
    };
    copy(0, 0, b * size);
  });
  return { data, shape: [list.length, ...shape] };
}
