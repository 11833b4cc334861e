// node_file.js - an open file of Node by its descriptor
//
// Node closes file descriptors when a worker thread is terminated, but not those of a FileHandle (fs/promises) that is
// being read at that moment.

/** @typedef {Awaited<ReturnType<typeof openFile>>} NodeFile */

/**
 * @param {string} path
 * @param {string} [flags]  as fs.open takes them
 */
export async function openFile(path, flags = 'r') {
  const fs = /** @type {typeof import('node:fs')} */ (
    /** @type {any} */ (globalThis.process).getBuiltinModule('node:fs')
  );
  /** @type {<T>(call: (done: (error: Error | null, value?: T) => void) => void) => Promise<any>} */
  const promise = (call) =>
    new Promise((resolve, reject) => call((error, value) => (error ? reject(error) : resolve(value))));
  const descriptor = await promise((done) => fs.open(path, flags, done));
  /** @type {Promise<any>} */
  let pending = Promise.resolve();
  /** @type {Promise<void> | null} */
  let closed = null;
  /** @type {typeof promise} */
  const use = (call) => {
    const result = closed ? Promise.reject(new Error(`${path} is closed`)) : promise(call);
    pending = result.catch(() => {});
    return result;
  };
  return {
    /** @returns {Promise<import('node:fs').Stats>} */
    stat: () => use((done) => fs.fstat(descriptor, done)),
    /**
     * Read from where the last call ended.
     * @param {Uint8Array} buffer
     * @returns {Promise<number>} bytes that were read, 0 at the end
     */
    read: (buffer) => use((done) => fs.read(descriptor, buffer, 0, buffer.length, null, done)),
    /**
     * @param {Uint8Array} bytes
     * @returns {Promise<number>} bytes that were written
     */
    write: (bytes) => use((done) => fs.write(descriptor, bytes, 0, bytes.length, null, done)),
    /** @returns {Promise<void>} */
    sync: () => use((done) => fs.fsync(descriptor, done)),
    /**
     * After what was called before has ended, and once only: the system gives the number to the next file. Node forgets
     * a descriptor when its close begins, and a thread that is terminated then would leave the file open: hence
     * closeSync.
     * @returns {Promise<void>}
     */
    close: () => (closed ??= pending.then(() => fs.closeSync(descriptor))),
  };
}
