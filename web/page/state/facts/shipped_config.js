// shipped_config.js - configurations of shipped models, read from their files once each

import { load } from 'glassformer';

/** The configurations that were read, by address. @type {Map<string, any>} */
const known = new Map();

/**
 * The configuration in the file of a shipped model.
 * @param {string} file  its address, relative to the page
 * @param {AbortSignal} signal
 */
export async function shippedConfig(file, signal) {
  if (!known.has(file)) {
    const api = await load(new URL(file, document.baseURI), { signal });
    known.set(file, api.config);
    api.dispose();
  }
  return known.get(file);
}
