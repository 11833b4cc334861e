// node_files.js - reads files and folders of Node's file system
//
// It is loaded only in Node: open_file.js imports it dynamically.
import { END } from '../bytes/chunks.js';
import { GlassformerError, fail, messageOf } from '../../base/errors.js';
import { openFile } from './node_file.js';

/** @import { Opened } from '../bytes/open_file.js' */
/** @import { Folder } from '../opened_files.js' */

/**
 * The folder at a path; null where the path is a file.
 * @param {string} path
 * @returns {Promise<Folder | null>}
 */
export async function folderAt(path) {
  const fs = globalThis.process.getBuiltinModule('node:fs/promises');
  const stat = await fs.stat(path).catch(() => null);
  if (!stat?.isDirectory()) return path.endsWith('/') ? fail('not-found', `${path}: there is no such folder`) : null;
  const base = path.endsWith('/') ? path : `${path}/`;
  return {
    name: base,
    get: (file) => base + file,
    list: () => fs.readdir(path).catch((error) => fail('not-found', `${path}: ${messageOf(error)}`, error)),
  };
}

/**
 * Opens the file at a path.
 * @param {string} path
 * @returns {Promise<Opened>}
 */
export async function openPath(path) {
  let file, size;
  try {
    file = await openFile(path);
    const stat = await file.stat();
    if (stat.isDirectory()) fail('bad-argument', `${path}: this is a folder`);
    size = stat.isFile() ? stat.size : null; // the size of a pipe is unknown
    if (size === 0) await file.close();
  } catch (e) {
    await file?.close();
    if (e instanceof GlassformerError) throw e;
    const { code, message } = /** @type {any} */ (e);
    if (['ENOENT', 'ENOTDIR'].includes(code)) return fail('not-found', `${path}: there is no such file`, e);
    return fail('bad-file', `${path}: the file cannot be read: ${message}`, e);
  }
  const chunks = size === 0 ? empty() : fileChunks(file, size ?? Infinity);
  return { name: path, chunks, total: size, reused: true };
}

/**
 * The chunks of an empty file.
 * @returns {AsyncIterator<Uint8Array>}
 */
const empty = () => ({ next: async () => END });

/**
 * The chunks of a file, which is closed at its end or by `return`. All are in one buffer: a chunk is valid until the
 * next one is requested. With a new buffer for each, some tens of megabytes of them wait for the garbage collector.
 * @param {import('./node_file.js').NodeFile} file
 * @param {number} size  in bytes; Infinity where it is unknown
 * @returns {AsyncIterator<Uint8Array>}
 */
function fileChunks(file, size) {
  let open = true;
  const buffer = new Uint8Array(Math.min(1 << 20, size + 1));
  const end = async () => {
    if (open) {
      open = false;
      await file.close();
    }
    return END;
  };
  return {
    next: async () => {
      if (!open) return END;
      const bytes = await file.read(buffer);
      return bytes ? { done: false, value: buffer.subarray(0, bytes) } : end();
    },
    return: end,
  };
}
