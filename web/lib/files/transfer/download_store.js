// download_store.js - where downloads are cached: Cache Storage, the origin's private file system, or a folder in Node
//
// A store holds small byte arrays, each under an address and a name. stored_file.js makes files of them.
import { GlassformerError, fail, messageOf, show } from '../../base/errors.js';
import { streamChunks } from '../bytes/open_file.js';
import { Sha256 } from './sha256.js';

/** The cache and the folder of a browser; the number changes with the layout. */
const NAME = 'glassformer-models-1';
/** Earlier versions stored whole files under this name, beside those of other code. */
const EARLIER = 'glassformer';

/**
 * `put` replaces what was there, as a whole or not at all. `earlier` gives a file as versions before this layout stored
 * it, which nothing has checked.
 * @typedef {object} Store
 * @property {(url: string, name: string) => Promise<Uint8Array | null>} get
 * @property {(url: string, name: string, bytes: Uint8Array<ArrayBuffer>) => Promise<unknown>} put
 * @property {(url: string, name: string) => Promise<unknown>} remove
 * @property {(names: string[]) => Promise<Uint8Array[]>} all  what is stored under these names, of every file
 * @property {(url: string) => Promise<AsyncIterator<Uint8Array> | null>} earlier
 * @property {(url: string) => Promise<unknown>} removeEarlier
 */

/**
 * The store of the option cache: 'cache-storage'.
 * @returns {Promise<Store>}
 */
async function cacheStorage() {
  if (typeof caches === 'undefined')
    fail('unsupported', 'cache-storage was requested, but it is not there (it needs a browser and https)');
  const cache = await caches.open(NAME);
  const at = (/** @type {string} */ url, /** @type {string} */ name) => {
    const key = new URL(url);
    key.searchParams.append(EARLIER, name);
    return key.href;
  };
  const earlier = async () => ((await caches.has(EARLIER)) ? caches.open(EARLIER) : null);
  return {
    get: async (url, name) => {
      const response = await cache.match(at(url, name));
      return response ? new Uint8Array(await response.arrayBuffer()) : null;
    },
    put: async (url, name, bytes) => cache.put(at(url, name), new Response(bytes)),
    remove: async (url, name) => cache.delete(at(url, name)),
    all: async (names) => {
      const requests = (await cache.keys()).filter(({ url }) =>
        names.includes(new URL(url).searchParams.getAll(EARLIER).at(-1) ?? ''),
      );
      const responses = await Promise.all(requests.map((request) => cache.match(request)));
      return Promise.all(responses.map(async (found) => new Uint8Array((await found?.arrayBuffer()) ?? [])));
    },
    earlier: async (url) => {
      const response = await (await earlier())?.match(url);
      return response?.body ? streamChunks(response.body) : null;
    },
    removeEarlier: async (url) => (await earlier())?.delete(url),
  };
}

/**
 * The store of the option cache: 'opfs': files of the origin's private file system, named by the hash of their address.
 * @returns {Promise<Store>}
 */
async function opfs() {
  const root = await globalThis.navigator?.storage?.getDirectory?.().catch(() => null);
  if (!root)
    fail('unsupported', 'opfs was requested, but there is no private file system here (it needs a browser and https)');
  const folder = await root.getDirectoryHandle(NAME, { create: true });
  const earlier = () => root.getDirectoryHandle(EARLIER).catch(() => null);
  const hashOf = (/** @type {string} */ url) => new Sha256().update(new TextEncoder().encode(url)).digest();
  const at = (/** @type {string} */ url, /** @type {string} */ name) => `${hashOf(url)}.${name}`;
  /** @param {Promise<FileSystemFileHandle> | undefined} handle */
  const fileOf = async (handle) =>
    handle?.then(
      (found) => found.getFile(),
      () => null,
    );
  return {
    get: async (url, name) => {
      const file = await fileOf(folder.getFileHandle(at(url, name)));
      return file ? new Uint8Array(await file.arrayBuffer()) : null;
    },
    put: async (url, name, bytes) => {
      const stream = await (await folder.getFileHandle(at(url, name), { create: true })).createWritable();
      try {
        await stream.write(bytes);
        await stream.close(); // until here the file is as it was
      } catch (error) {
        await stream.abort().catch(() => {});
        throw error;
      }
    },
    remove: async (url, name) => folder.removeEntry(at(url, name)),
    all: async (names) => {
      const found = [];
      for await (const file of folder.keys())
        if (names.includes(file.slice(file.indexOf('.') + 1)))
          found.push(await (await folder.getFileHandle(file)).getFile().then((each) => each.arrayBuffer()));
      return found.map((bytes) => new Uint8Array(bytes));
    },
    earlier: async (url) => {
      const file = await fileOf((await earlier())?.getFileHandle(hashOf(url)));
      return file?.size ? streamChunks(file.stream()) : null;
    },
    removeEarlier: async (url) => (await earlier())?.removeEntry(hashOf(url)),
  };
}

/**
 * Opens the store of an option `cache`. A failure is a `storage` error.
 * @param {string} cache  the option
 * @param {string} [cacheDir]  of 'file'
 * @returns {Promise<Store | null>} null: none
 */
export async function openStore(cache, cacheDir) {
  try {
    switch (cache) {
      case 'cache-storage':
        return await cacheStorage();
      case 'opfs':
        return await opfs();
      case 'file':
        return await (await import('./file_store.js')).fileStore(cacheDir);
      default:
        return null;
    }
  } catch (error) {
    if (error instanceof GlassformerError) throw error;
    return fail(
      'storage',
      `the cache ${show(cache)} cannot be used (${messageOf(error)}): ` +
        "allow this site to store data, or load with { cache: 'none' }",
      error,
    );
  }
}
