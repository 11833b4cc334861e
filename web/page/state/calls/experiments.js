// experiments.js - passes and texts beside the page's own, never in it: other weights, parts off, another model
import { create, load } from 'glassformer';

/** @typedef {import('../store/runtime.js').Runtime} Runtime */

/** How likely the model finds these ids, in bits per token, with some parts changed.
 * @param {Runtime} runtime
 * @param {number[]} ids
 * @param {any[]} edits
 * @param {AbortSignal} [signal]
 * @param {any} [api] another model than the loaded one */
export async function lossOf(runtime, ids, edits, signal, api = runtime.model()) {
  if (ids.length < 2) return { bits: [], mean: 0 };
  const { perToken } = await api.loss(ids, { ...runtime.reads(), edits, signal, perToken: true });
  const bits = Array.from(perToken.data, (/** @type {number} */ nats) => nats / Math.LN2);
  return { bits, mean: bits.reduce((a, b) => a + b, 0) / bits.length };
}

/** The logits after these ids, with some parts changed. @param {Runtime} runtime
 * @param {number[]} ids @param {any[]} edits @param {AbortSignal} [signal] @returns {Promise<Float32Array>} */
export const logitsAfter = async (runtime, ids, edits, signal) =>
  (await runtime.model().forward(ids, { ...runtime.reads(), edits, signal, logits: 'last' })).logits.data;

/**
 * What each of several changes costs, in bits per token. @param {Runtime} runtime
 * @param {number[]} ids @param {any[][]} editSets @param {AbortSignal} [signal] @returns {Promise<number[]>}
 */
export async function costsOf(runtime, ids, editSets, signal) {
  const { base, values } = await runtime.model().sweep(ids, editSets, { ...runtime.reads(), metric: 'loss', signal });
  return Array.from(values.data, (/** @type {number} */ nats) => (nats - base) / Math.LN2);
}

/**
 * A text as it is written.
 * @param {Runtime} runtime
 * @param {number[]} ids        its beginning
 * @param {Record<string, any>} options  of the library's `generate`
 * @param {any} [api]           another model than the loaded one
 * @returns {AsyncIterable<{ id: number, text: string }>}
 */
export const generate = (runtime, ids, options, api = runtime.model()) =>
  api.generate(ids, { ...runtime.reads(), ...options });

/** The continuation of these ids with some parts changed, greedy unless a sampler is given.
 * @param {Runtime} runtime
 * @param {number[]} ids @param {any[]} edits @param {number} maxTokens @param {AbortSignal} [signal]
 * @param {any} [api]
 * @param {object} [sampler] */
export async function continuation(runtime, ids, edits, maxTokens, signal, api, sampler = { temperature: 0 }) {
  const steps = [];
  for await (const { id, text } of generate(runtime, ids, { ...sampler, maxTokens, edits, signal }, api))
    steps.push({ id, text });
  return steps;
}

/**
 * A call of the library's model about ids, which gets what an encoder-decoder reads.
 * @template T
 * @param {'forward' | 'logitLens' | 'attribution'} call
 * @returns {(runtime: Runtime, ids: number[], options?: Record<string, any>) => Promise<T>}
 */
const asked = (call) => (runtime, ids, options) => runtime.model()[call](ids, { ...runtime.reads(), ...options });

/** One pass over these ids. */
export const forward = /** @type {typeof asked<import('glassformer').ForwardResult>} */ (asked)('forward');
/** The likeliest tokens after each layer: [layer][position][rank]. */
export const lens = /** @type {typeof asked<import('glassformer').LensToken[][][]>} */ (asked)('logitLens');
/** One logit after these ids as a sum of parts; of the most likely token, or of `token`. */
export const attribution = /** @type {typeof asked<import('glassformer').Attribution>} */ (asked)('attribution');

/**
 * The weights of the loaded model without these ideas of a transformer: switches of its configuration that are off. The
 * caller disposes of it.
 * @param {Runtime} runtime
 * @param {string[]} switches
 * @param {AbortSignal} signal
 * @returns {Promise<any>} the library's Model
 */
export async function without(runtime, switches, signal) {
  const { made, source, options } = runtime.loaded(),
    { adapter } = runtime.state.engine;
  const off = Object.fromEntries(switches.map((name) => [name, false]));
  const model = await (made
    ? create({ ...made.config, ...off }, { seed: made.seed, signal })
    : load(source, { ...options, switches: off, signal }));
  try {
    if (adapter) await model.setAdapter(await model.addAdapter(adapter.files));
    return model;
  } catch (error) {
    model.dispose();
    throw error;
  }
}
