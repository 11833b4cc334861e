/// <reference lib="esnext.disposable" preserve="true" />
// session.js - one timeline of a model on the caller's side; sessions.js is the other end
import { GlassformerError } from './formats/errors.js';
import { forgotten, kept } from './lifetime.js';
import { callOptions, inputOf } from './arguments.js';
import { number } from './formats/given.js';

/** @typedef {ArrayLike<number>} Ids */
/** @typedef {import('./engine.js').Tensor} Tensor */

/** One timeline of a model: tokens go in, logits come out, and it can go back or split. */
export class Session {
  #model;
  #remote;
  #limits;
  #id;
  #length;
  #bytes;
  #closed = false;
  /** Calls wait for one another. @type {Promise<any>} */
  #last = Promise.resolve();
  /** What the last eval left at the points named when the session was opened. @type {Record<string, Tensor>} */
  captured = {};

  /** Called by Model.session. @param {object} model  which it keeps from being forgotten @param {import('./remote.js').Remote} remote @param {import('./arguments.js').Limits} limits @param {{session: number, length: number, bytes: number}} made */
  constructor(model, remote, limits, { session, length, bytes }) {
    this.#model = model;
    this.#remote = remote;
    this.#limits = limits;
    this.#id = session;
    this.#length = length;
    this.#bytes = bytes;
    forgotten.register(this, () => { remote.call('session', ['close', [session]]).catch(() => {}); }, this);
  }

  /** Positions held. */
  get length() { return this.#length; }
  /** Bytes of its kv cache. */
  get bytes() { return this.#bytes; }

  /** @template T @param {string} method @param {any[]} args @param {{signal?: AbortSignal}} [hooks] @returns {Promise<any>} */
  #call(method, args, hooks) {
    if (this.#closed) return Promise.reject(new GlassformerError('bad-state', 'the session was closed'));
    const answer = this.#last.then(() => this.#remote.call('session', [method, [this.#id, ...args]], hooks));
    this.#last = answer.catch(() => {});
    return kept(answer, this);
  }

  /**
   * Run tokens (or text) from here on. All or nothing: after a failure the session is as before.
   * @param {string | Ids} input
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<Float32Array & Tensor>} logits of the last position [vocab_size], which are a Tensor too
   */
  async eval(input, options) {
    const [, hooks] = callOptions('eval', options);
    const { logits, captured, length, bytes } = await this.#call('eval', [inputOf(input, 'input', this.#limits)], hooks);
    this.#length = length;
    this.#bytes = bytes;
    this.captured = captured;
    return Object.defineProperties(logits, { data: { value: logits }, shape: { value: [logits.length] } });
  }

  /** Keep the first n positions; nothing is computed again. @param {number} n */
  async rewind(n) {
    const { length, bytes } = await this.#call('rewind', [number(n, 'the number of positions to keep', null)]);
    this.#length = length;
    this.#bytes = bytes;
  }

  /** An independent copy, with the same captures and edits. @returns {Promise<Session>} */
  async fork() { return new Session(this.#model, this.#remote, this.#limits, await this.#call('fork', [])); }

  /** Give its memory back. It never fails: what is gone with its model needs no closing. */
  async close() {
    if (this.#closed) return;
    const done = this.#call('close', []);
    this.#closed = true;
    forgotten.unregister(this);
    await done.catch(() => {});
  }

  /** The same as close, under the name that every handle of this package has; settles when the memory is back. */
  dispose() { return this.close(); }

  [Symbol.dispose]() { this.close(); }

  async [Symbol.asyncDispose]() { await this.close(); }
}
