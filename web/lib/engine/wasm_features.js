// wasm_features.js - finds out which WebAssembly features this machine has, and chooses the binary and the number of
// threads
import { fail, show } from '../base/errors.js';

/** i32.const 0  i8x16.splat: a vector of zeros */
const ZERO = [65, 0, 253, 15];
/**
 * Small modules that are valid only where the binaries are: one function () -> v128 with the instructions that not
 * every browser has. Browsers add instructions one by one: the relaxed module has every relaxed instruction of the
 * relaxed binaries, and a test scans these for others.
 */
export const PROBES = {
  /** i32.const 0  i8x16.splat  i8x16.popcnt */
  simd: probe([...ZERO, 253, 98]),
  /**
   * i32.const 0  i8x16.splat, twice, then i16x8.relaxed_dot_i8x16_i7x16_s (253, 0x112 in LEB128); twice more, then
   * i32x4.relaxed_dot_i8x16_i7x16_add_s (253, 0x113)
   */
  relaxed: probe([...ZERO, ...ZERO, 253, 146, 2, ...ZERO, ...ZERO, 253, 147, 2]),
};

/**
 * The bytes of a module with one function.
 * @param {number[]} body  instructions of a function () -> v128, without its end
 */
function probe(body) {
  const header = [0, 97, 115, 109, 1, 0, 0, 0]; // \0asm, version 1
  const types = [1, 5, 1, 96, 0, 1, 123]; // section 1, 5 bytes: one type, () -> v128
  const functions = [3, 2, 1, 0]; // section 3, 2 bytes: one function, of type 0
  const n = body.length + 2;
  const code = [10, n + 2, 1, n, 0, ...body, 11]; // section 10: one body of n bytes without locals, and its end
  return new Uint8Array([...header, ...types, ...functions, ...code]);
}

/**
 * The fastest backend that this machine can run. Nothing is fetched.
 * @param {'auto'|'simd'|'relaxed'} [backend]  the option of load
 * @returns {'simd'|'relaxed'}
 */
export function chooseBackend(backend = 'auto') {
  if (!['auto', 'simd', 'relaxed'].includes(backend)) {
    fail('bad-option', `backend is ${show(backend)}, expected auto, simd or relaxed`);
  }
  if (typeof WebAssembly === 'undefined' || !WebAssembly.validate(PROBES.simd)) {
    fail('unsupported', 'this browser or runtime has no WebAssembly SIMD, which the engine needs');
  }
  const relaxed = WebAssembly.validate(PROBES.relaxed);
  if (backend === 'relaxed' && !relaxed) {
    fail('unsupported', 'backend relaxed was requested, but this browser or runtime has no relaxed SIMD');
  }
  return backend === 'simd' || !relaxed ? 'simd' : 'relaxed';
}

/**
 * Whether this code runs in a worker, which may block while its helper threads compute. In Deno, isMainThread of Node's
 * module is true in a Web Worker too.
 */
function inWorker() {
  const node = globalThis.process?.getBuiltinModule?.('node:worker_threads');
  return 'WorkerGlobalScope' in globalThis || node?.isMainThread === false;
}

/**
 * The reason why only one thread can compute, or null when several can. They need shared memory, which a page has when
 * it is cross-origin isolated, and an engine in a worker, because the main thread of a page must not block.
 * @param {boolean} [worker]  whether the engine runs in a worker; default: whether this code does
 * @returns {string | null}
 */
export function whyOneThread(worker = inWorker()) {
  if (!worker) return "it computes in the caller's thread, not in a worker";
  if (globalThis.process?.getBuiltinModule?.('node:worker_threads')) return null;
  if (!globalThis.crossOriginIsolated) return 'the page is not cross-origin isolated';
  if (typeof SharedArrayBuffer === 'undefined')
    return 'the page is cross-origin isolated, but this browser has no SharedArrayBuffer'; // WebKitGTK
  return typeof Worker === 'undefined' ? 'workers cannot start workers here' : null;
}

/**
 * The default number of threads: half of the logical processors, because two of them often share the vector units of
 * one core and the page needs one; at most 4, which saturate the memory bandwidth of most machines.
 */
export function defaultThreads() {
  const cores =
    globalThis.navigator?.hardwareConcurrency ??
    globalThis.process?.getBuiltinModule?.('node:os').availableParallelism() ??
    1;
  return Math.min(4, Math.ceil(cores / 2));
}

/**
 * Memory that threads share. Its maximum size is fixed at creation. Where the address space is too small for 4 GiB,
 * half of it is tried, down to 256 MiB.
 * @returns {WebAssembly.Memory}
 */
export function sharedMemory() {
  for (let maximum = 65536; ; maximum /= 2) {
    try {
      return new WebAssembly.Memory({ initial: 16, maximum, shared: true });
    } catch (error) {
      if (maximum <= 4096) fail('out-of-memory', 'shared memory could not be allocated', error);
    }
  }
}

/**
 * The reason why the binary without threads is used.
 * @param {number} [threads]  the option of load; default: chosen for the machine
 * @param {boolean} [worker]  as in whyOneThread
 * @returns {string | null}  null: the binary with threads is used; '': one thread was requested; otherwise the reason
 */
export function whyNoThreads(threads, worker) {
  if (threads === 1) return '';
  return whyOneThread(worker) ?? (threads || defaultThreads() > 1 ? null : 'enough for this machine');
}
