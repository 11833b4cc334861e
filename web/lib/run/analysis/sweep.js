// sweep.js - a metric with each of many sets of edits, or with an edit of each cell of a grid
import { forwardOne } from '../inspect/forward.js';
import { Yielder } from '../../base/event_loop.js';
import { fail } from '../../base/errors.js';
import { averaged } from '../inspect/average.js';
import { CleanRun } from './clean_run.js';

/** @import { Tensor } from '../../engine/engine.js' */
/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Edit } from '../inspect/edits.js' */
/** @import { Point } from '../inspect/capture.js' */
/**
 * One edit at every position, every head or every index (a neuron) of each point that matches. Without a change the
 * values become 0.
 * @typedef {Omit<import('../inspect/edits.js').Edit, 'apply'> & {each: 'position' | 'head' | 'index', from?: string |
 *   ArrayLike<number> | readonly (string | ArrayLike<number>)[]}} Grid from: an input with as many tokens, whose values
 *   are set; for several inputs one for each
 */
/**
 * The result of a sweep.
 * @typedef {object} Sweep
 * @property {number} base      the metric without edits
 * @property {Tensor} values    the metric with each set of edits, [set]; of a grid [point, position], [point, head] or
 *   [point, index]
 * @property {string[]} [points]  for a grid: the point of each row
 * @property {number} [n]       number of inputs, if there are several; base and values are means over them
 * @property {{base: number, values: Tensor}} [standardError]  standard errors of these means
 */

/**
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o  editSets, metric, source, sourceMask
 * @param {import('../calls.js').Hooks} hooks
 * @returns {Promise<Sweep>}
 */
export async function sweep(model, input, o, hooks) {
  model.requireDecoder('sweep');
  const yielder = new Yielder(hooks.signal);
  return averaged(input, o, (one, own) => sweepOne(model, one, own, yielder));
}

/**
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o
 * @param {Yielder} yielder
 * @returns {Promise<Sweep>}
 */
async function sweepOne(model, input, o, yielder) {
  await yielder.yieldIfDue();
  const ids = model.ids(input, 'input', o.addSpecialTokens);
  model.checkLength(ids.length, 'input');
  const points = await model.points();
  const grid = Array.isArray(o.editSets) ? null : await gridOf(model, ids, o, yielder);
  const sets = grid?.sets ?? o.editSets;
  const clean = await CleanRun.open(model, ids, o, yielder);
  try {
    const data = new Float32Array(sets.length);
    for (const [i, set] of sets.entries()) {
      data[i] = await clean.with(set, points, yielder);
      await yielder.yieldIfDue();
    }
    const shape = grid ? [grid.points.length, sets.length / grid.points.length] : [sets.length];
    return { base: clean.base, values: { data, shape }, ...(grid && { points: grid.points }) };
  } finally {
    clean.close();
  }
}

/**
 * The sets of edits of a grid, one for each cell.
 * @param {LoadedModel} model
 * @param {number[]} ids
 * @param {Record<string, any>} o
 * @param {Yielder} yielder
 */
async function gridOf(model, ids, o, yielder) {
  const { each, from, ...edit } = o.editSets;
  const points = await model.points();
  const matched = points.matchOne(edit.at);
  /** @type {Record<string, Tensor> | null} */
  let values = null;
  if (from !== undefined) {
    const other = model.ids(from, 'input from', o.addSpecialTokens);
    if (other.length !== ids.length)
      fail('bad-option', `from has ${other.length} tokens, the input has ${ids.length}: they are compared by position`);
    const { source, sourceMask } = o;
    const options = { source, sourceMask, capture: [edit.at], logits: 'none' };
    ({ captured: values } = await forwardOne(model, other, options, yielder));
  }
  /** @type {Edit[][]} */
  const sets = [];
  const setsOf = (/** @type {Point} */ p, /** @type {number} */ i) => {
    const own = { ...edit, at: p.name };
    if (values && each === 'index') return indexEdits(values[p.name], own, i);
    return [{ ...own, [each]: i, ...(values && { set: sliceOf(values[p.name], p.axes, each, i) }) }];
  };
  const sourceLength = o.source === undefined ? 0 : model.ids(o.source, 'source').length;
  const cellsOf = (/** @type {typeof matched[number]} */ p) => {
    if (each === 'position') return p.source ? sourceLength : ids.length;
    const [heads, ...inner] = points.shape(p);
    if (each === 'index')
      return p.axes !== 'S' ? (inner[0] ?? heads) : fail('bad-option', `${p.name}: a grid of its keys is not possible`);
    return inner.length ? heads : fail('bad-option', `${p.name} has no heads`);
  };
  const cells = cellsOf(matched[0]);
  for (const p of matched) {
    if (cellsOf(p) !== cells)
      fail('bad-option', `a grid has one number of ${each}s: ${p.name} has ${cellsOf(p)}, ${matched[0].name} ${cells}`);
    for (let i = 0; i < cells; i++) sets.push(setsOf(p, i));
  }
  return { points: matched.map((p) => p.name), sets };
}

/**
 * Edits that set the values of one index at each position.
 * @param {Tensor} tensor  [position, ...]
 * @param {any} edit  at, head
 * @param {number} index
 * @returns {Edit[]}
 */
function indexEdits({ data, shape }, { head, ...edit }, index) {
  const width = shape[shape.length - 1];
  const heads = shape.length > 2 ? shape[1] : 1;
  const chosen = heads === 1 ? [undefined] : head === undefined ? Array.from({ length: heads }, (_, h) => h) : [head];
  return Array.from({ length: shape[0] }, (_, position) =>
    chosen.map((h) => {
      const set = data[(position * heads + (h ?? 0)) * width + index];
      return { ...edit, ...(h !== undefined && { head: h }), position, index, set };
    }),
  ).flat();
}

/**
 * The part of a captured tensor that one position or one head has.
 * @param {Tensor} tensor
 * @param {string} axes  of the point
 * @param {'position' | 'head' | 'index'} each
 * @param {number} i
 * @returns {Tensor}
 */
function sliceOf({ data, shape }, axes, each, i) {
  const axis = (each === 'head') === (axes === 'S') ? 0 : 1;
  const inner = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const outer = axis ? shape[0] : 1;
  const out = new Float32Array(outer * inner);
  for (let a = 0; a < outer; a++) {
    const at = (a * shape[axis] + i) * inner;
    out.set(data.subarray(at, at + inner), a * inner);
  }
  const kept = each === 'position' ? shape.map((n, k) => (k === axis ? 1 : n)) : shape.filter((_, k) => k !== axis);
  return { data: out, shape: kept };
}
