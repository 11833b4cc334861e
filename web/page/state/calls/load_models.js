// load_models.js - loads models and makes models with random weights, and stops either
import { say } from '../base/language.js';
import { countParameters, create, load } from 'glassformer';
import { adoptModel } from './adopt_model.js';
import { keepRun } from './branching.js';
import { write } from './writing.js';

/** @typedef {import('../store/runtime.js').Runtime} Runtime */

export const RUNNABLE = 60e6; // parameters that are made here with random weights, at most

/** The model on its way from now on; the one before is broken off. @param {Runtime} runtime */
function begin(runtime) {
  stopLoading(runtime);
  return (runtime.loading = new AbortController());
}

/** @param {Runtime} runtime @param {AbortController} loading */
function end(runtime, loading) {
  if (runtime.loading !== loading) return;
  runtime.loading = null;
  runtime.set({ engine: { progress: null } });
}

/** Break off the model on its way. @param {Runtime} runtime */
export function stopLoading(runtime) {
  runtime.loading?.abort();
}

/**
 * Load a model and put it in the place of the one before. That stays until the new one is whole, and for good if it never
 * is.
 * @param {Runtime} runtime
 * @param {any} source
 * @param {import('./adopt_model.js').About & { fetch?: typeof fetch }} about
 */
export async function loadModel(runtime, source, about) {
  const { state, set } = runtime;
  const loading = begin(runtime);
  let fileBytes = about.fileBytes ?? null;
  const { status, model } = state.engine;
  set({
    engine: {
      progress: { name: about.name, phase: 'download', loaded: 0, total: fileBytes },
      missingKeys: null,
      ...(!model && { status: 'loading' }),
    },
    view: { error: '' },
  });
  try {
    const api = await load(source, {
      ...about.options,
      signal: loading.signal,
      ...(about.fetch && { fetch: about.fetch }),
      onProgress(p) {
        if (p.phase === 'download' && p.total) fileBytes = p.total;
        if (runtime.loading === loading) set({ engine: { progress: { ...p, name: about.name } } });
      },
    });
    if (runtime.loading !== loading) return api.dispose();
    // a visitor's own file has a name in it
    const name = about.address || about.trained ? about.name : api.name || about.name;
    await adoptModel(runtime, api, { ...about, name, fileBytes, source }, loading);
  } catch (error) {
    if (runtime.loading !== loading) return;
    runtime.fail(error);
    const { keys } = /** @type {import('glassformer').GlassformerError} */ (error);
    set({
      engine: {
        status: state.engine.model ? state.engine.status : status === 'loading' ? 'empty' : status,
        missingKeys: keys ? { keys, source, about } : null,
      },
    });
  } finally {
    end(runtime, loading);
  }
}

/** Download the model that was offered, and let it write in the place of this one, whose text is kept.
 * @param {Runtime} runtime */
export async function takeOffer(runtime) {
  const { offer } = runtime.state.engine;
  if (!offer) return;
  if (runtime.model()) keepRun(runtime);
  runtime.set({ engine: { offer: null } });
  const { file, name, opens } = offer;
  await loadModel(runtime, new URL(file, document.baseURI), { name, address: file, opens });
  if (runtime.state.engine.model?.address === file) await write(runtime);
  else if (runtime.state.view.error) runtime.set({ engine: { offer } });
}

/** Make a model with random weights and put it in the place of this one.
 * @param {Runtime} runtime @param {any} config @param {number} [seed]
 * @param {{ prompt?: string, source?: string }} [asked]  of an address: as they are @returns whether it is there */
export async function make(runtime, config, seed = runtime.state.sampler.seed, asked = {}) {
  const loading = begin(runtime);
  runtime.set({
    view: { error: '' },
    engine: { progress: { name: 'random weights', phase: 'load', loaded: 0, total: null } },
  });
  try {
    const { total } = countParameters(config);
    const int = (/** @type {number} */ n) => n.toLocaleString('en');
    if (total > RUNNABLE)
      throw new Error(say`a model with ${int(total)} parameters is too large to create here (limit: ${int(RUNNABLE)})`);
    const api = await create(config, { seed, signal: loading.signal });
    if (runtime.loading !== loading) {
      api.dispose();
      return false;
    }
    await adoptModel(runtime, api, { name: 'random weights', made: { config, seed }, asked }, loading);
    return runtime.model() === api;
  } catch (error) {
    if (runtime.loading === loading) runtime.fail(error);
    return false;
  } finally {
    end(runtime, loading);
  }
}
