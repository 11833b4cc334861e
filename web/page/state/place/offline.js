// offline.js - keeps the files of the page, so that it opens without a network; models only where the visitor asks for it
import { keep, recall } from '../base/storage.js';
import { SHIPPED } from '../facts/shipped_models.js';

const NAME = 'glassformer-offline';

/** @param {string} name */
const here = (name) => new URL(name, document.baseURI).href;

/** The visitor's browser asks to save data. */
export const savesData = () => !!(/** @type {any} */ (navigator).connection?.saveData);

/** Whether the page can be kept at all. Development has no service worker. */
export const canKeep = () => import.meta.env.PROD && 'serviceWorker' in navigator;

/** Whether all models are kept, because the visitor has asked for it. */
export const keepsAll = () => recall(NAME) === 'all';

/**
 * Name files to the service worker. @param {string[]} files @param {'none' | 'code' | 'all'} more  see sw.js
 * @returns {Promise<void>} when they are kept
 */
async function keepFiles(files, more) {
  await navigator.serviceWorker.register(here('sw.js'));
  const worker = (await navigator.serviceWorker.ready).active;
  const { port1, port2 } = new MessageChannel();
  const done = new Promise((resolve) => port1.addEventListener('message', resolve, { once: true }));
  port1.start();
  const fetched = performance.getEntriesByType('resource').map((entry) => entry.name);
  worker?.postMessage({ keep: [here('./'), ...fetched, ...files], more }, [port2]);
  await done;
}

const MODELS = () => SHIPPED.flatMap((m) => (m.parts ?? ['']).map((part) => here(m.file + part)));

/**
 * Register the service worker and name the files that it keeps: those that were fetched, and the code of the other views
 * unless the browser saves data; all models if the visitor has asked for them.
 */
export async function keepOffline() {
  if (!canKeep()) return;
  const all = keepsAll();
  try {
    await keepFiles(all ? MODELS() : [], all ? 'all' : savesData() ? 'none' : 'code');
  } catch (error) {
    console.info('The page will not open offline:', error);
  }
}

/** Keep all models and binaries too, now and on later visits. */
export async function keepAll() {
  keep(NAME, 'all');
  await keepFiles(MODELS(), 'all');
}
