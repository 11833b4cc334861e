// dictionary_report.js - what a dictionary explains of held-out text, beside simpler descriptions of the same size
import { rowOf } from '../../engine/stored_rows.js';
import { addBaselines } from './dictionary_baselines.js';
import { captureRows } from './dictionary_windows.js';

/** @import { Model } from '../../api/model.js' */
/** @import { WindowRows } from './dictionary_baselines.js' */
/** @import { DictionaryWeights } from './sparse_dictionary.js' */
/**
 * How well a reconstruction does. fvu: fraction of the variance that is unexplained; loss: in nats a token with it in
 * place of the values; recovered: the share of the loss that the mean costs which it saves
 * @typedef {{fvu: number, loss: number, recovered: number}} Reconstruction
 */
/**
 * What Dictionary.report gives. dead: features that no token of the text activates; table: the means of the tokens
 * alone, null without a table; neurons: the `l0` neurons that contribute most to a `hook_mlp_out`, at other points the
 * largest components of the row; random: the `l0` largest of as many random directions, scaled to fit best
 * @typedef {object} DictionaryReport
 * @property {number} tokens
 * @property {number} loss       loss of the unchanged model, in nats per token
 * @property {number} l0
 * @property {number} dead
 * @property {Reconstruction} dictionary
 * @property {Reconstruction} mean
 * @property {Reconstruction | null} table
 * @property {Reconstruction} neurons
 * @property {Reconstruction} random
 */

/**
 * The reconstruction of rows from active features.
 * @param {DictionaryWeights} w
 * @param {{start: Int32Array, index: Int32Array, value: Float32Array}} found  of all positions
 * @param {number[]} ids
 * @param {Float32Array} x  [rows, dIn] from position `from` on
 * @returns {Float32Array} [rows, dOut]
 */
export function reconstruct(w, { start, index, value }, ids, x) {
  const { dIn, dOut, from, wDec, bDec, skip } = w;
  const table = w.out ? w.tableOut : w.tableIn;
  const out = new Float32Array((ids.length - from) * dOut);
  for (let t = from; t < ids.length; t++) {
    const to = out.subarray((t - from) * dOut, (t - from + 1) * dOut);
    const row = x.subarray((t - from) * dIn, (t - from + 1) * dIn);
    const [mean, unit] = scaleOf(w, row);
    for (let c = 0; c < dOut; c++) to[c] = bDec[c];
    for (let e = start[t]; e < start[t + 1]; e++) {
      const direction = rowOf(wDec, index[e], dOut);
      for (let c = 0; c < dOut; c++) to[c] += value[e] * direction[c];
    }
    for (let c = 0; c < dOut; c++) {
      to[c] = to[c] * unit + mean + (table ? table[ids[t] * dOut + c] : 0);
      if (skip) for (let i = 0; i < dIn; i++) to[c] += skip[c * dIn + i] * row[i];
    }
  }
  return out;
}

/**
 * Mean and unit of a row that a dictionary normalises (struct gf_features_spec).
 * @param {DictionaryWeights} w
 * @param {Float32Array} row
 */
function scaleOf({ norm, dIn, out }, row) {
  if (!norm || out) return [0, 1];
  const mean = norm === 2 ? row.reduce((a, b) => a + b, 0) / dIn : 0;
  const squares = row.reduce((sum, x) => sum + (x - mean) ** 2, 0);
  return [mean, Math.sqrt(squares / (norm === 2 ? dIn - 1 : dIn))];
}

/** The squared distance of two lists. @param {Float32Array} a @param {Float32Array} b */
function distance(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] - b[i]) ** 2;
  return sum;
}

/**
 * The rows of the windows with their reconstructions, and how many features are active.
 * @param {Model} model
 * @param {any} owner
 * @param {DictionaryWeights} w
 * @param {number[][]} windows
 * @param {AbortSignal} [signal]
 */
async function reconstructions(model, owner, w, windows, signal) {
  const { at, out, from, dOut, size } = w;
  /** @type {WindowRows[]} */
  const all = [];
  const active = new Uint8Array(size);
  let entries = 0;
  const rows = captureRows(model, windows, { at, out: out ?? undefined, from, signal });
  for (const ids of windows) {
    const { value } = await rows.next();
    const { x, y = x } = /** @type {import('./dictionary_windows.js').Captured} */ (value);
    const found = await model.encodeFeatures(owner, ids, { at, signal });
    for (const i of found.index) active[i] = 1;
    entries += found.index.length;
    all.push({ ids, want: y, by: { dictionary: reconstruct(w, found, ids, x) } });
  }
  const n = all.reduce((sum, { want }) => sum + want.length / dOut, 0);
  return { all, n, l0: entries / n, dead: size - active.reduce((a, b) => a + b, 0) };
}

/**
 * @param {Model} model
 * @param {any} owner
 * @param {DictionaryWeights} w
 * @param {number[][]} windows
 * @param {AbortSignal} [signal]
 * @returns {Promise<DictionaryReport>}
 */
export async function reportOf(model, owner, w, windows, signal) {
  const { at, out, from, dOut } = w;
  const { all, n, l0, dead } = await reconstructions(model, owner, w, windows, signal);
  await addBaselines(model, w, all, { rows: n, k: Math.round(l0), signal });
  /** @param {string} [name] */
  const lossWith = async (name) => {
    let [sum, count] = [0, 0];
    for (const { ids, by } of all) {
      if (ids.length < 2) continue;
      const set = name && { shape: [ids.length - from, dOut], data: by[name] };
      const edits = set ? [{ at: out ?? at, position: { from }, set: shaped(set, model, out ?? at) }] : undefined;
      sum += (await model.loss(ids, { edits, signal })).loss * (ids.length - 1);
      count += ids.length - 1;
    }
    return sum / count;
  };
  const variance = all.reduce((sum, { want, by }) => sum + distance(want, by.mean), 0);
  const [loss, meanLoss] = [await lossWith(), await lossWith('mean')];
  /** @param {string} name @returns {Promise<Reconstruction>} */
  const of = async (name) => {
    const own = name === 'mean' ? meanLoss : await lossWith(name);
    const fvu = all.reduce((sum, { want, by }) => sum + distance(want, by[name]), 0) / variance;
    return { fvu, loss: own, recovered: (meanLoss - own) / (meanLoss - loss) };
  };
  const hasTable = !!(out ? w.tableOut : w.tableIn);
  return {
    tokens: n,
    loss,
    l0,
    dead,
    dictionary: await of('dictionary'),
    mean: await of('mean'),
    table: hasTable ? await of('table') : null,
    neurons: await of('neurons'),
    random: await of('random'),
  };
}

/**
 * A tensor in the shape of its point: heads have an axis of their own.
 * @param {{shape: number[], data: Float32Array}} rows
 * @param {Model} model
 * @param {string} name
 */
function shaped({ shape: [n, width], data }, { config }, name) {
  const isHeads = /attn\.hook_(z|q|k|v|rot_q|rot_k)$/.test(name);
  return { shape: isHeads ? [n, width / config.dHead, config.dHead] : [n, width], data };
}
