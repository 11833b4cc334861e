// integrated_gradients.js - how much the embedding of each token contributes to a metric
//
// Sundararajan et al. 2017, "Axiomatic Attribution for Deep Networks": the gradients along the path from embeddings of
// 0 to those of the input, integrated. The sum over tokens is the change of the metric (completeness).
//
// A model whose positions are not added to the embeddings normalises their length away, in each block again, so that
// its metric changes at every order of magnitude of the factor, down to 1e-15 of the embeddings. Equal steps miss that.
// The path is therefore divided where it needs it: between two factors the exact integral is known, it is the
// difference of the metric, and the part whose estimate differs most from it is halved, on a scale of logarithms.
import { forwardOne } from '../inspect/forward.js';
import { Yielder } from '../../base/event_loop.js';
import { gradientsOf, idsOf } from './gradients.js';

/** @import { Tensor } from '../../engine/engine.js' */
/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Hooks } from '../calls.js' */
/**
 * The result of `integratedGradients`.
 * @typedef {object} TokenAttributions
 * @property {number} value     the metric
 * @property {number} baseline  the metric if all token embeddings are 0
 * @property {Tensor} tokens    [position] how much each token embedding contributes
 * @property {number} remainder value - baseline - the sum of `tokens`: the error of the numerical integral
 * @property {string} [warning] where the remainder is more than 5 % of value - baseline
 */
/**
 * A place on the path: the metric, and by position the gradient times the embedding.
 * @typedef {{factor: number, value: number, slopes: Float64Array}} Place
 */
/**
 * A part of the path with its integral by Simpson's rule.
 * @typedef {{places: Place[], integral: Float64Array, error: number}} Part
 */

/** The remainder, relative to the change of the metric, at which the division ends, and from which it is warned of. */
const ENOUGH = 0.005;
const WARNED = 0.05;
/** The smallest factor that is tried is 1e-20: its square is still a normal f32 beside an epsilon. */
const SMALLEST = -20;

/**
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o  of, steps, source, module
 * @param {Hooks} hooks
 * @returns {Promise<TokenAttributions>}
 */
export async function integratedGradients(model, input, o, hooks) {
  const { steps = 128 } = o;
  const open = await model.openSequence(); // until it is closed, setAdapter is refused
  try {
    const path = await pathOf(model, input, o, hooks);
    const [first, last] = [await path(0), await path(1)];
    const change = last.value - first.value;
    const remainder = () => change - parts.reduce((total, { integral }) => total + sum(integral), 0);
    const start = await path(await firstChange(path, first.value, change));
    const parts = [await partOf(path, first, start), await partOf(path, start, last)];
    while (path.taken < steps && Math.abs(remainder()) > ENOUGH * Math.abs(change)) {
      const worst = parts.reduce((a, b) => (b.error > a.error ? b : a));
      const [a, middle, b] = worst.places;
      parts.splice(parts.indexOf(worst), 1, await partOf(path, a, middle), await partOf(path, middle, b));
    }
    const data = Float32Array.from(first.slopes, (_, i) => parts.reduce((x, { integral }) => x + integral[i], 0));
    const result = {
      value: last.value,
      baseline: first.value,
      tokens: { data, shape: [data.length] },
      remainder: remainder(),
    };
    const share = Math.abs(result.remainder / change);
    if (!(share > WARNED)) return result;
    const percent = (100 * share).toFixed(0);
    return { ...result, warning: `the contributions miss the change of the metric by ${percent} %: raise steps` };
  } finally {
    open.close();
  }
}

/**
 * A function that gives the place of a factor, and counts its calls in `taken`.
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o
 * @param {Hooks} hooks
 */
async function pathOf(model, input, o, hooks) {
  const at = model.config.kind === 'encoder_decoder' ? 'decoder.hook_embed' : 'hook_embed';
  const yielder = new Yielder(hooks.signal);
  const { ids } = idsOf(model, input, o);
  const { captured } = await forwardOne(model, ids, { source: o.source, capture: [at], logits: 'none' }, yielder);
  const { data: embedding, shape } = captured[at];
  const path = async (/** @type {number} */ factor) => {
    path.taken++;
    const { value, gradients: found } = await gradientsOf(model, ids, { ...o, at: [at] }, hooks, factor);
    const slopes = new Float64Array(shape[0]);
    for (let i = 0; i < embedding.length; i++) slopes[Math.floor(i / shape[1])] += found[at].data[i] * embedding[i];
    await yielder.yieldIfDue();
    return { factor, value, slopes };
  };
  path.taken = 0;
  return path;
}

/**
 * The power of 10 below which the metric is that of the baseline, by bisection.
 * @param {(factor: number) => Promise<Place>} path
 * @param {number} baseline
 * @param {number} change
 */
async function firstChange(path, baseline, change) {
  let [low, high] = [SMALLEST, 0];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (Math.abs((await path(10 ** middle)).value - baseline) > 0.02 * Math.abs(change)) high = middle;
    else low = middle;
  }
  return 10 ** low;
}

/**
 * The part between two places, by Simpson's rule: on the scale of logarithms, where the factor a has the derivative
 * a * slope, except for the part that begins at 0.
 * @param {(factor: number) => Promise<Place>} path
 * @param {Place} a
 * @param {Place} b
 * @returns {Promise<Part>}
 */
async function partOf(path, a, b) {
  const places = [a, await path(a.factor ? Math.sqrt(a.factor * b.factor) : b.factor / 2), b];
  const width = a.factor ? Math.log(b.factor / a.factor) : b.factor;
  const weights = places.map(({ factor }, i) => ((i === 1 ? 4 : 1) * width * (a.factor ? factor : 1)) / 6);
  const integral = a.slopes.map((_, i) => places.reduce((total, { slopes }, k) => total + weights[k] * slopes[i], 0));
  return { places, integral, error: Math.abs(sum(integral) - (b.value - a.value)) };
}

/** @param {Float64Array} values */
const sum = (values) => values.reduce((a, b) => a + b, 0);
