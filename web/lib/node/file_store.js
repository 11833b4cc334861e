// file_store.js - the store of the option cache: 'file', a folder of Node's file system
import { fail } from '../base/errors.js';
import { openFile } from './node_file.js';
import { Sha256 } from '../download/sha256.js';

/** Ending of files that are being written. A process that is killed leaves such a file behind. */
const PART = '.part';
/** Age after which such a file is removed. */
const STALE_MS = 24 * 3600 * 1000;
/** Bytes that are read at a time. */
const READ_BYTES = 1 << 20;

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
 * @returns {Promise<import('../cache/model_store.js').Store>}
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
  return {
    get: (url) => storedResponse(pathOf(folder, url)),
    put: async (url) => {
      await removeStale(fs, folder);
      return fileWriter(fs, pathOf(folder, url));
    },
  };
}

/**
 * The path of a stored file: SHA-256 of the address, and the last part of the address, which people can read.
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
 * A stored file as a response; null where there is none.
 * @param {string} path
 */
async function storedResponse(path) {
  const file = await openFile(path).catch(() => null);
  if (!file) return null;
  const stat = await file.stat();
  if (stat.isFile() && stat.size)
    return new Response(contents(file), { headers: { 'content-length': String(stat.size) } });
  await file.close();
  return null;
}

/**
 * A stream into a file, which gets its name when the stream is closed.
 * @param {typeof import('node:fs/promises')} fs
 * @param {string} path
 * @returns {Promise<WritableStream<Uint8Array>>}
 */
async function fileWriter(fs, path) {
  const part = `${path}.${crypto.randomUUID()}${PART}`;
  const file = await openFile(part, 'wx');
  const discard = async () => {
    await file.close().catch(() => {});
    await fs.rm(part, { force: true });
  };
  return new WritableStream({
    async write(chunk) {
      for (let at = 0; at < chunk.length;) at += await file.write(chunk.subarray(at));
    },
    async close() {
      try {
        await file.sync(); // before the rename: a crash must not leave an incomplete file
        await file.close();
        await fs.rename(part, path); // atomic; of two processes that write the file, the last one wins
      } catch (error) {
        await discard();
        throw error;
      }
    },
    abort: discard,
  });
}

/**
 * The bytes of an open file, which is closed at the end.
 * @param {import('./node_file.js').NodeFile} file
 * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
 */
function contents(file) {
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const buffer = new Uint8Array(READ_BYTES);
          const bytes = await file.read(buffer);
          if (bytes) return controller.enqueue(buffer.subarray(0, bytes));
        } catch (error) {
          await file.close();
          throw error;
        }
        await file.close();
        controller.close();
      },
      cancel: () => file.close(),
    },
    { highWaterMark: 0 },
  );
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
