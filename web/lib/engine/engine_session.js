// engine_session.js - one session of the engine: a key/value cache, its position and a sampler
//
// Same rules as instance.js: a view is created, used and dropped within one function, and results are copies.
import { fail } from '../base/errors.js';
import { adjustmentBytes, putAdjustment, putSampling, readChoice, readTop, lowAndHigh } from './c_structs.js';

/** @import { Engine } from './engine.js' */
/** @import { SamplingOptions } from './config/sampler_fields.js' */

/** One session of the engine's model. */
export class EngineSession {
  /** Address of the struct gf_session; 0 after close. */
  #p;

  /**
   * @param {Engine} engine
   * @param {number} ptr  address of the struct gf_session, owned from now on
   */
  constructor(engine, ptr) {
    this.engine = engine;
    this.#p = ptr;
  }

  /** The address of struct gf_session; throws after close. */
  get ptr() {
    return this.#p || fail('bad-state', 'the session was closed');
  }

  /** Number of positions in the cache. */
  get length() {
    return this.engine.x.gf_session_length(this.ptr);
  }
  /** Most positions that the cache can hold. */
  get context() {
    return this.engine.x.gf_session_context(this.ptr);
  }
  /** Bytes of the key/value cache. */
  get kvBytes() {
    return this.engine.x.gf_abi_kv_bytes(this.ptr);
  }
  /** Bytes of the buffers for one pass. */
  get scratchBytes() {
    return this.engine.x.gf_abi_scratch_bytes(this.ptr);
  }

  /**
   * Run one pass over tokens that follow those in the cache. After an error the session is unchanged.
   * @param {ArrayLike<number>} ids
   * @param {number} [drop]  number of rows, the first ones, of which only keys and values are wanted
   */
  eval(ids, drop = 0) {
    const e = this.engine;
    const n = ids.length;
    const p = e.scratch(4 * n); // may throw, and the start would stay for the next eval
    if (drop) e.check(e.x.gf_session_start(this.ptr, 0, 0, drop, e.error));
    new Int32Array(e.memory.buffer, p, n).set(ids);
    e.check(e.x.gf_session_eval(this.ptr, p, n, e.error));
  }

  /**
   * Run the encoder over a source, or over several that follow one another: the results are bit-equal to separate
   * calls.
   * @param {ArrayLike<number>} ids
   * @param {ArrayLike<number> | null} mask  0 hides a position
   * @param {ArrayLike<number> | null} [types]  of the tokens; null: all 0
   * @param {number[]} [lengths]  of the sources, at most schema.chunk; several only in an encoder that is not observed
   */
  encode(ids, mask, types = null, lengths = [ids.length]) {
    const e = this.engine;
    const n = ids.length;
    const many = lengths.length;
    const p = e.scratch(9 * n + 4 * many); // ids, types, lengths, mask
    const [typesAt, lengthsAt, maskAt] = [p + 4 * n, p + 8 * n, p + 8 * n + 4 * many];
    new Int32Array(e.memory.buffer, p, n).set(ids);
    if (types) new Int32Array(e.memory.buffer, typesAt, n).set(types);
    new Int32Array(e.memory.buffer, lengthsAt, many).set(lengths);
    if (mask) new Uint8Array(e.memory.buffer, maskAt, n).set(Array.from(mask, (m) => (m ? 1 : 0)));
    e.check(e.x.gf_encode_batch(this.ptr, p, types ? typesAt : 0, mask ? maskAt : 0, lengthsAt, many, e.error));
  }

  /**
   * The logits of rows first .. first + n - 1 of the last eval.
   * @param {number} first
   * @param {number} n
   * @param {number} vocab  vocab_size
   * @returns {Float32Array<ArrayBuffer>} [n, vocab_size], a copy
   */
  logits(first, n, vocab) {
    const e = this.engine;
    return e.floats(e.pointer(e.x.gf_session_logits(this.ptr, first, n, e.error)), n * vocab);
  }

  /**
   * The k most likely next ids after each of n rows of the last eval.
   * @param {number} row  the first one
   * @param {number} n
   * @param {number} vocab  vocab_size
   * @param {number} k
   */
  top(row, n, vocab, k) {
    const e = this.engine;
    const out = e.scratch(8 * k);
    const p = e.pointer(e.x.gf_session_logits(this.ptr, row, n, e.error)) >>> 0;
    return Array.from({ length: n }, (_, i) => readTop(e, p + 4 * i * vocab, vocab, k, out));
  }

  /**
   * Announce that the following passes reach `length` positions. Models whose rotary frequencies depend on the length
   * of the sequence then compute every row as for that length.
   * @param {number} length
   */
  plan(length) {
    const e = this.engine;
    e.check(e.x.gf_session_plan(this.ptr, length, e.error));
  }

  /**
   * Keep the first n positions in the cache and drop the rest.
   * @param {number} n
   */
  rewind(n) {
    const e = this.engine;
    e.check(e.x.gf_session_rewind(this.ptr, n, e.error));
  }

  /**
   * An independent copy of the cache, the encoder's output and the sampler. Captures and edits are not copied.
   * @returns {EngineSession} owned by the caller, who closes it
   */
  fork() {
    const e = this.engine;
    return e.adopt(e.pointer(e.x.gf_session_fork(this.ptr, e.error)));
  }

  /** Bytes of one block of the cache, as it is saved. */
  get blockBytes() {
    return this.engine.x.gf_abi_block_bytes(this.ptr);
  }

  /**
   * The keys and values of a block of positions; what is not used of the last block is 0.
   * @param {number} block
   * @returns {Uint8Array<ArrayBuffer>} a copy, the same on every machine
   */
  saveBlock(block) {
    const e = this.engine;
    const n = this.blockBytes;
    return e.lend(n, (p) => {
      e.check(e.x.gf_session_save(this.ptr, block, p, n, e.error));
      return new Uint8Array(e.memory.buffer, p, n).slice();
    });
  }

  /**
   * Append the positions of a saved block. After an error the session is unchanged.
   * @param {number[]} ids  their tokens
   * @param {Uint8Array} bytes
   */
  restoreBlock(ids, bytes) {
    const e = this.engine;
    e.lend(4 * ids.length + bytes.length, (p) => {
      const bytesAt = p + 4 * ids.length;
      new Int32Array(e.memory.buffer, p, ids.length).set(ids);
      new Uint8Array(e.memory.buffer, bytesAt, bytes.length).set(bytes);
      e.check(e.x.gf_session_restore(this.ptr, p, ids.length, bytesAt, bytes.length, e.error));
    });
  }

  /**
   * Seed the sampler.
   * @param {number} seed  0 .. 2^53 - 1
   */
  seed(seed) {
    this.engine.x.gf_abi_seed(this.ptr, ...lowAndHigh(seed));
  }

  /**
   * Draw one token from the last row of the last eval.
   * @param {SamplingOptions} sampling
   * @param {import('./engine.js').Adjustment | null} [adjustment]
   * @returns {{id: number, logprob: number}}
   */
  sample(sampling, adjustment) {
    const e = this.engine;
    const { sampling: options, choice } = e.schema;
    const p = e.scratch(options.bytes + choice.bytes + adjustmentBytes(e, adjustment));
    const out = p + options.bytes;
    const changes = putAdjustment(e, out + choice.bytes, adjustment);
    e.check(e.x.gf_session_sample(this.ptr, putSampling(e, p, sampling), changes, out, e.error));
    return readChoice(e, out);
  }

  /**
   * The probability with which the last token was drawn from the candidates, or another one would have been.
   * @param {number} id
   */
  probability(id) {
    return this.engine.x.gf_session_probability(this.ptr, id);
  }

  /** Free the session. */
  close() {
    if (!this.#p) return;
    this.engine.x.gf_session_close(this.#p);
    this.engine.sessions.delete(this);
    this.#p = 0;
  }
}
