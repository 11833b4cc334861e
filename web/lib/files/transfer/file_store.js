// file_store.js - the store of the option cache: 'file', a folder of Node's file system
import { fail } from '../../base/errors.js';
import { streamChunks } from '../bytes/open_file.js';
import { PART, openFile, replaceFile } from './node_file.js';
import { Sha256 } from './sha256.js';

/** Age after which a file is removed that a killed process has left behind. */
const STALE_MS = 24 * 3600 * 1000;

/**
 * A module of Node. It is not imported, because bundlers for browsers would not find it.
 * @param {string} name
 * @returns {any}
 */
const node = (name) => /** @type {any} */ (globalThis.process).getBuiltinModule(`node:${name}`);

/**
 * The default folder: `glassformer` in the user's cache folder.
 * @returns {string} its path
 */
export function defaultCacheDir() {
  const { env, platform } = /** @type {any} */ (globalThis.process);
  const { homedir } = node('os');
  const { join } = node('path');
  const base =
    platform === 'win32'
      ? env.LOCALAPPDATA || join(homedir(), 'AppData', 'Local')
      : platform === 'darwin'
        ? join(homedir(), 'Library', 'Caches')
        : /^\//.test(env.XDG_CACHE_HOME ?? '')
          ? env.XDG_CACHE_HOME
          : join(homedir(), '.cache');
  return join(base, 'glassformer');
}

/**
 * Opens the store. Throws `unsupported` outside Node, and `storage` when the folder cannot be used.
 * @param {string} [cacheDir]  the folder
 * @returns {Promise<import('./download_store.js').Store>}
 */
export async function fileStore(cacheDir) {
  if (!globalThis.process?.versions?.node)
    return fail(
      'unsupported',
      "cache 'file' was requested, but there is no file system here: in a browser use 'cache-storage' or 'opfs'",
    );
  const folder = cacheDir ?? defaultCacheDir();
  /** @type {typeof import('node:fs/promises')} */
  const fs = node('fs/promises');
  try {
    await fs.mkdir(folder, { recursive: true });
    await fs.access(folder, fs.constants.R_OK | fs.constants.W_OK);
  } catch (/** @type {any} */ error) {
    fail(
      'storage',
      `the cache folder ${folder} cannot be used (${error?.code ?? error?.message}): ` +
        "name another with cacheDir, or load with cache: 'none'",
      error,
    );
  }
  const at = (/** @type {string} */ url, /** @type {string} */ name) => `${pathOf(folder, url)}.${name}`;
  /** @type {Promise<void> | undefined} */
  let cleaned;
  return {
    get: (url, name) => contents(at(url, name)),
    put: async (url, name, bytes) => {
      await (cleaned ??= removeStale(fs, folder));
      await replaceFile(at(url, name), [bytes]);
    },
    remove: (url, name) => fs.rm(at(url, name)),
    all: async (names) => {
      const files = (await fs.readdir(folder)).filter((file) => names.includes(file.slice(file.lastIndexOf('.') + 1)));
      const found = await Promise.all(files.map((file) => contents(node('path').join(folder, file))));
      return found.filter((bytes) => bytes !== null);
    },
    earlier: async (url) => {
      const path = pathOf(folder, url);
      const stat = await fs.stat(path).catch(() => null);
      return stat?.size ? streamChunks(node('stream').Readable.toWeb(node('fs').createReadStream(path))) : null;
    },
    removeEarlier: (url) => fs.rm(pathOf(folder, url)),
  };
}

/**
 * The beginning of the paths of a file: SHA-256 of the address, and the last part of the address, which people can
 * read. Earlier versions stored the whole file there.
 * @param {string} folder
 * @param {string} url
 * @returns {string}
 */
function pathOf(folder, url) {
  const { join, basename } = node('path');
  const last = basename(new URL(url).pathname)
    .replace(/[^\w.-]/g, '_')
    .slice(-60);
  return join(folder, `${new Sha256().update(new TextEncoder().encode(url)).digest()}-${last}`);
}

/**
 * The bytes of a small file; null where there is none.
 * @param {string} path
 * @returns {Promise<Uint8Array | null>}
 */
async function contents(path) {
  const file = await openFile(path).catch(() => null);
  if (!file) return null;
  try {
    const bytes = new Uint8Array((await file.stat()).size);
    let size = 0;
    for (let read = 1; read && size < bytes.length; size += read) read = await file.read(bytes.subarray(size));
    return bytes.subarray(0, size);
  } finally {
    await file.close();
  }
}

/**
 * Remove old files that were never completed.
 * @param {typeof import('node:fs/promises')} fs
 * @param {string} folder
 */
async function removeStale(fs, folder) {
  for (const name of await fs.readdir(folder).catch(() => /** @type {string[]} */ ([]))) {
    if (!name.endsWith(PART)) continue;
    const path = node('path').join(folder, name);
    const stat = await fs.stat(path).catch(() => null);
    if (stat && Date.now() - stat.mtimeMs > STALE_MS) await fs.rm(path, { force: true }).catch(() => {});
  }
}
