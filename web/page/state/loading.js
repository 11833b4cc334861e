// loading.js - models on their way into the page: loaded, made with random weights, offered

import { countParameters, create, load } from 'glassformer';
import { int } from '../text/format.js';
import { createAdopting } from './adopting.js';

export const RUNNABLE = 60e6; // parameters that are made here with random weights, at most

/**
 * @param {import('./shared.js').Shared} shared
 * @param {object} parts
 * @param {(prompt: string) => Promise<void>} parts.setPrompt
 * @param {(ids: number[], kept?: number) => Promise<void>} parts.restore
 * @param {() => Promise<void>} parts.run
 */
export function createLoading(shared, { setPrompt, restore, run }) {
  const { state, set } = shared;
  /** loaded, to be taken in hand if somebody wants it @type {{ api: any, about: any } | null} */
  let offered = null;

  function dropOffer() {
    offered?.api.dispose();
    offered = null;
    if (state.offer) set({ offer: null });
  }
  const adopt = createAdopting(shared, { setPrompt, dropOffer });

  /** The model on its way from now on; the one before is broken off. */
  function begin() {
    shared.loading?.abort();
    return (shared.loading = new AbortController());
  }

  /** @param {AbortController} mine */
  function end(mine) {
    if (shared.loading !== mine) return;
    shared.loading = null;
    set({ progress: null });
  }

  /**
   * Load a model and make it the one in hand. The one before stays until the new one is whole, and for good if it never
   * is.
   * @param {any} source
   * @param {import('./adopting.js').About & { instead?: () => boolean, fetch?: typeof fetch, options?: any }} about
   *   `instead` is asked once the model is there whether it may still replace the other, if there is one: otherwise it is
   *   offered. `options`: the library's
   */
  async function loadModel(source, about) {
    const mine = begin();
    let fileBytes = about.fileBytes ?? null;
    const before = state.status;
    set({
      progress: { name: about.name, phase: 'download', loaded: 0, total: fileBytes },
      error: '',
      ...(state.model ? {} : { status: 'loading' }),
    });
    try {
      const api = await load(source, {
        ...about.options,
        signal: mine.signal,
        ...(about.fetch && { fetch: about.fetch }),
        onProgress(p) {
          if (p.phase === 'download' && p.total) fileBytes = p.total;
          if (shared.loading === mine) set({ progress: { ...p, name: about.name } });
        },
      });
      if (shared.loading !== mine) return api.dispose();
      if (state.model && about.instead?.() === false) return offer(api, { ...about, fileBytes, source });
      await adopt(api, { ...about, fileBytes, source }, mine);
    } catch (error) {
      if (shared.loading !== mine) return;
      shared.fail(error);
      set({ status: state.model ? state.status : before === 'loading' ? 'empty' : before });
    } finally {
      end(mine);
    }
  }

  /** Break off the model on its way. */
  function stopLoading() {
    shared.loading?.abort();
  }

  /**
   * Keep a loaded model until somebody wants it.
   * @param {any} api
   * @param {any} about
   */
  function offer(api, about) {
    dropOffer();
    offered = { api, about };
    set({ offer: { name: about.name } });
  }

  /** Take the offered model in hand. The text stays, and goes on if it was being written. */
  async function takeOffer() {
    if (!offered) return;
    const { api, about } = offered;
    offered = null;
    set({ offer: null });
    const mine = begin();
    const writes = state.status === 'running';
    const ids = state.tokens.map((t) => t.id);
    const given = state.tokens.filter((t) => t.given).length;
    await adopt(api, about, mine);
    if (shared.loading === mine) shared.loading = null;
    if (shared.model() !== api) return;
    const same = ids.slice(0, given).every((id, i) => state.tokens[i]?.id === id);
    if (same && ids.length > given) await restore(ids.slice(given), given);
    if (writes) await run();
  }

  /** Make a model with random weights and take it in hand. @param {any} config @param {number} [seed]
   * @param {{ prompt?: string, source?: string }} [asked]  of an address: as they are @returns whether it is there */
  async function make(config, seed = state.sampler.seed, asked = {}) {
    const mine = begin();
    set({ error: '', progress: { name: 'random weights', phase: 'load', loaded: 0, total: null } });
    try {
      const { total } = countParameters(config);
      if (total > RUNNABLE)
        throw new Error(`a model of ${int(total)} parameters is too large to be made here: at most ${int(RUNNABLE)}`);
      const api = await create(config, { seed, signal: mine.signal });
      if (shared.loading !== mine) {
        api.dispose();
        return false;
      }
      await adopt(api, { name: 'random weights', made: { config, seed }, asked }, mine);
      return shared.model() === api;
    } catch (error) {
      if (shared.loading === mine) shared.fail(error);
      return false;
    } finally {
      end(mine);
    }
  }

  return { loadModel, stopLoading, takeOffer, dropOffer, make };
}
