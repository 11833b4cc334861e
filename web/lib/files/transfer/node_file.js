// node_file.js - reads and writes a file of Node by its descriptor
//
// Node's modules are not imported, because bundlers for browsers would not find them. FileHandle (fs/promises) is not
// used: when a worker thread is terminated, Node closes its file descriptors, but not the one of a FileHandle that is
// being read at that moment.

/** Ending of files that are being written. */
export const PART = '.part';

/** @typedef {Awaited<ReturnType<typeof openFile>>} NodeFile */

/**
 * Opens a file.
 * @param {string} path
 * @param {string} [flags]  of fs.open
 */
export async function openFile(path, flags = 'r') {
  const fs = globalThis.process.getBuiltinModule('node:fs');
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
     * Read on from the end of the last read.
     * @param {Uint8Array} buffer
     * @returns {Promise<number>} bytes that were read; 0 at the end of the file
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
     * Close the file once, after the calls before have ended: the system reuses the number of a closed descriptor for
     * the next file. closeSync, because Node drops a descriptor from its list when an asynchronous close begins, and a
     * thread that is terminated then would leave the file open.
     * @returns {Promise<void>}
     */
    close: () => (closed ??= pending.then(() => fs.closeSync(descriptor))),
  };
}

/**
 * Write a file, which gets its name when it is whole. Of two processes that write it, the last one wins.
 * @param {string} path
 * @param {Iterable<Uint8Array> | AsyncIterable<Uint8Array>} chunks
 * @returns {Promise<number>} bytes
 */
export async function replaceFile(path, chunks) {
  const fs = globalThis.process.getBuiltinModule('node:fs/promises');
  const part = `${path}.${crypto.randomUUID()}${PART}`;
  let size = 0;
  try {
    const file = await openFile(part, 'wx');
    try {
      for await (const chunk of chunks) {
        for (let at = 0; at < chunk.length;) at += await file.write(chunk.subarray(at));
        size += chunk.length;
      }
    } finally {
      await file.close();
    }
    await fs.rename(part, path);
    return size;
  } catch (error) {
    await fs.rm(part, { force: true });
    throw error;
  }
}
