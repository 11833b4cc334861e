// session.js - one session of the engine: a key/value cache, its position and a sampler. Same rules on memory as
// engine.js
import { GlassformerError } from '../base/errors.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./engine.js').Sampling} Sampling */

/** One session of the engine's model. */
export class EngineSession {
  #p;

  /**
   * @param {Engine} engine
   * @param {number} ptr
   */
  constructor(engine, ptr) {
    this.engine = engine;
    this.#p = ptr;
  }

  /** The address of struct gf_session; throws after close. */
  get ptr() {
    if (!this.#p) throw new GlassformerError('bad-state', 'the session was closed');
    return this.#p;
  }

  /**
   * Positions held.
   * @returns {number}
   */
  get length() {
    return this.engine.x.gf_session_length(this.ptr);
  }
  /**
   * Most positions.
   * @returns {number}
   */
  get context() {
    return this.engine.x.gf_session_context(this.ptr);
  }
  /** @returns {number} */
  get kvBytes() {
    return this.engine.x.gf_abi_kv_bytes(this.ptr);
  }
  /** @returns {number} */
  get scratchBytes() {
    return this.engine.x.gf_abi_scratch_bytes(this.ptr);
  }

  /**
   * Run tokens through the decoder, after the positions held. After a failure the session is unchanged.
   * @param {ArrayLike<number>} ids
   */
  eval(ids) {
    const e = this.engine;
    const n = ids.length;
    const p = e.scratch(4 * n);
    new Int32Array(e.memory.buffer, p, n).set(ids);
    e.check(e.x.gf_session_eval(this.ptr, p, n, e.error));
  }

  /**
   * Run the encoder over a source.
   * @param {ArrayLike<number>} ids
   * @param {ArrayLike<number> | null} mask  0 hides a position
   */
  encode(ids, mask) {
    const e = this.engine;
    const n = ids.length;
    const p = e.scratch(5 * n);
    new Int32Array(e.memory.buffer, p, n).set(ids);
    if (mask) new Uint8Array(e.memory.buffer, p + 4 * n, n).set(Array.from(mask, (m) => (m ? 1 : 0)));
    e.check(e.x.gf_session_encode(this.ptr, p, mask ? p + 4 * n : 0, n, e.error));
  }

  /**
   * Logits of rows first .. first + n - 1 of the last eval.
   * @param {number} first
   * @param {number} n
   * @param {number} vocab
   */
  logits(first, n, vocab) {
    const e = this.engine;
    return e.floats(e.pointer(e.x.gf_session_logits(this.ptr, first, n, e.error)), n * vocab);
  }

  /**
   * The k most likely ids after row `row` of the last eval.
   * @param {number} row
   * @param {number} vocab
   * @param {number} k
   */
  top(row, vocab, k) {
    const e = this.engine;
    const out = e.scratch(8 * k);
    return e.topAt(e.pointer(e.x.gf_session_logits(this.ptr, row, 1, e.error)), vocab, k, out);
  }

  /**
   * Keep the first n positions.
   * @param {number} n
   */
  rewind(n) {
    const e = this.engine;
    e.check(e.x.gf_session_rewind(this.ptr, n, e.error));
  }

  /**
   * An independent copy of cache, encoder memory and sampler; not of captures and edits.
   * @returns {EngineSession}
   */
  fork() {
    const e = this.engine;
    return e.adopt(e.pointer(e.x.gf_session_fork(this.ptr, e.error)));
  }

  /** @param {number} seed 0 .. 2^53 - 1 */
  seed(seed) {
    this.engine.x.gf_abi_seed(this.ptr, ...words(seed));
  }

  /**
   * Draw one token from the last row of the last eval.
   * @param {Sampling} sampling
   * @returns {{id: number, logprob: number}}
   */
  sample(sampling) {
    const e = this.engine;
    const p = e.scratch(64);
    const out = p + 32;
    e.check(e.x.gf_session_sample(this.ptr, e.putSampling(p, sampling), out, e.error));
    return e.choice(out);
  }

  close() {
    if (!this.#p) return;
    this.engine.x.gf_session_close(this.#p);
    this.engine.sessions.delete(this);
    this.#p = 0;
  }
}

/**
 * A whole number as two 32-bit words, low one first.
 * @param {number} n
 * @returns {[number, number]}
 */
export function words(n) {
  return [n % 2 ** 32, Math.floor(n / 2 ** 32)];
}
