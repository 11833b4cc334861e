// broken.js - the loaded weights without one or several of the ideas of a transformer: a second model beside the one in
// hand, which is not touched

import { create, load } from 'glassformer';

/**
 * @param {import('./store.js').Store} store
 * @param {() => any} reads what an encoder-decoder is given to read
 */
export function createBroken({ state }, reads) {
  /**
   * The weights of the loaded model with these switches of its configuration off. The caller disposes of it.
   * @param {string[]} switches
   * @param {AbortSignal} signal
   * @returns {Promise<any>} the library's Model
   */
  function without(switches, signal) {
    if (!state.model) throw new Error('no model is loaded');
    const { made, source } = state.model;
    const off = Object.fromEntries(switches.map((name) => [name, false]));
    return made
      ? create({ ...made.config, ...off }, { seed: made.seed, signal })
      : load(source, { switches: off, signal });
  }

  /**
   * A text as it is written, beside the page's own.
   * @param {number[]} ids        its beginning
   * @param {Record<string, any>} options  of the library's `generate`
   * @param {any} [api]           another model than the one in hand
   * @returns {AsyncIterable<{ id: number, text: string }>}
   */
  const writing = (ids, options, api = state.model?.api) => api.generate(ids, { ...reads(), ...options });

  return { without, writing };
}
