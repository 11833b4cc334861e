// clean_run.js - a pass without edits, and passes with sets of edits that begin in it. The layers below a set's first
// edit, and with a causal mask the positions before it, come from the pass without edits: each set runs in a fork of
// its session.
import { runFrom } from '../../engine/engine_captures.js';
import { Sequence } from '../sequence.js';
import { SequenceMetric } from './metric.js';

/** @import { Tensor } from '../../engine/engine.js' */
/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Edit } from '../inspect/edits.js' */
/** @import { Points } from '../inspect/capture.js' */
/** @import { Yielder } from '../../base/event_loop.js' */

/** The pass without edits, from which the others begin. */
export class CleanRun {
  /** The metric without edits. */
  base = 0;

  /**
   * @param {Sequence} sequence
   * @param {number[]} ids
   * @param {Record<string, any>} o
   * @param {SequenceMetric} metric
   */
  constructor(sequence, ids, o, metric) {
    this.sequence = sequence;
    this.model = sequence.model;
    this.ids = ids;
    this.o = o;
    this.metric = metric;
    this.seen = metric.nothing();
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
    const metric = await SequenceMetric.of(model, o.metric, ids.length, o, yielder);
    const sequence = await model.openSequence(options, ids.length);
    const run = new CleanRun(sequence, ids, o, metric);
    try {
      await sequence.encodeSource(options, yielder);
      await sequence.prefill(ids, yielder, (first, n) => metric.note(sequence, ids, first, n, run.seen));
      metric.remember(run.seen);
      run.base = metric.read(run.seen);
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
      const drop = Math.max(0, this.metric.first - first);
      const run = () => copy.session.eval(ids.slice(first), layer ? 0 : drop);
      if (layer) runFrom(copy.session, layer, rows, run, drop);
      else run();
      const seen = { losses: this.seen.losses.slice(), logits: new Map(this.seen.logits) };
      this.metric.note(copy, ids, first + drop, n - first - drop, seen);
      return this.metric.read(seen);
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
