// package_files.js - addresses of the package's own files: the two workers and the WebAssembly binaries
//
// The caller's side resolves every address and posts the result to workers; it hands `packageFiles` to what compiles a
// binary (engine/binary.js) or starts a worker (worker/start_worker.js). Where a bundler has not copied the files, the
// copies embedded in the package are used.

/**
 * Embedded copies. worker: text of one of the worker's scripts; wasm: base64 of a raw deflate stream.
 * @typedef {{worker?: string, wasm?: Partial<Record<'simd'|'relaxed'|'train', string>>}} Embedded
 */

/**
 * Each address is a literal `new URL('./file', import.meta.url)`, the form by which bundlers find the files to copy.
 * They are functions, because `import.meta.url` is missing in some output formats, where the constructor throws.
 */
const ADDRESSES = {
  worker: () => new URL('./worker.js', import.meta.url),
  worker_more: () => new URL('./worker_more.js', import.meta.url),
  worker_files: () => new URL('./worker_files.js', import.meta.url),
  train_worker: () => new URL('./train_worker.js', import.meta.url),
  simd: () => new URL('./wasm/glassformer-simd.wasm', import.meta.url),
  'simd-threads': () => new URL('./wasm/glassformer-simd-threads.wasm', import.meta.url),
  relaxed: () => new URL('./wasm/glassformer-relaxed.wasm', import.meta.url),
  'relaxed-threads': () => new URL('./wasm/glassformer-relaxed-threads.wasm', import.meta.url),
  train: () => new URL('./wasm/glassformer-train.wasm', import.meta.url),
  'train-threads': () => new URL('./wasm/glassformer-train-threads.wasm', import.meta.url),
};

let embeddedOnly = false;

/**
 * Matches addresses in the cache of Vite's development server (5 to 7). It bundles a dependency into this cache without
 * the files beside it, but serves them from the package's own folder.
 */
const VITE_CACHE = /^(.*\/node_modules\/)\.(?:vite|cache\/vite)\/(?:[^?#]*\/)?deps\/([^?#]*).*$/;

/**
 * The address of a file of the package.
 * @param {keyof typeof ADDRESSES} file
 * @returns {string | null} null where the embedded copies are preferred, or the output format of a bundler has no
 *   import.meta.url
 */
function addressOf(file) {
  if (embeddedOnly) return null;
  try {
    return String(ADDRESSES[file]()).replace(VITE_CACHE, '$1glassformer/dist/$2');
  } catch {
    return null;
  }
}

/** @typedef {'worker'|'worker_more'|'worker_files'|'engine'|'train'} CopyName */
/** @type {Record<CopyName, () => Promise<{embedded: Embedded | null}>>} */
const COPIES = {
  worker: () => import('./embedded/embedded_worker.js'),
  worker_more: () => import('./embedded/embedded_worker_more.js'),
  worker_files: () => import('./embedded/embedded_worker_files.js'),
  engine: () => import('./embedded/embedded_engine.js'),
  train: () => import('./embedded/embedded_train.js'),
};

/**
 * Loads embedded copies.
 * @param {CopyName} kind
 * @returns {Promise<Embedded | null>} null in the source tree, which has no copies, and where their file is missing too
 */
async function copyOf(kind) {
  try {
    return (await COPIES[kind]()).embedded;
  } catch {
    return null;
  }
}

/** Use the embedded copies only and request no file of the package. Called by the entry `glassformer/inline`. */
export function useEmbedded() {
  embeddedOnly = true;
}

/**
 * The text of a worker embedded in the package, all of its scripts in one.
 * @param {'worker'|'train_worker'} file
 * @returns {Promise<string | null>} null without a copy
 */
async function embeddedWorker(file) {
  /** @type {CopyName[]} */
  const parts = file === 'worker' ? ['worker', 'worker_more', 'worker_files'] : ['train'];
  const texts = (await Promise.all(parts.map(copyOf))).map((copy) => copy?.worker);
  return texts.includes(undefined) ? null : texts.join('');
}

/**
 * A binary embedded in the package.
 * @param {'simd'|'relaxed'|'train'} name  the binaries that run models are those with one thread
 * @returns {Promise<ArrayBuffer | null>} null without a copy
 */
async function embeddedBinary(name) {
  const text = (await copyOf(name === 'train' ? 'train' : 'engine'))?.wasm?.[name];
  if (text === undefined) return null;
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).arrayBuffer();
}

/** @type {import('../engine/binary.js').BinaryFiles & import('../worker/start_worker.js').WorkerFiles} */
export const packageFiles = { addressOf, embeddedBinary, embeddedWorker };
