// dictionary_trainer.js - trains a sparse dictionary in an instance of the binary that trains
//
// Same rules as instance.js: a view is created, used and dropped within one function, and results are copies.
import { Instance, instantiate } from './instance.js';

/**
 * The options of a dictionary, in the order of GF_DICTIONARY_OPTIONS in src/train/dictionary.h.
 * @typedef {object} DictionaryOrder
 * @property {number} rows
 * @property {number} dIn
 * @property {number} dOut       width of the target; 0: the input is the target
 * @property {number} vocabSize  rows of the token table; 0: there is none
 * @property {number} size       features
 * @property {number} k          features of a row, at most
 * @property {number} batch      rows of a step
 * @property {number} steps
 * @property {number} lr
 * @property {number} decay      share of the steps, at the end, in which the rate falls to 0
 * @property {number} seed
 */
/**
 * What rows have cost. fvu: fraction of variance unexplained; l0: active features of a row; dead: features that were
 * not active in the last epoch.
 * @typedef {{step: number, rows: number, fvu: number, l0: number, dead: number}} DictionaryScore
 */

/** @type {(keyof DictionaryOrder)[]} */
const OPTIONS = ['rows', 'dIn', 'dOut', 'vocabSize', 'size', 'k', 'batch', 'steps', 'lr', 'decay', 'seed'];
/** The parts by their number in gf_dictionary_part. */
const PARTS = ['x', 'y', 'tokens', 'tableIn', 'tableOut', 'wEnc', 'bEnc', 'wDec', 'bDec'];
const SCORE = 5;

export class DictionaryTrainer extends Instance {
  /** Address of the dictionary. */
  #p = 0;
  #out = this.alloc(8 * OPTIONS.length);
  /** @type {DictionaryOrder} */
  order = /** @type {any} */ (null);

  /**
   * @param {WebAssembly.Module} module  see binary.js
   * @param {() => WebAssembly.Memory} [sharedMemory]  creates the memory of a binary with threads
   */
  static async start(module, sharedMemory) {
    return new this((await instantiate(module, sharedMemory)).exports);
  }

  /**
   * @param {DictionaryOrder} order
   * @param {number} pool  address of the struct gf_pool, or 0
   */
  open(order, pool) {
    this.order = order;
    new Float64Array(this.memory.buffer, this.#out, OPTIONS.length).set(OPTIONS.map((name) => order[name]));
    this.#p = this.pointer(this.x.gf_dictionary_new(this.#out, pool, this.error));
  }

  /** @param {string} part */
  #address(part) {
    return this.x.gf_dictionary_part(this.#p, PARTS.indexOf(part)) >>> 0;
  }

  /**
   * Put rows in their places.
   * @param {number} first
   * @param {Int32Array} tokens  of each
   * @param {Float32Array} x     [rows, dIn]
   * @param {Float32Array} [y]   [rows, dOut]
   */
  put(first, tokens, x, y) {
    const { dIn, dOut, vocabSize } = this.order;
    new Float32Array(this.memory.buffer, this.#address('x') + 4 * first * dIn, x.length).set(x);
    if (y) new Float32Array(this.memory.buffer, this.#address('y') + 4 * first * dOut, y.length).set(y);
    if (vocabSize) new Int32Array(this.memory.buffer, this.#address('tokens') + 4 * first, tokens.length).set(tokens);
  }

  prepare() {
    this.check(this.x.gf_dictionary_prepare(this.#p, this.error));
  }

  /** @returns {DictionaryScore} */
  step() {
    this.check(this.x.gf_dictionary_step(this.#p, this.#out, this.error));
    return this.#score();
  }

  /** @returns {DictionaryScore} */
  #score() {
    const [step, rows, fvu, l0, dead] = new Float64Array(this.memory.buffer, this.#out, SCORE);
    return { step, rows, fvu, l0, dead };
  }

  /** What all rows activate: index and z [rows, k], -1 and 0 after the last feature of a row. */
  encode() {
    const { rows, k } = this.order;
    return this.lend(8 * rows * k, (p) => {
      const z = p + 4 * rows * k;
      this.check(this.x.gf_dictionary_encode(this.#p, 0, rows, p, z, this.#out, this.error));
      const index = new Int32Array(this.memory.buffer, p, rows * k).slice();
      return { ...this.#score(), index, z: this.floats(z, rows * k) };
    });
  }

  /** The weights: wEnc [size, dIn], bEnc, wDec [size, dOut], bDec, and the tables [vocabSize, d] or null. */
  weights() {
    const { dIn, dOut, vocabSize, size } = this.order;
    const out = dOut || dIn;
    const part = (/** @type {string} */ name, /** @type {number} */ n) => this.floats(this.#address(name), n);
    return {
      wEnc: part('wEnc', size * dIn),
      bEnc: part('bEnc', size),
      wDec: part('wDec', size * out),
      bDec: part('bDec', out),
      tableIn: vocabSize ? part('tableIn', vocabSize * dIn) : null,
      tableOut: vocabSize && dOut ? part('tableOut', vocabSize * dOut) : null,
    };
  }
}
