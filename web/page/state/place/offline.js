// offline.js - keeps the files of the page, so that it opens without a network
import { SHIPPED } from '../facts/shipped_models.js';

/**
 * Register the service worker and name the files that it keeps: those that were fetched, and the models of the page.
 * Development has no service worker.
 */
export async function keepOffline() {
  if (!(/** @type {any} */ (import.meta).env.PROD) || !('serviceWorker' in navigator)) return;
  const here = (/** @type {string} */ name) => new URL(name, document.baseURI).href;
  try {
    await navigator.serviceWorker.register(here('sw.js'));
    const worker = (await navigator.serviceWorker.ready).active;
    const models = SHIPPED.flatMap((m) => (m.parts ?? ['']).map((part) => here(m.file + part)));
    const fetched = performance.getEntriesByType('resource').map((entry) => entry.name);
    worker?.postMessage({ keep: [here('./'), ...fetched, ...models] });
  } catch (error) {
    console.info('The page will not open offline:', error);
  }
}
