// gradients.js - gradients of a loaded model at points and weights, and what is computed from them
//
// Attribution patching: Nanda 2023, "Attribution Patching: Activation Patching At Industrial Scale".
import { closeFeatures, openFeatures } from '../../engine/dictionary_encoders.js';
import { applyEdits, withMeans } from '../inspect/edits.js';
import { encodersOf } from '../inspect/feature_values.js';
import { forwardOne } from '../inspect/forward.js';
import { matches } from '../inspect/capture.js';
import { Yielder } from '../../base/event_loop.js';
import { fail } from '../../base/errors.js';
import { remembered } from '../../base/lazy_value.js';
import { inFloats } from './float_copy.js';
import { averaged } from '../inspect/average.js';
import { SequenceMetric } from './metric.js';
import { sweep } from './sweep.js';

/** @import { Tensor } from '../../engine/engine.js' */
/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Hooks } from '../calls.js' */
/** @import { Differentiator } from '../../engine/differentiator.js' */
/**
 * The result of `gradients`.
 * @typedef {object} Gradients
 * @property {number} value  what was differentiated, computed in f32: a model in 8 bits or fewer has another, since it
 *   rounds activations too
 * @property {Record<string, Tensor>} gradients  by name, each with the shape of its values; at a point that is edited
 *   by the changed values
 * @property {number} [n]  number of inputs, if there are several; the values are means over them
 * @property {{value: number, gradients: Record<string, Tensor>}} [standardError]  standard errors of these means
 */
/**
 * The result of `attributionPatching`.
 * @typedef {object} PatchEstimates
 * @property {number} value  the metric on the input, computed in f32
 * @property {Record<string, Tensor>} estimates  by point: the change of the metric if the values of the other input
 *   were set there, for each position and head: the shape of the point without its last axis
 * @property {number} [spearman]  with `check`: the rank correlation of the estimates with real patching
 * @property {Record<string, Tensor>} [effects]  with `check`: the changes by real patching
 * @property {number} [n]  number of inputs, if there are several; the values are means over them
 * @property {Omit<PatchEstimates, 'n' | 'standardError'>} [standardError]  standard errors of these means
 */

/** The copies, by the weights of a model. @type {WeakMap<object, Promise<Differentiator>>} */
const copies = new WeakMap();

/**
 * The copy of a model's weights in the binary that trains, made at the first call.
 * @param {LoadedModel} model
 * @param {WebAssembly.Module} module
 */
async function copyOf(model, module) {
  const make = async () => {
    const { Differentiator } = await import('../../engine/differentiator.js');
    const copy = /** @type {Differentiator} */ (await Differentiator.start(module));
    copy.copy(model.engine, model.table.rows);
    return copy;
  };
  const { weights } = model;
  const made = remembered(copies, weights, make);
  made.catch(() => copies.delete(weights));
  return made;
}

/**
 * The ids of an input and of its source.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o
 */
export function idsOf(model, input, o) {
  model.requireLogits('gradients');
  if (o.sourceMask) fail('unsupported', 'gradients with a sourceMask are not implemented');
  const ids = model.ids(input, 'input', o.addSpecialTokens);
  model.checkLength(ids.length, 'input');
  const isTwo = model.config.kind === 'encoder_decoder';
  if (isTwo !== ((o.source ?? null) !== null))
    fail('bad-option', isTwo ? 'an encoder_decoder needs { source }' : 'source is an option of encoder_decoder models');
  return { ids, source: isTwo ? model.ids(o.source, 'source') : [] };
}

/**
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o  of, at, edits, source, module
 * @param {Hooks} hooks
 * @returns {Promise<Gradients>}
 */
export const gradients = (model, input, o, hooks) =>
  averaged(input, o, (one, own) => gradientsOf(model, one, own, hooks));

/**
 * The gradients of one input.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o
 * @param {Hooks} [hooks]
 * @param {number} [embedding]  factor of the token embedding
 * @returns {Promise<Gradients>}
 */
export async function gradientsOf(model, input, o, { signal } = {}, embedding = 1) {
  const { ids, source } = idsOf(model, input, o);
  const yielder = new Yielder(signal);
  const metric = await SequenceMetric.of(model, o.of, ids.length, o, yielder);
  if (metric.isLoss) model.requireDecoder('gradients of a loss');
  const seen = metric.nothing();
  if (!metric.isLinear) await noteLogits(model, metric, ids, source, o, embedding, seen);
  const points = await model.points();
  const { rows } = model.table;
  const chosen = /** @type {string[]} */ (o.at).map((name) => {
    const weights = rows.flatMap((row, i) => (matches(row.name, name) ? [i] : []));
    return points.names.some((point) => matches(point, name))
      ? { points: points.matchOne(name), weights: [] }
      : { points: weights.length ? [] : points.matchOne(name), weights };
  });
  const copy = await copyOf(model, o.module);
  const changes = o.edits?.length ? await changesOf(model, o, yielder) : NO_CHANGES;
  signal?.throwIfAborted();
  const wanted = [...new Set(chosen.flatMap((c) => c.points))];
  const weights = [...new Set(chosen.flatMap((c) => c.weights))];
  /** @type {Record<string, Tensor>} */
  const found = {};
  try {
    for (const p of wanted) copy.want(p, true);
    for (const i of weights) copy.wantWeight(i, true);
    applyTo(copy, points, ids.length, changes);
    const sum = copy.ask(metric.terms(seen), ids, source, embedding);
    const value = metric.isLinear ? sum : metric.read(seen);
    for (const p of wanted) {
      const { data, dims } = copy.at(p);
      found[p.name] = { data, shape: 'QKRS'.includes(p.axes) ? dims : dims.slice(0, 2) };
    }
    for (const i of weights) {
      const { name, shape, tiedTo } = rows[i];
      const data = copy.weight(
        i,
        shape.reduce((a, b) => a * b, 1),
      );
      found[name] = data ? { data, shape: [...shape] } : fail('bad-option', `${name} is tied to ${tiedTo}: name that`);
    }
    return { value, gradients: found };
  } finally {
    copy.restore();
    for (const p of wanted) copy.want(p, false);
    for (const i of weights) copy.wantWeight(i, false);
  }
}

/**
 * The logits that a metric reads which is no sum of them, in f32 as the gradients.
 * @param {LoadedModel} model
 * @param {SequenceMetric} metric
 * @param {number[]} ids
 * @param {number[]} source
 * @param {Record<string, any>} o
 * @param {number} embedding
 * @param {import('./metric.js').Seen} seen
 */
async function noteLogits(model, metric, ids, source, { edits = [] }, embedding, seen) {
  const at = model.config.kind === 'encoder_decoder' ? 'decoder.hook_embed' : 'hook_embed';
  const all = embedding === 1 ? edits : [{ at, scale: embedding }, ...edits];
  const options = { edits: all, source: source.length ? source : undefined, logits: metric.rows };
  const { logits } = await inFloats(model, async (copy) => {
    if (copy !== model) for (const [id, own] of await encodersOf(model, edits)) await copy.addDictionary(id, own);
    return forwardOne(copy, ids, options, new Yielder());
  });
  const { data } = /** @type {Tensor} */ (logits);
  metric.rows.forEach((row, i) => seen.logits.set(row, data.subarray(i * metric.width, (i + 1) * metric.width)));
  metric.remember(seen);
}

/**
 * The edits of the options, and the encoders of the dictionaries that they name.
 * @typedef {{edits: import('../inspect/edits.js').Edit[],
 *   encoders: Map<number, import('../../engine/dictionary_encoders.js').Encoder>}} Changes
 */
/** @type {Changes} */
const NO_CHANGES = { edits: [], encoders: new Map() };

/**
 * @param {LoadedModel} model
 * @param {Record<string, any>} o
 * @param {Yielder} yielder
 * @returns {Promise<Changes>}
 */
async function changesOf(model, o, yielder) {
  const edits = await withMeans(model, o, (text, options) => forwardOne(model, text, options, yielder));
  return { edits, encoders: await encodersOf(model, edits) };
}

/**
 * Puts edits into the passes of gradients. Nothing waits from here to the end of a pass, so that calls that run at the
 * same time do not mix.
 * @param {Differentiator} copy
 * @param {import('../inspect/capture.js').Points} points
 * @param {number} n  tokens
 * @param {Changes} changes
 */
function applyTo(copy, points, n, { edits, encoders }) {
  /** @type {Map<number, number>} */
  const opened = new Map();
  try {
    for (const [id, encoder] of encoders) opened.set(id, openFeatures(copy, encoder));
    const own = edits.map((edit) => (edit.direction ? { ...edit, features: opened.get(edit.dictionary ?? 0) } : edit));
    applyEdits(copy.edited, points, own, { own: n, source: 0, end: n });
  } finally {
    for (const address of opened.values()) closeFeatures(copy, address); // the edits keep them
  }
}

/**
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o  of, at, from, check, source, module
 * @param {Hooks} hooks
 * @returns {Promise<PatchEstimates>}
 */
export const attributionPatching = (model, input, o, hooks) =>
  averaged(input, o, (one, own) => patchEstimatesOf(model, one, own, hooks));

/**
 * The estimates of one input.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o
 * @param {Hooks} hooks
 * @returns {Promise<PatchEstimates>}
 */
async function patchEstimatesOf(model, input, o, hooks) {
  const { value, gradients: slopes } = await gradientsOf(model, input, o, hooks);
  const { ids, source } = idsOf(model, input, o);
  const other = model.ids(o.from, 'input from', o.addSpecialTokens);
  if (other.length !== ids.length)
    fail('bad-option', `from has ${other.length} tokens, the input has ${ids.length}: they are compared by position`);
  const given = { ...o, source: source.length ? source : undefined };
  // in f32, because differences and effects are smaller than the rounding of a model in 8 bits
  return inFloats(model, async (copy) => {
    const { estimates, there } = await estimatesOf(copy, ids, other, given, slopes, hooks);
    if (!o.check) return { value, estimates };
    const names = Object.keys(slopes);
    /** @type {Record<string, Tensor>} */
    const effects = {};
    for (const name of names)
      effects[name] = await patched(copy, ids, given, hooks, there[name], estimates[name], name);
    const all = (/** @type {Record<string, Tensor>} */ by) => names.flatMap((name) => Array.from(by[name].data));
    return { value, estimates, effects, spearman: rankCorrelation(all(estimates), all(effects)) };
  });
}

/**
 * The products of gradients and the differences between two inputs, summed over each cell.
 * @param {LoadedModel} model
 * @param {number[]} ids
 * @param {number[]} other  as many
 * @param {Record<string, any>} o  source
 * @param {Record<string, Tensor>} slopes  by point
 * @param {Hooks} hooks
 */
async function estimatesOf(model, ids, other, { source }, slopes, hooks) {
  const yielder = new Yielder(hooks.signal);
  const names = Object.keys(slopes);
  const pass = (/** @type {number[]} */ tokens) =>
    forwardOne(model, tokens, { source, capture: names, logits: 'none' }, yielder);
  const [here, there] = [(await pass(ids)).captured, (await pass(other)).captured];
  /** @type {Record<string, Tensor>} */
  const estimates = {};
  for (const name of names) {
    const { data, shape } = slopes[name];
    const width = shape[shape.length - 1];
    const sums = new Float32Array(data.length / width);
    for (let i = 0; i < data.length; i++)
      if (data[i]) sums[Math.floor(i / width)] += data[i] * (there[name].data[i] - here[name].data[i]);
    estimates[name] = { data: sums, shape: shape.slice(0, -1) };
  }
  return { estimates, there };
}

/**
 * The change of the metric by setting the values of the other input, cell by cell of an estimate.
 * @param {LoadedModel} model
 * @param {number[]} ids
 * @param {Record<string, any>} o
 * @param {Hooks} hooks
 * @param {Tensor} values  of the other input
 * @param {Tensor} like    [position], [position, head], or of scores and patterns [head, position]
 * @param {string} at
 * @returns {Promise<Tensor>}
 */
async function patched(model, ids, o, hooks, { data, shape }, like, at) {
  const width = shape[shape.length - 1];
  const isPattern = /hook_(attn_scores|pattern)/.test(at);
  const editSets = Array.from(like.data, (_, i) => {
    const [a, b] = like.shape.length > 1 ? [Math.floor(i / like.shape[1]), i % like.shape[1]] : [i, undefined];
    const [position, head] = isPattern ? [b, a] : [a, b];
    // the mask hides its cells anyway
    const set = data.slice(i * width, (i + 1) * width).map((x) => (x === -Infinity ? 0 : x));
    return [{ at, position, head, set }];
  });
  const { base, values } = await sweep(model, ids, { editSets, metric: o.of, source: o.source }, hooks);
  return { data: values.data.map((x) => x - base), shape: like.shape };
}

/**
 * Spearman's rank correlation. Equal values share the mean of their ranks.
 * @param {number[]} a
 * @param {number[]} b
 */
export function rankCorrelation(a, b) {
  const ranks = (/** @type {number[]} */ x) => {
    const order = Array.from(x.keys()).sort((i, j) => x[i] - x[j]);
    const out = new Float64Array(x.length);
    for (let from = 0, to = 0; from < order.length; from = to) {
      while (to < order.length && x[order[to]] === x[order[from]]) to++;
      for (let i = from; i < to; i++) out[order[i]] = (from + to - 1) / 2;
    }
    return out;
  };
  const [x, y] = [ranks(a), ranks(b)];
  const mean = (a.length - 1) / 2;
  let xy = 0;
  let xx = 0;
  let yy = 0;
  for (let i = 0; i < a.length; i++) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) ** 2;
    yy += (y[i] - mean) ** 2;
  }
  return xy / Math.sqrt(xx * yy);
}
