// experiments.js - passes beside the text, never in it: other weights on, parts off, another model.

import { logprob } from './likelihood.js';

/**
 * @param {import('./store.js').Store} store
 * @param {() => any} reads what an encoder-decoder is given to read
 */
export function createExperiments({ state }, reads) {
  const model = () => state.model?.api;

  /** How likely the model finds these ids, in bits per token, with some parts changed.
   * @param {number[]} ids
   * @param {any[]} edits
   * @param {AbortSignal} [signal]
   * @param {any} [api] another model than the one in hand */
  async function lossOf(ids, edits, signal, api = model()) {
    const { logits } = await api.forward(ids, { ...reads(), edits, signal });
    const [n, size] = logits.shape;
    const bits = [];
    for (let p = 0; p + 1 < n; p++)
      bits.push(-logprob(logits.data.subarray(p * size, (p + 1) * size), ids[p + 1]) / Math.LN2);
    return {
      bits,
      mean: bits.reduce((a, b) => a + b, 0) / Math.max(1, bits.length),
      last: logits.data.slice((n - 1) * size),
    };
  }

  /** The continuation of these ids with some parts changed, greedy unless a sampler is given.
   * @param {number[]} ids @param {any[]} edits @param {number} maxTokens @param {AbortSignal} [signal]
   * @param {any} [api]
   * @param {object} [sampler] */
  async function continuation(ids, edits, maxTokens, signal, api = model(), sampler = { temperature: 0 }) {
    const steps = [];
    for await (const step of api.generate(ids, { ...reads(), ...sampler, maxTokens, edits, signal }))
      steps.push({ id: step.id, text: step.text });
    return steps;
  }

  /**
   * One pass over these ids.
   * @param {number[]} ids
   * @param {{ capture?: string[], edits?: any[], signal?: AbortSignal }} [options]
   * @returns {Promise<{ logits: any, captured: Record<string, any> }>}
   */
  const forward = (ids, options) => model().forward(ids, { ...reads(), ...options });

  /**
   * The likeliest tokens after each layer.
   * @param {number[]} ids
   * @param {{ top?: number, signal?: AbortSignal }} [options]
   * @returns {Promise<any[][][]>} [layer][position][rank]
   */
  const lens = (ids, options) => model().logitLens(ids, { ...reads(), ...options });

  /**
   * One logit after these ids as a sum of parts.
   * @param {number[]} ids
   * @param {{ token?: number, signal?: AbortSignal }} [options]  token: the most likely one if absent
   * @returns {Promise<import('../views/inside/lens.js').Attribution>}
   */
  const attribution = (ids, options) => model().attribution(ids, { ...reads(), ...options });

  return { lossOf, continuation, forward, lens, attribution };
}
