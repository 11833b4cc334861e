// shared_models.js - one loaded model for all elements that name the same address, disposed when the last of them goes

/** @import { Model } from '../../api/model.js' */
/** @typedef {{ model: Promise<Model>, users: number, controller: AbortController }} Shared */
/** @type {Map<string, Shared>} */
const shared = new Map();

/**
 * The model of an address. Each call needs one `releaseModel`.
 * @param {string} src
 * @returns {Promise<Model>}
 */
export function requestModel(src) {
  let entry = shared.get(src);
  if (!entry) {
    const controller = new AbortController();
    const model = import('../../api/index.js').then(({ load }) => load(src, { signal: controller.signal }));
    entry = { model, users: 0, controller };
    shared.set(src, entry);
    model.catch(() => shared.get(src)?.model === model && shared.delete(src)); // the next element tries again
  }
  entry.users++;
  return entry.model;
}

/**
 * @param {string} src
 * @param {Promise<Model>} model  what `requestModel` returned: a later load of the address is another one's
 */
export function releaseModel(src, model) {
  const entry = shared.get(src);
  if (entry?.model !== model || --entry.users > 0) return;
  shared.delete(src);
  entry.controller.abort();
  model.then(
    (loaded) => loaded.dispose(),
    () => {},
  );
}
