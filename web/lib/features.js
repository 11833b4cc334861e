// features.js - what this machine's WebAssembly can do, which binary that makes it, and where it comes from
import { fail, show } from './formats/errors.js';

/**
 * The smallest modules that are valid only where the binaries are: one function () -> v128 with the instructions that decide it. Engines
 * add instructions one by one, so the relaxed one has every relaxed instruction of the relaxed binaries (a test scans them for others).
 */
export const PROBES = {
  /** i32.const 0  i8x16.splat  i8x16.popcnt */
  simd: probe([65, 0, 253, 15, 253, 98]),
  /** i32.const 0  i8x16.splat, three times, then i32x4.relaxed_dot_i8x16_i7x16_add_s (253, 0x113 in LEB128) */
  relaxed: probe([65, 0, 253, 15, 65, 0, 253, 15, 65, 0, 253, 15, 253, 147, 2]),
};

/** @param {number[]} body  instructions of a function () -> v128, without its end */
function probe(body) {
  const n = body.length + 2;
  return new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, n + 2, 1, n, 0, ...body, 11]);
}

/** Written out so that every bundler sees all files: alone, and with threads. */
const FILES = {
  simd: [() => new URL('./wasm/glassformer-simd.wasm', import.meta.url), () => new URL('./wasm/glassformer-simd-threads.wasm', import.meta.url)],
  relaxed: [() => new URL('./wasm/glassformer-relaxed.wasm', import.meta.url), () => new URL('./wasm/glassformer-relaxed-threads.wasm', import.meta.url)],
};

/** Compiled modules by address; a failed one is forgotten. @type {Map<string, Promise<WebAssembly.Module>>} */
const compiled = new Map();

/**
 * The best binary that this machine can run; nothing is fetched.
 * @param {'auto'|'simd'|'relaxed'} [wanted]
 * @returns {'simd'|'relaxed'}
 */
export function chooseBackend(wanted = 'auto') {
  if (!['auto', 'simd', 'relaxed'].includes(wanted)) {
    fail('bad-option', `backend is ${show(wanted)}, expected auto, simd or relaxed`);
  }
  if (typeof WebAssembly === 'undefined' || !WebAssembly.validate(PROBES.simd)) {
    fail('unsupported', 'this browser or runtime has no WebAssembly SIMD, which the engine needs');
  }
  const relaxed = WebAssembly.validate(PROBES.relaxed);
  if (wanted === 'relaxed' && !relaxed) {
    fail('unsupported', 'backend relaxed was asked for, but this browser or runtime has no relaxed SIMD');
  }
  return wanted === 'simd' || !relaxed ? 'simd' : 'relaxed';
}

/**
 * Why only one thread can compute here, or null when several can: they need shared memory, which a page has when it is cross-origin
 * isolated, and an engine that may sleep, which a page's own thread may not.
 * @returns {string | null}
 */
export function whyOneThread() {
  const node = globalThis.process?.getBuiltinModule?.('node:worker_threads');
  if (node ? node.isMainThread : !('WorkerGlobalScope' in globalThis)) return 'it computes in the caller\'s thread, not in a worker';
  if (node) return null;
  if (!globalThis.crossOriginIsolated) return 'the page is not cross-origin isolated';
  if (typeof SharedArrayBuffer === 'undefined') return 'the page is cross-origin isolated, but this browser has no SharedArrayBuffer'; // WebKitGTK
  return typeof Worker === 'undefined' ? 'workers cannot start workers here' : null;
}

/**
 * How many threads compute when nobody said, at most: half of what the machine runs at once, since two of them often share one
 * core's vector units and the page wants one for itself; four use up the bandwidth of most memories.
 */
export function usualThreads() {
  const cores = globalThis.navigator?.hardwareConcurrency ?? globalThis.process?.getBuiltinModule?.('node:os').availableParallelism() ?? 1;
  return Math.min(4, Math.ceil(cores / 2));
}

/**
 * Memory that threads share, which has to say beforehand how far it may grow; some machines give no room for the most.
 * @returns {WebAssembly.Memory}
 */
export function sharedMemory() {
  for (let maximum = 65536; ; maximum /= 2) {
    try { return new WebAssembly.Memory({ initial: 16, maximum, shared: true }); } catch (error) {
      if (maximum <= 4096) fail('out-of-memory', 'shared memory could not be had', error);
    }
  }
}

/**
 * @param {object} [options]
 * @param {'auto'|'simd'|'relaxed'} [options.backend]
 * @param {boolean} [options.threaded]  the binary with threads
 * @param {string | URL | Blob | ArrayBuffer | Uint8Array | Response | WebAssembly.Module} [options.wasm]  instead of the package's own file
 * @returns {Promise<WebAssembly.Module>}
 */
export function compileEngine({ backend, threaded = false, wasm } = {}) {
  const choice = chooseBackend(backend); // also the check that SIMD is there at all
  if (wasm instanceof WebAssembly.Module) return Promise.resolve(wasm);
  const source = wasm ?? FILES[choice][Number(threaded)]();
  if (typeof source !== 'string' && !(source instanceof URL)) return compile(source, 'the bytes given as wasm');
  const key = String(source);
  let module = compiled.get(key);
  if (!module) {
    module = fetchAndCompile(key);
    compiled.set(key, module);
    module.catch(() => compiled.delete(key));
  }
  return module;
}

/** @param {string} address URL; in Node also a path @returns {Promise<WebAssembly.Module>} */
async function fetchAndCompile(address) {
  // Node's fetch refuses file:, and getBuiltinModule keeps its names out of bundlers' sight.
  const fs = globalThis.process?.getBuiltinModule?.('node:fs/promises');
  if (fs && !/^(https?|data|blob):/.test(address)) {
    const bytes = await fs.readFile(address.startsWith('file:') ? new URL(address) : address).catch((error) => {
      fail('not-found', `${address}: the engine's WebAssembly file could not be read (${error.code ?? error.message})`, error);
    });
    return compile(bytes, address);
  }
  const response = await fetch(address).catch((error) => {
    fail('network', `${address}: the engine's WebAssembly file could not be fetched (${error.message})`, error);
  });
  return compile(response, address);
}

/**
 * @param {Blob | ArrayBuffer | Uint8Array | Response} source
 * @param {string} where
 * @returns {Promise<WebAssembly.Module>}
 */
async function compile(source, where) {
  /** @type {Uint8Array<ArrayBuffer>} */
  let bytes;
  if (source instanceof Response) {
    where = source.url || where;
    if (!source.ok) fail(source.status === 404 ? 'not-found' : 'network', `${where}: the engine's WebAssembly file answered with status ${source.status}`);
    const type = source.headers.get('content-type') ?? '';
    if (type.startsWith('application/wasm')) {
      return WebAssembly.compileStreaming(source).catch((error) => refuse(where, error.message, error));
    }
    bytes = new Uint8Array(await source.arrayBuffer()); // many static servers have no type for .wasm
  } else {
    bytes = new Uint8Array(source instanceof Blob ? await source.arrayBuffer() : /** @type {ArrayBuffer} */ (source));
  }
  if (bytes[0] !== 0 || bytes[1] !== 97 || bytes[2] !== 115 || bytes[3] !== 109) {
    const start = new TextDecoder().decode(bytes.subarray(0, 64)).trimStart();
    if (start.startsWith('<')) {
      fail('html', `${where}: a web page (it begins with ${show(start.slice(0, 20))}) instead of the engine's WebAssembly file; is the file deployed at this address?`);
    }
    refuse(where, `it begins with ${show(start.slice(0, 8))} and not with \\0asm`);
  }
  return WebAssembly.compile(bytes).catch((error) => refuse(where, error.message, error));
}

/** @param {string} where @param {string} why @param {unknown} [cause] @returns {never} */
function refuse(where, why, cause) {
  fail('bad-wasm', `${where}: not a WebAssembly file that runs here: ${why}`, cause);
}
