// path_patching.js - what reaches receivers from senders along the residual stream, with all else as it was
//
// Wang et al. 2022, "Interpretability in the Wild", appendix B; Goldowsky-Dill et al. 2023, "Localizing Model Behavior
// with Path Patching".
import { Yielder } from '../../base/event_loop.js';
import { fail } from '../../base/errors.js';
import { forwardOne } from '../inspect/forward.js';
import { averaged } from '../inspect/average.js';
import { CleanRun } from './clean_run.js';

/** @import { Tensor } from '../../engine/engine.js' */
/** @import { LoadedModel } from '../loaded_model.js' */
/** @import { Edit } from '../inspect/edits.js' */
/** @import { Point, Points } from '../inspect/capture.js' */
/**
 * A set of places: a point, or a pattern of names; head: one head of it. A string is a point with all its heads.
 * @typedef {string | {at: string, head?: number}} Place
 */
/**
 * The result of `pathPatching`.
 * @typedef {object} PathEffects
 * @property {number} base      the metric without a change
 * @property {Tensor} values    [sender] the metric where the receivers get what they would have got if this sender had
 *   its value on the other input, and no other one
 * @property {{at: string, head?: number}[]} senders  in the order of values
 * @property {number} [n]       number of inputs, if there are several; base and values are means over them
 * @property {{base: number, values: Tensor}} [standardError]  standard errors of these means
 */

/** What keeps its value while a sender changes, so that only the stream carries the change. */
const HELD = /\.(attn\.hook_z|hook_mlp_out)$/;

/**
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o  from, senders, receivers, throughMlps, metric, addSpecialTokens
 * @param {import('../calls.js').Hooks} hooks
 * @returns {Promise<PathEffects>}
 */
export async function pathPatching(model, input, o, { signal }) {
  model.requireDecoder('pathPatching');
  if (model.config.kind !== 'decoder') fail('unsupported', 'pathPatching is a call of decoders');
  const yielder = new Yielder(signal);
  return averaged(input, o, (one, own) => effectsOf(model, one, own, yielder));
}

/**
 * The places that are named, a sender for each point and head.
 * @param {Points} points
 * @param {Place[]} places
 * @param {boolean} eachHead  whether a point with heads is one place for each
 */
function placesOf(points, places, eachHead) {
  return places.flatMap((place) => {
    const { at, head } = typeof place === 'string' ? { at: place, head: undefined } : place;
    return points.matchOne(at).flatMap((p) => {
      const [heads, ...inner] = points.shape(p);
      if (p.axes === 'S') fail('bad-option', `${p.name}: scores and patterns are no places of a path`);
      if (head !== undefined && !(inner.length && head < heads)) fail('bad-option', `${p.name} has no head ${head}`);
      const own = inner.length && head === undefined && eachHead ? Array.from({ length: heads }, (_, h) => h) : [head];
      return own.map((h) => ({ p, head: h }));
    });
  });
}

/**
 * The edit that sets a captured value at a place.
 * @param {{p: Point, head?: number}} place
 * @param {Record<string, Tensor>} captured
 * @returns {Edit}
 */
function setting({ p, head }, captured) {
  const { data, shape } = captured[p.name];
  if (head === undefined) return { at: p.name, set: { data, shape } };
  const [n, heads, width] = shape;
  const own = new Float32Array(n * width);
  for (let t = 0; t < n; t++)
    own.set(data.subarray((t * heads + head) * width, (t * heads + head + 1) * width), t * width);
  return { at: p.name, head, set: { data: own, shape: [n, width] } };
}

/**
 * @param {LoadedModel} model
 * @param {any} input
 * @param {Record<string, any>} o
 * @param {Yielder} yielder
 * @returns {Promise<PathEffects>}
 */
async function effectsOf(model, input, o, yielder) {
  const ids = model.ids(input, 'input', o.addSpecialTokens);
  const other = model.ids(o.from, 'input from', o.addSpecialTokens);
  if (other.length !== ids.length)
    fail('bad-option', `from has ${other.length} tokens, the input has ${ids.length}: they are compared by position`);
  const points = await model.points();
  const senders = placesOf(points, o.senders, true);
  const receivers = placesOf(points, o.receivers, false);
  const held = points.names.filter((name) => HELD.test(name) && !(o.throughMlps && name.endsWith('hook_mlp_out')));
  const receiving = [...new Set(receivers.map(({ p }) => p.name))];
  const pass = (/** @type {number[]} */ tokens, /** @type {Record<string, any>} */ more) =>
    forwardOne(model, tokens, { logits: 'none', ...more }, yielder);
  const { captured: here } = await pass(ids, { capture: held });
  const { captured: there } = await pass(other, { capture: [...new Set(senders.map(({ p }) => p.name))] });
  const frozen = held.map((at) => ({ at, set: here[at] }));
  const clean = await CleanRun.open(model, ids, o, yielder);
  try {
    const data = new Float32Array(senders.length);
    for (const [i, sender] of senders.entries()) {
      // a receiver that is held itself gets what it computes: the stream before it has the change
      const edits = [...frozen.filter(({ at }) => !receiving.includes(at)), setting(sender, there)];
      const { captured } = await pass(ids, { capture: receiving, edits });
      const got = receivers.map((receiver) => setting(receiver, captured));
      data[i] = await clean.with(got, points, yielder);
      await yielder.yieldIfDue();
    }
    const names = senders.map(({ p, head }) => ({ at: p.name, ...(head !== undefined && { head }) }));
    return { base: clean.base, values: { data, shape: [data.length] }, senders: names };
  } finally {
    clean.close();
  }
}
