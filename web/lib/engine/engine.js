// engine.js - an instance that runs models: its model, weights, threads and sessions
//
// Same rules as instance.js: a view is created, used and dropped within one function, and results are copies.
import { BLOCKS } from '../base/dtype_names.js';
import { fail, show } from '../base/errors.js';
import { Instance, instantiate } from './instance.js';
import { EngineSession } from './engine_session.js';
import { readTensor, readTop, lowAndHigh } from './c_structs.js';
import { sharedMemory, whyNoThreads } from './wasm_features.js';
import { openPool, threadCount } from './threads.js';

/** @typedef {{[field: string]: any}} Config the fields of glassformer.h */
/** @typedef {{data: Float32Array<ArrayBuffer>, shape: number[]}} Tensor row-major, a copy */
/** @typedef {{totalBytes: number, regions: {name: string, start: number, bytes: number}[]}} MemoryMap */
/**
 * One weight of the loaded model.
 * @typedef {object} EngineTensor
 * @property {string} name
 * @property {string} component
 * @property {'decoder'|'encoder'|null} stack
 * @property {number|null} layer
 * @property {number[]} shape       [rows, cols] or [cols]
 * @property {number} count         parameters; 0 when tied
 * @property {string} dtype
 * @property {number} bytes
 * @property {number} address
 * @property {number} tiedTo        roster index of the weight that it shares, or -1
 */
/**
 * Changes of the logits before a token is drawn.
 * @typedef {object} Adjustment
 * @property {ArrayLike<number>} ids   tokens whose logits change; one may occur several times
 * @property {ArrayLike<number>} bias  what is added to each of them; -Infinity: it cannot be drawn
 * @property {Uint32Array | null} allowed  a bit for each token, bit id % 32 of word id / 32: 0: it cannot be drawn
 */

/** Layouts of stored matrices by their number in C. */
const LAYOUTS = ['rows', 'cols', 'heads'];
/** Size of the buffer through which tensor bytes are passed to the engine: large enough that the calls cost little. */
const STAGING_BYTES = 256 * 1024;

/** One instance with at most one model. */
export class Engine extends Instance {
  /** Address of a struct gf_config. */
  #configAddress = this.alloc(this.schema.config_bytes);
  /** Address of the struct gf_model; 0 without a model. */
  model = 0;
  /** Address of the staging buffer; 0 when nothing is loaded. */
  #staging = 0;
  /** Address of the first weight. */
  #weightsAt = 0;
  /** @type {Config | null} */
  #config = null;
  /** @type {Set<EngineSession>} */
  sessions = new Set();
  /** Whether helper threads can share the memory, and the caller permits them. */
  #mayShare = false;
  /** Address of the struct gf_pool; 0 without helper threads. */
  #pool = 0;
  /** "2 threads", or "one thread" with the reason. */
  #threads = 'one thread';

  /**
   * @param {any} exports  of the instance
   * @param {WebAssembly.Module} module  which helper threads and copies of the engine instantiate again
   */
  constructor(exports, module) {
    super(exports);
    this.module = module;
  }

  /**
   * Create an instance.
   * @param {WebAssembly.Module} module  see binary.js
   * @param {number} [threads]  the option of load; default: chosen for the machine
   * @returns {Promise<Engine>}
   */
  static async start(module, threads) {
    const why = whyNoThreads(threads);
    const { exports, isShared } = await instantiate(module, sharedMemory);
    const engine = new Engine(exports, module);
    if (isShared && why === null) engine.#mayShare = true;
    else if (why !== '') engine.#threads += `: ${why ?? 'the WebAssembly file has no threads'}`;
    return engine;
  }

  /**
   * Instructions and threads in use: "simd128, one thread: the page is not cross-origin isolated", "relaxed, signed
   * dot, 2 threads".
   * @returns {string}
   */
  get backend() {
    return `${this.string(this.x.gf_backend())}, ${this.#threads}`;
  }
  /** The configuration of the open model. */
  get config() {
    return this.#config ?? fail('bad-state', 'there is no model');
  }
  /** Current size of linear memory in bytes. */
  get memoryBytes() {
    return this.memory.buffer.byteLength;
  }

  // ---- configuration and roster

  /**
   * Every weight of a configuration, without data. Allocates nothing.
   * @param {Config} config
   * @returns {EngineTensor[]}
   */
  roster(config) {
    this.#setConfig(config);
    const n = this.x.gf_roster_count(this.#configAddress);
    return this.#tensors(n, (i, out) => this.x.gf_roster_tensor(this.#configAddress, i, out));
  }

  /**
   * The number of parameters of a configuration.
   * @param {Config} config
   */
  countParameters(config) {
    this.#setConfig(config);
    return this.x.gf_abi_count_parameters(this.#configAddress);
  }

  /**
   * Write a configuration to the engine's struct and check it there.
   * @param {Config} config
   */
  #setConfig(config) {
    this.x.gf_config_default(this.#configAddress);
    this.schema.fields.forEach((field, i) => {
      for (const value of [config[field] ?? []].flat()) {
        const number = typeof value === 'string' ? (this.schema.enums[field]?.indexOf(value) ?? NaN) : Number(value);
        this.check(this.x.gf_config_set(this.#configAddress, i, number, this.error));
      }
    });
    this.check(this.x.gf_config_check(this.#configAddress, this.error));
  }

  // ---- model

  /**
   * Open a model: reserve memory for every weight.
   * @param {Config} config
   * @param {string[]} dtypes  of each roster entry; used for matrices, vectors are f32
   */
  open(config, dtypes) {
    if (this.model) fail('bad-state', 'a model is already open');
    this.#setConfig(config);
    this.model = this.lend(dtypes.length, (p) => {
      new Uint8Array(this.memory.buffer, p, dtypes.length).set(dtypes.map((d) => this.#dtype(d)));
      return this.pointer(this.x.gf_model_open(this.#configAddress, p, this.error));
    });
    this.#config = config;
  }

  /**
   * Start to receive a tensor of a file.
   * @param {number} first   roster entry
   * @param {number} n       entries it fills, stacked by rows
   * @param {import('../base/dtype_names.js').Dtype} dtype   as stored
   * @param {'rows'|'cols'|'heads'} layout  rows: [out, in]; cols: [in, out]; heads: rows, head by head
   * @returns {{write(bytes: Uint8Array): void, end(): void}} write: takes the bytes in order, in pieces of any size
   */
  receiveTensor(first, n, dtype, layout) {
    this.check(this.x.gf_tensor_begin(this.model, first, n, this.#dtype(dtype), LAYOUTS.indexOf(layout), this.error));
    this.#staging ||= this.alloc(STAGING_BYTES);
    const capacity = STAGING_BYTES - (STAGING_BYTES % BLOCKS[dtype][1]); // whole blocks only
    let staged = 0;
    const flush = () => {
      if (staged) this.check(this.x.gf_tensor_write(this.model, this.#staging, staged, this.error));
      staged = 0;
    };
    return {
      write: (bytes) => {
        for (let at = 0; at < bytes.length;) {
          const part = bytes.subarray(at, at + capacity - staged);
          new Uint8Array(this.memory.buffer, this.#staging + staged, part.length).set(part);
          staged += part.length;
          at += part.length;
          if (staged === capacity) flush();
        }
      },
      end: () => {
        flush();
        this.check(this.x.gf_tensor_end(this.model, this.error));
      },
    };
  }

  /** Finish loading, after the last tensor, or a change of weights. The model can then be used. */
  seal() {
    this.check(this.x.gf_model_seal(this.model, this.error));
    if (this.#staging) this.x.gf_abi_free(this.#staging);
    this.#staging = 0;
  }

  /**
   * Fill the model with random weights and seal it: matrices and tables are normal(0, std), gains 1 and biases 0.
   * @param {number} seed  0 .. 2^53 - 1
   * @param {number} std   standard deviation
   */
  randomize(seed, std) {
    this.check(this.x.gf_abi_randomize(this.model, ...lowAndHigh(seed), std, this.error));
  }

  /**
   * Start helper threads for the open model. Does nothing where there is no shared memory.
   * @param {number} [threads]  including the engine's own; default: chosen for the machine and the size of the model
   * @param {import('./threads.js').OnHelper} [onHelper]  starts each
   * @param {string} [file]  address of the worker's file; default: that of this worker
   */
  startThreads(threads, onHelper, file = globalThis.location?.href) {
    if (!this.#mayShare || this.#pool) return;
    if (!file) {
      this.#threads = 'one thread: the address of the worker file is unknown';
      return;
    }
    const n = threads ?? threadCount(this.x.gf_abi_model_bytes(this.model));
    if (n === 1) {
      this.#threads = 'one thread: enough for this model';
      return;
    }
    this.x.gf_backend(); // its first call writes a cache in memory, which other threads then only read
    this.#pool = openPool(this, this.module, n, file, onHelper);
    this.x.gf_model_set_pool(this.model, this.#pool);
    this.#threads = `${n} threads`;
  }

  /**
   * Every weight of the open model, with dtype, bytes and address.
   * @returns {EngineTensor[]}
   */
  tensors() {
    const n = this.x.gf_roster_count(this.x.gf_model_config(this.model));
    return this.#tensors(n, (i, out) => this.x.gf_model_tensor(this.model, i, out));
  }

  /**
   * How linear memory is used. The weights have their true address, and everything before them counts as constants.
   * Caches and buffers are allocated in several pieces: they are listed after the weights, with their true sizes but
   * not their addresses.
   * @returns {MemoryMap}
   */
  memoryMap() {
    const totalBytes = this.memoryBytes;
    const heap = this.model
      ? (this.#weightsAt ||= Math.min(...this.tensors().map((t) => t.address || Infinity)))
      : this.x.gf_abi_heap_base();
    const sizes = {
      'constants and stack': heap,
      weights: this.model ? this.x.gf_abi_model_bytes(this.model) : 0,
      'kv cache': 0,
      scratch:
        this.scratchBytes + this.schema.error.bytes + this.schema.config_bytes + (this.#staging && STAGING_BYTES),
    };
    for (const s of this.sessions) {
      sizes['kv cache'] += s.kvBytes;
      sizes.scratch += s.scratchBytes;
    }
    let at = 0;
    const regions = Object.entries(sizes).map(([name, bytes]) => ({ name, start: (at += bytes) - bytes, bytes }));
    regions.push({ name: 'free', start: at, bytes: Math.max(0, totalBytes - at) });
    return { totalBytes, regions };
  }

  /**
   * Open a session.
   * @param {number} context  most positions; 0: the context length of the model
   * @param {string} kvType   of the key/value cache: f32, f16 or q8_0
   * @returns {EngineSession} owned by the caller, who closes it
   */
  openSession(context, kvType) {
    const kind = this.schema.kv_types.indexOf(kvType === 'q8_0' ? 'q8' : kvType); // the engine's shorter name
    return this.adopt(this.pointer(this.x.gf_session_open(this.model, context, kind, this.error)));
  }

  /**
   * Run one token in each of several sessions, in one pass over the weights. The results are bit-equal to separate
   * calls.
   * @param {EngineSession[]} sessions  at most schema.chunk; none of them captures, edits or traces
   * @param {number[]} ids  one for each session
   */
  evalAll(sessions, ids) {
    const n = sessions.length;
    const p = this.scratch(8 * n);
    new Uint32Array(this.memory.buffer, p, n).set(sessions.map((s) => s.ptr));
    new Int32Array(this.memory.buffer, p + 4 * n, n).set(ids);
    this.check(this.x.gf_eval_batch(p, p + 4 * n, n, this.error));
  }

  /**
   * Register a session that C has opened.
   * @param {number} ptr  address of the struct gf_session
   */
  adopt(ptr) {
    const session = new EngineSession(this, ptr);
    this.sessions.add(session);
    return session;
  }

  /** Free the model and its sessions. The instance itself is garbage-collected. */
  close() {
    for (const s of [...this.sessions]) s.close();
    if (this.model) this.x.gf_model_close(this.model);
    if (this.#staging) this.x.gf_abi_free(this.#staging);
    this.freeScratch();
    if (this.#pool) this.x.gf_pool_close(this.#pool);
    this.model = this.#staging = this.#pool = 0;
    this.#config = null;
  }

  // ---- sampling without a session

  /**
   * The k most likely ids of a row of logits, the most likely first. Of equal logits the smaller id comes first. The
   * logprob is the one at temperature 1.
   * @param {Float32Array} logits  [vocab_size]
   * @param {number} k
   * @returns {{id: number, logprob: number}[]}
   */
  top(logits, k) {
    const p = this.scratch(4 * logits.length + 8 * k);
    new Float32Array(this.memory.buffer, p, logits.length).set(logits);
    return readTop(this, p, logits.length, k, p + 4 * logits.length);
  }

  /**
   * The number of a dtype.
   * @param {string} name
   */
  #dtype(name) {
    const i = this.schema.dtypes.indexOf(name);
    if (i < 0)
      fail('unknown-dtype', `there is no dtype ${show(name)}, expected one of ${this.schema.dtypes.join(', ')}`);
    return i;
  }

  /**
   * Read n structs gf_tensor.
   * @param {number} n
   * @param {(i: number, out: number) => number} read  writes the i-th to the address `out`; returns a status
   * @returns {EngineTensor[]}
   */
  #tensors(n, read) {
    const p = this.scratch(this.schema.tensor.bytes);
    return Array.from({ length: n }, (_, i) => {
      this.check(read(i, p));
      return readTensor(this, p);
    });
  }
}
