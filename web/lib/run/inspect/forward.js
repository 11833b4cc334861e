// forward.js - one pass over a sequence or over several
import { hasHead, headWidth, isLabelPooled } from '../../engine/config/config.js';
import { readHidden, readPooled } from '../../engine/engine_captures.js';
import { Yielder } from '../../base/event_loop.js';
import { isSequenceList, checkSingleMask } from '../generation_options.js';
import { optionsPerSequence } from '../encoder_sources.js';
import { fail } from '../../base/errors.js';
import { withFunctions } from './edits.js';
import { requireFinite } from './finite_check.js';
import { typedIds } from './typed_ids.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Hooks } from '../calls.js' */
/** @import { Tensor } from '../../engine/engine.js' */
/** @import { EngineSession } from '../../engine/engine_session.js' */

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
  if (Array.isArray(options.edits?.[0])) fail('bad-option', 'edits[0] is a list, which is for one of several inputs');
  const { ids, types } = typedIds(model, input, 'input', options);
  return forwardOne(model, ids, { ...options, types }, yielder);
}

/**
 * The results of a pass.
 * @typedef {object} Pass
 * @property {Tensor} [logits]  [position, vocab_size]; absent of an encoder without a head; of a classifier [position,
 *   n_labels], or [1, n_labels] where it reads one state of an encoder
 * @property {Tensor} [hidden]  last hidden states of an encoder, [position, d_model]
 * @property {Tensor} [pooled]  output of an encoder's pooler, [d_model]
 * @property {Record<string, Tensor>} captured
 */

/**
 * One pass over one sequence.
 * @param {LoadedModel} model
 * @param {number[]} ids
 * @param {Record<string, any>} o  options of forward; types: of the tokens
 * @param {Yielder} yielder
 * @returns {Promise<Pass>}
 */
export async function forwardOne(model, ids, o, yielder) {
  const { config } = model;
  model.checkLength(ids.length, 'input');
  o = await withFunctions(model, o, (other) => forwardOne(model, ids, other, yielder));
  const isPadded = (o.mask ?? null) !== null && config.kind !== 'encoder';
  const n = isPadded ? positionsBeforePadding(o.mask, ids.length) : ids.length;
  const [hasLogits, isOne] = [hasHead(config), isLabelPooled(config)];
  const rows = isOne ? (o.logits === 'none' ? [] : [0]) : logitRows(o.logits, ids.length, n);
  const v = hasLogits ? headWidth(config) : 0;
  const logits = { data: new Float32Array(rows.length * v), shape: [rows.length, v] };
  const sequence = await model.openSequence(o, ids.length, n, yielder);
  try {
    await sequence.encodeSource(o, yielder);
    /** @type {Omit<Pass, 'captured'>} */
    let results = { logits };
    /** @type {((session: EngineSession) => void) | undefined} */
    let encode;
    if (config.kind === 'encoder') {
      const mask = model.mask(o.mask, ids.length, 'mask');
      encode = (session) => session.encode(ids, mask, o.types);
      sequence.encodeOnly(ids, mask, o.types);
      if (hasLogits) copyLogits(sequence.session, logits, rows, 0, isOne ? 1 : n);
      results = {
        ...(hasLogits && { logits }),
        hidden: readHidden(sequence.session, config.d_model),
        ...(config.pooler && { pooled: readPooled(sequence.session, config.d_model) }),
      };
    } else {
      /** @type {(first: number, chunk: number) => void} */
      const copy = (first, chunk) => copyLogits(sequence.session, logits, rows, first, chunk);
      if (!rows.length) sequence.stopAfterCaptures();
      await sequence.prefill(ids.slice(0, n), yielder, copy, Math.min(n, ...rows));
    }
    const captured = sequence.takeCaptured() ?? {};
    if (!o.allowNonFinite) await requireFinite(sequence, { ...captured, ...results }, ids.slice(0, n), encode);
    return { ...results, captured };
  } finally {
    sequence.close();
  }
}

/**
 * The positions whose logits are returned.
 * @param {'all' | 'last' | 'none' | number[] | undefined} which  negative ones count from the end; default: all
 * @param {number} all  positions of the sequence
 * @param {number} n    those before its padding
 * @returns {number[]}
 */
function logitRows(which = 'all', all, n) {
  if (which === 'all') return Array.from({ length: all }, (_, i) => i);
  if (which === 'none') return [];
  return (which === 'last' ? [-1] : which).map((p) =>
    p >= -n && p < n ? (p + n) % n : fail('bad-option', `logits names the position ${p}, the sequence has ${n}`),
  );
}

/**
 * Copies the logits of those rows that the last pass computed. Rows in sequence are one product.
 * @param {EngineSession} session
 * @param {Tensor} logits  [row, vocab_size]
 * @param {number[]} rows  the position of each row
 * @param {number} first   position of the pass
 * @param {number} n       positions of the pass
 */
function copyLogits(session, { data, shape: [, v] }, rows, first, n) {
  for (let i = 0, run = 1; i < rows.length; i += run) {
    const at = rows[i] - first;
    for (run = 1; at >= 0 && rows[i + run] === rows[i] + run && at + run < n;) run++;
    if (at >= 0 && at < n) data.set(session.logits(at, run, v), i * v);
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
 * @param {import('../../base/event_loop.js').Yielder} yielder
 */
async function forwardMany(model, list, o, yielder) {
  const each = optionsPerSequence(o, list.length);
  const batch = list.map((s, i) => typedIds(model, s, `input ${i}`, each[i]));
  /** @type {Pass[]} */
  const results = [];
  for (const [i, { ids, types }] of batch.entries())
    results.push(await forwardOne(model, ids, { ...each[i], types }, yielder));
  /** @type {Record<string, Tensor>} */
  const captured = {};
  for (const name of Object.keys(results[0].captured)) captured[name] = stack(results.map((r) => r.captured[name]));
  /** @type {Record<string, Tensor>} */
  const outputs = {};
  for (const name of /** @type {const} */ (['logits', 'hidden', 'pooled']))
    if (results[0][name]) outputs[name] = stack(results.map((r) => /** @type {Tensor} */ (r[name])));
  return { ...outputs, captured };
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
