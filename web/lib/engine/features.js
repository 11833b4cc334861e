// features.js - which WebAssembly features this machine has, and which binary and how many threads follow from them
import { fail, show } from '../base/errors.js';

/**
 * The smallest modules that are valid only where the binaries are: one function () -> v128 with the instructions that
 * decide it. Engines add instructions one by one, so the relaxed one has every relaxed instruction of the relaxed
 * binaries (a test scans them for others).
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
  return new Uint8Array([
    0,
    97,
    115,
    109,
    1,
    0,
    0,
    0,
    1,
    5,
    1,
    96,
    0,
    1,
    123,
    3,
    2,
    1,
    0,
    10,
    n + 2,
    1,
    n,
    0,
    ...body,
    11,
  ]);
}

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

/** Whether this code runs in a worker, which may block while its helper threads compute. */
function inWorker() {
  const node = globalThis.process?.getBuiltinModule?.('node:worker_threads');
  return 'WorkerGlobalScope' in globalThis || node?.isMainThread === false; // Deno: a Web Worker, which Node's module calls the main thread
}

/**
 * Why only one thread can compute, or null when several can: they need shared memory, which a page has when it is
 * cross-origin isolated, and an engine in a worker, because a page's own thread may not block.
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
 * Default number of threads, at most 4: half of the logical processors, since two of them often share the vector units
 * of one core and the page needs one, and four threads saturate the memory bandwidth of most machines.
 */
export function usualThreads() {
  const cores =
    globalThis.navigator?.hardwareConcurrency ??
    globalThis.process?.getBuiltinModule?.('node:os').availableParallelism() ??
    1;
  return Math.min(4, Math.ceil(cores / 2));
}

/**
 * Memory that threads share. Its maximum must be given at creation; where the address space for the largest one is
 * missing, half of it is tried.
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
 * Why the binary without threads is used.
 * @param {number} [threads]  the option; default: what suits the machine
 * @param {boolean} [worker]  as in whyOneThread
 * @returns {string | null}  null: the binary with threads is used; '': one thread was requested; otherwise the reason
 */
export function whyNoThreads(threads, worker) {
  if (threads === 1) return '';
  return whyOneThread(worker) ?? (threads || usualThreads() > 1 ? null : 'enough for this machine');
}
