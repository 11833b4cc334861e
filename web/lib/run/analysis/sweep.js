// sweep.js - one pass for each of many sets of edits. The layers below a set's first edit, and with a causal mask the
// positions before it, come from one pass without edits: each set runs in a fork of its session.
import { runFrom } from '../../engine/engine_captures.js';
import { Sequence } from '../sequence.js';
import { forwardOne } from '../inspect/forward.js';
import { Yielder } from '../../base/event_loop.js';
import { fail } from '../../base/errors.js';
import { placeOf, readMetric } from './metric.js';

/** @import { Tensor } from '../../engine/engine.js' */
/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Edit } from '../inspect/edits.js' */
/** @import { Points } from '../inspect/capture.js' */
/**
 * One edit at every position, or every head, of each point that matches. Without a change the values become 0.
 * @typedef {Omit<import('../inspect/edits.js').Edit, 'apply'> & {each: 'position' | 'head', from?: string |
 *   ArrayLike<number>}} Grid from: an input with as many tokens, whose values are set
 */
/**
 * The result of a sweep.
 * @typedef {object} Sweep
 * @property {number} base      the metric without edits
 * @property {Tensor} values    the metric with each set of edits, [set]; of a grid [point, position] or [point, head]
 * @property {string[]} [points]  of a grid, by row
 */

/**
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o  editSets, metric, source, sourceMask
 * @param {import('../calls.js').Hooks} hooks
 * @returns {Promise<Sweep>}
 */
export async function sweep(model, input, o, { signal }) {
  model.requireDecoder('sweep');
  const yielder = new Yielder(signal);
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
  const sourceLength = o.source === undefined ? 0 : model.ids(o.source, 'source').length;
  const cellsOf = (/** @type {typeof matched[number]} */ p) => {
    if (each === 'position') return p.source ? sourceLength : ids.length;
    const [heads, ...inner] = points.shape(p);
    return inner.length ? heads : fail('bad-option', `${p.name} has no heads`);
  };
  const cells = cellsOf(matched[0]);
  for (const p of matched) {
    if (cellsOf(p) !== cells)
      fail('bad-option', `a grid has one number of ${each}s: ${p.name} has ${cellsOf(p)}, ${matched[0].name} ${cells}`);
    for (let i = 0; i < cells; i++)
      sets.push([{ ...edit, at: p.name, [each]: i, ...(values && { set: sliceOf(values[p.name], p.axes, each, i) }) }]);
  }
  return { points: matched.map((p) => p.name), sets };
}

/**
 * The part of a captured tensor that one position or one head has.
 * @param {Tensor} tensor
 * @param {string} axes  of the point
 * @param {'position' | 'head'} each
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

/** The pass without edits, from which the others begin. */
class CleanRun {
  /** The metric without edits. */
  base = 0;

  /**
   * @param {Sequence} sequence
   * @param {number[]} ids
   * @param {Record<string, any>} o
   */
  constructor(sequence, ids, o) {
    this.sequence = sequence;
    this.model = sequence.model;
    this.ids = ids;
    this.o = o;
    this.place = placeOf(this.model, o.metric, ids.length);
    this.losses = new Float64Array(ids.length - 1);
    /** The input of each block. @type {Float32Array[]} */
    this.stream = [];
  }

  /**
   * @param {LoadedModel} model
   * @param {number[]} ids
   * @param {Record<string, any>} o
   * @param {Yielder} yielder
   */
  static async open(model, ids, o, yielder) {
    const prefix = model.config.kind === 'encoder_decoder' ? 'decoder' : 'blocks';
    const options = { source: o.source, sourceMask: o.sourceMask, capture: [`${prefix}.*.hook_resid_p*`] };
    const sequence = await model.openSequence(options, ids.length);
    const run = new CleanRun(sequence, ids, o);
    try {
      await sequence.encodeSource(options, yielder);
      await sequence.prefill(ids, yielder, (first, n) => {
        run.base = readMetric(sequence, run.place, ids, first, n, run.losses) ?? run.base;
      });
      const captured = /** @type {Record<string, Tensor>} */ (sequence.takeCaptured());
      const { n_layers: layers } = model.config;
      for (let l = 0; l < layers; l++) run.stream.push(captured[`${prefix}.${l}.hook_resid_pre`].data);
      run.stream.push(captured[`${prefix}.${layers - 1}.hook_resid_post`].data);
      return run;
    } catch (error) {
      sequence.close();
      throw error;
    }
  }

  /**
   * The metric with a set of edits.
   * @param {Edit[]} set
   * @param {Points} points
   * @param {Yielder} yielder
   */
  async with(set, points, yielder) {
    const { model, ids } = this;
    const n = ids.length;
    const edited = set.flatMap(({ at, position }) => points.matchOne(at).map((p) => ({ p, position })));
    const { rope_scaling: scaling, causal, n_layers: layers } = model.config;
    // Edits of the source change everything; frequencies that depend on the length make the passes before invalid.
    const whole = edited.some(({ p }) => p.source) || scaling === 'dynamic' || scaling === 'longrope';
    const layerOf = (/** @type {import('../inspect/capture.js').Point} */ p) =>
      p.layer >= 0 ? p.layer : p.name.includes('ln_final') ? layers : 0;
    const layer = whole ? 0 : Math.min(layers, ...edited.map(({ p }) => layerOf(p)));
    const first = whole || !causal ? 0 : Math.min(n - 1, ...edited.map(({ position }) => firstOf(position, n)));
    const copy = new Sequence(model, this.sequence.session.fork());
    const options = { edits: set, source: this.o.source, sourceMask: this.o.sourceMask };
    try {
      await copy.observe(options, n, n, yielder);
      if (edited.some(({ p }) => p.source)) await copy.encodeSource(options, yielder);
      copy.session.rewind(first);
      const rows = this.stream[layer].subarray(first * model.config.d_model);
      const drop = Math.max(0, this.place.row - first);
      const run = () => copy.session.eval(ids.slice(first), layer ? 0 : drop);
      if (layer) runFrom(copy.session, layer, rows, run, drop);
      else run();
      const value = readMetric(copy, this.place, ids, first + drop, n - first - drop, this.losses.slice());
      return value ?? this.base;
    } finally {
      copy.close();
    }
  }

  close() {
    this.sequence.close();
  }
}

/**
 * The first position that an edit changes.
 * @param {any} position
 * @param {number} n
 * @returns {number}
 */
function firstOf(position, n) {
  if ((position ?? null) === null) return 0;
  if (Array.isArray(position)) return Math.min(n - 1, ...position.map((p) => firstOf(p, n)));
  const at = typeof position === 'object' ? position.from : position;
  return at < 0 ? at + n : at;
}
