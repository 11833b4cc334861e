// file_store.js - the store of cache: 'file', a folder of Node's file system
import { fail } from '../base/errors.js';
import { openFile } from '../formats/node_file.js';
import { Sha256 } from './sha256.js';

/** Ending of files that are still being written; a process that died leaves one behind. */
const PART = '.part';
/** Age after which such a file is removed. */
const STALE_MS = 24 * 3600 * 1000;
/** Bytes read at a time. */
const PIECE = 1 << 20;

/**
 * A module of Node, without an import that bundlers for the browser would try to resolve.
 * @param {string} name
 * @returns {any}
 */
const node = (name) => /** @type {any} */ (globalThis.process).getBuiltinModule(`node:${name}`);

/**
 * `glassformer` in the user's cache folder.
 * @returns {string}
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
 * @param {string} [cacheDir]
 * @returns {Promise<import('./store.js').Store>}
 */
export async function fileStore(cacheDir) {
  if (!globalThis.process?.versions?.node)
    return fail(
      'unsupported',
      "cache 'file' was asked for, but there is no file system here: in a browser use 'cache-storage' or 'opfs'",
    );
  /** @type {typeof import('node:fs/promises')} */
  const fs = node('fs/promises');
  /** @type {typeof import('node:path')} */
  const { join, basename } = node('path');
  const folder = cacheDir ?? defaultCacheDir();
  const blocked = (/** @type {any} */ error) =>
    fail(
      'storage',
      `the cache folder ${folder} cannot be used (${error?.code ?? error?.message}): name another with cacheDir, or load with cache: 'none'`,
      error,
    );
  await fs.mkdir(folder, { recursive: true }).catch(blocked);
  await fs.access(folder, fs.constants.R_OK | fs.constants.W_OK).catch(blocked);
  /**
   * SHA-256 of the address, and the last part of its path for readers.
   * @param {string} url
   */
  const pathOf = (url) => {
    const last = basename(new URL(url).pathname)
      .replace(/[^\w.-]/g, '_')
      .slice(-60);
    return join(folder, `${new Sha256().update(new TextEncoder().encode(url)).digest()}-${last}`);
  };
  return {
    get: async (url) => {
      const file = await openFile(pathOf(url)).catch(() => null);
      if (!file) return null;
      const stat = await file.stat();
      if (!stat.isFile() || !stat.size) {
        await file.close();
        return null;
      }
      return new Response(contents(file), { headers: { 'content-length': String(stat.size) } });
    },
    put: async (url) => {
      await removeStale(fs, folder, join);
      const path = pathOf(url);
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
            await fs.rename(part, path); // atomic; of two processes the last one wins
          } catch (error) {
            await discard();
            throw error;
          }
        },
        abort: discard,
      });
    },
  };
}

/**
 * The bytes of an open file, which is closed at the end.
 * @param {import('../formats/node_file.js').NodeFile} file
 * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
 */
function contents(file) {
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const buffer = new Uint8Array(PIECE);
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
 * @param {typeof import('node:fs/promises')} fs
 * @param {string} folder
 * @param {typeof import('node:path').join} join
 */
async function removeStale(fs, folder, join) {
  for (const name of await fs.readdir(folder).catch(() => /** @type {string[]} */ ([]))) {
    if (!name.endsWith(PART)) continue;
    const path = join(folder, name);
    const stat = await fs.stat(path).catch(() => null);
    if (stat && Date.now() - stat.mtimeMs > STALE_MS) await fs.rm(path, { force: true }).catch(() => {});
  }
}
