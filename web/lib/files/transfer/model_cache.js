// model_cache.js - what the option cache of load has stored: lists, counts and removes it
import { Opener } from '../source.js';
import { openStore } from './download_store.js';
import { RECORDS, StoredFile } from './stored_file.js';

/**
 * A file in the cache. `complete`: a load has accepted it, so that the next one needs no network; otherwise its
 * download was interrupted, and the next load goes on with it.
 * @typedef {{url: string, bytes: number, complete: boolean}} CachedFile
 */
/**
 * Where `load` stores its downloads. Loaded models do not change when their files are removed.
 * @typedef {object} ModelCache
 * @property {() => Promise<CachedFile[]>} list  the files, by address
 * @property {() => Promise<number>} size  bytes of all files
 * @property {(source: string) => Promise<number>} delete  removes the file of an address, or all files of a folder,
 *   whose address ends in /, or of hf:owner/name; their number
 * @property {() => Promise<number>} clear  removes every file; their number
 * @property {() => Promise<boolean>} persist  asks the browser not to remove the site's data when the disk is full:
 *   whether it agreed. In Node always true
 */

/**
 * @param {{cache: string, cacheDir?: string, hfEndpoint?: string}} options
 * @returns {Promise<ModelCache>}
 */
export async function openModelCache({ cache, cacheDir, hfEndpoint }) {
  const store = /** @type {import('./download_store.js').Store} */ (await openStore(cache, cacheDir));
  /** @returns {Promise<(CachedFile & {pieces: Set<string>, absent: boolean})[]>} */
  const entries = async () => {
    const files = new Map();
    for (const bytes of await store.all(RECORDS)) {
      const record = parsed(bytes);
      if (typeof record?.url !== 'string') continue;
      const { url, pieces, total } = record;
      const file = files.get(url) ?? { url, bytes: 0, complete: false, pieces: new Set(), absent: true };
      for (const piece of pieces ?? []) file.pieces.add(piece);
      if (pieces) file.absent = false;
      file.complete ||= !!pieces && sum(pieces) === total;
      files.set(url, { ...file, bytes: sum(file.pieces) });
    }
    return [...files.values()].sort((a, b) => (a.url < b.url ? -1 : 1));
  };
  const list = async () =>
    (await entries()).flatMap(({ url, bytes, complete, absent }) => (absent ? [] : [{ url, bytes, complete }]));
  const remove = async (/** @type {(url: string) => boolean} */ wanted) => {
    const found = (await entries()).filter(({ url }) => wanted(url));
    for (const { url } of found) await new StoredFile(store, url).removeAll();
    return found.filter(({ absent }) => !absent).length;
  };
  return {
    list,
    size: async () => (await list()).reduce((bytes, file) => bytes + file.bytes, 0),
    delete: async (source) => {
      const base = globalThis.location?.href;
      const address = new URL(String(new Opener({ hfEndpoint }).resolve(source)), base).href;
      return remove((url) => (address.endsWith('/') ? url.startsWith(address) : url === address));
    },
    clear: () => remove(() => true),
    persist: async () => cache === 'file' || ((await globalThis.navigator?.storage?.persist?.()) ?? false),
  };
}

/** @param {Uint8Array} bytes */
function parsed(bytes) {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null; // damaged: the next load replaces it
  }
}

/** Bytes of pieces, which their names tell. @param {Iterable<string>} pieces */
const sum = (pieces) => Array.from(pieces).reduce((bytes, name) => bytes + Number(name.split('-')[1]), 0);
