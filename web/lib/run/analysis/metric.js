// metric.js - what sweeps compare and gradients differentiate, of one sequence
import { logprobs } from '../../engine/engine_captures.js';
import { forwardOne } from '../inspect/forward.js';
import { tokenOf } from '../inspect/attribution.js';
import { positionIn } from '../inspect/position_in.js';
import { headWidth, isLabelPooled } from '../../engine/config/config.js';
import { fail, messageOf, show } from '../../base/errors.js';

/** @import { Tensor } from '../../engine/engine.js' */
/** @import { Term } from '../../engine/differentiator.js' */
/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Sequence } from '../sequence.js' */
/** @import { Yielder } from '../../base/event_loop.js' */
/**
 * What a sweep compares and a gradient differentiates. 'loss': the mean loss of the tokens after the first, in nats. A
 * token: its logit after a position, or its log-probability or probability, less that of another token; of a classifier
 * `token` is a label, by name or number. kl: the Kullback-Leibler divergence from the distribution of another input, or
 * with true from that of the same input without edits, in nats. value: a function of your own that gets the logits
 * [positions, vocab_size], with `slope` for gradients: the derivatives by each logit; not with a worker. position: one
 * or several, of which the mean is taken (value gets all of them); negative ones count from the end; default: the last
 * @typedef {'loss'
 *   | {token: number | string, minus?: number | string, as?: 'logit' | 'logprob' | 'probability', position?: Positions}
 *   | {kl: true | string | ArrayLike<number>, position?: Positions}
 *   | {value: (logits: Tensor) => number, slope?: (logits: Tensor) => ArrayLike<number>, position?: Positions}} Metric
 */
/** @typedef {number | readonly number[]} Positions */
/** What the rows of a metric have so far. @typedef {{losses: Float64Array, logits: Map<number, Float32Array>}} Seen */

/** The logarithms of the probabilities. @param {ArrayLike<number>} logits */
function logSoftmax(logits) {
  let most = -Infinity;
  for (let i = 0; i < logits.length; i++) most = Math.max(most, logits[i]);
  let sum = 0;
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i] - most);
  return Float64Array.from(logits, (x) => x - most - Math.log(sum));
}

/** A metric of a sequence of n tokens. */
export class SequenceMetric {
  /** Positions whose logits it reads, in order; none: the loss. @type {number[]} */
  rows = [];
  /** Ids; -1: none. */
  token = -1;
  minus = -1;
  /** Log-probabilities for `kl`, one list for each row. @type {Float64Array[] | null} */
  reference = null;

  /**
   * @param {LoadedModel} model
   * @param {any} metric  a Metric, checked
   * @param {number} n    tokens
   */
  constructor(model, metric, n) {
    this.metric = metric;
    this.n = n;
    this.width = headWidth(model.config);
    if (metric === 'loss') {
      if (n < 2) fail('bad-argument', 'the input is one token: a loss needs one that follows it');
      return;
    }
    const { position = -1, token, minus } = metric;
    // a classifier of a whole text has one row
    this.rows = isLabelPooled(model.config) ? [0] : [position].flat().map((at) => positionIn(at, n));
    [this.token, this.minus] = [token, minus].map((x) => ((x ?? null) === null ? -1 : tokenOf(model, x)));
  }

  /**
   * With the distributions of another input, where the metric asks for them.
   * @param {LoadedModel} model
   * @param {any} metric
   * @param {number} n
   * @param {Record<string, any>} o  source, sourceMask
   * @param {Yielder} yielder
   */
  static async of(model, metric, n, { source, sourceMask }, yielder) {
    const made = new SequenceMetric(model, metric, n);
    if ((metric.kl ?? true) === true) return made;
    const ids = model.ids(metric.kl, 'kl');
    const rows = new SequenceMetric(model, metric, ids.length).rows;
    const { logits } = await forwardOne(model, ids, { source, sourceMask, logits: rows }, yielder);
    const { data } = /** @type {Tensor} */ (logits);
    made.reference = rows.map((_, i) => logSoftmax(data.subarray(i * made.width, (i + 1) * made.width)));
    return made;
  }

  get isLoss() {
    return this.metric === 'loss';
  }
  /** The first row whose logits a pass must have. */
  get first() {
    return this.isLoss ? 0 : Math.min(...this.rows);
  }

  /** @returns {Seen} */
  nothing() {
    return { losses: new Float64Array(this.isLoss ? this.n - 1 : 0), logits: new Map() };
  }

  /**
   * Note what the last pass of a sequence has.
   * @param {Sequence} sequence
   * @param {number[]} ids  of the whole sequence
   * @param {number} first  position of the pass
   * @param {number} n      positions of the pass
   * @param {Seen} seen
   */
  note({ session }, ids, first, n, { losses, logits }) {
    if (this.isLoss) {
      const targets = ids.slice(first + 1, first + n + 1);
      if (targets.length) logprobs(session, targets, this.width).forEach((x, i) => (losses[first + i] = -x));
    }
    for (const row of this.rows)
      if (row >= first && row < first + n) logits.set(row, session.logits(row - first, 1, this.width));
  }

  /** What the first sequence gives is what `kl: true` compares with. @param {Seen} seen */
  remember({ logits }) {
    if (this.metric.kl === true) this.reference = this.#of(logits).map(logSoftmax);
  }

  /** @param {Map<number, Float32Array>} logits */
  #of(logits) {
    return this.rows.map((row) => /** @type {Float32Array} */ (logits.get(row)));
  }

  /** @param {Seen} seen  all rows */
  read({ losses, logits }) {
    if (this.isLoss) return losses.reduce((a, b) => a + b, 0) / losses.length;
    const rows = this.#of(logits);
    if (this.metric.value) return this.#own('value', rows, Number.isFinite, 'a finite number');
    return rows.reduce((sum, row, i) => sum + this.#ofRow(row, i), 0) / rows.length;
  }

  /** @param {Float32Array} row @param {number} i */
  #ofRow(row, i) {
    const { token, minus, reference } = this;
    if (reference) {
      const [want, got] = [reference[i], logSoftmax(row)];
      return want.reduce((sum, x, t) => (x === -Infinity ? sum : sum + Math.exp(x) * (x - got[t])), 0);
    }
    const { as = 'logit' } = this.metric;
    const values = as === 'logit' ? row : logSoftmax(row).map((x) => (as === 'logprob' ? x : Math.exp(x)));
    return values[token] - (minus < 0 ? 0 : values[minus]);
  }

  /**
   * What a function of the caller's gives.
   * @param {'value' | 'slope'} name
   * @param {Float32Array[]} rows
   * @param {(found: any) => boolean} fits
   * @param {string} expected
   */
  #own(name, rows, fits, expected) {
    const data = new Float32Array(rows.length * this.width);
    rows.forEach((row, i) => data.set(row, i * this.width));
    let found;
    try {
      found = this.metric[name]({ data, shape: [rows.length, this.width] });
    } catch (error) {
      return fail('callback', `${name} of the metric threw: ${messageOf(error)}`, error);
    }
    return fits(found)
      ? found
      : fail('bad-option', `${name} of the metric returned ${show(found)}, expected ${expected}`);
  }

  /** Whether it is a sum of logits, whose derivatives need no pass. */
  get isLinear() {
    return this.isLoss || (this.token >= 0 && (this.metric.as ?? 'logit') === 'logit');
  }

  /**
   * Its derivatives by the logits; none of the loss, which the trainer knows.
   * @param {Seen} seen  all rows, unless it is linear
   * @returns {Term[]}
   */
  terms({ logits }) {
    const { rows, metric, width, token, minus } = this;
    if (this.isLoss) return [];
    const share = 1 / rows.length;
    if (this.isLinear)
      return rows.flatMap((row) => [
        { row, token, weight: share },
        ...(minus < 0 ? [] : [{ row, token: minus, weight: -share }]),
      ]);
    /** @type {(i: number) => ArrayLike<number>} */
    let slopes;
    if (metric.value) {
      if (!metric.slope) fail('bad-option', 'a gradient of value needs slope, the derivatives by each logit');
      const n = rows.length * width;
      const all = this.#own('slope', this.#of(logits), (x) => x?.length === n, `${n} numbers`);
      slopes = (i) => Array.prototype.slice.call(all, i * width, (i + 1) * width);
    } else slopes = (i) => this.#slopesOfRow(this.#of(logits)[i], i).map((x) => x * share);
    return rows.flatMap((row, i) => Array.from(slopes(i), (weight, t) => ({ row, token: t, weight })));
  }

  /** @param {Float32Array} row @param {number} i */
  #slopesOfRow(row, i) {
    const { token, minus, reference } = this;
    const p = logSoftmax(row).map(Math.exp);
    if (reference) return p.map((x, t) => x - Math.exp(reference[i][t]));
    const isLog = this.metric.as === 'logprob';
    /** A metric of a token's probability or its logarithm. @param {number} of */
    const slope = (of) => (/** @type {number} */ t) => (isLog ? 1 : p[of]) * (Number(t === of) - p[t]);
    const [plus, less] = [slope(token), minus < 0 ? () => 0 : slope(minus)];
    return p.map((_, t) => plus(t) - less(t));
  }
}
