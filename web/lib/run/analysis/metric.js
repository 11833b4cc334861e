// metric.js - what sweeps compare and gradients differentiate, of one sequence
import { logprobs } from '../../engine/engine_captures.js';
import { tokenOf } from '../inspect/attribution.js';
import { positionIn } from '../inspect/position_in.js';
import { headWidth, isLabelPooled } from '../../engine/config/config.js';
import { fail } from '../../base/errors.js';

/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Sequence } from '../sequence.js' */
/**
 * What a sweep compares and a gradient differentiates: the mean loss of the tokens after the first, in nats; or the
 * logit of a token after a position (default: the last), less that of another token; of a classifier the logits of
 * labels, by name or number.
 * @typedef {'loss' | {token: number | string, minus?: number | string, position?: number}} Metric
 */
/** A metric with ids; row -1: the loss. @typedef {{row: number, token: number, minus: number}} Place */

/**
 * @param {LoadedModel} model
 * @param {Metric} metric
 * @param {number} n  tokens of the sequence
 * @returns {Place} minus -1: no other token
 */
export function placeOf(model, metric, n) {
  if (metric === 'loss')
    return n > 1
      ? { row: -1, token: -1, minus: -1 }
      : fail('bad-argument', 'the input is one token: a loss needs one that follows it');
  const { token, minus, position = -1 } = metric;
  const row = isLabelPooled(model.config) ? 0 : positionIn(position, n); // a classifier of a whole text has one row
  const [id, other] = [token, minus].map((x) => ((x ?? null) === null ? -1 : tokenOf(model, /** @type {any} */ (x))));
  return { row, token: id, minus: other };
}

/**
 * Reads a metric off the last pass of a sequence.
 * @param {Sequence} sequence
 * @param {Place} place
 * @param {number[]} ids    of the whole sequence
 * @param {number} first    position of the pass
 * @param {number} n        positions of the pass
 * @param {Float64Array} losses  [ids - 1], of the tokens after the first; those that the pass predicts are written
 * @returns {number | null} null: the pass does not have the position
 */
export function readMetric({ session, model }, { row, token, minus }, ids, first, n, losses) {
  const v = headWidth(model.config);
  if (row < 0) {
    const targets = ids.slice(first + 1, first + n + 1);
    if (targets.length) logprobs(session, targets, v).forEach((x, i) => (losses[first + i] = -x));
    return losses.reduce((a, b) => a + b, 0) / losses.length;
  }
  if (row < first || row >= first + n) return null;
  const logits = session.logits(row - first, 1, v);
  return logits[token] - (minus < 0 ? 0 : logits[minus]);
}
