// instance.js - one WebAssembly instance and its linear memory
//
// Only this folder touches linear memory (and engine/trainer.js). Addresses are numbers, and structs are read by the
// offsets that gf_schema() returns. A view is created, used and dropped within one function, because memory growth
// detaches it. Results are copies.
import { fail } from '../base/errors.js';
import { checkStructs } from './c_structs.js';

/**
 * What gf_schema() returns: the lists, offsets and sizes that C and JavaScript share.
 * @typedef {object} Schema
 * @property {Record<string, string>} status        codes by number
 * @property {string[]} fields                  configuration fields in the engine's order
 * @property {Record<string, string[]>} enums
 * @property {string[]} components              of weights, by number
 * @property {string[]} dtypes                  by number
 * @property {[name: string, axes: string, whole: 0 | 1][]} points  by number; whole: 1 for points outside the blocks
 * @property {string[]} kv_types
 * @property {Record<string, number>} tensor    byte offsets of struct gf_tensor, and its size as `bytes`
 * @property {Record<string, number>} sampling  the same of struct gf_sampling
 * @property {Record<string, number>} adjustment  of struct gf_adjustment
 * @property {Record<string, number>} choice    of struct gf_choice
 * @property {string[]} ops                     names of the operations that a trace measures
 * @property {Record<string, number>} op_time   of struct gf_op_time
 * @property {Record<string, number>} error     of struct gf_error
 * @property {number} config_bytes
 * @property {number} chunk                     recommended largest number of tokens of one eval
 * @property {number} kv_block                  positions of one block of the cache
 */
/**
 * The functions that the binary imports. Growth of memory needs no reaction, because views are never stored.
 * @type {Record<string, () => number>}
 */
const HOST = { emscripten_notify_memory_growth: () => 0, gf_now_ms: () => performance.now() };

const utf8 = new TextDecoder();

/**
 * The offsets of a struct. To read one that the binary does not have is an error: a view would write to address 0.
 * @template T
 * @param {T} value  of the schema
 * @returns {T}
 */
const strict = (value) =>
  Number.isInteger(/** @type {any} */ (value)?.bytes)
    ? new Proxy(/** @type {any} */ (value), {
        get: (offsets, name) =>
          offsets[name] ?? fail('bad-wasm', `the WebAssembly file has a struct without the member ${String(name)}`),
      })
    : value;

/**
 * Instantiates a binary.
 * @param {WebAssembly.Module} module  see binary.js
 * @param {() => WebAssembly.Memory} [sharedMemory]  creates the memory of a binary with threads
 * @returns {Promise<{exports: Record<string, any>, isShared: boolean}>} exports: with the memory; isShared: whether
 *   threads can share that
 */
export async function instantiate(module, sharedMemory) {
  /** @type {WebAssembly.Memory | undefined} */
  let memory;
  /** @type {Record<string, Record<string, any>>} */
  const imports = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    if (kind !== 'function' && kind !== 'memory') {
      fail(
        'bad-wasm',
        `the WebAssembly file imports ${from}.${name} (${kind}), which this version of the package does not provide`,
      );
    }
    if (kind === 'memory') memory ??= sharedMemory?.();
    // Any other function is one of the C library, which is never reached: it returns errno 52, ENOSYS.
    (imports[from] ??= {})[name] = kind === 'memory' ? memory : (HOST[name] ?? (() => 52));
  }
  const { exports } = await WebAssembly.instantiate(module, imports);
  return { exports: { memory, ...exports }, isShared: !!memory };
}

/** One instance, its memory and its errors. */
export class Instance {
  /**
   * The functions that the binary exports.
   * @type {Record<string, (...args: number[]) => number>}
   */
  x;
  /** @type {WebAssembly.Memory} */
  memory;
  /** @type {Schema} */
  schema;
  /** Address of the struct gf_error that every call may fill. */
  error = 0;
  /** Address and size of the buffer that `scratch` returns. */
  #scratch = 0;
  scratchBytes = 0;

  /** @param {Record<string, any>} exports  from `instantiate` */
  constructor(exports) {
    if (typeof exports.gf_schema !== 'function' || !exports.memory) {
      fail(
        'bad-wasm',
        'this .wasm file is not the Glassformer engine: check the option wasm, or deploy dist/wasm/ again',
      );
    }
    this.x = exports;
    this.memory = exports.memory;
    exports._initialize?.();
    /** @type {Schema} */
    const schema = JSON.parse(this.string(this.x.gf_schema()));
    checkStructs(schema);
    this.schema = /** @type {any} */ (
      Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, strict(value)]))
    );
    this.error = this.alloc(this.schema.error.bytes);
  }

  /**
   * Allocates n bytes, which the caller frees with gf_abi_free. Throws `out-of-memory`.
   * @param {number} n  bytes
   * @returns {number} address
   */
  alloc(n) {
    // The call converts arguments and results to int32: an address above 2 GiB is returned as a negative number, and of
    // a size from 2^32 on only the low 32 bits would be passed.
    const address = n < 2 ** 32 ? this.x.gf_abi_alloc(n) >>> 0 : 0;
    return address || fail('out-of-memory', `${n} bytes of linear memory could not be allocated`);
  }

  /**
   * Allocate n bytes for the time of a call.
   * @template T
   * @param {number} n
   * @param {(p: number) => T} call  gets the address
   */
  lend(n, call) {
    const p = this.alloc(n);
    try {
      return call(p);
    } finally {
      this.x.gf_abi_free(p);
    }
  }

  /**
   * Memory for the arguments and results of one call. It is owned by the instance and valid until the next call of
   * `scratch`.
   * @param {number} n  bytes
   * @returns {number} address
   */
  scratch(n) {
    if (!(n <= this.scratchBytes)) {
      this.freeScratch();
      const bytes = n > 2 ** 31 ? n : Math.max(4096, 2 ** Math.ceil(Math.log2(n)));
      this.#scratch = this.alloc(bytes);
      this.scratchBytes = bytes;
    }
    return this.#scratch;
  }

  freeScratch() {
    if (this.#scratch) this.x.gf_abi_free(this.#scratch);
    this.#scratch = this.scratchBytes = 0;
  }

  /**
   * A copy of n floats.
   * @param {number} p  address
   * @param {number} n
   */
  floats(p, n) {
    return new Float32Array(this.memory.buffer, p >>> 0, n).slice();
  }

  /**
   * The text of a C string. The bytes are copied first, because TextDecoder refuses views of shared memory.
   * @param {number} p  address
   */
  string(p) {
    const bytes = new Uint8Array(this.memory.buffer, p);
    return utf8.decode(bytes.slice(0, bytes.indexOf(0)));
  }

  /**
   * Throw the engine's error when a call returned a negative status.
   * @param {number} status
   * @returns {number} the same
   */
  check(status) {
    if (status < 0) this.#fail(status);
    return status;
  }

  /**
   * Throw the engine's error when a call returned NULL.
   * @param {number} p
   * @returns {number} the same
   */
  pointer(p) {
    if (!p) this.#fail(new Int32Array(this.memory.buffer, this.error + this.schema.error.status, 1)[0]);
    return p;
  }

  /**
   * Throw the error in struct gf_error.
   * @param {number} status
   * @returns {never}
   */
  #fail(status) {
    fail(this.schema.status[status] ?? 'bad-state', this.string(this.error + this.schema.error.text));
  }
}
